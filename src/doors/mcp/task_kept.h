/* mcp/task_kept.h - a task as it is kept, for task.c, which runs it, and task_methods.c, which
 * answers its client. All of it is under the lock of all tasks, unless said otherwise.
 */
#pragma once
#include "crypto/crypto.h"
#include "mcp/core.h"

enum status { WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED };
struct task {
    struct task *next;   /* of all that are kept */
    struct task *queued; /* behind it in the queue */
    struct tasks *tasks;
    char id[CRYPTO_TOKEN];
    char principal[PRINCIPAL_MAX + 1];
    enum status status;
    char message[200];            /* for people; empty: none */
    int64_t begun_ms, changed_ms; /* since 1970 */
    int64_t ends_ms;              /* monotonic: until when it is kept */
    struct call *call;            /* NULL: it has run */
    char who[CALLER_NAME];
    const struct grant
        *grant; /* held until it has run; NULL then, or as in struct front */
    const struct outlet *heard; /* of who waits, for as long as it does */
    struct outlet outlet;       /* leads there, or nowhere */
    pthread_mutex_t outlet_lock;
    struct buf answer; /* a whole JSON-RPC response, then the result or error alone */
    int http_status;
    pthread_cond_t changed;
    bool done;           /* it has run */
    bool waited;         /* somebody waits for its answer */
    bool detached;       /* it is a task */
    bool held;           /* it asked in its answer: it can be none */
    struct arena *arena; /* of the questions and their answers */
    struct question questions[TASK_QUESTIONS_MAX];
    size_t asked;
};

/* Sets its status and wakes whoever waits for it. */
void task_touch(struct task *t, enum status status, const char *message);
bool task_is_over(const struct task *t);
/* NULL: there is none of this principal. */
struct task *task_find(struct tasks *ts, struct str id, const char *principal);
/* The members that every answer about a task has. */
void task_put_base(const struct task *t, struct json_writer *w);
