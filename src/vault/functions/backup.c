/* `.cloche/backups/`: the last files, as they were before they were changed. */
#include <errno.h>
#include <stdio.h>

#include "functions/internal.h"

#define PREFIX "custom-functions-"
#define LISTED_MAX 1000u /* names that are looked at */

#define PATH_SIZE (sizeof BACKUP_DIR + FUNCTION_BACKUP_NAME)

static void path_of(const char *name, char out[static PATH_SIZE])
{
    (void)snprintf(out, PATH_SIZE, BACKUP_DIR "/%s", name);
}

struct names {
    char at[LISTED_MAX][FUNCTION_BACKUP_NAME];
    size_t n;
};

static bool is_backup(struct str name)
{
    return str_starts(name, PREFIX) && str_ends(name, ".json") &&
           name.n < FUNCTION_BACKUP_NAME && !memchr(name.at, '/', name.n) &&
           !memchr(name.at, '\0', name.n);
}

static bool add_name(void *arg, const char *path, const struct os_stat *st, struct err *e)
{
    (void)e;
    struct names *names = arg;
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (st->is_file && is_backup(str_of(name)) && names->n < LISTED_MAX)
        memcpy(names->at[names->n++], name, strlen(name) + 1);
    return true;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a);
}

static void backups_list(struct functions *f, struct names *names)
{
    struct err none = {0};
    names->n = 0;
    (void)os_walk_from(f->own, BACKUP_DIR, add_name, names, &none);
    qsort(names->at, names->n, sizeof names->at[0], newest_first);
}

static void prune(struct functions *f)
{
    struct names *names = mem_new(sizeof *names);
    backups_list(f, names);
    for (size_t i = FUNCTION_BACKUPS; i < names->n; i++) {
        char path[PATH_SIZE];
        path_of(names->at[i], path);
        struct err none = {0};
        (void)os_drop(f->own, path, &none);
    }
    free(names);
}

/* "custom-functions-2026-11-21T18-05-01.123Z.json": sorts by time, and is a name on
 * every file system. */
static void name_of(int64_t ms, char out[static FUNCTION_BACKUP_NAME])
{
    char utc[25];
    date_format(ms, utc);
    for (char *at = utc; *at; at++)
        if (*at == ':')
            *at = '-';
    (void)snprintf(out, FUNCTION_BACKUP_NAME, PREFIX "%s.json", utc);
}

/* Makes a name that is not taken. */
static bool new_name(struct functions *f, char name[static FUNCTION_BACKUP_NAME],
                     char path[static PATH_SIZE], struct err *e)
{
    if (!os_make_dirs(f->own, BACKUP_DIR, e))
        return false;
    int64_t ms = os_real_ms();
    do {
        name_of(ms++, name);
        path_of(name, path);
    } while (os_stamp(f->own, path).inode);
    return true;
}

bool backup_put(struct functions *f, struct str text, char *name, struct err *e)
{
    char own[FUNCTION_BACKUP_NAME], path[PATH_SIZE];
    /* Not waited for: what it holds is in the file until that is replaced, and a backup that
     * a crash has damaged is seen to be damaged. */
    if (!new_name(f, own, path, e) ||
        !os_write_file(f->own, path, text, OS_SOON, 0600, NULL, e))
        return err_wrap(e, "cannot write a backup; nothing was changed");
    if (name)
        memcpy(name, own, sizeof own);
    prune(f);
    return true;
}

bool functions_backup(struct functions *f, const struct function_author *who,
                      char name[static FUNCTION_BACKUP_NAME], struct err *e)
{
    scoped_store(f);
    if (!store_folder(f, false, e) || !os_stamp(f->own, FILE_NAME).inode)
        return err_set(
            e, ERR_NOT_FOUND,
            "this vault has no custom functions yet, and so nothing to put aside");
    scoped_lock(f);
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    struct os_stat st;
    return store_lock(f, LOCK_WAIT_MS, e) && store_file(f, e) &&
           store_text(f, &text, &st, e) && author_may_write(who, text.n, e) &&
           backup_put(f, buf_view(&text), name, e);
}

/* ---- looking ------------------------------------------------------------- */

/* Reads a backup; NULL: it is damaged, or *e. */
static struct function_set *read_backup(struct functions *f, const char *name,
                                        struct os_stat *st, struct findings *found,
                                        struct err *e)
{
    char path[PATH_SIZE];
    path_of(name, path);
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    return os_read_file(f->own, path, &text, st, e)
               ? set_read(buf_view(&text), st->mtime_ns / 1000000, found, e)
               : NULL;
}

static void put_backup(struct functions *f, const char *name, struct json_writer *out)
{
    struct os_stat st = {0};
    struct err why = {0};
    scoped_findings struct findings found;
    findings_init(&found);
    scoped_new_set struct function_set *s = read_backup(f, name, &st, &found, &why);
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_pair_cstr(out, "backup", name);
    json_pair_time(out, "at", st.mtime_ns / 1000000);
    json_pair_int(out, "size", (int64_t)st.size);
    json_pair_int(out, "functions", s ? (int64_t)s->count : 0);
    json_pair_bool(out, "sound", s);
    json_close(out);
}

