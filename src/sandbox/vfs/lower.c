/* Host entries that show through folders in memory: overlays, data beneath the root.
 *
 * A name that is not in memory is looked up on the host, and becomes a node for as long
 * as somebody holds it: so there is never more than one for a file, all that is done with
 * it is done by the code that memory has, and a tree of any size costs nothing. Before
 * the first change the name is covered in its folder and the node kept; from then on it
 * is the tree's own, wherever it moves, while its contents stay on the host until they
 * are written. Nothing here ever changes the host. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

static struct lower *lower_new(struct mounted *m, struct str folder, struct str name)
{
    size_t gap = folder.n > 0;
    struct lower *l = calloc(1, sizeof *l + folder.n + gap + name.n + 1);
    if (!l)
        return NULL;
    l->of = m;
    if (gap) {
        memcpy(l->path, folder.at, folder.n);
        l->path[folder.n] = '/';
    }
    memcpy(l->path + folder.n + gap, name.at, name.n);
    return l;
}

void lower_free(struct lower *l)
{
    for (size_t i = 0; l && i < l->count; i++)
        free(l->covered[i].name);
    free(l ? l->covered : NULL);
    free(l);
}

void lower_attach(struct node *folder, struct mounted *m)
{
    folder->lower = lower_new(m, STR(""), STR(""));
    must(folder->lower != NULL); /* some bytes, when the tree is made */
}

/* ---- covered names ------------------------------------------------------ */

static size_t lower_find_name(const struct lower *l, struct str name, bool *found)
{
    return name_place(l->covered, l->count, sizeof *l->covered, name, found);
}

const struct covered *lower_covered(const struct lower *l, struct str name)
{
    bool found;
    size_t i = lower_find_name(l, name, &found);
    return found ? &l->covered[i] : NULL;
}

static bool cover(struct lower *l, struct str name, const struct vfs_stat *before)
{
    bool found;
    size_t i = lower_find_name(l, name, &found);
    must(!found);
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 4;
        struct covered *grown = reallocarray(l->covered, room, sizeof *grown);
        if (!grown)
            return false;
        l->covered = grown;
        l->room = room;
    }
    char *copy = strndup(name.at, name.n);
    if (!copy)
        return false;
    memmove(l->covered + i + 1, l->covered + i, (l->count - i) * sizeof *l->covered);
    l->covered[i] = (struct covered){copy, *before};
    l->count++;
    return true;
}

/* ---- nodes that come and go --------------------------------------------- */

/* The name of a node that is where the host has it. */
static struct str own_name(const struct node *n)
{
    const char *slash = strrchr(n->lower->path, '/');
    return str_of(slash ? slash + 1 : n->lower->path);
}

static void discard(struct node *n)
{
    lower_free(n->lower);
    free(n->children); /* empty */
    free(n->bytes);
    free(n);
}
SCOPED(node, discard);

static int read_target(struct node *link, int fd)
{
    char target[VFS_PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof target);
    if (n < 0)
        return errno;
    link->bytes = malloc((size_t)n + 1);
    if (!link->bytes)
        return ENOSPC;
    memcpy(link->bytes, target, (size_t)n);
    link->size = (size_t)n;
    return 0;
}

/* Reads the host's entry through one descriptor. */
static int node_stat_host(struct node *n, int fd)
{
    struct stat st;
    struct vfs_stat seen;
    if (fstat(fd, &st) != 0)
        return errno;
    if (!host_stat(n->home, &st, &seen))
        return EACCES;
    n->type = seen.type;
    n->links = seen.links;
    n->inode = seen.inode;
    n->mode = seen.mode;
    n->size = seen.type == VFS_FILE ? (size_t)seen.size : 0;
    n->accessed_ns = seen.accessed_ns;
    n->modified_ns = seen.modified_ns;
    n->changed_ns = seen.changed_ns;
    return seen.type == VFS_LINK ? read_target(n, fd) : 0;
}

