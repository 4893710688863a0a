/* mcp/outlet.h - what is said to a call's client before its answer: progress, log
 * messages, questions.
 *
 * A transport runs a call with an outlet, which takes single messages to where the
 * call's client listens. call.c makes a `struct talk` around it: the `struct client`
 * that the action sees, with the rules of the protocol's two eras in between. Nothing
 * is said any more once talk_end() has returned. Private to the room mcp.
 * Source: 2025-11-25 basic/utilities/progress, server/utilities/logging, client/;
 * 2026-07-28 basic/patterns.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "client/client.h"
#include "mcp/ticker.h"
#include "json/json.h"

struct call;
struct input;
struct mcp;

/* ---- where messages go -------------------------------------------------- */

enum outlet_weight {
    OUTLET_LIGHT, /* may be left out when the client is too slow: progress, logs */
    OUTLET_HEAVY, /* may not: questions */
};

/* Threads: any, and several at once. Nothing here waits for the client. */
struct outlet {
    /* Sends a JSON-RPC message, without a line end. false: nobody will hear it. */
    bool (*say)(void *arg, struct str message, enum outlet_weight weight);
    /* A sign of life that is no message; NULL: there is none. */
    void (*beat)(void *arg);
    /* Its client need not stay; NULL: it has to. */
    void (*let_go)(void *arg);
    /* As client_rest() and client_resume(); NULL: its thread may wait as it is. */
    bool (*rest)(void *arg, struct err *e);
    void (*resume)(void *arg);
    void *arg;
};

/* ---- a client's capabilities -------------------------------------------- */

/* The capabilities that a client declared. */
#define CAN_FORM 1u
#define CAN_URL 2u
#define CAN_SAMPLE 4u
#define CAN_SAMPLE_TOOLS 8u
#define CAN_SAMPLE_CONTEXT 16u
#define CAN_ROOTS 32u

/* Reads ClientCapabilities, a JSON object; anything else reads as none. */
unsigned can_read(const struct json *capabilities);
/* Does it answer this method at all? */
bool can_answer(unsigned can, struct str method);
/* The CAN_* that answering it takes; with `params` NULL, the least. 0: no question. */
unsigned can_need(struct str method, const struct json *params);
/* The members of a ClientCapabilities object with these. */
void can_put(unsigned can, struct json_writer *w);
/* And with these parameters: a mode, tools? false and ERR_CAPABILITY, or ERR_INVALID:
 * there is no such question. */
bool can_answer_this(unsigned can, struct str method, const struct json *params,
                     struct err *e);
/* Is `result` an answer to the question, one that keeps to the schema which an
 * elicitation asks for? false and ERR_INVALID. */
bool answer_check(struct str method, const struct json *params, const struct json *result,
                  struct err *e);
/* Is this text of the format email, uri, date or date-time? Of others everything is.
 * false: *such says what is, "a date such as ...". */
bool format_fits(struct str format, struct str text, const char **such);

/* ---- a call's messages -------------------------------------------------- */

struct talk {
    struct client client; /* for the action; its ways are of the call's era */
    struct input *input;  /* of the modern era's */
    const struct call *call;
    const struct outlet *outlet; /* NULL: it can be told nothing */
    uint64_t begun_ns;

    pthread_mutex_t lock;
    bool over;
    double done, total; /* the last that was said; `done` is below 0 before */
    struct {
        uint64_t since_ns;
        double left;
    } progress_may, log_may; /* how much more may be said now */
    struct {
        bool there;
        double done, total;
        struct buf message;
    } held;        /* progress that came too soon after the last */
    unsigned lost; /* log messages that were left out */

    struct beat beat;
};

void talk_begin(struct talk *t, const struct call *call, const struct outlet *outlet,
                struct input *input);
/* Says the messages that were held back, and then nothing more. */
void talk_end(struct talk *t);
/* A log message as JSON-RPC wants it. `request`: the id of the request that it belongs to,
 * for `_meta`; NULL: not said. */
void put_log(struct buf *out, enum client_level level, const char *logger,
             struct str data, const struct json *request);

/* ---- questions to clients of the older era ------------------------------ */

#define ASKS_MAX 1024u                           /* that wait, in all (share_fits) */
#define ASKS_SESSION_MAX 16u                     /* and of one session */
#define ASK_WAIT_S 600u                          /* for a person to answer */
#define ASK_ANSWER_MAX ((size_t)4 * 1024 * 1024) /* bytes */

struct asks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct ask *first;
    unsigned count;
    unsigned wait_ms; /* [ASK_WAIT_S]; less in tests */
};
void asks_init(struct asks *a);
void asks_done(struct asks *a);
/* As client_ask(), of one call. */
bool asks_ask(struct asks *a, struct talk *t, const struct client_question *questions,
              size_t n, const struct cancel *stop, struct arena *arena,
              const struct json **answers, struct err *e);
/* As client_ask_begin() and so on. */
struct asked;
struct asked *asks_begin(struct asks *a, struct talk *t,
                         const struct client_question *questions, size_t n,
                         void (*wake)(void *arg), void *arg, struct err *e);
bool asks_look(struct asked *x, uint64_t *look_ns);
bool asks_end(struct asked *x, const struct client_question *questions,
              struct arena *arena, const struct json **answers, struct err *e);
/* A response that this session's client sent. What answers no question that waits is
 * passed over. */
struct session;
void asks_answer(struct asks *a, const struct session *from, const struct json *response);
/* This session's client is not there to answer any more. */
void asks_abandon(struct asks *a, const struct session *session);
/* Calls were cancelled: who waits for a person shall look. */
void asks_wake(struct asks *a);
