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

/* Gives the file `fd`, which is about to replace `name` in `folder`, what belongs to
 * the old one and not to its bytes: owner, mode, extended attributes, and the time of
 * its birth. As far as the file system goes. */
void beneath_keep(int folder, const char *name, int fd);
/* The birth that a file was given so; 0 when it was not. */
int64_t beneath_kept_birth(int fd);

/* Those that this process may use; at least 1. */
unsigned beneath_processors(void);

void beneath_stat(const struct statx *from, struct os_stat *to);
#define BENEATH_STATX (STATX_BASIC_STATS | STATX_BTIME)
