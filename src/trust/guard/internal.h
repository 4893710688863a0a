/* guard/internal.h - what the files of this room share. Private to guard. */
#pragma once
#include <pthread.h>

#include "guard/guard.h"
#include "os/os.h"
#include "json/json.h"

/* ---- alerts.c, webhook.c ------------------------------------------------- */

struct alerts;
struct alerts *alerts_new(void);
void alerts_free(struct alerts *a);
/* false and ERR_DENIED: the caller is paused. */
bool alerts_allow(struct alerts *a, const char *name, struct err *e);

struct webhook;
struct webhook *webhook_new(void);
void webhook_free(struct webhook *h);
void webhook_send(struct webhook *h, const char *url, const struct alert *alert,
                  const char *kind);

/* ---- guard.c ------------------------------------------------------------ */

struct guard {
    struct policy_terms terms;
    struct audit *audit;
    struct alerts *alerts;
    struct webhook *webhook;
    int config;           /* the user's folder; -1: there is none */
    struct err no_config; /* why, where that must refuse; else no code */
    char *config_path;
    pthread_mutex_t lock; /* guards the list */
    struct ward *_Atomic wards;
};

struct ward {
    struct guard *guard;
    struct ward *next;
    char *path; /* as it was asked for; NULL: no vault */
    struct trail *trail;
    int dir;              /* -1: no vault */
    pthread_mutex_t lock; /* guards what follows */
    bool is_read;
    struct os_stamp user, vault; /* of the files that `state` is made of */
    struct policy_state *state;  /* NULL: refused with `why` */
    struct err why;
    char *told; /* the policy as the trail records it: members of a record */
    uint64_t looked_ns, trail_bytes; /* of the trail; 0: not looked yet */
    bool told_full;                  /* that it is nearly full */
};

/* As ward_policy(), but as it was read last, by the call whose permit asked for it: its files
 * are not looked at again. */
const struct policy *ward_policy_last(struct ward *w, struct err *e);

/* ---- quota.c ------------------------------------------------------------- */

/* May an agent's call run, and may it change something, as far as the disk is concerned?
 * ERR_BUSY: its records have taken their share; ERR_IO: trail or disk are full. */
bool quota_allows(struct ward *w, const struct policy *p, const struct caller *who,
                  struct err *e);
bool quota_allows_writes(struct ward *w, const struct policy *p, const struct caller *who,
                         const char *call, struct err *e);

/* ---- alerts.c ------------------------------------------------------------ */

enum spent_kind { SPENT_RECORDS, SPENT_NOTES, SPENT_KINDS };
/* Adds to what a caller has taken of the disk within a day. Records: is that below? Notes:
 * was it below before? Otherwise nothing is added. */
bool alerts_spend(struct alerts *a, const char *name, enum spent_kind kind, size_t bytes,
                  uint32_t most_kib);
bool alerts_first(struct alerts *a, const char *name); /* of three hours */
void alerts_raise(struct ward *w, const struct policy *p, struct alert *alert);

#define POLICY_FILE "policy.json"
#define VAULT_POLICY_FILE ".cloche/policy.json"

/* The text of one of the files, empty where it is not there. ERR_DENIED: others could have
 * written the user's own. */
bool policy_load(int dir, const char *name, struct buf *out, struct err *e);
/* Where the file lies, for people; the caller frees. */
char *policy_path(const struct ward *w, bool in_vault);
/* Reads both anew. `p` gets what is wrong; NULL and *e where that refuses calls. */
struct policy_state *ward_read(struct ward *w, struct problems *p, struct err *e);
/* The same where one of the two texts is another: `text` in place of the user's or the vault's
 * (`in_vault`). */
struct policy_state *ward_read_with(struct ward *w, bool in_vault, struct str text,
                                    struct problems *p, struct err *e);
