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
    struct source events; /* memory.events; closed where memory is not limited */
    int procs;            /* cgroup.procs; -1: the leaf is no cgroup */
    uint32_t number;
    uint32_t session; /* whose command was put there last */
    pid_t shell;      /* that is in it; 0: none */
    uint32_t ooms;    /* processes of it that were killed for want of memory */
    bool made;
};

/* Mounts nothing. `limits`: RAM and processes are limited, by the size of RAM. */
void leaves_open(bool limits);

/* An empty leaf with `shell` in it; `had` is where it is now, or NULL. NULL: there are no
 * more, or the shell is gone. */
struct leaf *leaf_enter(struct leaf *had, pid_t shell, uint32_t session);
/* Its shell has ended. What else is in it runs on. */
void leaf_left(struct leaf *l);

/* Is there nothing in it but its shell? Fine for NULL. */
bool leaf_is_alone(const struct leaf *l);
/* How many of its processes were killed because memory had run out. 0 for NULL. */
uint32_t leaf_ooms(struct leaf *l);
/* To all but the shell. NULL: to none. */
void leaf_signal(struct leaf *l, int number);
/* Kills all but the shell, which is then in the leaf that comes back; at once, so that
 * what forks cannot get ahead. NULL: there is none, and the shell was killed too.
 * NULL too for NULL. */
struct leaf *leaf_kill(struct leaf *l);
/* Kills all that commands of a session left, shells included; 0: of all. */
void leaves_kill(uint32_t session);
bool leaves_are_empty(void);
