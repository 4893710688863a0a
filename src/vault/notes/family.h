/* notes/family.h - the list of subnotes in a parent's frontmatter, and what an operation wants
 * of it. Threads: one. Private to the room notes.
 */
#pragma once
#include "notes/linked.h"
#include "notes/write.h"

struct item {
    const struct json *value; /* as it stands in the list */
    int64_t note;             /* 0: none, or none alone */
    bool counts;
};

struct family {
    struct vault *v;
    struct arena *arena;
    struct str child_name;                            /* as it was given */
    char parent_path[PATH_MAX], child_path[PATH_MAX]; /* no child: "" */
    struct note parent;
    struct item *items;
    size_t count;
    int64_t parent_key, child_key;
    struct buf entry; /* what a list calls the child */
    struct buf way;   /* from the child down to the parent, or empty */
};
void family_done(struct family *f);
#define scoped_family __attribute__((cleanup(family_done)))
/* `child` may be empty, and where `lenient` no note (any more). */
bool family_read(struct family *f, struct change *c, struct vault *v, struct str parent,
                 struct str child, bool lenient, struct err *e);
/* Is it the child that this entry names? One that is no note is known by its name. */
bool family_is_child(const struct family *f, const struct item *it);

/* The list that takes the place of the family's. */
struct rewrite {
    struct family *family;
    const char *operation, *summary;
    struct buf list; /* the new one */
    struct json_writer w;
    size_t count;
};
void rewrite_init(struct rewrite *r, struct family *f, const char *operation,
                  const char *summary);
void rewrite_add(struct rewrite *r, const struct json *value);
/* Writes the list, if it is another, and answers. */
bool rewrite_end(struct rewrite *r, struct change *c, struct json_writer *out,
                 struct err *e);
