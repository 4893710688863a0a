/* tools/pipe.h - what lies between two stages of a pipeline: a bounded row of bytes.
 *
 * A thread writes, another reads; each waits for the other, until the pipe is stopped or
 * the moment comes at which all ends. Private to tools.
 */
#pragma once
#include "base/base.h"

#define PIPE_BYTES ((size_t)64 << 10)

struct pipe;

/* `until_ns` of os_mono_ns(), 0: waits without an end. */
struct pipe *pipe_new(uint64_t until_ns);
void pipe_free(struct pipe *p); /* NULL is fine; nobody may be in it */

/* 0, with some bytes or, at the end, none; EINTR: it was stopped. */
int pipe_read(struct pipe *p, void *to, size_t n, size_t *done);
/* The same for whoever only looks (wasi_ready_fn): 0 and how many bytes there are, at the
 * end none; EAGAIN: none before `until_ns`, which may have passed. */
int pipe_ready(struct pipe *p, uint64_t until_ns, size_t *bytes);
/* 0 and all of it; EPIPE: nobody reads any more; EINTR: it was stopped. `*done` were
 * taken in any case. */
int pipe_write(struct pipe *p, const void *from, size_t n, size_t *done);
/* Each side says that it has ended. */
void pipe_end_reading(struct pipe *p);
void pipe_end_writing(struct pipe *p);
/* Nobody waits from now on. Threads: safe. */
void pipe_stop(struct pipe *p);
