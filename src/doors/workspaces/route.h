/* workspaces/route.h - what the routes of workspaces_request() share: the row of a route,
 * a request under way, and the steps that all of them take.
 *
 * To add a route: a row in routes.c, its function in one of route_*.c, what its body and
 * answer look like in schemas.api.json, and what it is for in route_texts.c, from which the OpenAPI
 * document is made.
 * Threads: a call belongs to one. Private to the room workspaces.
 */
#pragma once
#include "workspaces/internal.h"
#include "workspaces/locator.h"

#define ROUTE_VALUES 3u
#define ROUTE_ARENA ((size_t)256 << 20) /* working memory of one request */
#define ROUTE_ANSWER ((size_t)64 << 20) /* bytes of one host call's answer */
#define ROUTE_LIMIT_MAX 10000           /* rows of one page */

/* Bits of route.flags. */
#define ROUTE_MARKDOWN_IN 1u  /* the body may be text/markdown */
#define ROUTE_MARKDOWN_OUT 2u /* the answer may be */
#define ROUTE_OUTSIDE 4u      /* not for code in the sandbox, which it would run again */
#define ROUTE_NO_WORKSPACE 8u /* works in none */
#define ROUTE_IF_MATCH 16u    /* takes If-Match */
#define ROUTE_NEEDS_MATCH 32u /* and wants it of who is outside */
#define ROUTE_NO_WORK 64u     /* begins its own calls */
#define ROUTE_EVENTS \
    128u /* its answer may come as events, behind what is said meanwhile */

struct route_call;
/* Fills in the answer. false and *e: it is a problem, whose status is that of the code
 * unless `refusal` says another. */
typedef bool route_fn(struct route_call *c, struct err *e);

/* A parameter of the query string. A list of them ends with a name that is NULL. */
struct route_parameter {
    const char *name, *description;
    const char *schema; /* JSON Schema as text */
};

struct route {
    const char *method, *pattern;
    const char *what; /* both, for the audit */
    const char *operation, *summary;
    route_fn *run;
    unsigned flags;
    unsigned scope;            /* that a credential needs; 0: by its method and flags */
    int status;                /* when all is well; 0: 200 */
    const char *body, *answer; /* in schemas.api.json; "Note[]": an array; NULL: none */
    const struct route_parameter *parameters; /* NULL: none */
};

extern const struct route routes[];
extern const size_t route_count;

/* Further text for the OpenAPI document (route_texts.c); never NULL. */
struct route_text {
    const char *operation, *group, *description;
};
const struct route_text *route_text_of(const struct route *r);
struct route_group {
    const char *name, *description;
};
extern const struct route_group route_groups[];
extern const size_t route_group_count;

struct route_call {
    struct actions *actions;
    const struct route *route;
    const struct route_request *rq;
    const struct caller *who;
    struct arena *arena;
    struct locator locator;
    struct str values[ROUTE_VALUES]; /* of the pattern's variables */
    const struct json *body;         /* an object that fits route.body; NULL: none */
    struct str markdown;             /* the body as it came; `at` NULL: it is JSON */
    bool wants_markdown;             /* rather than JSON */
    struct work *work;
    struct route_answer *out;
    int refusal; /* the status of the problem; 0: that of the error's code */
};

/* ---- steps ----------------------------------------------------------------- */

/* A row of host calls: its answer, read into the call's arena. `args` is the inside of
 * the array of arguments. NULL and *e. */
const struct json *route_ask(struct route_call *c, const char *name, struct str args,
                             struct err *e);

/* The parameter as a number in this range. false and ERR_INVALID. */
bool route_number(const struct route_call *c, const char *name, int64_t fallback,
                  int64_t min, int64_t max, int64_t *out, struct err *e);
/* Its text; empty where it is not there. */
struct str route_text(const struct route_call *c, const char *name);

/* Adds a header. false and ERR_LIMIT: it does not fit. */
bool route_header(struct route_call *c, const char *name, struct str value,
                  struct err *e);
/* Adds Link: rel="next", the same request with another cursor. */
bool route_next(struct route_call *c, struct str cursor, struct err *e);
/* Adds the ETag of this hash. */
bool route_etag(struct route_call *c, struct str hash, struct err *e);

/* A writer into the answer's body, which is JSON. */
struct json_writer route_writer(struct route_call *c);

/* ---- lists (route_pages.c) ------------------------------------------------------ */

