/* `.cloche/functions.db`: every version of every function, with who and when. The file is
 * the truth and the history follows it: what is found in the file and not here was done by
 * others (a person, git, a process that died between the two) and is recorded as a version
 * when it is met. Lost or damaged, it begins anew, and the functions go on. */
#include <stdio.h>

#include "functions/internal.h"

#define DB_NAME "functions.db"

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
    " name TEXT NOT NULL,"
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

    "ALTER TABLE versions ADD COLUMN size INTEGER NOT NULL DEFAULT 0;" /* bytes */
    "UPDATE versions SET size = length(CAST(definition AS BLOB));"
    "CREATE INDEX versions_by_author ON versions(by, size);",
};

void versions_close(struct functions *f)
{
    db_close(f->db);
    f->db = NULL;
    f->db_inode = 0;
    f->db_frozen = false;
}

/* Put aside, not deleted: somebody may want to look into it. */
static bool version_keep_aside(struct functions *f, struct err *e)
{
    char aside[80];
    (void)snprintf(aside, sizeof aside, "damaged-functions-%lld.db",
                   (long long)os_real_ms());
    log_line(LOG_WARN,
             "the history of custom functions was damaged and starts again; the damaged "
             "file is now " OWN_DIR "/%s",
             aside);
    return os_move(f->own, DB_NAME, aside, e) && db_remove(f->own, DB_NAME, e);
}

static struct db_options versions_options(const struct functions *f)
{
    return (struct db_options){.migrations = migrations,
                               .migration_count = LENGTH(migrations),
                               .durable = true,
                               .remote = !os_is_local(f->vault)};
}

struct db *versions_look(struct functions *f, struct err *e)
{
    struct err why = {0};
    if (versions_open(f, &why))
        return f->db;
    if (why.code == ERR_DENIED) {
        const struct db_options options = versions_options(f);
        why = (struct err){0};
        f->db = db_open_frozen(f->own, DB_NAME, &options, &why);
        f->db_frozen = f->db;
    }
    if (!f->db)
        err_pass(e, &why);
    return f->db;
}

