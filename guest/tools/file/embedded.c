/* The database of magic, compiled into the module. The engine maps a module's data as it
 * maps a file's, so what no look needs is never even read. */
#include <string.h>

#undef magic_load
#include "magic.h"

/* As aligned as the program would have mapped it. It writes nothing into it, but takes it as
 * what may be written. */
static _Alignas(4096) unsigned char magic[] = {
#embed "magic.mgc"
};

int embedded_load(magic_t cookie, const char *path);

/* In place of magic_load(): `-m` and $MAGIC still name files. */
int embedded_load(magic_t cookie, const char *path)
{
    if (path && strcmp(path, MAGIC) != 0)
        return magic_load(cookie, path);
    void *databases[] = {magic};
    size_t sizes[] = {sizeof magic};
    return magic_load_buffers(cookie, databases, sizes, 1);
}
