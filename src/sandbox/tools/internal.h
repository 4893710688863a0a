/* tools/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "tools/pipe.h"
#include "tools/tools.h"

#define RUN_MEMORY ((size_t)256 << 20) /* words, names, files of one run */

/* ---- arguments (arguments.c) -------------------------------------------- */

/* How a tool is called: its words, the name first (of a command of the machine: its own),
 * and what it reads. */
struct command {
    const char **words;
    size_t count;
    struct str input;
    bool has_input; /* of its arguments, else what the world gives */
    bool by_json;   /* that is the arguments themselves, as an object */
};

/* Makes the command of a stage's arguments, checked against the manifest; in `a`.
 * `piped`: it reads another stage's output. ERR_INVALID, ERR_LIMIT. */
bool command_make(const struct tool_stage *s, bool piped, struct arena *a,
                  struct command *out, struct err *e);
/* Does one of its words, or the object that it reads as its arguments, have this in it? */
bool command_mentions(const struct command *c, struct str path);

/* Parameters that every call may have, up to one without a name; one of the manifest's own
 * goes first. */
struct shared_parameter {
    const char *name, *schema; /* JSON text, as clients take it */
};
extern const struct shared_parameter shared_parameters[];
/* Is this key one of them, rather than the tool's own? */
bool argument_is_shared(const struct tool *t, struct str key);

/* ---- the file tree of a stage (tree.c) ---------------------------------- */

#define TREE_FOLDERS 64u

struct tree {
    struct vfs *vfs;
    const char *folders[TREE_FOLDERS]; /* open from the start: "/", and those in it */
    size_t folder_count;
    const char *here; /* the working directory */
    /* Where a machine mounts it: /work, and each mount that is not in there. */
    const char *places[TREE_FOLDERS];
    size_t place_count;
};

/* The world's files and mounts, as far as the tool may use them. `a` holds names. */
bool tree_make(const struct tool_world *w, const struct tool *t, struct arena *a,
               struct tree *out, struct err *e);
void tree_done(struct tree *t);
/* Appends the files made or changed in /work to the result's files. */
bool tree_collect(struct tree *t, const struct tool_world *w, struct tool_result *out,
                  struct err *e);

/* ---- a stage (stage.c) -------------------------------------------------- */

struct stage {
    const struct tool_stage *what;
    const struct tool_world *world;
    struct loadable *module; /* NULL: it is a command of the machine */
    struct command command;
    struct tree tree;
    const char **env;
    size_t env_count;
    struct pipe *in, *out; /* NULL: the world's input, the result's output */
    struct buf *output;    /* where there is no pipe */
    struct cancel cancel;
    struct tool_outcome *outcome;
    struct err failed; /* it could not even begin */
    pthread_t thread;
    bool on_thread;
};

/* Makes the environment of its world and its tree, in `a`. */
bool stage_environment(struct stage *s, struct arena *a, struct err *e);
/* Bytes that it may have at most. */
uint64_t stage_memory(const struct tool_stage *s);
/* Runs it on this thread, from its beginning to its end. */
void stage_run(struct stage *s);
