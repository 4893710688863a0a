/* fuse/fuse.h - a server of the FUSE protocol over vfs: a machine's kernel mounts one file
 * system, whose root has a folder for each mount, named by its number.
 *
 * Requests are untrusted bytes: each length, number and name is checked, and one that breaks
 * the rules is answered with an errno and changes nothing. A request names files by numbers
 * that this server gave out; names are single names beneath a folder, never paths, so what
 * vfs says of links and paths (vfs/vfs.h) holds for all that a machine can ask.
 *
 * Owners are shown as root, and giving a file to another changes nothing; permissions are the
 * file's own. There are no extended attributes, devices, sockets and pipes. Locks of a machine
 * hold among its own programs.
 *
 * Threads: safe.
 * Source: Linux' include/uapi/linux/fuse.h, protocol 7.38.
 */
#pragma once
#include "base/base.h"

struct fuse;
struct vfs;

#define FUSE_MOUNTS_MAX 64u        /* at a time */
#define FUSE_DATA_MAX (512u << 10) /* bytes read or written by one request */
#define FUSE_REQUEST_MAX (FUSE_DATA_MAX + 4096u)
#define FUSE_NODES_MAX 500000u /* files that a machine's kernel knows of: ENOMEM */
#define FUSE_OPEN_MAX 4096u    /* files and folders open at a time: EMFILE */
/* What a host's program changed is seen after this at the latest. */
#define FUSE_VALID_NS 900000000u

struct fuse *fuse_new(void);
void fuse_free(struct fuse *f); /* with all trees; NULL is fine */
SCOPED(fuse, fuse_free);

/* The session of a kernel that goes on from a copy, whose server was another: it may ask without
 * having begun. What it knows of files is stale, and no number that it knows is given again. Before
 * the first mount. */
void fuse_continue(struct fuse *f);

/* Shows the folder `at` of a tree, which is now the server's, as long as it is mounted: nobody
 * else uses it. *number: the name of its folder, never used twice. `alone`: nothing changes
 * in it but by this machine. false and ERR_LIMIT, or ERR_INVALID (there is no such folder):
 * the tree is the caller's still. */
bool fuse_add(struct fuse *f, struct vfs *tree, const char *at, bool alone,
              uint32_t *number, struct err *e);
/* Closes what is open in it; a machine's further requests fail with ENODEV. The tree is the
 * caller's again. NULL: there is no such mount. */
struct vfs *fuse_remove(struct fuse *f, uint32_t number);

/* Calls `look` with the tree of a mount and the folder `at` of it; no request is performed meanwhile.
 * false: there is no such mount. */
bool fuse_look(struct fuse *f, uint32_t number,
               void (*look)(void *arg, struct vfs *tree, const char *at), void *arg);

/* Performs one request. The bytes of the reply, which are in `reply`; 0: there is none.
 * `room` is that of the machine's buffers: if less than a reply's head, nothing is done. */
size_t fuse_request(struct fuse *f, struct str request, char *reply, size_t room);
