/* Locks between processes and threads: one byte of a file each. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#include "os/os.h"

static bool wait_lock(int fd, off_t at, const char *name, unsigned timeout_ms,
                      struct err *e)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    uint64_t until = os_in_ms(timeout_ms);
    long pause_ns = 50000;
    while (fcntl(fd, F_OFD_SETLK, &range) < 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return err_set(e, ERR_IO, "cannot lock \"%.200s\": %m", name);
        if (os_mono_ns() >= until)
            return err_set(e, ERR_BUSY,
                           "timed out after %u ms waiting for the lock \"%.100s\"; try "
                           "again",
                           timeout_ms, name);
        (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        if (pause_ns < 3000000)
            pause_ns *= 2;
    }
    return true;
}

int os_lock(int dir, const char *name, uint64_t key, unsigned timeout_ms, struct err *e)
{
    /* A description of its own for each holder: that is what makes the lock hold
     * between threads too. */
    scoped_fd int fd = os_open_beneath(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, e);
    off_t at = (off_t)(key & INT64_MAX) >> 1; /* the end must fit too */
    if (fd < 0 || !wait_lock(fd, at, name, timeout_ms, e))
        return -1;
    int held = fd;
    fd = -1;
    return held;
}

bool os_lock_file(int fd, unsigned timeout_ms, struct err *e)
{
    return wait_lock(fd, 0, "of a file", timeout_ms, e);
}

void os_brief_mutex(pthread_mutex_t *m)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(m, &attr);
    pthread_mutexattr_destroy(&attr);
}

bool os_is_flocked(int dir, const char *name)
{
    scoped_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}
