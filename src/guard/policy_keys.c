/* The keys that a policy may have: one table, from which the reader, `policy show`,
 * `policy check`, `policy set` and the published schema are all made. */
#include "guard/policy.h"

static const char *const level_words[] = {"full", "limited", "zero", NULL};
static const char *const lint_words[] = {"off", "warn", "refuse", NULL};
static const char *const exposure_words[] = {"search", "listed", "all", NULL};
static const char *const permission_words[] = {"always", "ask", "never", NULL};
static const char *const usual_words[] = {"usual", "always", "ask", "never", NULL};

#define AT(field) offsetof(struct policy, field)
#define KEY(...) {__VA_ARGS__}
#define LEVEL_KEY(name, number, ms, mb)                                                \
    KEY("levels." name ".timeout", KEY_INT, RULE_LOWER, AT(levels[number].timeout_ms), \
        1, 300000, NULL, ms,                                                           \
        "computing time that code at the level '" name "' may ask for, in ms"),        \
        KEY("levels." name ".memoryLimit", KEY_INT, RULE_LOWER,                        \
            AT(levels[number].memory_mb), 8, 1024, NULL, mb,                           \
            "memory that code at the level '" name "' may ask for, in MB")
#define WAY_KEY(name, way)                                                        \
    KEY("callers." name, KEY_WORD, RULE_HIGHER, AT(ways[way]), 0, 0, level_words, \
        "\"full\"", "how far callers by " name " are trusted")
#define ALERT_KEY(name, kind, n, seconds_, pause_, what)                                \
    KEY("alerts." name ".count", KEY_INT, RULE_USER, AT(alerts[kind].count), 0, 100000, \
        NULL, n, "an alert at so many " what "; 0: never"),                             \
        KEY("alerts." name ".seconds", KEY_INT, RULE_USER, AT(alerts[kind].seconds), 1, \
            86400, NULL, seconds_, "within so many seconds"),                           \
        KEY("alerts." name ".pause", KEY_BOOL, RULE_USER, AT(alerts[kind].pause), 0, 0, \
            NULL, pause_, "then pause the caller until a person lifts it")

