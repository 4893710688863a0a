/* vfs/vfs.h - the file tree that a guest sees: files in memory, folders of the
 * host mounted among them or shown through it, quotas over all.
 *
 * A guest sees a failure as an errno, so these functions return 0 or a
 * positive errno of the host's <errno.h>; nothing has changed then, unless a
 * function says otherwise. Paths are the guest's: bytes without NUL, '/' between
 * names, at most VFS_PATH_MAX, ".." and symbolic links resolved here, never by the
 * host. `base` is an open folder that the path begins at, and that it cannot lead
 * above (EPERM, also for an absolute path and for links); NULL: the root, above which ".." stays.
 *
 * Mounts. A path never leaves one: the host's folders are walked name by name, no
 * link of theirs is followed by the kernel. A link that stands there is read and
 * resolved as the guest would see it. The folder ".cloche" exists in no mount, and in
 * one without `dots` no name that begins with a dot: not there (ENOENT), and not to be
 * made (EACCES). Only files, folders and links are shown; without `links` no symbolic link
 * is made on the host (EPERM), since its other programs would follow it.
 *
 * Overlays. A mount that is one shows the host's folder and never changes it: files are
 * read from there until they are first written, and then live in memory, as all does
 * that is made; what is removed is only no longer shown. vfs_changes() tells all of it,
 * so that it can be performed as one. No links are made there, either.
 *
 * Threads: one at a time for a tree and all that is open in it.
 * Source: POSIX.1-2017 for what each call does and which errno it gives.
 */
#pragma once
#include "base/base.h"

struct vfs;
struct vfs_file; /* an open file or folder */

#define VFS_PATH_MAX 4096u /* bytes: ENAMETOOLONG above */
#define VFS_NAME_MAX 255u
#define VFS_LINKS_MAX 40u /* followed in one path: ELOOP above */

/* ---- the tree ----------------------------------------------------------- */

/* Zero means none of it. */
struct vfs_quota {
    uint64_t bytes;   /* contents in memory, over all files: ENOSPC */
    uint32_t files;   /* files, folders and links in memory, and made in mounts: ENOSPC.
                         In an overlay: those that differ from the host's */
    uint32_t open;    /* open at a time: EMFILE */
    uint64_t written; /* bytes written to mounts, over the tree's life: ENOSPC */
};

/* Contents in memory over all trees of the process: ENOSPC. One caller may have many. */
#define VFS_ALL_BYTES ((uint64_t)2 << 30)

/* A tree that holds "/". Ends the program when there is no memory for that. */
struct vfs *vfs_new(const struct vfs_quota *quota);
/* All that was open in it must be closed before. NULL is fine. */
void vfs_free(struct vfs *v);
SCOPED(vfs, vfs_free);

/* A folder of the host, shown at a place of the tree. */
struct vfs_mount {
    const char *at; /* "/work": absolute; its folders are made. Never "/" itself */
    int dir;        /* the host's open folder; duplicated */
    bool writable;  /* else every change in it is EROFS */
    bool dots;      /* are names that begin with a dot shown? */
    /* Entries that were there before can neither be read nor listed (EACCES), only, with
     * `writable`, be replaced and removed; what the guest made itself can be read. */
    bool write_only;
    /* New files are 0600, else 0666 less the umask; no mode that is set opens a file to others
     * than those it is open to. */
    bool owner_only;
    bool links;   /* symbolic links may be made, and renamed */
    bool overlay; /* changes are kept in memory, and the host's files stay as they are */
};
/* false and ERR_INVALID (no absolute path, a file in the way, inside another
 * mount), ERR_CONFLICT (mounted there already), ERR_LIMIT or ERR_IO. */
bool vfs_mount(struct vfs *v, const struct vfs_mount *m, struct err *e);
/* Shows a folder of the host at "/" itself, under all that is in memory and mounted:
 * data that comes with a program. Nothing in it can be changed (EROFS), all else can be
 * made beside it. Costs nothing until it is looked at. Once, before anything is opened.
 * false and ERR_CONFLICT or ERR_IO. */
bool vfs_show(struct vfs *v, int dir, struct err *e);

/* For a guest that has "/" open anyway: a link that stands beneath a base leads wherever
 * it says, also above the base, as it does without one. */
