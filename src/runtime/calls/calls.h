/* calls/calls.h - the table of host calls, joined from the capabilities' groups. Rows are
 * constants; their numbers hold for one build. Threads: safe. */
#pragma once
#include "caller/caller.h"
#include "guard/guard.h"
#include "script/script.h"

struct action_call;
struct actions;
struct calling;
struct evaluation;
struct place;
struct resolved;

/* The names of all host calls, and the keys of all capabilities. */
struct guard_options host_call_guard_options(void);
/* The names of all host calls, by row. */
const char *const *host_call_names(size_t *count);
/* Bits of script_row.feature: parts of the API that an evaluation has to ask for. */
#define FEATURE_NETWORK 1u
#define FEATURE_FILES 2u
#define FEATURES 2u
struct feature {
    uint32_t bit;
    const char *option;          /* of an evaluation, "enableNetwork" */
    const char *missing;         /* the sentence for code that lacks its global */
    const char *const *programs; /* of a shell, that do the same; up to a NULL; or NULL */
    const char *world;           /* its declarations besides the rows, or NULL */
    /* whether code may have it there */
    bool (*check)(const struct place *p, struct err *e);
};

/* Performs x->args and writes the answer. */
typedef bool host_call_fn(struct calling *x, struct json_writer *out, struct err *e);
typedef bool calling_fn(struct calling *x, struct buf *out, struct err *e);

/* A right on notes, in any interface: permitted to callers of the row that carries it. */
enum right {
    RIGHT_NONE,
    RIGHT_READ_NOTES,
    RIGHT_READ_TYPES,
    RIGHT_LIST_NOTES,
    RIGHT_CREATE_NOTES,
    RIGHT_CHANGE_NOTES,
    RIGHT_DELETE_NOTES,
    RIGHT_MOVE_NOTES
};

/* The first member of a row, so that rows are laid out like lines of text. */
#define CALL(...) .row = {__VA_ARGS__}
#define TABLE(rows) rows, LENGTH(rows) /* the first members of a group */
#define TYPES(rows) .types = rows, .type_count = LENGTH(rows)

/* A type that signatures name: `definition` is the TypeScript that follows "interface
 * NAME " (where it begins with a brace) or "type NAME = ". */
struct api_type {
    const char *name;
    const char *definition;
    const char *about;
};
#define API_TYPES_MAX 100
/* The types of all groups, in the groups' order. */
const struct api_type *api_types(size_t *count);
/* The type of this name, or NULL. */
const struct api_type *api_type_named(struct str name);

/* A row of the table that namespaces in code, the API documentation and the names of
 * permissions are made from. */
struct host_call {
    struct script_row row;
    /* The TypeScript that follows the name, "(noteId: string): Promise<Note | null>";
     * each further line is an overload. It names types of any group. */
    const char *signature;
    const char *summary; /* one line */
    host_call_fn *call;  /* NULL: the guest implements it */
    enum level level;    /* the least trusted level that may call it */
    const char *alias;   /* another name for it in a policy's lists; NULL */
    /* Its options name types, tags and keys of notes, as those of a list or search;
     * FILTER_OR_TYPE: a string in their place is a type. */
    enum { FILTER_NONE, FILTER_OPTIONS, FILTER_OR_TYPE } filter;
    struct {
        size_t usual;     /* the default limit; 0: no notice about it */
        const char *most; /* the highest limit */
    } rows;               /* in the answer of a list or search */
    enum right right;     /* that other interfaces check by this row; RIGHT_NONE */
    bool hidden;          /* serves another API; not listed itself */
    /* The answer depends on nothing but its arguments and the notes of the vault: with
     * `cache: true` an evaluation of such calls may get a kept answer. */
    bool steady;
    bool reads; /* it has no effects */
    /* It writes by own_vault() alone, so its changes can be previewed. */
    bool reviewed;
    /* Advice on its failures: the new name is taken; the query is not one that it takes. */
    const char *taken, *select;
    bool never_dry;   /* it cannot be simulated: refused in a dry run */
    bool names_vault; /* it changes the entry of the vault that it names */
    /* It changes the list of vaults, which a token for some of them may not. */
    bool changes_vaults;
    bool outward; /* it reaches outside of the vault: not for custom functions */
    bool asks;    /* it asks for permission itself, depending on its arguments */
    /* Records the arguments of a call that was refused; NULL: its name is enough. */
    void (*refused)(struct evaluation *v, const struct json *args, struct arena *arena,
                    enum err_code outcome);

