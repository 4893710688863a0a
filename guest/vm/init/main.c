/* vm/init/main.c - PID 1 of the machine.
 *
 * One thread, one epoll: frames of the host come in, commands' outputs go out, children end.
 * It never waits for anything but in that epoll (and for the host to take what it says), so
 * whatever runs in the machine, the host is answered.
 *
 *   cloche-init                            as the kernel starts it
 *   cloche-init --port FD --library FILE   as a program, for tests: frames on a socket, no
 *                                          mounts; the process ends instead of the machine
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/init/exec.h"
#include "vm/init/log.h"
#include "vm/init/mounts.h"
#include "vm/init/port.h"
#include "vm/init/setup.h"
#include "vm/init/trust.h"

#define LIBRARY "/run/cloche/session.so"

/* guest/vm/session, compiled for the machine's bash, embedded here. */
extern const uint8_t session_library[], session_library_end[];
__asm__(".section .rodata\n"
        ".global session_library, session_library_end\n"
        "session_library: .incbin \"" SESSION_LIBRARY "\"\n"
        "session_library_end:\n"
        ".previous");

static bool own_machine; /* else a program, in tests */
static enum log_end wanted_end;

/* ---- children and signals ---------------------------------------------------------------- */

static void reap(void)
{
    struct rusage u;
    int status;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &u)) > 0;) {
        uint64_t us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
        shell_reaped(pid, status, us * 1000); /* or an orphan, which nothing waits for */
    }
}

/* `poweroff`, `halt` and `reboot` are busybox', which signal init. */
static enum log_end end_of_signal(int number)
{
    return number == SIGTERM || number == SIGINT ? END_REBOOT : END_POWER_OFF;
}

static void told(struct source *s, uint32_t events)
{
    (void)events;
    struct signalfd_siginfo i;
    if (read(s->fd, &i, sizeof i) != sizeof i)
        return;
    if (i.ssi_signo == SIGCHLD)
        reap();
    else if (wanted_end == END_NONE)
        wanted_end = end_of_signal((int)i.ssi_signo);
}

static void hear_signals(void)
{
    static struct source signals;
    sigset_t set;
    sigemptyset(&set);
    const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGPWR};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!source_open(&signals, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), EPOLLIN,
                     told))
        die("no signals: %m");
}

/* ---- frames ------------------------------------------------------------------------------ */

static void take_resume(const struct vm_frame *f, const uint8_t *payload)
{
    struct vm_resume r;
    if (f->length < sizeof r)
        die("the host sent a resume of %u bytes", f->length);
    memcpy(&r, payload, sizeof r);
    if (own_machine) {
        resume(&r);
        trust((const char *)payload + sizeof r, f->length - sizeof r);
    }
    port_say(0, VM_READY, NULL, 0);
}

/* Killed processes have to be gone before the image is copied. */
static void take_quiesce(void)
{
    execs_end_all();
    for (int ms = 0; ms < 5000 && !leaves_are_empty(); ms++)
        usleep(1000);
    reap();
    if (own_machine)
        quiesce();
    port_say(0, VM_READY, NULL, 0);
}

static void take_frame(const struct vm_frame *f, const uint8_t *payload)
{
    switch (f->verb) {
    case VM_RESUME:
        take_resume(f, payload);
        break;
    case VM_QUIESCE:
        take_quiesce();
        break;
    case VM_PING:
        port_say(0, VM_PONG, payload, f->length);
        break;
    case VM_MOUNT:
    case VM_UNMOUNT:
        mounts_frame(f, payload, own_machine);
        break;
    case VM_POWER_OFF:
        end_machine(END_POWER_OFF);
    default:
        execs_frame(f, payload);
        break;
    }
}

/* ---- start ------------------------------------------------------------------------------- */

static void bring_library(void)
{
    mkdir("/run/cloche", 0700);
    int fd = open(LIBRARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t n = (size_t)(session_library_end - session_library);
    if (fd < 0 || write(fd, session_library, n) != (ssize_t)n)
        log_line(LIBRARY ": %m");
    if (fd >= 0)
        close(fd);
}

int main(int n, char **words)
{
    const char *library = LIBRARY;
    int port = -1;
    hear_signals();
    if (n == 5 && strcmp(words[1], "--port") == 0 && strcmp(words[3], "--library") == 0) {
        log_as_a_program();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        port = atoi(words[2]);
        library = words[4];
        fcntl(port, F_SETFD, FD_CLOEXEC);
        leaves_open(false);
    } else if (getpid() == 1) {
        own_machine = true;
        set_up();
        bring_library();
        leaves_open(true);
    } else {
        fprintf(stderr, "usage: %s --port FD --library FILE\n", words[0]);
        return 64;
    }
    execs_open(library);
    port_open(port, take_frame);
    port_say(0, VM_READY, NULL, 0);
    while (wanted_end == END_NONE) {
        port_flush();
        uint64_t due = execs_due(), then = port_due();
        sources_wait(due < then ? due : then);
        execs_tick();
    }
    sources_wait(0); /* output printed before */
    port_flush();
    end_machine(wanted_end);
}