void vfs_follow_anywhere(struct vfs *v);

struct vfs_usage {
    uint64_t bytes, written;
    uint32_t files, open;
};
struct vfs_usage vfs_usage(const struct vfs *v);

/* ---- by path ------------------------------------------------------------ */

enum vfs_type { VFS_FILE, VFS_FOLDER, VFS_LINK };

struct vfs_stat {
    enum vfs_type type;
    uint32_t device; /* 0: memory; a mount's number from 1 */
    uint32_t links;
    uint32_t mode;   /* permissions, at most 0777 */
    uint64_t system; /* the host's number of its file system; 0: memory */
    uint64_t inode, size;
    uint64_t blocks;                              /* of 512 bytes, that it takes */
    int64_t accessed_ns, modified_ns, changed_ns; /* since 1970 */
};

/* `follow`: of what a link at the path's end leads to, instead of the link. */
int vfs_stat(struct vfs *v, struct vfs_file *base, struct str path, bool follow,
             struct vfs_stat *out);
int vfs_mkdir(struct vfs *v, struct vfs_file *base, struct str path);
/* Permissions, which this room does not check itself: on the host they are the file's. EPERM:
 * more than 0777. */
int vfs_set_mode(struct vfs *v, struct vfs_file *base, struct str path, uint32_t mode);
int vfs_set_mode_of(struct vfs_file *f, uint32_t mode);
int vfs_rmdir(struct vfs *v, struct vfs_file *base, struct str path);
int vfs_unlink(struct vfs *v, struct vfs_file *base, struct str path); /* no folders */
/* Replaces what is at `to`, as rename(2). EXDEV between memory and mounts. */
int vfs_rename(struct vfs *v, struct vfs_file *from_base, struct str from,
               struct vfs_file *to_base, struct str to);
/* The same, but EEXIST if there is something at `to` (not `exchange`), or the two change
 * places (EINVAL in memory). */
int vfs_rename_apart(struct vfs *v, struct vfs_file *from_base, struct str from,
                     struct vfs_file *to_base, struct str to, bool exchange);
int vfs_link(struct vfs *v, struct vfs_file *from_base, struct str from,
             struct vfs_file *to_base, struct str to);
int vfs_symlink(struct vfs *v, struct str target, struct vfs_file *base, struct str path);
/* Up to `size` bytes of the link's target, not terminated; `*n` is how many. */
int vfs_readlink(struct vfs *v, struct vfs_file *base, struct str path, char *out,
                 size_t size, size_t *n);

/* Room where a folder is: the host's, as far as the quota allows, or the quota's. */
struct vfs_space {
    uint64_t bytes, bytes_free;
    uint64_t files, files_free;
};
int vfs_get_space(struct vfs *v, struct vfs_file *folder, struct vfs_space *out);

#define VFS_TIME_KEEP INT64_MIN /* leave this time as it is */
int vfs_set_times(struct vfs *v, struct vfs_file *base, struct str path, bool follow,
                  int64_t accessed_ns, int64_t modified_ns);

/* ---- open files and folders --------------------------------------------- */

enum vfs_open {
    VFS_READ = 1,
    VFS_WRITE = 2,
    VFS_CREATE = 4,
    VFS_EXCLUSIVE = 8,  /* with VFS_CREATE: EEXIST when it is there */
    VFS_TRUNCATE = 16,  /* needs VFS_WRITE */
    VFS_DIRECTORY = 32, /* ENOTDIR for anything else */
    VFS_NOFOLLOW = 64,  /* ELOOP when the last name is a link */
};
/* May be added to VFS_CREATE: permissions of the new file, instead of the usual ones. */
#define VFS_MODE(mode) (1u << 15 | ((unsigned)(mode) & 0777) << 16)

/* `how` is of the above; a folder opens with VFS_READ alone, too. *out is the
 * caller's, to be closed; a file that is removed meanwhile lives until then. */
int vfs_open(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
             struct vfs_file **out);
void vfs_close(struct vfs_file *f); /* NULL is fine */
SCOPED(vfs_file, vfs_close);
enum vfs_type vfs_type_of(const struct vfs_file *f);
uint64_t vfs_folder_inode(const struct vfs_file *f); /* as it was when it was opened */

