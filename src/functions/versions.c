/* `.cloche/functions.db`: every version of every function, with who and when. The file is
 * the truth and the history follows it: what is found in the file and not here was done by
 * others (a person, git, a process that died between the two) and is recorded as a version
 * when it is met. Lost or damaged, it begins anew, and the functions go on. */
#include <stdio.h>

#include "functions/internal.h"

#define DB_NAME "functions.db"

/* Room usage of this folder adds its own migration behind. */
static const char *const migrations[] = {
    "CREATE TABLE functions("
    " id TEXT PRIMARY KEY,"
    " name TEXT NOT NULL,"    /* that it has, or had last */
    " last INTEGER NOT NULL," /* its newest version, never given twice */
    " hash TEXT NOT NULL,"
    " gone INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;" /* ms when it was removed */
    "CREATE INDEX functions_by_name ON functions(name);"
    "CREATE TABLE versions("
    " key INTEGER PRIMARY KEY,"
    " function TEXT NOT NULL REFERENCES functions(id),"
    " number INTEGER NOT NULL,"
    " time INTEGER NOT NULL," /* ms */
    " by TEXT NOT NULL,"
    " maker INTEGER NOT NULL,"
    " action TEXT NOT NULL,"
    " note TEXT NOT NULL,"
    " api TEXT NOT NULL,"
    " hash TEXT NOT NULL,"
    " definition TEXT NOT NULL);"
    "CREATE UNIQUE INDEX versions_by_function ON versions(function, number);",
};

void versions_close(struct functions *f)
{
    db_close(f->db);
    f->db = NULL;
    f->db_inode = 0;
}

/* Put aside, not deleted: somebody may want to look into it. */
static bool put_aside(struct functions *f, struct err *e)
{
    char aside[80];
    (void)snprintf(aside, sizeof aside, "damaged-functions-%lld.db",
                   (long long)os_real_ms());
    log_line(
        LOG_WARN,
        "the history of custom functions was damaged and begins anew; what was there "
        "is now " OWN_DIR "/%s",
        aside);
    return os_move(f->own, DB_NAME, aside, e) && db_remove(f->own, DB_NAME, e);
}

struct db *versions_open(struct functions *f, struct err *e)
{
    bool damaged = f->db && db_is_damaged(f->db);
    if (f->db && !damaged && os_stamp(f->own, DB_NAME).inode == f->db_inode)
        return f->db;
    versions_close(f);
    struct err why = {0};
    const struct db_options options = {.migrations = migrations,
                                       .migration_count = LENGTH(migrations),
                                       .durable = true,
                                       .remote = !os_is_local(f->vault)};
    if (!damaged)
        f->db = db_open(f->own, DB_NAME, &options, &damaged, &why);
    if (!f->db && damaged && f->lock >= 0) {
        why = (struct err){0};
        if (put_aside(f, &why))
            f->db = db_open(f->own, DB_NAME, &options, NULL, &why);
    }
    f->db_inode = os_stamp(f->own, DB_NAME).inode;
    return f->db ? f->db
                 : (err_set(e, why.code, "the functions' history: %s", why.msg), NULL);
}

/* ---- adding -------------------------------------------------------------- */

static bool set_function(struct db *db, const struct function *fn, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "INSERT INTO functions(id, name, last, hash) VALUES(?, ?, ?, ?)"
                 " ON CONFLICT(id) DO UPDATE SET name = excluded.name,"
                 " last = max(last, excluded.last), hash = excluded.hash, gone = 0",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, fn->id);
    query_bind_str(q, 2, fn->name);
    query_bind_int(q, 3, fn->version);
    query_bind_str(q, 4, fn->hash);
    return query_run(q, e);
}

bool versions_add(struct db *db, const struct version_entry *entry, struct err *e)
{
    const struct function *fn = entry->fn;
    scoped_buf struct buf definition;
    buf_init(&definition, DEFINITION_MAX);
    struct json_writer w = json_writer(&definition);
    function_write_definition(fn, &w);
    if (!buf_check(&definition, "a function", e) || !set_function(db, fn, e))
        return false;
    scoped(query_end) struct query *q =
        db_query(db,
                 "INSERT INTO versions(function, number, time, by, maker, action, note,"
                 " api, hash, definition) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, fn->id);
    query_bind_int(q, 2, fn->version);
    query_bind_int(q, 3, fn->updated_ms);
    query_bind_str(q, 4, fn->updated_by);
    query_bind_int(q, 5, entry->maker);
    query_bind_cstr(q, 6, entry->action);
    query_bind_str(q, 7, entry->note);
    query_bind_str(q, 8, fn->api_version);
    query_bind_str(q, 9, fn->hash);
    query_bind_str(q, 10, buf_view(&definition));
    return query_run(q, e);
}

bool versions_remove(struct db *db, struct str id, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE functions SET gone = ? WHERE id = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, os_real_ms());
    query_bind_str(q, 2, id);
    return query_run(q, e);
}

uint32_t versions_last(struct db *db, struct str id, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT last FROM functions WHERE id = ?", e);
    if (!q)
        return 0;
    query_bind_str(q, 1, id);
    return query_next(q, e) ? (uint32_t)query_int(q, 0) : 0;
}

/* ---- what others did ----------------------------------------------------- */

