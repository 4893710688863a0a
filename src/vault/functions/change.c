/* Changes: read, checked, written and recorded under the lock of all processes.
 *
 * The order: a backup of the file as it was; the versions, in a transaction of the history
 * that is still open; the file, in one rename; the commit. Who dies on the way leaves the
 * old file or the new one; a new one that the history does not know yet is recorded by
 * whoever reads it next (versions.c). */
#include <stdio.h>

#include "functions/internal.h"

#define ID_LETTERS 16

struct work {
    struct functions *f;
    const struct function_author *who;
    const struct function_set *was; /* borrowed from `f`, which is not read meanwhile */
    struct arena *arena;
    const struct function **all; /* as they are to be */
    size_t count;
    struct version_entry *entries;
    size_t entry_count;
    struct str *removed;
    size_t removed_count;
    const struct function **checked; /* of which only the API's version is another */
    size_t checked_count;
    int64_t now_ms;
    struct usage_counts *used; /* NULL: not asked for yet */
};

static void work_done(struct work *w)
{
    arena_free(w->arena);
    usage_counts_free(w->used);
    store_unlock(w->f);
}

/* ---- one change ---------------------------------------------------------- */

static bool change_make_id(struct work *w, struct function *fn, struct err *e)
{
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char bytes[ID_LETTERS];
    os_random(bytes, sizeof bytes);
    char id[ID_LETTERS + 4] = "fn_";
    for (size_t i = 0; i < ID_LETTERS; i++)
        id[3 + i] = letters[bytes[i] & 31];
    fn->id = (struct str){arena_copy(w->arena, id, ID_LETTERS + 3, e), ID_LETTERS + 3};
    return fn->id.at;
}

/* The index of a function in the new set; SIZE_MAX: it is not there. */
static size_t entry_find(const struct work *w, struct str name)
{
    for (size_t i = 0; i < w->count; i++)
        if (str_eq(w->all[i]->name, name))
            return i;
    for (size_t i = 0; i < w->count; i++)
        if (str_eq(w->all[i]->id, name))
            return i;
    return SIZE_MAX;
}

static bool change_is_expected(const struct function *fn, const struct function_change *c,
                               struct err *e)
{
    return !c->expected_version || c->expected_version == fn->version ||
           err_set(e, ERR_CONFLICT,
                   "'%.*s' has version %u now, not %u (by %.*s); read it again, nothing "
                   "was changed",
                   STR_ARGS(fn->name), fn->version, c->expected_version,
                   STR_ARGS(str_cut(fn->updated_by, 60)));
}

static bool is_missing(struct work *w, struct str name, struct err *e)
{
    const struct function *shared = w->f->now ? function_named(w->f->now, name) : NULL;
    if (shared && shared->origin.n)
        return err_set(e, ERR_DENIED,
                       "'%.*s' is shared from the library '%.*s' and cannot be changed "
                       "here; a copy under its name (duplicate_custom_function) can",
                       STR_ARGS(shared->name), STR_ARGS(str_cut(shared->origin, 100)));
    return set_missing(w->was, name, e);
}

static bool change_take_out(struct work *w, struct function_change *c, struct err *e)
{
    size_t i = entry_find(w, c->of);
    if (i == SIZE_MAX)
        return is_missing(w, c->of, e);
    const struct function *fn = w->all[i];
    if (!change_is_expected(fn, c, e))
        return false;
    c->version = fn->version;
    w->removed[w->removed_count++] = fn->id;
    memmove(w->all + i, w->all + i + 1, (--w->count - i) * sizeof *w->all);
    return true;
}

static bool change_is_taken(const struct function *by, struct err *e)
{
    return err_set(e, ERR_CONFLICT,
                   "a function called '%.*s' is there already (version %u); update it, "
                   "remove it, or choose another name; nothing was changed",
                   STR_ARGS(by->name), by->version);
}

static bool change_add_entry(struct work *w, const struct function *fn,
                             const char *action)
{
    w->entries[w->entry_count++] = (struct version_entry){
        .fn = fn, .action = action, .note = w->who->note, .maker = w->who->maker};
    return true;
}

/* A function that was here before, or is imported, keeps its id where that is free, and
 * goes on counting. */
static bool choose_id(struct work *w, struct function_change *c, struct function *fn,
                      struct err *e)
{
    bool keeps = fn->id.n > 0;
    for (size_t i = 0; i < w->count && keeps; i++)
        keeps = !str_eq(w->all[i]->id, fn->id);
    fn->version = c->version = 1;
    if (!keeps)
        return change_make_id(w, fn, e);
    struct db *db = versions_open(w->f, e);
    if (db)
        fn->version = c->version = versions_last(db, fn->id, e) + 1;
    return !e->code;
}

