/* vfs/internal.h - what the files of this room share. */
#pragma once
#include <fcntl.h>

#include "vfs/vfs.h"

/* ---- memory ------------------------------------------------------------- */

struct mounted;
struct lower;

struct node {
    enum vfs_type type;
    unsigned refs; /* entries that name it, walks and open handles */
    uint32_t links, mode;
    uint64_t inode;
    int64_t accessed_ns, modified_ns, changed_ns;
    /* A file's contents, a link's target. While `lower` has them, `size` alone. */
    char *bytes;
    size_t size, capacity;
    /* A folder's entries, by name. */
    struct child *children;
    size_t count, room;
    struct node *parent;   /* NULL: the root, or no longer in the tree */
    struct mounted *mount; /* what is shown instead of it */
    struct mounted *home;  /* the overlay, or the data, that it is in; NULL: neither */
    struct lower *lower;   /* what of the host shows through; NULL: nothing (more) */
    bool counted;          /* towards the quota of files */
    bool kept;             /* no longer what the host has at its place */
    bool secret;           /* written over contents that may not be read */
};

struct child {
    char *name;
    struct node *node;
};
/* Where a name is, or would be, in rows of `size` bytes that begin with their name, by which
 * they are sorted. */
size_t name_place(const void *rows, size_t count, size_t size, struct str name,
                  bool *found);

struct vfs {
    struct vfs_quota quota;
    struct vfs_usage used;
    struct node *root;
    struct mounted *mounts;
    struct changes *changes;
    uint64_t last_inode;
    uint32_t mount_count;
    bool anywhere;
};

/* A node in no folder yet, with one reference; NULL: ENOSPC. */
struct node *node_new(struct vfs *v, enum vfs_type type);
static inline struct node *node_ref(struct node *n)
{
    n->refs++;
    return n;
}
/* The last reference frees it, and all beneath it. One that only shows what the host has
 * is forgotten with the last but its folder's. */
void node_drop(struct vfs *v, struct node *n);
/* Borrowed; NULL: not in memory. */
struct node *node_child(const struct node *folder, struct str name);
/* The entry alone, for a reference that is there already; false: no memory. */
bool node_insert(struct node *folder, struct str name, struct node *n);
struct node *node_take_out(struct node *folder, struct str name);
/* Takes a reference of its own. */
int node_add(struct node *folder, struct str name, struct node *n);
void node_remove(struct vfs *v, struct node *folder, struct str name);
/* The same where that name is another's, which goes. Cannot fail. */
void node_replace(struct vfs *v, struct node *folder, struct str name, struct node *n);
/* The file's size, zeros behind its old end. */
int node_resize(struct vfs *v, struct node *file, uint64_t size); /* ENOSPC */
/* Bytes in memory, of this tree and of all. false: there is no room for them. */
bool node_charge(struct vfs *v, uint64_t n);
void node_discharge(struct vfs *v, uint64_t n);
bool node_is_beneath(const struct node *n, const struct node *folder);
void node_touch(struct node *n); /* modified now */
void node_stat(const struct node *n, struct vfs_stat *out);

/* ---- folders of the host ------------------------------------------------ */

/* A folder that is mounted, shown through an overlay, or the data beneath the root. */
struct mounted {
    struct mounted *next;
    struct node *point;
    int dir;
    uint32_t number;
    int64_t since_ns;
    bool writable, dots, write_only, owner_only, links;
};

/* May this name be seen in the mount? */
bool mount_shows(const struct mounted *m, struct str name);
struct stat;
/* false: it is of a kind that is not shown. */
bool host_stat(const struct mounted *m, const struct stat *st, struct vfs_stat *out);

#define HOST_OPEN (O_NOFOLLOW | O_CLOEXEC)
/* Opens the entry beneath the mount with this path without links, "" for the mount
 * itself: a descriptor of the caller's, -1 and errno. HOST_OPEN is added to the flags. */
int host_open(const struct mounted *m, const char *path, int flags);
int host_folder(const struct mounted *m, const char *path); /* only to look beneath it */
int host_listed(const struct mounted *m, const char *path); /* for host_list() */
int host_file(const struct mounted *m, const char *path);   /* for reading */
/* Every entry of a folder that is open for reading, from its first on, in no order; of `st`
 * type and inode are set.
 * Answers an errno of its own, or the first of `each` that is not 0. */
typedef int host_entry_fn(void *arg, struct str name, const struct vfs_stat *st,
                          bool shown);
