/* os/os.h - the host system in our own error words: clocks, randomness, files
 * beneath a directory handle, locks, change notices, the user's folders.
 *
 * Every file is named relative to an open directory and never leaves it: "..",
 * absolute names, and symbolic links that lead outside are ERR_DENIED
 * (openat2 with RESOLVE_BENEATH; component by component where the kernel has no
 * openat2: there every symbolic link is refused). Whatever writes, moves or
 * removes follows no link at all. Names are NUL-terminated with '/' between
 * components.
 * Threads: safe, unless a function says otherwise.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"

/* ---- clocks and randomness ---------------------------------------------- */

uint64_t os_mono_ns(void); /* since some start, never backwards */
static inline int64_t os_mono_ms(void)
{
    return (int64_t)(os_mono_ns() / 1000000);
}
/* The os_mono_ns() of `ms` from now, for deadlines. */
static inline uint64_t os_in_ms(uint64_t ms)
{
    return os_mono_ns() + ms * 1000000;
}
int64_t os_real_ms(void);            /* since 1970-01-01T00:00:00Z */
uint64_t os_thread_cpu_ns(void);     /* CPU time of the calling thread */
void os_random(void *out, size_t n); /* from the kernel; cannot fail */
/* The local zone as TZ or /etc/localtime names it, else "UTC"; no NUL. Its size. */
#define OS_ZONE_MAX 64
size_t os_zone_name(char name[OS_ZONE_MAX]);

/* ---- files -------------------------------------------------------------- */

struct os_stat {
    uint64_t size;    /* bytes */
    uint64_t on_disk; /* bytes that it takes there: holes do not count */
    int64_t mtime_ns; /* since 1970 */
    int64_t birth_ns; /* since 1970; 0 where nobody knows */
    uint64_t inode;
    bool is_dir, is_file;
    bool is_deleted; /* no name leads to it any more; FUSE may say so of any file */
};

void os_close(int fd); /* -1 is fine */
static inline void os_close_at(int *fd)
{
    os_close(*fd);
}
#define scoped_fd __attribute__((cleanup(os_close_at)))

/* A directory by a path of the user's own (the terminal, an option). -1 and
 * ERR_NOT_FOUND, ERR_DENIED, ERR_INVALID (no directory) or ERR_IO. */
int os_dir_open(const char *path, struct err *e);
/* The same, but made first, with its parents, where it is missing. */
int os_dir_make(const char *path, unsigned mode, struct err *e);
/* Where an open directory lies now, with no symbolic link on the way; the caller
 * frees. NULL and ERR_NOT_FOUND (it was deleted) or ERR_IO. */
char *os_dir_path(int dir, struct err *e);

/* Opens `name` beneath `dir` with open(2)'s flags; O_CLOEXEC is added. With
 * O_NOFOLLOW no component may be a symbolic link, also not the inner ones. -1
 * and ERR_NOT_FOUND, ERR_DENIED (outside, or no permission, or a read-only file
 * system), ERR_CONFLICT (O_EXCL and it exists), ERR_INVALID (empty or overlong
 * name) or ERR_IO. All functions that take a name answer with these. */
int os_open_beneath(int dir, const char *name, int flags, unsigned mode, struct err *e);
/* The status of the file itself: symbolic links are ERR_DENIED. */
bool os_stat_beneath(int dir, const char *name, struct os_stat *out, struct err *e);
bool os_stat_fd(int fd, struct os_stat *out, struct err *e);
/* Takes all rights to the file from others than its owner, where we may; no lock that this
 * process has on it is lost, as when it is opened and closed. */
void os_keep_private(int dir, const char *name);
/* Enough of a file to see that it is another, or was changed. */
struct os_stamp {
    uint64_t inode, size;
    int64_t changed_ns;
};
/* By one quick call: `name` without folders that strangers could exchange for links.
 * Zeros: it is not there. */
struct os_stamp os_stamp(int dir, const char *name);
static inline bool os_same_stamp(const struct os_stamp *a, const struct os_stamp *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed_ns == b->changed_ns;
}
/* Appends the whole file to `out`; `st` may be NULL. ERR_LIMIT when it does not
 * fit below the buf's ceiling, ERR_INVALID when it is no regular file. */
bool os_read_file(int dir, const char *name, struct buf *out, struct os_stat *st,
                  struct err *e);
/* Appends all from where `fd` stands to its end. */
bool os_read_fd(int fd, struct buf *out, struct err *e);

/* The whole file as memory that can only be read, until os_unmap(). For files
 * that nobody changes while we run (what lies beside the program): shortened
 * under our feet, they would end the process. An empty file is ERR_INVALID. */
bool os_map_file(int dir, const char *name, struct str *out, struct err *e);
void os_unmap(struct str *mapped); /* then empty; an empty one is fine */

