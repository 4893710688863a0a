/* os/beneath.h - names beneath a directory handle. Private to the room os. */
#pragma once
#include <sys/stat.h>

#include "os/os.h"

/* Sets *e from errno; `doing` reads as in "open", `name` is the file's. Returns
 * false, as err_set() does. */
bool beneath_failed(struct err *e, const char *doing, const char *name);

/* false and *e: empty, absolute, overlong, or ".." in it. */
bool beneath_check(const char *name, struct err *e);

/* openat2's work done by hand, for kernels without: every symbolic link is
 * refused. -1 and errno, as openat(). */
int beneath_open_slow(int dir, const char *name, int flags, unsigned mode);

/* Opens the folder that holds `name`, following no link; *base is the last
 * component, inside `name`. -1 and *e. */
int beneath_parent(int dir, const char *name, const char **base, struct err *e);

void beneath_stat(const struct statx *from, struct os_stat *to);
#define BENEATH_STATX (STATX_BASIC_STATS | STATX_BTIME)
