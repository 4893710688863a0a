/* vm/init/file.h - writes settings to small files: of /proc, of cgroups, names. */
#pragma once
#include <stdbool.h>

/* false and errno: it does not exist, or rejects the text. */
bool file_put(const char *path, const char *text);
/* The same; a failure is logged on the console. */
void file_set(const char *path, const char *text);
