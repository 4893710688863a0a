/* The differences between an overlay and the host's folder beneath it.
 *
 * Folders to be looked at wait in a queue, because a guest decides how deep its own lie.
 * A folder that is where the host has it is compared, entry by entry; all that is in one
 * that was made, or came from elsewhere, is new; and what was covered, and is not there
 * any more or as another, is gone, with all that the host has beneath it. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

#define CHANGES_MAX 65536u
#define PATHS_MAX ((size_t)64 << 20) /* bytes of all paths */

/* A folder whose entries are still to be looked at. */
struct task {
    struct node *node;  /* NULL: only on the host */
    bool moved;         /* it is not where the host has it */
    struct str at, old; /* its path in the overlay, and on the host */
};

struct changes {
    struct arena *arena;
    struct vfs_change *gone, *there; /* removed; made and changed */
    size_t gone_count, there_count;
    struct task *queue;
    size_t queue_count, queue_next;
};

/* A walk over an overlay. */
struct finding {
    struct vfs *vfs;
    struct mounted *of;
    struct changes *to;
    struct task now;
};

void changes_free(struct changes *c)
{
    if (!c)
        return;
    arena_free(c->arena);
    free(c->gone);
    free(c->there);
    free(c->queue);
    free(c);
}
SCOPED(changes, changes_free);

/* Room for one more in a row; false: no memory. */
#define MORE(row, count)                                                              \
    ((count) & ((count) - 1) ? true : ({                                              \
        void *grown_ = reallocarray((row), (count) ? 2 * (count) : 1, sizeof *(row)); \
        if (grown_)                                                                   \
            (row) = grown_;                                                           \
        grown_ != NULL;                                                               \
    }))

static int changes_put(struct changes *c, const struct vfs_change *x)
{
    if (c->gone_count + c->there_count == CHANGES_MAX)
        return EOVERFLOW;
    if (x->what == VFS_REMOVED) {
        if (!MORE(c->gone, c->gone_count))
            return ENOMEM;
        c->gone[c->gone_count++] = *x;
        return 0;
    }
    if (!MORE(c->there, c->there_count))
        return ENOMEM;
    c->there[c->there_count++] = *x;
    return 0;
}

static int later(struct changes *c, const struct task *t)
{
    if (!MORE(c->queue, c->queue_count))
        return ENOMEM;
    c->queue[c->queue_count++] = *t;
    return 0;
}

/* "folder/name" that lives as long as the changes do; nothing: no room. */
static struct str changes_join(struct changes *c, struct str folder, struct str name)
{
    struct err e = {0};
    size_t gap = folder.n > 0, n = folder.n + gap + name.n;
    char *path = arena_get(c->arena, n + 1, &e);
    if (!path)
        return (struct str){0};
    if (gap) {
        memcpy(path, folder.at, folder.n);
        path[folder.n] = '/';
    }
    memcpy(path + folder.n + gap, name.at, name.n);
    return (struct str){path, n};
}

/* ---- removed entries ---------------------------------------------------- */

static int remove_entry(struct finding *f, struct str name, const struct vfs_stat *was,
                        bool unseen)
{
    struct str path = changes_join(f->to, f->now.old, name);
    if (!path.at)
        return EOVERFLOW;
    int failed = changes_put(f->to, &(struct vfs_change){.what = VFS_REMOVED,
                                                         .type = was->type,
                                                         .path = path,
                                                         .unseen = unseen,
                                                         .before = *was});
    if (!failed && was->type == VFS_FOLDER)
        failed = later(f->to, &(struct task){.old = path});
    return failed;
}

static int look_and_remove(void *arg, struct str name, const struct vfs_stat *st,
                           bool shown)
{
    struct finding *f = arg;
    struct stat now;
    struct vfs_stat was;
    (void)st;
    if (!shown)
        return 0;
    struct str path = changes_join(f->to, f->now.old, name);
    if (!path.at)
        return EOVERFLOW;
    scoped_fd int fd = host_open(f->of, path.at, O_PATH);
    if (fd < 0 || fstat(fd, &now) != 0 || !host_stat(f->of, &now, &was))
        return 0; /* somebody else was first */
    return remove_entry(f, name, &was, true);
}

/* All that the host has in a folder that is gone. */
static int remove_all(struct finding *f)
{
    scoped_fd int fd = host_listed(f->of, f->now.old.at);
    return fd < 0 ? 0 : host_list(fd, f->of, look_and_remove, f);
}

/* ---- entries that are there --------------------------------------------- */

static int finding_report(struct finding *f, enum vfs_changed what, struct node *n,
                          struct str path, const struct vfs_stat *before)
{
    int failed = lower_load(f->vfs, n, true);
    if (failed)
        return failed;
    struct vfs_change x = {.what = what,
                           .type = n->type,
                           .path = path,
                           .bytes = {n->bytes, n->size},
                           .modified_ns = n->modified_ns,
                           .mode = n->mode};
    if (before)
        x.before = *before;
    return changes_put(f->to, &x);
}

static int look_in(struct finding *f, struct node *n, struct str path, bool moved)
{
    struct task t = {.node = n, .moved = moved, .at = path};
    if (n->lower)
        t.old = str_of(n->lower->path);
    return later(f->to, &t);
}