static int lower_show(struct node *folder, struct str name, struct node **out)
{
    const struct lower *in = folder->lower;
    if (strlen(in->path) + 1 + name.n >= VFS_PATH_MAX)
        return ENAMETOOLONG;
    scoped(discard) struct node *n = calloc(1, sizeof *n);
    if (!n || !(n->lower = lower_new(in->of, str_of(in->path), name)))
        return ENOSPC;
    n->refs = 1;
    n->home = in->of;
    n->parent = folder;
    scoped_fd int fd = host_open(in->of, n->lower->path, O_PATH);
    int failed = fd < 0 ? errno : node_stat_host(n, fd);
    if (failed)
        return failed == ENOENT ? 0 : failed;
    if (!node_insert(folder, name, n))
        return ENOSPC;
    *out = node_ref(take(n)); /* one is the folder's */
    return 0;
}

int lower_find(struct node *folder, struct str name, struct node **out)
{
    struct node *n = node_child(folder, name);
    *out = n ? node_ref(n) : NULL;
    if (n || !folder->lower || lower_covered(folder->lower, name) ||
        !mount_shows(folder->lower->of, name))
        return 0;
    return lower_show(folder, name, out);
}

struct node *lower_forget(struct node *n)
{
    struct node *folder = n->parent;
    if (n->kept || n->refs > 1 || n->count || n->mount || n->lower->count || !folder)
        return NULL;
    node_take_out(folder, own_name(n));
    discard(n);
    return folder;
}

int lower_keep(struct vfs *v, struct node *n)
{
    struct vfs_stat now;
    if (n->kept)
        return 0;
    node_stat(n, &now);
    if (v->used.files >= v->quota.files || !cover(n->parent->lower, own_name(n), &now))
        return ENOSPC;
    v->used.files++; /* the covered name, for as long as the tree is there */
    n->kept = true;
    if (n->type != VFS_FOLDER)
        n->parent = NULL;
    return 0;
}

/* ---- contents ----------------------------------------------------------- */

static int read_whole(struct vfs *v, const struct lower *l, struct buf *out)
{
    struct err e = {0};
    scoped_fd int fd = host_file(l->of, l->path);
    if (fd < 0)
        return errno;
    buf_init(out, (size_t)(v->quota.bytes - v->used.bytes));
    return os_read_fd(fd, out, &e) ? 0 : e.code == ERR_LIMIT ? ENOSPC : EIO;
}

int lower_load(struct vfs *v, struct node *file, bool contents)
{
    scoped_buf struct buf all = buf_of(0);
    if (!file->lower || file->type != VFS_FILE)
        return 0;
    int failed = contents ? read_whole(v, file->lower, &all) : 0;
    if (failed || !node_charge(v, all.n))
        return failed ? failed : ENOSPC;
    failed = lower_keep(v, file);
    if (failed) {
        node_discharge(v, all.n);
        return failed;
    }
    file->secret = contents && file->home->write_only;
    lower_free(take(file->lower));
    file->capacity = all.capacity;
    file->size = all.n;
    file->bytes = take(all.at);
    return 0;
}

/* ---- a folder's entries ------------------------------------------------- */

struct listing {
    const struct node *folder;
    host_entry_fn *each;
    void *arg;
};

static int entry_pass(void *arg, struct str name, const struct vfs_stat *st, bool shown)
{
    const struct listing *l = arg;
    if (lower_covered(l->folder->lower, name) || node_child(l->folder, name))
        return 0;
    return l->each(l->arg, name, st, shown);
}

int lower_list(const struct node *folder, host_entry_fn *each, void *arg)
{
    const struct lower *in = folder->lower;
    struct listing l = {folder, each, arg};
    if (!in)
        return 0;
    scoped_fd int fd = host_listed(in->of, in->path);
    return fd < 0 ? errno : host_list(fd, in->of, entry_pass, &l);
}

static int is_there(void *arg, struct str name, const struct vfs_stat *st, bool shown)
{
    (void)arg, (void)name, (void)st, (void)shown;
    return ENOTEMPTY;
}

int lower_empty(const struct node *folder)
{
    return folder->count ? ENOTEMPTY : lower_list(folder, is_there, NULL);
}
