/* desk/internal.h - what the files of this room share. Private to it. */
#pragma once
#include <pthread.h>

#include "caller/caller.h"
#include "crypto/crypto.h"
#include "desk/desk.h"
#include "events/events.h"
#include "http/http.h"
#include "json/json.h"

struct desk {
    struct desk_options o;
    int links; /* the folder */
    char url[128];
    unsigned char secret[CRYPTO_KEY]; /* that keys are made of */
    struct events *events;
    struct watch *watch;
    struct performance *performance;  /* has its own lock */
    atomic_uint_least64_t refused_ns; /* when the last record of a wrong link was made */
    pthread_mutex_t health_lock;
    struct buf health;    /* the last report, under it */
    uint64_t health_ns;   /* when that was made */
    pthread_mutex_t lock; /* guards what follows */
    struct {              /* being compiled for the page; seconds 0: nothing */
        char tool[TOOL_NAME_MAX + 1];
        unsigned seconds;
        bool simply;
    } compiling;
    struct confirmation { /* what a person was asked to say twice, one at a time */
        char token[CRYPTO_TOKEN];
        unsigned char about[CRYPTO_BLAKE2B];
        uint64_t until_ns;
    } confirming;
};

/* ---- links.c ---------------------------------------------------------------- */

/* The folder of links and seats, made where it is missing. -1 and *e. */
int links_open(struct err *e);
/* When a link or seat ends, ms since 1970; 0: there is none of that name. */
int64_t links_end(int dir, const char *name);
/* Is it one that is good? Then it is used up. */
bool links_take(int dir, struct str token);
/* Notes that a server runs, and that it has ended. */
void links_serve(int dir, const char *url);
void links_unserve(int dir, const char *url);

/* ---- seats.c ------------------------------------------------------------------ */

/* A new seat, for whoever has this cookie; of too many the one that ends first goes. */
bool seats_take(int dir, char cookie[static CRYPTO_TOKEN], struct err *e);
bool seats_have(int dir, struct str cookie);
void seats_leave(int dir, struct str cookie);
/* The key that goes with it, while this process lives. */
void seats_key(const struct desk *d, struct str cookie, char out[static CRYPTO_HASH_HEX]);

/* ---- assets.c ------------------------------------------------------------------- */

/* Answers with a file of the page. false: there is none of that name. */
bool asset_tell(struct http_request *rq, struct str name, struct http_response *rs);

/* ---- answer.c ------------------------------------------------------------------- */

/* The headers of each answer of the page; Cache-Control unless it is there. */
void page_put_headers(struct http_response *rs);
void say_json(struct http_response *rs, int status, const char *key, const char *text);
void say_error(struct http_response *rs, const struct err *e);

/* ---- vaults.c -------------------------------------------------------------------- */

/* The person on the page, as the audit names him. */
struct caller desk_person(struct http_request *rq);
/* In the trace of a record: code that the page itself has run, to show links. */
#define LOOK_BAGGAGE "look=page"
/* Is it a record of what the page or the doctor read by themselves? Activity lists it only
 * where its caller, or its action, is asked for. */
bool desk_is_look(struct actions *actions, const struct json *record);
/* The vaults of the server, a JSON array as vaults.list() in code answers. NULL and *e. */
const struct json *desk_vaults(struct desk *d, struct arena *a, struct err *e);
/* The ward of one, by its id; "own": what has no vault; empty: the first. `*id` is told it,
 * and lives as long as the arena. NULL and *e: ERR_NOT_FOUND. */
struct ward *desk_ward(struct desk *d, struct str id, struct arena *a, struct str *name,
                       struct err *e);
/* The same for settings: empty is the user's own. */
struct ward *desk_ward_of(struct desk *d, struct str id, struct arena *a,
                          struct str *name, struct err *e);

/* ---- watch.c ---------------------------------------------------------------------- */

