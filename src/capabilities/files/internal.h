/* files/internal.h - one call of fs.*, for calls_fs.c and fs_folders.c. */
#pragma once
#include "calls/calls.h"
#include "files/files.h"
#include "performing/performing.h"
#include "vfs/vfs.h"
#include "json/json.h"

/* One call: its files, what it is about, and where the answer goes. */
struct fs_call {
    struct vfs *files;
    const struct json *args;
    struct str path;
    const char *syscall;
    struct json_writer *out;
};

/* Opens the evaluation's files with the first call. `syscall` is named in errors. */
bool fs_begin(struct calling *x, const char *syscall, struct json_writer *out,
              struct fs_call *a, struct err *e);
/* The answer of a call that has none, or what went wrong (an errno; 0: nothing). */
bool fs_answer(const struct fs_call *a, int failed);
const char *fs_type_name(enum vfs_type t);

/* fs_folders.c */
bool call_readdir(struct calling *x, struct json_writer *out, struct err *e);
bool call_rm(struct calling *x, struct json_writer *out, struct err *e);
bool call_mkdir(struct calling *x, struct json_writer *out, struct err *e);
bool call_rmdir(struct calling *x, struct json_writer *out, struct err *e);
