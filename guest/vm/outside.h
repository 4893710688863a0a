/* guest/vm/outside.h - host.h for a program of this computer: the console is standard
 * input and output, the control port a unix socket, disks are files. Only of
 * build/vm-native. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Opens file `path` as disk n. NULL, or the error. */
const char *outside_disk(uint32_t n, const char *path, bool read_only, uint64_t *bytes);
/* Listens at `path` for a client of the control port: one at a time. */
const char *outside_control(const char *path);
/* Reproducible entropy. */
void outside_repeat(void);
/* Standard input without echo, if it is a terminal, until the end. */
void outside_terminal(void);
/* Waits until there is input, refused output may be taken, or it is `until_ns` on
 * host_now_ns(). */
void outside_wait(uint64_t until_ns);
