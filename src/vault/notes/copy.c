/* A copy of a vault, to try things on.
 *
 * Notes are small and many: they are copied by several threads, into memory where there
 * is room (os_scratch_open). The index goes along, told where its files are now, so that
 * nothing has to be read anew; and so does the history, where it is small. Measured on two
 * cores with a load of eight: 10,000 notes in 0.4 s, what `cp -r` of them takes, too.
 *
 * Another program may write meanwhile: what changes while it is copied is there as before
 * or as after, as for everybody who reads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

#include "notes/change.h"
#include "notes/history.h"
#include "notes/index.h"
#include "notes/name.h"
#include "notes/trash.h"
#include "notes/types.h"
#include "os/os.h"

#define FILES_MAX 100000u
#define BYTES_MAX ((uint64_t)512 << 20) /* of notes, and of other files */
#define HISTORY_COPIED_MAX ((uint64_t)64 << 20)
#define COPIERS 4u
#define PIECE ((size_t)16 << 10)
#define TOLD_MAX 200u
#define DIFFS_MAX ((size_t)64 << 10) /* bytes, beyond which changes are told without */
#define SPARE ((uint64_t)16 << 20)

struct copied {
    const char *path;     /* of a file; owned by the arena */
    struct os_stat st;    /* of the first */
    uint64_t inode;       /* of the copy; 0: it was gone */
    bool is_note, hollow; /* hollow: size and name alone */
};

struct vault_copy {
    struct vault *of, *vault; /* `of`: a view of its own */
    struct os_scratch *scratch;
    char *path;
    int dir;
    struct arena *arena;
    struct copied *files;
    size_t count, capacity;
    uint64_t note_bytes, other_bytes;
    bool whole;
};

/* ---- what there is --------------------------------------------------------- */

static bool add_file(struct vault_copy *c, const char *name, const struct os_stat *st,
                     bool is_note, struct err *e)
{
    if (c->count == FILES_MAX)
        return err_set(
            e, ERR_LIMIT,
            "the vault has more than %u files: too many to try changes on a copy",
            FILES_MAX);
    if (!array_fit(c->files, c->capacity, c->count, e))
        return false;
    const char *copy = arena_copy(c->arena, name, strlen(name), e);
    c->files[c->count++] = (struct copied){.path = copy, .st = *st, .is_note = is_note};
    *(is_note ? &c->note_bytes : &c->other_bytes) += st->size;
    return copy != NULL;
}

static bool add_found(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    struct vault_copy *c = arg;
    if (!vault_goes_on(c->of, e))
        return false;
    return st->is_dir
               ? os_make_dirs(c->dir, name, e)
               : !st->is_file || add_file(c, name, st, name_is_path(str_of(name)), e);
}

/* Our own files are small, and count as notes do. */
static bool copy_add_own(void *arg, const char *name, const struct os_stat *st,
                         struct err *e)
{
    struct vault_copy *c = arg;
    return st->is_dir ? os_make_dirs(c->dir, name, e)
                      : !st->is_file || add_file(c, name, st, true, e);
}

static bool count_found(void *arg, const char *name, const struct os_stat *st,
                        struct err *e)
{
    uint64_t *bytes = arg;
    (void)e;
    /* A page at least, and what the system keeps of each. */
    *bytes +=
        name_is_path(str_of(name)) ? ((st->size + 4095) & ~(uint64_t)4095) + 1024 : 1024;
    return true;
}

static bool add_own_folder(struct vault_copy *c, const char *name, struct err *e)
{
    struct err why = {0};
    return os_make_dirs(c->dir, name, e) &&
           (os_walk_from(c->of->dir, name, copy_add_own, c, &why) ||
            why.code == ERR_NOT_FOUND || err_pass(e, &why));
}

/* ---- copying one file --------------------------------------------------------- */

