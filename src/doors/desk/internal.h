/* desk/internal.h - what the files of this room share. Private to it. */
#pragma once
#include <pthread.h>

#include "crypto/crypto.h"
#include "desk/desk.h"
#include "http/http.h"

/* A browser that came by a link. */
struct seat {
    unsigned char cookie[CRYPTO_BLAKE2B], key[CRYPTO_BLAKE2B]; /* their hashes */
    uint64_t until_ns;                                         /* 0: nobody sits there */
};

struct desk {
    struct desk_options o;
    int links; /* the folder */
    char url[128];
    atomic_uint_least64_t refused_ns; /* when the last record of a wrong link was made */
    pthread_mutex_t lock;             /* guards what follows */
    struct { /* being compiled for the page; seconds 0: nothing */
        char tool[TOOL_NAME_MAX + 1];
        unsigned seconds;
        bool simply;
    } compiling;
    struct seat seats[DESK_SEATS_MAX];
};

/* ---- links.c ---------------------------------------------------------------- */

/* The folder of links, made where it is missing. -1 and *e. */
int links_open(struct err *e);
/* Is it one that is good? Then it is used up. */
bool links_take(int dir, struct str token);
/* Notes that a server runs, and that it has ended. */
void links_serve(int dir, const char *url);
void links_unserve(int dir, const char *url);

/* ---- page.c ------------------------------------------------------------------ */

/* For tool_watch: notes in the desk how far it is. */
bool desk_compiling(void *arg, const char *tool, unsigned seconds, bool simply);

/* ---- state.c ---------------------------------------------------------------- */

/* The state of the page: {state, approvals: [...], tools: [...]}. `state` changes
 * whenever something is. */
bool desk_put_state(struct desk *d, struct buf *out, struct err *e);
uint64_t desk_state(struct desk *d);
/* A text that a stranger may have written, spelt out as at the terminal. */
void put_spelt(struct json_writer *w, const char *key, struct str text);

/* tool_switch(), recorded. */
bool desk_switch(struct ward *w, struct catalogue *c, const char *tool, const char *vault,
                 bool on, const char *by, struct err *e);
