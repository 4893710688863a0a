/* db/inner.h - what the files of this room share. */
#pragma once
#include <limits.h>
#include <sqlite3.h>

#include "db/db.h"

struct query {
    struct db *db;
    sqlite3_stmt *stmt;
    struct query *next;
    bool busy; /* handed out */
    bool kept; /* in the connection's list */
    int bind_failed;
};

struct db {
    sqlite3 *raw;
    struct query *queries;
    unsigned query_count;
    uint64_t until_ns;
    const struct cancel *cancel[2];
    unsigned wait_ms;       /* for who has the file */
    uint64_t busy_since_ns; /* of the waiting now */
    bool damaged;
    /* For db_ask(): */
    const struct db_outside *outside;
    enum err_code stopped; /* why its progress was ended */
    char denied[100];      /* what it tried */
    struct buf tables;     /* that are none of its business */
    char schema[40];       /* the name of db_hide(), or empty */
    sqlite3 *shadow;       /* see shadow.c; NULL: none yet */
    void *visible;         /* its own */
};

/* sqlite3_open_v2(), by which every connection is opened. */
int db_open_raw(const char *path, int flags, sqlite3 **out);
enum err_code db_code(int rc);
bool db_is_cancelled(const struct db *d);
/* Sets the progress handler that looks at deadline and cancels. */
void db_watch(struct db *d);
/* Sets *e from SQLite's result and notes damage; returns false. */
bool db_failed(struct db *d, int rc, const char *doing, struct err *e);
/* Takes away what no connection of ours may do. */
void db_harden(struct db *d);
/* Is it a regular file? To open a pipe for reading would wait for whoever writes. */
bool db_is_file(int dir, const char *name, struct err *e);
/* Where the file lies, as SQLite wants it. */
bool db_path_of(int dir, const char *name, char path[static PATH_MAX], struct err *e);
/* Was the question ended by one of its limits? Then *e says which. */
bool db_was_stopped(const struct db *d, struct err *e);
/* SQLite's URI for the file, with one parameter. false: it does not fit. */
bool db_put_uri(const char *path, const char *parameter, struct buf *out);
/* The limits of questions. */
void db_bound_outside(sqlite3 *raw);

/* ---- shadow.c ------------------------------------------------------------- */

/* A database of nothing but empty tables, which have the names and columns of what
 * questions may see. false and *e. */
bool db_shadow_open(struct db *d, const struct db_outside *o, struct err *e);
void db_shadow_close(struct db *d);
/* Does this one SELECT, which has been compiled, read no more than those? false: says in
 * d->denied what it would read. */
bool db_shadow_check(struct db *d, struct str sql);
