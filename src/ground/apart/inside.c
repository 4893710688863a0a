/* Rights that a separate process gives up. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apart/apart.h"
#include "apart/inside.h"
#include "os/os.h"

/* ---- limits ------------------------------------------------------------------- */

/* The kernel itself kills this process when the other end is closed, also while it
 * computes. Nothing is there when the program was begun by hand. */
static void end_with_parent(void)
{
    struct stat st;
    struct pollfd p = {.fd = APART_LEASH};
    if (fstat(APART_LEASH, &st) != 0 || !S_ISFIFO(st.st_mode))
        return;
    (void)fcntl(APART_LEASH, F_SETOWN, getpid());
    (void)fcntl(APART_LEASH, F_SETSIG, SIGKILL);
    (void)fcntl(APART_LEASH, F_SETFL, O_ASYNC);
    if (poll(&p, 1, 0) > 0) /* it was closed before */
        _exit(1);
}

void apart_limit(const struct apart_limits *limits)
{
    const struct {
        int which;
        rlim_t most;
    } rows[] = {{RLIMIT_CPU, limits->cpu_s ? limits->cpu_s : RLIM_INFINITY},
                {RLIMIT_DATA, limits->memory_bytes},
                {RLIMIT_FSIZE, limits->file_bytes},
                {RLIMIT_CORE, 0}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct rlimit r = {rows[i].most, rows[i].most};
        (void)setrlimit((__rlimit_resource_t)rows[i].which, &r);
    }
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    end_with_parent();
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

/* ---- system calls --------------------------------------------------------------- */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter of system calls knows no such processor"
#endif

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
#define JUMP(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(k), yes, no)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)

/* Longer than either of ours. */
#define FILTER_MAX (APART_CALLS_MAX * 7 + 16)

struct filter {
    struct sock_filter at[FILTER_MAX];
    unsigned short n;
};

static void filter_put(struct filter *f, struct sock_filter what)
{
    f->at[f->n++] = what;
}

static void filter_put_head(struct filter *f)
{
    filter_put(f, (struct sock_filter)LOAD(arch));
    filter_put(f, (struct sock_filter)JUMP(BPF_JEQ, OWN_ARCH, 1, 0));
    filter_put(f, (struct sock_filter)ANSWER(SECCOMP_RET_KILL_PROCESS));
}

/* Threads that were begun already are shut in, too. */
static bool filter_install(struct filter *f, struct err *e)
{
    struct sock_fprog program = {.len = f->n, .filter = f->at};
    give_up_files();
    long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                      &program);
    return rc == 0 || err_set(e, ERR_IO,
                              "a process apart cannot be shut in, since the kernel "
                              "refuses a filter of system calls (seccomp): %m");
}

/* Puts a row: falls through to the next where it does not match. */
static void put_call(struct filter *f, const struct apart_call *c)
{
    unsigned tests = 0;
    for (size_t i = 0; i < LENGTH(c->when); i++)
        tests += c->when[i].test != APART_ANY;
    filter_put(f, (struct sock_filter)LOAD(nr));
    filter_put(f,
               (struct sock_filter)JUMP(BPF_JEQ, c->number, 0, (uint8_t)(2 * tests + 1)));
    for (size_t i = 0; i < LENGTH(c->when); i++) {
        if (c->when[i].test == APART_ANY)
            continue;
        tests--;
        uint8_t past = (uint8_t)(2 * tests + 1);
        bool is = c->when[i].test == APART_IS;
        /* The lower half, which comes first: the kernel takes these arguments for int. */
        filter_put(f, (struct sock_filter)LOAD(args[c->when[i].argument]));
        filter_put(f, is ? (struct sock_filter)JUMP(BPF_JEQ, c->when[i].value, 0, past)
                         : (struct sock_filter)JUMP(BPF_JSET, c->when[i].value, past, 0));
    }
    filter_put(f, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
}

bool apart_allow(const struct apart_call *calls, size_t count, struct err *e)
{
    struct filter f = {.n = 0};
    must(count <= APART_CALLS_MAX);
    filter_put_head(&f);
    for (size_t i = 0; i < count; i++)
        put_call(&f, &calls[i]);
    filter_put(&f, (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM));
    return filter_install(&f, e);
}

/* ---- for large programs ------------------------------------------------------------ */

/* Opens, connects, begins, changes: none of it has a use in a program whose files
 * are open already. */
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

#define CLONE_THREAD_BIT 0x00010000u

bool apart_refuse(struct err *e)
{
    enum { TAIL = 8, COUNT = LENGTH(refused) };
    _Static_assert(COUNT + TAIL + 4 <= FILTER_MAX, "room for all");
    struct filter f = {.n = 0};
    filter_put_head(&f);
    filter_put(&f, (struct sock_filter)LOAD(nr));
    for (size_t i = 0; i < COUNT; i++) /* to the last answer */
        filter_put(&f, (struct sock_filter)JUMP(BPF_JEQ, refused[i],
                                                (uint8_t)(COUNT - 1 - i + TAIL - 1), 0));
    /* Another table of the same processor (x32); a new kind of clone, whose flags lie in
     * memory: the C library falls back; and processes, while threads may be begun. */
    filter_put(&f, (struct sock_filter)JUMP(BPF_JGE, 0x40000000, TAIL - 2, 0));
    filter_put(&f, (struct sock_filter)JUMP(BPF_JEQ, SYS_clone3, 4, 0));
    filter_put(&f, (struct sock_filter)JUMP(BPF_JEQ, SYS_clone, 0, 2));
    filter_put(&f, (struct sock_filter)LOAD(args[0]));
    filter_put(&f, (struct sock_filter)JUMP(BPF_JSET, CLONE_THREAD_BIT, 0, 2));
    filter_put(&f, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
    filter_put(&f, (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | ENOSYS));
    filter_put(&f, (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | EPERM));
    return filter_install(&f, e);
}
