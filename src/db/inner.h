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
    bool damaged;
    /* For db_ask(): */
    const struct db_outside *outside;
    enum err_code stopped; /* why its progress was ended */
    char denied[100];      /* what it tried */
    struct buf tables;     /* that are none of its business */
    char schema[40];       /* the name of db_hide(), or empty */
    int64_t memory_before; /* that SQLite had taken */
};

enum err_code db_code(int rc);
/* Sets *e from SQLite's result and notes damage; returns false. */
bool db_failed(struct db *d, int rc, const char *doing, struct err *e);
/* Takes away what no connection of ours may do. */
void db_harden(struct db *d);
/* Where the file lies, as SQLite wants it. */
/* Is it a regular file? To open a pipe for reading would wait for whoever writes. */
bool db_is_file(int dir, const char *name, struct err *e);
bool db_path_of(int dir, const char *name, char path[static PATH_MAX], struct err *e);
/* Was the question ended by one of its limits? Then *e says which. */
bool db_was_stopped(const struct db *d, struct err *e);
