/* The host of a machine that runs as a program of this computer. */
#include "vm/outside.h"
#include "vm/host.h"
#include "vm/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct {
    int disks[MACHINE_DISKS];
    int listener, control; /* -1: none */
    bool input_ended, output_full, control_full;
    uint64_t repeat; /* state of the reproducible entropy; 0: real entropy */
    struct termios terminal;
} outside = {.disks = {-1, -1, -1, -1}, .listener = -1, .control = -1};

/* ---- time and entropy -------------------------------------------------------------- */

uint64_t host_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void outside_repeat(void)
{
    outside.repeat = 0x9e3779b97f4a7c15u;
}

static uint8_t repeated(void)
{
    outside.repeat ^= outside.repeat << 13;
    outside.repeat ^= outside.repeat >> 7;
    outside.repeat ^= outside.repeat << 17;
    return (uint8_t)(outside.repeat >> 32);
}

void host_entropy(void *at, uint32_t n)
{
    uint8_t *to = at;
    for (uint32_t i = 0; outside.repeat && i < n; i++)
        to[i] = repeated();
    for (uint32_t i = 0; !outside.repeat && i < n; i += 256)
        if (getentropy(to + i, n - i < 256 ? n - i : 256) < 0)
            abort();
}

/* ---- channels ---------------------------------------------------------------------- */

static void drop_control(void)
{
    close(outside.control);
    outside.control = -1;
    outside.control_full = false;
}

static uint32_t read_control(void *at, uint32_t n)
{
    if (outside.control < 0 && outside.listener >= 0)
        outside.control =
            accept4(outside.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (outside.control < 0)
        return 0;
    ssize_t got = read(outside.control, at, n);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        drop_control();
    return got > 0 ? (uint32_t)got : 0;
}

static uint32_t read_console(void *at, uint32_t n)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (outside.input_ended || poll(&p, 1, 0) <= 0)
        return 0;
    ssize_t got = read(STDIN_FILENO, at, n);
    outside.input_ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return got > 0 ? (uint32_t)got : 0;
}

uint32_t host_read(enum vm_channel channel, void *at, uint32_t n)
{
    return channel == VM_CONTROL ? read_control(at, n) : read_console(at, n);
}

uint32_t host_write(enum vm_channel channel, const void *at, uint32_t n)
{
    if (channel != VM_CONTROL) { /* a reader of this waits as for any program */
        size_t done = fwrite(at, 1, n, stdout);
        fflush(stdout);
        return (uint32_t)done;
    }
    ssize_t done = outside.control < 0 ? 0 : send(outside.control, at, n, MSG_NOSIGNAL);
    if (done < 0 && errno != EAGAIN && errno != EINTR)
        drop_control();
    outside.control_full = done < (ssize_t)n;
    return done > 0 ? (uint32_t)done : 0;
}

const char *outside_control(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof a.sun_path)
        return "its path is too long for a socket";
    memcpy(a.sun_path, path, strlen(path));
    outside.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (outside.listener < 0 ||
        bind(outside.listener, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(outside.listener, 1) < 0)
        return strerror(errno);
    return NULL;
}

void outside_wait(uint64_t until_ns)
{
    uint64_t now = host_now_ns();
    bool held = outside.control_full;
    struct pollfd p[3] = {
        {.fd = outside.input_ended ? -1 : STDIN_FILENO, .events = POLLIN},
        {.fd = outside.control < 0 ? outside.listener : -1, .events = POLLIN},
        {.fd = outside.control, .events = held ? POLLIN | POLLOUT : POLLIN},
    };
    uint64_t ns = until_ns > now ? until_ns - now : 0;
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};
    ppoll(p, 3, until_ns == UINT64_MAX ? NULL : &t, NULL);
}

/* ---- the terminal ------------------------------------------------------------------ */

static void restore(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &outside.terminal);
}

void outside_terminal(void)
{
    if (tcgetattr(STDIN_FILENO, &outside.terminal) < 0)
        return;
    struct termios raw = outside.terminal;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST;
    atexit(restore);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

/* ---- disks ------------------------------------------------------------------------- */

const char *outside_disk(uint32_t n, const char *path, bool read_only, uint64_t *bytes)
{
    int fd = open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return strerror(errno);
    *bytes = (uint64_t)st.st_size / 512 * 512;
    outside.disks[n] = fd;
    return *bytes ? NULL : "it has not one sector";
}

static bool read_all(int fd, uint8_t *at, uint64_t n, uint64_t offset)
{
    while (n) {
        ssize_t got = pread(fd, at, n, (off_t)offset);
        if (got <= 0)
            return false;
        at += got, offset += (uint64_t)got, n -= (uint64_t)got;
    }
    return true;
}

static bool write_all(int fd, const uint8_t *at, uint64_t n, uint64_t offset)
{
    while (n) {
        ssize_t put = pwrite(fd, at, n, (off_t)offset);
        if (put <= 0)
            return false;
        at += put, offset += (uint64_t)put, n -= (uint64_t)put;
    }
    return true;
}

/* As FALLOC_FL_PUNCH_HOLE, on every file system. */
static bool zero(int fd, uint64_t n, uint64_t offset)
{
    static const uint8_t zeros[65536];
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)n) == 0)
        return true;
    for (; n; offset += sizeof zeros) {
        uint64_t part = n < sizeof zeros ? n : sizeof zeros;
        if (!write_all(fd, zeros, part, offset))
            return false;
        n -= part;
    }
    return true;
}

bool host_disk(uint32_t disk, enum host_disk_op op, uint64_t offset, void *at, uint64_t n)
{
    int fd = disk < MACHINE_DISKS ? outside.disks[disk] : -1;
    switch (op) {
    case HOST_DISK_READ:
        return read_all(fd, at, n, offset);
    case HOST_DISK_WRITE:
        return write_all(fd, at, n, offset);
    case HOST_DISK_FLUSH:
        return fdatasync(fd) == 0 || errno == EINVAL;
    case HOST_DISK_DISCARD:
    case HOST_DISK_ZERO:
        return zero(fd, n, offset);
    default:
        return false;
    }
}

void host_give_back(void *at, uint64_t n)
{
    madvise(at, n, MADV_DONTNEED);
}
