#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/os.h"

bool os_map_file(int dir, const char *name, struct str *out, struct err *e)
{
    scoped_fd int fd = os_open_beneath(dir, name, O_RDONLY, 0, e);
    if (fd < 0)
        return false;
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0)
        return err_set(e, ERR_INVALID, "%s is empty", name);
    size_t size = (size_t)st.st_size;
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return err_set(e, ERR_IO, "cannot map %s: %m", name);
    *out = (struct str){at, size};
    return true;
}

void os_unmap(struct str *mapped)
{
    if (mapped->n)
        munmap((void *)(uintptr_t)mapped->at, mapped->n);
    *mapped = (struct str){0};
}
