/* mcp/task.h - calls that take long, of clients who know tasks: the client is handed a
 * name for the call, and asks for its result later.
 *
 * A tools/call of a client that declares the extension runs on a thread of its own kind.
 * Its transport waits a moment; when it is not done then, or says that it will take
 * long (client_later()), it becomes a task: it goes on by itself, asks its client through
 * tasks/get and tasks/update, and its result is kept for an hour from its beginning. A
 * task is its principal's alone, its name cannot be guessed, and it ends with the server.
 * Where there is no room for more, calls run as they do for everybody else.
 * Source: the extension io.modelcontextprotocol/tasks (SEP-2663) of 2026-07-28.
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "client/client.h"
#include "json/json.h"

#define TASK_AFTER_MS 3000u              /* until a call becomes a task by itself */
#define TASK_TTL_MS ((int64_t)3600000)   /* that it is kept, from its beginning */
#define TASK_POLL_MS 1000                /* how often clients should ask */
#define TASK_INPUT_S 600u                /* for an answer to what it asks */
#define TASKS_MAX 256u                   /* kept, in all */
#define TASKS_PRINCIPAL_MAX 64u          /* and of one principal */
#define TASK_THREADS 32u                 /* calls that run at once, in all */
#define TASK_THREADS_PRINCIPAL 16u       /* and of one principal */
#define TASKS_BYTES ((size_t)128 << 20)  /* of results that are kept, in all */
#define TASK_QUESTIONS_MAX 32u           /* that one task asks */
#define TASK_INPUT_MAX ((size_t)4 << 20) /* bytes of its questions and their answers */

struct call;
struct exchange;
struct front;
struct mcp;
struct reply;
struct task;

struct tasks {
    struct mcp *m;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct task *first;           /* all of them, newest first */
    struct task *queue;           /* one waits here for no longer than it takes */
    size_t count, running, bytes; /* of those kept; on threads; of results */
    unsigned threads, idle;
    pthread_t handles[TASK_THREADS];
    bool ending;
    unsigned after_ms, input_ms; /* TASK_AFTER_MS, TASK_INPUT_S; less in tests */
};

void tasks_init(struct tasks *t, struct mcp *m);
/* Cancels the tasks that still run, and waits for them. */
void tasks_done(struct tasks *t);

/* As http_expel(): tasks of those of whom `stays` says no are stopped, and fail. */
void tasks_expel(struct tasks *t, bool (*stays)(void *arg, const void *left), void *arg);

/* Does the client of this request know tasks? */
bool tasks_declared(const struct json *params);
/* Answers that it would have to. */
void tasks_refuse(struct exchange *x);
/* May this call become a task? */
bool task_suits(const struct call *c);
/* Runs it; the answer is the call's own, or a task's. false: there is no thread for it,
 * and it has not run. Takes the call over if it is true. */
bool task_run(struct call *c, const struct front *f, struct reply *r);

/* The call goes on as a task, as client_later() wants it. */
bool task_detach(struct task *t, struct err *e);
bool task_is_one(struct task *t);
/* It asks in its answer, and will be no task. false: it is one already. */
bool task_hold(struct task *t);
/* Asks, of a task, and waits; as client_ask(). */
bool task_ask(struct task *t, const struct client_question *questions, size_t n,
              unsigned can, const struct cancel *stop, const struct json **answers,
              struct err *e);

/* Methods. */
void tasks_get(struct exchange *x);
void tasks_update(struct exchange *x);
void tasks_cancel(struct exchange *x);

/* notifications/tasks of one: false, there is none of this principal. */
bool task_put_notice(struct tasks *t, struct str id, const char *principal,
                     struct json_writer *w);
