/* The keys that a policy may have: one table, from which the reader, `policy show`,
 * `policy check`, `policy set` and the published schema are all made. */
#include "guard/policy.h"

static const char *const level_words[] = {"full", "limited", "zero", NULL};
static const char *const lint_words[] = {"off", "warn", "refuse", NULL};
static const char *const exposure_words[] = {"search", "listed", "all", NULL};
static const char *const permission_words[] = {"always", "ask", "never", NULL};
static const char *const usual_words[] = {"usual", "always", "ask", "never", NULL};

#define KEY(path_, kind_, rule_, member_, usual_, summary_, ...) \
    {.path = path_,                                              \
     .kind = KEY_##kind_,                                        \
     .rule = RULE_##rule_,                                       \
     .offset = offsetof(struct policy, member_),                 \
     .usual = usual_,                                            \
     .summary = summary_,                                        \
     __VA_ARGS__}
#define NUMBER(path_, rule_, member_, low_, high_, usual_, summary_) \
    KEY(path_, INT, rule_, member_, usual_, summary_, .low = low_, .high = high_)
#define LIST(path_, kind_, rule_, member_, most_, usual_, summary_) \
    KEY(path_, kind_, rule_, member_, usual_, summary_, .high = most_)
#define LEVEL_KEY(name, number, ms, mb)                                                 \
    NUMBER("levels." name ".timeout", LOWER, levels[number].timeout_ms, 1, 300000, ms,  \
           "computing time that code at the level '" name "' may ask for, in ms"),      \
        NUMBER("levels." name ".memoryLimit", LOWER, levels[number].memory_mb, 8, 1024, \
               mb, "memory that code at the level '" name "' may ask for, in MB")
#define WAY_KEY(name, way)                                    \
    KEY("callers." name, WORD, HIGHER, ways[way], "\"full\"", \
        "how far callers by " name " are trusted", .words = level_words)
#define ALERT_KEY(name, kind, n, seconds_, pause_, what)                        \
    NUMBER("alerts." name ".count", USER, alerts[kind].count, 0, 100000, n,     \
           "an alert at so many " what "; 0: never"),                           \
        NUMBER("alerts." name ".seconds", USER, alerts[kind].seconds, 1, 86400, \
               seconds_, "within so many seconds"),                             \
        KEY("alerts." name ".pause", BOOL, USER, alerts[kind].pause, pause_,    \
            "then pause the caller until a person lifts it")

