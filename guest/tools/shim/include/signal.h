/* What the C library's signal.h leaves out: sets, masks and sigaction (signal.c). */
#ifndef CLOCHE_SIGNAL_H
#define CLOCHE_SIGNAL_H
#include <sys/types.h>

#include <__typedef_sigset_t.h>
#include_next <signal.h>
#ifdef __cplusplus
extern "C" {
#endif

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SA_NOCLDSTOP 1
#define SA_NOCLDWAIT 2
#define SA_SIGINFO   4
#define SA_ONSTACK   0x08000000
#define SA_RESTART   0x10000000
#define SA_NODEFER   0x40000000
#define SA_RESETHAND 0x80000000

union sigval {
    int sival_int;
    void *sival_ptr;
};
typedef struct {
    int si_signo, si_errno, si_code;
    int si_status;
    pid_t si_pid;
    uid_t si_uid;
    void *si_addr;
    union sigval si_value;
} siginfo_t;
struct sigaction {
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    } __sa_handler;
    sigset_t sa_mask;
    int sa_flags;
    void (*sa_restorer)(void);
};
#define sa_handler   __sa_handler.sa_handler
#define sa_sigaction __sa_handler.sa_sigaction

int kill(pid_t, int);
int killpg(pid_t, int);
int sigemptyset(sigset_t *);
int sigfillset(sigset_t *);
int sigaddset(sigset_t *, int);
int sigdelset(sigset_t *, int);
int sigismember(const sigset_t *, int);
int sigprocmask(int, const sigset_t *__restrict, sigset_t *__restrict);
int pthread_sigmask(int, const sigset_t *__restrict, sigset_t *__restrict);
int sigpending(sigset_t *);
int sigsuspend(const sigset_t *);
int sigwait(const sigset_t *__restrict, int *__restrict);
int sigaction(int, const struct sigaction *__restrict, struct sigaction *__restrict);
int siginterrupt(int, int);
#ifdef __cplusplus
}
#endif
#endif