bool functions_backups(struct functions *f, struct json_writer *out, struct err *e)
{
    scoped_store(f);
    scoped(free) struct names *names = mem_new(sizeof *names);
    if (store_folder(f, false, e))
        backups_list(f, names);
    if (e->code)
        return false;
    json_open_array(out);
    for (size_t i = 0; i < names->n && i < FUNCTION_BACKUPS; i++)
        put_backup(f, names->at[i], out);
    json_close(out);
    return true;
}

/* ---- restoring ----------------------------------------------------------- */

static bool no_backup(struct functions *f, struct str wanted, const struct names *names,
                      struct err *e)
{
    if (!names->n)
        return err_set(e, ERR_NOT_FOUND,
                       "there are no backups of this vault's functions");
    (void)f;
    return wanted.n
               ? err_set(e, ERR_NOT_FOUND,
                         "no backup is called '%.*s'; the newest is '%s'",
                         STR_ARGS(str_cut(wanted, 80)), names->at[0])
               : err_set(e, ERR_NOT_FOUND, "none of the %zu backups is sound", names->n);
}

/* The one that is meant; its name in `name`. */
static struct function_set *backup_choose(struct functions *f, struct str wanted,
                                          char *name, struct err *e)
{
    scoped(free) struct names *names = mem_new(sizeof *names);
    backups_list(f, names);
    struct os_stat st;
    for (size_t i = 0; i < names->n; i++) {
        if (wanted.n && !str_is(wanted, names->at[i]))
            continue;
        scoped_findings struct findings found;
        findings_init(&found);
        struct err why = {0};
        struct function_set *s = read_backup(f, names->at[i], &st, &found, &why);
        memcpy(name, names->at[i], FUNCTION_BACKUP_NAME);
        if (s)
            return s;
        if (wanted.n)
            return err_set(e, ERR_INVALID,
                           "the backup '%s' is damaged; nothing was changed", name),
                   NULL;
    }
    no_backup(f, wanted, names, e);
    return NULL;
}

/* Puts what is there aside, whatever it is, and the set in its place. */
static bool put_back(struct functions *f, struct function_set *s,
                     const struct function_author *who, struct versions_told *told,
                     struct err *e)
{
    struct db *db = versions_open(f, e);
    scoped_transaction struct transaction t = {0};
    if (!db || !db_begin(&t, db, e) || !versions_adopt(db, s, who, "restored", told, e))
        return false;
    scoped(free) const struct function **all = mem_new((s->count + 1) * sizeof *all);
    for (size_t i = 0; i < s->count; i++)
        all[i] = &s->all[i];
    scoped_buf struct buf text = buf_of(FUNCTIONS_FILE_MAX);
    if (!set_write(all, s->count, s->root, NULL, NULL, &text, e) ||
        !author_may_write(who, text.n, e))
        return false;
    struct err why = {0};
    char name[FUNCTION_BACKUP_NAME], aside[PATH_SIZE];
    if (!store_write(f, buf_view(&text), &why)) {
        /* Too large to be read, a folder, a link: then it is moved away as it is. */
        bool odd =
            why.code == ERR_LIMIT || why.code == ERR_INVALID || why.code == ERR_DENIED;
        if (!odd || !new_name(f, name, aside, e) ||
            !os_move(f->own, FILE_NAME, aside, e) || !store_write(f, buf_view(&text), e))
            return err_pass(e, &why);
    }
    return db_commit(&t, e);
}

static void told_init(struct versions_told *t)
{
    buf_init(&t->created, BUF_LIST);
    buf_init(&t->changed, BUF_LIST);
    buf_init(&t->removed, BUF_LIST);
}

static void told_done(struct versions_told *t)
{
    buf_done(&t->created);
    buf_done(&t->changed);
    buf_done(&t->removed);
}

static void put_names(struct json_writer *out, const char *key, struct buf *names)
{
    json_key(out, key);
    json_open_array(out);
    if (names->n)
        json_put_raw(out, buf_view(names));
    json_close(out);
}

bool functions_restore(struct functions *f, struct str backup,
                       const struct function_author *who, struct json_writer *out,
                       struct err *e)
{
    scoped_store(f);
    scoped_lock(f);
    char name[FUNCTION_BACKUP_NAME];
    __attribute__((cleanup(told_done))) struct versions_told told;
    told_init(&told);
    if (backup.n && !is_backup(backup))
        return err_set(
            e, ERR_INVALID,
            "'%.*s' is not the name of a backup; give one from the list of backups, "
            "or none for the newest intact one",
            STR_ARGS(str_cut(backup, 80)));
    if (!store_folder(f, true, e) || !store_lock(f, LOCK_WAIT_MS, e))
        return false;
    struct err damaged = {0};
    (void)store_file(f, &damaged); /* what others did to it is recorded first */
    scoped_new_set struct function_set *s = backup_choose(f, backup, name, e);
    store_forget(f);
    if (!s || !put_back(f, s, who, &told, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_pair_cstr(out, "backup", name);
    put_names(out, "created", &told.created);
    put_names(out, "changed", &told.changed);
    put_names(out, "removed", &told.removed);
    json_close(out);
    return true;
}