/* Those of one group stand together. */
const struct key policy_keys[] = {
    {"level", KEY_WORD, RULE_HIGHER, AT(level), 0, 0, level_words, "\"full\"",
     "how far any caller is trusted"},
    WAY_KEY("stdio", WAY_STDIO),
    WAY_KEY("http", WAY_HTTP),
    WAY_KEY("terminal", WAY_TERMINAL),
    {"readOnly", KEY_BOOL, RULE_HIGHER, AT(read_only), 0, 0, NULL, "false",
     "nothing may be changed, whichever way it is tried"},
    {"allowedAPIs", KEY_CALLS, RULE_ALSO, AT(allowed), 0, 256, NULL, "null",
     "only these may be called: methods such as 'notes.get', namespaces such as "
     "'links'; null: all"},
    {"deniedAPIs", KEY_CALLS, RULE_EITHER, AT(denied), 0, 256, NULL, "[]",
     "these may not be called"},
    {"confirm", KEY_CALLS, RULE_EITHER, AT(confirm), 0, 256, NULL, "[]",
     "a person is asked each time before one of these is called"},
    LEVEL_KEY("full", LEVEL_FULL, "30000", "256"),
    LEVEL_KEY("limited", LEVEL_LIMITED, "10000", "64"),
    LEVEL_KEY("zero", LEVEL_ZERO, "2000", "32"),
    {"limits.total", KEY_INT, RULE_LOWER, AT(total_ms), 100, 600000, NULL, "60000",
     "time that a call may take in all, waiting included, in ms"},
    {"limits.hostCalls", KEY_INT, RULE_LOWER, AT(host_calls), 1, 1000000, NULL, "10000",
     "calls to the host that one evaluation may make"},
    {"limits.fuel", KEY_INT, RULE_LOWER, AT(fuel), 1000000, 10000000000000, NULL,
     "100000000000", "fuel (units of computing) that run_script may ask for"},
    {"fileSystem", KEY_BOOL, RULE_LOWER, AT(file_system), 0, 0, NULL, "true",
     "enableFileSystem may be asked for"},
    {"mounts", KEY_MOUNTS, RULE_TAKE_MOUNT, AT(mounts), 0, 64, NULL, "[]",
     "folders of this machine that code finds in its file system: [{guest, host, mode: "
     "'ro' | 'rw'}]"},
    {"network.hosts", KEY_HOSTS, RULE_BOTH, AT(network.hosts), 0, 256, NULL, "[]",
     "hosts that code may fetch from: 'api.example.org', '*.example.org', "
     "'http://host:8080'"},
    {"network.allowPrivate", KEY_NAMES, RULE_BOTH, AT(network.allow_private), 0, 64, NULL,
     "[]", "private addresses that are allowed all the same, as 'ADDRESS:PORT'"},
    {"network.secrets", KEY_SECRETS, RULE_USER, AT(network.secrets), 0, 64, NULL, "{}",
     "{NAME: {value | env | file, hosts, header?, format?}}, put into requests at the "
     "border"},
    {"vaultRoots", KEY_PATHS, RULE_USER, AT(vault_roots), 0, 64, NULL, "[]",
     "folders in which code may register vaults"},
    {"functions.libraries", KEY_VAULTS, RULE_USER, AT(libraries), 0, 16, NULL, "[]",
     "folders (absolute paths) and vaults (their ids) whose custom functions all vaults "
     "can call"},
    {"lint", KEY_WORD, RULE_HIGHER, AT(lint), 0, 0, lint_words, "\"warn\"",
     "what comes of findings in code: nothing, warnings, or a refusal"},
    {"cache", KEY_BOOL, RULE_LOWER, AT(cache), 0, 0, NULL, "true",
     "results may be answered again where the call asks for it"},
    {"keepCode", KEY_BOOL, RULE_LOWER, AT(keep_code), 0, 0, NULL, "false",
     "the audit trail keeps the code itself, not its hash alone"},
    {"sessions.max", KEY_INT, RULE_LOWER, AT(sessions.max), 0, 1000, NULL, "32",
     "sessions that may be kept at a time"},
    {"sessions.megabytes", KEY_INT, RULE_LOWER, AT(sessions.megabytes), 1, 4096, NULL,
     "256", "memory of all kept sessions, in MB"},
    {"sessions.idleMinutes", KEY_INT, RULE_LOWER, AT(sessions.idle_minutes), 1, 10080,
     NULL, "30", "minutes after which an unused session ends"},
    {"audit.required", KEY_BOOL, RULE_USER, AT(audit.required), 0, 0, NULL, "true",
     "what writes is refused while the audit trail cannot be written"},
    {"audit.rotateMegabytes", KEY_INT, RULE_USER, AT(audit.rotate_megabytes), 1, 1024,
     NULL, "16", "size at which the audit trail goes on in a new file, in MB"},
    {"audit.maxMegabytes", KEY_INT, RULE_USER, AT(audit.max_megabytes), 1, 1048576, NULL,
     "4096",
     "size of one vault's audit trail at which agents' calls are refused until a person "
     "exports some of it; told at 80 %"},
    {"audit.callerMegabytes", KEY_INT, RULE_USER, AT(audit.caller_megabytes), 1, 1048576,
     NULL, "256",
     "what the records of one agent's calls may take within 24 hours; then its calls are "
     "refused"},
    {"audit.codeMegabytes", KEY_INT, RULE_USER, AT(audit.code_megabytes), 1, 1048576,
     NULL, "256", "size of the kept code of one vault; above, the oldest is dropped"},
    {"disk.reserveMegabytes", KEY_INT, RULE_USER, AT(reserve_megabytes), 0, 1048576, NULL,
     "64",
     "below so much free disk (or a twentieth of it, where that is less) agents change "
     "nothing; a person still does"},
    {"disk.callerMegabytes", KEY_INT, RULE_USER, AT(caller_megabytes), 1, 1048576, NULL,
     "1024",
     "what one agent may write into notes, types and custom functions within 24 hours, in "
     "MB; then it changes nothing"},
    ALERT_KEY("denials", ALERT_DENIALS, "20", "60", "false", "refusals of one caller"),
    ALERT_KEY("deletes", ALERT_DELETES, "25", "60", "false",
              "notes deleted by one caller"),
    ALERT_KEY("limits", ALERT_LIMITS, "10", "60", "false",
              "evaluations stopped by a limit"),
    ALERT_KEY("errors", ALERT_ERRORS, "50", "60", "false",
              "failed calls, where they are at least half of all"),
    ALERT_KEY("newHosts", ALERT_HOSTS, "1", "60", "false",
              "hosts that were never fetched from before"),
    {"webhook", KEY_URL, RULE_USER, AT(webhook), 0, 0, NULL, "null",
     "alerts are sent there (POST, JSON)"},
    {"tools.permissions", KEY_PERMISSIONS, RULE_ALSO, AT(tools.permissions), 0, 1000,
     permission_words, "{}",
     "{TOOL: 'always' | 'ask' | 'never'}: may an agent run it, and is a person asked "
     "before"},
    {"tools.default", KEY_WORD, RULE_ALSO, AT(tools.usual), 0, 0, usual_words,
     "\"usual\"",
     "the same for tools that are not named; usual: always for built-in ones in calls that "
     "show them no files, ask for all others"},
    {"tools.exposure", KEY_WORD, RULE_LOWER, AT(tools.exposure), 0, 0, exposure_words,
     "\"search\"",
     "which tools MCP clients find in their list: all, those of tools.listed, or these "
     "and a search"},
    {"tools.listed", KEY_TOOLS, RULE_EITHER, AT(tools.listed), 0, 64, NULL, "[]",
     "tools in that list, each callable whether it is there or not"},
    {"tools.disabled", KEY_TOOLS, RULE_EITHER, AT(tools.disabled), 0, 1000, NULL, "[]",
     "tools that are not there"},
    {"tools.requireSignature", KEY_BOOL, RULE_HIGHER, AT(tools.require_signature), 0, 0,
     NULL, "false", "installed tools need the signature of a key that you trust"},
    {"tools.askSeconds", KEY_INT, RULE_LOWER, AT(tools.ask_seconds), 1, 3600, NULL, "120",
     "how long a call waits for a person's word"},
    {"tools.askClient", KEY_BOOL, RULE_LOWER, AT(tools.ask_client), 0, 0, NULL, "true",
     "a person is asked through the agent's own client, where that can; false: at the "
     "terminal and on the page alone"},
    {"tools.elicitAlways", KEY_BOOL, RULE_LOWER, AT(tools.elicit_always), 0, 0, NULL,
     "false",
     "an answer that came through the agent's own client may allow a tool for always"},
    {"vm.permission", KEY_WORD, RULE_ALSO, AT(vm.permission), 0, 0, usual_words,
     "\"usual\"",
     "may an agent run commands in a Linux machine, and is a person asked before each; "
     "usual: always, since it sees no files and no network"},
    {"vm.machines", KEY_INT, RULE_LOWER, AT(vm.machines), 0, 64, NULL, "4",
     "machines that one caller may have at a time; 0: none"},
    {"vm.ramMB", KEY_INT, RULE_LOWER, AT(vm.ram_mb), 64, 1024, NULL, "1024",
     "memory that a machine may have, in MB"},
    {"vm.totalRamMB", KEY_INT, RULE_LOWER, AT(vm.total_ram_mb), 64, 65536, NULL, "4096",
     "memory that all machines of one caller may have together, in MB"},
    {"vm.diskMB", KEY_INT, RULE_LOWER, AT(vm.disk_mb), 1, 2048, NULL, "1024",
     "what a machine may write to its disk, in MB"},
    {"vm.cpuSeconds", KEY_INT, RULE_LOWER, AT(vm.cpu_seconds), 1, 604800, NULL, "3600",
     "computing time of all machines of one caller together, within 24 hours, in seconds"},
    {"vm.timeoutMs", KEY_INT, RULE_LOWER, AT(vm.timeout_ms), 1, 3600000, NULL, "600000",
     "time that one command in a machine may ask for, in ms"},
    {"vm.idleMinutes", KEY_INT, RULE_LOWER, AT(vm.idle_minutes), 1, 10080, NULL, "15",
     "minutes without a command after which a machine is stopped"},
};
const size_t policy_key_count = LENGTH(policy_keys);
_Static_assert(LENGTH(policy_keys) <= KEYS_MAX, "all keys fit");

int key_find(struct str path)
{
    for (size_t i = 0; i < policy_key_count; i++)
        if (str_is(path, policy_keys[i].path))
            return (int)i;
    return -1;
}

bool key_is_group(struct str path)
{
    for (size_t i = 0; i < policy_key_count; i++) {
        const char *key = policy_keys[i].path;
        if (path.n == 0 || (strncmp(key, path.at, path.n) == 0 && key[path.n] == '.'))
            return true;
    }
    return false;
}

static struct str last_of(struct str path)
{
    const char *dot = path.n ? memrchr(path.at, '.', path.n) : NULL;
    size_t before = dot ? (size_t)(dot + 1 - path.at) : 0;
    return (struct str){path.at + before, path.n - before};
}

const char *key_nearest(struct str path)
{
    const char *names[KEYS_MAX];
    for (size_t i = 0; i < policy_key_count; i++)
        names[i] = policy_keys[i].path;
    const char *near = str_nearest(path, names, policy_key_count);
    for (size_t i = 0; !near && i < policy_key_count; i++)
        if (str_eq(last_of(path), last_of(str_of(names[i]))))
            near = names[i];
    return near;
}
