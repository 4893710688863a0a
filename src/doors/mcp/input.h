/* mcp/input.h - questions to the client in the era without requests to it: the call ends
 * with what it has to know ("input_required"), and is made again with the answers.
 *
 * Questions and answers of earlier rounds go to the client and come back in
 * `requestState`: sealed under a key that is made when the server starts and never leaves
 * it, for one principal and one request, once, within ten minutes. All that is kept here
 * is which of them came back (spent.h). Answers to what the state does not ask are passed
 * over, and so are those without a state where something is permitted by them: nobody was
 * asked. An answer holds for the very question that it was given to: when the question has
 * changed since, it is asked again, as is what was not answered or not as was asked for.
 * Private to the room mcp.
 * Source: 2026-07-28 basic/patterns/mrtr, basic/index (_meta).
 */
#pragma once
#include "base/base.h"
#include "client/client.h"
#include "crypto/crypto.h"
#include "json/json.h"

#define INPUT_STATE_S 600u                     /* how long a requestState is good for */
#define INPUT_STATE_MAX ((size_t)256 * 1024)   /* bytes of one, before it is sealed */
#define INPUT_MEMORY ((size_t)8 * 1024 * 1024) /* of one run's questions, and the state */
#define INPUT_QUESTIONS_MAX 32u                /* of one call, over all its rounds */

struct call;
struct mcp;

struct question;

/* The questions and answers of one run of a call. Threads: one. */
struct input {
    const struct call *call;
    const char *principal;
    unsigned can;             /* what the client declared, CAN_* */
    unsigned lacks;           /* and what was needed besides, if anything */
    bool lacks_tasks;         /* it is the extension of tasks that it would need */
    bool offered;             /* this request may be answered with questions */
    const struct json *given; /* inputResponses */
    /* From the state that came back: {key: answer}, and {key: hash of its question}. */
    const struct json *answers, *asked;
    struct arena *arena;        /* made when first needed */
    struct question *questions; /* in the arena, INPUT_QUESTIONS_MAX of them */
    size_t count;
};

struct question {
    struct client_question is;
    const struct json *params;
    char hash[CRYPTO_HASH_HEX];
    const struct json *answer; /* NULL: the client has to be asked */
};

/* false and ERR_INVALID: the request's inputResponses are no such, or its requestState was
 * not made here, for this caller and this request, is too old or came back before;
 * ERR_BUSY: too many of this caller's have. */
bool input_begin(struct input *in, const struct call *c, const char *principal,
                 struct err *e);
void input_done(struct input *in);

/* As the ways of a client (client/client.h). */
bool input_answers(struct input *in, const char *method);
bool input_ask(struct input *in, const struct client_question *questions, size_t n,
               const struct cancel *stop, const struct json **answers, struct err *e);

/* As client_later(). */
bool input_later(struct input *in, struct err *e);

/* Is there a question that the client has to answer before the call can go on? */
bool input_is_wanted(const struct input *in);
/* The answer of a call that ended with ERR_INPUT. false and ERR_LIMIT. */
bool input_put(const struct input *in, struct buf *out, struct err *e);
/* The answer of a call that ended with ERR_CAPABILITY. */
void input_put_lack(const struct input *in, struct buf *out, const char *message);

/* "inputRequests": those that have no answer yet. */
void input_put_questions(struct json_writer *w, const struct question *questions,
                         size_t n);
