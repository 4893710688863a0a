/* catalogue/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "catalogue/catalogue.h"
#include "os/os.h"

/* ---- snapshots ----------------------------------------------------------- */

/* A module, for as many tools and snapshots as have it. */
struct binary {
    struct binary *next;
    char *key, *dir, *file, *sha256;
    char *image;   /* NULL: none */
    char *hash;    /* module_source.wasm_hash; NULL: not to be believed */
    bool builtin;  /* as trusted as the program */
    unsigned refs; /* under the catalogue's lock */
    struct catalogue *catalogue;
    pthread_mutex_t lock;    /* guards the next */
    struct loadable *module; /* made when first asked for */
};

struct entry {
    struct tool tool; /* first: this is what others hold */
    struct snapshot *owner;
    struct binary *binary; /* NULL: it is a command of the machine */
    const char *only_in;   /* a copy for this vault alone, where it is switched off */
    const char *key;       /* whose signature it has; NULL: none */
    uint64_t wasm_bytes;
};

/* Built once, then only read. */
struct snapshot {
    unsigned refs; /* under the catalogue's lock */
    struct arena *arena;
    struct entry **all; /* by name; of one name, what is meant first comes first */
    size_t count, room;
    struct buf problems;
};

#define STAMPS 4

struct catalogue {
    char *guest_dir;
    char *compiler;                     /* NULL: beside the guests */
    bool (*taken)(struct str name);     /* NULL: none is */
    struct engine *engine, *own_engine; /* the first: whose is used */
    char *own_ahead;                    /* which that borrows */
    int data, config, guest;            /* folders, -1 where there are none */
    pthread_mutex_t lock;               /* over all that follows */
    struct snapshot *now;
    struct os_stamp stamps[STAMPS];
    struct binary *binaries;
    uint64_t version;
};

/* The current snapshot, good until the lock is let go. With the lock held. */
struct snapshot *catalogue_current(struct catalogue *c);
/* The tool that a call in that vault would mean; NULL: nothing. */
struct entry *snapshot_find(const struct snapshot *s, struct str name, struct str vault);
/* false and ERR_NOT_FOUND, with the nearest. */
bool snapshot_none(const struct snapshot *s, struct str name, struct str vault,
                   struct err *e);

#define SNAPSHOT_MEMORY ((size_t)256 << 20)

/* A new row of zeros; NULL and ERR_LIMIT. */
struct entry *snapshot_add(struct snapshot *s, struct err *e);
/* Notes one line about an entry that was left out. */
void snapshot_problem(struct snapshot *s, const char *what, const struct err *why);

/* The rows of what lies beside the program. */
void builtin_load(struct catalogue *c, struct snapshot *s);
/* A UUID of a name, always the same (RFC 9562, version 8). */
void builtin_id(struct str name, char id[static TOOL_ID]);

/* The one that was lent, or its own. NULL and *e as engine_open(). */
struct engine *catalogue_engine(struct catalogue *c, struct err *e);

/* ---- packages ------------------------------------------------------------ */

/* A module that can run as a tool: found in the cache, or compiled apart and put there.
 * To be closed. NULL and *e as tool_install() fails. */
struct work {
    const char *name; /* of the tool */
    struct str wasm;
    const struct tool_watch *watch; /* NULL: none */
};
struct module *binary_open(struct catalogue *c, const struct work *w, struct err *e);

/* ---- modules ------------------------------------------------------------- */

/* The one of that key, made when it is new; takes a reference. With the lock held. */
struct binary *binary_share(struct catalogue *c, const struct binary *like);
void binary_drop(struct catalogue *c, struct binary *code);

size_t tool_package_size(const struct tool_package *p); /* bytes of the module */
