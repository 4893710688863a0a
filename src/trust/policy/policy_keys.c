/* The keys of a policy: those of the runtime itself, and how all are joined into the one
 * table from which the reader, `policy show`, `policy check`, `policy set` and the published
 * schema are made. */
#include <limits.h>

#include "policy/internal.h"

static const char *const level_words[] = {"full", "limited", "zero", NULL};
static const char *const lint_words[] = {"off", "warn", "refuse", NULL};

#define OWN(...) KEY(struct policy, __VA_ARGS__)
#define NUMBER(path_, rule_, member_, low_, high_, usual_, summary_) \
    OWN(path_, INT, rule_, member_, usual_, summary_, .low = low_, .high = high_)
#define LIST(path_, kind_, rule_, member_, most_, usual_, summary_) \
    OWN(path_, kind_, rule_, member_, usual_, summary_, .high = most_)
#define LEVEL_KEY(name, number, ms, mb)                                                 \
    NUMBER("levels." name ".timeout", LOWER, levels[number].timeout_ms, 1, 300000, ms,  \
           "computing time that code at the level '" name "' may ask for, in ms"),      \
        NUMBER("levels." name ".memoryLimit", LOWER, levels[number].memory_mb, 8, 1024, \
               mb, "memory that code at the level '" name "' may ask for, in MB")
#define WAY_KEY(name, way)                                    \
    OWN("callers." name, WORD, HIGHER, ways[way], "\"full\"", \
        "how far callers by " name " are trusted", .words = level_words)
#define ALERT_KEY(name, kind, n, seconds_, pause_, what)                        \
    NUMBER("alerts." name ".count", USER, alerts[kind].count, 0, 100000, n,     \
           "an alert at so many " what "; 0: never"),                           \
        NUMBER("alerts." name ".seconds", USER, alerts[kind].seconds, 1, 86400, \
               seconds_, "within so many seconds"),                             \
        OWN("alerts." name ".pause", BOOL, USER, alerts[kind].pause, pause_,    \
            "then pause the caller until a person lifts it")

/* Keys of one object stand together. Between these runs stand those of capabilities. */
static const struct key own_keys[] = {
    OWN("level", WORD, HIGHER, level, "\"full\"", "how far any caller is trusted",
        .words = level_words, .order = 10),
    WAY_KEY("stdio", WAY_STDIO),
    WAY_KEY("http", WAY_HTTP),
    WAY_KEY("terminal", WAY_TERMINAL),
    OWN("readOnly", BOOL, HIGHER, read_only, "false",
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
    OWN("lint", WORD, HIGHER, lint, "\"warn\"",
        "what comes of findings in code: nothing, warnings, or a refusal",
        .words = lint_words, .order = 60),
    OWN("cache", BOOL, LOWER, cache, "true",
        "results may be answered again where the call asks for it"),
    OWN("keepCode", BOOL, LOWER, keep_code, "false",
        "the audit trail keeps the code itself, not its hash alone"),
    NUMBER("sessions.max", LOWER, sessions.max, 0, 1000, "32",
           "sessions that may be kept at a time"),
    NUMBER("sessions.megabytes", LOWER, sessions.megabytes, 1, 4096, "256",
           "memory of all kept sessions, in MB"),
    NUMBER("sessions.idleMinutes", LOWER, sessions.idle_minutes, 1, 10080, "30",
           "minutes after which an unused session ends"),
    OWN("audit.required", BOOL, USER, audit.required, "true",
        "what writes is refused while the audit trail cannot be written"),
    NUMBER("audit.rotateMegabytes", USER, audit.rotate_megabytes, 1, 1024, "16",
           "size at which the audit trail begins a new file, in MB"),
    NUMBER(
        "audit.maxMegabytes", USER, audit.max_megabytes, 1, 1048576, "4096",
        "size of one vault's audit trail at which agents' calls are refused until a person exports some of it; an alert is raised at 80 %"),
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
    OWN("webhook", URL, USER, webhook, "null", "alerts are sent there (POST, JSON)"),
    OWN("tools.askSeconds", INT, LOWER, asking.seconds, "120",
        "how long a call waits for a person's approval", .low = 1, .high = 3600,
        .order = 75),
    OWN("tools.askClient", BOOL, LOWER, asking.client, "true",
        "a person is asked through the agent's own client, where that can; false: at the "
        "terminal and on the page alone"),
    OWN("tools.elicitAlways", BOOL, LOWER, asking.elicit_always, "false",
        "an answer that came through the agent's own client may allow a tool for always"),
};
static const struct policy_group own = POLICY_GROUP(own_keys, struct policy);

/* ---- all of them -------------------------------------------------------- */

static bool is_of_one_object(const char *a, const char *b)
{
    const char *dot = strchr(a, '.');
    return dot && !strncmp(a, b, (size_t)(dot + 1 - a));
}

static void check_keys(const struct key_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < i; k++) {
            const char *a = t->keys[k]->path, *b = t->keys[i]->path;
            must(strcmp(a, b) != 0);
            must(!is_of_one_object(a, b) || is_of_one_object(t->keys[i - 1]->path, b));
        }
}

static void add_key(struct key_table *t, const struct key *k, size_t group,
                    unsigned order, unsigned orders[KEYS_MAX])
{
    size_t i = t->count++;
    must(t->count <= KEYS_MAX);
    for (; i && orders[i - 1] > order; i--) {
        orders[i] = orders[i - 1];
        t->keys[i] = t->keys[i - 1];
        t->group_of[i] = t->group_of[i - 1];
    }
    orders[i] = order;
    t->keys[i] = k;
    t->group_of[i] = (uint8_t)group;
}

void key_table_make(struct key_table *t, const struct policy_group *const *groups,
                    size_t count)
{
    unsigned orders[KEYS_MAX];
    must(count < POLICY_GROUPS_MAX);
    *t = (struct key_table){.groups = {&own}, .group_count = count + 1};
    for (size_t g = 0; g <= count; g++) {
        if (g)
            t->groups[g] = groups[g - 1];
        unsigned order = UINT_MAX;
        for (size_t i = 0; i < t->groups[g]->count; i++) {
            const struct key *k = &t->groups[g]->keys[i];
            order = k->order ? k->order : order;
            add_key(t, k, g, order, orders);
        }
    }
    check_keys(t);
}

int key_find(const struct key_table *t, struct str path)
{
    for (size_t i = 0; i < t->count; i++)
        if (str_is(path, t->keys[i]->path))
            return (int)i;
    return -1;
}

bool key_is_group(const struct key_table *t, struct str path)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *key = t->keys[i]->path;
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

const char *key_nearest(const struct key_table *t, struct str path)
{
    const char *names[KEYS_MAX];
    for (size_t i = 0; i < t->count; i++)
        names[i] = t->keys[i]->path;
    const char *near = str_nearest(path, names, t->count);
    for (size_t i = 0; !near && i < t->count; i++)
        if (str_eq(last_of(path), last_of(str_of(names[i]))))
            near = names[i];
    return near;
}