static int make_entry(struct finding *f, struct node *n, struct str path)
{
    int failed = finding_report(f, VFS_MADE, n, path, NULL);
    return failed || n->type != VFS_FOLDER ? failed : look_in(f, n, path, true);
}

/* Where the host has, or had, an entry of that name. */
static int compare_entry(struct finding *f, struct node *n, struct str name,
                         const struct covered *was)
{
    struct str path = changes_join(f->to, f->now.at, name);
    if (!path.at)
        return EOVERFLOW;
    bool in_place = n->lower && str_is(path, n->lower->path);
    if (n->type == VFS_FOLDER && in_place)
        return look_in(f, n, path, false);
    if (!n->kept)
        return 0;
    if (was && was->before.type == n->type && n->type == VFS_FILE)
        return finding_report(f, VFS_CHANGED, n, path, &was->before);
    if (in_place && n->type == VFS_LINK)
        return 0; /* its times */
    int failed = was ? remove_entry(f, name, &was->before, false) : 0;
    return failed ? failed : make_entry(f, n, path);
}

static int compare_all(struct finding *f)
{
    const struct node *folder = f->now.node;
    int failed = 0;
    for (size_t i = 0; !failed && i < folder->count; i++) {
        struct str name = str_of(folder->children[i].name);
        failed = compare_entry(f, folder->children[i].node, name,
                               lower_covered(folder->lower, name));
    }
    for (size_t i = 0; !failed && i < folder->lower->count; i++) {
        const struct covered *x = &folder->lower->covered[i];
        if (!node_child(folder, str_of(x->name)))
            failed = remove_entry(f, str_of(x->name), &x->before, false);
    }
    return failed;
}

/* An entry that shows through becomes a node of our own first, so that it stays. */
static int bring_in(void *arg, struct str name, const struct vfs_stat *st, bool shown)
{
    struct finding *f = arg;
    struct node *n = NULL;
    (void)st;
    int failed = shown ? lower_find(f->now.node, name, &n) : 0;
    if (!failed && n)
        failed = lower_keep(f->vfs, n);
    node_drop(f->vfs, n);
    return failed == EACCES ? 0 : failed;
}

static int make_all(struct finding *f)
{
    const struct node *folder = f->now.node;
    int failed = lower_list(folder, bring_in, f);
    for (size_t i = 0; !failed && i < folder->count; i++) {
        struct str path =
            changes_join(f->to, f->now.at, str_of(folder->children[i].name));
        failed = path.at ? make_entry(f, folder->children[i].node, path) : EOVERFLOW;
    }
    return failed;
}

/* ---- the whole ---------------------------------------------------------- */

/* The other way round than by name: what is in a folder goes before it. */
static int order_gone(const void *a, const void *b)
{
    return str_cmp(((const struct vfs_change *)b)->path,
                   ((const struct vfs_change *)a)->path);
}

static int put_in_order(struct changes *c)
{
    size_t n = c->gone_count + c->there_count;
    struct vfs_change *all = reallocarray(NULL, n ? n : 1, sizeof *all);
    if (!all)
        return ENOMEM;
    if (c->gone_count) {
        qsort(c->gone, c->gone_count, sizeof *c->gone, order_gone);
        memcpy(all, c->gone, c->gone_count * sizeof *all);
    }
    if (c->there_count)
        memcpy(all + c->gone_count, c->there, c->there_count * sizeof *all);
    free(c->there);
    c->there = all;
    c->there_count = n;
    return 0;
}

static struct node *overlay_at(struct vfs *v, const char *at)
{
    struct place p;
    int failed = walk(v, NULL, str_of(at), WALK_FOLLOW, &p);
    struct node *n = failed ? NULL : p.node;
    bool is_one = n && n != v->root && n->home && n->home->point == n && n->lower;
    place_done(&p); /* its folder holds it */
    return is_one ? n : NULL;
}

static int find_changes(struct finding *f, struct node *top)
{
    struct changes *c = f->to;
    int failed = later(c, &(struct task){.node = top, .at = STR(""), .old = STR("")});
    while (!failed && c->queue_next < c->queue_count) {
        f->now = c->queue[c->queue_next++];
        failed = !f->now.node   ? remove_all(f)
                 : f->now.moved ? make_all(f)
                                : compare_all(f);
    }
    return failed ? failed : put_in_order(c);
}

int vfs_changes(struct vfs *v, const char *at, const struct vfs_change **out,
                size_t *count)
{
    struct node *top = overlay_at(v, at);
    if (!top)
        return ENOENT;
    changes_free(take(v->changes));
    scoped(changes_free) struct changes *c = mem_new(sizeof *c);
    c->arena = arena_new(PATHS_MAX);
    struct finding f = {.vfs = v, .of = top->home, .to = c};
    int failed = find_changes(&f, top);
    if (failed)
        return failed;
    *out = c->there;
    *count = c->there_count;
    v->changes = take(c);
    return 0;
}

int64_t vfs_overlay_since(struct vfs *v, const char *at)
{
    const struct node *top = overlay_at(v, at);
    return top ? top->home->since_ns : 0;
}
