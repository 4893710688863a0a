/* routes/routes.h - requests of the REST interface (docs/rest.md), on any transport, and
 * what the routes that answer them share. A route is a row of one of a capability's groups;
 * the OpenAPI document is made from these rows. Threads: safe; a call belongs to one. */
#pragma once
#include "capability/capability.h"
#include "json/json.h"

struct work;

/* ---- requests --------------------------------------------------------------- */

/* A request by an HTTP server, or by host.call() of a script. All of it is borrowed; strings
 * may be empty. A caller within a script (caller/caller.h) reaches nothing that would run code,
 * and needs no If-Match to change what the script has read. */
struct route_request {
    struct str method;       /* "GET" */
    struct str target;       /* path and query, spelt as they were sent */
    struct str type, accept; /* Content-Type, and Accept; empty: JSON */
    struct str if_match, if_none_match;
    struct str range, if_range;
    struct str body;
};

#define ROUTE_FIELDS 6u
#define ROUTE_FIELD_SIZE 2048u /* bytes of a header's value, with its NUL */
struct route_answer {
    int status;
    const char *type; /* a constant; NULL: no body */
    struct buf body;  /* the caller initialises it with a ceiling, and frees it */
    /* Set before the work begins: who asks wants what is said to its client meanwhile, and
     * then the answer, as events (text/event-stream). */
    bool events;
    /* Set before the work begins: takes bytes of an answer that may be larger than `body`, after
     * all fields have been set, and waits until they have left. false: nobody reads any more.
     * NULL: there is no such way. */
    bool (*put)(void *carrier, struct str bytes);
    void *carrier;
    struct route_field {
        const char *name; /* a constant: ETag, Location, Link, Allow, Content-Range ... */
        char value[ROUTE_FIELD_SIZE];
    } fields[ROUTE_FIELDS];
    unsigned field_count;
};

/* Answers it, whatever it is. false: the status is 400 or more, and the body a problem
 * document (RFC 9457) with {type, title, status, detail, instance, code, retry, errors?};
 * code that failed is reported as evaluate_note_code reports it. The answer to HEAD has a body,
 * which is not to be sent. */
bool routes_request(struct actions *a, const struct route_request *rq,
                    const struct caller *who, struct route_answer *out);
/* The same document, in place of any body, for what the carrier itself refuses. */
void routes_problem(struct route_answer *out, int status, const struct err *why,
                    struct str target);
/* action_request_fn, for actions_on_request(); `a` is the actions. */
action_request_fn routes_by_code;
/* What the route of this operation answers in the vault of `work`, appended to `out`; it is
 * one that needs neither values besides the workspace, nor parameters, nor a body. */
bool routes_show(struct work *work, const char *operation, struct buf *out,
                 struct err *e);
/* Where paths begin, each once, such as "/workspaces/"; answers how many. */
#define ROUTE_ROOTS 16u
size_t route_roots(const char *out[static ROUTE_ROOTS]);

/* ---- the rows ------------------------------------------------------------------ */

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

#define ROUTE_BYTES_IN 256u  /* its body is any bytes, of any type */
#define ROUTE_BYTES_OUT 512u /* its answer is, with ranges: 200 or 206 */

#define ROUTE_WORKSPACE "/workspaces/{workspace_id}"
#define ROUTE(m, p) .method = m, .pattern = p, .what = m " " p
#define TELLS(text) .description = text
/* Of a group. */
#define ROWS(x) .rows = x, .count = LENGTH(x)
#define SCHEMAS(x) .schemas = x, .schema_count = LENGTH(x)
/* Of the description of a list that route_list() answers. */
#define ROUTE_WHOLE                                                                          \
    "Without limit the answer is the whole list of one moment, or an error where it is too " \
    "large for one answer; with limit it is a page, and Link has the next one."

struct route_call;
/* Fills in the answer. false and *e: it is a problem, whose status is that of the code
 * unless `refusal` says another. */
typedef bool route_fn(struct route_call *c, struct err *e);

/* A parameter of the query string, or a variable of paths. A list of them ends with a name
 * that is NULL; dev/declare makes it. */
struct route_parameter {
    const char *name, *description;
    const char *schema; /* JSON Schema as text */
};

/* JSON Schema (2020-12) as text; dev/declare makes lists of these. */
struct route_schema {
    const char *name, *text;
};

