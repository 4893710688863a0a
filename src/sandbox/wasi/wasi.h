/* wasi/wasi.h - the system interface that programs compiled to Wasm expect: WASI
 * preview 1, all of its functions, over a vfs.
 *
 * A guest sees its arguments and environment, clocks, random bytes, three standard
 * streams and the files of a vfs, and nothing else: no sockets, no processes.
 * Everything in its memory is checked before it is used (EFAULT); what one call may
 * move is bounded, so that a guest cannot keep the host busy beyond its own limits.
 *
 * Threads: one at a time, as the world and the vfs that it is for.
 * Source: WebAssembly/WASI, legacy/preview1/docs.md (functions, layouts, errnos).
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"
#include "vfs/vfs.h"

#define WASI_FDS_MAX 1024u    /* open at a time: EMFILE */
#define WASI_IOVECS_MAX 1024u /* of one call: EINVAL */
#define WASI_MOVE_MAX \
    (16u << 20)                     /* bytes that one call reads or writes; it is told
                                        how many it were */
#define WASI_RANDOM_MAX (16u << 20) /* bytes of one random_get: EINVAL */
#define WASI_POLL_MAX 1024u         /* subscriptions of one poll_oneoff: EINVAL */
#define WASI_STRINGS_MAX (1u << 20) /* bytes of all arguments, and of the environment */

/* Where a standard stream's bytes come from or go to. Answers 0 or an errno; `*done`
 * may be less than `n`, and 0 is a reader's end. */
typedef int wasi_read_fn(void *arg, void *to, size_t n, size_t *done);
typedef int wasi_write_fn(void *arg, const void *from, size_t n, size_t *done);
/* Waits until reading would not, but no longer than `until_ns` (os_mono_ns(); 0: not at
 * all), nor than a read would: a cancel or a deadline ends both. 0 and how many bytes are
 * there at least, 0 at the end; EAGAIN: none yet. */
typedef int wasi_ready_fn(void *arg, uint64_t until_ns, size_t *bytes);

/* The kind of a standard stream. Programs look at it: one that finds a terminal asks for
 * confirmation and colours what it prints; one that finds no pipe on its input looks for
 * files instead. */
enum wasi_stream {
    WASI_PIPE,
    WASI_TERMINAL, /* isatty() */
    WASI_DEVICE,   /* another device of characters: /dev/null, where there is no input */
};

struct wasi_options {
    const char *const *args; /* the program's name first */
    size_t arg_count;
    const char *const *env; /* "NAME=value" */
    size_t env_count;
    struct vfs *vfs; /* borrowed; NULL: no files at all */
    /* Folders of the vfs that are open from the start, as fd 3 and so on, under their
     * own names. None: "/" alone, where there is a vfs. */
    const char *const *folders;
    size_t folder_count;
    /* A further folder, after those, with the name ".": the base of relative names, for
     * programs that know of no working directory. NULL: none. */
    const char *here;
    /* The guest may see the whole tree, so ".." leads out of those folders, up to "/". Else
     * it is kept in each (EPERM). */
    bool whole;

    /* Standard input: `read`, or the bytes of `input`. */
    wasi_read_fn *read;
    wasi_ready_fn *ready; /* with `read`; NULL: it never waits */
    struct str input;
    /* Standard output and errors: `write` and `write_error`, or these bufs. What a buf
     * has no room for is lost, and the program runs on. NULL of
     * both: all is lost. */
    wasi_write_fn *write, *write_error;
    struct buf *output, *errors;
    void *stream_arg;
    enum wasi_stream streams[3];

    /* How long the guest may sleep in poll_oneoff: until then, or until it fires. */
    uint64_t until_ns; /* os_mono_ns(); 0: for ever */
    struct cancel *cancel;
    /* Clocks that count calls, and bytes that only look random: for what is run once
     * to be baked, and must come out the same each time. */
    bool frozen;
};

struct wasi;

/* Borrows all of the options but the arguments and the environment. NULL and *e:
 * ERR_LIMIT (arguments too long), ERR_NOT_FOUND (a folder is not there). */
struct wasi *wasi_new(const struct wasi_options *o, struct err *e);
void wasi_free(struct wasi *s); /* closes its files; NULL is fine */
SCOPED(wasi, wasi_free);

/* The imports for module_source. world_data() of the module's worlds must be a
 * struct wasi. */
const struct engine_import *wasi_imports(size_t *count);

/* Runs a command: its "_start". true, also when it ended itself: *code is its exit code.
 * false and *e as world_call(). */
bool wasi_run(struct world *w, uint32_t *code, struct err *e);
