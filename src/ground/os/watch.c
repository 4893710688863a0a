/* Change notices by inotify: one watch a folder, kept in step with the tree. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/os.h"

/* Magic numbers that <linux/magic.h> lacks. */
#define CIFS_MAGIC 0xff534d42u
#define SMB2_MAGIC 0xfe534d42u
#define FUSE_MAGIC 0x65735546u
#define LUSTRE_MAGIC 0x0bd00bd0u
#define GFS2_MAGIC_ 0x01161970u
#define VBOX_MAGIC 0x786f4256u

#define MASK                                                                            \
    (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | \
     IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

struct folder {
    int wd;
    char *name; /* relative to the root, "" for the root itself */
};

struct os_watch {
    int fd;
    int dir;
    char *path;
    bool blind;             /* some folder could not be watched: all may have changed */
    struct folder *folders; /* ordered by wd */
    size_t count, capacity;
};

/* ---- file systems ------------------------------------------------------- */

bool os_is_local(int dir)
{
    static const unsigned silent[] = {
        NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,   CIFS_MAGIC,       SMB2_MAGIC,
        FUSE_MAGIC,       V9FS_MAGIC,        CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,
        CODA_SUPER_MAGIC, OCFS2_SUPER_MAGIC, LUSTRE_MAGIC,     GFS2_MAGIC_,
        VBOX_MAGIC,
    };
    struct statfs fs;
    if (fstatfs(dir, &fs) < 0)
        return false;
    for (size_t i = 0; i < LENGTH(silent); i++)
        if ((unsigned)fs.f_type == silent[i])
            return false;
    return true;
}

/* ---- the table of folders ----------------------------------------------- */

/* Where `wd` is, or belongs. */
static size_t place_of(const struct os_watch *w, int wd)
{
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->folders[middle].wd < wd)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const char *watch_name(const struct os_watch *w, int wd)
{
    size_t i = place_of(w, wd);
    return i < w->count && w->folders[i].wd == wd ? w->folders[i].name : NULL;
}

static void watch_forget(struct os_watch *w, int wd)
{
    size_t i = place_of(w, wd);
    if (i >= w->count || w->folders[i].wd != wd)
        return;
    free(w->folders[i].name);
    w->count--;
    memmove(w->folders + i, w->folders + i + 1, (w->count - i) * sizeof *w->folders);
}

static void remember(struct os_watch *w, int wd, const char *name)
{
    watch_forget(w, wd); /* a folder that moved keeps its number */
    if (w->count == w->capacity) {
        w->capacity = w->capacity ? w->capacity * 2 : 64;
        w->folders = reallocarray(w->folders, w->capacity, sizeof *w->folders);
        must(w->folders != NULL); /* bounded by the system's number of watches */
    }
    size_t i = place_of(w, wd);
    memmove(w->folders + i + 1, w->folders + i, (w->count - i) * sizeof *w->folders);
    w->folders[i] = (struct folder){wd, mem_strdup(name)};
    w->count++;
}

static bool is_beneath(const char *name, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(name, folder, n) == 0 && (name[n] == '/' || name[n] == '\0');
}

/* A folder went away: its watches would go on telling under stale names. */
static void forget_tree(struct os_watch *w, const char *folder)
{
    for (size_t i = w->count; i-- > 0;) {
        if (!is_beneath(w->folders[i].name, folder))
            continue;
        (void)inotify_rm_watch(w->fd, w->folders[i].wd);
        watch_forget(w, w->folders[i].wd);
    }
}

/* ---- adding folders ----------------------------------------------------- */

static bool add_folder(struct os_watch *w, const char *name, struct err *e)
{
    struct err gone = {0};
    scoped_fd int fd = os_open_beneath(w->dir, *name ? name : ".",
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &gone);
    if (fd < 0)
        return true; /* removed since, or not ours to see: nothing to watch */
    if (!os_is_local(fd))
        return err_set(e, ERR_LIMIT,
                       "the file system of \"%.200s\" does not report changes",
                       *name ? name : w->path);

    /* By descriptor, so that no rename on the way can lead elsewhere. */
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int wd = inotify_add_watch(w->fd, link, MASK & ~(unsigned)IN_DONT_FOLLOW);
    if (wd < 0 && errno == ENOENT) {
        char full[PATH_MAX];
        int n = snprintf(full, sizeof full, "%s/%s", w->path, name);
        if (n > 0 && (size_t)n < sizeof full)
            wd = inotify_add_watch(w->fd, full, MASK);
    }
    if (wd < 0)
        return err_set(e, errno == ENOSPC || errno == ENOMEM ? ERR_LIMIT : ERR_IO,
                       "cannot watch \"%.200s\": %m", *name ? name : w->path);
    remember(w, wd, name);
    return true;
}

static bool add_found(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    (void)st;
    return add_folder(arg, name, e);
}

/* Parents before children: what appears beneath a folder after it was added
 * shows as a notice, what was there before is found by the walk. */
static void add_tree(struct os_watch *w, const char *name, struct err *e)
{
    if (!add_folder(w, name, e) ||
        !os_walk_folders(w->dir, *name ? name : ".", add_found, w, e)) {
        /* Vanished under our feet: its own removal is noticed by its parent. */
        if (e->code != ERR_NOT_FOUND && e->code != ERR_DENIED)
            w->blind = true;
    }
}

struct os_watch *os_watch_open(int dir, const char *path, struct err *e)
{
    scoped(os_watch_close) struct os_watch *w = mem_new(sizeof *w);
    w->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    w->path = mem_strdup(path);
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0 || w->dir < 0) {
        err_set(e, errno == EMFILE ? ERR_LIMIT : ERR_IO, "cannot watch \"%.200s\": %m",
                path);
        return NULL;
    }
    struct err why = {0};
    add_tree(w, "", &why);
    if (w->blind || w->count == 0) {
        err_set(e, why.code ? why.code : ERR_IO, "%s",
                why.code ? why.msg : "cannot watch the folder");
        return NULL;
    }
    return take(w);
}