    /* Called instead of `call` if there is a task; may wait without a thread. NULL:
     * none. */
    calling_fn *begin;

    /* Further texts of api.describe and of the reference page; NULL: none. */
    const char *details; /* defaults, limits, what is not obvious */
    const char *errors;  /* "NotFound: no such note. Conflict: it changed." */
    const char *example; /* JavaScript that runs as it is, or with an id of yours */
    const char *words;   /* synonyms for api.search, and names that agents try */
};

#define STEADY_QUESTION .steady = true, .reads = true
/* Resolves what the arguments of a call name, before a user is asked and again after. */
typedef bool host_call_resolve_fn(struct evaluation *v, const struct json *args,
                                  struct resolved *out, struct err *e);

/* Advice on a call that failed because of the note that it names. */
struct note_advice {
    const char *not_found, *stale;
};

/* The rows of one namespace; each group stands in its file calls_<namespace>.c. */
struct host_call_group {
    const struct host_call *rows;
    size_t count;
    unsigned order;               /* position among all groups in lists */
    const struct api_type *types; /* shared types that its signatures name */
    size_t type_count;
    bool in_history, scopeless, always; /* as in struct permit_need */
    const struct note_advice *notes; /* of calls that name notes; NULL: they name none */
    /* what its calls are about, one word for statistics; NULL: none */
    const char *subject;
    host_call_resolve_fn *resolve; /* of rows with names_vault */
    /* Whether NAMESPACE.x may exist besides the rows, called as the first row is; NULL:
     * the rows are all. */
    bool (*family)(struct str x);
    /* api.describe of the family or one of its names: whether it is one, and an
     * object. */
    bool (*describes)(struct str name);
    bool (*describe)(struct actions *a, const struct place *place, struct str name,
                     struct json_writer *out, struct err *e);
    bool (*is_installed)(struct actions *a); /* NULL: always */
    const struct feature *feature;           /* of all its rows; NULL: always there */
    /* The namespace's interface in code, in which each row has a synchronous twin
     * NAMESync; NULL: none. */
    const char *interface;
    const char *const *members; /* its members besides the rows, up to a NULL; or NULL */
    /* Writes the family's names for the linter, a pair of the open object. */
    void (*put_names)(const struct action_call *c, struct json_writer *w);
    /* Appends members of the declaration besides the rows; NULL: none. */
    void (*declare)(struct buf *out);
};
const struct host_call_group *const *host_call_groups(size_t *count);
/* The feature of this bit. */
const struct feature *feature_of(uint32_t bit);
/* The features that the options of an evaluation ask for. */
uint32_t features_asked(const struct json *options);
/* All rows; script knows them by their index. */
const struct host_call *const *host_call_all(size_t *count);
const struct script_row *host_call_rows(size_t *count); /* the same for script */
/* The rows that agents see: the first ones. */
const struct host_call *const *host_calls_listed(size_t *count);
#define CALL_ARGS_MAX ((size_t)256 << 20) /* working memory of one call's arguments */
/* The first argument, which must be an object such as {type, title}. NULL and
 * ERR_INVALID. */
const struct json *call_options(const struct json *args, const char *call, struct err *e);
/* Sets ERR_INVALID: the call has no option `key`, but those of `keys`, up to a NULL.
 * `done`: "nothing ran". */
bool call_option_unknown(struct str key, const char *const *keys, const char *done,
                         struct err *e);
/* The row of this name, or NULL. */
const struct host_call *host_call_named(const char *name);
/* The one row that carries a right. */
const struct host_call *host_call_of_right(enum right r);
/* Whether `x` is the name of a row in a namespace with a family, so that nothing else can
 * be called by it. */
bool host_call_is_family(struct str x);
/* The hidden row that serves the members of a family, and the member that `name` means:
 * "NAMESPACE.member" is called with the member's name and an array of its arguments, each {value}, and answers
 * {value}, or {error: {name, message}}. NULL: it is none. */
const struct host_call *host_call_of_member(const char *name, struct str *member);
const struct host_call_group *host_call_group_of(const struct host_call *c);
/* The namespace of a row, "notes". */
struct str api_namespace(const struct host_call *c);
struct permit_need host_call_need(const struct host_call *c);
/* Whether this permit includes the right. false and ERR_DENIED. */
bool right_permitted(const struct permit *p, enum right r, struct err *e);
/* The index of a row that must be in the table. */
uint32_t host_call_number(const char *name);
