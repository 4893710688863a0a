/* calls/calls.h - the table of what code may call, joined from the capabilities' groups.
 * Rows are constants, and their numbers hold for one build. Threads: safe. */
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

struct guard_options actions_guard_options(void); /* with the names of all host calls */
/* The names of all host calls, by row. */
const char *const *actions_call_names(size_t *count);
/* Bits of script_row.feature: what an evaluation has only where it asked for it. */
#define FEATURE_NETWORK 1u
#define FEATURE_FILES 2u
#define FEATURES 2u
struct feature {
    uint32_t bit;
    const char *option;          /* of an evaluation: "enableNetwork" */
    const char *missing;         /* a sentence where code lacks its global */
    const char *const *programs; /* of a shell that do the same, up to a NULL; or NULL */
    const char *world; /* declarations of what comes with it besides the rows, or NULL */
    bool (*check)(const struct place *p, struct err *e); /* may code there have it? */
};

/* Does what x->args ask for, and appends its answer. */
typedef bool host_call_fn(struct calling *x, struct json_writer *out, struct err *e);
typedef bool calling_fn(struct calling *x, struct buf *out, struct err *e);

/* What somebody may do with notes, whichever way: who may make the call that carries it. */
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

/* Of a row: the first member; so rows are laid out like lines of text. */
#define CALL(...) .row = {__VA_ARGS__}
#define TABLE(rows) rows, LENGTH(rows) /* of a group: its first members */
#define TYPES(rows) .types = rows, .type_count = LENGTH(rows)

/* A type that signatures name: `definition` is TypeScript behind "interface NAME "
 * (where it begins with a brace) or "type NAME = ". */
struct api_type {
    const char *name;
    const char *definition;
    const char *about;
};
#define API_TYPES_MAX 100
/* Those of all groups, in their order. */
const struct api_type *api_types(size_t *count);
/* NULL: none has this name. */
const struct api_type *api_type_named(struct str name);

/* A row of the one table from which the namespaces in code, what agents read and
 * the names of permissions come. */
struct host_call {
    struct script_row row;
    /* Valid TypeScript behind the name, "(noteId: string): Promise<Note | null>";
     * further lines are further overloads. Types that it names are its group's, or another's. */
    const char *signature;
    const char *summary; /* one line: what it does */
    host_call_fn *call;  /* NULL: it is code of the guest's own */
    enum level level;    /* the least trusted level that may call it */
    const char *alias;   /* what lists of a policy may call it besides; NULL */
    /* A list's or search's options name types, tags and keys of notes; FILTER_OR_TYPE: a text
     * in their place is a type. */
    enum { FILTER_NONE, FILTER_OPTIONS, FILTER_OR_TYPE } filter;
    struct {
        size_t usual;     /* without a limit; 0: nobody is told */
        const char *most; /* that may be asked for */
    } rows;               /* of a list's or search's answer */
    enum right right;     /* that other ways to the same ask for; RIGHT_NONE */
    bool inner;           /* serves what another file tells of: not told of itself */
    /* Its answer depends on its arguments and the notes of the vault alone: `cache: true`
     * may give an evaluation of such calls the same answer again. */
    bool steady;
    bool reads; /* it is called for its answer alone */
    /* All that it writes is a change of own_vault(), and so can be told before it is made. */
    bool reviewed;
    bool never_dry;   /* what it does cannot be tried: refused in a dry run */
    bool names_vault; /* it changes what the list of vaults says of the one it names */
    bool outward;     /* it leads out of the vault: not for custom functions */
    bool asks;        /* for permission by itself, for what it is given */
    /* Tells the account what was asked for where it was not allowed; NULL: its name will do. */
    void (*refused)(struct evaluation *v, const struct json *args, struct arena *arena,
                    enum err_code outcome);

    /* In the place of `call` where there is a task, for it may wait without a thread; or
     * NULL. */
    calling_fn *begin;

