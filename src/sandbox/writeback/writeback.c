/* The writing as a whole: stage, record, step by step, and what died processes left. */
#include "writeback/writeback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writeback/internal.h"

#define LOCK "lock"
#define WAIT_MS 10000u
#define WAIT_SHORT_MS 2000u
#define LEFT_ALONE_NS ((int64_t)3600 * 1000000000) /* a stage may be one in use */
#define RECORD_MAX ((size_t)128 << 20)

/* ---- the stage ------------------------------------------------------------------- */

/* The folder ".cloche" of the host's folder, which is ours; *made: it was not there. -1 and *e. */
static int open_hidden(int dir, struct err *e)
{
    struct stat st;
    if (mkdirat(dir, STAGE, 0700) != 0 && errno != EEXIST) {
        err_set(e,
                errno == EACCES || errno == EROFS || errno == EPERM ? ERR_DENIED : ERR_IO,
                "cannot write into the folder: %m");
        return -1;
    }
    int fd = openat(dir, STAGE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return fd;
    os_close(fd);
    err_set(e, ERR_DENIED, "the folder's \"" STAGE "\" is no folder of this account");
    return -1;
}

/* All that is in it is a file or link of ours. */
static void empty_folder(int fd)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        os_close(fd);
        return;
    }
    for (const struct dirent *x; (x = readdir(d));)
        (void)unlinkat(fd, x->d_name, 0);
    closedir(d);
}

static void stage_remove(int dir, const char *id)
{
    struct err none = {0};
    char name[SLOT_MAX];
    stage_name(id, name);
    int fd = os_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    if (fd >= 0)
        empty_folder(fd);
    (void)os_remove_folder(dir, name, &none);
    none = (struct err){0};
    (void)os_remove_folder(dir, STAGE, &none); /* one that holds anything else stays */
}

