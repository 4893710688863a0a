/* desk/internal.h - what the files of this room share. Private to it. */
#pragma once
#include <pthread.h>

#include "crypto/crypto.h"
#include "desk/desk.h"
#include "http/http.h"

/* One browser that came by a link. */
struct seat {
    unsigned char cookie[CRYPTO_BLAKE2B], key[CRYPTO_BLAKE2B]; /* their hashes */
    uint64_t until_ns;                                         /* 0: nobody sits there */
};

struct desk {
    struct desk_options o;
    int links; /* the folder */
    char url[128];
    pthread_mutex_t lock; /* guards what follows */
    struct seat seats[DESK_SEATS_MAX];
};

/* ---- links.c ---------------------------------------------------------------- */

/* The folder of links, made where it is missing. -1 and *e. */
int links_open(struct err *e);
/* Is it one that is good? Then it is used up. */
bool links_take(int dir, struct str token);
/* Which server runs, and that it does no more. */
void links_serve(int dir, const char *url);
void links_unserve(int dir, const char *url);

/* ---- state.c ---------------------------------------------------------------- */

/* What the page shows: {state, approvals: [...], tools: [...]}. `state` is another
 * whenever something is. */
bool desk_put_state(struct desk *d, struct buf *out, struct err *e);
uint64_t desk_state(struct desk *d);
/* A text that a stranger may have written, spelt out as at the terminal. */
void put_spelt(struct json_writer *w, const char *key, struct str text);
