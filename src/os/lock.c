/* Locks between processes and threads: one byte of a file each. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "os/os.h"

int os_lock(int dir, const char *name, uint64_t key, unsigned timeout_ms, struct err *e)
{
    /* A description of its own for each holder: that is what makes the lock hold
     * between threads too. */
    scoped_fd int fd = os_open_beneath(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, e);
    if (fd < 0)
        return -1;
    struct flock range = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(key & INT64_MAX) >> 1, /* the end must fit too */
        .l_len = 1,
    };
    uint64_t until = os_mono_ns() + (uint64_t)timeout_ms * 1000000u;
    long pause_ns = 50000;
    while (fcntl(fd, F_OFD_SETLK, &range) < 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            err_set(e, ERR_IO, "cannot lock \"%.200s\": %m", name);
            return -1;
        }
        if (os_mono_ns() >= until) {
            err_set(e, ERR_BUSY,
                    "waited %u ms in vain for another that holds the "
                    "lock \"%.100s\"; try again",
                    timeout_ms, name);
            return -1;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (pause_ns < 3000000)
            pause_ns *= 2;
    }
    int held = fd;
    fd = -1;
    return held;
}
