/* fuse/internal.h - what the files of this room share. With the server's lock held. */
#pragma once
#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>

#include "fuse/fuse.h"
#include "vfs/vfs.h"

#define FOLDERS_MAX 128u /* folders kept open, to go on from */
#define SYSTEMS_MAX 63u  /* file systems of the host that are told apart */

struct mount {
    struct mount *next;
    uint32_t number;
    struct vfs *tree; /* NULL: removed; its nodes are left */
    char *at;
    bool alone;
    struct inode *root;
    unsigned refs; /* nodes of it, and 1 while it is mounted */
};

/* A file, folder or link that the machine's kernel knows. */
struct inode {
    uint64_t id;         /* nodeid: slot, and how often it was used in the upper half */
    uint64_t lookups;    /* the kernel's references */
    struct mount *mount; /* NULL: the root of all */
    enum vfs_type type;
    uint64_t system, number; /* of the host's, or the tree's: what it is known by */
    /* Where it was last seen; NULL: nowhere any more. */
    struct inode *parent;
    char *name;
    unsigned children;      /* nodes whose parent it is */
    struct inode *same;     /* in the table by number */
    struct handle *handles; /* open files */
    /* A folder, open to go on from, and its neighbours by last use. */
    struct vfs_file *folder;
    struct inode *newer, *older;
    /* Of its contents when it was last opened: are they the same? */
    int64_t modified_ns, changed_ns;
    uint64_t size;
    bool was_open;
};

struct handle {
    uint64_t id; /* as of an inode */
    struct inode *of;
    struct handle *next; /* of the same inode */
    struct vfs_file *file;
};

struct slots {
    void **at; /* NULL: free */
    uint32_t *uses;
    uint32_t count, room, max, first_free; /* free ones are looked for from there */
    uint32_t first_use;                    /* of each slot */
};

struct fuse {
    pthread_mutex_t lock;
    bool began; /* FUSE_INIT was answered */
    struct mount *mounts;
    uint32_t last_mount, mount_count;
    struct slots inodes, handles;
    struct inode **table; /* by number */
    size_t table_room;
    struct inode *root, *newest, *oldest;
    unsigned folders;
    uint64_t systems[SYSTEMS_MAX];
    size_t system_count;
};

/* ---- tables.c ---------------------------------------------------------------- */

void tables_open(struct fuse *f);
void tables_close(struct fuse *f);
/* NULL: there is none of that number. */
struct inode *inode_of(struct fuse *f, uint64_t id);
struct handle *handle_of(struct fuse *f, uint64_t id);
/* The node of what was found by this name in a folder, with one more lookup; NULL: ENOMEM. */
struct inode *inode_found(struct fuse *f, struct inode *folder, struct str name,
                          const struct vfs_stat *st);
struct inode *inode_new(struct fuse *f, struct mount *m, const struct vfs_stat *st);
void inode_forget(struct fuse *f, struct inode *n, uint64_t lookups);
/* It is at this place now; `folder` NULL: nowhere. false: no memory. */
bool inode_place(struct fuse *f, struct inode *n, struct inode *folder, struct str name);
/* The node last seen by that name in the folder; NULL: none is known. */
struct inode *inode_at(struct fuse *f, const struct inode *folder, struct str name);
struct handle *handle_new(struct fuse *f, struct inode *of, struct vfs_file *file);
void handle_close(struct fuse *f, struct handle *h);
void mount_leave(struct fuse *f, struct mount *m);
/* Closes what is open in the mount. */
void mount_close_all(struct fuse *f, struct mount *m);
/* A number that no other file of a mount has, the same at each time. */
uint64_t inode_shown(struct fuse *f, const struct vfs_stat *st, const struct mount *m);

/* ---- places.c: from nodes to what vfs understands ------------------------------- */

/* The folder, open; borrowed until the next request. 0 or an errno. */
int folder_open(struct fuse *f, struct inode *folder, struct vfs_file **out);
/* The folder that a node's name is in, and that name. ESTALE: it is nowhere. */
int node_name(struct fuse *f, struct inode *n, struct vfs_file **folder,
              struct str *name);
/* As it is now. ESTALE: something else has its place. */
int node_stat_now(struct fuse *f, struct inode *n, struct vfs_stat *out);

/* ---- requests ------------------------------------------------------------------- */

struct request {
    struct fuse *f;
    const struct fuse_in_header *head;
    struct inode *node; /* of head->nodeid */
    struct str body;    /* behind the head */
    char *out;          /* the reply behind its head, */
    size_t room;        /* that has so much room */
    size_t n;           /* and is so long */
};

/* 0, or the errno of the reply, whose body is then empty. */
typedef int request_fn(struct request *r);

/* The body's fixed part, which is exactly there; NULL: too short. */
const void *request_part(struct request *r, size_t n);
/* The next name of the body, which ends in a NUL: a single name that is neither "." nor "..".
 * EINVAL, ENAMETOOLONG. */
int request_name(struct request *r, struct str *out);
/* Room for the reply's body, zeroed; NULL: the machine left too little. */
void *request_reply(struct request *r, size_t n);
int request_handle(struct request *r, uint64_t id, struct handle **out);

/* look.c */
request_fn on_lookup, on_getattr, on_readlink, on_open, on_read, on_opendir, on_readdir,
    on_readdirplus, on_statfs, on_lseek, on_access;
/* Fills in what a kernel remembers of a node. */
void attributes(struct request *r, const struct inode *n, const struct vfs_stat *st,
                struct fuse_attr *out);
int reply_entry(struct request *r, struct inode *folder, struct str name);
/* For how long the kernel may believe it. */
void set_valid(const struct inode *n, uint64_t *seconds, uint32_t *ns);

/* change.c */
request_fn on_setattr, on_mknod, on_mkdir, on_unlink, on_rmdir, on_rename, on_rename2,
    on_link, on_symlink, on_create, on_write, on_fsync, on_fallocate, on_syncfs;