/* What a process left that died before it had recorded anything. */
static void stages_sweep(int dir)
{
    int fd = openat(dir, STAGE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    int64_t now = os_real_ms() * 1000000;
    for (const struct dirent *x; d && (x = readdir(d));) {
        struct stat st;
        static const char begin[] = "changes-";
        const char *id = x->d_name + sizeof begin - 1;
        if (strncmp(x->d_name, begin, sizeof begin - 1) == 0 && record_is(id, "") &&
            fstatat(fd, x->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid == geteuid() &&
            now - st.st_mtim.tv_sec * 1000000000 > LEFT_ALONE_NS)
            stage_remove(dir, id);
    }
    if (d)
        closedir(d);
}

static uint32_t mode_of(const struct writeback *w, const struct vfs_change *c)
{
    uint32_t others = c->what == VFS_CHANGED ? c->before.mode : 0;
    return w->owner_only ? c->mode & (0700 | others) : c->mode;
}

/* Its contents and mode, under its number. */
static bool stage_file(const struct writeback *w, const struct vfs_change *c,
                       const char *slot, int stage, const char *name, struct err *e)
{
    return os_draft(w->dir, slot, c->bytes, c->what == VFS_CHANGED ? c->path.at : NULL,
                    0600, false, e) &&
           (fchmodat(stage, name, mode_of(w, c), 0) == 0 ||
            err_set(e, ERR_IO, "cannot stage %.200s: %m", c->path.at));
}

static bool stage_link(const struct vfs_change *c, int stage, const char *name,
                       struct err *e)
{
    char target[VFS_PATH_MAX];
    if (c->bytes.n >= sizeof target)
        return err_set(e, ERR_INVALID, "the link %.200s is too long", c->path.at);
    memcpy(target, c->bytes.at, c->bytes.n);
    target[c->bytes.n] = '\0';
    return symlinkat(target, stage, name) == 0 ||
           err_set(e, ERR_IO, "cannot stage %.200s: %m", c->path.at);
}

static bool stage_one(const struct writeback *w, const struct steps *s, size_t i,
                      int stage, uint64_t *inode, struct err *e)
{
    const struct vfs_change *c = &w->changes[i];
    struct stat st;
    char slot[SLOT_MAX];
    step_slot(s, i, slot);
    const char *name = strrchr(slot, '/') + 1;
    if (c->what == VFS_REMOVED || c->type == VFS_FOLDER)
        return true;
    if (c->type == VFS_LINK ? !stage_link(c, stage, name, e)
                            : !stage_file(w, c, slot, stage, name, e))
        return false;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {c->modified_ns / 1000000000, c->modified_ns % 1000000000}};
    if (utimensat(stage, name, times, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(stage, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return err_set(e, ERR_IO, "cannot stage %.200s: %m", c->path.at);
    *inode = st.st_ino;
    return true;
}

static bool stage_all(const struct writeback *w, const struct steps *s, uint64_t *inodes,
                      struct err *e)
{
    char name[SLOT_MAX];
    stage_name(s->id, name);
    scoped_fd int hidden = open_hidden(w->dir, e);
    const char *base = strrchr(name, '/') + 1;
    if (hidden < 0)
        return false;
    if (mkdirat(hidden, base, 0700) != 0)
        return err_set(e, ERR_IO, "cannot write into the folder: %m");
    scoped_fd int stage =
        openat(hidden, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (stage < 0)
        return err_set(e, ERR_IO, "cannot write into the folder: %m");
    for (size_t i = 0; i < w->count; i++)
        if (!stage_one(w, s, i, stage, &inodes[i], e))
            return false;
    return os_sync(w->dir, e);
}

/* ---- steps -------------------------------------------------------------------------- */

static void record_name(const char *id, const char *ending, char out[static BUF_NAME])
{
    (void)snprintf(out, BUF_NAME, "%s%s", id, ending);
}

/* Takes back those before `count`, in reverse. */
static bool undo(const struct steps *s, size_t count, struct err *e)
{
    bool ok = true;
    while (count-- > 0) {
        struct err why = {0};
        if (!step_undo(s, count, &why)) {
            ok = false;
            (void)err_pass(e, &why);
        }
    }
    steps_finish(s, false);
    return ok;
}

/* Recorded: from here on whoever comes next completes it. */
static bool make_all(const struct steps *s, int records, struct err *e)
{
    struct err why = {0}, none = {0};
    size_t i = 0;
    char forward[BUF_NAME], back[BUF_NAME];
    record_name(s->id, STEPS, forward);
    record_name(s->id, UNDO, back);
    while (i < s->count && step_make(s, i, &why))
        i++;
    if (i == s->count)
        steps_finish(s, true);
    bool ok = i == s->count && os_sync(s->dir, &why);
    if (!ok && !os_move(records, forward, back, &none)) /* it will be completed then */
        return err_set(e, ERR_IO, "the changes are written in part: %.200s", why.msg);
    if (!ok && !undo(s, i, &none))
        return err_set(e, ERR_IO,
                       "%.150s; some could not be taken back, and are in " STAGE
                       "/changes-%s: %.100s",
                       why.msg, s->id, none.msg);
    none = (struct err){0};
    (void)os_sync(s->dir, &none);
    none = (struct err){0};
    (void)os_remove_file(records, ok ? forward : back, &none);
    stage_remove(s->dir, s->id);
    return ok || err_pass(e, &why);
}

static bool record_begin(const struct writeback *w, const struct steps *s, int records,
                         struct err *e)
{
    char name[BUF_NAME];
    scoped_buf struct buf bytes = buf_of(RECORD_MAX);
    scoped(free) char *host = os_dir_path(w->dir, e);
    record_name(s->id, STEPS, name);
    return host && record_put(w, host, "", s->staged, &bytes, e) &&
           os_write_file(records, name, buf_view(&bytes), OS_CREATE, 0600, NULL, e);
}

static bool write_all(const struct writeback *w, int records, struct err *e)
{
    char id[WRITEBACK_ID];
    record_id(id);
    scoped(free) uint64_t *inodes = mem_new((w->count + 1) * sizeof *inodes);
    const struct steps s = {.dir = w->dir,
                            .id = id,
                            .changes = w->changes,
                            .staged = inodes,
                            .count = w->count,
                            .owner_only = w->owner_only};
    if (stage_all(w, &s, inodes, e) && record_begin(w, &s, records, e))
        return make_all(&s, records, e);
    stage_remove(w->dir, id);
    return false;
}

/* ---- what is left --------------------------------------------------------------------- */

/* A step that another program's change is in the way of is left out. */
static void complete_one(int records, const char *name, bool forward)
{
    struct err e = {0};
    scoped_record struct record r;
    char id[WRITEBACK_ID];
    (void)snprintf(id, sizeof id, "%.16s", name);
    scoped_fd int dir = record_read(records, name, &r, &e) ? os_dir_open(r.host, &e) : -1;
    struct os_stat st;
    if (dir < 0 || !os_stat_fd(dir, &st, &e) || st.inode != r.folder)
        return; /* not there now: later, perhaps */
    const struct steps s = {.dir = dir,
                            .id = id,
                            .changes = r.changes,
                            .staged = r.staged,
                            .count = r.of.count,
                            .owner_only = r.of.owner_only};
    for (size_t i = 0; forward && i < s.count; i++) {
        struct err why = {0};
        if (!step_make(&s, i, &why))
            log_line(LOG_WARN, "changes of %s, completed: %s", r.host, why.msg);
    }
    if (forward)
        steps_finish(&s, true);
    else if (!undo(&s, s.count, &e))
        return;
    if (os_sync(dir, &e) && os_remove_file(records, name, &e))
        stage_remove(dir, id);
}

struct found {
    int records;
    bool any, complete;
};

static bool see(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct found *f = arg;
    bool steps = record_is(name, STEPS);
    (void)st, (void)e;
    if (!steps && !record_is(name, UNDO))
        return true;
    f->any = true;
    if (f->complete)
        complete_one(f->records, name, steps);
    return f->complete;
}

static bool any_left(int records, bool complete)
{
    struct err none = {0};
    struct found f = {.records = records, .complete = complete};
    (void)os_list(records, ".", see, &f, &none);
    return f.any;
}

void writeback_complete(void)
{
    struct err none = {0};
    scoped_fd int records = records_folder(&none);
    if (records < 0 || !any_left(records, false))
        return;
    scoped_fd int lock = os_lock(records, LOCK, 0, WAIT_SHORT_MS, &none);
    if (lock >= 0)
        (void)any_left(records, true);
}

bool writeback_write(const struct writeback *w, struct err *e)
{
    scoped_fd int records = records_folder(e);
    scoped_fd int lock = records < 0 ? -1 : os_lock(records, LOCK, 0, WAIT_MS, e);
    if (lock < 0)
        return err_wrap(e, "the changes");
    (void)any_left(records, true);
    stages_sweep(w->dir);
    return writeback_check(w, NULL, NULL, e) &&
           (w->count == 0 || write_all(w, records, e));
}
