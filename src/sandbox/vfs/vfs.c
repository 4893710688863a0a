/* The tree as a whole: what is done by path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

struct vfs *vfs_new(const struct vfs_quota *quota)
{
    struct vfs *v = mem_new(sizeof *v);
    v->quota = *quota;
    v->quota.files = 1; /* the root is there in any case, */
    v->root = node_new(v, VFS_FOLDER);
    must(v->root != NULL);
    v->root->links = 1;
    v->used.files = 0; /* and is not counted */
    v->quota.files = quota->files;
    return v;
}

void vfs_free(struct vfs *v)
{
    if (!v)
        return;
    must(v->used.open == 0);
    changes_free(v->changes);
    node_drop(v, take(v->root));
    for (struct mounted *m = v->mounts, *next; m; m = next) {
        next = m->next;
        os_close(m->dir);
        free(m);
    }
    free(v);
}

void vfs_follow_anywhere(struct vfs *v)
{
    v->anywhere = true;
}

struct vfs_usage vfs_usage(const struct vfs *v)
{
    return v->used;
}

int vfs_spend(struct vfs *v, uint64_t n)
{
    if (n > v->quota.written - v->used.written)
        return ENOSPC;
    v->used.written += n;
    return 0;
}

/* ---- mounts ------------------------------------------------------------- */

static bool refuse_mount(const char *at, int failed, struct err *e)
{
    enum err_code code = failed == ENOSPC ? ERR_LIMIT : ERR_INVALID;
    return err_set(e, code, "cannot mount at \"%.200s\": %s", at, strerror(failed));
}

/* The folder of that name with a reference, made where it is missing. */
static int point_at(struct vfs *v, struct node *in, struct str name, struct node **out)
{
    if (name.n > VFS_NAME_MAX)
        return ENAMETOOLONG;
    if (str_is(name, ".") || str_is(name, ".."))
        return EINVAL;
    if (in->mount || (in->home && in->home->point != v->root))
        return EBUSY;
    int failed = lower_find(in, name, out);
    if (failed || *out)
        return failed ? failed : (*out)->type != VFS_FOLDER ? ENOTDIR : 0;
    *out = node_new(v, VFS_FOLDER);
    return *out ? node_add(in, name, *out) : ENOSPC;
}

/* Makes the folders of the path; its last one, with a reference. NULL and *e. */
static struct node *make_point(struct vfs *v, const char *at, struct err *e)
{
    struct node *n = node_ref(v->root);
    for (const char *c = at; *(c += strspn(c, "/"));) {
        struct str name = {c, strcspn(c, "/")};
        struct node *child = NULL;
        int failed = point_at(v, n, name, &child);
        node_drop(v, n);
        n = child;
        if (failed) {
            node_drop(v, n);
            refuse_mount(at, failed, e);
            return NULL;
        }
        c += name.n;
    }
    return n;
}

