/* capability/action.h - an action as its callers see it: what is shown of it, and the
 * answer of a call. The second door of the room; capability.h includes it. */
#pragma once
#include "base/base.h"

struct caller;
struct json;

struct action {
    const char *name;         /* "evaluate_note_code" */
    const char *title;        /* for people */
    const char *description;  /* for agents; at most 1,024 bytes: OpenAI takes no more */
    const char *input_schema; /* JSON text, an object schema at its root */
    const char *output_schema;
    bool read_only, destructive, idempotent, open_world; /* hints for hosts */
};

#define ANSWER_NOTE 640u /* bytes, with a NUL */

/* The outcome of a call. If the action ran there is a JSON object, also with `is_error`:
 * the action failed. */
struct answer {
    struct buf json; /* the caller initialises it with a ceiling, and frees it */
    /* an array of MCP content blocks to show instead of the text; or empty */
    struct buf content;
    bool is_error;
    enum err_code outcome; /* ERR_NONE: success */
    bool text_alone;       /* MCP sends it as text, without structured content */
    /* The most JSON bytes that the caller takes; 0: any number. A larger answer is
     * shortened; results_read_whole() then returns it whole by the name `whole`, which is
     * "" where it was not kept (16 MiB) or not shortened. */
    size_t most;
    char whole[80];
    size_t whole_bytes; /* 0: not shortened */
    /* A line that tells the agent that a person changed its arguments, and to what; or "". */
    char note[ANSWER_NOTE];
};

/* An action that an embedding program or a test adds. It is checked against its schema,
 * permitted, counted and recorded like the others. Threads: several at once. */
struct action_extra {
    struct action shown;
    bool (*run)(void *arg, const struct json *arguments, const struct caller *who,
                struct answer *out, struct err *e);
    void *arg;
};

/* Receives an action that is shown; borrows it. false: stop, or *e. */
typedef bool action_shown_fn(void *arg, const struct action *shown, struct err *e);

/* A request by host.call of run_script: to one of the REST routes. */
struct action_request {
    struct str method, path; /* the path with its query, as in the code */
    struct str body;         /* usually JSON; empty: none */
    /* The script's caller; work_begin() with it adds to the script's call: its rights,
     * its record, the versions it has read. */
    const struct caller *who;
};
struct action_reply {
    int status;      /* HTTP status */
    bool is_json;    /* else the body is text */
    struct buf body; /* empty: none; the requester initialises and frees it */
    struct buf next; /* the path of the next page of a list; likewise */
};

/* Answers a request, a refusal included. false and *e: no answer; the script gets that
 * error. Threads: several at once. */
typedef bool action_request_fn(void *arg, const struct action_request *rq,
                               struct action_reply *out, struct err *e);

typedef void actions_record_fn(void *arg, const char *record);
