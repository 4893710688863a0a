/* tools_api/tools_api.h - command-line tools as agents have them: to MCP clients as
 * wasm_<name> and through run_tool, to code as tools.<name>, to REST; and who may run
 * them, by the policy or a person's word. What runs belongs to its call; failures are
 * ERR_NOT_FOUND, ERR_DENIED, ERR_BUSY, ERR_CANCELLED, and ERR_INPUT, on which a plain
 * call returns at once. Threads: safe, but for a tool_call, which belongs to one. */
#pragma once
#include "capability/capability.h"

struct catalogue;

extern const struct capability tools_capability;
/* What evaluate_note_code says of them, where they are installed. */
#define TELLS_OF_TOOLS "tools.jq({args, stdin}) (find_tools); "
bool tools_installed(struct actions *a);
/* The command-line tools as tools.list() in code has them, or one as tools.describe(). */
bool actions_tools(struct actions *a, const struct caller *who, struct str name,
                   struct buf *out, struct err *e);

struct tool_wish {
    const struct tool *const *tools; /* one, or the stages of a pipeline */
    size_t count;
    const struct json *request;      /* all that the call says: shown whole */
    const struct tool_stage *stages; /* the same, for tools_check() */
    const char *machine; /* the call of the Linux machine, which stands for itself as one
                          * tool; NULL: it is none */
    bool sees;  /* they are shown mounts, as far as each may; else no files at all */
    bool vault; /* the vault is one of these */
};

/* Who wants to run them, and where. */
struct tool_asker {
    struct actions *actions;
    const struct place *place;
    const struct caller *who;
    struct account *account;
    struct evaluation *evaluation; /* whose code asks; NULL: a plain call, which can be */
                                   /* run again from its beginning (client_ask) */
    struct consent *consent;       /* how it waits without a thread; NULL: it blocks */
};

/* Asks for all that the policy does not simply allow, once for all stages; nothing may
 * have run before. What a person takes to answer is no time of the evaluation's, and no
 * worker's. false with consent->waits: the call is to be made anew (permits.h). false and
 * ERR_DENIED ("Permission denied: ..."), ERR_BUSY, ERR_CANCELLED, or ERR_INPUT, on which a
 * plain call returns at once. In a dry run nobody is asked: what
 * would take a person's word is ERR_DENIED. */
bool tools_permitted(const struct tool_asker *who, const struct tool_wish *wish,
                     struct err *e);

/* Opened when first needed; NULL and *e: there are no guests to run. */
struct catalogue *actions_catalogue(struct actions *a, struct err *e);

/* For whom, where and under which limits a tool runs. */
struct tool_call {
    struct actions *actions;
    const struct caller *who;
    const struct place *place;
    struct account *account;
    struct arena *arena;     /* of the call */
    struct cancel *cancel;   /* NULL: it cannot be cancelled */
    struct evaluation *code; /* that calls it; NULL: nobody's */
    struct consent *consent; /* how it waits for a person; NULL: it blocks */
    struct outcome *outcome; /* what it did */
};

/* Of an action, which can be run again. */
struct tool_call tool_call_of(const struct action_call *c);
