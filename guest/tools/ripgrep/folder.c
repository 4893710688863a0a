/* ripgrep's module finds paths by the folders that are open at its start, and knows no
 * working directory. This stands between it and WASI, and shows it one folder more: the
 * working directory ($PWD), by the name ".". Merged with it by wasm-merge. It has no
 * memory of its own: what it reads goes to pages that it adds to ripgrep's, and it keeps
 * nothing. */
#include <stdbool.h>
#include <stdint.h>

#define WASI(name) \
    __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))
#define BADF 8u
#define FOLDER 2u
#define PAGE 65536u
#define ALL_RIGHTS (uint64_t)0x1fffffff

WASI(fd_prestat_get) uint32_t real_prestat_get(uint32_t fd, uint32_t *to);
WASI(fd_prestat_dir_name)
uint32_t real_prestat_dir_name(uint32_t fd, char *to, uint32_t n);
WASI(environ_sizes_get) uint32_t environ_sizes(uint32_t *count, uint32_t *bytes);
WASI(environ_get) uint32_t environ(char **list, char *bytes);
WASI(path_open)
uint32_t path_open(uint32_t fd, uint32_t look_up, const char *path, uint32_t n,
                   uint32_t how, uint64_t rights, uint64_t inheriting, uint32_t flags,
                   uint32_t *opened);

/* $PWD below "/", which is fd 3; NULL where there is none. */
static const char *working_folder(uint32_t *scratch, uint32_t *n)
{
    if (environ_sizes(scratch, scratch + 1) != 0)
        return 0;
    uint32_t count = scratch[0], bytes = scratch[1];
    uint32_t pages = (4 * count + bytes) / PAGE + 1;
    char **list = (char **)(__builtin_wasm_memory_grow(0, pages) * PAGE);
    if ((int32_t)(uintptr_t)list == -(int32_t)PAGE ||
        environ(list, (char *)(list + count)) != 0)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *at = list[i];
        if (at[0] != 'P' || at[1] != 'W' || at[2] != 'D' || at[3] != '=' || at[4] != '/')
            continue;
        at += 5;
        for (*n = 0; at[*n]; ++*n)
            ;
        return *n ? at : 0;
    }
    return 0;
}

/* The working directory gets the number behind the folders that are open. */
static bool open_here(uint32_t fd)
{
    uint32_t *scratch = (uint32_t *)(__builtin_wasm_memory_grow(0, 1) * PAGE);
    const char *path = working_folder(scratch, &scratch[2]);
    return path &&
           path_open(3, 1, path, scratch[2], FOLDER, ALL_RIGHTS, ALL_RIGHTS, 0,
                     scratch) == 0 &&
           scratch[0] == fd;
}

/* wasi-libc asks for 3, 4 and so on, until one is no such folder. That one is opened, once:
 * the next finds that the number before it is open, and no folder from the start. */
EXPORT(fd_prestat_get) uint32_t prestat_get(uint32_t fd, uint32_t *to)
{
    uint32_t failed = real_prestat_get(fd, to);
    if (failed != BADF || fd <= 3 || real_prestat_get(fd - 1, to) != 0 || !open_here(fd))
        return failed;
    to[0] = 0;
    to[1] = 1;
    return 0;
}

EXPORT(fd_prestat_dir_name) uint32_t prestat_dir_name(uint32_t fd, char *to, uint32_t n)
{
    uint32_t failed = real_prestat_dir_name(fd, to, n);
    if (failed != BADF || n == 0)
        return failed;
    to[0] = '.';
    return 0;
}
