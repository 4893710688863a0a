/* The vault's file as it is now: read when it is another than it was, and kept. */
#include <fcntl.h>
#include <stdio.h>

#include "functions/internal.h"

#define LOCK_NAME "functions.lock"
#define YOUNG_NS 50000000 /* clocks of file systems have steps of up to some 10 ms */
#define TRIES 5           /* others write while we read */

struct functions *functions_open(const char *vault_folder, struct err *e)
{
    int vault = os_dir_open(vault_folder, e);
    if (vault < 0)
        return NULL;
    struct functions *f = mem_new(sizeof *f);
    f->vault = vault;
    f->usage = usage_open(vault);
    f->own = f->lock = -1;
    must(pthread_mutex_init(&f->mutex, NULL) == 0);
    return f;
}

struct usage *functions_usage(struct functions *f)
{
    return f->usage;
}

static void set_forget(const struct function_set **s)
{
    function_set_drop(*s);
    *s = NULL;
}

static void drop_libraries(struct functions *f)
{
    for (size_t i = 0; i < f->library_count; i++) {
        free(f->libraries[i].name);
        free(f->libraries[i].folder);
        function_set_drop(f->libraries[i].set);
    }
    free(f->libraries);
    f->libraries = NULL;
    f->library_count = 0;
}

void functions_close(struct functions *f)
{
    if (!f)
        return;
    versions_close(f);
    set_forget(&f->now);
    set_forget(&f->file);
    drop_libraries(f);
    os_close(f->own);
    usage_close(f->usage);
    os_close(f->vault);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
}

/* ---- the folder ---------------------------------------------------------- */

