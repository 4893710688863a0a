/* db/db.h - SQLite: open, migrate, prepare, bind, step, transactions.
 *
 * A database is one file beneath a directory handle, in WAL mode, so that any
 * number of processes read and one writes; who must wait, waits up to 30 s. The file and
 * its companions are its owner's alone (0600), also one that had another mode. It may come
 * from a stranger: triggers, views, ATTACH and functions with side
 * effects are off, lengths are bounded.
 *
 * Threads: a struct db and its queries belong to one thread at a time. Any
 * number of them may be open on one file.
 */
#pragma once
#include "base/base.h"

struct db;

struct db_options {
    /* Applied in order; the file remembers how many it has (user_version). */
    const char *const *migrations;
    unsigned migration_count;
    /* Instead of them, of what can be made again: all its tables, and their version (from 1
     * on). A file of another version, older or newer, or a damaged one is removed, and made
     * anew, and who has it open goes on with what was removed. */
    const char *schema;
    unsigned version;
    /* Every commit outlasts a power failure; otherwise the last few may not. A
     * crash of the program loses nothing in both. */
    bool durable;
    /* Nothing waits for the disk, ever: a power failure may damage the file. For what can
     * be made anew, or done without. */
    bool fleeting;
    /* The disk may be another machine's, with whom memory cannot be shared: no WAL,
     * and readers wait while one writes. */
    bool remote;
    /* Much is written at a time: a file that is made has pages of 8 KiB, which halves what
     * SQLite asks of the system; one that is there keeps its own. */
    bool large_pages;
    unsigned wait_ms; /* for who writes or opens it; 0: the 30 s from above */
};

/* Opens, or makes, the file `name` beneath `dir` and brings it to the newest
 * migration. `dir` may be closed afterwards. NULL and *e:
 * ERR_DENIED    may not be written (or made) there, or is a symbolic link
 * ERR_CONFLICT  made by a newer version of this program, and not to be made again
 * ERR_BUSY, ERR_LIMIT, ERR_IO
 * `*damaged` (if not NULL) tells that the file is there but is no sound
 * database: with ERR_IO; whoever can make it anew may delete it. */
struct db *db_open(int dir, const char *name, const struct db_options *o, bool *damaged,
                   struct err *e);
/* Opens a database in a place that cannot be written, for reading, as it is now: the connection
 * does not see later changes, and is to be closed soon. ERR_DENIED: another program
 * left it in the middle of a write; ERR_CONFLICT: not made by this version. */
struct db *db_open_frozen(int dir, const char *name, const struct db_options *o,
                          struct err *e);
/* The same as db_open() in memory, seen by this connection alone. */
struct db *db_open_memory(const struct db_options *o, struct err *e);
void db_close(struct db *d); /* NULL is fine; all queries must have ended */
SCOPED(db, db_close);

/* Has any call on this connection found the file to be damaged, or its tables not
 * to be what the migrations make? Latches. */
bool db_is_damaged(const struct db *d);
/* Removes the file `name` with its companions. Not there is fine. */
bool db_remove(int dir, const char *name, struct err *e);

/* Queries that run past this os_mono_ns() fail with ERR_TIMEOUT; 0: none. */
void db_set_deadline(struct db *d, uint64_t until_ns);
/* Once either of them (NULL is fine) has fired, queries, also one that runs or waits, fail
 * with ERR_CANCELLED, and what they changed in a transaction is rolled back. They outlive
 * this; NULL, NULL: nothing ends queries any more. */
void db_set_cancels(struct db *d, const struct cancel *one, const struct cancel *other);

/* Gives this connection capped_bm25(), which is FTS5's bm25() within bounds of memory and
 * time: of each phrase the first 20,000 places in a row count. */
bool db_add_rank(struct db *d, struct err *e);

/* Runs statements that have no values to bind and whose rows nobody wants. */
bool db_exec(struct db *d, const char *sql, struct err *e);
int64_t db_last_id(const struct db *d); /* rowid of the last INSERT */

/* ---- queries ------------------------------------------------------------ */

struct query;

/* A statement ready to be bound; compiled once per text and connection. NULL and
 * *e. The caller ends it with query_end(), before the connection is closed. */
struct query *db_query(struct db *d, const char *sql, struct err *e);
/* The same for a text that is put together for one use: it is not kept. */
struct query *db_query_once(struct db *d, const char *sql, struct err *e);
void query_end(struct query *q); /* NULL is fine */
SCOPED(query, query_end);

/* Binds parameter `i`, from 1. What is bound is borrowed until query_end() or
 * query_again(). A failure shows at the next step. */
void query_bind_int(struct query *q, int i, int64_t v);
void query_bind_number(struct query *q, int i, double v);
void query_bind_str(struct query *q, int i, struct str v);
void query_bind_cstr(struct query *q, int i, const char *v); /* NULL: null */
void query_bind_bytes(struct query *q, int i, struct str v); /* any, as a BLOB */
void query_bind_null(struct query *q, int i);

