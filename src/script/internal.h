/* script/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "abi/abi.h"
#include "script/script.h"

struct script {
    struct module *module;
    uint64_t logs_at;  /* of the guest's struct script_logs */
    uint64_t input_at; /* of the INPUT_READY bytes that each world has for input */
    const struct script_row *rows;
    size_t row_count;
    struct hands *hands;
};

/* ---- hands: threads that perform slow host calls ------------------------ */

struct run;

/* One host call on its way. Owned by its run; `next` is the list it is in. */
struct errand {
    struct errand *next;
    struct run *run;
    uint32_t id, row;
    struct str args; /* in the errand's own memory, behind it */
    struct buf out;
    struct err err;
    bool ok;
};

struct hands *hands_new(void);
void hands_free(struct hands *h); /* no errand may be on its way; NULL is fine */
/* Performs it soon, on a thread of ours, then calls run_done(). */
void hands_take(struct hands *h, struct errand *errand);

struct queue {
    struct errand *first, *last;
};

/* ---- one evaluation ----------------------------------------------------- */

struct run {
    struct script *script;
    const struct script_request *q;
    struct script_outcome *out;
    uint64_t started_ns, until_ns, host_ns;

    /* Answer of the last synchronous call, until the guest takes it. */
    struct buf sync_answer;
    struct queue quick, slow; /* calls that are not performed yet, in their order */

    /* Calls that have not begun are not made any more. */
    atomic_bool over;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t change;
    struct errand *finished;
    size_t away; /* errands that are being performed, or that the hands have */
    size_t finished_count;
    bool cancelled, ended;
};

/* Performs an errand; any thread. */
void run_perform(struct errand *errand);
/* An errand is back. */
void run_done(struct errand *errand);

/* ---- errors for people -------------------------------------------------- */

/* Fills the outcome's failure from the guest's answer, whose error object is `json`. */
void explain_error(struct script_outcome *out, struct str code, struct str json,
                   const struct script_answer *answer);
/* The same for a limit or failure that the host saw. */
void explain_limit(struct script_outcome *out, const struct err *why);
/* Fills in `missing` where the code used what is not there. */
void explain_missing(const struct script *s, const struct script_request *q,
                     struct script_outcome *out);

/* Are the keys of the context identifiers that hide nothing? */
bool check_context(const struct script *s, struct str context, struct err *e);