struct db *versions_open(struct functions *f, struct err *e)
{
    bool damaged = f->db && db_is_damaged(f->db);
    if (f->db && !damaged && !f->db_frozen &&
        os_stamp(f->own, DB_NAME).inode == f->db_inode)
        return f->db;
    versions_close(f);
    struct err why = {0};
    const struct db_options options = versions_options(f);
    if (!damaged)
        f->db = db_open(f->own, DB_NAME, &options, &damaged, &why);
    if (!f->db && damaged && f->lock >= 0) {
        why = (struct err){0};
        if (version_keep_aside(f, &why))
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
    scoped_buf struct buf definition = buf_of(DEFINITION_MAX);
    struct json_writer w = json_writer(&definition);
    function_write_definition(fn, &w);
    if (!buf_check(&definition, "a function", e) || !set_function(db, fn, e))
        return false;
    scoped(query_end) struct query *q =
        db_query(db,
                 "INSERT INTO versions(function, number, time, by, maker, action, note,"
                 " api, hash, definition, name, size)"
                 " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    query_bind_str(q, 11, fn->name);
    query_bind_int(q, 12, (int64_t)definition.n);
    return query_run(q, e) && versions_prune(db, fn->id, e);
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
    struct str id, name, hash;
    uint32_t last;
    bool gone, met;
};

struct settling {
    struct arena *arena;
    struct known *known; /* by id */
    size_t count;
    size_t strange;                    /* that the history does not tell of */
    const struct function_author *who; /* NULL: nobody knows */
    const char *action;
    struct versions_told *told; /* NULL: nobody wants to know */
};

static void settling_done(struct settling *s)
{
    arena_free(s->arena);
}
#define scoped_settling __attribute__((cleanup(settling_done)))
#define SETTLING_MEMORY ((size_t)64 << 20)

static int compare_known(const void *a, const void *b)
{
    return str_cmp(((const struct known *)a)->id, ((const struct known *)b)->id);
}

static struct known *find_known(const struct settling *s, struct str id)
{
    const struct known key = {.id = id};
    return s->count ? bsearch(&key, s->known, s->count, sizeof key, compare_known) : NULL;
}

static bool is_recorded(const struct known *k, const struct function *fn)
{
    return k && !k->gone && str_eq(k->hash, fn->hash);
}

struct str versions_keep(struct arena *a, struct str s, struct err *e)
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
        db_query(db, "SELECT id, name, hash, last, gone FROM functions", e);
    while (s->known && q && s->count < most && query_next(q, e))
        s->known[s->count++] =
            (struct known){.id = versions_keep(s->arena, query_str(q, 0), e),
                           .name = versions_keep(s->arena, query_str(q, 1), e),
                           .hash = versions_keep(s->arena, query_str(q, 2), e),
                           .last = (uint32_t)query_int(q, 3),
                           .gone = query_int(q, 4) != 0};
    if (s->count)
        qsort(s->known, s->count, sizeof *s->known, compare_known);
    return !e->code;
}

/* Numbers the versions: those that the history knows as it does, the others one further.
 * Counts what it does not know, and what is there no more. */
static void versions_compare(struct function_set *set, struct settling *s)
{
    s->strange = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct function *fn = &set->all[i];
        struct known *k = find_known(s, fn->id);
        bool same = is_recorded(k, fn);
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

static void names_add(struct buf *list, struct str name)
{
    if (list->n)
        buf_char(list, ',');
    struct json_writer w = json_writer(list);
    json_put_str(&w, name);
}

static bool record_one(struct db *db, struct function *fn, const struct settling *s,
                       struct err *e)
{
    const struct known *k = find_known(s, fn->id);
    if (is_recorded(k, fn))
        return true;
    if (s->told)
        names_add(k && !k->gone ? &s->told->changed : &s->told->created, fn->name);
    fn->updated_by = s->who ? s->who->by : STR("external");
    fn->updated_ms = os_real_ms();
    const struct version_entry entry = {.fn = fn,
                                        .action = s->action,
                                        .note = s->who ? s->who->note : STR(""),
                                        .maker =
                                            s->who ? s->who->maker : FUNCTION_BY_USER};
    return versions_add(db, &entry, e);
}

static bool versions_record(struct db *db, struct function_set *set, struct settling *s,
                            struct err *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!record_one(db, &set->all[i], s, e))
            return false;
    for (size_t i = 0; i < s->count; i++) {
        if (s->known[i].gone || s->known[i].met)
            continue;
        if (s->told)
            names_add(&s->told->removed, s->known[i].name);
        if (!versions_remove(db, s->known[i].id, e))
            return false;
    }
    return true;
}

bool versions_adopt(struct db *db, struct function_set *set,
                    const struct function_author *who, const char *action,
                    struct versions_told *told, struct err *e)
{
    scoped_settling struct settling s = {
        .arena = arena_new(SETTLING_MEMORY), .who = who, .action = action, .told = told};
    if (!read_known(db, &s, e))
        return false;
    versions_compare(set, &s);
    return versions_record(db, set, &s, e) && versions_prune_all(db, e);
}

/* Reads the history without changing it. false: it says something else than the
 * file, or nothing. */
static bool versions_match_set(struct functions *f, struct function_set *set)
{
    struct err why = {0};
    scoped_settling struct settling s = {.arena = arena_new(SETTLING_MEMORY)};
    struct db *db = versions_look(f, &why);
    scoped_transaction struct transaction t = {0};
    if (!db || !db_begin_read(&t, db, &why) || !read_known(db, &s, &why))
        return false;
    versions_compare(set, &s);
    return !s.strange;
}

/* Is the file still the one that the set was read from? */
static bool still_there(struct functions *f, const struct os_stamp *read)
{
    struct os_stamp now = os_stamp(f->own, FILE_NAME);
    return os_same_stamp(&now, read);
}

static bool adopt_found(struct functions *f, struct function_set *set)
{
    struct err why = {0};
    struct db *db = versions_open(f, &why);
    scoped_transaction struct transaction t = {0};
    return db && db_begin(&t, db, &why) &&
           versions_adopt(db, set, NULL, "found", NULL, &why) && db_commit(&t, &why);
}

void versions_settle(struct functions *f, struct function_set *set,
                     const struct os_stamp *read)
{
    f->unsettled = false;
    bool nothing = !set->count && (f->own < 0 || !os_stamp(f->own, DB_NAME).inode);
    if (nothing || versions_match_set(f, set))
        return;
    /* A difference may be a writer's change that is under way: then its end is what
     * the next look shall see. */
    struct err busy = {0};
    bool held = f->lock >= 0;
    if (!held && !store_lock(f, 0, &busy)) {
        f->unsettled = busy.code == ERR_BUSY;
        return;
    }
    f->unsettled = !still_there(f, read);
    if (!f->unsettled)
        (void)adopt_found(f, set);
    if (!held)
        store_unlock(f);
}
