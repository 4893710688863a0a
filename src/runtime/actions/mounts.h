/* actions/mounts.h - the folders that a person's policy mounts, opened for a file tree.
 *
 * Private to the room actions.
 */
#pragma once
#include "actions/internal.h"

/* Opens one of the policy's mounts for what works at `place`; out->dir is the caller's to
 * close. false and ERR_DENIED (it holds files of ours, or could move the vault away), or
 * as os_dir_open(). */
bool mount_open(struct actions *a, const struct place *place,
                const struct policy_mount *m, struct vfs_mount *out, struct err *e);
