/* script/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "abi/abi.h"
#include "guest/guest.h"
#include "script/script.h"

/* A guest that speaks abi/abi.h. */
struct script_kind {
    const char *name;  /* of its files: "script" */
    const char *title; /* before the reason why it is not loaded */
    const struct engine_import *imports;
    size_t import_count;
    const char *taken; /* " a b ", names that injected values must not have */
    bool snake_case;   /* the API has such names in it, besides its own */
};
extern const struct script_kind script_javascript, script_python;

struct script {
    const struct script_kind *language;
    enum engine_kind kind;
    struct module *module;
    uint64_t logs_at;    /* of the guest's struct script_logs */
    uint64_t sources_at; /* of the guest's struct script_sources */
    uint64_t input_at;   /* of the INPUT_READY bytes that each world has for input */
    const struct script_row *rows;
    size_t row_count;
    struct workers *workers;
};

/* ---- code that was stopped (frames.c) ------------------------------------- */

/* The line of the agent's own code that ran when the world was stopped; 0: not known, as in
 * JavaScript. */
uint32_t frames_line(const struct script *s, struct world *w);

/* ---- tasks: host calls on their way -------------------------------------- */

struct run;
struct share;

/* When a call was performed; end_ns is 0 where it was not. */
struct made_times {
    uint64_t start_ns, end_ns;
};
#define MADE_NONE UINT32_MAX

/* In the pool's hands: under its lock. */
enum task_state {
    TASK_NEW,     /* not begun */
    TASK_QUEUED,  /* waits for a thread */
    TASK_RUNNING, /* a thread performs it */
    TASK_WAITING, /* put off by script_wait(); no thread has it */
};

struct script_task {
    struct script_task *next;           /* of the queue, or of the finished ones */
    struct script_task *before, *after; /* of all of its run; of the run's thread alone */
    struct run *run;
    uint32_t id, row;
    uint32_t within; /* SCRIPT_WITHIN, or 0 */
    struct str args; /* in the task's own memory, behind it */
    struct buf out;
    struct err err;
    bool ok;
    uint32_t made; /* its note's number, or MADE_NONE */
    struct made_times times;
    struct cancel cancel; /* fired when the run is over */

    /* Set by script_wait(), on the thread that performs it. */
    script_again_fn *again;
    void *waiter;
    uint64_t until_ns;
    enum script_wait_kind kind;
    bool put_off;

    /* Under the pool's lock. */
    enum task_state state;
    bool woken;      /* while it was performed */
    bool has_slot;   /* counts among the run's SLOW_AT_ONCE */
    size_t timer_at; /* its place among the timers, from 1; 0: none */
};

struct queue {
    struct script_task *first, *last;
};
void queue_put(struct queue *q, struct script_task *t);
struct script_task *queue_take(struct queue *q); /* NULL: it is empty */

/* Threads that perform slow calls, and timers for those that wait. Lock: a leaf. */
struct workers *workers_new(void);
void workers_free(struct workers *p); /* no task may be on its way; NULL is fine */
/* A run's tasks take turns with those of others; between these two. */
void workers_enter(struct workers *p, struct run *r);
void workers_leave(struct workers *p, struct run *r);
/* Performs them all, in their order as far as there are threads; each comes back by
 * run_done(). */
void workers_put(struct workers *p, struct run *r, struct queue *tasks);
/* A task that the run's own thread has begun was put off. */
void workers_park(struct workers *p, struct script_task *t);
/* `n` answers were taken over by the guest: their places are free. */
void workers_settled(struct workers *p, struct run *r, size_t n);
/* The run is over: takes out those that have not begun, and from now on lets its thread
 * have those that are to go on. */
void workers_withdraw(struct workers *p, struct run *r, struct queue *out);
/* With workers_withdraw() done: the next that is to go on; NULL: there is none. */
struct script_task *workers_next_of(struct workers *p, struct run *r);

/* A run as the pool knows it; under its lock. */
struct run_tasks {
    struct run *next; /* of its share's, in turn */
    struct share *share;
    struct queue fresh; /* have not begun */
    struct queue ready; /* go on */
    unsigned slots;     /* that are performed, wait heavily, or are not settled */
    unsigned waiting;   /* that wait lightly */
    bool listed, over;
};

/* ---- an evaluation ------------------------------------------------------ */

