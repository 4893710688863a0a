/* programs/programs.h - calls that run untrusted programs (command-line tools, commands in
 * Linux machines), and who may run them: by the policy, or a person's approval. Source:
 * docs/tools.md, "Permissions". Threads: safe, but for a tool_call, which belongs to one. */
#pragma once
#include "capability/capability.h"

struct consent;
struct permit_use;
struct tool;
struct tool_command;
struct tool_outcome;
struct tool_stage;

/* The caller, place and limits of a tool's run. */
struct tool_call {
    struct actions *actions;
    const struct caller *who;
    const struct place *place;
    struct account *account;
    struct arena *arena;     /* of the call */
    struct cancel *cancel;   /* NULL: it cannot be cancelled */
    struct evaluation *code; /* whose code calls it; NULL: none */
    struct consent *consent; /* to wait for a user; NULL: it blocks */
    struct outcome *outcome; /* what it did */
    struct ask_edit *edit;   /* NULL: a person cannot edit its arguments */
};

/* For an action, which can be run again. */
struct tool_call tool_call_of(const struct action_call *c);

struct tool_request {
    const struct tool *const *tools; /* one, or the stages of a pipeline */
    size_t count;
    const struct json *request;      /* the whole call, as the user sees it */
    const struct tool_stage *stages; /* the same, for tools_check() */
    /* What each is permitted by, where it stands for a Linux machine or its network; one
     * without a name is a tool. NULL: all are. */
    const struct permit_use *uses;
    bool sees;  /* mounts are shown, those that each tool may see; else no files */
    bool vault; /* the vault is one of these */
};

/* Checks the policy and asks for what it does not allow by itself, once for all stages;
 * before anything runs. The wait for a user counts for no evaluation, and occupies no
 * worker. false with consent->waits: make the call again later (permits/permits.h). false and
 * ERR_DENIED ("Permission denied: ..."), ERR_BUSY, ERR_CANCELLED, or ERR_INPUT, on which
 * a plain call returns at once. A dry run asks nobody: what would need a decision is
 * ERR_DENIED. */
bool tools_permitted(const struct tool_call *c, const struct tool_request *wanted,
                     struct err *e);

/* How tools that are commands of Linux machines are run: by the capability that has them
 * (capability.tool_runner), which the one that has tools does not know. */
struct tool_runner {
    /* What each needs besides the tool's own permission: to use a machine. */
    struct permit_use (*use)(const struct policy *p);
    /* Is a machine installed? false and *e, with the command that installs one. */
    bool (*ready)(struct actions *a, struct err *e);
    /* A tool_command_fn of the room tools; `call` is a struct tool_call. It starts a new
     * machine for the command, in which nothing else runs, and records it. */
    bool (*run)(void *call, const struct tool_command *c, struct tool_outcome *out,
                struct err *e);
    /* The member of a pipeline's stage that is a command in a machine of the caller's own,
     * and not a tool; and what reads such a stage, in the call's arena: ERR_INVALID. The
     * machine is found, or started, when it runs. */
    const char *stage_key;
    bool (*stage)(const struct tool_call *c, const struct json *options,
                  struct tool_stage *out, struct err *e);
};

/* ---- the policy of tools (tool_policy.c) ------------------------------------- */

struct tools_policy {
    enum exposure exposure;
    struct policy_names listed, disabled;
    struct policy_permissions permissions[2]; /* the user's, the vault's */
    enum permission usual[2];                 /* of those that are not in these */
    bool require_signature;
};
extern const struct policy_group tools_policy;
struct action_exposure tools_exposure(const struct policy *p);
bool tool_name_fits(struct str name); /* may a tool be called so? */

/* How the policy stands to an agent's runs of a tool, shown all files that it may see. */
struct tool_standing {
    enum permission permission;
    const char *from;     /* "default", "user", "vault": said so */
    bool asks_for_files;  /* it is asked for only where a call shows it files */
    bool is_disabled;     /* by tools.disabled */
    bool lacks_signature; /* that the policy demands */
    /* Of a command of the machine: what the policy says of machines, of which `permission`
     * is the stricter. */
    enum permission machine;
};
struct tool_standing tool_standing(const struct policy *p, const struct tool *t);
/* May it be run, as permit_run()? A command of a machine needs to be permitted as a tool,
 * and the use of machines as well. `sees`: shown files. Where the permit is read_only, with
 * nothing to write to; never below the level full. */
bool permit_tool(const struct permit *p, const struct tool *t, bool sees,
                 enum permission *out, struct err *e);

/* What persons allowed for sessions: struct actions has it. */
struct granted *granted_new(void);
void granted_free(struct granted *g); /* NULL is fine */
