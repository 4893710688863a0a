/* Files, folders and links in memory. No recursion: the guest decides how deep its
 * folders lie. */
#include <errno.h>
#include <time.h>

#include "vfs/internal.h"

static int64_t now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void node_touch(struct node *n)
{
    n->modified_ns = n->changed_ns = now_ns();
}

struct node *node_new(struct vfs *v, enum vfs_type type)
{
    struct node *n = v->used.files < v->quota.files ? calloc(1, sizeof *n) : NULL;
    if (!n)
        return NULL;
    v->used.files++;
    n->counted = n->kept = true;
    n->type = type;
    n->refs = 1;
    n->inode = ++v->last_inode;
    n->mode = type == VFS_FOLDER ? 0755 : type == VFS_LINK ? 0777 : 0644;
    node_touch(n);
    n->accessed_ns = n->modified_ns;
    return n;
}

static _Atomic uint64_t all_bytes; /* of all trees */
static uint64_t all_most = VFS_ALL_BYTES;

void vfs_limit_all(uint64_t bytes)
{
    all_most = bytes;
}

bool node_charge(struct vfs *v, uint64_t n)
{
    if (n > v->quota.bytes - v->used.bytes)
        return false;
    if (n > all_most || atomic_fetch_add(&all_bytes, n) > all_most - n) {
        if (n <= all_most)
            atomic_fetch_sub(&all_bytes, n);
        return false;
    }
    v->used.bytes += n;
    return true;
}

void node_discharge(struct vfs *v, uint64_t n)
{
    atomic_fetch_sub(&all_bytes, n);
    v->used.bytes -= n;
}

static void node_free(struct vfs *v, struct node *n)
{
    if (!n->lower)
        node_discharge(v, n->size); /* a folder's is 0 */
    v->used.files -= n->counted;
    lower_free(n->lower);
    free(n->bytes);
    free(n->children);
    free(n);
}

/* Drops a reference; true when it was the last one. */
static bool release(struct node *n)
{
    must(n->refs > 0);
    return --n->refs == 0;
}

/* Takes the last child out, and answers it when nobody else holds it. */
static struct node *pluck(struct vfs *v, struct node *folder)
{
    struct child *last = &folder->children[--folder->count];
    struct node *n = last->node;
    free(last->name);
    n->links -= n->links > 0;
    if (!release(n)) {
        n->parent = NULL;
        return NULL;
    }
    if (n->type == VFS_FOLDER)
        return n;
    node_free(v, n);
    return NULL;
}

void node_drop(struct vfs *v, struct node *n)
{
    if (!n)
        return;
    if (!release(n)) {
        for (struct node *up; n && (up = lower_forget(n));)
            n = up;
        return;
    }
    n->parent = NULL;
    while (n) {
        struct node *down = n->count > 0 ? pluck(v, n) : NULL;
        struct node *up = n->parent;
        if (down) { /* its parent is still n */
            n = down;
        } else if (n->count == 0) {
            node_free(v, n);
            n = up;
        }
    }
}