struct run {
    struct script *script;
    const struct script_request *q;
    struct script_outcome *out;
    uint64_t started_ns, until_ns, host_ns;
    uint64_t patient_ns; /* when timeout_ms ends what it waits for now; as until_ns */
    /* The guest waits within a call: the thread's CPU time at the start, and what of it
     * the host took; the computing time that is the limit now. */
    bool in_call;
    uint64_t cpu_ns, computes_ns;
    uint32_t round; /* how often the guest has gone on */
    size_t told;    /* bytes of log rows that q->wrote knows of */

    /* Answer of the last synchronous call, and of the last wait, until the guest takes
     * it: the one that `given` tells. */
    struct buf sync_answer, settled;
    const struct buf *given;
    struct queue quick, slow;  /* calls that are not performed yet, in their order */
    struct script_task *tasks; /* all that are not freed */
    struct script_task *held;  /* a quick one that waits: those behind it do, too */
    struct run_tasks in_workers;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t change;
    struct script_task *finished;
    size_t away; /* tasks that are being performed, wait, or that the pool has */
    bool cancelled, poked;
};

/* When it ends, as things stand now; and when what it waits for does. */
uint64_t run_until(const struct run *r);
uint64_t run_wait_until(const struct run *r);

#define CALL_ANSWER_MAX ((size_t)64 << 20) /* bytes of one host call's answer */
/* Performs one call, as the request's function does. */
bool call_perform(struct run *r, struct script_task *t, uint32_t row, struct str args,
                  struct buf *out, struct err *e);
/* An error as the guest makes one of its own from it. */
void call_failure(const struct err *why, struct buf *out);

/* Takes over the calls that the guest has made, slow and quick ones apart. */
bool run_take_calls(struct run *r, struct world *w, const struct script_answer *a,
                    struct err *e);
void run_send_slow(struct run *r);
void run_perform_quick(struct run *r);
/* Waits until a call is done, a timer is due, or the run must end. */
bool run_wait(struct run *r, const struct script_answer *a, struct err *e);
/* The guest waits, for the calls of `a` and its timer: they are begun, until one is done. */
bool run_rest(struct run *r, struct world *w, const struct script_answer *a,
              struct err *e);
/* What is done, as rows of struct script_settled, into r->settled. */
void run_collect(struct run *r);
/* Hands over what is done, and lets the guest go on until it waits again. */
bool run_settle(struct run *r, struct world *w, struct script_answer *a, struct err *e);
/* No call is on its way any more when this returns. */
void run_end_calls(struct run *r);

/* Notes a call: its number, or MADE_NONE where there are too many. */
uint32_t made_add(struct run *r, const struct script_call *c, struct str args);
/* Notes its outcome; ERR_NONE where it went well. */
void made_end(struct run *r, uint32_t index, const struct made_times *t,
              enum err_code failed, size_t answer_size);

/* Reads the guest's counts of further sources; of a stopped guest, too. */
void sources_read(struct run *r, struct world *w, bool stopped);

#define INPUT_READY 4096u /* bytes of input that need no call */

/* Performs a task, or goes on with one; any thread. false: it was put off. */
bool run_perform(struct script_task *t);
/* A task is back. */
void run_done(struct script_task *t);
/* Wakes a waiting task, when the run is over. */
void run_poke(struct run *r);

/* ---- errors for people -------------------------------------------------- */

/* Fills the outcome's failure from the guest's answer, whose error object is `json`. */
void explain_error(struct script_outcome *out, struct str code, struct str json,
                   const struct script_answer *answer);
/* The same for a limit or failure that the host saw. */
void explain_limit(struct script_outcome *out, const struct err *why);
/* The lines around a place, with a caret. */
void explain_frame(struct str code, uint32_t line, uint32_t column, struct buf *out);
/* Fills in `missing` where the code used what is not there, and names it in the message. */
void explain_missing(const struct script_request *q, struct script_outcome *out);

/* Is there a request? While a first world takes the table, there is none, and no limits: a
 * guest that calls, waits or gives up then is stopped. */
bool guest_is_asked(const struct run *r, struct err *e);
/* The imports of both guests. */
engine_import_fn import_call, import_take, import_random, import_stop, import_clock;
engine_import_fn import_wait;

/* Are the keys of the context identifiers that hide nothing? */
bool check_context(const struct script *s, struct str context, struct err *e);
