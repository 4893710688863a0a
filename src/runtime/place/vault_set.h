/* place/vault_set.h - the set of vaults as it is kept, for vaults.c, which opens and finds them,
 * and vaults_change.c, which changes the user's list. Private to these.
 */
#pragma once
#include "notes/notes.h"
#include "os/os.h"
#include "pattern/pattern.h"
#include "place/internal.h"
#include "place/place.h"

#define KNOWN_MAX 2000u /* in the life of one process */
#define LIST_MEMORY ((size_t)32 << 20)

struct known {
    char *id, *path;
    char *name;                   /* of one that no list has */
    char created[25], opened[25]; /* the same */
    pthread_mutex_t opening;      /* held while it is opened, which may take a while */
    struct vault *vault;          /* NULL: not opened yet */
    bool reachable;
    bool is_listed; /* its id is the user's own word */
    bool clashed;   /* its id depends on the order in which folders were given */
};

/* A vault whose folder is gone; closed at the end. */
struct former {
    struct vault *vault;
    struct former *next;
};

struct vault_set {
    struct patterns *patterns; /* of all vaults */
    int config;                /* the folder of the user's list; -1: none */
    pthread_mutex_t creating;  /* taken before `lock`: one vault is created at a time */
    pthread_mutex_t lock;      /* guards all below; not held while a vault is opened */
    bool brief;                /* vault_set_be_brief() */
    bool bound;                /* to given folders; else the user's list */
    bool has_first;            /* `first` holds for this version of the list's file */
    unsigned first;
    struct os_stamp listed;
    char **roots; /* ends with NULL */
    struct known *known[KNOWN_MAX];
    unsigned count;
    struct former *former;
};

/* All with `lock` held. */

/* Reads the list, and keeps what can be reached in step with it. Where vaults are given, a list
 * that cannot be read is empty: they can be used all the same. */
bool vault_set_refresh(struct vault_set *s, struct arena *a, struct vaults *list,
                       struct err *e);
/* Its number; 0: none that can be reached has the id. */
unsigned vault_set_find_id(const struct vault_set *s, struct str id);
/* NULL: ERR_LIMIT. */
struct known *vault_set_add(struct vault_set *s, struct str id, const char *path,
                            struct err *e);
const struct vault_entry *vault_set_listed(const struct vaults *list, const char *path);
/* One vault as callers see it. */
void vault_set_put(const struct known *k, const struct vaults *list,
                   const struct grant *g, struct json_writer *w);