static bool change_put_new(struct work *w, struct function_change *c,
                           const struct function *given, struct err *e)
{
    if (w->count >= FUNCTIONS_MAX)
        return err_set(e, ERR_LIMIT,
                       "a vault keeps at most %u functions; nothing was changed",
                       FUNCTIONS_MAX);
    struct function *fn = arena_get(w->arena, sizeof *fn, e);
    if (!fn)
        return false;
    *fn = *given;
    fn->updated_ms = w->now_ms;
    if (!fn->created_ms) { /* else it comes from elsewhere, or comes back */
        fn->created_ms = w->now_ms;
        fn->created_by = w->who->maker;
    }
    fn->updated_by = w->who->by;
    fn->usage_count = 0;
    fn->last_used_ms = 0;
    if (!choose_id(w, c, fn, e))
        return false;
    w->all[w->count++] = fn;
    return change_add_entry(w, fn, c->action ? c->action : "created");
}

/* The file tells how often a function was called until it was changed. */
static void count_uses(struct work *w, const struct function *was, struct function *fn)
{
    w->used = w->used ? w->used : usage_count_all(w->f->usage);
    struct usage_count live = usage_count_of(w->used, was->id);
    fn->usage_count = live.calls > was->usage_count ? live.calls : was->usage_count;
    fn->last_used_ms =
        live.last_ms > was->last_used_ms ? live.last_ms : was->last_used_ms;
}

static bool change_put_next(struct work *w, struct function_change *c,
                            const struct function *given, size_t i, struct err *e)
{
    const struct function *was = w->all[i];
    if (!change_is_expected(was, c, e))
        return false;
    size_t other = entry_find(w, given->name);
    if (other != SIZE_MAX && other != i && str_eq(w->all[other]->name, given->name))
        return change_is_taken(w->all[other], e);
    c->version = was->version;
    c->same = str_eq(was->hash, given->hash);
    if (c->same)
        return true;
    struct function *fn = arena_get(w->arena, sizeof *fn, e);
    if (!fn)
        return false;
    *fn = *given;
    fn->id = was->id;
    fn->version = c->version = was->version + 1;
    fn->created_ms = was->created_ms;
    fn->created_by = was->created_by;
    fn->updated_ms = w->now_ms;
    fn->updated_by = w->who->by;
    count_uses(w, was, fn);
    fn->source = was->source;
    w->all[i] = fn;
    bool renamed = !str_eq(was->name, fn->name);
    return change_add_entry(w, fn,
                            c->action ? c->action
                            : renamed ? "renamed"
                                      : "updated");
}

static bool change_apply(struct work *w, struct function_change *c, struct err *e)
{
    c->same = false;
    if (!c->fn)
        return change_take_out(w, c, e);
    struct function given = *c->fn; /* by whom, and how, is not ours to believe */
    if (!function_hash(&given, w->arena, e))
        return false;
    size_t i = entry_find(w, c->of.n ? c->of : c->fn->name);
    if (c->of.n && i == SIZE_MAX)
        return is_missing(w, c->of, e);
    if (!c->of.n && i != SIZE_MAX && !str_eq(w->all[i]->name, c->fn->name))
        i = SIZE_MAX; /* another's id */
    if (i == SIZE_MAX)
        return change_put_new(w, c, &given, e);
    if (!c->of.n && !c->replace)
        return change_is_taken(w->all[i], e);
    return change_put_next(w, c, &given, i, e);
}

/* ---- all of them --------------------------------------------------------- */

static bool change_start(struct work *w, size_t changes, struct err *e)
{
    struct functions *f = w->f;
    if (!store_folder(f, true, e) || !store_lock(f, LOCK_WAIT_MS, e) ||
        !(w->was = store_file(f, e)))
        return false;
    size_t most = w->was->count + changes + 1;
    w->all = arena_get(w->arena, most * sizeof *w->all, e);
    w->entries = arena_get(w->arena, most * sizeof *w->entries, e);
    w->removed = arena_get(w->arena, most * sizeof *w->removed, e);
    w->checked = arena_get(w->arena, most * sizeof *w->checked, e);
    if (!w->all || !w->entries || !w->removed || !w->checked)
        return false;
    for (; w->count < w->was->count; w->count++)
        w->all[w->count] = &w->was->all[w->count];
    w->now_ms = os_real_ms();
    return true;
}

