/* A compiler is a large program that reads a stranger's bytes. So it runs in a process of
 * its own: `cloche compile-module MEMORY`, which reads the module from its standard input
 * and writes the answer to its standard output, both files without a name.
 *
 * Before it looks at a byte it gives up all that it does not need: limits on processor
 * time, memory and what it writes; no new privileges; a filter of system calls that opens
 * nothing, connects to nothing and begins no program; and no file system at all where
 * the kernel has Landlock. What it answers is native code that this process will run
 * within the sandbox's rules: that much a compiler must be trusted with. */
#include "catalogue/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalogue/package.h"
#include "wasi/wasi.h"

#define COMMAND "compile-module"
#define CPU_S 60
#define MEMORY_BYTES ((rlim_t)1 << 30)
#define COMPILED_MAX ((size_t)512 << 20)
#define WAIT_MS 180000 /* of the clock, since others may have the processor */

/* How an answer begins; what follows is the compiled module, or a message. */
#define ANSWER_DONE 'D'
#define ANSWER_REFUSED 'R'

/* ---- in the process apart ------------------------------------------------ */

static void set_limits(void)
{
    const struct {
        int which;
        rlim_t most;
    } limits[] = {{RLIMIT_CPU, CPU_S},
                  {RLIMIT_DATA, MEMORY_BYTES},
                  {RLIMIT_FSIZE, COMPILED_MAX},
                  {RLIMIT_CORE, 0}};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        struct rlimit r = {limits[i].most, limits[i].most};
        (void)setrlimit((__rlimit_resource_t)limits[i].which, &r);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* The kernel's headers of Debian 12 know its first version, which is all that counts. */
static void give_up_files(void)
{
    struct landlock_ruleset_attr all = {.handled_access_fs = (1u << 13) - 1};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (fd < 0)
        return; /* the filter stands alone */
    (void)syscall(SYS_landlock_restrict_self, fd, 0);
    os_close(fd);
}

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* Opens, connects, begins, changes: none of it has a use in a compiler whose files are
 * open already. */
static const int refused[] = {
#ifdef SYS_open
    SYS_open,
    SYS_creat,
    SYS_fork,
    SYS_vfork,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_mknod,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_renameat,
#endif
    SYS_openat,
    SYS_openat2,
    SYS_open_by_handle_at,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_truncate,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_chroot,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_tkill,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    SYS_inotify_init1,
    SYS_fanotify_init,
    SYS_setrlimit,
    SYS_reboot,
    SYS_swapon,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_sethostname,
};

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(k), yes, no)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define CLONE_THREAD_BIT 0x00010000u

static bool give_up_calls(void)
{
    enum { HEAD = 4, TAIL = 8, COUNT = LENGTH(refused) };
    struct sock_filter filter[HEAD + COUNT + TAIL];
    size_t n = 0;
#ifndef OWN_ARCH
    return true;
#else
    filter[n++] = (struct sock_filter)LOAD(arch);
    filter[n++] = (struct sock_filter)JUMP(BPF_JEQ, OWN_ARCH, 1, 0);
    filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_KILL_PROCESS);
    filter[n++] = (struct sock_filter)LOAD(nr);
    for (size_t i = 0; i < COUNT; i++) /* to the last answer */
        filter[n++] = (struct sock_filter)JUMP(BPF_JEQ, refused[i],
                                               (uint8_t)(COUNT - 1 - i + TAIL - 1), 0);
    /* Another table of the same processor (x32); a new kind of clone, whose flags lie in
     * memory: the C library falls back; and processes, while threads may be begun. */
    filter[n++] = (struct sock_filter)JUMP(BPF_JGE, 0x40000000, TAIL - 2, 0);
    filter[n++] = (struct sock_filter)JUMP(BPF_JEQ, SYS_clone3, 4, 0);
    filter[n++] = (struct sock_filter)JUMP(BPF_JEQ, SYS_clone, 0, 2);
    filter[n++] = (struct sock_filter)LOAD(args[0]);
    filter[n++] = (struct sock_filter)JUMP(BPF_JSET, CLONE_THREAD_BIT, 0, 2);
    filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | ENOSYS);
    filter[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = (unsigned short)n, .filter = filter};
    /* Threads that the engine has begun already are shut in, too. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                   &program) == 0;
#endif
}

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
    set_limits();
    scoped(engine_close) struct engine *g = engine_open(&options, &e);
    if (g)
        give_up_files();
    if (g && !give_up_calls())
        err_set(&e, ERR_IO, "the compiler cannot be shut in: %m");
    bool ok = g && !e.code && compile(g, &out, &e);
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

/* As it is built, or where an installation puts it. */
static char *find_program(const struct catalogue *c, struct err *e)
{
    static const char *const places[] = {"/../cloche", "/../../../bin/cloche"};
    if (c->compiler)
        return mem_strdup(c->compiler);
    for (size_t i = 0; i < LENGTH(places); i++) {
        char *path = NULL;
        must(asprintf(&path, "%s%s", c->guest_dir, places[i]) > 0);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    err_set(e, ERR_IO,
            "the program cloche, which compiles tools in a process apart, is not near %s",
            c->guest_dir);
    return NULL;
}

static pid_t begin(const struct catalogue *c, int in, int out, struct err *e)
{
    char memory[16];
    scoped(free) char *program = find_program(c, e);
    if (!program)
        return -1;
    (void)snprintf(memory, sizeof memory, "%d", (int)engine_memory_used(c->engine));
    char *argv[] = {program, COMMAND, memory, NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t files;
    pid_t child = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, program, &files, NULL, argv, env);
    posix_spawn_file_actions_destroy(&files);
    errno = failed;
    if (failed)
        err_set(e, ERR_IO, "cannot begin %s, which compiles tools: %m", program);
    return failed ? -1 : child;
}

/* Its end, as waitpid() has it; -1: somebody else has waited for it. */
static int wait_for(pid_t child)
{
    int status = -1;
    scoped_fd int fd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd >= 0 && poll(&p, 1, WAIT_MS) == 0)
        (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
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

bool apart_compile(struct catalogue *c, struct str wasm, struct buf *out, struct err *e)
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
    pid_t child = begin(c, in, answer, e);
    return child > 0 && read_answer(answer, wait_for(child), out, e);
}
