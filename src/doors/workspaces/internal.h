/* workspaces/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "workspaces/workspaces.h"

#define HEARERS_MAX 16u

struct hearer {
    workspaces_change_fn *fn; /* NULL: a free place */
    void *arg;
};

struct workspaces {
    struct actions *actions;
    struct workspaces_options extra;
    /* Held for reading while hearers are called, for writing to change them. */
    pthread_rwlock_t hearing;
    struct hearer hearers[HEARERS_MAX];
    pthread_mutex_t watch_lock; /* guards the next */
    bool watches;               /* the vaults, for somebody hears */
};

/* ---- template.c ---------------------------------------------------------- */

/* Does it have variables? */
bool template_is(const char *uri);
/* Are its braces in pairs, with a name in each? */
bool template_check(const char *uri, struct err *e);
/* Is `uri` one of the template's? Then an object of its variables, their percent signs
 * decoded, is appended to `values`. */
bool template_match(const char *template, struct str uri, struct buf *values);
/* Is this the name of one of its variables? */
bool template_has(const char *template, struct str variable);

/* ---- resources.c --------------------------------------------------------- */

/* A resource, or template, of ours. */
struct own_resource {
    struct resource_shown shown;
    bool (*read)(struct workspaces *w, const struct caller *who, struct str uri,
                 const struct json *values, struct buf *contents, struct err *e);
    bool follows; /* it changes with its workspace, or the one in use */
};
/* The custom functions of the workspace in use. */
#define FUNCTIONS_URI "cloche://functions"
/* Appends one content {uri, mimeType, text} as an array. */
void put_contents(struct buf *contents, struct str uri, const char *mime_type,
                  struct str text);
/* The template of this name; NULL. */
const struct resource_shown *template_named(const struct workspaces *w, struct str uri,
                                            const struct resource_extra **extra);

/* ---- prompts.c ------------------------------------------------------------ */

/* The place of the prompt of this name, ours first; SIZE_MAX: there is none. */
size_t prompt_find(const struct workspaces *w, struct str name);
const struct prompt_shown *prompt_at(const struct workspaces *w, size_t i);
/* An embedder's prompt; NULL: it is ours. */
const struct prompt_extra *prompt_extra_at(const struct workspaces *w, size_t i);
bool prompts_list_rows(struct workspaces *w, struct str after, struct buf *rows,
                       struct buf *next, struct err *e);
/* Checks that embedders' prompts have names of their own. */
bool prompts_check(const struct workspaces *w, struct err *e);
bool resources_check(const struct workspaces *w, struct err *e);
