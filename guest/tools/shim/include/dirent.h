/* The C library has an opendirat(), which is not the one that GNU programs bring; and kinds
 * of entries that no shift makes of a mode. */
#ifndef CLOCHE_DIRENT_H
#define CLOCHE_DIRENT_H
#define opendirat wasi_opendirat
#include_next <dirent.h>
#undef opendirat
#define opendirat gnu_opendirat

#include <sys/stat.h>
#undef IFTODT
#undef DTTOIF
#define IFTODT(mode)                \
    (S_ISREG(mode)   ? DT_REG       \
     : S_ISDIR(mode) ? DT_DIR       \
     : S_ISLNK(mode) ? DT_LNK       \
     : S_ISCHR(mode) ? DT_CHR       \
     : S_ISBLK(mode) ? DT_BLK       \
                     : DT_UNKNOWN)
#define DTTOIF(kind)                \
    ((kind) == DT_REG   ? S_IFREG   \
     : (kind) == DT_DIR ? S_IFDIR   \
     : (kind) == DT_LNK ? S_IFLNK   \
     : (kind) == DT_CHR ? S_IFCHR   \
     : (kind) == DT_BLK ? S_IFBLK   \
                        : 0)
#endif
