/* machines/machine_tree.h - a folder in memory that a command is given: files of the call, and what the
 * command makes of them. Private to the room. */
#pragma once
#include "vfs/vfs.h"
#include "json/json.h"

#define MACHINE_TREE_AT "/mount" /* of the tree, which has nothing else */

struct machine_tree {
    const struct json *files; /* {name: text or {base64}}; NULL: it is no such folder */
    struct tree_file *given;  /* by name */
    size_t count;
    uint64_t bytes; /* of their contents */
};

/* The tree, with its files below MACHINE_TREE_AT; what it keeps of them is in the arena. NULL and *e:
 * ERR_INVALID, ERR_LIMIT. */
struct vfs *machine_tree_make(struct machine_tree *t, const struct vfs_quota *quota,
                              struct arena *a, struct err *e);

/* What is told of the files of one command. */
struct machine_told {
    struct buf text;        /* of JSON: objects {name, size, text or base64} and commas */
    size_t files, left_out; /* `left_out` are not named */
};
#define MACHINE_TOLD_MAX ((size_t)17 << 20) /* room for `text` */
/* Tells the files that are not as they were given, by their paths in the machine. */
void machine_tree_tell(const struct machine_tree *t, struct vfs *tree, const char *place,
                       struct machine_told *told);
