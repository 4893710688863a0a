/* From a path to a place, name by name.
 *
 * On the host each name is looked at and opened by itself, relative to the folder before
 * it (the first one to that which is open), and no link is followed by the kernel:
 * whatever others do there meanwhile, a single name cannot lead out of the folder that it
 * stands in. The targets of links are spliced into what is still to walk, so that every
 * rule here holds for them as well. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

struct walker {
    struct vfs *vfs;
    struct vfs_file *base;
    struct where *at; /* the place's: some kilobytes, not to be copied or cleared */
    size_t depth;     /* folders below the base */
    unsigned links, how;
    size_t todo_n, next;
    char todo[VFS_PATH_MAX];
};

/* ---- moving about ------------------------------------------------------- */

static void where_done(struct where *w)
{
    if (!w->lender)
        os_close(w->fd);
    w->fd = -1;
    w->lender = NULL;
    node_drop(w->vfs, take(w->node));
}

static void stand_in(struct where *w, struct mounted *m, const char *path, int fd)
{
    where_done(w);
    w->node = node_ref(m->point);
    w->mount = m;
    w->fd = fd;
    w->path_n = strlen(path);
    memmove(w->path, path, w->path_n + 1);
}

static int enter_mount(struct where *w, struct mounted *m, const char *path)
{
    int fd = host_folder(m, path);
    if (fd < 0)
        return errno;
    stand_in(w, m, path, fd);
    return 0;
}

/* A folder that is open is gone on from as it is, as everywhere: also where somebody has
 * moved it meanwhile. */
static int enter_open(struct where *w, const struct vfs_file *folder)
{
    stand_in(w, folder->mount, folder->path, folder->fd);
    w->lender = folder;
    return 0;
}

static void enter_node(struct where *w, struct node *n)
{
    node_ref(n); /* before what leads to it is let go */
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
    int fd = openat(w->fd, p->name, O_PATH | O_DIRECTORY | HOST_OPEN);
    if (fd < 0)
        return errno;
    if (!w->lender)
        os_close(w->fd);
    w->fd = fd;
    w->lender = NULL;
    if (gap)
        w->path[w->path_n++] = '/';
    memcpy(w->path + w->path_n, p->name, p->name_n + 1);
    w->path_n += p->name_n;
    return 0;
}

static int go_up(struct walker *k)
{
    struct where *w = k->at;
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

static int walker_begin(struct walker *k, bool absolute)
{
    struct vfs_file *base = k->base;
    k->depth = 0;
    if (!base)
        return enter_memory(k->at, k->vfs->root);
    if (absolute)
        return EPERM;
    if (base->type != VFS_FOLDER)
        return ENOTDIR;
    return base->mount ? enter_open(k->at, base) : enter_memory(k->at, base->node);
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

/* Looks the name up in the current folder. */
static int place_look_up(struct walker *k, struct place *p)
{
    struct where *w = k->at;
    p->exists = false;
    node_drop(k->vfs, take(p->node));
    if (!w->mount) {
        int failed = lower_find(w->node, place_name(p), &p->node);
        p->exists = p->node != NULL;
        if (p->exists)
            node_stat(p->node, &p->stat);
        return failed;
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
    } else if ((n = readlinkat(k->at->fd, p->name, target, sizeof target)) < 0) {
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
    if (k->vfs->anywhere)
        k->base = NULL;
    return target[0] == '/' ? walker_begin(k, true) : 0;
}

static int step(struct walker *k, struct place *p, bool *done)
{
    bool last, slash;
    struct str name = next_name(k, &last, &slash);
    if (name.n == 0 || str_is(name, ".") || str_is(name, "..")) {
        int failed = str_is(name, "..") ? go_up(k) : 0;
        node_drop(k->vfs, take(p->node)); /* of a name before */
        p->name_n = 0;
        *done = last;
        return failed;
    }
    if (name.n > VFS_NAME_MAX)
        return ENAMETOOLONG;
    memcpy(p->name, name.at, name.n);
    p->name[name.n] = '\0';
    p->name_n = name.n;
    int failed = place_look_up(k, p);
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
    return p->node ? enter_memory(k->at, p->node) : go_down_host(k->at, p);
}

/* A path that ends in "." or ".." or is "/": the folder itself. */
static int look_at_folder(struct walker *k, struct place *p)
{
    struct stat st;
    p->exists = true;
    if (!k->at->mount) {
        node_drop(k->vfs, p->node);
        p->node = node_ref(k->at->node);
        node_stat(p->node, &p->stat);
    } else if (k->how & WALK_OPEN && k->at->lender) {
        p->stat = (struct vfs_stat){.type = VFS_FOLDER, .inode = k->at->lender->inode};
    } else {
        if (fstat(k->at->fd, &st) != 0)
            return errno;
        (void)host_stat(k->at->mount, &st, &p->stat);
    }
    return 0;
}

/* A folder that a mount covers is what is mounted there. */
static int uncover(struct walker *k, struct place *p)
{
    if (!p->exists || !p->node || !p->node->mount)
        return 0;
    p->name_n = 0;
    int failed = enter_memory(k->at, p->node);
    node_drop(k->vfs, take(p->node));
    return failed;
}

int walk(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
         struct place *out)
{
    struct walker k;
    bool done = false;
    k.vfs = v;
    k.base = base;
    k.at = &out->in;
    k.how = how;
    k.links = 0;
    k.next = 0;
    out->in.vfs = v;
    out->in.fd = -1;
    out->in.lender = NULL;
    out->in.node = NULL;
    out->in.mount = NULL;
    out->in.path_n = 0;
    out->in.path[0] = '\0';
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
    int failed = walker_begin(&k, path.at[0] == '/');
    while (!failed && !done)
        failed = step(&k, out, &done);
    if (!failed)
        failed = uncover(&k, out);
    if (!failed && out->name_n == 0)
        failed = look_at_folder(&k, out);
    return failed;
}

void place_done(struct place *p)
{
    node_drop(p->in.vfs, take(p->node));
    where_done(&p->in);
}

int node_writable(const struct node *n)
{
    return n->home && !n->home->writable ? EROFS : 0;
}

int place_writable(const struct vfs *v, const struct place *p)
{
    const struct mounted *home = place_home(p);
    if (home && !home->writable)
        return EROFS;
    if (home && !mount_shows(home, place_name(p)))
        return EACCES;
    if (p->in.mount)
        return 0;
    return p->in.node != v->root && !p->in.node->parent ? ENOENT : 0;
}