enum os_write {
    OS_REPLACE, /* whatever was there is replaced as a whole */
    OS_CREATE,  /* ERR_CONFLICT when the name exists */
    OS_SOON,    /* replaced, but not waited for: after a crash of the system the file
                   may be old, damaged or gone. For what its reader checks and can lose */
};
/* Whole or not at all, also over a crash: write beside, fsync, rename, fsync
 * the folder. Folders on the way must exist. A new file gets `mode` less
 * the umask; a replaced one hands on its mode, owner, extended attributes and (by
 * one of these) birth_ns. `st`, if not NULL, tells of the file as written. Where
 * the file system knows no nameless files a crash may leave ".cloche-*.tmp". */
bool os_write_file(int dir, const char *name, struct str bytes, enum os_write how,
                   unsigned mode, struct os_stat *st, struct err *e);
/* Replaces `name` only while it is the very file that `expect` tells of (inode,
 * size, mtime); else ERR_CONFLICT, and nothing has changed. */
bool os_replace_file(int dir, const char *name, struct str bytes,
                     const struct os_stat *expect, struct os_stat *st, struct err *e);
/* Makes the folder `name` and those on the way to it; existing ones are fine. */
bool os_make_dirs(int dir, const char *name, struct err *e);
/* Moves beneath one directory, never over an existing name (ERR_CONFLICT; another
 * spelling of its own name is none), and makes it last (fsync of both folders).
 * ERR_INVALID: to another file system. */
bool os_move(int dir, const char *from, const char *to, struct err *e);
/* No folders (ERR_INVALID). */
bool os_remove_file(int dir, const char *name, struct err *e);
/* Only an empty one; else ERR_CONFLICT. */
bool os_remove_folder(int dir, const char *name, struct err *e);

/* ---- a folder for a while ------------------------------------------------ */

/* A new, empty folder that only this user can look into: in memory where there is plenty
 * of room for `bytes` (at most 256 MB), else among the user's caches. What processes left
 * that died is removed by the next who asks. NULL and ERR_LIMIT (no room), ERR_IO. */
struct os_scratch;
struct os_scratch *os_scratch_open(uint64_t bytes, struct err *e);
int os_scratch_dir(const struct os_scratch *s); /* both its own */
const char *os_scratch_path(const struct os_scratch *s);
void os_scratch_close(struct os_scratch *s); /* with all in it; NULL is fine */
SCOPED(os_scratch, os_scratch_close);

/* ---- many files, made lasting together ---------------------------------- */

/* A sync a file would take seconds for a thousand. These write and move without, unless
 * `lasting`; os_sync() makes all last that was done so far. */

/* The new file `name` (ERR_CONFLICT when it exists). `like`, if not NULL, names a file
 * that it will replace: it gets that one's mode, owner and attributes. */
bool os_draft(int dir, const char *name, struct str bytes, const char *like,
              unsigned mode, bool lasting, struct err *e);
/* Puts a draft in the place of `to`, only while that is the very file of `expect`
 * (else ERR_CONFLICT, and nothing has changed); the old file then lies where the draft
 * was. Without `expect`: moves `from`, never over an existing name (ERR_CONFLICT).
 * ERR_INVALID: to another file system. */
bool os_place(int dir, const char *from, const char *to, const struct os_stat *expect,
              bool lasting, struct err *e);
/* Removes a file. */
bool os_drop(int dir, const char *name, struct err *e);
/* Bytes that we may still write there; UINT64_MAX where nobody knows. */
uint64_t os_free_bytes(int dir);
uint64_t os_disk_bytes(
    int dir); /* all that the file system holds; 0 where nobody knows */
/* Makes all lasting that was written to the file system of `dir`. */
bool os_sync(int dir, struct err *e);

/* Calls `each` for every file and folder beneath `dir`, folders before what is
 * in them, in no other order. Names whose last component begins with '.' are
 * passed over with all beneath; so are symbolic links, devices, folders that may
 * not be read, and what lies deeper than 64 folders. `each` answers false to stop
 * (and then has set *e or not, as it likes). */
typedef bool os_walk_fn(void *arg, const char *name, const struct os_stat *st,
                        struct err *e);
bool os_walk(int dir, os_walk_fn *each, void *arg, struct err *e);
/* The same from the folder `name` on; names stay relative to `dir`. */
bool os_walk_from(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e);
/* Folders alone, without a look at any file; of `st` only is_dir is told. */
bool os_walk_folders(int dir, const char *name, os_walk_fn *each, void *arg,
                     struct err *e);
/* Lists the folder `name` itself ("." for `dir`), without a look at any file; of `st`
 * only is_dir and is_file are told. */
bool os_list(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e);

/* ---- locks between processes and threads -------------------------------- */

