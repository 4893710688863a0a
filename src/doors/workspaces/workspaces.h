/* workspaces/workspaces.h - vaults as workspaces: what of them can be read and named
 * besides the actions, without knowing who carries it.
 *
 * A workspace is a vault, a class a note type, a property a section of level 2 or a key
 * of the frontmatter. Everything is made of work_call() (actions/actions.h), so that permission
 * and audit hold as they do for code. Resources, prompts and their completion have the
 * shapes of the Model Context Protocol, which other transports may use as well.
 * Source: seed 003; docs/resources.md.
 * Threads: safe, except open and close.
 */
#pragma once
#include "actions/actions.h"
#include "base/base.h"
#include "json/json.h"

struct workspaces;

/* ---- what others add ----------------------------------------------------- */

/* A resource, or a template of them: then `uri` has variables in braces, each of which
 * stands for one or more characters but '/' ("test://template/{id}/data"). */
struct resource_shown {
    const char *uri;
    const char *name;  /* for programs; NULL: the uri */
    const char *title; /* for people; this and the next three may be NULL */
    const char *description;
    const char *mime_type;
    const char *annotations; /* a JSON object */
};

/* A resource of somebody else's: of who embeds this, or of a test. */
struct resource_extra {
    struct resource_shown shown;
    /* Appends a JSON array of resource contents: [{uri, mimeType, text | blob}]. `values`
     * has a template's variables, percent signs decoded, else it is {}. Threads: several
     * at once. */
    bool (*read)(void *arg, struct str uri, const struct json *values,
                 const struct caller *who, struct buf *contents, struct err *e);
    /* Appends a JSON array of strings that a template's variable may be; those that do
     * not fit what was begun are left out by the caller of this. NULL: nobody knows. */
    bool (*complete)(void *arg, struct str variable, const struct json *known,
                     const struct caller *who, struct buf *values, struct err *e);
    void *arg;
};

struct prompt_argument {
    const char *name, *title, *description; /* the last two may be NULL */
    bool required;
};

struct prompt_shown {
    const char *name;
    const char *title, *description; /* NULL: none */
    const struct prompt_argument *arguments;
    size_t argument_count;
};

/* A prompt of somebody else's. Its arguments are strings, checked by name before. */
struct prompt_extra {
    struct prompt_shown shown;
    /* Appends a JSON array of messages: [{role, content}]. Threads: several at once. */
    bool (*get)(void *arg, const struct json *arguments, const struct caller *who,
                struct buf *messages, struct err *e);
    /* As that of struct resource_extra, for an argument. */
    bool (*complete)(void *arg, struct str argument, const struct json *known,
                     const struct caller *who, struct buf *values, struct err *e);
    void *arg;
};

/* All borrowed until workspaces_close(). */
struct workspaces_options {
    const struct resource_extra *resources;
    size_t resource_count;
    const struct prompt_extra *prompts;
    size_t prompt_count;
};

/* `a` is borrowed; `o` may be NULL: nothing is added. NULL and ERR_CONFLICT (two of one
 * name) or ERR_INVALID (a template that is none). */
struct workspaces *workspaces_open(struct actions *a, const struct workspaces_options *o,
                                   struct err *e);
void workspaces_close(struct workspaces *w); /* NULL is fine; nothing may be running */
SCOPED(workspaces, workspaces_close);

/* ---- resources and prompts ------------------------------------------------ */

enum workspaces_list { LIST_RESOURCES, LIST_TEMPLATES, LIST_PROMPTS };

#define WORKSPACES_PAGE 500u /* rows of one page, at most */

/* Appends one page of a list: a JSON array of resources, templates or prompts. `after`
 * is where the page before ended, as `next` told of it (empty: the first page); the
 * place is a name and no number, so that what comes and goes meanwhile moves nothing.
 * `next` stays empty on the last page. Only LIST_RESOURCES may take a while. ERR_INVALID:
 * `after` is no such place. */
bool workspaces_list(struct workspaces *w, const struct caller *who,
                     enum workspaces_list what, struct str after, struct buf *rows,
                     struct buf *next, struct err *e);

/* Appends the contents of a resource: a JSON array [{uri, mimeType, text | blob}].
 * ERR_NOT_FOUND: there is none of that uri, or not for this caller. */
bool workspaces_read(struct workspaces *w, const struct caller *who, struct str uri,
                     struct buf *contents, struct err *e);

/* Appends what a prompt says: a JSON array of messages; *description, which may stay
 * empty, is good until workspaces_close(). `arguments`: an object of strings, or NULL.
 * ERR_NOT_FOUND (no such prompt) or ERR_INVALID (its arguments). */
bool workspaces_prompt(struct workspaces *w, const struct caller *who, struct str name,
                       const struct json *arguments, struct str *description,
                       struct buf *messages, struct err *e);

/* ---- completion ----------------------------------------------------------- */

#define COMPLETION_MAX 100u /* values of one answer */

struct workspaces_completion {
    bool of_prompt;           /* else of a resource template */
    struct str name;          /* of the prompt, or the template as it is listed */
    struct str argument;      /* or variable */
    struct str begun;         /* what is there of it so far */
    const struct json *known; /* the other arguments, an object; or NULL */
};

/* Appends {values, total, hasMore}: those that begin so first, then those that hold it,
 * then those that have its characters in this order. ERR_NOT_FOUND (no such prompt or
 * template) or ERR_INVALID (it has no such argument). */
bool workspaces_complete(struct workspaces *w, const struct caller *who,
                         const struct workspaces_completion *what, struct buf *completion,
                         struct err *e);

/* ---- what changes ---------------------------------------------------------- */

enum workspaces_changed {
    CHANGED_TOOLS,     /* tools/list would answer otherwise now */
    CHANGED_PROMPTS,   /* the same of the prompts */
    CHANGED_RESOURCES, /* and of the resources, in this workspace */
    CHANGED_ONE,       /* what the resource `uri` holds, or whether it is there */
    CHANGED_ALL,       /* of any resource whose uri begins with `uri` */
};

struct workspaces_change {
    enum workspaces_changed what;
    const char *workspace; /* NULL: it is nobody's in particular */
    struct str uri;        /* in its canonical spelling */
};

/* Called from a thread of its own, or from that of workspaces_tell(): must not wait, and
 * not take its listener off. */
typedef void workspaces_change_fn(void *arg, const struct workspaces_change *change);

/* `fn` hears of changes, whoever makes them: this process, another one of ours, another
 * program. Vaults are watched only while somebody hears, and only those whose resources
 * were listed or followed since. After _unhear() it is not called any more. At most 16. */
bool workspaces_hear(struct workspaces *w, workspaces_change_fn *fn, void *arg,
                     struct err *e);
void workspaces_unhear(struct workspaces *w, workspaces_change_fn *fn, void *arg);

/* Somebody wants to hear of this resource: appends its canonical spelling, by which
 * changes name it. Whoever hears is told of what changes once this has returned. ERR_NOT_FOUND: it can be none of this caller's. */
bool workspaces_follow(struct workspaces *w, const struct caller *who, struct str uri,
                       struct buf *canonical, struct err *e);

/* Somebody else's tools, prompts or resources changed: tells all who hear. */
void workspaces_tell(struct workspaces *w, const struct workspaces_change *change);
