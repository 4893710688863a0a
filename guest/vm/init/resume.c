/* vm/init/resume.c - makes a copied machine differ from its original (clock, random
 * state, names), and prepares a machine for the copy. */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vm/init/file.h"
#include "vm/init/log.h"
#include "vm/init/network.h"
#include "vm/init/setup.h"

static void set_clock(uint64_t wall_ns)
{
    struct timespec t = {.tv_sec = (time_t)(wall_ns / 1000000000),
                         .tv_nsec = (long)(wall_ns % 1000000000)};
    if (clock_settime(CLOCK_REALTIME, &t) < 0)
        log_line("the clock is not set: %m");
}

static void refresh_random(const uint8_t *bytes, size_t n)
{
    struct {
        int bits, size;
        uint8_t bytes[sizeof((struct vm_resume){0}.entropy)];
    } pool = {.bits = (int)n * 8, .size = (int)n};
    memcpy(pool.bytes, bytes, n);
    int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0)
        /* secrets would equal another machine's */
        die("the random state is not fresh: %m");
    close(fd);
    explicit_bzero(&pool, sizeof pool);
}

static void name_it(uint64_t machine)
{
    char text[64];
    unsigned long long m = machine;
    int n = snprintf(text, sizeof text, "cloche-%06llx", m & 0xffffff);
    if (sethostname(text, (size_t)n) < 0)
        log_line("no host name: %m");
    snprintf(text, sizeof text, "%016llx%016llx\n", m, (m ^ 0x5851f42d4c957f2d) * 3);
    file_set("/run/machine-id", text);
    uint64_t r[2] = {0, 0};
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, r, sizeof r);
    (void)got;
    close(fd);
    snprintf(text, sizeof text, "%08x-%04x-4%03x-8%03x-%012llx\n", (unsigned)r[0],
             (unsigned)(r[0] >> 32) & 0xffff, (unsigned)(r[0] >> 48) & 0xfff,
             (unsigned)(r[1] >> 48) & 0xfff, (unsigned long long)r[1] & 0xffffffffffff);
    file_set("/run/boot-id", text);
}

/* The host stores no more: writers have to get ENOSPC early, since the disk itself can
 * only fail when it is too late. A sixteenth is for the file system's own data. statvfs()
 * of an overlay reports its disk. */
static void limit_disk(uint64_t bytes)
{
    struct statvfs s;
    if (bytes == 0 || statvfs("/", &s) < 0 || s.f_bsize == 0)
        return;
    uint64_t may = (bytes - bytes / 16) / s.f_bsize;
    if (may >= s.f_bfree)
        return;
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)(s.f_bfree - may));
    file_set("/sys/fs/ext4/vdb/reserved_clusters", text);
}

void resume(const struct vm_resume *r)
{
    set_clock(r->wall_ns);
    refresh_random(r->entropy, sizeof r->entropy);
    name_it(r->machine);
    limit_disk(r->disk_bytes);
    network_set(r);
}

/* Pages are zeroed when they are allocated: so one process allocates all free ones. It is
 * the OOM killer's first choice. */
static void fill_with_zeros(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        file_set("/proc/self/oom_score_adj", "1000");
        struct sysinfo s;
        sysinfo(&s);
        size_t piece = 1 << 20, leave = 4 << 20;
        for (size_t n = (size_t)s.freeram * s.mem_unit; n > leave + piece; n -= piece)
            if (mmap(NULL, piece, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
                break;
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Files of python and the shells stay in the page cache: that makes the start fast. */
void quiesce(void)
{
    sync();
    file_set("/proc/sys/vm/compact_memory", "1");
    fill_with_zeros();
}
