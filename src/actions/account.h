/* actions/account.h - what is counted, and what is recorded of a call. Private to
 * actions. */
#pragma once
#include "actions/internal.h"

/* ---- counters ----------------------------------------------------------- */

struct telemetry;
/* `a` has its rows. */
struct telemetry *telemetry_new(const struct actions *a);
void telemetry_free(struct telemetry *t);
/* Threads: safe, without a lock. */
void telemetry_tool(struct telemetry *t, size_t action, const struct caller *who,
                    enum err_code outcome, uint64_t ns);
void telemetry_call(struct telemetry *t, uint32_t row, enum err_code outcome,
                    uint64_t ns);
/* A call of a custom function, `own` or a library's; an attempt to keep one. */
void telemetry_function(struct telemetry *t, bool own, enum err_code outcome,
                        uint64_t ns);
void telemetry_trial(struct telemetry *t, unsigned how, uint64_t ns);
/* A run of a command-line tool. */
void telemetry_run(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns);

/* What was done with a Linux machine: a call of the table ("vm.exec"). */
void telemetry_machine(struct telemetry *t, const char *call, enum err_code outcome,
                       uint64_t ns);

/* ---- what a call comes to ------------------------------------------------ */

struct call_count {
    atomic_uint done, denied, failed;
};
struct account_ward {
    struct ward *ward;
    char digest[17];
    bool keep_code;
};

/* Of one call, until its record is written. */
struct account {
    const struct actions *actions;
    uint64_t begun_ns;
    enum level level;
    enum err_code outcome; /* ERR_NONE: well */
    bool changed;
    bool dry; /* while what is done is done to a copy */
    bool has_stats;
    struct script_stats stats;
    char code_hash[65];
    struct account_ward wards[16]; /* of the vaults in which it worked */
    size_t ward_count;
    atomic_bool has_calls; /* else all of `calls` are zeros */
    struct call_count calls[HOST_CALLS_MAX];
    pthread_mutex_t lock; /* guards what follows */
    uint32_t changes;
    uint32_t asked, allowed; /* persons, and how often they said yes */
    size_t note_count, host_count, tool_count, tools_more, function_count, functions_more;
    size_t kept_count, kept_more, machine_count, machines_more;
    /* Not cleared before the first: most calls have none. */
    char notes[32][120]; /* that it changed: the first of them */
    struct account_tool {
        char name[65], version[40], digest[13]; /* of its arguments */
        uint32_t exit_code;
        enum err_code outcome;
        double ms;
    } tools[32]; /* that ran: the first of them */
    struct account_function {
        char name[65]; /* its beginning */
        uint32_t version, calls, failed;
    } functions[32];         /* custom ones that its code looked up: the first of them */
    struct account_machine { /* what it did with Linux machines: the first of it */
        const char *call;    /* "vm.exec" */
        char machine[13], command[65]; /* hashes; "": none */
        enum err_code outcome;
        int exit_code;
        double ms, compute_ms;
        uint64_t command_bytes, input_bytes, stdout_bytes, stderr_bytes;
    } machines[32];
    char hosts[32][120];  /* that it asked for something */
    struct account_kept { /* custom functions that it changed: the first of them */
        char name[100];
        const char *deed; /* "registered" */
        uint32_t version; /* that it is now; 0: not said */
    } kept[32];
};
void account_begin(struct account *a, const struct actions *of);
/* It works there, under this policy; NULL: one that could not be used. */
void account_ward(struct account *a, struct ward *w, const struct policy *p);
/* A host call was performed, or refused. Threads: safe, as is account_host(). */
void account_call(struct account *a, uint32_t row, const struct host_call *c,
                  enum err_code outcome, struct str answer);
void account_host(struct account *a, const char *host);
/* A command-line tool has run (`o`; NULL: it was refused). Threads: safe. */
void account_tool(struct account *a, const struct tool_stage *stage,
                  const struct tool_outcome *o, enum err_code outcome);
/* Something was done with a Linux machine. Threads: safe. */
struct account_machine_deed {
    const char *call;    /* a constant */
    const char *machine; /* its handle; "" or NULL: none, or the default one */
    struct str command;  /* without a pointer: it is none */
    enum err_code outcome;
    int exit_code;
    uint64_t wall_ns, cpu_ns;
    uint64_t input_bytes, stdout_bytes, stderr_bytes;
};
void account_machine(struct account *a, const struct account_machine_deed *d);
/* Its code has looked up a custom function, and called it so often. */
void account_function(struct account *a, const struct account_function *f,
                      struct str name);
/* A custom function was registered, changed ...; `deed` is a constant. Threads: safe. */
void account_kept(struct account *a, const char *deed, struct str name, uint32_t version);
/* Something was changed, and this says what. Threads: safe. */
void account_change(struct account *a, struct str answer);
void account_script(struct account *a, const struct script_outcome *o);
/* A person was asked, and said yes or did not. Threads: safe. */
void account_asked(struct account *a, bool allowed);
/* Writes the records; when it returns they outlast this process and, where something was
 * changed, a power failure. */
void account_end(struct account *a, const char *action, const struct json *arguments,
                 const struct caller *who);
