/* The tables of nodes and of open files: numbers that the kernel gives back are looked up
 * here, and one that was never given out, or not any more, finds nothing. */
#include "fuse/internal.h"

#define TABLE_LEAST 256u

/* ---- numbers --------------------------------------------------------------------- */

/* Slot 0 is never used: no number is 0. */
static void *slots_get(const struct slots *s, uint64_t id)
{
    uint64_t slot = id & UINT32_MAX;
    return slot < s->count && s->uses[slot] == id >> 32 ? s->at[slot] : NULL;
}

static bool slots_grow(struct slots *s)
{
    uint32_t room = s->room ? 2 * s->room : 64;
    void **at = reallocarray(s->at, room, sizeof *at);
    if (!at)
        return false;
    s->at = at;
    uint32_t *uses = reallocarray(s->uses, room, sizeof *uses);
    if (!uses)
        return false;
    s->uses = uses;
    s->room = room;
    return true;
}

/* 0: all are in use. */
static uint64_t slots_add(struct slots *s, void *what)
{
    uint32_t i = s->first_free;
    while (i < s->count && s->at[i])
        i++;
    if (i == s->count) {
        if (s->count > s->max || (s->count == s->room && !slots_grow(s)))
            return 0;
        s->uses[s->count++] = s->first_use;
    }
    s->at[i] = what;
    s->first_free = i + 1;
    return (uint64_t)s->uses[i] << 32 | i;
}

static void slots_remove(struct slots *s, uint64_t id)
{
    uint32_t i = (uint32_t)id;
    s->at[i] = NULL;
    s->uses[i]++;
    if (i < s->first_free)
        s->first_free = i;
}

struct inode *inode_of(struct fuse *f, uint64_t id)
{
    return id == FUSE_ROOT_ID ? f->root : slots_get(&f->inodes, id);
}

struct handle *handle_of(struct fuse *f, uint64_t id)
{
    return slots_get(&f->handles, id);
}

/* ---- nodes by number ------------------------------------------------------------ */

static size_t bucket(const struct fuse *f, const struct mount *m, uint64_t system,
                     uint64_t number)
{
    uint64_t h = (number ^ system * 0x9e3779b97f4a7c15u ^ (uint64_t)m->number << 40) *
                 0xbf58476d1ce4e5b9u;
    return (size_t)(h >> 32) & (f->table_room - 1);
}

static size_t bucket_of(const struct fuse *f, const struct inode *n)
{
    return bucket(f, n->mount, n->system, n->number);
}

static void table_add(struct fuse *f, struct inode *n)
{
    struct inode **at = &f->table[bucket_of(f, n)];
    n->same = *at;
    *at = n;
}

static void table_remove(struct fuse *f, struct inode *n)
{
    struct inode **at = &f->table[bucket_of(f, n)];
    while (*at && *at != n)
        at = &(*at)->same;
    if (*at)
        *at = n->same;
    n->same = NULL;
}

/* A table that cannot grow is slower, that is all. */
static void table_grow(struct fuse *f)
{
    size_t old = f->table_room;
    struct inode **grown, **before = f->table;
    if (f->inodes.count < old || !(grown = calloc(2 * old, sizeof(struct inode *))))
        return;
    f->table = grown;
    f->table_room = 2 * old;
    for (size_t i = 0; i < old; i++)
        for (struct inode *n = before[i], *next; n; n = next) {
            next = n->same;
            table_add(f, n);
        }
    free(before);
}

static struct inode *table_find(const struct fuse *f, const struct mount *m,
                                const struct vfs_stat *st)
{
    struct inode *n = f->table[bucket(f, m, st->system, st->inode)];
    while (n && (n->mount != m || n->number != st->inode || n->system != st->system))
        n = n->same;
    return n;
}

/* ---- folders kept open ------------------------------------------------------------ */

static void folder_unlist(struct fuse *f, struct inode *n)
{
    *(n->newer ? &n->newer->older : &f->newest) = n->older;
    *(n->older ? &n->older->newer : &f->oldest) = n->newer;
    n->newer = n->older = NULL;
    f->folders--;
}

static void folder_close(struct fuse *f, struct inode *n)
{
    if (!n->folder)
        return;
    folder_unlist(f, n);
    vfs_close(take(n->folder));
}

/* The most recently used one comes first. */
static void folder_list(struct fuse *f, struct inode *n)
{
    n->older = f->newest;
    n->newer = NULL;
    *(f->newest ? &f->newest->newer : &f->oldest) = n;
    f->newest = n;
    f->folders++;
}

/* Path of a node from the nearest folder above it that is open, which it answers; NULL and
 * an errno. Names are put from the end of `path` on. */
