/* A compiler is a large program that reads a stranger's bytes. So it runs in a process of
 * its own: `cloche compile-module MEMORY`, which reads the module from its standard input
 * and writes the answer to its standard output, both files without a name. What it may do
 * there, apart/apart.h tells. What it answers is native code that this process will run
 * within the sandbox's rules: that much a compiler must be trusted with. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart/apart.h"
#include "catalogue/compile.h"
#include "catalogue/package.h"
#include "wasi/wasi.h"

#define COMMAND "compile-module"
#define CPU_S 60
#define MEMORY_BYTES ((uint64_t)1 << 30)
#define COMPILED_MAX ((size_t)512 << 20)
#define WAIT_MS 180000 /* of the clock, since others may have the processor */

/* How an answer begins; what follows is the compiled module, or a message. */
#define ANSWER_DONE 'D'
#define ANSWER_REFUSED 'R'

/* ---- in the process apart ------------------------------------------------ */

static bool write_out(char kind, struct str bytes)
{
    struct str parts[] = {{&kind, 1}, bytes};
    for (size_t i = 0; i < LENGTH(parts); i++)
        while (parts[i].n) {
            ssize_t put = write(STDOUT_FILENO, parts[i].at, parts[i].n);
            if (put < 0)
                return false;
            parts[i].at += put;
            parts[i].n -= (size_t)put;
        }
    return true;
}

static bool compile(struct engine *g, struct buf *out, struct err *e)
{
    scoped_buf struct buf wasm;
    buf_init(&wasm, PACKAGE_WASM_MAX);
    if (!os_read_fd(STDIN_FILENO, &wasm, e))
        return false;
    struct module_source source = {.wasm = buf_view(&wasm)};
    source.imports = wasi_imports(&source.import_count);
    scoped(module_close) struct module *m = module_open(g, ENGINE_FOREIGN, &source, e);
    if (!m)
        return false;
    if (!module_has_start(m, "_start"))
        return err_set(e, ERR_INVALID,
                       "the module exports no function _start, which a program for WASI "
                       "has: compile it as a command, with a main()");
    return module_serialize(m, out, e);
}

int tool_compile_main(int argc, char **argv)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, COMPILED_MAX);
    int memory = argc > 2 ? atoi(argv[2]) : 0;
    struct engine_options options = {.memory = (enum engine_memory)memory,
                                     .no_cache = true};
    apart_limit(&(struct apart_limits){
        .cpu_s = CPU_S, .memory_bytes = MEMORY_BYTES, .file_bytes = COMPILED_MAX});
    scoped(engine_close) struct engine *g = engine_open(&options, &e);
    bool ok = g && apart_refuse(&e) && compile(g, &out, &e);
    if (!ok)
        (void)write_out(ANSWER_REFUSED, str_of(e.msg));
    else if (!write_out(ANSWER_DONE, buf_view(&out)))
        return 1;
    _exit(0); /* nothing of it is worth being closed */
}

/* ---- in ours ------------------------------------------------------------- */

static int nameless(void)
{
    int fd = memfd_create("cloche-compile", MFD_CLOEXEC);
    return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static struct apart *begin(const struct catalogue *c, int in, int out, struct err *e)
{
    char memory[16];
    scoped(free) char *program =
        c->compiler
            ? mem_strdup(c->compiler)
            : apart_find(c->guest_dir, "cloche", "/../../../bin", "compiles tools", e);
    if (!program)
        return NULL;
    (void)snprintf(memory, sizeof memory, "%d", (int)engine_memory_used(c->engine));
    const char *const args[] = {COMMAND, memory, NULL};
    return apart_begin(
        &(struct apart_program){
            .path = program, .args = args, .in = in, .out = out, .given = -1},
        e);
}

static bool read_answer(int fd, int status, struct buf *out, struct err *e)
{
    scoped_buf struct buf all;
    buf_init(&all, COMPILED_MAX + 1);
    if (lseek(fd, 0, SEEK_SET) != 0 || !os_read_fd(fd, &all, e))
        return err_set(e, ERR_IO, "the compiler's answer cannot be read: %m");
    bool died = status != -1 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    if (!died && all.n && all.at[0] == ANSWER_REFUSED)
        return err_set(e, ERR_INVALID, "%.*s", (int)(all.n - 1), all.at + 1);
    if (died || all.n < 2 || all.at[0] != ANSWER_DONE)
        return err_set(e, ERR_LIMIT,
                       "the module cannot be compiled within %d s of processor time and "
                       "%d MB of memory",
                       CPU_S, (int)(MEMORY_BYTES >> 20));
    buf_put(out, all.at + 1, all.n - 1);
    return buf_check(out, "the compiled module", e);
}

bool compile_apart(struct catalogue *c, struct str wasm, struct buf *out, struct err *e)
{
    scoped_fd int in = nameless(), answer = nameless();
    if (in < 0 || answer < 0)
        return err_set(e, ERR_IO, "cannot hand a module to its compiler: %m");
    for (struct str rest = wasm; rest.n;) {
        ssize_t put = write(in, rest.at, rest.n);
        if (put <= 0)
            return err_set(e, ERR_IO, "cannot hand a module to its compiler: %m");
        rest = (struct str){rest.at + put, rest.n - (size_t)put};
    }
    (void)lseek(in, 0, SEEK_SET);
    scoped(apart_end) struct apart *child = begin(c, in, answer, e);
    return child && read_answer(answer, apart_wait(child, WAIT_MS), out, e);
}