size_t name_place(const void *rows, size_t count, size_t size, struct str name,
                  bool *found)
{
    size_t from = 0, to = count;
    *found = false;
    while (from < to && !*found) {
        size_t middle = from + (to - from) / 2;
        const char *const *row = (const void *)((const char *)rows + middle * size);
        int order = str_cmp(str_of(*row), name);
        *found = order == 0;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return to;
}

static size_t entry_find(const struct node *folder, struct str name, bool *found)
{
    return name_place(folder->children, folder->count, sizeof *folder->children, name,
                      found);
}

struct node *node_child(const struct node *folder, struct str name)
{
    bool found;
    size_t i = entry_find(folder, name, &found);
    return found ? folder->children[i].node : NULL;
}

static bool entries_reserve(struct node *folder)
{
    if (folder->count < folder->room)
        return true;
    size_t room = folder->room ? 2 * folder->room : 4;
    struct child *grown = reallocarray(folder->children, room, sizeof *grown);
    if (!grown)
        return false;
    folder->children = grown;
    folder->room = room;
    return true;
}

bool node_insert(struct node *folder, struct str name, struct node *n)
{
    bool found;
    size_t i = entry_find(folder, name, &found);
    must(!found);
    char *copy = entries_reserve(folder) ? strndup(name.at, name.n) : NULL;
    if (!copy)
        return false;
    memmove(folder->children + i + 1, folder->children + i,
            (folder->count - i) * sizeof *folder->children);
    folder->children[i] = (struct child){copy, n};
    folder->count++;
    return true;
}

int node_add(struct node *folder, struct str name, struct node *n)
{
    if (!node_insert(folder, name, n))
        return ENOSPC;
    n->refs++;
    if (n->links++ == 0)
        n->home = folder->home;
    if (n->type == VFS_FOLDER)
        n->parent = folder;
    node_touch(folder);
    return 0;
}

struct node *node_take_out(struct node *folder, struct str name)
{
    bool found;
    size_t i = entry_find(folder, name, &found);
    must(found);
    struct node *n = folder->children[i].node;
    free(folder->children[i].name);
    folder->count--;
    memmove(folder->children + i, folder->children + i + 1,
            (folder->count - i) * sizeof *folder->children);
    return n;
}

void node_remove(struct vfs *v, struct node *folder, struct str name)
{
    struct node *n = node_take_out(folder, name);
    if (n->type == VFS_FOLDER)
        n->parent = NULL;
    n->links -= n->links > 0;
    node_touch(folder);
    node_drop(v, n);
}

void node_replace(struct vfs *v, struct node *folder, struct str name, struct node *n)
{
    bool found;
    size_t i = entry_find(folder, name, &found);
    must(found);
    struct node *old = folder->children[i].node;
    folder->children[i].node = n;
    n->refs++;
    n->links++;
    if (n->type == VFS_FOLDER)
        n->parent = folder;
    if (old->type == VFS_FOLDER)
        old->parent = NULL;
    old->links -= old->links > 0;
    node_touch(folder);
    node_drop(v, old);
}

/* Half as much again, so that many small appends do not copy the file each time. */
static bool reserve(struct node *file, size_t size)
{
    if (size <= file->capacity)
        return true;
    size_t capacity = file->size ? size + size / 2 : size;
    char *grown = realloc(file->bytes, capacity);
    if (!grown)
        grown = realloc(file->bytes, capacity = size);
    if (!grown)
        return false;
    file->bytes = grown;
    file->capacity = capacity;
    return true;
}

int node_resize(struct vfs *v, struct node *file, uint64_t size)
{
    int failed = lower_load(v, file, size > 0);
    if (failed)
        return failed;
    if (size > file->size) {
        uint64_t more = size - file->size;
        if (size > SIZE_MAX / 4 || !node_charge(v, more))
            return ENOSPC;
        if (!reserve(file, (size_t)size)) {
            node_discharge(v, more);
            return ENOSPC;
        }
        memset(file->bytes + file->size, 0, (size_t)size - file->size);
    }
    if (size < file->size)
        node_discharge(v, file->size - size);
    file->size = (size_t)size;
    if (size == 0) {
        free(take(file->bytes));
        file->capacity = 0;
        file->secret = false;
    }
    node_touch(file);
    return 0;
}

bool node_is_beneath(const struct node *n, const struct node *folder)
{
    for (; n; n = n->parent)
        if (n == folder)
            return true;
    return false;
}

void node_stat(const struct node *n, struct vfs_stat *out)
{
    *out = (struct vfs_stat){.type = n->type,
                             .device = n->home ? n->home->number : 0,
                             .links = n->links,
                             .mode = n->mode,
                             .blocks = (n->size + 511) / 512,
                             .inode = n->inode,
                             .size = n->size,
                             .accessed_ns = n->accessed_ns,
                             .modified_ns = n->modified_ns,
                             .changed_ns = n->changed_ns};
}
