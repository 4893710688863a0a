/* place/place.h - the vaults that can be reached, and what a call may do in one. Errors
 * are ERR_NO_VAULT, ERR_NOT_FOUND and those of guard and notes. A vault belongs to its
 * set and stays open until the set closes; a place belongs to its caller, who closes it.
 * Threads: the set is safe, a place belongs to one call. */
#pragma once
#include "guard/guard.h"
#include "vaults/vaults.h"

struct account_part;
struct actions;
struct egress_rules;
struct outcome;
struct patterns;
struct place;
struct vault;
struct vault_author;
struct vault_review;
struct vault_set;
struct vfs_mount;

/* The policy of files that code sees besides the vault's. */
struct files_policy {
    bool file_system; /* enableFileSystem may be asked for */
    const struct json *mounts;
};
extern const struct policy_group files_policy;
struct policy_mount {
    const char *guest, *host; /* absolute paths */
    bool writable;
    bool dots;  /* names that begin with a dot are shown */
    bool links; /* symbolic links may be made */
};
const struct json *policy_mounts(const struct policy *p); /* a list of: */
struct policy_mount policy_mount(const struct json *m);
/* The policy of the network. */
struct network_policy {
    struct policy_names hosts, allow_private;
    const struct json *secrets; /* as egress takes them */
};
extern const struct policy_group network_policy;
/* Its rules; `p` NULL: none of the policy's. `more`: a person's own hosts and addresses besides,
 * up to a NULL; NULL: none. The caller frees them. NULL and ERR_INVALID. */
struct egress_rules *network_rules(const struct network_policy *p,
                                   const char *const *more, struct err *e);
/* Opens one of the policy's mounts for a call at `place`; the caller closes out->dir.
 * false and ERR_DENIED (it contains files of ours, or could move the vault away), or as
 * os_dir_open(). */
bool mount_open(struct actions *a, const struct place *place,
                const struct policy_mount *m, struct vfs_mount *out, struct err *e);
/* Both lists as in struct actions_options. */
struct vault_set *vault_set_open(const char *const *vaults, const char *const *roots,
                                 struct patterns *patterns, struct err *e);
void vault_set_close(struct vault_set *s); /* NULL is fine */
/* As vault_be_brief(), for all that it opens. Before the first call. */
void vault_set_be_brief(struct vault_set *s);

/* A vault that `g` does not grant is treated as missing; NULL grants all. */

/* The vault to begin in; 0 and ERR_NO_VAULT. */
unsigned vault_set_first(struct vault_set *s, const struct grant *g, struct err *e);
/* The same without opening it: 0 if there is none. */
unsigned vault_set_begin(struct vault_set *s, const struct grant *g);
/* The open vault of a number; NULL and *e. Valid until the set closes. */
struct vault *vault_set_get(struct vault_set *s, unsigned number, struct err *e);
/* whether it is the user's whole list */
bool vault_set_is_users(const struct vault_set *s);

/* The functions of vaults.*, which append their answers. `current` is the caller's number, or
 * 0. false (or number 0) and *e: ERR_NOT_FOUND, ERR_INVALID, ERR_CONFLICT (the id is taken, or
 * vaults would share notes), ERR_DENIED, ERR_LIMIT, or the user's list cannot be read or
 * written. */
bool vault_set_current(struct vault_set *s, unsigned current, const struct grant *g,
                       struct json_writer *out, struct err *e);
bool vault_set_list(struct vault_set *s, const struct grant *g, struct json_writer *out,
                    struct err *e);
/* Its name and description, for people; in the arena. false and *e: the list cannot be read. */
struct vault_words {
    struct str name, description;
};
bool vault_set_words(struct vault_set *s, unsigned number, struct vault_words *out,
                     struct arena *a, struct err *e);
/* Functions that change the list: the caller of them has checked vault_set_owned(). `roots`: where the policy lets code
 * make vaults, besides those of the options. */
unsigned vault_set_create(struct vault_set *s, const struct json *options,
                          const struct policy_names *roots, bool *use,
                          struct json_writer *out, struct err *e);
unsigned vault_set_find(struct vault_set *s, struct str id, const struct grant *g,
                        struct err *e);
/* Only the user changes the list: a caller who may reach a part of it may not. The
 * message names `call`. false and ERR_DENIED. */
bool vault_set_owned(const struct grant *g, const char *call, struct err *e);
bool vault_set_update(struct vault_set *s, const struct json *options,
                      const struct grant *g, struct err *e);
bool vault_set_remove(struct vault_set *s, struct str id, const struct grant *g,
                      struct err *e);
/* A number that changes with the set of vaults. */
uint64_t vault_set_state(struct vault_set *s);
/* The vault's folder, to be freed; NULL for 0. */
char *vault_set_path(struct vault_set *s, unsigned number);
unsigned vault_set_count(struct vault_set *s); /* the highest number in use */
/* Copies the vault's id; "" for 0 and for a vault that was removed. */
void vault_set_id(struct vault_set *s, unsigned number, char id[static VAULT_ID_MAX + 1]);
/* Whether paths on the disk are hidden from `who`: the bearer of a token for some vaults
 * does not see them. */
bool paths_hidden(const struct caller *who);
/* Removes paths on the disk from an error's message if they are hidden from `who`; those
 * that occur in `said`, the caller's own text, stay. */
void paths_hide(const struct caller *who, struct str said, struct err *e);

/* A vault, or none, and the call's permit there. */
struct place {
    unsigned vault; /* its number; 0: none */
    struct ward *ward;
    struct permit permit;
    struct place *next;                /* further ones of the evaluation */
    struct account_part *part;         /* the call's account of it; NULL: none */
    const struct vault_author *author; /* author of notes written there (account_place) */
};

/* The vault that the caller switched to last; 0: none, or one that is not granted any more. */
unsigned place_last(struct actions *a, const struct caller *who);
/* The two halves of place_open(); p->ward is set also where the second fails. Errors as
 * guard_ward(), and ERR_NO_VAULT (the caller is not granted that vault); as permit_open(). */
bool place_find(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, struct err *e);
bool place_permit(struct place *p, const struct caller *who, const struct json *allowed,
                  struct err *e);
/* false and *e: as guard_ward() and permit_open(); nothing is to be closed then. */
bool place_open(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, const struct json *allowed, struct err *e);
void place_close(struct place *p);
bool place_sees_notes(const struct place *p); /* whether notes.get may be called there */

/* The vault as the place's caller sees it: the history names the caller, changes in
 * places that may not be read are left out, and either cancel (NULL is fine) ends pattern
 * matching. The caller closes it with vault_close(). NULL for NULL. */
struct vault *place_view(const struct place *p, struct vault *v, struct cancel *first,
                         struct cancel *second, struct vault_review *review,
                         struct outcome *outcome);
