/* catalogue/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "catalogue/catalogue.h"
#include "os/os.h"

/* ---- what there is, at one moment ---------------------------------------- */

/* One module, for as many tools and snapshots as have it. */
struct binary {
    struct binary *next;
    char *key, *dir, *file, *image, *sha256; /* image: NULL, none */
    bool builtin;                            /* as trusted as the program */
    unsigned refs;                           /* under the catalogue's lock */
    pthread_mutex_t lock;                    /* while it is compiled */
    struct module *module;
};

struct entry {
    struct tool tool; /* first: this is what others hold */
    struct snapshot *owner;
    struct binary *binary;
    const char *only_in; /* a copy for this vault alone, where it is switched off */
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
    char *compiler; /* NULL: beside the guests */
    struct engine *engine;
    int data, config, guest; /* folders, -1 where there are none */
    pthread_mutex_t lock;    /* over all that follows */
    struct snapshot *now;
    struct os_stamp stamps[STAMPS];
    struct binary *binaries;
    uint64_t version;
};

#define SNAPSHOT_MEMORY ((size_t)256 << 20)

/* A new row of zeros; NULL and ERR_LIMIT. */
struct entry *snapshot_add(struct snapshot *s, struct err *e);
/* One line about what was left out. */
void snapshot_problem(struct snapshot *s, const char *what, const struct err *why);

/* The rows of what lies beside the program. */
void builtin_load(struct catalogue *c, struct snapshot *s);
/* A UUID of a name, always the same (RFC 9562, version 8). */
void builtin_id(struct str name, char id[static TOOL_ID]);

/* ---- modules ------------------------------------------------------------- */

/* The one of that key, made when it is new; takes a reference. With the lock held. */
struct binary *binary_share(struct catalogue *c, const struct binary *like);
void binary_drop(struct catalogue *c, struct binary *code);
