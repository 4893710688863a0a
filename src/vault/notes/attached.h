/* notes/attached.h - the vault's files that are no notes, and which of them a link means.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "notes/vault.h"

#define ATTACHMENT_READ_MAX (8u << 20) /* bytes */
#define ATTACHED_NONE SIZE_MAX

struct attached_file {
    struct str path;
    struct os_stat st;
    size_t next; /* of the same name, as fold.h has it; ATTACHED_NONE: the last one */
};

struct attached {
    struct arena *arena;
    struct attached_file *all; /* by path */
    size_t count, capacity;
    struct map names; /* of files, folded; `first` by their numbers */
    size_t *first;
};

/* Lists the files that the vault shows, canvases among them. ERR_LIMIT: too many. */
bool attached_read(struct attached *a, struct vault *v, struct err *e);
void attached_done(struct attached *a); /* a zeroed one is fine */
#define scoped_attached __attribute__((cleanup(attached_done)))

/* The file that a link by these names (link_name()) means: by its path, then whatever the
 * case and the normal form, then by the end of its path, as Obsidian looks: the one with
 * the shortest path, then the first. ATTACHED_NONE: there is none. */
size_t attached_find(const struct attached *a, struct str text, struct str other);
/* Has no other file its name? */
bool attached_is_alone(const struct attached *a, size_t file);
/* The files as they will be where one has another path; `out` is empty. ERR_LIMIT. */
bool attached_renamed(const struct attached *a, struct str from, struct str to,
                      struct attached *out, struct err *e);
