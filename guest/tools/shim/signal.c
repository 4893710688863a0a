/* Signals, of which there are only those that a program sends to itself: sets, masks,
 * handlers, and an end with 128+n where nobody handles one. In place of the C library's
 * emulation, which has neither and ends with a trap. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct sigaction actions[_NSIG];
static sigset_t blocked, waiting;

void __SIG_IGN(int signal)
{
    (void)signal;
}

void __SIG_ERR(int signal)
{
    (void)signal;
}

static int known(int signal)
{
    if (signal > 0 && signal <= 64)
        return 1;
    errno = EINVAL;
    return 0;
}

static sigset_t bit(int signal)
{
    return (sigset_t)1 << (signal - 1);
}

int sigemptyset(sigset_t *set)
{
    *set = 0;
    return 0;
}

int sigfillset(sigset_t *set)
{
    *set = ~(sigset_t)0;
    return 0;
}

int sigaddset(sigset_t *set, int signal)
{
    if (!known(signal))
        return -1;
    *set |= bit(signal);
    return 0;
}

int sigdelset(sigset_t *set, int signal)
{
    if (!known(signal))
        return -1;
    *set &= ~bit(signal);
    return 0;
}

int sigismember(const sigset_t *set, int signal)
{
    return known(signal) ? (*set & bit(signal)) != 0 : -1;
}

static int ignored_by_default(int signal)
{
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

static void deliver(int signal)
{
    void (*handler)(int) = actions[signal].sa_handler;
    if (handler == SIG_IGN || (handler == SIG_DFL && ignored_by_default(signal)))
        return;
    if (handler == SIG_DFL)
        _Exit(128 + signal);
    if ((unsigned)actions[signal].sa_flags & SA_RESETHAND)
        actions[signal].sa_handler = SIG_DFL;
    handler(signal);
}

int raise(int signal)
{
    if (!known(signal))
        return -1;
    if (blocked & bit(signal) && signal != SIGKILL && signal != SIGSTOP)
        waiting |= bit(signal);
    else
        deliver(signal);
    return 0;
}

int kill(pid_t who, int signal)
{
    if (who > 0 && who != getpid()) {
        errno = ESRCH;
        return -1;
    }
    return signal == 0 ? 0 : raise(signal);
}

int killpg(pid_t group, int signal)
{
    return kill(group == getpgrp() ? 0 : group, signal);
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    if (before)
        *before = blocked;
    if (!set)
        return 0;
    if (how == SIG_BLOCK)
        blocked |= *set;
    else if (how == SIG_UNBLOCK)
        blocked &= ~*set;
    else
        blocked = *set;
    for (int signal = 1; waiting & ~blocked && signal <= 64; signal++) {
        if (!(waiting & ~blocked & bit(signal)))
            continue;
        waiting &= ~bit(signal);
        deliver(signal);
    }
    return 0;
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
    return sigprocmask(how, set, before);
}

int sigpending(sigset_t *set)
{
    *set = waiting;
    return 0;
}

/* Nobody else is there to send one. */
int sigsuspend(const sigset_t *set)
{
    (void)set;
    errno = EINTR;
    return -1;
}

int sigwait(const sigset_t *restrict set, int *restrict signal)
{
    (void)set, (void)signal;
    return EINTR;
}

int sigaction(int signal, const struct sigaction *restrict now, struct sigaction *restrict before)
{
    if (!known(signal))
        return -1;
    if (before)
        *before = actions[signal];
    if (now)
        actions[signal] = *now;
    return 0;
}

int siginterrupt(int signal, int flag)
{
    (void)flag;
    return known(signal) ? 0 : -1;
}

void (*signal(int signal, void (*handler)(int)))(int)
{
    if (!known(signal) || signal == SIGKILL || signal == SIGSTOP)
        return SIG_ERR;
    void (*before)(int) = actions[signal].sa_handler;
    actions[signal] = (struct sigaction){.sa_handler = handler};
    return before;
}

/* The C library's own names for it: they would bring its signal() in. */
__attribute__((alias("signal"))) void (*bsd_signal(int, void (*)(int)))(int);
__attribute__((alias("signal"))) void (*__sysv_signal(int, void (*)(int)))(int);

unsigned alarm(unsigned seconds)
{
    (void)seconds;
    return 0;
}
