/* From a path to a place, name by name.
 *
 * On the host each name is looked at and opened by itself, relative to the folder
 * before it, and no link is followed by the kernel: whatever others do there
 * meanwhile, a single name cannot lead out of the folder that it stands in. The
 * targets of links are spliced into what is still to walk, so that every rule here
 * holds for them as well. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct walker {
    struct vfs *vfs;
    struct vfs_file *base;
    struct where at;
    size_t depth; /* folders below the base */
    unsigned links, how;
    size_t todo_n, next;
    char todo[VFS_PATH_MAX];
};

/* ---- folders of the host ------------------------------------------------ */

bool mount_shows(const struct mounted *m, struct str name)
{
    if (name.n == 0 || name.at[0] != '.')
        return true;
    /* Some file systems take no notice of case. */
    return m->dots && !(name.n == 7 && strncasecmp(name.at, ".cloche", 7) == 0);
}

int host_folder(const struct mounted *m, const char *path)
{
    int fd = openat(m->dir, ".", FOLDER_FLAGS);
    while (fd >= 0 && *path) {
        char name[VFS_NAME_MAX + 1];
        size_t n = strcspn(path, "/");
        must(n < sizeof name);
        memcpy(name, path, n);
        name[n] = '\0';
        int next = openat(fd, name, FOLDER_FLAGS);
        os_close(fd);
        fd = next;
        path += n + (path[n] == '/');
    }
    return fd;
}

bool host_stat(const struct mounted *m, const struct stat *st, struct vfs_stat *out)
{
    *out = (struct vfs_stat){
        .type = S_ISDIR(st->st_mode)   ? VFS_FOLDER
                : S_ISLNK(st->st_mode) ? VFS_LINK
                                       : VFS_FILE,
        .device = m->number,
        .links = (uint32_t)st->st_nlink,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .accessed_ns = (int64_t)st->st_atim.tv_sec * 1000000000 + st->st_atim.tv_nsec,
        .modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
    return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode);
}

/* ---- moving about ------------------------------------------------------- */

static void where_done(struct where *w)
{
    os_close(w->fd);
    w->fd = -1;
}

static int enter_mount(struct where *w, struct mounted *m, const char *path)
{
    int fd = host_folder(m, path);
    if (fd < 0)
        return errno;
    where_done(w);
    w->node = m->point;
    w->mount = m;
    w->fd = fd;
    w->path_n = strlen(path);
    memmove(w->path, path, w->path_n + 1);
    return 0;
}

static void enter_node(struct where *w, struct node *n)
{
    where_done(w);
    w->node = n;
    w->mount = NULL;
    w->path_n = 0;
    w->path[0] = '\0';
}

static int enter_memory(struct where *w, struct node *n)
{
    if (n->mount)
        return enter_mount(w, n->mount, "");
    enter_node(w, n);
    return 0;
}

static int go_down_host(struct where *w, const struct place *p)
{
    size_t gap = w->path_n > 0;
    if (w->path_n + gap + p->name_n + 1 > sizeof w->path)
        return ENAMETOOLONG;
    int fd = openat(w->fd, p->name, FOLDER_FLAGS);
    if (fd < 0)
        return errno;
    where_done(w);
    w->fd = fd;
    if (gap)
        w->path[w->path_n++] = '/';
    memcpy(w->path + w->path_n, p->name, p->name_n + 1);
    w->path_n += p->name_n;
    return 0;
}

static int go_up(struct walker *k)
{
    struct where *w = &k->at;
    if (k->base && k->depth == 0)
        return EPERM;
    k->depth -= k->depth > 0;
    if (w->mount && w->path_n > 0) {
        char *slash = memrchr(w->path, '/', w->path_n);
        char up[VFS_PATH_MAX];
        size_t n = slash ? (size_t)(slash - w->path) : 0;
        memcpy(up, w->path, n);
        up[n] = '\0';
        return enter_mount(w, w->mount, up);
    }
    struct node *up = w->node->parent;
    if (!up && w->node != k->vfs->root)
        return ENOENT; /* a folder that was removed while it was open */
    enter_node(w, up ? up : w->node);
    return 0;
}

static int begin(struct walker *k, bool absolute)
{
    struct vfs_file *base = k->base;
    k->depth = 0;
    if (!base)
        return enter_memory(&k->at, k->vfs->root);
    if (absolute)
        return EPERM;
    if (base->type != VFS_FOLDER)
        return ENOTDIR;
    return base->mount ? enter_mount(&k->at, base->mount, base->path)
                       : enter_memory(&k->at, base->node);
}

/* ---- names -------------------------------------------------------------- */

/* The next name to walk; its length 0: there is none. `*last`: nothing follows but
 * slashes, of which `*slash` tells. */
static struct str next_name(struct walker *k, bool *last, bool *slash)
{
    while (k->next < k->todo_n && k->todo[k->next] == '/')
        k->next++;
    struct str name = {k->todo + k->next, 0};
    while (k->next < k->todo_n && k->todo[k->next] != '/')
        k->next++, name.n++;
    size_t after = k->next;
    while (after < k->todo_n && k->todo[after] == '/')
        after++;
    *last = after == k->todo_n;
    *slash = after > k->next;
    return name;
}