struct route {
    const char *method, *pattern;
    const char *what; /* both, for the audit */
    const char *operation, *summary;
    const char *description; /* what a caller has to know besides */
    route_fn *run;
    const void *arg; /* what `run` has to know besides; its own */
    unsigned flags;
    unsigned scope;            /* that a credential needs; 0: by its method and flags */
    int status;                /* when all is well; 0: 200 */
    const char *body, *answer; /* schemas; "Note[]": an array; NULL: none */
    const struct route_parameter *parameters; /* NULL: none */
    /* What the headers ETag and Location are; NULL: as the document says of all. */
    const char *etag, *location;
};

struct route_group {
    const char *tag;   /* of the OpenAPI document */
    const char *about; /* of the tag; NULL: an earlier group says it */
    const struct route *rows;
    size_t count;
    /* Among all groups: the first row that fits answers, so that a path with more words
     * stands before those with fewer: a note that is called "history" is reached by its id
     * with %2F. */
    unsigned order;
    const struct route_schema *schemas; /* that rows of any group may name; NULL: none */
    size_t schema_count;
    const struct route_parameter *variables; /* of its paths; NULL: none is described */
    const char *several; /* the variable that stands for one segment or more; NULL */
    const char *root;    /* where all its paths begin; NULL: "/workspaces/" */
};

#define ROUTE_VALUES 3u
#define ROUTE_ARENA ((size_t)256 << 20) /* working memory of one request */
#define ROUTE_ANSWER ((size_t)64 << 20) /* bytes of one host call's answer */
#define ROUTE_LIMIT_MAX 10000           /* rows of one page */

struct route_call {
    struct actions *actions;
    const struct route *route;
    const struct route_request *rq;
    const struct caller *who;
    struct arena *arena;
    struct locator *locator;         /* routes' own */
    struct str values[ROUTE_VALUES]; /* of the pattern's variables */
    const struct json *body;         /* an object that fits route.body; NULL: none */
    struct str
        markdown; /* the body as it came, of ROUTE_BYTES_IN as well; `at` NULL: it is JSON */
    bool wants_markdown; /* rather than JSON */
    struct work *work;
    struct route_answer *out;
    int refusal; /* the status of the problem; 0: that of the error's code */
};

/* ---- steps ----------------------------------------------------------------- */

/* A row of host calls: its answer, read into the call's arena. `args` is the inside of
 * the array of arguments. NULL and *e. */
const struct json *route_ask(struct route_call *c, const char *name, struct str args,
                             struct err *e);
/* Calls an action, whose answer becomes the body; *outcome (may be NULL) is how it ended.
 * `workspace`: the id of the vault that it works in; empty: the caller's own. false and *e:
 * ERR_NOT_FOUND (no such vault, or action), or the action's. */
bool route_action(struct route_call *c, const char *name, const struct json *arguments,
                  struct str workspace, enum err_code *outcome, struct err *e);

/* The parameter as a number in this range. false and ERR_INVALID. */
bool route_number(const struct route_call *c, const char *name, int64_t fallback,
                  int64_t min, int64_t max, int64_t *out, struct err *e);
/* Its text; empty where it is not there. */
struct str route_text(const struct route_call *c, const char *name);
/* "a,b" as a member of the open object, an array; nothing where it is not there. */
void route_put_texts(const struct route_call *c, const char *name, struct json_writer *w);

/* Adds a header. false and ERR_LIMIT: it does not fit. */
bool route_header(struct route_call *c, const char *name, struct str value,
                  struct err *e);
/* Adds Link: rel="next", the same request with another cursor. */
bool route_next(struct route_call *c, struct str cursor, struct err *e);
/* Adds the ETag of this hash. */
bool route_etag(struct route_call *c, struct str hash, struct err *e);
/* Takes the next tag of a list (If-Match, If-None-Match), without its quotes; *weak: it is
 * marked so. false: the end. */
bool route_next_tag(struct str *list, struct str *tag, bool *weak);
/* Does such a list name this one? "*" does. `weak`: weak ones count. */
bool route_names_tag(struct str list, struct str hash, bool weak);

/* A writer into the answer's body, which is JSON. */
struct json_writer route_writer(struct route_call *c);

/* ---- lists (pages.c) ------------------------------------------------------------ */

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
/* Puts the rows that the host call `name` answers (as route_ask()) as they are; where they are
 * as many as the page may have, the member `key` of the last one is the next cursor. */
bool route_put_rows(struct route_call *c, struct route_page *page, const char *name,
                    const struct buf *args, const char *key, struct err *e);
/* Answers with a page of `limit` rows and Link; with 0 all rows from the cursor on, of one
 * state of the notes. ERR_LIMIT: they are more than an answer holds; ERR_BUSY: the notes
 * change all the time. */
bool route_list(struct route_call *c, const struct route_list *list, int64_t limit,
                struct str cursor, struct err *e);