static bool copy_bytes(int from, int to, struct err *e)
{
    if (ioctl(to, FICLONE, from) == 0) /* one file system that shares blocks */
        return true;
    char piece[PIECE]; /* most notes fit */
    for (;;) {
        ssize_t n = read(from, piece, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_IO, "cannot be read: %m");
        if (n == 0)
            return true;
        for (ssize_t done = 0; done < n;) {
            ssize_t w = write(to, piece + done, (size_t)(n - done));
            if (w < 0 && errno != EINTR)
                return err_set(e, errno == ENOSPC ? ERR_LIMIT : ERR_IO,
                               "the copy cannot be written: %m");
            done += w > 0 ? w : 0;
        }
    }
}

/* The copy has the time of the first: by it the index knows that nothing changed. */
static bool copied_finish(int to, struct copied *f, struct err *e)
{
    int64_t ns = f->st.mtime_ns;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
    struct os_stat made;
    if (times[1].tv_nsec < 0)
        times[1] = (struct timespec){.tv_sec = ns / 1000000000 - 1,
                                     .tv_nsec = ns % 1000000000 + 1000000000};
    if (futimens(to, times) < 0)
        return err_set(e, ERR_IO, "the copy's time cannot be set: %m");
    if (!os_stat_fd(to, &made, e))
        return false;
    f->inode = made.inode;
    return true;
}

static bool copy_file(struct vault_copy *c, struct copied *f, bool fill, struct err *e)
{
    struct err why = {0};
    bool hollow = !f->is_note && !fill;
    scoped_fd int from =
        hollow ? -1
               : os_open_beneath(c->of->dir, f->path,
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, &why);
    if (!hollow && from < 0)
        return why.code == ERR_NOT_FOUND || why.code == ERR_DENIED; /* as without it */
    if (!hollow && (!os_stat_fd(from, &f->st, e) || !f->st.is_file))
        return e->code == ERR_NONE;
    if (f->is_note && f->st.size > NOTE_SIZE_MAX)
        hollow = true; /* known by its name and size alone, here as there */
    int flags = O_WRONLY | O_NOFOLLOW | (fill ? O_TRUNC : O_CREAT | O_EXCL);
    scoped_fd int to = os_open_beneath(c->dir, f->path, flags, 0600, e);
    f->hollow = hollow;
    return to >= 0 &&
           (hollow ? ftruncate(to, (off_t)f->st.size) == 0 ||
                         err_set(e, ERR_IO, "the copy cannot be made: %m")
                   : copy_bytes(from, to, e)) &&
           copied_finish(to, f, e);
}

/* ---- copying all ---------------------------------------------------------------- */

struct copying {
    struct vault_copy *c;
    atomic_size_t next;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards the error */
    struct err *e;
};

static void *copy_some(void *arg)
{
    struct copying *x = arg;
    size_t i;
    while (!atomic_load(&x->failed) &&
           (i = atomic_fetch_add(&x->next, 1)) < x->c->count) {
        struct err why = {0};
        if (vault_goes_on(x->c->of, &why) &&
            copy_file(x->c, &x->c->files[i], false, &why))
            continue;
        pthread_mutex_lock(&x->lock);
        err_set(x->e, why.code ? why.code : ERR_IO, "%.100s: %s", x->c->files[i].path,
                why.msg);
        pthread_mutex_unlock(&x->lock);
        atomic_store(&x->failed, true);
    }
    return NULL;
}

static bool copy_files(struct vault_copy *c, struct err *e)
{
    struct copying x = {.c = c, .e = e};
    pthread_t threads[COPIERS];
    size_t started = 0;
    pthread_mutex_init(&x.lock, NULL);
    while (c->count > 64 && started < COPIERS - 1 &&
           os_thread_start(&threads[started], "vault-copy", 0, copy_some, &x))
        started++;
    (void)copy_some(&x);
    while (started)
        (void)pthread_join(threads[--started], NULL);
    pthread_mutex_destroy(&x.lock);
    return !atomic_load(&x.failed);
}

/* ---- index and history -------------------------------------------------------------- */

static bool is_there(struct vault *v, const char *name, uint64_t most)
{
    struct os_stat st;
    struct err none = {0};
    return os_stat_beneath(v->dir, name, &st, &none) && st.is_file && st.size <= most;
}

static int open_own(struct vault_copy *c, const char *name, struct err *e)
{
    return os_make_dirs(c->dir, name, e)
               ? os_open_beneath(c->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e)
               : -1;
}