/* Keys of one group stand together. */
const struct key policy_keys[] = {
    KEY("level", WORD, HIGHER, level, "\"full\"", "how far any caller is trusted",
        .words = level_words),
    WAY_KEY("stdio", WAY_STDIO),
    WAY_KEY("http", WAY_HTTP),
    WAY_KEY("terminal", WAY_TERMINAL),
    KEY("readOnly", BOOL, HIGHER, read_only, "false",
        "nothing may be changed, whichever way it is tried"),
    LIST("allowedAPIs", CALLS, ALSO, allowed, 256, "null",
         "only these may be called: methods such as 'notes.get', namespaces such as "
         "'links'; null: all"),
    LIST("deniedAPIs", CALLS, EITHER, denied, 256, "[]", "these may not be called"),
    LIST("confirm", CALLS, EITHER, confirm, 256, "[]",
         "a person is asked each time before one of these is called"),
    LEVEL_KEY("full", LEVEL_FULL, "30000", "256"),
    LEVEL_KEY("limited", LEVEL_LIMITED, "10000", "64"),
    LEVEL_KEY("zero", LEVEL_ZERO, "2000", "32"),
    NUMBER("limits.total", LOWER, total_ms, 100, 600000, "60000",
           "time that a call may take in all, waiting included, in ms"),
    NUMBER("limits.hostCalls", LOWER, host_calls, 1, 1000000, "10000",
           "calls to the host that one evaluation may make"),
    NUMBER("limits.fuel", LOWER, fuel, 1000000, 10000000000000, "100000000000",
           "fuel (units of computing) that run_script may ask for"),
    KEY("fileSystem", BOOL, LOWER, file_system, "true",
        "enableFileSystem may be asked for"),
    LIST(
        "mounts", MOUNTS, TAKE_MOUNT, mounts, 64, "[]",
        "folders of this machine that code finds in its file system: [{guest, host, mode: "
        "'ro' | 'rw'}]"),
    LIST("network.hosts", HOSTS, BOTH, network.hosts, 256, "[]",
         "hosts that code may fetch from: 'api.example.org', '*.example.org', "
         "'http://host:8080'"),
    LIST("network.allowPrivate", NAMES, BOTH, network.allow_private, 64, "[]",
         "private addresses that are allowed all the same, as 'ADDRESS:PORT'"),
    LIST(
        "network.secrets", SECRETS, USER, network.secrets, 64, "{}",
        "{NAME: {value | env | file, hosts, header?, format?}}, put into requests at the "
        "border"),
    LIST("vaultRoots", PATHS, USER, vault_roots, 64, "[]",
         "folders in which code may register vaults"),
    LIST(
        "functions.libraries", VAULTS, USER, libraries, 16, "[]",
        "folders (absolute paths) and vaults (their ids) whose custom functions all vaults "
        "can call"),
    KEY("lint", WORD, HIGHER, lint, "\"warn\"",
        "what comes of findings in code: nothing, warnings, or a refusal",
        .words = lint_words),
    KEY("cache", BOOL, LOWER, cache, "true",
        "results may be answered again where the call asks for it"),
    KEY("keepCode", BOOL, LOWER, keep_code, "false",
        "the audit trail keeps the code itself, not its hash alone"),
    NUMBER("sessions.max", LOWER, sessions.max, 0, 1000, "32",
           "sessions that may be kept at a time"),
    NUMBER("sessions.megabytes", LOWER, sessions.megabytes, 1, 4096, "256",
           "memory of all kept sessions, in MB"),
    NUMBER("sessions.idleMinutes", LOWER, sessions.idle_minutes, 1, 10080, "30",
           "minutes after which an unused session ends"),
    KEY("audit.required", BOOL, USER, audit.required, "true",
        "what writes is refused while the audit trail cannot be written"),
    NUMBER("audit.rotateMegabytes", USER, audit.rotate_megabytes, 1, 1024, "16",
           "size at which the audit trail goes on in a new file, in MB"),
    NUMBER(
        "audit.maxMegabytes", USER, audit.max_megabytes, 1, 1048576, "4096",
        "size of one vault's audit trail at which agents' calls are refused until a person "
        "exports some of it; told at 80 %"),
    NUMBER(
        "audit.callerMegabytes", USER, audit.caller_megabytes, 1, 1048576, "256",
        "what the records of one agent's calls may take within 24 hours; then its calls are "
        "refused"),
    NUMBER("audit.codeMegabytes", USER, audit.code_megabytes, 1, 1048576, "256",
           "size of the kept code of one vault; above, the oldest is dropped"),
    NUMBER(
        "disk.reserveMegabytes", USER, reserve_megabytes, 0, 1048576, "64",
        "below so much free disk (or a twentieth of it, where that is less) agents change "
        "nothing; a person still does"),
    NUMBER(
        "disk.callerMegabytes", USER, caller_megabytes, 1, 1048576, "1024",
        "what one agent may write into notes, types and custom functions within 24 hours, in "
        "MB; then it changes nothing"),
    ALERT_KEY("denials", ALERT_DENIALS, "20", "60", "false", "refusals of one caller"),
    ALERT_KEY("deletes", ALERT_DELETES, "25", "60", "false",
              "notes deleted by one caller"),
    ALERT_KEY("limits", ALERT_LIMITS, "10", "60", "false",
              "evaluations stopped by a limit"),
    ALERT_KEY("errors", ALERT_ERRORS, "50", "60", "false",
              "failed calls, where they are at least half of all"),
    ALERT_KEY("newHosts", ALERT_HOSTS, "1", "60", "false",
              "hosts that were never fetched from before"),
    KEY("webhook", URL, USER, webhook, "null", "alerts are sent there (POST, JSON)"),
    KEY("tools.permissions", PERMISSIONS, ALSO, tools.permissions, "{}",
        "{TOOL: 'always' | 'ask' | 'never'}: may an agent run it, and is a person asked "
        "before",
        .high = 1000, .words = permission_words),
    KEY("tools.default", WORD, ALSO, tools.usual, "\"usual\"",
        "the same for tools that are not named; usual: always for built-in ones in calls that "
        "show them no files, ask for all others",
        .words = usual_words),
    KEY("tools.exposure", WORD, LOWER, tools.exposure, "\"search\"",
        "which tools MCP clients find in their list: all, those of tools.listed, or these "
        "and a search",
        .words = exposure_words),
    LIST("tools.listed", TOOLS, EITHER, tools.listed, 64, "[]",
         "tools in that list, each callable whether it is there or not"),
    LIST("tools.disabled", TOOLS, EITHER, tools.disabled, 1000, "[]",
         "tools that are not there"),
    KEY("tools.requireSignature", BOOL, HIGHER, tools.require_signature, "false",
        "installed tools need the signature of a key that you trust"),
    NUMBER("tools.askSeconds", LOWER, tools.ask_seconds, 1, 3600, "120",
           "how long a call waits for a person's word"),
    KEY("tools.askClient", BOOL, LOWER, tools.ask_client, "true",
        "a person is asked through the agent's own client, where that can; false: at the "
        "terminal and on the page alone"),
    KEY("tools.elicitAlways", BOOL, LOWER, tools.elicit_always, "false",
        "an answer that came through the agent's own client may allow a tool for always"),
    KEY("vm.permission", WORD, ALSO, vm.permission, "\"usual\"",
        "may an agent run commands in a Linux machine, and is a person asked before each; "
        "usual: always, since it sees no files and no network",
        .words = usual_words),
    NUMBER("vm.machines", LOWER, vm.machines, 0, 64, "4",
           "machines that one caller may have at a time; 0: none"),
    NUMBER("vm.ramMB", LOWER, vm.ram_mb, 64, 1024, "1024",
           "memory that a machine may have, in MB"),
    NUMBER("vm.totalRamMB", LOWER, vm.total_ram_mb, 64, 65536, "4096",
           "memory that all machines of one caller may have together, in MB"),
    NUMBER("vm.diskMB", LOWER, vm.disk_mb, 1, 2048, "1024",
           "what a machine may write to its disk, in MB"),
    NUMBER(
        "vm.cpuSeconds", LOWER, vm.cpu_seconds, 1, 604800, "3600",
        "computing time of all machines of one caller together, within 24 hours, in seconds"),
    NUMBER("vm.timeoutMs", LOWER, vm.timeout_ms, 1, 3600000, "600000",
           "time that one command in a machine may ask for, in ms"),
    NUMBER("vm.idleMinutes", LOWER, vm.idle_minutes, 1, 10080, "15",
           "minutes without a command after which a machine is stopped"),
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
