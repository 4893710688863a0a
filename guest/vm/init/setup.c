/* vm/init/setup.c - see setup.h. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm/init/file.h"
#include "vm/init/log.h"
#include "vm/init/setup.h"

static bool mounted(const char *what, const char *where, const char *type,
                    unsigned long flags, const char *options)
{
    if (mount(what, where, type, flags, options) == 0)
        return true;
    log_line("%s is not mounted at %s: %m", what, where);
    return false;
}

/* The disk is mounted below /mnt of the read-only root, and hidden once the overlay is
 * the root, which keeps its layers. Without a disk changes are in memory. Deleted blocks
 * are discarded on the host, which counts the blocks in use. */
static void overlay_root(void)
{
    if (!mounted("/dev/vdb", "/mnt", "ext4", MS_NOATIME, "discard") &&
        !mounted("none", "/mnt", "tmpfs", 0, "mode=755"))
        return;
    mkdir("/mnt/upper", 0755);
    mkdir("/mnt/work", 0755);
    if (!mounted("overlay", "/tmp", "overlay", 0,
                 "lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work"))
        return;
    if (chdir("/tmp") < 0 || syscall(SYS_pivot_root, ".", "mnt") < 0) {
        log_line("the root stays read-only: %m");
        return;
    }
    if (chroot(".") < 0 || chdir("/") < 0)
        log_line("chroot: %m");
    umount2("/mnt", MNT_DETACH);
}

static void mount_all(void)
{
    static const struct {
        const char *type, *where, *options;
        unsigned long flags;
        mode_t mode;
    } mounts[] = {
        {"proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0755},
        {"sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0755},
        {"devtmpfs", "/dev", "mode=755", MS_NOSUID, 0755},
        {"devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666", MS_NOSUID | MS_NOEXEC,
         0755},
        {"tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV, 01777},
        {"tmpfs", "/run", "mode=755", MS_NOSUID | MS_NODEV, 0755},
        {"tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV, 01777},
        {"cgroup2", "/sys/fs/cgroup", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, 0755},
    };
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        mkdir(mounts[i].where, mounts[i].mode);
        mounted(mounts[i].type, mounts[i].where, mounts[i].type, mounts[i].flags,
                mounts[i].options);
    }
}

static void link_devices(void)
{
    static const char *const links[][2] = {
        {"/proc/self/fd", "/dev/fd"},
        {"/proc/self/fd/0", "/dev/stdin"},
        {"/proc/self/fd/1", "/dev/stdout"},
        {"/proc/self/fd/2", "/dev/stderr"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], links[i][1]) < 0 && errno != EEXIST)
            log_line("%s: %m", links[i][1]);
}

/* The card as well, so that its buffers are allocated before its link comes up. It has no
 * address yet. */
static void interfaces_up(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    struct ifreq card = {.ifr_name = "eth0", .ifr_flags = IFF_UP};
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
        log_line("there is no loopback: %m");
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &card) < 0)
        log_line("there is no network card: %m");
    /* Nor does it ask for a router: network.c sets what one would say. */
    file_set("/proc/sys/net/ipv6/conf/eth0/accept_ra", "0");
    if (fd >= 0)
        close(fd);
}

static void set_limits(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_max = RLIM_INFINITY});
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 65536});
    /* Init is never killed for lack of memory, nor delayed by sessions: shells set their
     * own values. */
    file_set("/proc/self/oom_score_adj", "-1000");
    setpriority(PRIO_PROCESS, 0, -20);
    umask(022);
}

/* Files with the machine's own names are in /run, mounted over the image's. */
static void own_names(void)
{
    file_set("/run/machine-id", "00000000000000000000000000000000\n");
    file_set("/run/boot-id", "00000000-0000-0000-0000-000000000000\n");
    if (access("/etc/machine-id", F_OK) < 0)
        file_set("/etc/machine-id", "");
    mounted("/run/machine-id", "/etc/machine-id", NULL, MS_BIND, NULL);
    mounted("/run/boot-id", "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL);
}

void set_up(void)
{
    mkdir("/dev", 0755);
    if (access("/dev/vda", F_OK) < 0) /* the kernel has not mounted it */
        mounted("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=755");
    overlay_root();
    mount_all();
    /* The console again: the descriptor from the kernel belongs to the old root. */
    int console = open("/dev/console", O_RDWR | O_NOCTTY);
    for (int i = 0; i < 3 && console >= 0; i++)
        dup2(console, i);
    if (console > 2)
        close(console);
    link_devices();
    own_names();
    if (sethostname("cloche", 6) < 0)
        log_line("no host name: %m");
    interfaces_up();
    set_limits();
}