static bool copy_index(struct db *db, void *arg, struct err *e)
{
    struct vault_copy *c = arg;
    scoped_fd int own = open_own(c, OWN_DIR, e);
    return own >= 0 && db_copy_to(db, own, INDEX_NAME, e);
}

static bool tell_inodes(struct db *db, void *arg, struct err *e)
{
    struct vault_copy *c = arg;
    scoped_transaction struct transaction t = {0};
    scoped(query_end) struct query *q =
        db_query(db,
                 "UPDATE notes SET inode = ?2"
                 " WHERE path = ?1 AND size = ?3 AND mtime_ns = ?4",
                 e);
    if (!q || !db_begin(&t, db, e))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        const struct copied *f = &c->files[i];
        if (!f->inode || !f->is_note)
            continue;
        query_again(q);
        query_bind_cstr(q, 1, f->path);
        query_bind_int(q, 2, (int64_t)f->inode);
        query_bind_int(q, 3, (int64_t)f->st.size);
        query_bind_int(q, 4, f->st.mtime_ns);
        if (!query_run(q, e))
            return false;
    }
    return db_commit(&t, e);
}

static bool copy_history(struct vault_copy *c, struct err *e)
{
    bool none;
    struct db *db = history_read(c->of->history, &none, e);
    if (!db)
        return none;
    scoped_fd int folder = open_own(c, HISTORY_DIR, e);
    bool ok = folder >= 0 && db_copy_to(db, folder, HISTORY_NAME, e);
    history_read_end(c->of->history);
    return ok;
}

/* Both can be made anew or begun anew, and are then slower, or empty. */
static void copy_stores(struct vault_copy *c)
{
    struct err ignored = {0};
    if (is_there(c->of, HISTORY_DIR "/" HISTORY_NAME, HISTORY_COPIED_MAX))
        (void)copy_history(c, &ignored);
    ignored = (struct err){0};
    if (is_there(c->of, OWN_DIR "/" INDEX_NAME, BYTES_MAX) &&
        index_use(c->of, copy_index, c, &ignored)) {
        scoped_fd int own = open_own(c, OWN_DIR, &ignored);
        (void)(own >= 0 && index_edit(own, tell_inodes, c, &ignored));
    }
}

/* ---- the whole ------------------------------------------------------------------------ */

static bool check_bytes(uint64_t bytes, const char *what, struct err *e)
{
    return bytes <= BYTES_MAX ||
           err_set(
               e, ERR_LIMIT,
               "the vault's %s have %llu MB; changes are tried on a copy of at most %llu",
               what, (unsigned long long)(bytes >> 20),
               (unsigned long long)(BYTES_MAX >> 20));
}

static bool make_folder(struct vault_copy *c, bool empty, struct err *e)
{
    uint64_t bytes = SPARE;
    struct os_stat st;
    struct err none = {0};
    if (!empty && !os_walk(c->of->dir, count_found, &bytes, e))
        return false;
    if (!empty && os_stat_beneath(c->of->dir, OWN_DIR "/" INDEX_NAME, &st, &none))
        bytes += 2 * st.size; /* what is written to it goes to its log first */
    c->scratch = os_scratch_open(bytes, e);
    if (!c->scratch || !os_make_dirs(os_scratch_dir(c->scratch), "vault", e))
        return false;
    must(asprintf(&c->path, "%s/vault", os_scratch_path(c->scratch)) >= 0);
    c->dir = os_dir_open(c->path, e);
    return c->dir >= 0;
}

static bool fill_folder(struct vault_copy *c, struct err *e)
{
    return os_walk(c->of->dir, add_found, c, e) && add_own_folder(c, TYPES_DIR, e) &&
           add_own_folder(c, TRASH_DIR, e) && check_bytes(c->note_bytes, "notes", e) &&
           copy_files(c, e);
}

