/* writeback/internal.h - what the files of this room share. */
#pragma once
#include "os/os.h"
#include "writeback/writeback.h"

#define STAGE ".cloche"

/* ---- records.c: changes as bytes of a file of the state folder ------------- */

#define STEPS ".steps"  /* the names of changes that are being made, */
#define UNDO ".undo"    /* of those that are being taken back, */
#define KEPT ".changes" /* and of those that are kept */

int records_folder(struct err *e);
/* The record of changes: of a writing that is under way with the inodes of what was staged and
 * without contents, else (`staged` NULL) with contents. */
bool record_put(const struct writeback *w, const char *host, const char *place,
                const uint64_t *staged, struct buf *out, struct err *e);

struct record {
    struct buf bytes;
    struct arena *arena;
    uint64_t folder; /* inode of the host's */
    int64_t made_ms;
    const char *host, *place;
    struct vfs_change *changes; /* paths end in a NUL */
    uint64_t *staged;
    struct writeback of; /* its flags */
};
bool record_read(int records, const char *name, struct record *r, struct err *e);
void record_done(struct record *r);
#define scoped_record __attribute__((cleanup(record_done)))
/* "0123456789abcdef.steps": has the name that ending, behind an id? */
bool record_is(const char *name, const char *ending);

/* A new id of changes: 16 random hexadecimal digits. */
void record_id(char id[static WRITEBACK_ID]);

/* ---- check.c ----------------------------------------------------------------- */

/* Beneath the folder, and nothing of ".cloche"? */
bool path_is_sound(struct str path);

/* ---- steps.c: each can be done again, and taken back ------------------------ */

struct steps {
    int dir;
    const char *id;
    const struct vfs_change *changes; /* paths end in a NUL */
    const uint64_t *staged;           /* inodes */
    size_t count;
    bool owner_only;
};
/* The folder beneath `dir` that a path is in, open, *name the path's last part; -1 and *e. */
int open_parent(int dir, const char *path, const char **name, struct err *e);
/* false and *e: it is as if it had not been tried. */
bool step_make(const struct steps *s, size_t i, struct err *e);
bool step_undo(const struct steps *s, size_t i, struct err *e);
/* Modes and times of folders that were made, or (not `forward`) made again. */
void steps_finish(const struct steps *s, bool forward);
/* "…/changes-ID/12": where a new file lies before its step, and the old one after it. */
#define SLOT_MAX 64u
void step_slot(const struct steps *s, size_t i, char out[static SLOT_MAX]);
void stage_name(const char *id, char out[static SLOT_MAX]);
