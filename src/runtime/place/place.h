/* place/place.h - where calls work: the vaults that can be reached, and what a call may
 * do in one. Failures are ERR_NO_VAULT, ERR_NOT_FOUND and what guard and notes give. A
 * vault belongs to its set and stays open until the end; a place is its caller's, who
 * closes it. Threads: the set is safe, a place belongs to one call. */
#pragma once
#include "guard/guard.h"
#include "vaults/vaults.h"

struct account_part;
struct actions;
struct outcome;
struct patterns;
struct place;
struct vault;
struct vault_author;
struct vault_review;
struct vault_set;
struct vfs_mount;

/* Opens one of the policy's mounts for what works at `place`; out->dir is the caller's to
 * close. false and ERR_DENIED (it holds files of ours, or could move the vault away), or
 * as os_dir_open(). */
bool mount_open(struct actions *a, const struct place *place,
                const struct policy_mount *m, struct vfs_mount *out, struct err *e);
/* Both lists as in struct actions_options. */
struct vault_set *vault_set_open(const char *const *vaults, const char *const *roots,
                                 struct patterns *patterns, struct err *e);
void vault_set_close(struct vault_set *s); /* NULL is fine */

/* What `g` does not grant is as if it were not there; NULL grants all. */

/* The number to begin with; 0 and ERR_NO_VAULT. */
unsigned vault_set_first(struct vault_set *s, const struct grant *g, struct err *e);
/* The same, quickly: 0 where there is none. */
unsigned vault_set_begin(struct vault_set *s, const struct grant *g);
/* The open vault of a number; NULL and why not. It stays open until the end. */
struct vault *vault_set_get(struct vault_set *s, unsigned number, struct err *e);
bool vault_set_is_users(const struct vault_set *s); /* the user's list, all of it? */

/* What vaults.* do; `current` is the caller's number, or 0. */
bool vault_set_current(struct vault_set *s, unsigned current, const struct grant *g,
                       struct json_writer *out, struct err *e);
bool vault_set_list(struct vault_set *s, const struct grant *g, struct json_writer *out,
                    struct err *e);
/* `roots`: where the policy lets code make vaults, besides those of the options. */
unsigned vault_set_create(struct vault_set *s, const struct json *options,
                          const struct policy_names *roots, const struct grant *g,
                          bool *use, struct json_writer *out, struct err *e);
unsigned vault_set_find(struct vault_set *s, struct str id, const struct grant *g,
                        struct err *e);
/* The list is the person's: who may reach a part of it does not change it. `call` is named
 * in the message. false and ERR_DENIED. */
bool vault_set_owned(const struct grant *g, const char *call, struct err *e);
bool vault_set_update(struct vault_set *s, const struct json *options,
                      const struct grant *g, struct err *e);
bool vault_set_remove(struct vault_set *s, struct str id, const struct grant *g,
                      struct err *e);
/* Another number whenever other vaults can be reached. */
uint64_t vault_set_state(struct vault_set *s);
/* Its folder, to be freed; NULL for 0. */
char *vault_set_path(struct vault_set *s, unsigned number);
unsigned vault_set_count(struct vault_set *s); /* the highest number there is */
/* Its id, copied; "" for 0 and for one that was removed. */
void vault_set_id(struct vault_set *s, unsigned number, char id[static VAULT_ID_MAX + 1]);
/* May `who` not be told where things lie on the disk? The bearer of a token for some
 * vaults may not. */
bool paths_hidden(const struct caller *who);
/* Takes the paths of the disk out of a failure's message where they are hidden from `who`.
 * Not those that stand in what it `said` itself. */
void paths_hide(const struct caller *who, struct str said, struct err *e);

/* A vault, or none, and what the call may do there. */
struct place {
    unsigned vault; /* its number; 0: none */
    struct ward *ward;
    struct permit permit;
    struct place *next;        /* the evaluation's other ones */
    struct account_part *part; /* what the call's account says of it; NULL: nothing */
    const struct vault_author *author; /* who writes notes there (account_place) */
};

/* The vault that the caller went to last; 0: none, or it is not his any more. */
unsigned place_last(struct actions *a, const struct caller *who);
/* The first half of place_open(), and the second, whose failure still knows the ward.
 * ERR_NO_VAULT: the caller is not granted that vault. */
bool place_find(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, struct err *e);
bool place_permit(struct place *p, const struct caller *who, const struct json *allowed,
                  struct err *e);
/* false and *e: as guard_ward() and permit_open(); nothing is to be closed then. */
bool place_open(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, const struct json *allowed, struct err *e);
void place_close(struct place *p);
bool place_sees_notes(const struct place *p); /* may notes.get be called there? */

/* The vault as the place's caller sees it: the history names the caller, no change tells
 * what it may not read, and either cancel (NULL is fine) ends what it matches. To be ended
 * with vault_close(); NULL stays NULL. */
struct vault *place_view(const struct place *p, struct vault *v, struct cancel *first,
                         struct cancel *second, struct vault_review *review,
                         struct outcome *outcome);
