/* vm/many_test.h - many commands at once, and leaks after them. Only for *_test.c. */
#pragma once
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

#include "vm/commands.h"

#define WORKERS 8u
#define WORKER_COMMANDS 50u

/* Writes the i-th command of a worker, which has to print "NUMBER.I". */
typedef void worker_command_fn(unsigned number, unsigned i, char out[static 80]);

struct worker {
    struct vm *in;
    worker_command_fn *command;
    unsigned number, wrong;
    pthread_t thread;
};

static inline void *work(void *arg)
{
    struct worker *w = arg;
    char session[16], command[80], want[40];
    (void)snprintf(session, sizeof session, "w%u", w->number);
    for (unsigned i = 0; i < WORKER_COMMANDS; i++) {
        w->command(w->number, i, command);
        (void)snprintf(want, sizeof want, "%u.%u\n", w->number, i);
        struct vm_exec x = {.command = str_of(command), .session = str_of(session)};
        struct vm_result r;
        struct err e = {0};
        bool right =
            vm_exec(w->in, &x, &r, &e) && strcmp(buf_cz(&r.stdout_bytes), want) == 0;
        w->wrong += !right;
        vm_result_done(&r);
    }
    return NULL;
}

/* As many sessions as workers, each on a thread; returns the number of commands that
 * failed. */
static inline unsigned work_at_once(struct vm *in, worker_command_fn *command)
{
    struct worker w[WORKERS];
    unsigned wrong = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        w[i] = (struct worker){.in = in, .command = command, .number = i};
        must(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        must(pthread_join(w[i].thread, NULL) == 0);
        wrong += w[i].wrong;
    }
    return wrong;
}

static inline size_t count_entries(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

/* Waits until the process has at most that many threads: a joined one may be about to
 * exit. */
static inline void await_threads(size_t most)
{
    while (count_entries("/proc/self/task") > most)
        ;
}