int host_list(int folder, const struct mounted *m, host_entry_fn *each, void *arg);

/* ---- entries that show through ------------------------------------------ */

/* An entry of the host that is no longer shown at its place, and what it was then. */
struct covered {
    char *name;
    struct vfs_stat before;
};

/* The host's part of a node: a file's contents, as long as nobody has changed them; a
 * folder's entries, but for those that are covered. */
struct lower {
    struct mounted *of;
    struct covered *covered; /* by name */
    size_t count, room;
    char path[]; /* from the mount to it; also after the node has moved elsewhere */
};

/* Gives a folder that is empty a folder of the host to show through. */
void lower_attach(struct node *folder, struct mounted *m);
void lower_free(struct lower *l); /* NULL is fine */
const struct covered *lower_covered(const struct lower *l, struct str name);
/* The entry of that name with a reference of the caller's; *out NULL: there is none. */
int lower_find(struct node *folder, struct str name, struct node **out);
/* Before a node that shows what the host has is moved, removed or changed in any way:
 * from now on it is one of the tree's own at its place. ENOSPC. */
int lower_keep(struct vfs *v, struct node *n);
/* Takes a file's contents into memory, or (not `contents`) empties it. */
int lower_load(struct vfs *v, struct node *file, bool contents);
/* Takes one that nobody but its folder holds, and that shows only what is on the host,
 * out of the tree; its folder is to be looked at next. NULL: it stays. */
struct node *lower_forget(struct node *n);
/* 0, or ENOTEMPTY: is there anything in the folder, shown or not? */
int lower_empty(const struct node *folder);
/* The entries of the host that show through, names in memory left out. */
int lower_list(const struct node *folder, host_entry_fn *each, void *arg);

struct changes;
void changes_free(struct changes *c); /* NULL is fine */

/* ---- walking ------------------------------------------------------------ */

/* A folder: in memory, or beneath a mount. */
struct where {
    struct vfs *vfs;
    struct node *node;     /* in memory; the mount's point otherwise. One reference */
    struct mounted *mount; /* NULL: in memory */
    int fd;                /* of the folder in the mount */
    const struct vfs_file *lender; /* whose fd it is; NULL: ours to close */
    size_t path_n;
    char path[VFS_PATH_MAX]; /* from the mount to it, without links, "" for itself */
};

/* The place that a path leads to: `name` in the folder `in`; with an empty name the
 * folder itself. */
struct place {
    struct where in;
    size_t name_n;
    char name[VFS_NAME_MAX + 1];
    bool exists;
    bool wants_folder;    /* the path ended in '/' */
    struct node *node;    /* in memory, when it exists. One reference */
    struct vfs_stat stat; /* when it exists */
};

#define WALK_FOLLOW 1u /* a link at the end, too */
#define WALK_OPEN 2u   /* of an open folder itself, type and inode are enough */

/* 0 also when only the last name is not there. The caller ends it in any case. */
int walk(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
         struct place *out);
void place_done(struct place *p);
/* May something be changed in that folder? 0, EROFS, or ENOENT (it was removed). */
int place_writable(const struct vfs *v, const struct place *p);
/* May the file or folder in memory itself be changed? 0 or EROFS. */
int node_writable(const struct node *n);
/* The mount, overlay or data that a folder is in; NULL: none. */
static inline struct mounted *place_home(const struct place *p)
{
    return p->in.mount ? p->in.mount : p->in.node->home;
}
static inline struct str place_name(const struct place *p)
{
    return (struct str){p->name, p->name_n};
}

/* ---- handles ------------------------------------------------------------ */

struct vfs_file {
    struct vfs *vfs;
    unsigned how;
    enum vfs_type type;
    struct node *node;     /* in memory */
    struct mounted *mount; /* else */
    int fd;                /* on the host; of a node, while its contents are there */
    char *path;            /* of a mount's folder, as struct where has it */
    uint64_t inode;        /* of a mount's folder */
    struct vfs_entry *entries;
    size_t entry_count;
    char *names;
    bool listed;
};

/* Permissions that were asked for with VFS_MODE; 0: none were. */
static inline uint32_t mode_wanted(unsigned how)
{
    return how & 1u << 15 ? how >> 16 | 1u << 12 : 0;
}
/* Counts `n` more bytes towards what may be written to mounts. */
int vfs_spend(struct vfs *v, uint64_t n);

/* Another limit than VFS_ALL_BYTES, before there are trees. For tests. */
void vfs_limit_all(uint64_t bytes);
