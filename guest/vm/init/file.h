/* vm/init/file.h - small files that are switches: of /proc, of cgroups, names. */
#pragma once
#include <stdbool.h>

/* false and errno: it is not there, or does not take that. */
bool file_put(const char *path, const char *text);
/* The same, where a line on the console is all that one can do about it. */
void file_set(const char *path, const char *text);
