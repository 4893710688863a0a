/* Who runs a tool, and where: one user without privileges, on one host, in UTC, in the
 * folder that the runner says, with standard output through a large buffer. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>
#include <wasi/libc.h>

#define USER 1000 /* as stat.c says */

static char name[] = "user", word[] = "x", full[] = "", home[] = "/work", shell[] = "/bin/sh";
static char *members[] = {NULL};
static struct passwd user = {name, word, USER, USER, full, home, shell};
static struct group group = {name, word, USER, members};

struct passwd *getpwuid(uid_t id)
{
    return id == USER ? &user : NULL;
}

struct passwd *getpwnam(const char *who)
{
    return strcmp(who, name) == 0 ? &user : NULL;
}

struct group *getgrgid(gid_t id)
{
    return id == USER ? &group : NULL;
}

struct group *getgrnam(const char *who)
{
    return strcmp(who, name) == 0 ? &group : NULL;
}

/* The lists of one. */
static int users_told, groups_told;

struct passwd *getpwent(void)
{
    return users_told++ == 0 ? &user : NULL;
}

void setpwent(void)
{
    users_told = 0;
}

void endpwent(void)
{
    users_told = 0;
}

struct group *getgrent(void)
{
    return groups_told++ == 0 ? &group : NULL;
}

void setgrent(void)
{
    groups_told = 0;
}

void endgrent(void)
{
    groups_told = 0;
}

uid_t getuid(void)
{
    return USER;
}

uid_t geteuid(void)
{
    return USER;
}

gid_t getgid(void)
{
    return USER;
}

gid_t getegid(void)
{
    return USER;
}

int getgroups(int room, gid_t out[])
{
    if (room > 0)
        out[0] = USER;
    return 1;
}

/* To become who one is already goes well. */
static int become(unsigned id)
{
    if (id == USER || id == (unsigned)-1)
        return 0;
    errno = EPERM;
    return -1;
}

int setuid(uid_t id)
{
    return become(id);
}

int seteuid(uid_t id)
{
    return become(id);
}

int setgid(gid_t id)
{
    return become(id);
}

int setegid(gid_t id)
{
    return become(id);
}

int setreuid(uid_t real, uid_t effective)
{
    return become(real) < 0 ? -1 : become(effective);
}

int setregid(gid_t real, gid_t effective)
{
    return become(real) < 0 ? -1 : become(effective);
}

int setresuid(uid_t real, uid_t effective, uid_t saved)
{
    return setreuid(real, effective) < 0 ? -1 : become(saved);
}

int setresgid(gid_t real, gid_t effective, gid_t saved)
{
    return setregid(real, effective) < 0 ? -1 : become(saved);
}

int setgroups(size_t n, const gid_t ids[])
{
    (void)n, (void)ids;
    errno = EPERM;
    return -1;
}

int issetugid(void)
{
    return 0;
}

/* Files belong to the one user, whatever is asked; a file that is not there is an error. */
int fchownat(int fd, const char *path, uid_t owner, gid_t of, int flags)
{
    (void)owner, (void)of;
    struct stat s;
    return fstatat(fd, path, &s, flags);
}

int chown(const char *path, uid_t owner, gid_t of)
{
    (void)owner, (void)of;
    struct stat s;
    return stat(path, &s);
}

int lchown(const char *path, uid_t owner, gid_t of)
{
    (void)owner, (void)of;
    struct stat s;
    return lstat(path, &s);
}

int fchown(int fd, uid_t owner, gid_t of)
{
    (void)owner, (void)of;
    struct stat s;
    return fstat(fd, &s);
}

char *getlogin(void)
{
    return name;
}

int getlogin_r(char *out, size_t room)
{
    if (room < sizeof name)
        return ERANGE;
    memcpy(out, name, sizeof name);
    return 0;
}

static const char host[] = "cloche";

int gethostname(char *out, size_t room)
{
    if (room < sizeof host) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(out, host, sizeof host);
    return 0;
}

/* ---- UTC --------------------------------------------------------------------- */

static char utc[] = "UTC";
char *tzname[2] = {utc, utc};
int daylight;
long timezone;

void tzset(void)
{
}

/* Output to a pipe or a file is written in large pieces: the C library's are of 1 KB. */
__attribute__((constructor(102))) static void buffer_output(void)
{
    static char room[1 << 15];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, room, _IOFBF, sizeof room);
}

/* "/" and "." are the same to the C library, the empty beginning of a path, and the later one
 * counts. What is given a working directory asks for nothing by ".". */
static void put_root_last(void)
{
    __wasi_prestat_t s;
    for (__wasi_fd_t fd = 3; __wasi_fd_prestat_get(fd, &s) == 0; fd++) {
        uint8_t name[1];
        if (s.u.dir.pr_name_len != sizeof name ||
            __wasi_fd_prestat_dir_name(fd, name, sizeof name) != 0 || name[0] != '/')
            continue;
        __wasilibc_register_preopened_fd((int)fd, "/");
        return;
    }
}

/* The working directory of a program is the C library's own affair here: it begins at "/".
 * The runner says in the environment where the call wants it. */
__attribute__((constructor(101))) static void go_to_work(void)
{
    int before = errno;
    const char *where = getenv("PWD");
    if (where && where[0] == '/' && chdir(where) == 0)
        put_root_last();
    errno = before;
}