/* Waits at most `timeout_ms` for the exclusive lock number `key` of the lock
 * file `name` (made when missing). The answer is a descriptor that holds it
 * until it is closed; also lost when the process dies. -1 and ERR_BUSY or
 * ERR_IO. Open-file-description locks: they hold between threads too. */
int os_lock(int dir, const char *name, uint64_t key, unsigned timeout_ms, struct err *e);
/* The same on a file that is open for writing and stays so: its lock number 0, until
 * it is closed. Threads: the descriptor is one holder. */
bool os_lock_file(int fd, unsigned timeout_ms, struct err *e);
/* Does another program hold a lock of flock(2) on the file? It is no lock of the above. */
bool os_is_flocked(int dir, const char *name);

/* Begins a mutex that is only ever held for some microseconds: who finds it taken spins
 * for a moment before it sleeps. Ended by pthread_mutex_destroy(). */
void os_brief_mutex(pthread_mutex_t *m);

/* ---- change notices ----------------------------------------------------- */

/* Is the file system of this folder our machine's own? Elsewhere (network, FUSE)
 * others' changes are not told of, and memory cannot be shared with them. */
bool os_is_local(int dir);

/* Notices what others do to a tree (inotify). Threads: one at a time. */
struct os_watch;
/* Watches all folders beneath `dir`, dot-folders left out. NULL and ERR_LIMIT
 * when the system has no watches left or when the file system does not tell of
 * changes that others make (network, FUSE), ERR_IO. `path` is where `dir` is;
 * it is used only where there is no /proc. */
struct os_watch *os_watch_open(int dir, const char *path, struct err *e);
void os_watch_close(struct os_watch *w); /* NULL is fine */
SCOPED(os_watch, os_watch_close);
/* Can be read from (poll) while there is something to drain; the watch's own. */
int os_watch_fd(const struct os_watch *w);
/* Never waits. Calls `changed` for each name that was made, written, moved or
 * removed since the last call (a folder's name stands for all beneath it; names
 * may come twice). false: notices were lost, look at everything again; the watch
 * itself goes on. */
bool os_watch_drain(struct os_watch *w, void (*changed)(void *arg, const char *name),
                    void *arg);

/* ---- memory --------------------------------------------------------------- */

/* The computer's, or what this process' control group may have of it when it is asked. */
uint64_t os_memory_bytes(void);

/* ---- threads ------------------------------------------------------------ */

/* Begins a thread that is joined or detached later. `name` is at most 15 bytes; `stack` is
 * in bytes, 0: the system's usual size. false: errno says why. */
bool os_thread_start(pthread_t *thread, const char *name, size_t stack,
                     void *(*run)(void *), void *arg);
/* As pthread_cond_wait(); false: os_mono_ns() is `until_ns` (UINT64_MAX: no deadline). */
bool os_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t until_ns);
/* Gives the pages of the calling thread's stack that were used, and are not any
 * more, back to the system. Not for the main thread, whose stack grows by itself. */
void os_stack_trim(void);
/* Asks that the calling thread, and those that it begins, get turns of `ns` (100 us or
 * more): short ones come sooner after a sleep, for the same share. Answers what it was; 0:
 * nothing was changed, as before Linux 6.12, and it does no harm to ask for that. */
uint64_t os_thread_turn(uint64_t ns);
void os_thread_behind(void); /* it, and those that it begins, are nicer by 10, for good */

/* ---- the user's folders ------------------------------------------------- */

/* $XDG_CONFIG_HOME/cloche, $XDG_CACHE_HOME/cloche, $XDG_DATA_HOME/cloche,
 * $XDG_STATE_HOME/cloche (or their defaults beneath $HOME), made with mode 0700. -1 and
 * *e when there is no place for them or when another user could write there
 * (ERR_DENIED). `path`, if not NULL, receives the path; the caller frees it. */
int os_config_dir(char **path, struct err *e);
/* Could nobody else have written this open file or folder? It belongs to this account or to
 * root, and others may not write to it. ERR_DENIED says what is wrong; `path` is for people. */
bool os_is_own(int fd, const char *path, struct err *e);
int os_cache_dir(char **path, struct err *e);
int os_data_dir(char **path, struct err *e);
int os_state_dir(char **path, struct err *e);
/* The folder `name` in the state's, made with mode 0700 where it is missing. -1 and *e. */
int os_state_folder(const char *name, struct err *e);
/* The path of the folder `name` in the cache's, made where it is missing; the caller frees.
 * NULL: there is no place for it. */
char *os_cache_path(const char *name);
/* Does a folder keep off those of the configuration, the cache, the state and the
 * installed tools: is it
 * none of them, within none, and around none but by way of a hidden folder? `path` is
 * its true one, as of os_dir_path(); it need not be there yet. */
bool os_is_apart(const char *path);
/* The folder that holds the running program; the caller frees. NULL and ERR_IO. */
char *os_program_dir(struct err *e);
