/* writeback/writeback.h - changes of an overlay (vfs_changes()), written to the folder of the host
 * that lies beneath it: all of them or none.
 *
 * All new contents are staged in the folder's ".cloche", which no guest sees, and synced; then the
 * steps are recorded in the user's state folder; only then are names changed, one rename each. A
 * process that dies before the record has changed nothing. One that dies after it is completed by
 * whoever mounts a folder, or writes changes, next. A step that fails has all before it taken back.
 *
 * What is on the host must be as the guest saw it: inode, size, times. No path leaves the folder,
 * no link is followed, no file is written in place: another name of a hard link keeps the old
 * contents. What the mount did not show is never touched.
 *
 * Threads: safe. One process of a user writes at a time.
 */
#pragma once
#include "vfs/vfs.h"

struct writeback {
    int dir;         /* the host's folder, open; borrowed */
    bool dots;       /* as the mount had them (vfs/vfs.h) */
    bool owner_only; /* new files are 0600 */
    bool links;
    int64_t since_ns; /* vfs_overlay_since() */
    const struct vfs_change *changes;
    size_t count;
};

/* Could they be written now? Calls `each` (NULL is fine) for each path that is in the way. false
 * and ERR_CONFLICT, which names the first; ERR_DENIED: a link in a mount without `links`. */
bool writeback_check(const struct writeback *w, void (*each)(void *arg, struct str path),
                     void *arg, struct err *e);
/* Writes them. false and *e, and the folder is as it was: as writeback_check(); ERR_BUSY (another
 * process writes), ERR_IO, ERR_INVALID (a part of the folder is another file system). */
bool writeback_write(const struct writeback *w, struct err *e);
/* Completes what died processes began. Cheap where there is nothing. */
void writeback_complete(void);

/* ---- kept, to be written later ------------------------------------------- */

#define WRITEBACK_ID 17u /* 16 digits and a NUL */
#define WRITEBACK_KEPT_MAX ((size_t)512 << 20)

struct writeback_kept {
    char id[WRITEBACK_ID];
    int64_t made_ms;
    const char *host, *place;    /* true path of the folder; where it was mounted */
    struct writeback what;       /* `dir` -1 until writeback_kept_folder() */
    struct writeback_file *file; /* that all of it lies in */
};
/* Keeps them in the user's state folder, under a new id. ERR_LIMIT: over WRITEBACK_KEPT_MAX. */
bool writeback_keep(const struct writeback *w, const char *host, const char *place,
                    char id[static WRITEBACK_ID], struct err *e);
/* ERR_NOT_FOUND; ERR_INVALID: damaged. */
bool writeback_kept_open(const char *id, struct writeback_kept *out, struct err *e);
/* Opens the folder; ERR_CONFLICT: another lies there now. */
bool writeback_kept_folder(struct writeback_kept *k, struct err *e);
void writeback_kept_close(struct writeback_kept *k); /* one of zeros is fine */
#define scoped_writeback_kept __attribute__((cleanup(writeback_kept_close)))
/* Calls `each` for the id of each, until it answers false. */
bool writeback_kept_list(bool (*each)(void *arg, const char *id), void *arg,
                         struct err *e);
bool writeback_kept_remove(const char *id, struct err *e);