struct watch;
struct watch *watch_new(struct desk *d);
void watch_free(struct watch *w); /* NULL is fine */
/* An events_look_fn: what was recorded, what waits, what is set. */
void watch_look(void *watch, struct events *ev, bool begins);

/* ---- today.c, activity.c, undo.c ---------------------------------------------------- */

/* Answers a person's request, as JSON in rs->body. false and *e. */
typedef bool desk_tell_fn(struct desk *d, struct http_request *rq,
                          struct http_response *rs, struct err *e);
desk_tell_fn tell_today, tell_approvals, tell_activity, tell_call, tell_verified,
    tell_tools, tell_setup, tell_health, tell_declarations, tell_policy, tell_may,
    tell_tokens, tell_performance;
/* Does what a person asks for; `said` is an object. */
typedef bool desk_deed_fn(struct desk *d, struct http_request *rq,
                          const struct json *said, struct http_response *rs,
                          struct err *e);
desk_deed_fn do_undo, do_pause, do_resume, do_policy, do_token, do_revoke;

/* ---- performance.c -------------------------------------------------------------- */

#define PERFORMANCE_VAULTS \
    8u /* rings that are kept; that of another takes the oldest's place */
struct performance *performance_new(void);
void performance_free(struct performance *p); /* NULL is fine */

/* ---- entry.c ----------------------------------------------------------------- */

/* Was it sent by the page itself? */
bool entry_is_page(struct http_request *rq);
/* The cookie that it sent, whoever has it; empty: none. */
struct str entry_cookie(struct http_request *rq);
/* The cookie of a client that has a seat, borrowed from the request; empty: it has none. */
struct str entry_seat(struct desk *d, struct http_request *rq);
/* Did it send the key that belongs to the cookie? */
bool entry_has_key(struct desk *d, struct http_request *rq, struct str cookie);
/* Answers {link} with a cookie and its key, {} of a seat with its key. */
void entry_enter(struct desk *d, const struct json *said, struct str seat,
                 struct http_response *rs);
void entry_leave(struct desk *d, struct str seat, struct http_response *rs);

/* ---- deeds.c ----------------------------------------------------------------- */

/* For tool_watch: notes in the desk how far it is. */
bool desk_compiling(void *arg, const char *tool, unsigned seconds, bool simply);
/* Does the deed of this name, and answers. */
void deed_do(struct desk *d, struct http_request *rq, struct str name,
             const struct json *said, struct str seat, struct http_response *rs);
/* Installs the ZIP that is the body. `?replace=yes`: also in place of a tool of that name;
 * `?vault=ID`: for that vault alone. */
void deed_install(struct desk *d, struct http_request *rq, struct http_response *rs);
/* Does its Content-Type begin so? */
bool has_content_type(struct http_request *rq, const char *type);

/* ---- confirm.c ----------------------------------------------------------------- */

/* Was this said twice? A request that widens rights is answered with 428, a sentence that
 * says what it widens, and a token, which `said.confirm` has the second time: good once, for two minutes,
 * and for the very same request. true: it was. */
bool confirmed(struct desk *d, const struct json *said, const char *sentence,
               struct http_response *rs);

/* ---- tools.c ---------------------------------------------------------------- */

/* Another number when tools or the user's policy are others. */
uint64_t desk_settings(struct desk *d);
/* Appends {tool, seconds, simply} of what is being compiled for the page. false: nothing is,
 * and `seconds` is 0. */
bool desk_put_compiling(struct desk *d, struct buf *out);
/* A text from outside, its control characters spelt out as at the terminal. */
void put_spelt(struct json_writer *w, const char *key, struct str text);
/* An array of lines from outside, each spelt out. */
void put_lines(struct json_writer *w, const char *key, struct str lines);

/* tool_switch(), recorded. */
bool desk_switch(struct ward *w, struct catalogue *c, const char *tool, const char *vault,
                 bool on, const char *by, struct err *e);