static int changes_by_name(const void *a, const void *b)
{
    const struct function *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

/* Reads the new text back before it is written: nothing unreadable is stored. */
static struct function_set *read_back(struct work *w, const struct buf *text,
                                      struct err *e)
{
    scoped_findings struct findings found;
    findings_init(&found);
    struct function_set *s = set_read(buf_view(text), w->now_ms, &found, e);
    if (!s && !e->code)
        err_set(e, ERR_INVALID, "the function cannot be kept: %.*s; nothing was changed",
                STR_ARGS(str_cut(buf_view(&found.errors), 250)));
    return s;
}

static bool mark_checked(struct db *db, const struct function *fn, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE versions SET api = ? WHERE function = ? AND number = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, fn->api_version);
    query_bind_str(q, 2, fn->id);
    query_bind_int(q, 3, fn->version);
    return query_run(q, e);
}

static bool change_record(struct work *w, struct db *db, struct err *e)
{
    for (size_t i = 0; i < w->checked_count; i++)
        if (!mark_checked(db, w->checked[i], e))
            return false;
    for (size_t i = 0; i < w->removed_count; i++)
        if (!versions_remove(db, w->removed[i], e))
            return false;
    for (size_t i = 0; i < w->entry_count; i++)
        if (!versions_add(db, &w->entries[i], e))
            return false;
    return versions_prune_all(db, e);
}

/* Asks for the bytes that are added to file and history: the new definitions. */
static bool change_is_admitted(const struct work *w, struct err *e)
{
    size_t bytes = 0;
    for (size_t i = 0; i < w->entry_count; i++) {
        scoped_buf struct buf definition = buf_of(DEFINITION_MAX);
        struct json_writer out = json_writer(&definition);
        function_write_definition(w->entries[i].fn, &out);
        bytes += definition.n;
    }
    return author_may_write(w->who, bytes, e);
}

static bool change_finish(struct work *w, struct err *e)
{
    if (!w->entry_count && !w->removed_count && !w->checked_count)
        return true;
    qsort(w->all, w->count, sizeof *w->all, changes_by_name);
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    if (!set_write(w->all, w->count, w->was->root, NULL, NULL, &text, e))
        return false;
    scoped_new_set struct function_set *s = read_back(w, &text, e);
    struct db *db = s && change_is_admitted(w, e) ? versions_open(w->f, e) : NULL;
    scoped_transaction struct transaction t = {0};
    if (!db || !db_begin(&t, db, e) || !change_record(w, db, e) ||
        !store_write(w->f, buf_view(&text), e)) {
        store_forget(w->f); /* the next look sees what there really is */
        return false;
    }
    /* The file says it already. What cannot be recorded now is found by the next look. */
    struct err late = {0};
    bool recorded = db_commit(&t, &late);
    store_written(w->f, take(s), recorded);
    return true;
}

bool functions_change(struct functions *f, struct function_change *changes, size_t count,
                      const struct function_author *who, const struct function_set **now,
                      struct err *e)
{
    {
        scoped_store(f);
        __attribute__((cleanup(work_done))) struct work w = {
            .f = f, .who = who, .arena = arena_new(ARENA_CALL)};
        if (!change_start(&w, count, e))
            return false;
        for (size_t i = 0; i < count; i++)
            if (!change_apply(&w, &changes[i], e))
                return false;
        if (!change_finish(&w, e))
            return false;
    }
    if (now)
        *now = functions_now(f, e);
    return !now || *now;
}

static bool change_check_one(struct work *w, struct str name, struct str api_version,
                             struct err *e)
{
    size_t i = entry_find(w, name);
    if (i == SIZE_MAX)
        return is_missing(w, name, e);
    if (str_eq(w->all[i]->api_version, api_version))
        return true;
    struct function *fn = arena_get(w->arena, sizeof *fn, e);
    if (!fn)
        return false;
    *fn = *w->all[i];
    fn->api_version = api_version;
    w->all[i] = w->checked[w->checked_count++] = fn;
    return true;
}

bool functions_checked(struct functions *f, const struct str *names, size_t count,
                       struct str api_version, struct err *e)
{
    scoped_store(f);
    __attribute__((cleanup(work_done))) struct work w = {.f = f,
                                                         .arena = arena_new(ARENA_CALL)};
    if (!change_start(&w, count, e))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!change_check_one(&w, names[i], api_version, e))
            return false;
    return change_finish(&w, e);
}
