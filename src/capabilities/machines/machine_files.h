/* machines/machine_files.h - files of machines: read, write, list. They are read and written
 * by commands in the machine itself, apart from its sessions, so that what a caller sees is
 * what the programs there see. All that a machine answers is checked; it may lie about its own
 * files only. Private to the room.
 *
 * ERR_NOT_FOUND: no such file, or no machine runs. ERR_INVALID: an option; a folder, or no
 * regular file. ERR_DENIED: the policy, a person, or a read-only file system. ERR_LIMIT: the
 * disk is full, or a folder too large. Threads: safe. */
#pragma once
#include "machines/internal.h"

/* A path in a machine is relative to this folder, unless it is absolute. */
#define MACHINE_HOME "/root/"
#define MACHINE_PATH_MAX 4095u
/* Content that is shown to a person or a model as an image; NULL: it is none of PNG, JPEG,
 * GIF and WebP. */
const char *machine_image_type(struct str content);
#define MACHINE_IMAGE_MAX ((uint64_t)8 << 20) /* bytes */

/* Each reads the options of its host call and writes one object. vm.write starts the default
 * machine if none runs; the others do not. */
machine_fn machines_read, machines_write, machines_ls;

extern const struct host_call_group vm_file_calls;
extern const struct action_group machine_file_actions;
extern const struct route_group vm_file_routes;
