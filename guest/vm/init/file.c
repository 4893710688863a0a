/* vm/init/file.c - see file.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vm/init/file.h"
#include "vm/init/log.h"

bool file_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return false;
    bool done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int why = errno;
    close(fd);
    errno = why;
    return done;
}

void file_set(const char *path, const char *text)
{
    if (!file_put(path, text))
        log_line("%s: %m", path);
}