/* Steps to the next row. false: there is none, or *e is set. */
bool query_next(struct query *q, struct err *e);
/* Runs to the end, rows unread. */
bool query_run(struct query *q, struct err *e);
/* Ready to be bound and run once more. */
void query_again(struct query *q);

/* Column `i`, from 0, of the current row; null reads as 0 and "". Strings are
 * borrowed until the next step. */
int64_t query_int(struct query *q, int i);
double query_number(struct query *q, int i);
struct str query_str(struct query *q, int i);
struct str query_bytes(struct query *q, int i);
bool query_is_null(struct query *q, int i);

/* ---- transactions ------------------------------------------------------- */

/* Rolled back at the end of its scope unless it was committed:
 *     scoped_transaction struct transaction t = {0};
 *     if (!db_begin(&t, d, e) || ... || !db_commit(&t, e)) return false;  */
struct transaction {
    struct db *db; /* NULL: none is open */
};
/* Takes the write lock at once, waiting for it. */
bool db_begin(struct transaction *t, struct db *d, struct err *e);
/* For reading alone: all queries see one state. */
bool db_begin_read(struct transaction *t, struct db *d, struct err *e);
bool db_commit(struct transaction *t, struct err *e);
void db_rollback(struct transaction *t); /* none open is fine */
/* For a durable database: may the commits from here on be lost in a power failure, as
 * long as no later one that is durable? Not inside of a transaction. */
bool db_relax(struct db *d, bool relaxed, struct err *e);
#define scoped_transaction __attribute__((cleanup(db_rollback)))

/* ---- questions from outside ---------------------------------------------- */

/* A second connection to the file, which can only read. NULL and *e as db_open(); the
 * file must be there. */
struct db *db_open_reader(int dir, const char *name, struct err *e);
/* Before the first of these two in a process that is to be shut in (apart/apart.h): SQLite
 * then needs no file that is not open, and has DB_OUTSIDE_MEMORY_MAX in all. */
void db_prepare_apart(void);
/* A connection that only reads, whose files are all open and which takes part in nothing
 * that changes them. Another has to have the file open. NULL and *e as db_open(). */
struct db *db_open_apart(const char *path, struct err *e);
/* Opens the bytes of that file, which nobody changes any more, without its name. */
struct db *db_open_bytes(int fd, struct err *e);
/* Was more memory taken since this was last asked than a usual query takes? */
bool db_is_bloated(void);
/* Writes a database in memory, as it is now, to a file without a name. */
bool db_write_to(struct db *d, int fd, struct err *e);
/* A copy in memory. */
struct db *db_copy(struct db *d, struct err *e);
/* All of it as the new file `name` beneath `dir`, which nobody waits for to last. */
bool db_copy_to(struct db *d, int dir, const char *name, struct err *e);

#define DB_OUTSIDE_SQL_MAX 10000u         /* bytes of a question */
#define DB_OUTSIDE_MEMORY_MAX (256 << 20) /* bytes that SQLite may take */
#define DB_OUTSIDE_VALUE_MAX (20 << 20)   /* bytes of one value */

/* The tables and views that a question may see. */
struct db_outside {
    /* Tables and views that it may name, and json_each and json_tree; ends with NULL. */
    const char *const *names;
    /* Views that may read everything, because nobody outside can know how they are
     * called: their names begin so. It is also the name given to db_hide(). */
    const char *inner;
    uint64_t until_ns; /* as db_set_deadline() */
};

/* Sets *e as a question that was stopped for ERR_TIMEOUT, ERR_CANCELLED or ERR_LIMIT
 * (memory) does; returns false. */
bool db_outside_stopped(enum err_code why, struct err *e);

/* From now on the schema of the tables is called so as well; used in the inner views. */
void db_hide(struct db *d, const char *name);

/* Compiles one SELECT that a stranger wrote, on a connection that does nothing else: no
 * other statement, no PRAGMA, no recursion, no names but those above, bounded in length,
 * time, memory and everything that SQLite counts. `o` must outlive the query. NULL and
 * *e: ERR_INVALID (SQLite's words), ERR_DENIED (what may be done), ERR_LIMIT. Its steps
 * may also fail with ERR_TIMEOUT, ERR_CANCELLED and ERR_LIMIT. */
struct query *db_ask(struct db *d, struct str sql, const struct db_outside *o,
                     struct err *e);

enum db_type { DB_NULL, DB_INT, DB_NUMBER, DB_TEXT, DB_BYTES };
int query_columns(const struct query *q);
struct str query_name(struct query *q, int i); /* of column `i`; until query_end() */
enum db_type query_type(struct query *q, int i);
int query_parameters(const struct query *q); /* the highest number */
/* The number of ":name", "$name" or "@name", given without its sign; 0: none. */
int query_parameter(const struct query *q, struct str name);
