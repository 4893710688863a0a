/* embed/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "embed/embed.h"

/* ---- failures and texts (texts.c) ----------------------------------------- */

struct cloche_error {
    struct err err;
};
struct cloche_text {
    struct buf buf;
};
enum cloche_code code_of(enum err_code code);
enum err_code code_from(enum cloche_code code);
/* Hands a failure out, or that there was none; `e` may be NULL. */
enum cloche_code told(struct cloche_error *e, const struct err *why);

/* ---- what others add (added.c) --------------------------------------------- */

#define ADDED_MAX 128u
#define FOLDERS_MAX 256u

enum added_kind { ADDED_TOOL, ADDED_RESOURCE, ADDED_PROMPT };
struct added {
    cloche_fn *fn;
    void *arg;
    enum added_kind kind;
};

/* Copies of all that was said. */
struct cloche_options {
    const char *vaults[FOLDERS_MAX + 1], *roots[FOLDERS_MAX + 1];
    size_t vault_count, root_count;
    char *guests;
    cloche_record_fn *on_record;
    void *record_arg;
    struct added added[3 * ADDED_MAX];
    size_t added_count;
    struct action_extra tools[ADDED_MAX];
    struct resource_extra resources[ADDED_MAX];
    struct prompt_extra prompts[ADDED_MAX];
    size_t tool_count, resource_count, prompt_count;
    /* embed_options_extras() */
    const char *const *mounts; /* embed_options_mounts(), borrowed */
    bool brief;                /* embed_options_brief() */
    const struct action_extra *own_tools;
    size_t own_tool_count;
    struct workspaces_options own_readable;
    struct err wrong;    /* the first thing that was: cloche_open() tells */
    atomic_uint holders; /* the one who made it, and what was opened with it */
};
struct cloche_options *options_share(const struct cloche_options *o);

/* ---- one that is open -------------------------------------------------------- */

struct cloche {
    struct cloche_options *options; /* its own; may be NULL */
    struct actions *actions;
    struct workspaces *workspaces;
    pthread_mutex_t lock; /* guards what follows while it is made */
    struct mcp *mcp;
    pthread_t warming;
    bool is_warming;
};

/* Its caller and its cancel, as the rooms below want them. */
struct cloche_cancel {
    struct cancel cancel;
};
struct cloche_caller {
    struct caller caller;
    char *name;
    unsigned vault;
};