static struct inode *path_from_open(struct inode *n, char path[static VFS_PATH_MAX],
                                    struct str *out, int *failed)
{
    size_t at = VFS_PATH_MAX;
    *failed = 0;
    for (; !n->folder && n->parent; n = n->parent) {
        size_t size = strlen(n->name), slash = at < VFS_PATH_MAX;
        if (size + slash >= at) {
            *failed = ENAMETOOLONG;
            return NULL;
        }
        if (slash)
            path[--at] = '/';
        at -= size;
        memcpy(path + at, n->name, size);
    }
    *out = (struct str){path + at, VFS_PATH_MAX - at};
    return n;
}

static int folder_open_anew(struct inode *n, struct vfs_file **out)
{
    char path[VFS_PATH_MAX];
    struct str rest;
    int failed;
    struct vfs *tree = n->mount->tree;
    unsigned how = VFS_READ | VFS_DIRECTORY | VFS_NOFOLLOW;
    const struct inode *from = path_from_open(n, path, &rest, &failed);
    if (!from)
        return failed;
    if (!from->folder && from != n->mount->root)
        return ESTALE; /* it, or one above it, was removed */
    if (from->folder)
        return vfs_open(tree, from->folder, rest, how, out);
    if (!rest.n)
        return vfs_open(tree, NULL, str_of(n->mount->at), how, out);
    scoped(vfs_close) struct vfs_file *top = NULL;
    failed = vfs_open(tree, NULL, str_of(n->mount->at), how, &top);
    return failed ? failed : vfs_open(tree, top, rest, how, out);
}

/* Whatever stands at its place meanwhile, it is this folder or none. */
static int folder_is(const struct inode *n, struct vfs_file *folder)
{
    struct vfs_stat st;
    int failed = vfs_stat_of(folder, &st);
    return failed ? failed : st.inode == n->number && st.system == n->system ? 0 : ESTALE;
}

int folder_open(struct fuse *f, struct inode *n, struct vfs_file **out)
{
    if (!n->mount)
        return EPERM;
    if (!n->mount->tree)
        return ENODEV;
    if (n->type != VFS_FOLDER)
        return ENOTDIR;
    if (n->folder) {
        folder_unlist(f, n);
    } else {
        struct vfs_file *opened = NULL;
        int failed = folder_open_anew(n, &opened);
        if (!failed && (failed = folder_is(n, opened)))
            vfs_close(opened);
        if (failed)
            return failed == ENOENT || failed == ENOTDIR || failed == ELOOP ? ESTALE
                                                                            : failed;
        n->folder = opened;
    }
    folder_list(f, n);
    if (f->folders > FOLDERS_MAX)
        folder_close(f, f->oldest);
    *out = n->folder;
    return 0;
}

/* ---- nodes ------------------------------------------------------------------------ */

static void inode_free_one(struct fuse *f, struct inode *n)
{
    must(!n->handles && !n->children);
    folder_close(f, n);
    if (n->mount) {
        table_remove(f, n);
        mount_leave(f, n->mount);
    }
    slots_remove(&f->inodes, n->id);
    free(n->name);
    free(n);
}

/* Frees it if nobody needs it any more, and then those above it. */
static void inode_let_go(struct fuse *f, struct inode *n)
{
    while (n && !n->lookups && !n->children && !n->handles &&
           !(n->mount && n->mount->root == n)) {
        struct inode *up = n->parent;
        if (up)
            up->children--;
        inode_free_one(f, n);
        n = up;
    }
}

struct inode *inode_new(struct fuse *f, struct mount *m, const struct vfs_stat *st)
{
    struct inode *n = calloc(1, sizeof *n);
    uint64_t id = n ? slots_add(&f->inodes, n) : 0;
    if (!id) {
        free(n);
        return NULL;
    }
    n->id = id;
    n->mount = m;
    n->type = st->type;
    n->system = st->system;
    n->number = st->inode;
    if (m) {
        m->refs++;
        table_grow(f);
        table_add(f, n);
    }
    return n;
}

bool inode_place(struct fuse *f, struct inode *n, struct inode *folder, struct str name)
{
    char *copy = folder ? malloc(name.n + 1) : NULL;
    struct inode *before = n->parent;
    if (folder && !copy)
        return false;
    if (folder) {
        memcpy(copy, name.at, name.n);
        copy[name.n] = '\0';
        folder->children++;
    }
    free(n->name);
    n->name = copy;
    n->parent = folder;
    if (before) {
        before->children--;
        inode_let_go(f, before);
    }
    return true;
}

static bool is_beneath(const struct inode *n, const struct inode *folder)
{
    for (; n; n = n->parent)
        if (n == folder)
            return true;
    return false;
}