/* What stands under that name in the folder where we are. */
static int look(struct walker *k, struct place *p)
{
    struct where *w = &k->at;
    p->exists = false;
    p->node = NULL;
    if (!w->mount) {
        p->node = node_child(w->node, place_name(p));
        p->exists = p->node != NULL;
        if (p->exists)
            node_stat(p->node, &p->stat);
        return 0;
    }
    struct stat st;
    if (!mount_shows(w->mount, place_name(p)))
        return 0;
    if (fstatat(w->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    p->exists = host_stat(w->mount, &st, &p->stat);
    return p->exists ? 0 : EACCES;
}

/* Puts a link's target before what is still to walk. */
static int splice_link(struct walker *k, const struct place *p)
{
    char target[VFS_PATH_MAX];
    ssize_t n;
    if (++k->links > VFS_LINKS_MAX)
        return ELOOP;
    if (p->node) {
        n = (ssize_t)p->node->size;
        memcpy(target, p->node->bytes, p->node->size);
    } else if ((n = readlinkat(k->at.fd, p->name, target, sizeof target)) < 0) {
        return errno;
    }
    size_t rest = k->todo_n - k->next;
    if (n == 0)
        return ENOENT;
    if ((size_t)n + rest > sizeof k->todo)
        return ENAMETOOLONG;
    memmove(k->todo + n, k->todo + k->next, rest);
    memcpy(k->todo, target, (size_t)n);
    k->todo_n = (size_t)n + rest;
    k->next = 0;
    return target[0] == '/' ? begin(k, true) : 0;
}

static int step(struct walker *k, struct place *p, bool *done)
{
    bool last, slash;
    struct str name = next_name(k, &last, &slash);
    if (name.n == 0 || str_is(name, ".") || str_is(name, "..")) {
        int failed = str_is(name, "..") ? go_up(k) : 0;
        p->name_n = 0;
        *done = last;
        return failed;
    }
    if (name.n > VFS_NAME_MAX)
        return ENAMETOOLONG;
    memcpy(p->name, name.at, name.n);
    p->name[name.n] = '\0';
    p->name_n = name.n;
    int failed = look(k, p);
    if (failed)
        return failed;
    p->wants_folder = last && slash;
    if (p->exists && p->stat.type == VFS_LINK && (!last || slash || k->how & WALK_FOLLOW))
        return splice_link(k, p);
    *done = last;
    if (last)
        return p->exists && slash && p->stat.type != VFS_FOLDER ? ENOTDIR : 0;
    if (!p->exists)
        return ENOENT;
    if (p->stat.type != VFS_FOLDER)
        return ENOTDIR;
    k->depth++;
    return p->node ? enter_memory(&k->at, p->node) : go_down_host(&k->at, p);
}

/* A path that ends in "." or ".." or is "/": the folder itself. */
static int look_at_folder(struct walker *k, struct place *p)
{
    struct stat st;
    p->exists = true;
    if (!k->at.mount) {
        p->node = k->at.node;
        node_stat(p->node, &p->stat);
    } else {
        if (fstat(k->at.fd, &st) != 0)
            return errno;
        (void)host_stat(k->at.mount, &st, &p->stat);
    }
    return 0;
}

/* A folder that a mount covers is what is mounted there. */
static int uncover(struct walker *k, struct place *p)
{
    if (!p->exists || !p->node || !p->node->mount)
        return 0;
    p->name_n = 0;
    return enter_memory(&k->at, take(p->node));
}

int walk(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
         struct place *out)
{
    struct walker k = {.vfs = v, .base = base, .how = how, .at.fd = -1};
    bool done = false;
    out->in.fd = -1;
    out->name_n = 0;
    out->exists = out->wants_folder = false;
    out->node = NULL;
    if (path.n == 0)
        return ENOENT;
    if (path.n >= VFS_PATH_MAX)
        return ENAMETOOLONG;
    if (memchr(path.at, '\0', path.n))
        return EINVAL;
    memcpy(k.todo, path.at, path.n);
    k.todo_n = path.n;
    int failed = begin(&k, path.at[0] == '/');
    while (!failed && !done)
        failed = step(&k, out, &done);
    if (!failed)
        failed = uncover(&k, out);
    if (!failed && out->name_n == 0)
        failed = look_at_folder(&k, out);
    out->in = k.at;
    return failed;
}

void place_done(struct place *p)
{
    where_done(&p->in);
}

int place_writable(const struct vfs *v, const struct place *p)
{
    if (p->in.mount)
        return !p->in.mount->writable                     ? EROFS
               : !mount_shows(p->in.mount, place_name(p)) ? EACCES
                                                          : 0;
    if (v->sealed)
        return EROFS;
    return p->in.node != v->root && !p->in.node->parent ? ENOENT : 0;
}
