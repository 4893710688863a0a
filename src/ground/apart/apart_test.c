/* Separate processes: what they cannot do, and when they end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "apart/apart.h"
#include "os/os.h"

/* This program is its own child; the second argument says what it does there. */
static char self[4096];

/* ---- inside ---------------------------------------------------------------------- */

static const struct apart_call few[] = {
    {.number = SYS_write, .when = {{APART_IS, 0, STDOUT_FILENO}}},
    {.number = SYS_mmap,
     .when = {{APART_LACKS, 2, PROT_EXEC}, {APART_LACKS, 3, MAP_SHARED}}},
    {.number = SYS_mmap, .when = {{APART_LACKS, 2, PROT_EXEC | PROT_WRITE}}},
    {.number = SYS_exit_group},
};

/* Prints a letter for each thing that is possible. */
static void try_all(void)
{
    int given = fcntl(APART_GIVEN, F_GETFD) >= 0 ? APART_GIVEN : -1;
    struct err e = {0};
    bool other = fcntl(APART_GIVEN + 1, F_GETFD) >= 0;
    for (int fd = APART_GIVEN + 2; fd < 200; fd++)
        other |= fcntl(fd, F_GETFD) >= 0;
    char cwd[10] = "";
    bool root = getcwd(cwd, sizeof cwd) && !strcmp(cwd, "/");
    bool env = getenv("HOME") || getenv("PATH");
    apart_limit(&(struct apart_limits){.memory_bytes = (uint64_t)64 << 20});
    if (!apart_allow(few, LENGTH(few), &e))
        _exit(9);
    char done[20], *at = done;
    const int rw = PROT_READ | PROT_WRITE;
#define TRY(letter, works) \
    if (works)             \
    *at++ = letter
    TRY('o', open("/etc/passwd", O_RDONLY) >= 0);
    TRY('s', socket(AF_INET, SOCK_STREAM, 0) >= 0);
    TRY('f', syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0);
    TRY('x', execl("/bin/true", "true", NULL) >= 0);
    TRY('k', kill(getppid(), 0) >= 0);
    TRY('w', write(STDERR_FILENO, "x", 1) >= 0);
    TRY('m', given >= 0 && mmap(NULL, 4096, rw, MAP_SHARED, given, 0) != MAP_FAILED);
    TRY('p', mmap(NULL, 4096, rw | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                 MAP_FAILED);
    TRY('b',

        mmap(NULL, 128 << 20, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    TRY('d', other);
    TRY('e', env);
    TRY('R', root);
    TRY('M',
        given >= 0 && mmap(NULL, 4096, PROT_READ, MAP_SHARED, given, 0) != MAP_FAILED);
    TRY('A', mmap(NULL, 4096, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    (void)!write(STDOUT_FILENO, done, (size_t)(at - done));
    _exit(0);
}

static void compute(void)
{
#ifdef __SANITIZE_THREAD__ /* takes memory of its own, or ends */
    const uint64_t memory = (uint64_t)1 << 46;
#else
    const uint64_t memory = (uint64_t)64 << 20;
#endif
    apart_limit(&(struct apart_limits){.memory_bytes = memory});
    (void)!write(STDOUT_FILENO, "r", 1);
    for (volatile unsigned long i = 0;; i++)
        ;
}

/* Starts a child, prints its process id and is killed. */
static void begin_and_stay(void)
{
    struct err e = {0};
    int ends[2];
    char ready, text[20];
    const char *const args[] = {"apart", "compute", NULL};
    if (pipe(ends) != 0)
        _exit(1);
    struct apart_program p = {
        .path = self, .args = args, .in = -1, .out = ends[1], .given = -1};
    if (!apart_begin(&p, &e) || read(ends[0], &ready, 1) != 1)
        _exit(1);
    scoped_fd int children = open("/proc/thread-self/children", O_RDONLY);
    ssize_t n = read(children, text, sizeof text);
    (void)!write(STDOUT_FILENO, text, n > 0 ? (size_t)n : 0);
    pause();
}

/* ---- outside ----------------------------------------------------------------------- */

static struct apart *begin(const char *what, int out, int given)
{
    struct err e = {0};
    const char *const args[] = {"apart", what, NULL};
    struct apart_program p = {
        .path = self, .args = args, .in = -1, .out = out, .given = given};
    struct apart *a = apart_begin(&p, &e);
    if (!a)
        fail_msg("%s", e.msg);
    return a;
}

/* A sanitizer needs calls and memory of its own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void nothing_can_be_opened_begun_or_shared(void **state)
{
    (void)state;
    int ends[2];
    char said[20] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    scoped_fd int given = memfd_create("given", 0), leaks = open("/", O_RDONLY);
    assert_int_equal(ftruncate(given, 4096), 0);
    scoped(apart_end) struct apart *a = begin("try", ends[1], given);
    os_close(ends[1]);
    int status = apart_wait(a, 20000);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(read(ends[0], said, sizeof said - 1) >= 0);
    assert_string_equal(said, "RMA");
    os_close(ends[0]);
}
#endif

static void one_that_computes_is_killed_at_its_time(void **state)
{
    (void)state;
    scoped(apart_end) struct apart *a = begin("compute", -1, -1);
    assert_false(apart_is_over(a));
    int status = apart_wait(a, 50);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(apart_is_over(a));
}

static bool is_alive(pid_t pid)
{
    char path[40], text[400] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    scoped_fd int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    return n > 0 && !strstr(text, ") Z ");
}

static void it_ends_with_whoever_began_it(void **state)
{
    (void)state;
    int ends[2];
    char said[20] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t middle = fork();
    if (middle == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        begin_and_stay();
    }
    os_close(ends[1]);
    assert_true(read(ends[0], said, sizeof said - 1) > 0);
    pid_t apart = (pid_t)atoi(said);
    assert_true(apart > 0 && is_alive(apart));
    assert_int_equal(kill(middle, SIGKILL), 0);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    for (int i = 0; i < 2000 && is_alive(apart); i++)
        usleep(10000);
    assert_false(is_alive(apart));
    os_close(ends[0]);
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(apart_find("/nowhere/guest", "cloche-none", NULL, "does nothing", &e));
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.msg, "cloche-none"));
    e = (struct err){0};
    assert_null(apart_begin(
        &(struct apart_program){.path = "/nowhere", .in = -1, .out = -1, .given = -1},
        &e));
    assert_int_equal(e.code, ERR_IO);
}

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    if (argc == 3 && !strcmp(argv[1], "apart") && !strcmp(argv[2], "try"))
        try_all();
    if (argc == 3 && !strcmp(argv[1], "apart"))
        compute();
    const struct CMUnitTest tests[] = {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(nothing_can_be_opened_begun_or_shared),
#endif
        cmocka_unit_test(one_that_computes_is_killed_at_its_time),
        cmocka_unit_test(it_ends_with_whoever_began_it),
        cmocka_unit_test(a_program_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
