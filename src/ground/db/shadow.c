/* Finding the tables that a question reads.
 *
 * The authorizer hears of names that a query spells. Columns that SQLite finds by itself,
 * those of USING and NATURAL, it reads without asking. So a question is compiled a second
 * time, in a database in which nothing exists but what it may see: what it names besides
 * is not there. SQLite's own tables are in every database; these show in the program that
 * it makes: it opens only what we know.
 *
 * The tables there have no index, no type and no constraint, so that the optimizer leaves
 * out no table there that it reads here. */
#include <stdio.h>

#include "db/inner.h"

#define TABLES_MAX 32
#define TEMP_SCHEMA 1 /* its number among a connection's databases */

struct visible {
    int roots[TABLES_MAX]; /* pages, in the temporary schema */
    size_t count;
    char each[40], tree[40]; /* json_each and json_tree, as a program names them */
};

static bool shadow_failed(struct db *d, struct err *e)
{
    return err_set(e, ERR_IO, "cannot prepare the views for a query: %.200s",
                   sqlite3_errmsg(d->shadow));
}

/* The program's first operation of this kind; NULL: it has none. */
static const char *first_operand(sqlite3_stmt *stmt, const char *opcode)
{
    while (sqlite3_step(stmt) == SQLITE_ROW)
        if (!strcmp((const char *)sqlite3_column_text(stmt, 1), opcode))
            return (const char *)sqlite3_column_text(stmt, 5);
    return NULL;
}

static bool learn_function(struct db *d, const char *name, char out[static 40],
                           struct err *e)
{
    char sql[80];
    sqlite3_stmt *stmt = NULL;
    (void)snprintf(sql, sizeof sql, "EXPLAIN SELECT value FROM %s('[]')", name);
    const char *p4 = sqlite3_prepare_v2(d->shadow, sql, -1, &stmt, NULL) == SQLITE_OK
                         ? first_operand(stmt, "VOpen")
                         : NULL;
    bool ok = p4 && *p4;
    (void)snprintf(out, 40, "%s", ok ? p4 : "");
    (void)sqlite3_finalize(stmt);
    return ok || shadow_failed(d, e);
}

static bool put_table(struct db *d, const char *name, struct buf *sql, struct err *e)
{
    scoped_buf struct buf ask = buf_of(BUF_LINE);
    buf_printf(&ask, "SELECT * FROM \"%s\"", name);
    scoped(query_end) struct query *q = db_query_once(d, buf_cz(&ask), e);
    if (!q)
        return false;
    buf_printf(sql, "CREATE TEMP TABLE \"%s\"(", name);
    for (int i = 0; i < query_columns(q); i++)
        buf_printf(sql, "%s\"%.*s\"", i ? ", " : "", STR_ARGS(query_name(q, i)));
    buf_cstr(sql, ");");
    return true;
}

static bool learn_roots(struct db *d, struct visible *v, struct err *e)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(d->shadow, "SELECT rootpage FROM temp.sqlite_schema", -1,
                                &stmt, NULL);
    while (rc == SQLITE_OK && v->count < TABLES_MAX && sqlite3_step(stmt) == SQLITE_ROW)
        v->roots[v->count++] = sqlite3_column_int(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return v->count > 0 || shadow_failed(d, e);
}

bool db_shadow_open(struct db *d, const struct db_outside *o, struct err *e)
{
    struct visible *v = d->visible = d->visible ? d->visible : mem_new(sizeof *v);
    scoped_buf struct buf sql = buf_of(BUF_TEXT);
    buf_cstr(&sql, "PRAGMA temp_store = MEMORY;");
    for (size_t i = 0; o->names[i]; i++)
        if (!put_table(d, o->names[i], &sql, e))
            return false;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (!buf_check(&sql, "the views", e))
        return false;
    if (db_open_raw(":memory:", flags, &d->shadow) != SQLITE_OK ||
        sqlite3_exec(d->shadow, buf_cz(&sql), NULL, NULL, NULL) != SQLITE_OK)
        shadow_failed(d, e);
    *v = (struct visible){.count = 0};
    if (!e->code && learn_roots(d, v, e) && learn_function(d, "json_each", v->each, e) &&
        learn_function(d, "json_tree", v->tree, e)) {
        db_bound_outside(d->shadow);
        (void)sqlite3_limit(d->shadow, SQLITE_LIMIT_SQL_LENGTH, DB_OUTSIDE_SQL_MAX + 16);
        return true;
    }
    db_shadow_close(d);
    return false;
}

void db_shadow_close(struct db *d)
{
    (void)sqlite3_close_v2(d->shadow);
    free(d->visible);
    d->shadow = NULL;
    d->visible = NULL;
}

static bool is_visible(const struct visible *v, int64_t root, int64_t schema)
{
    size_t i = 0;
    while (i < v->count && v->roots[i] != root)
        i++;
    return i < v->count && schema == TEMP_SCHEMA;
}

/* Checks an operation: addr, opcode, p1, p2, p3, p4, p5. */
static bool may_do(const struct visible *v, sqlite3_stmt *op)
{
    const char *opcode = (const char *)sqlite3_column_text(op, 1);
    const char *p4 = (const char *)sqlite3_column_text(op, 5);
    if (!opcode)
        return false;
    if (!strcmp(opcode, "OpenRead") || !strcmp(opcode, "ReopenIdx") ||
        !strcmp(opcode, "OpenWrite"))
        return is_visible(v, sqlite3_column_int64(op, 3), sqlite3_column_int64(op, 4));
    if (!strcmp(opcode, "VOpen"))
        return p4 && (!strcmp(p4, v->each) || !strcmp(p4, v->tree));
    return true;
}

static bool look_through(struct db *d, sqlite3_stmt *program)
{
    int rc;
    bool ok = true;
    while (ok && (rc = sqlite3_step(program)) == SQLITE_ROW)
        ok = may_do(d->visible, program);
    if (!ok)
        (void)snprintf(d->denied, sizeof d->denied,
                       "read the schema or a table of "
                       "SQLite's own");
    else if (rc != SQLITE_DONE)
        d->stopped = ERR_LIMIT;
    return ok && rc == SQLITE_DONE;
}

bool db_shadow_check(struct db *d, struct str sql)
{
    static const char unknown[] = "no such table: ";
    sqlite3_stmt *stmt = NULL;
    scoped_buf struct buf text = buf_of(DB_OUTSIDE_SQL_MAX + 16);
    buf_cstr(&text, "EXPLAIN ");
    buf_str(&text, sql);
    int rc = sqlite3_prepare_v2(d->shadow, buf_cz(&text), -1, &stmt, NULL);
    char why[100] = "";
    if (rc != SQLITE_OK)
        (void)snprintf(why, sizeof why, "%s", sqlite3_errmsg(d->shadow));
    bool ok = rc == SQLITE_OK && look_through(d, stmt);
    (void)sqlite3_finalize(stmt);
    if (rc == SQLITE_NOMEM)
        d->stopped = ERR_LIMIT;
    else if (rc != SQLITE_OK && !strncmp(why, unknown, sizeof unknown - 1))
        (void)snprintf(d->denied, sizeof d->denied, "read the table \"%.60s\"",
                       why + sizeof unknown - 1);
    else if (rc != SQLITE_OK)
        (void)snprintf(d->denied, sizeof d->denied, "do that (%.60s)", why);
    return ok;
}
