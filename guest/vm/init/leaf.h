/* vm/init/leaf.h - cgroups: all that a command has started, whatever became of it.
 *
 * A shell is moved into an empty leaf before a command, if the one that it is in is not
 * empty but for it: so a leaf holds one command's processes, those that it left in the
 * background included, and most commands cost no cgroup. All leaves lie below one, whose
 * limits keep what runs from taking the machine away from init.
 *
 * Where there are no cgroups (a test without root), a command's processes are those of its
 * shell's session (setsid).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vm/init/source.h"

struct leaf {
    struct source events; /* memory.events; closed if memory is not limited */
    int procs;            /* cgroup.procs; -1: no cgroup */
    uint32_t number;
    uint32_t session; /* of the last command in it */
    pid_t shell;      /* in it; 0: none */
    uint32_t ooms;    /* processes killed by the OOM killer */
    bool made;
};

/* Mounts nothing. `limits`: RAM and processes are limited, by the size of RAM. */
void leaves_open(bool limits);

/* Moves `shell` to an empty leaf; `had` is its current one, or NULL. NULL: no leaf is
 * left, or the shell is gone. */
struct leaf *leaf_enter(struct leaf *had, pid_t shell, uint32_t session);
/* Its shell has ended. Other processes in it go on. */
void leaf_left(struct leaf *l);

/* Whether its shell is its only process. True for NULL. */
bool leaf_is_alone(const struct leaf *l);
/* The number of its processes killed by the OOM killer. 0 for NULL. */
uint32_t leaf_ooms(struct leaf *l);
/* true: none of its processes, nor the shell, runs on, and signals other than SIGKILL wait.
 * false: they run again. Does nothing for NULL and without cgroups. */
void leaf_freeze(struct leaf *l, bool frozen);
/* Signals all but the shell. NULL: none. */
void leaf_signal(struct leaf *l, int number);
/* Kills all but the shell, atomically, so that forks cannot escape; returns the leaf that
 * the shell is in then. NULL: none, and the shell was killed too; also for NULL. */
struct leaf *leaf_kill(struct leaf *l);
/* Kills all processes that commands of a session left, shells included; 0: of all
 * sessions. */
void leaves_kill(uint32_t session);
bool leaves_are_empty(void);
