/* base/kill_test.h - kills a child at a given system call, not after a time. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

/* Kills `child` when its first thread enters or leaves a system call for the `stops`th
 * time from now on, or at once if ptrace is not permitted. false: it had ended before. */
static inline bool kill_at_stop(pid_t child, unsigned stops)
{
    int status = 0;
    bool looks = ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0 &&
                 ptrace(PTRACE_INTERRUPT, child, NULL, NULL) == 0;
    while (looks && waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        int sign = WSTOPSIG(status);
        bool call = sign == (SIGTRAP | 0x80), event = status >> 16;
        if (call && stops-- <= 1)
            break;
        (void)ptrace(PTRACE_SYSCALL, child, NULL,
                     (void *)(long)(call || event ? 0 : sign));
    }
    if (looks && !WIFSTOPPED(status))
        return false;
    (void)kill(child, SIGKILL);
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}