struct route_page {
    int64_t limit;         /* rows, at most (links: and the rest of a note's) */
    struct str cursor;     /* it begins behind this one; empty: at the beginning */
    struct json_writer *w; /* into the open array */
    struct buf *next;      /* the cursor behind its last row; empty: there is no more */
};
struct route_list {
    /* Its allocations in c->arena are freed afterwards. */
    bool (*put)(struct route_call *c, struct route_page *page, const void *arg,
                struct err *e);
    const void *arg;
    int64_t at_once; /* rows of one page, where the whole list is asked for */
};
/* Answers with a page of `limit` rows and Link; with 0 all rows from the cursor on, of one
 * state of the notes. ERR_LIMIT: they are more than an answer holds; ERR_BUSY: the notes
 * change all the time. */
bool route_list(struct route_call *c, const struct route_list *list, int64_t limit,
                struct str cursor, struct err *e);

/* ---- preconditions (condition.c) --------------------------------------------- */

/* Does a list of entity tags (If-Match, If-None-Match) name this one? "*" does. */
bool condition_names(struct str list, struct str hash, bool weak);

/* The version that a change expects. */
struct condition {
    struct str hash; /* empty: any, or the one that was read last */
    bool any;        /* "*" */
};
/* By If-Match, or `content_hash` in the body. false: 428, 412 or ERR_INVALID. */
bool condition_read(struct route_call *c, struct str note, struct condition *out,
                    struct err *e);
/* Adds it to an open object of options. */
void condition_put(const struct condition *d, struct json_writer *w);
/* Answers a change that failed: a conflict of versions is 412. Returns false. */
bool condition_failed(struct route_call *c, const struct condition *d);

/* ---- media types (media.c) ----------------------------------------------------- */

/* Is this the media type, parameters aside, as of "text/markdown; charset=utf-8"? */
bool media_is(struct str field, const char *type);
/* How much Accept wants this type: 0 (not at all) to 1000. An empty one wants all. */
unsigned media_wanted(struct str accept, const char *type);

/* ---- the rest --------------------------------------------------------------------- */

/* The words of a status ("Not Found"). */
const char *problem_title(int status);

/* JSON Schema (2020-12) as text, by name. */
struct schema {
    const char *name, *text;
};
extern const struct schema schemas[];
extern const size_t schema_count;
/* "": there is none of this name. */
const char *schema_named(const char *name);

/* ---- rows of notes (rows.c) ------------------------------------------------------------ */

#define ROW_FIELDS 12u
#define ROW_NAMED 20u /* that are named one by one */
/* The members of rows: the names that filters and orders know, and "properties" for all
 * of them. Borrows from what it was read of. */
struct row_fields {
    bool wanted[ROW_FIELDS];
    struct str properties[ROW_NAMED]; /* of "properties.NAME" */
    size_t property_count;
};
/* "id,title", or an array of names; none: the usual. ERR_INVALID names those there are;
 * ERR_LIMIT. */
bool row_read_fields(struct str list, struct row_fields *out, struct err *e);
bool row_read_field_names(const struct json *names, struct row_fields *out,
                          struct err *e);
/* Puts notes.list's names for them, but the id: elements of an open array. */
void row_put_sources(const struct row_fields *f, struct json_writer *w);
/* A row of notes.list, or of the view of notes, as a row of ours. */
void row_put(struct route_call *c, const struct json *row, const struct row_fields *f,
             struct json_writer *w);
/* All fields of a whole note, members of an open object. */
void row_put_members(const struct json *note, struct json_writer *w);

/* ---- notes (route_notes.c) ---------------------------------------------------------- */

/* Answers with the note as it is now; `id`: an identifier. ERR_NOT_FOUND. */
bool answer_note(struct route_call *c, struct str id, struct err *e);
/* Adds Location: the note's own path. */
bool put_location(struct route_call *c, struct str id, struct err *e);

route_fn route_workspaces, route_workspace;
route_fn route_list_notes, route_create_note, route_get_note, route_put_note,
    route_patch_note, route_delete_note;
route_fn route_query, route_search, route_links, route_classes, route_class;
route_fn route_evaluate, route_run, route_audit, route_openapi;
route_fn route_history, route_revision, route_restore;
route_fn route_tools, route_tool, route_run_tool;
route_fn route_machines, route_start_machine, route_stop_machine, route_exec;
route_fn route_list_functions, route_register_function, route_get_function,
    route_update_function, route_delete_function, route_delete_functions,
    route_validate_function, route_test_function, route_duplicate_function,
    route_rollback_function, route_function_versions, route_function_stats,
    route_export_functions, route_import_functions, route_list_backups,
    route_backup_functions, route_restore_functions, route_list_templates,
    route_get_template;
