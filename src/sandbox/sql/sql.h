/* sql/sql.h - queries in SQL that strangers write.
 *
 * SQL is code: one call of one function may take for ever, and SQLite cannot be stopped
 * within it. So a query runs in a process of its own (the program cloche-sql, apart/apart.h)
 * that has one database open, has given up all else, and is killed when the query is over
 * time or nobody wants its answer. Processes are kept for the next query of the same file
 * for half a minute. What comes back is checked: a process that was taken over can tell
 * wrong rows, and nothing more.
 */
#pragma once
#include <limits.h>

#include "base/base.h"
#include "db/db.h"
#include "json/json.h"

/* ---- the processes ------------------------------------------------------------ */

/* Threads: safe. */
struct sql_pool;
/* Begins nothing yet. `guest_dir`: the folder of the guests, near which the program is. */
struct sql_pool *sql_pool_new(const char *guest_dir);
void sql_pool_free(struct sql_pool *p); /* NULL is fine; no query may be running */

#define SQL_PROCESSES_OF_ONE 4u /* that one principal may keep busy */
/* How many may be busy at a time, by this computer's memory: 2 to 16. */
unsigned sql_pool_size(void);

/* ---- queries ------------------------------------------------------------------- */

/* A view that a query may see. In `select` "@" stands for the schema that has the tables,
 * and for a beginning that names of other views have. */
struct sql_view {
    const char *name, *select;
};

/* The source of a query: a file that another connection has open, or the bytes of a
 * database in a file without a name (db_write_to()). */
struct sql_source {
    char path[PATH_MAX]; /* empty: `copy` is meant */
    uint64_t inode;      /* of the file */
    int copy;            /* borrowed; -1: none */
    const struct sql_view *views;
    size_t view_count;
    const char *inner; /* SELECT from the virtual tables that views use; NULL: none */
};

struct sql_query {
    struct str sql;
    const struct json *params; /* an array for ?, an object for :name; NULL: none */
    int64_t limit;             /* rows */
    size_t answer_bytes;       /* of JSON; more rows are left out */
    uint64_t until_ns;         /* os_mono_ns() */
};

/* The caller of a query. */
struct sql_caller {
    struct sql_pool *pool;
    const struct cancel *cancels[2]; /* looked at each 20 ms; NULL: none */
    const char *principal; /* whose share of the processes it takes; NULL: the person's */
};

/* Appends {columns, rows: [{column: value}], row_count, truncated}. false and *e:
 * ERR_INVALID, ERR_DENIED (as db_ask()), ERR_LIMIT, ERR_TIMEOUT, ERR_CANCELLED, ERR_BUSY
 * (all processes are busy until its time is over), ERR_IO (there is no such process, and
 * why). Ends 100 ms after `until_ns` at the latest, computing time permitting. */
bool sql_ask(const struct sql_caller *by, const struct sql_source *source,
             const struct sql_query *query, struct buf *out, struct err *e);

/* Can such a process be begun here? Begins one with an empty database. */
bool sql_try(struct sql_pool *p, struct err *e);

/* The program cloche-sql; its exit code. */
int sql_worker_main(void);