static struct vault_copy *copy_make(struct vault *of, bool empty,
                                    struct cancel *const by[2], struct err *e)
{
    struct vault_copy *c = mem_new(sizeof *c);
    struct vault_view view = {.notes = true, .types = true};
    if (by)
        view.cancel[0] = by[0], view.cancel[1] = by[1];
    c->of = vault_as(of, &view);
    c->dir = -1;
    c->arena = arena_new(ARENA_FILE);
    if (make_folder(c, empty, e) &&
        (empty ? add_own_folder(c, TYPES_DIR, e) && copy_files(c, e)
               : fill_folder(c, e))) {
        if (!empty)
            copy_stores(c);
        c->vault = vault_open(c->path, e);
    }
    if (c->vault) {
        settings_lend(&of->settings, &c->vault->settings);
        vault_set_patterns(c->vault, of->patterns);
        return c;
    }
    err_wrap(e, "a copy to try changes on");
    vault_copy_free(c);
    return NULL;
}

struct vault_copy *vault_copy_make(struct vault *of, struct cancel *const by[2],
                                   struct err *e)
{
    return copy_make(of, false, by, e);
}

struct vault_copy *vault_copy_empty(struct vault *of, struct err *e)
{
    return copy_make(of, true, NULL, e);
}

void vault_copy_free(struct vault_copy *c)
{
    if (!c)
        return;
    vault_close(c->vault);
    vault_close(c->of);
    os_close(c->dir);
    os_scratch_close(c->scratch);
    arena_free(c->arena);
    free(c->path);
    free(c->files);
    free(c);
}

struct vault *vault_copy_vault(struct vault_copy *c, const char **path)
{
    if (path)
        *path = c->path;
    return c->vault;
}

/* Brings up the files that the code has not touched meanwhile. */
bool vault_copy_files(struct vault_copy *c, struct err *e)
{
    if (c->whole)
        return true;
    if (!check_bytes(c->other_bytes, "files that are not notes", e))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        struct copied *f = &c->files[i];
        struct os_stat now;
        struct err none = {0};
        if (!f->hollow || f->is_note || !os_stat_beneath(c->dir, f->path, &now, &none) ||
            now.inode != f->inode)
            continue;
        if (!vault_goes_on(c->of, e) || !copy_file(c, f, true, e))
            return err_wrap(e, "%.100s", f->path);
    }
    c->whole = true;
    return true;
}

/* ---- what was done to it ---------------------------------------------------------------- */

struct now {
    const char *path;
    struct os_stat st;
    bool matched;
};
struct comparing {
    struct vault_copy *c;
    struct arena *arena;
    struct now *all;
    size_t count, capacity;
    struct map inodes;
    size_t *first; /* by an inode's number: the first file of `all` that is it */
    struct json_writer *out;
    size_t told, diffs; /* how many, and bytes of diffs */
};

static bool add_now(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct comparing *x = arg;
    if (!st->is_file)
        return true;
    if (!array_fit(x->all, x->capacity, x->count, e))
        return false;
    const char *copy = arena_copy(x->arena, name, strlen(name), e);
    x->all[x->count++] = (struct now){.path = copy, .st = *st};
    return copy != NULL;
}

static int file_by_path(const void *a, const void *b)
{
    return strcmp(((const struct now *)a)->path, ((const struct now *)b)->path);
}

static int copied_by_path(const void *a, const void *b)
{
    return strcmp(((const struct copied *)a)->path, ((const struct copied *)b)->path);
}

static struct now *find_now(struct comparing *x, const char *path)
{
    struct now key = {.path = path};
    return x->count ? bsearch(&key, x->all, x->count, sizeof key, file_by_path) : NULL;
}

/* The file that took another name; what a program writes anew is another one. */
static struct now *find_moved(const struct comparing *x, const struct copied *f)
{
    size_t number = map_find_int(&x->inodes, (int64_t)f->inode);
    struct now *now = number == MAP_NONE ? NULL : &x->all[x->first[number]];
    return now && !now->matched && now->st.mtime_ns == f->st.mtime_ns ? now : NULL;
}

static void put_id(struct comparing *x, const char *key, const char *path)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    if (!name_is_path(str_of(path)))
        return;
    name_put_id(str_of(path), &id);
    json_pair_str(x->out, key, buf_view(&id));
}