bool store_folder(struct functions *f, bool make, struct err *e)
{
    struct os_stamp now = os_stamp(f->vault, OWN_DIR);
    if (f->own >= 0 && now.inode == f->own_inode)
        return true;
    versions_close(f);
    os_close(f->own);
    f->own = -1;
    if (!now.inode && !make)
        return false;
    if (!now.inode && !os_make_dirs(f->vault, OWN_DIR, e))
        return false;
    f->own =
        os_open_beneath(f->vault, OWN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    f->own_inode = f->own < 0 ? 0 : os_stamp(f->vault, OWN_DIR).inode;
    return f->own >= 0;
}

bool store_lock(struct functions *f, unsigned wait_ms, struct err *e)
{
    must(f->lock < 0);
    struct err why = {0};
    f->lock = os_lock(f->own, LOCK_NAME, 0, wait_ms, &why);
    return f->lock >= 0 ||
           err_set(e, why.code,
                   why.code == ERR_DENIED ? "the vault may not be written: %s"
                   : why.code == ERR_BUSY
                       ? "timed out waiting for another change to this vault's "
                         "functions; nothing was changed; try again (%s)"
                       : "%s",
                   why.msg);
}

void store_unlock(struct functions *f)
{
    os_close(f->lock);
    f->lock = -1;
}

/* ---- the file ------------------------------------------------------------ */

static bool read_text(int dir, const char *name, struct buf *out, struct os_stat *st,
                      struct err *e)
{
    struct err why = {0};
    *st = (struct os_stat){0};
    if (os_read_file(dir, name, out, st, &why))
        return true;
    if (why.code == ERR_LIMIT)
        return err_set(e, ERR_LIMIT, "it has more than %zu MB, which is all that is read",
                       FUNCTIONS_FILE_MAX >> 20);
    return why.code == ERR_NOT_FOUND || err_pass(e, &why);
}

bool store_text(struct functions *f, struct buf *out, struct os_stat *st, struct err *e)
{
    return read_text(f->own, FILE_NAME, out, st, e);
}

/* The first of what is wrong, in a few words. */
static bool library_damaged(const struct findings *found, const char *file, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    scoped_buf struct buf list = buf_of(BUF_LIST);
    struct err none = {0};
    buf_printf(&list, "[%.*s]", STR_ARGS(buf_view(&found->errors)));
    const struct json *first = json_at(json_read(buf_view(&list), a, &none), 0);
    int64_t line = json_int(json_get(first, "line"), 0);
    char place[80] = "", more[40] = "";
    if (line)
        (void)snprintf(place, sizeof place, "line %lld, column %lld: ", (long long)line,
                       (long long)json_int(json_get(first, "column"), 0));
    if (found->error_count > 1)
        (void)snprintf(more, sizeof more, ", and %u more", found->error_count - 1);
    return err_set(e, ERR_INVALID,
                   "%s is damaged: %s%.*s%s; repair it, or restore the last intact "
                   "one with restore_custom_functions (cloche fn restore)",
                   file, place,
                   STR_ARGS(str_cut(json_str(json_get(first, "message")), 180)), more);
}

static bool is_young(const struct os_stamp *stamp)
{
    return os_real_ms() * 1000000 - stamp->changed_ns < YOUNG_NS;
}

static void store_keep_set(struct functions *f, struct function_set *fresh,
                           const struct os_stamp *stamp)
{
    f->stamp = *stamp;
    f->young = stamp->inode && is_young(stamp);
    set_forget(&f->file);
    set_forget(&f->now);
    f->file = fresh;
}

/* Most of what is looked at once more, because it is young, is as it was. */
static bool is_the_same(struct functions *f, struct str text,
                        const struct os_stamp *stamp)
{
    char hash[SET_HASH];
    if (!f->file || f->unsettled)
        return false;
    set_hash(text, hash);
    if (strcmp(hash, f->file->hash) != 0)
        return false;
    f->stamp = *stamp;
    f->young = stamp->inode && is_young(stamp);
    return true;
}

static bool store_load(struct functions *f, struct err *e)
{
    for (int i = 0; i < TRIES; i++) {
        struct os_stamp before = os_stamp(f->own, FILE_NAME);
        scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
        struct os_stat st;
        struct err why = {0};
        if (before.inode && !store_text(f, &text, &st, &why))
            return err_set(e, why.code, OWN_DIR "/" FILE_NAME ": %s", why.msg);
        struct os_stamp after = os_stamp(f->own, FILE_NAME);
        if (!os_same_stamp(&before, &after) && i < TRIES - 1)
            continue;
        if (is_the_same(f, buf_view(&text), &before))
            return true;
        scoped_findings struct findings found;
        findings_init(&found);
        int64_t ms = before.inode ? st.mtime_ns / 1000000 : 0;
        scoped_new_set struct function_set *s =
            set_read(buf_view(&text), ms, &found, &why);
        if (!s && why.code)
            return err_set(e, why.code, OWN_DIR "/" FILE_NAME ": %s", why.msg);
        if (!s)
            return library_damaged(&found, OWN_DIR "/" FILE_NAME, e);
        versions_settle(f, s, &before);
        store_keep_set(f, take(s), &before);
        return true;
    }
    return err_set(e, ERR_BUSY, OWN_DIR "/" FILE_NAME " changes all the time; try again");
}

const struct function_set *store_file(struct functions *f, struct err *e)
{
    struct os_stamp now = {0};
    bool there = store_folder(f, false, e);
    if (!there && e->code)
        return NULL;
    if (there)
        now = os_stamp(f->own, FILE_NAME);
    bool same = os_same_stamp(&now, &f->stamp) && !f->young && !f->unsettled;
    if (f->file && same)
        return f->file;
    return store_load(f, e) ? f->file : NULL;
}

bool store_write(struct functions *f, struct str text, struct err *e)
{
    scoped_buf struct buf old;
    buf_init(&old,
             2 * FUNCTIONS_FILE_MAX); /* one that is too large can be replaced, too */
    struct os_stat st;
    struct os_stamp now = os_stamp(f->own, FILE_NAME);
    if (!store_text(f, &old, &st, e))
        return false;
    if (!st.inode)
        return os_write_file(f->own, FILE_NAME, text, OS_CREATE, 0644, NULL, e);
    if (!os_same_stamp(&now, &f->stamp) && f->file)
        return err_set(e, ERR_CONFLICT,
                       OWN_DIR "/" FILE_NAME
                               " was changed by another program in this moment; nothing "
                               "was changed, try again");
    return backup_put(f, buf_view(&old), NULL, e) &&
           os_replace_file(f->own, FILE_NAME, text, &st, NULL, e);
}

void store_forget(struct functions *f)
{
    set_forget(&f->file);
    set_forget(&f->now);
    f->stamp = (struct os_stamp){0};
}

void store_written(struct functions *f, const struct function_set *s, bool recorded)
{
    set_forget(&f->file);
    set_forget(&f->now);
    f->file = s;
    f->stamp = os_stamp(f->own, FILE_NAME);
    f->young = true;
    f->unsettled = !recorded;
}

/* ---- libraries ----------------------------------------------------------- */

static bool same_libraries(const struct functions *f, const struct functions_library *new,
                           size_t count)
{
    if (f->library_count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(f->libraries[i].name, new[i].name) != 0 ||
            strcmp(f->libraries[i].folder, new[i].folder) != 0)
            return false;
    return true;
}

void functions_share(struct functions *f, const struct functions_library *libraries,
                     size_t count)
{
    scoped_store(f);
    if (same_libraries(f, libraries, count))
        return;
    drop_libraries(f);
    set_forget(&f->now);
    f->libraries = mem_new((count + 1) * sizeof *f->libraries);
    for (; f->library_count < count; f->library_count++) {
        struct library *l = &f->libraries[f->library_count];
        l->name = mem_strdup(libraries[f->library_count].name);
        l->folder = mem_strdup(libraries[f->library_count].folder);
    }
}

/* Opens a library's file in the first of its two places that has it. -1: none. */
static int open_library(const struct library *l, const char **name)
{
    static const char *const places[] = {OWN_DIR "/" FILE_NAME, FILE_NAME};
    struct err none = {0};
    scoped_fd int folder = os_dir_open(l->folder, &none);
    for (size_t i = 0; folder >= 0 && i < LENGTH(places); i++)
        if (os_stamp(folder, places[i]).inode) {
            *name = places[i];
            int found = folder;
            folder = -1;
            return found;
        }
    return -1;
}

/* true: it is another than it was. */
static bool look_at_library(struct library *l)
{
    const char *name = FILE_NAME;
    scoped_fd int folder = open_library(l, &name);
    struct os_stamp now = os_stamp(folder, name);
    if (os_same_stamp(&now, &l->stamp) && !l->young)
        return false;
    l->stamp = now;
    l->young = now.inode && is_young(&now);
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    scoped_findings struct findings found;
    findings_init(&found);
    struct os_stat st;
    struct err why = {0};
    struct function_set *s = NULL;
    if (now.inode && read_text(folder, name, &text, &st, &why))
        s = set_read(buf_view(&text), st.mtime_ns / 1000000, &found, &why);
    bool changed = !s != !l->set || (s && strcmp(s->hash, l->set->hash) != 0);
    set_forget(&l->set);
    l->set = s;
    return changed;
}

static bool store_join_sets(struct functions *f, struct err *e)
{
    const struct function_set **sets = mem_new((f->library_count + 1) * sizeof *sets);
    const char **names = mem_new((f->library_count + 1) * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < f->library_count; i++)
        if (f->libraries[i].set) {
            names[n] = f->libraries[i].name;
            sets[n++] = f->libraries[i].set;
        }
    f->now = n ? set_join(f->file, sets, names, n, e) : function_set_hold(f->file);
    free(sets);
    free(names);
    return f->now;
}

const struct function_set *functions_now(struct functions *f, struct err *e)
{
    scoped_store(f);
    if (!store_file(f, e))
        return NULL;
    for (size_t i = 0; i < f->library_count; i++)
        if (look_at_library(&f->libraries[i]))
            set_forget(&f->now);
    return f->now || store_join_sets(f, e) ? function_set_hold(f->now) : NULL;
}

bool functions_diagnose(struct functions *f, struct findings *out, struct err *e)
{
    scoped_store(f);
    if (!store_folder(f, false, e))
        return !e->code;
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    struct os_stat st;
    if (!store_text(f, &text, &st, e))
        return false;
    function_set_drop(set_read(buf_view(&text), st.mtime_ns / 1000000, out, e));
    return !e->code;
}