/* `*got` bytes from `offset` on; 0 at the end. EBADF: not open for that. */
int vfs_read(struct vfs_file *f, uint64_t offset, void *to, size_t n, size_t *got);
/* All of it in memory or nothing (ENOSPC, EFBIG); on the host `*done` may be less. A
 * gap before `offset` reads as zeros and counts. VFS_AT_END: wherever the end is. */
#define VFS_AT_END UINT64_MAX
int vfs_write(struct vfs_file *f, uint64_t offset, const void *from, size_t n,
              size_t *done);
int vfs_resize(struct vfs_file *f, uint64_t size);
int vfs_stat_of(struct vfs_file *f, struct vfs_stat *out);
int vfs_set_times_of(struct vfs_file *f, int64_t accessed_ns, int64_t modified_ns);
int vfs_sync(struct vfs_file *f);          /* to the disk, in mounts */
int vfs_sync_all(struct vfs_file *folder); /* and all of its file system */
/* Where the next bytes that are stored (or, with `hole`, the next that are not) begin, from
 * `offset` on. ENXIO: there are none, or `offset` is behind the end. */
int vfs_seek(struct vfs_file *f, uint64_t offset, bool hole, uint64_t *out);
enum vfs_allocate {
    VFS_ALLOCATE_KEEP = 1,  /* the size stays */
    VFS_ALLOCATE_PUNCH = 2, /* it becomes a hole, which reads as zeros; with the former */
    VFS_ALLOCATE_ZERO = 4,  /* it reads as zeros */
};
/* Reserves that part of a file, or as `how` says. EOPNOTSUPP: the host cannot. */
int vfs_allocate(struct vfs_file *f, unsigned how, uint64_t offset, uint64_t n);

/* The folder's entries, by name and without "." and "..", as they were when entry 0
 * was last asked for. `*out` is borrowed until then, or until the close. ENOENT:
 * there are no more. EOVERFLOW: over 65,536 of them. */
struct vfs_entry {
    struct str name;
    enum vfs_type type;
    uint64_t inode;
};
int vfs_entry(struct vfs_file *folder, uint64_t index, const struct vfs_entry **out);

/* ---- changes of an overlay ---------------------------------------------- */

enum vfs_changed { VFS_MADE, VFS_CHANGED, VFS_REMOVED };

struct vfs_change {
    enum vfs_changed what;
    enum vfs_type type;
    struct str path;  /* from the mount to it: "folder/file"; a NUL follows */
    struct str bytes; /* a file's contents, made or changed; a made link's target */
    int64_t modified_ns;
    uint32_t mode; /* permissions, made or changed */
    bool unseen;   /* it went with its folder: `before` is as of vfs_changes() */
    /* The host's, as it was when the guest first changed or removed it. Who performs the
     * changes compares it (or the time of the run with its changed_ns) with what is there
     * by then. Zeros for what was made. */
    struct vfs_stat before;
};
/* All that differs from the host in the overlay at `at`, in an order in which it can be
 * performed: removed things first, what is in a folder before the folder; then made and
 * changed ones, folders before what is in them. A file that became a folder is both; what
 * was moved is removed here and made there; one that was only touched is changed. Names
 * that are not shown stay, so a removed folder may turn out not to be empty.
 * *out is borrowed until the next call, the tree's next change or vfs_free(), as all in it. Files
 * that are open stay so. ENOENT: no overlay there. ENOSPC: what
 * was moved does not fit below the quota. EOVERFLOW: over 65,536 changes. */
int vfs_changes(struct vfs *v, const char *at, const struct vfs_change **out,
                size_t *count);

/* When the overlay at `at` was mounted, by the clock that files' times are taken from; 0: there is
 * none. */
int64_t vfs_overlay_since(struct vfs *v, const char *at);

/* ---- whole files -------------------------------------------------------- */

/* Makes or replaces the file. In memory, all or nothing. */
int vfs_put(struct vfs *v, struct str path, struct str bytes);
/* Appends the whole file to `out`; EFBIG when it does not fit below its ceiling. */
int vfs_get(struct vfs *v, struct str path, struct buf *out);