void os_watch_close(struct os_watch *w)
{
    if (!w)
        return;
    os_close(w->fd);
    os_close(w->dir);
    for (size_t i = 0; i < w->count; i++)
        free(w->folders[i].name);
    free(w->folders);
    free(w->path);
    free(w);
}

int os_watch_fd(const struct os_watch *w)
{
    return w->fd;
}

/* ---- draining ----------------------------------------------------------- */

struct drain {
    struct os_watch *w;
    void (*changed)(void *arg, const char *name);
    void *arg;
    bool lost;
};

static void one_event(struct drain *d, const struct inotify_event *ev)
{
    struct os_watch *w = d->w;
    if (ev->mask & (IN_Q_OVERFLOW | IN_UNMOUNT)) {
        d->lost = true;
        return;
    }
    const char *folder = watch_name(w, ev->wd);
    if (!folder)
        return; /* of a folder that was moved away */
    if (ev->mask & IN_IGNORED) {
        watch_forget(w, ev->wd);
        return;
    }
    if (ev->mask & IN_DELETE_SELF && !*folder)
        d->lost = true;
    if (ev->len == 0 || ev->name[0] == '.' || ev->name[0] == '\0')
        return;

    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", ev->name);
    if (n < 0 || (size_t)n >= sizeof name)
        return;
    if (ev->mask & IN_ISDIR) {
        if (ev->mask & (IN_MOVED_FROM | IN_DELETE))
            forget_tree(w, name);
        struct err e = {0};
        if (ev->mask & (IN_CREATE | IN_MOVED_TO))
            add_tree(w, name, &e);
    }
    d->changed(d->arg, name);
}

bool os_watch_drain(struct os_watch *w, void (*changed)(void *arg, const char *name),
                    void *arg)
{
    struct drain d = {.w = w, .changed = changed, .arg = arg};
    _Alignas(struct inotify_event) char space[16 * 1024];
    /* A neighbour who writes without end must not hold us: at most 4 MiB, then
     * everything counts as changed. */
    for (int reads = 0; reads < 256; reads++) {
        ssize_t n = read(w->fd, space, sizeof space);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            d.lost = d.lost || (n < 0 && errno != EAGAIN);
            break;
        }
        for (char *at = space; at < space + n;) {
            const struct inotify_event *ev = (const struct inotify_event *)(void *)at;
            one_event(&d, ev);
            at += sizeof *ev + ev->len;
        }
        d.lost = d.lost || reads == 255;
    }
    if (d.lost) {
        /* Folders may have come unseen. */
        struct err e = {0};
        add_tree(w, "", &e);
    }
    return !d.lost && !w->blind;
}
