/* vm/init/leaf.c - see leaf.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "abi/vm.h"
#include "vm/init/file.h"
#include "vm/init/leaf.h"
#include "vm/init/log.h"

#define TOP "/sys/fs/cgroup/cloche"
/* One for each shell, and as many again for background processes. */
enum { LEAVES = 4 * (VM_SESSIONS_MAX + VM_EXECS_MAX) };

static struct leaf leaves[LEAVES];
static bool with_cgroups;

static void put_number(const char *path, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    if (!file_put(path, text))
        log_line("%s stays without a limit: %m", path);
}

/* Limits of commands: so much remains for init, the kernel and the first shell that they
 * can fork while commands use all they may. Each process takes some 0.4 MB, not all of
 * which the kernel counts. */
static void set_limits(void)
{
    struct sysinfo s;
    sysinfo(&s);
    uint64_t total = (uint64_t)s.totalram * s.mem_unit;
    put_number(TOP "/memory.max", total - total / 8 - (8u << 20));
    uint64_t processes = total >> 19;
    put_number(TOP "/pids.max", processes < 128 ? 128 : processes);
}

void leaves_open(bool limits)
{
    for (int i = 0; i < LEAVES; i++)
        leaves[i] = (struct leaf){.events.fd = -1, .procs = -1, .number = (uint32_t)i};
    if (limits)
        file_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory +pids");
    bool made = mkdir(TOP, 0755) == 0;
    with_cgroups = access(TOP "/cgroup.procs", W_OK) == 0;
    if (!with_cgroups)
        log_line("no cgroups: %m");
    if (!with_cgroups && made) /* another file system is mounted there */
        rmdir(TOP);
    if (!with_cgroups || !limits)
        return;
    set_limits();
    file_put(TOP "/cgroup.subtree_control", "+memory +pids");
}

/* ---- members ----------------------------------------------------------------------------- */

/* Calls `each` for every process of a cgroup, until it returns false. */
static void each_member(const struct leaf *l, bool (*each)(pid_t pid, void *arg),
                        void *arg)
{
    char text[4096];
    size_t n = 0;
    off_t at = 0;
    for (ssize_t got; (got = pread(l->procs, text + n, sizeof text - 1 - n, at)) > 0;) {
        at += got;
        n += (size_t)got;
        text[n] = '\0';
        char *line = text;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
            if (!each((pid_t)atoi(line), arg))
                return;
        n = strlen(line);
        memmove(text, line, n);
    }
}

/* The same without cgroups: for processes of the shell's session. */
static void each_of_session(pid_t session, bool (*each)(pid_t pid, void *arg), void *arg)
{
    DIR *d = opendir("/proc");
    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && getsid(pid) == session && !each(pid, arg))
            break;
    }
    closedir(d);
}

static void each_process(const struct leaf *l, bool (*each)(pid_t pid, void *arg),
                         void *arg)
{
    if (l->procs >= 0)
        each_member(l, each, arg);
    else if (l->shell > 0)
        each_of_session(l->shell, each, arg);
}

struct other {
    pid_t than;
    bool found;
};

static bool is_other(pid_t pid, void *arg)
{
    struct other *o = arg;
    o->found = pid != o->than;
    return !o->found;
}

static bool empty_but(const struct leaf *l, pid_t pid)
{
    struct other o = {.than = pid};
    each_process(l, is_other, &o);
    return !o.found;
}

bool leaf_is_alone(const struct leaf *l)
{
    return l == NULL || empty_but(l, l->shell);
}

/* ---- creation and lookup ----------------------------------------------------------------- */

static void path_of(const struct leaf *l, const char *file, char path[64])
{
    snprintf(path, 64, TOP "/%u%s", l->number, file);
}

static uint32_t count_ooms(int fd)
{
    char text[512];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = '\0';
    const char *at = strstr(text, "oom_kill ");
    return at == NULL ? 0 : (uint32_t)atoi(at + 9);
}