struct known {
    struct str id, hash;
    uint32_t last;
    bool gone, met;
};

struct settling {
    struct arena *arena;
    struct known *known; /* by id */
    size_t count;
    size_t strange; /* that the history does not tell of */
};

static int compare_known(const void *a, const void *b)
{
    return str_cmp(((const struct known *)a)->id, ((const struct known *)b)->id);
}

static struct str keep_str(struct arena *a, struct str s, struct err *e)
{
    char *copy = arena_copy(a, s.at, s.n, e);
    return (struct str){copy ? copy : "", copy ? s.n : 0};
}

static bool read_known(struct db *db, struct settling *s, struct err *e)
{
    scoped(query_end) struct query *n = db_query(db, "SELECT count(*) FROM functions", e);
    if (!n || !query_next(n, e))
        return false;
    size_t most = (size_t)query_int(n, 0);
    s->known = arena_get(s->arena, (most + 1) * sizeof *s->known, e);
    scoped(query_end) struct query *q =
        db_query(db, "SELECT id, hash, last, gone FROM functions ORDER BY id", e);
    while (s->known && q && s->count < most && query_next(q, e))
        s->known[s->count++] =
            (struct known){.id = keep_str(s->arena, query_str(q, 0), e),
                           .hash = keep_str(s->arena, query_str(q, 1), e),
                           .last = (uint32_t)query_int(q, 2),
                           .gone = query_int(q, 3) != 0};
    if (s->count)
        qsort(s->known, s->count, sizeof *s->known, compare_known);
    return !e->code;
}

/* Numbers the versions: those that the history knows as it does, the others one further.
 * How many it does not know, and how many of its own are there no more, is counted. */
static void compare(struct function_set *set, struct settling *s)
{
    for (size_t i = 0; i < set->count; i++) {
        struct function *fn = &set->all[i];
        const struct known key = {.id = fn->id};
        struct known *k =
            s->count ? bsearch(&key, s->known, s->count, sizeof key, compare_known)
                     : NULL;
        bool same = k && !k->gone && str_eq(k->hash, fn->hash);
        if (k)
            k->met = true;
        if (same)
            fn->version = k->last;
        else if (k && fn->version <= k->last)
            fn->version = k->last + 1;
        s->strange += !same;
    }
    for (size_t i = 0; i < s->count; i++)
        s->strange += !s->known[i].gone && !s->known[i].met;
}

static bool is_recorded(const struct settling *s, const struct function *fn)
{
    const struct known key = {.id = fn->id};
    const struct known *k =
        s->count ? bsearch(&key, s->known, s->count, sizeof key, compare_known) : NULL;
    return k && !k->gone && str_eq(k->hash, fn->hash);
}

static bool record(struct db *db, struct function_set *set, struct settling *s,
                   struct err *e)
{
    for (size_t i = 0; i < set->count; i++) {
        struct function seen = set->all[i];
        if (is_recorded(s, &seen))
            continue;
        seen.updated_by = STR("external");
        seen.updated_ms = os_real_ms();
        const struct version_entry entry = {
            .fn = &seen, .action = "found", .maker = FUNCTION_BY_USER};
        if (!versions_add(db, &entry, e))
            return false;
    }
    for (size_t i = 0; i < s->count; i++)
        if (!s->known[i].gone && !s->known[i].met &&
            !versions_remove(db, s->known[i].id, e))
            return false;
    return true;
}

static bool settle_in(struct functions *f, struct function_set *set, bool writes,
                      struct settling *s, struct err *e)
{
    struct db *db = versions_open(f, e);
    if (!db)
        return false;
    scoped_transaction struct transaction t = {0};
    if (!(writes ? db_begin(&t, db, e) : db_begin_read(&t, db, e)) ||
        !read_known(db, s, e))
        return false;
    compare(set, s);
    return !writes || ((!s->strange || record(db, set, s, e)) && db_commit(&t, e));
}

static void settling_done(struct settling *s)
{
    arena_free(s->arena);
}

/* Is the file still the one that the set was read from? */
static bool still_there(struct functions *f, const struct os_stamp *read)
{
    struct os_stamp now = os_stamp(f->own, FILE_NAME);
    return os_same_stamp(&now, read);
}

void versions_settle(struct functions *f, struct function_set *set,
                     const struct os_stamp *read)
{
    f->unsettled = false;
    if (f->own < 0 || (!set->count && !os_stamp(f->own, DB_NAME).inode))
        return; /* there is nothing, and never was */
    struct err why = {0};
    bool held = f->lock >= 0;
    {
        __attribute__((cleanup(settling_done))) struct settling s = {
            .arena = arena_new((size_t)64 << 20)};
        if (settle_in(f, set, false, &s, &why) && !s.strange)
            return;
    }
    /* What is strange may be a writer's change that is under way: then its end is what
     * the next look shall see. */
    struct err busy = {0};
    if (!held && !store_lock(f, 0, &busy)) {
        f->unsettled = busy.code == ERR_BUSY;
        return;
    }
    __attribute__((cleanup(settling_done))) struct settling s = {
        .arena = arena_new((size_t)64 << 20)};
    why = (struct err){0};
    if (!still_there(f, read))
        f->unsettled = true;
    else
        (void)settle_in(f, set, true, &s, &why);
    if (!held)
        store_unlock(f);
}