/* How a note's text becomes another; NULL: it is in none of the two. */
static void copy_put_diff(struct comparing *x, const char *old, const char *now)
{
    struct err none = {0};
    scoped_buf struct buf from = buf_of(BUF_FILE), to = buf_of(BUF_FILE),
                          diff = buf_of(CHANGE_DIFF_MAX + 4096);
    struct str path = str_of(now ? now : old);
    if ((!name_is_path(path) && !name_is_canvas(path)) || x->diffs > DIFFS_MAX ||
        (old && !os_read_file(x->c->of->dir, old, &from, NULL, &none)) ||
        (now && !os_read_file(x->c->dir, now, &to, NULL, &none)))
        return;
    bool whole = diff_put(buf_view(&from), buf_view(&to), CHANGE_DIFF_MAX, &diff);
    x->diffs += diff.n;
    json_pair_str(x->out, "diff", buf_view(&diff));
    if (!whole)
        json_pair_bool(x->out, "diff_truncated", true);
}

static void copy_put_change(struct comparing *x, const char *action, const char *path,
                            const char *new_path)
{
    if (x->told++ >= TOLD_MAX)
        return;
    json_open_object(x->out);
    put_id(x, "id", path);
    json_pair_cstr(x->out, "path", path);
    json_pair_cstr(x->out, "action", action);
    if (new_path) {
        json_pair_cstr(x->out, "new_path", new_path);
        put_id(x, "new_id", new_path);
    }
    copy_put_diff(x, str_is(str_of(action), "create") ? NULL : path,
                  str_is(str_of(action), "delete") ? NULL
                  : new_path                       ? new_path
                                                   : path);
    json_close(x->out);
}

static void copy_compare(struct comparing *x)
{
    struct vault_copy *c = x->c;
    for (size_t i = 0; i < c->count; i++) {
        const struct copied *f = &c->files[i];
        struct now *now = f->inode ? find_now(x, f->path) : NULL;
        if (now)
            now->matched = true;
    }
    for (size_t i = 0; i < c->count; i++) {
        const struct copied *f = &c->files[i];
        if (!f->inode || str_starts(str_of(f->path), TRASH_DIR))
            continue;
        struct now *now = find_now(x, f->path), *moved = now ? NULL : find_moved(x, f);
        if (moved)
            moved->matched = true;
        if (!now)
            copy_put_change(x, moved ? "rename" : "delete", f->path,
                            moved ? moved->path : NULL);
        else if (now->st.inode != f->inode || now->st.size != f->st.size ||
                 now->st.mtime_ns != f->st.mtime_ns)
            copy_put_change(x, "update", f->path, NULL);
    }
    for (size_t i = 0; i < x->count; i++)
        if (!x->all[i].matched)
            copy_put_change(x, "create", x->all[i].path, NULL);
}

static bool index_inodes(struct comparing *x, struct err *e)
{
    x->first = calloc(x->count + 1, sizeof *x->first);
    if (!x->first)
        return err_set(e, ERR_LIMIT, "no memory for a list of %zu files", x->count);
    for (size_t i = 0; i < x->count; i++) {
        size_t before = x->inodes.count;
        size_t number = map_add_int(&x->inodes, (int64_t)x->all[i].st.inode, e);
        if (number == MAP_NONE)
            return false;
        if (number == before)
            x->first[number] = i;
    }
    return true;
}

bool vault_copy_changes(struct vault_copy *c, size_t *count, struct json_writer *out,
                        struct err *e)
{
    struct comparing x = {.c = c, .arena = arena_new(ARENA_FILE), .out = out};
    struct err why = {0};
    bool ok =
        os_walk(c->dir, add_now, &x, e) &&
        (os_walk_from(c->dir, TYPES_DIR, add_now, &x, &why) || why.code == ERR_NOT_FOUND);
    if (ok) {
        qsort(x.all, x.count, sizeof *x.all, file_by_path);
        qsort(c->files, c->count, sizeof *c->files, copied_by_path);
    }
    ok = ok && index_inodes(&x, e);
    if (ok) {
        json_open_array(out);
        copy_compare(&x);
        json_close(out);
        *count = x.told;
    }
    map_done(&x.inodes);
    free(x.first);
    arena_free(x.arena);
    free(x.all);
    return ok;
}