static void memory_told(struct source *s, uint32_t events)
{
    (void)events;
    source_of(struct leaf, events, s)->ooms = count_ooms(s->fd);
}

/* The kernel counts at once, but init may read the command's end first. */
uint32_t leaf_ooms(struct leaf *l)
{
    return l == NULL ? 0 : l->ooms;
}

static bool make(struct leaf *l)
{
    if (l->made)
        return true;
    if (!with_cgroups)
        return l->made = true;
    char path[64];
    path_of(l, "", path);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return false;
    path_of(l, "/cgroup.procs", path);
    l->procs = open(path, O_RDWR | O_CLOEXEC);
    if (l->procs < 0)
        return false;
    path_of(l, "/memory.events", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        source_open(&l->events, fd, EPOLLPRI, memory_told);
        l->ooms = count_ooms(fd);
    }
    return l->made = true;
}

static struct leaf *free_leaf(void)
{
    for (int i = 0; i < LEAVES; i++) {
        struct leaf *l = &leaves[i];
        if (l->shell == 0 && make(l) && (l->procs < 0 || empty_but(l, 0)))
            return l;
    }
    return NULL;
}

static bool move(struct leaf *l, pid_t pid)
{
    if (l->procs < 0)
        return true;
    char text[16];
    int n = snprintf(text, sizeof text, "%d", (int)pid);
    return write(l->procs, text, (size_t)n) == n;
}

struct leaf *leaf_enter(struct leaf *had, pid_t shell, uint32_t session)
{
    if (had != NULL && (had->procs < 0 || empty_but(had, shell)))
        return had;
    struct leaf *l = free_leaf();
    if (l == NULL || !move(l, shell))
        return NULL;
    if (had != NULL)
        had->shell = 0;
    l->shell = shell;
    l->session = session;
    return l;
}

void leaf_left(struct leaf *l)
{
    l->shell = 0;
}

/* ---- signals ----------------------------------------------------------------------------- */

struct sent {
    pid_t spared;
    int number;
};

static bool send_one(pid_t pid, void *arg)
{
    const struct sent *s = arg;
    if (pid != s->spared)
        kill(pid, s->number);
    return true;
}

static void put_in_cgroup(const struct leaf *l, const char *file, const char *what)
{
    char path[64];
    path_of(l, file, path);
    file_put(path, what);
}

void leaf_freeze(struct leaf *l, bool frozen)
{
    if (l != NULL && l->procs >= 0)
        put_in_cgroup(l, "/cgroup.freeze", frozen ? "1" : "0");
}

void leaf_signal(struct leaf *l, int number)
{
    if (l == NULL)
        return;
    struct sent s = {.spared = l->shell, .number = number};
    each_process(l, send_one, &s);
}

static void kill_cgroup(struct leaf *l)
{
    put_in_cgroup(l, "/cgroup.kill", "1");
}

struct leaf *leaf_kill(struct leaf *l)
{
    if (l == NULL || l->procs < 0) {
        leaf_signal(l, SIGKILL);
        return l;
    }
    if (l->shell == 0) { /* it has ended; 0 would mean init */
        kill_cgroup(l);
        return l;
    }
    struct leaf *to = free_leaf();
    if (to != NULL && move(to, l->shell)) {
        to->shell = l->shell;
        to->session = l->session;
    } else {
        to = NULL;
    }
    l->shell = 0;
    kill_cgroup(l);
    return to;
}

void leaves_kill(uint32_t session)
{
    for (int i = 0; i < LEAVES; i++) {
        struct leaf *l = &leaves[i];
        if (!l->made || (session != 0 && l->session != session))
            continue;
        if (l->procs >= 0) {
            kill_cgroup(l);
        } else if (l->shell > 0) {
            leaf_signal(l, SIGKILL);
            kill(l->shell, SIGKILL);
        }
    }
}

bool leaves_are_empty(void)
{
    for (int i = 0; i < LEAVES; i++)
        if (leaves[i].procs >= 0 && !empty_but(&leaves[i], 0))
            return false;
    return true;
}
