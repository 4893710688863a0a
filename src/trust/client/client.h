/* client/client.h - the client that waits for a call's answer, and can be sent progress, log
 * messages and questions while the call runs.
 *
 * A transport fills in the functions; what works on the call uses them. All do nothing for
 * a `struct client *` that is NULL, or a client that did not ask for it.
 * Threads: safe, for as long as the call runs.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

/* RFC 5424's, the least first. */
enum client_level {
    CLIENT_DEBUG,
    CLIENT_INFO,
    CLIENT_NOTICE,
    CLIENT_WARNING,
    CLIENT_ERROR,
    CLIENT_CRITICAL,
    CLIENT_ALERT,
    CLIENT_EMERGENCY
};
#define CLIENT_LEVELS 8u
extern const char *const client_level_names[CLIENT_LEVELS]; /* "debug" */

/* A question to the client, or to the person behind it. */
struct client_question {
    /* Names it among those of one call. A call may be run again from its beginning to
     * get on with the answers, and has to ask the same under the same name then. */
    const char *key;
    const char *method; /* "elicitation/create", "sampling/createMessage", "roots/list" */
    struct str params;  /* a JSON object, as MCP wants it for this method */
    /* The answer permits something: it counts only if the question was asked before. */
    bool permits;
    /* Identifies what is asked, so that the wording of `params` may change; NULL: `params`
     * identify it. */
    const char *digest;
};

struct client_ways {
    void (*progress)(void *arg, double done, double total, struct str message);
    bool (*hears)(void *arg, enum client_level level);
    void (*log)(void *arg, enum client_level level, const char *logger, struct str data);
    bool (*answers)(void *arg, const char *method);
    bool (*ask)(void *arg, const struct client_question *questions, size_t n,
                const struct cancel *stop, struct arena *a, const struct json **answers,
                struct err *e);
    /* client_ask_begin() and so on; all or none. */
    void *(*ask_begin)(void *arg, const struct client_question *questions, size_t n,
                       void (*wake)(void *wake_arg), void *wake_arg, struct err *e);
    bool (*ask_look)(void *arg, void *asked, uint64_t *look_ns);
    bool (*ask_end)(void *arg, void *asked, const struct client_question *questions,
                    struct arena *a, const struct json **answers, struct err *e);
    void (*let_go)(void *arg);
    bool (*waits)(void *arg);
    bool (*later)(void *arg, struct err *e);
    bool (*rest)(void *arg, struct err *e);
    void (*resume)(void *arg);
};

struct client {
    const struct client_ways *ways; /* any of them may be NULL */
    void *arg;
    /* Fired when the answers are not needed any more, besides the cancel of the call; NULL:
     * there is none. */
    const struct cancel *stop;
};

/* How far the call is: `done` only grows; `total` is 0 where it is not known; `message`
 * may be empty. Cheap, and may be called often: what is too often is left out. */
void client_progress(const struct client *c, double done, double total,
                     struct str message);

/* Does the client want messages of this level? `data` is any JSON value. */
bool client_hears(const struct client *c, enum client_level level);
void client_log(const struct client *c, enum client_level level, const char *logger,
                struct str data);

/* The answer will take long: a client that can resume may close its connection
 * meanwhile. */
void client_let_go(const struct client *c);

/* Can it be asked this? By the capabilities that it declared. */
bool client_answers(const struct client *c, const char *method);

/* Does asking wait for the answers? Else only what may be run again from its beginning
 * can ask. */
bool client_waits(const struct client *c);

/* The call waits for a person from now on, which may take minutes: its transport replaces
 * the thread by another one, until client_resume(). Pairs, which may overlap. false and
 * ERR_BUSY: too many wait so; then do not wait. client_ask() calls it by itself. */
bool client_rest(const struct client *c, struct err *e);
void client_resume(const struct client *c);

/* Asks, all at once, and waits: answers[i] is the result object of question i, in `a`.
 * Ask before anything is changed: where the transport cannot wait, this fails with
 * ERR_INPUT, on which the call returns at once, and is run again when the answers are
 * there. Also ERR_CAPABILITY (the client did not declare that it answers this),
 * ERR_CANCELLED, ERR_TIMEOUT, or ERR_INVALID (what it answered is not an answer). A
 * person's refusal is no failure: it is in the answer ("action": "decline"). */
bool client_ask(const struct client *c, const struct client_question *questions, size_t n,
                struct arena *a, const struct json **answers, struct err *e);

/* The same without a thread that waits, where client_asks_apart(): `wake` is called
 * whenever it is time to look, with locks held: it calls nothing of the client. NULL and
 * *e: nothing is to be ended. */
bool client_asks_apart(const struct client *c);
void *client_ask_begin(const struct client *c, const struct client_question *questions,
                       size_t n, void (*wake)(void *arg), void *arg, struct err *e);
/* true: it is over; else look again when it wakes, or when os_mono_ns() is *look_ns. */
bool client_ask_look(const struct client *c, void *asked, uint64_t *look_ns);
/* As client_ask(), and frees it. One that is not over is taken back: ERR_CANCELLED. */
bool client_ask_end(const struct client *c, void *asked,
                    const struct client_question *questions, struct arena *a,
                    const struct json **answers, struct err *e);

/* Makes the call a task. true: the client fetches the answer later, client_ask() waits for
 * answers, and the call continues by itself. false: the client waits as before;
 * ERR_CAPABILITY (it knows no tasks), ERR_BUSY (there are too many) or ERR_CANCELLED. Ask
 * questions that decide whether the call may take long before that. */
bool client_later(const struct client *c, struct err *e);
