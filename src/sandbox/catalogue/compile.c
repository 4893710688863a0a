/* A compiler is a large program that reads a stranger's bytes. So it runs in a process of
 * its own: `cloche compile-module MEMORY EFFORT BYTES`, which reads the module from its standard input
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
/* The cost of the largest modules that are accepted (20 MB), with room: measured of
 * programs of Go, 35 s and 2.7 GB for 20 MB; one of 4.4 MB takes 1.4 GB, since memory
 * goes by the largest function. Compiled simply, a third of both. */
#define CPU_S 120
#define MEMORY_MOST ((uint64_t)4 << 30)
#define MEMORY_LEAST ((uint64_t)512 << 20)
#define COMPILED_MAX ((size_t)512 << 20)
#define WAIT_MS 240000 /* of the clock, since others may have the processor */
#define SIGN_MS 1000   /* between two signs that it goes on */

#define WELL "well" /* how it is compiled: optimised, or in little memory and time */
#define SIMPLY "simply"

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

static bool answer_compile(struct engine *g, struct buf *out, struct err *e)
{
    scoped_buf struct buf wasm = buf_of(PACKAGE_WASM_MAX);
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
    scoped_buf struct buf out = buf_of(COMPILED_MAX);
    int memory = argc > 2 ? atoi(argv[2]) : 0;
    struct engine_options options = {.memory = (enum engine_memory)memory,
                                     .frugal = argc > 3 && !strcmp(argv[3], SIMPLY),
                                     .no_cache = true};
    apart_limit(&(struct apart_limits){
        .cpu_s = CPU_S,
        .memory_bytes = argc > 4 ? strtoull(argv[4], NULL, 10) : MEMORY_LEAST,
        .file_bytes = COMPILED_MAX});
    scoped(engine_close) struct engine *g = engine_open(&options, &e);
    bool ok = g && apart_refuse(&e) && answer_compile(g, &out, &e);
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

/* Three quarters of this computer's memory, or of this process's limit. */
static uint64_t memory_bytes(void)
{
    uint64_t most = os_memory_bytes() / 4 * 3;
    return most > MEMORY_MOST ? MEMORY_MOST : most < MEMORY_LEAST ? MEMORY_LEAST : most;
}

static struct apart *compiler_start(const struct catalogue *c, bool simply, int in,
                                    int out, struct err *e)
{
    char memory[16], bytes[24];
    scoped(free) char *program =
        c->compiler
            ? mem_strdup(c->compiler)
            : apart_find(c->guest_dir, "cloche", "/../../../bin", "compiles tools", e);
    if (!program)
        return NULL;
    (void)snprintf(memory, sizeof memory, "%d", (int)engine_memory_used(c->engine));
    (void)snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)memory_bytes());
    const char *const args[] = {COMMAND, memory, simply ? SIMPLY : WELL, bytes, NULL};
    return apart_begin(
        &(struct apart_program){
            .path = program, .args = args, .in = in, .out = out, .given = -1},
        e);
}

/* Until it has ended, is called off, or its time is over. */
static bool compiler_wait(struct apart *child, const struct work *w, bool simply,
                          int *status, struct err *e)
{
    const struct tool_watch *watch = w->watch;
    for (unsigned ms = 0; ms < WAIT_MS; ms += SIGN_MS) {
        if (apart_ends_within(child, SIGN_MS))
            break;
        if (watch && !watch->fn(watch->arg, w->name, ms / 1000 + 1, simply))
            return err_set(e, ERR_CANCELLED, "cancelled while it was compiled");
    }
    *status = apart_wait(child, 0);
    return true;
}

static bool compiler_read_answer(int fd, int status, struct buf *out, struct err *e)
{
    scoped_buf struct buf all = buf_of(COMPILED_MAX + 1);
    if (lseek(fd, 0, SEEK_SET) != 0 || !os_read_fd(fd, &all, e))
        return err_set(e, ERR_IO, "the compiler's answer cannot be read: %m");
    bool died = status != -1 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    if (!died && all.n && all.at[0] == ANSWER_REFUSED)
        return err_set(e, ERR_INVALID, "%.*s", (int)(all.n - 1), all.at + 1);
    if (died || all.n < 2 || all.at[0] != ANSWER_DONE)
        return err_set(e, ERR_LIMIT,
                       "the module cannot be compiled, not even without optimisation, "
                       "within %d s of processor time and %llu MB of memory (three "
                       "quarters of what is here, at most %llu MB)",
                       CPU_S, (unsigned long long)(memory_bytes() >> 20),
                       (unsigned long long)(MEMORY_MOST >> 20));
    buf_put(out, all.at + 1, all.n - 1);
    return buf_check(out, "the compiled module", e);
}

static bool attempt(struct catalogue *c, const struct work *w, bool simply, int in,
                    struct buf *out, struct err *e)
{
    int status = -1;
    scoped_fd int answer = nameless();
    if (answer < 0 || lseek(in, 0, SEEK_SET) != 0)
        return err_set(e, ERR_IO, "cannot hand a module to its compiler: %m");
    scoped(apart_end) struct apart *child = compiler_start(c, simply, in, answer, e);
    return child && compiler_wait(child, w, simply, &status, e) &&
           compiler_read_answer(answer, status, out, e);
}

bool compile_apart(struct catalogue *c, const struct work *w, struct buf *out,
                   struct err *e)
{
    struct err why = {0};
    scoped_fd int in = nameless();
    if (in < 0)
        return err_set(e, ERR_IO, "cannot hand a module to its compiler: %m");
    for (struct str rest = w->wasm; rest.n;) {
        ssize_t put = write(in, rest.at, rest.n);
        if (put <= 0)
            return err_set(e, ERR_IO, "cannot hand a module to its compiler: %m");
        rest = (struct str){rest.at + put, rest.n - (size_t)put};
    }
    if (attempt(c, w, false, in, out, &why))
        return true;
    return why.code == ERR_LIMIT ? attempt(c, w, true, in, out, e) : err_pass(e, &why);
}