    /* What api.describe and the reference pages tell besides; NULL: nothing. */
    const char *details; /* defaults, limits, what is not obvious */
    const char *errors;  /* "NotFound: no such note. Conflict: it changed." */
    const char *example; /* JavaScript that works as it stands, or with an id of yours */
    const char *words;   /* synonyms for api.search, and names that agents guess */
};

#define STEADY_QUESTION .steady = true, .reads = true
/* What the arguments of a call name, before a person is asked, and after. */
typedef bool host_call_resolve_fn(struct evaluation *v, const struct json *args,
                                  struct resolved *out, struct err *e);

/* The rows of one namespace, each group in its file calls_<namespace>.c. */
struct host_call_group {
    const struct host_call *rows;
    size_t count;
    unsigned order;               /* among all groups, as lists show them */
    const struct api_type *types; /* that signatures name */
    size_t type_count;
    bool in_history, scopeless, always; /* as struct permit_need has them */
    bool names_notes;                   /* who is not found is a note */
    const char *subject; /* a word for what they are about, of whoever asks; NULL: none */
    host_call_resolve_fn *resolve; /* of rows with names_vault */
    /* There are names NAMESPACE.x besides the rows, called as the first row is: may there be
     * this x? NULL: there are none. */
    bool (*family)(struct str x);
    /* What api.describe tells of a name that is a family, or one of it: an object. */
    bool (*describes)(struct str name);
    bool (*describe)(struct actions *a, const struct place *place, struct str name,
                     struct json_writer *out, struct err *e);
    bool (*is_installed)(struct actions *a); /* NULL: always */
    const struct feature *feature;           /* of all its rows; NULL: none */
    /* Code has the namespace as an interface of this name, whose rows have each a twin
     * NAMESync, which answers at once; NULL: it has not. */
    const char *interface;
    const char *const *members; /* of it besides the rows, up to a NULL; or NULL */
    /* Tells the linter which names of the family there are, a pair of the open object. */
    void (*put_names)(const struct action_call *c, struct json_writer *w);
    /* Appends members of the declaration that are no rows; NULL: there are none. */
    void (*declare)(struct buf *out);
};
const struct host_call_group *const *host_call_groups(size_t *count);
/* The feature of this bit. */
const struct feature *feature_of(uint32_t bit);
/* The features that the options of an evaluation ask for. */
uint32_t features_asked(const struct json *options);
/* All rows, as script knows them by their number. */
const struct host_call *const *host_call_all(size_t *count);
const struct script_row *host_call_rows(size_t *count); /* of the same, in their order */
/* Those that agents are told of: the first ones. */
const struct host_call *const *host_calls_told(size_t *count);
#define CALL_ARGS_MAX ((size_t)256 << 20) /* working memory of one call's arguments */
/* The first argument, which must be an object such as {type, title}; NULL and
 * ERR_INVALID. */
const struct json *call_options(const struct json *args, const char *call, struct err *e);
/* ERR_INVALID: there is no option `key`; `keys`, up to a NULL, are. `done`: "nothing ran". */
bool call_option_unknown(struct str key, const char *const *keys, const char *done,
                         struct err *e);
/* The row of this name; NULL: there is none. */
const struct host_call *host_call_named(const char *name);
/* The one row that carries a right. */
const struct host_call *host_call_of_right(enum right r);
/* Is it the name of a row where there are others besides, which so cannot be called it? */
bool host_call_is_family(struct str x);
const struct host_call_group *host_call_group_of(const struct host_call *c);
/* The namespace of a row, "notes". */
struct str api_namespace(const struct host_call *c);
struct permit_need host_call_need(const struct host_call *c);
/* May who has this permit do so? false and ERR_DENIED. */
bool right_permitted(const struct permit *p, enum right r, struct err *e);
/* Its number in the table, where it must be. */
uint32_t host_call_number(const char *name);
