/* script/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "abi/abi.h"
#include "script/script.h"

struct script {
    enum engine_kind kind;
    struct module *module;
    uint64_t logs_at;    /* of the guest's struct script_logs */
    uint64_t sources_at; /* of the guest's struct script_sources */
    uint64_t input_at;   /* of the INPUT_READY bytes that each world has for input */
    const struct script_row *rows;
    size_t row_count;
    struct hands *hands;
};

/* ---- hands: threads that perform slow host calls ------------------------ */

struct run;

/* When a call was performed; end_ns is 0 where it was not. */
struct made_times {
    uint64_t start_ns, end_ns;
};
#define MADE_NONE UINT32_MAX

/* One host call on its way. Owned by its run; `next` is the list it is in. */
struct errand {
    struct errand *next;
    struct run *run;
    uint32_t id, row;
    uint32_t within; /* SCRIPT_WITHIN, or 0 */
    struct str args; /* in the errand's own memory, behind it */
    struct buf out;
    struct err err;
    bool ok;
    uint32_t made; /* its note's number, or MADE_NONE */
    struct made_times times;
};

struct hands *hands_new(void);
void hands_free(struct hands *h); /* no errand may be on its way; NULL is fine */
/* Performs it soon, on a thread of ours, then calls run_done(). */
void hands_take(struct hands *h, struct errand *errand);
/* As script_rest() and script_resume(). */
bool hands_rest(struct hands *h, struct err *e);
void hands_resume(struct hands *h);

struct queue {
    struct errand *first, *last;
};

/* ---- one evaluation ----------------------------------------------------- */

struct run {
    struct script *script;
    const struct script_request *q;
    struct script_outcome *out;
    uint64_t started_ns, until_ns, host_ns;
    uint32_t round; /* how often the guest has gone on */
    size_t told;    /* bytes of log rows that q->wrote knows of */

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

/* When it ends, as things stand now. */
uint64_t run_until(const struct run *r);

#define CALL_ANSWER_MAX ((size_t)64 << 20) /* bytes of one host call's answer */
/* Performs one call, as the request's function does. */
bool call_perform(struct run *r, uint32_t row, struct str args, struct buf *out,
                  struct err *e);
/* An error as the guest makes one of its own from it. */
void call_failure(const struct err *why, struct buf *out);

/* Takes over the calls that the guest has made, slow and quick ones apart. */
bool run_take_calls(struct run *r, struct world *w, const struct script_answer *a,
                    struct err *e);
void run_send_slow(struct run *r);
void run_perform_quick(struct run *r);
/* Waits until a call is done, a timer is due, or the run must end. */
bool run_wait(struct run *r, const struct script_answer *a, struct err *e);
/* Hands over what is done, and lets the guest go on until it waits again. */
bool run_settle(struct run *r, struct world *w, struct script_answer *a, struct err *e);
/* No call is on its way any more when this returns. */
void run_end_calls(struct run *r);

/* Notes a call: its number, or MADE_NONE where there are too many. */
uint32_t made_add(struct run *r, const struct script_call *c, struct str args);
/* What became of it; ERR_NONE where it went well. */
void made_end(struct run *r, uint32_t index, const struct made_times *t,
              enum err_code failed, size_t answer_size);

/* What the guest has counted of further sources; of one that was stopped, too. */
void sources_read(struct run *r, struct world *w, bool stopped);

/* ---- the guest ---------------------------------------------------------- */

#define INPUT_READY 4096u /* bytes of input that need no call */
/* Room for `n` bytes in the guest. NULL and *e. */
char *guest_room(struct world *w, size_t n, struct err *e);
/* Calls start or resume; a copy of the answer. */
bool guest_step(struct world *w, const char *name, size_t n, struct script_answer *out,
                struct err *e);
bool guest_text(struct world *w, uint32_t at, uint32_t n, struct str *out, struct err *e);

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
/* The lines around a place, with a caret. */
void explain_frame(struct str code, uint32_t line, uint32_t column, struct buf *out);
/* Fills in `missing` where the code used what is not there. */
void explain_missing(const struct script *s, const struct script_request *q,
                     struct script_outcome *out);

/* Are the keys of the context identifiers that hide nothing? */
bool check_context(const struct script *s, struct str context, struct err *e);
