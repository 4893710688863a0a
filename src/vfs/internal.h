/* vfs/internal.h - what the files of this room share. */
#pragma once
#include "vfs/vfs.h"

/* ---- memory ------------------------------------------------------------- */

struct mounted;

struct node {
    enum vfs_type type;
    unsigned refs; /* entries that name it, and open handles */
    uint32_t links;
    uint64_t inode;
    int64_t accessed_ns, modified_ns, changed_ns;
    /* A file's contents, a link's target. */
    char *bytes;
    size_t size, capacity;
    /* A folder's entries, by name. */
    struct child *children;
    size_t count, room;
    struct node *parent;   /* NULL: the root, or no longer in the tree */
    struct mounted *mount; /* what is shown instead of it */
};

struct child {
    char *name;
    struct node *node;
};

struct vfs {
    struct vfs_quota quota;
    struct vfs_usage used;
    struct node *root;
    struct mounted *mounts;
    uint64_t last_inode;
    uint32_t mount_count;
    bool sealed;
};

/* A node in no folder yet, with one reference; NULL: ENOSPC. */
struct node *node_new(struct vfs *v, enum vfs_type type);
/* The last reference frees it, and all beneath it. */
void node_drop(struct vfs *v, struct node *n);
/* NULL: not there. */
struct node *node_child(const struct node *folder, struct str name);
/* Takes a reference of its own. */
int node_add(struct node *folder, struct str name, struct node *n);
void node_remove(struct vfs *v, struct node *folder, struct str name);
/* The same where that name is another's, which goes. Cannot fail. */
void node_replace(struct vfs *v, struct node *folder, struct str name, struct node *n);
/* The file's size, zeros behind its old end. */
int node_resize(struct vfs *v, struct node *file, uint64_t size);
bool node_is_beneath(const struct node *n, const struct node *folder);
void node_touch(struct node *n); /* modified now */
void node_stat(const struct node *n, struct vfs_stat *out);

/* ---- mounts ------------------------------------------------------------- */

struct mounted {
    struct mounted *next;
    struct node *point;
    int dir;
    uint32_t number;
    bool writable, dots;
};

/* May this name be seen in the mount? */
bool mount_shows(const struct mounted *m, struct str name);
struct stat;
/* false: it is of a kind that is not shown. */
bool host_stat(const struct mounted *m, const struct stat *st, struct vfs_stat *out);
/* A folder beneath the mount by its resolved path, "" for the mount itself: a
 * descriptor of the caller's, -1 and errno. */
int host_folder(const struct mounted *m, const char *path);

/* ---- walking ------------------------------------------------------------ */

/* A folder: in memory, or beneath a mount. */
struct where {
    struct node *node;     /* in memory; the mount's point otherwise */
    struct mounted *mount; /* NULL: in memory */
    int fd;                /* of the folder in the mount; ours to close */
    size_t path_n;
    char path[VFS_PATH_MAX]; /* from the mount to it, without links, "" for itself */
};

/* What a path leads to: `name` in the folder `in`; with an empty name the folder
 * itself. */
struct place {
    struct where in;
    size_t name_n;
    char name[VFS_NAME_MAX + 1];
    bool exists;
    bool wants_folder;    /* the path ended in '/' */
    struct node *node;    /* in memory, when it exists */
    struct vfs_stat stat; /* when it exists */
};

#define WALK_FOLLOW 1u /* a link at the end, too */

/* 0 also when only the last name is not there. The caller ends it in any case. */
int walk(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
         struct place *out);
void place_done(struct place *p);
/* May something be changed in that folder? 0, EROFS, or ENOENT (it was removed). */
int place_writable(const struct vfs *v, const struct place *p);
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
    int fd;
    char *path; /* of a mount's folder, as struct where has it */
    struct vfs_entry *entries;
    size_t entry_count;
    char *names;
    bool listed;
};

/* Counts `n` more bytes towards what may be written to mounts. */
int vfs_spend(struct vfs *v, uint64_t n);