struct inode *inode_found(struct fuse *f, struct inode *folder, struct str name,
                          const struct vfs_stat *st)
{
    struct inode *n = table_find(f, folder->mount, st);
    /* The number may have been used anew; and a folder is never beneath itself, unless
     * somebody moves folders about between our looks. */
    if (n && (n->type != st->type || n == folder->mount->root ||
              (n->type == VFS_FOLDER && is_beneath(folder, n)))) {
        if (n == folder->mount->root)
            return NULL;
        table_remove(f, n);
        (void)inode_place(f, n, NULL, STR(""));
        n = NULL;
    }
    if (!n && !(n = inode_new(f, folder->mount, st)))
        return NULL;
    bool is_there = n->parent == folder && str_is(name, n->name);
    n->lookups++;
    if (!is_there && !inode_place(f, n, folder, name)) {
        inode_forget(f, n, 1);
        return NULL;
    }
    return n;
}

struct inode *inode_at(struct fuse *f, const struct inode *folder, struct str name)
{
    struct vfs_stat st;
    struct vfs_file *open = folder->folder;
    if (!open || vfs_stat(folder->mount->tree, open, name, false, &st))
        return NULL;
    struct inode *n = table_find(f, folder->mount, &st);
    return n && n->parent == folder && str_is(name, n->name) ? n : NULL;
}

void inode_forget(struct fuse *f, struct inode *n, uint64_t lookups)
{
    if (n == f->root)
        return;
    n->lookups -= lookups < n->lookups ? lookups : n->lookups;
    inode_let_go(f, n);
}

uint64_t inode_shown(struct fuse *f, const struct vfs_stat *st, const struct mount *m)
{
    uint64_t key = (st->system << 8) ^ m->number, i = 0;
    if (m->alone || !st->system)
        key = (uint64_t)m->number << 32;
    while (i < f->system_count && f->systems[i] != key)
        i++;
    if (i == f->system_count && i < SYSTEMS_MAX)
        f->systems[f->system_count++] = key;
    return (i < SYSTEMS_MAX ? i : SYSTEMS_MAX - 1) << 56 ^ st->inode;
}

/* ---- open files -------------------------------------------------------------------- */

struct handle *handle_new(struct fuse *f, struct inode *of, struct vfs_file *file)
{
    struct handle *h = calloc(1, sizeof *h);
    uint64_t id = h ? slots_add(&f->handles, h) : 0;
    if (!id) {
        free(h);
        return NULL;
    }
    *h = (struct handle){.id = id, .of = of, .next = of->handles, .file = file};
    of->handles = h;
    return h;
}

void handle_close(struct fuse *f, struct handle *h)
{
    struct handle **at = &h->of->handles;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    vfs_close(h->file);
    slots_remove(&f->handles, h->id);
    inode_let_go(f, h->of);
    free(h);
}

/* ---- mounts -------------------------------------------------------------------------- */

void mount_close_all(struct fuse *f, struct mount *m)
{
    for (uint32_t i = 1; i < f->handles.count; i++) {
        struct handle *h = f->handles.at[i];
        if (h && h->of->mount == m)
            handle_close(f, h);
    }
    for (struct inode *n = f->newest, *next; n; n = next) {
        next = n->older;
        if (n->mount == m)
            folder_close(f, n);
    }
}

void mount_leave(struct fuse *f, struct mount *m)
{
    if (--m->refs)
        return;
    struct mount **at = &f->mounts;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    free(m->at);
    free(m);
}

void tables_open(struct fuse *f)
{
    static const struct vfs_stat nothing = {.type = VFS_FOLDER};
    f->inodes.max = FUSE_NODES_MAX;
    f->handles.max = FUSE_OPEN_MAX;
    f->table_room = TABLE_LEAST;
    f->table = calloc(TABLE_LEAST, sizeof(struct inode *));
    must(f->table && slots_grow(&f->inodes) && slots_grow(&f->handles));
    /* Slot 0 is no number, and slot 1 is FUSE_ROOT_ID. */
    f->inodes.at[0] = f->handles.at[0] = NULL;
    f->inodes.uses[0] = f->handles.uses[0] = UINT32_MAX;
    f->inodes.count = f->handles.count = 1;
    f->inodes.first_free = f->handles.first_free = 1;
    f->root = inode_new(f, NULL, &nothing);
    must(f->root && f->root->id == FUSE_ROOT_ID);
    f->root->number = FUSE_ROOT_ID;
    f->root->lookups = 1;
}

void tables_close(struct fuse *f)
{
    for (uint32_t i = 1; i < f->inodes.count; i++) {
        struct inode *n = f->inodes.at[i];
        if (n) {
            free(n->name);
            free(n);
        }
    }
    free(f->inodes.at);
    free(f->inodes.uses);
    free(f->handles.at);
    free(f->handles.uses);
    free(f->table);
}