static struct mounted *add_mounted(struct vfs *v, const struct vfs_mount *m,
                                   struct node *point, struct err *e)
{
    int dir = fcntl(m->dir, F_DUPFD_CLOEXEC, 3);
    if (dir < 0) {
        err_set(e, ERR_IO, "cannot mount at \"%.200s\": %m", m->at);
        return NULL;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    struct mounted *new = mem_new(sizeof *new);
    *new = (struct mounted){.next = v->mounts,
                            .point = point,
                            .dir = dir,
                            .number = ++v->mount_count,
                            .since_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                            .writable = m->writable,
                            .owner_only = m->owner_only,
                            .write_only = m->write_only,
                            .links = m->links,
                            .dots = m->dots};
    return v->mounts = new;
}

/* The host's numbers show through then, and ours must not be among them. */
#define OWN_INODES ((uint64_t)1 << 62)

static bool mount_on(struct vfs *v, const struct vfs_mount *m, struct node *point,
                     struct err *e)
{
    if (point->mount || point->lower || point->count)
        return err_set(e, ERR_CONFLICT, "\"%.200s\" is mounted, or holds files, already",
                       m->at);
    struct mounted *new = add_mounted(v, m, point, e);
    if (!new)
        return false;
    if (m->overlay) {
        lower_attach(point, new);
        point->home = new;
        v->last_inode |= OWN_INODES;
    } else {
        point->mount = new;
    }
    return true;
}

bool vfs_mount(struct vfs *v, const struct vfs_mount *m, struct err *e)
{
    if (m->at[0] != '/' || !m->at[strspn(m->at, "/")])
        return err_set(e, ERR_INVALID,
                       "cannot mount at \"%.200s\"; an absolute path below / is accepted",
                       m->at);
    struct node *point = make_point(v, m->at, e);
    bool done = point && mount_on(v, m, point, e);
    node_drop(v, point);
    return done;
}

bool vfs_show(struct vfs *v, int dir, struct err *e)
{
    struct vfs_mount data = {.at = "/", .dir = dir, .dots = true};
    if (v->root->lower)
        return err_set(e, ERR_CONFLICT, "a folder is shown at \"/\" already");
    struct mounted *new = add_mounted(v, &data, v->root, e);
    if (!new)
        return false;
    lower_attach(v->root, new);
    v->last_inode |= OWN_INODES;
    return true;
}

/* ---- looking ------------------------------------------------------------ */

int vfs_stat(struct vfs *v, struct vfs_file *base, struct str path, bool follow,
             struct vfs_stat *out)
{
    struct place p;
    int failed = walk(v, base, path, follow ? WALK_FOLLOW : 0, &p);
    if (!failed && !p.exists)
        failed = ENOENT;
    if (!failed)
        *out = p.stat;
    place_done(&p);
    return failed;
}

static int read_link(const struct place *p, char *out, size_t size, size_t *n)
{
    if (!p->exists)
        return ENOENT;
    if (p->stat.type != VFS_LINK)
        return EINVAL;
    if (p->node) {
        *n = p->node->size < size ? p->node->size : size;
        memcpy(out, p->node->bytes, *n);
        return 0;
    }
    ssize_t got = size ? readlinkat(p->in.fd, p->name, out, size) : 0;
    *n = got < 0 ? 0 : (size_t)got;
    return got < 0 ? errno : 0;
}

int vfs_readlink(struct vfs *v, struct vfs_file *base, struct str path, char *out,
                 size_t size, size_t *n)
{
    struct place p;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = read_link(&p, out, size, n);
    place_done(&p);
    return failed;
}

/* ---- making ------------------------------------------------------------- */

/* May a name be made there? */
static int makeable(struct vfs *v, const struct place *p)
{
    int failed = p->exists ? EEXIST : place_writable(v, p);
    if (!failed && v->used.files >= v->quota.files)
        failed = ENOSPC;
    return failed;
}

/* Puts a new node where the place is. */
static int put_node(struct vfs *v, const struct place *p, struct node *n)
{
    int failed = n ? node_add(p->in.node, place_name(p), n) : ENOSPC;
    node_drop(v, n);
    return failed;
}

static int vfs_make_folder(struct vfs *v, const struct place *p)
{
    int failed = makeable(v, p);
    if (failed || !p->in.mount)
        return failed ? failed : put_node(v, p, node_new(v, VFS_FOLDER));
    if (mkdirat(p->in.fd, p->name, 0777) != 0)
        return errno;
    v->used.files++;
    return 0;
}

int vfs_mkdir(struct vfs *v, struct vfs_file *base, struct str path)
{
    struct place p;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = vfs_make_folder(v, &p);
    place_done(&p);
    return failed;
}

static int make_link_on_host(struct vfs *v, const struct place *p, struct str target)
{
    char text[VFS_PATH_MAX];
    memcpy(text, target.at, target.n);
    text[target.n] = '\0';
    if (symlinkat(text, p->in.fd, p->name) != 0)
        return errno;
    v->used.files++;
    return 0;
}

static int make_link(struct vfs *v, const struct place *p, struct str target)
{
    int failed = makeable(v, p);
    if (failed || (place_home(p) && !place_home(p)->links))
        return failed ? failed : EPERM;
    if (p->wants_folder)
        return ENOENT;
    if (p->in.mount)
        return make_link_on_host(v, p, target);
    struct node *n = node_new(v, VFS_LINK);
    failed = n ? node_resize(v, n, target.n) : ENOSPC;
    if (failed) {
        node_drop(v, n);
        return failed;
    }
    memcpy(n->bytes, target.at, target.n);
    return put_node(v, p, n);
}

int vfs_symlink(struct vfs *v, struct str target, struct vfs_file *base, struct str path)
{
    struct place p;
    if (target.n == 0)
        return ENOENT;
    if (target.n >= VFS_PATH_MAX)
        return ENAMETOOLONG;
    if (memchr(target.at, '\0', target.n))
        return EINVAL;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = make_link(v, &p, target);
    place_done(&p);
    return failed;
}

/* ---- removing ----------------------------------------------------------- */

/* Is it what another mount, or the data, begins with? */
static int covers(const struct place *p)
{
    return p->node && p->node->home != p->in.node->home
               ? node_writable(p->node) ? EROFS : EBUSY
               : 0;
}

static int removable(struct vfs *v, const struct place *p)
{
    if (!p->exists || p->name_n == 0)
        return p->exists ? EBUSY : ENOENT;
    int failed = covers(p);
    return failed ? failed : place_writable(v, p);
}

static int remove_node(struct vfs *v, const struct place *p)
{
    int failed = lower_keep(v, p->node);
    if (!failed)
        node_remove(v, p->in.node, place_name(p));
    return failed;
}

static int remove_folder(struct vfs *v, const struct place *p)
{
    int failed = removable(v, p);
    if (failed)
        return failed;
    if (p->stat.type != VFS_FOLDER)
        return ENOTDIR;
    if (p->in.mount)
        return unlinkat(p->in.fd, p->name, AT_REMOVEDIR) == 0 ? 0 : errno;
    failed = lower_empty(p->node);
    return failed ? failed : remove_node(v, p);
}

int vfs_rmdir(struct vfs *v, struct vfs_file *base, struct str path)
{
    struct place p;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = remove_folder(v, &p);
    place_done(&p);
    return failed;
}

static int remove_file(struct vfs *v, const struct place *p)
{
    if (p->exists && p->stat.type == VFS_FOLDER)
        return EISDIR;
    int failed = removable(v, p);
    if (failed)
        return failed;
    if (p->in.mount)
        return unlinkat(p->in.fd, p->name, 0) == 0 ? 0 : errno;
    return remove_node(v, p);
}

int vfs_unlink(struct vfs *v, struct vfs_file *base, struct str path)
{
    struct place p;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = remove_file(v, &p);
    place_done(&p);
    return failed;
}

/* ---- moving ------------------------------------------------------------- */

/* Rules that hold in memory; the host has its own. */
static int may_replace(const struct place *from, const struct place *to)
{
    bool folder = from->node->type == VFS_FOLDER;
    if (folder && node_is_beneath(to->in.node, from->node))
        return EINVAL;
    if (!to->exists)
        return 0;
    if (folder)
        return to->node->type != VFS_FOLDER ? ENOTDIR : lower_empty(to->node);
    return to->node->type == VFS_FOLDER ? EISDIR : 0;
}

/* First in the new place, then no longer in the old one: a failure changes nothing. */
static int move_node(struct vfs *v, const struct place *from, const struct place *to)
{
    struct node *n = from->node;
    if (n == to->node)
        return 0;
    int failed = may_replace(from, to);
    if (!failed)
        failed = lower_keep(v, n);
    if (!failed && to->exists)
        failed = lower_keep(v, to->node);
    if (!failed && to->exists)
        node_replace(v, to->in.node, place_name(to), n);
    else if (!failed)
        failed = node_add(to->in.node, place_name(to), n);
    if (failed)
        return failed;
    node_remove(v, from->in.node, place_name(from));
    if (n->type == VFS_FOLDER)
        n->parent = to->in.node;
    return 0;
}

static int move_place(struct vfs *v, const struct place *from, const struct place *to)
{
    int failed = removable(v, from);
    if (!failed && to->exists)
        failed = to->name_n == 0 ? EBUSY : covers(to);
    if (!failed)
        failed = place_writable(v, to);
    if (failed)
        return failed;
    if (place_home(from) != place_home(to))
        return EXDEV;
    if (to->wants_folder && from->stat.type != VFS_FOLDER)
        return ENOTDIR;
    if (!from->in.mount)
        return move_node(v, from, to);
    return renameat(from->in.fd, from->name, to->in.fd, to->name) == 0 ? 0 : errno;
}

/* The host's own exchange; in memory there is none. */
static int exchange_places(struct vfs *v, const struct place *from,
                           const struct place *to)
{
    int failed = removable(v, from);
    if (!failed)
        failed = removable(v, to);
    if (!failed)
        failed = place_home(from) != place_home(to) ? EXDEV
                 : !from->in.mount                  ? EINVAL
                                                    : 0;
    if (failed)
        return failed;
    return renameat2(from->in.fd, from->name, to->in.fd, to->name, RENAME_EXCHANGE) == 0
               ? 0
               : errno;
}

static int move_apart(struct vfs *v, const struct place *from, const struct place *to)
{
    if (to->exists)
        return from->exists ? EEXIST : ENOENT;
    if (!from->exists || !from->in.mount || !to->in.mount)
        return move_place(v, from, to);
    int failed = removable(v, from);
    if (!failed)
        failed = place_writable(v, to);
    if (!failed && place_home(from) != place_home(to))
        failed = EXDEV;
    if (failed)
        return failed;
    return renameat2(from->in.fd, from->name, to->in.fd, to->name, RENAME_NOREPLACE) == 0
               ? 0
               : errno;
}

static int link_place(struct vfs *v, const struct place *from, const struct place *to)
{
    if (!from->exists)
        return ENOENT;
    /* A link of the host's would be one more that its programs follow. */
    if (from->stat.type == VFS_FOLDER ||
        (from->stat.type == VFS_LINK && place_home(from) && !place_home(from)->links))
        return EPERM;
    int failed = covers(from);
    if (!failed)
        failed = makeable(v, to);
    if (failed)
        return failed;
    if (place_home(from) != place_home(to))
        return EXDEV;
    if (to->wants_folder)
        return ENOENT;
    if (!from->in.mount) {
        failed = lower_keep(v, from->node);
        return failed ? failed : node_add(to->in.node, place_name(to), from->node);
    }
    if (linkat(from->in.fd, from->name, to->in.fd, to->name, 0) != 0)
        return errno;
    v->used.files++;
    return 0;
}

/* Both places, then what is to be done with them. */
static int with_two(struct vfs *v, struct vfs_file *from_base, struct str from,
                    struct vfs_file *to_base, struct str to,
                    int act(struct vfs *, const struct place *, const struct place *))
{
    struct place a, b;
    int failed = walk(v, from_base, from, 0, &a);
    if (!failed) {
        failed = walk(v, to_base, to, 0, &b);
        if (!failed)
            failed = act(v, &a, &b);
        place_done(&b);
    }
    place_done(&a);
    return failed;
}

int vfs_rename(struct vfs *v, struct vfs_file *from_base, struct str from,
               struct vfs_file *to_base, struct str to)
{
    return with_two(v, from_base, from, to_base, to, move_place);
}

int vfs_rename_apart(struct vfs *v, struct vfs_file *from_base, struct str from,
                     struct vfs_file *to_base, struct str to, bool exchange)
{
    return with_two(v, from_base, from, to_base, to,
                    exchange ? exchange_places : move_apart);
}

int vfs_link(struct vfs *v, struct vfs_file *from_base, struct str from,
             struct vfs_file *to_base, struct str to)
{
    return with_two(v, from_base, from, to_base, to, link_place);
}

/* ---- times -------------------------------------------------------------- */

static struct timespec time_of(int64_t ns)
{
    if (ns == VFS_TIME_KEEP)
        return (struct timespec){.tv_nsec = UTIME_OMIT};
    int64_t rest = ns % 1000000000, below = rest < 0;
    return (struct timespec){.tv_sec = ns / 1000000000 - below,
                             .tv_nsec = rest + below * 1000000000};
}

static int keep_times(struct vfs *v, struct node *n, int64_t accessed_ns,
                      int64_t modified_ns)
{
    int failed = lower_keep(v, n);
    if (failed)
        return failed;
    if (accessed_ns != VFS_TIME_KEEP)
        n->accessed_ns = accessed_ns;
    if (modified_ns != VFS_TIME_KEEP)
        n->modified_ns = modified_ns;
    return 0;
}

static int set_times(struct vfs *v, const struct place *p, int64_t accessed_ns,
                     int64_t modified_ns)
{
    int failed = !p->exists     ? ENOENT
                 : !p->in.mount ? node_writable(p->node)
                                : place_writable(v, p);
    if (failed || p->node)
        return failed ? failed : keep_times(v, p->node, accessed_ns, modified_ns);
    struct timespec times[2] = {time_of(accessed_ns), time_of(modified_ns)};
    const char *name = p->name_n ? p->name : ".";
    return utimensat(p->in.fd, name, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

int vfs_set_times(struct vfs *v, struct vfs_file *base, struct str path, bool follow,
                  int64_t accessed_ns, int64_t modified_ns)
{
    struct place p;
    int failed = walk(v, base, path, follow ? WALK_FOLLOW : 0, &p);
    if (!failed)
        failed = set_times(v, &p, accessed_ns, modified_ns);
    place_done(&p);
    return failed;
}

int vfs_set_times_of(struct vfs_file *f, int64_t accessed_ns, int64_t modified_ns)
{
    if (f->mount ? !f->mount->writable : node_writable(f->node) != 0)
        return EROFS;
    if (f->node)
        return keep_times(f->vfs, f->node, accessed_ns, modified_ns);
    struct timespec times[2] = {time_of(accessed_ns), time_of(modified_ns)};
    return futimens(f->fd, times) == 0 ? 0 : errno;
}
