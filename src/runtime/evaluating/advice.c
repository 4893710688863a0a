/* Advice: the sentence beside a failure, made from the code, its host calls' errors, and
 * existing names.
 *
 * While the code runs little is noted, since it may catch its failures and go on; names
 * are looked up once, at the end, for the failure that ended it. */
#include <stdio.h>

#include "api/api.h"
#include "calls/calls.h"
#include "evaluating/internal.h"
#include "evaluating/report.h"
#include "notes/notes.h"

void advice_put_writes(const struct evaluation *v, struct json_writer *out)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    json_open_object(out);
    for (size_t i = 0; i < count; i++)
        if (v->advice.writes[i])
            json_pair_int(out, calls[i]->row.name, v->advice.writes[i]);
    json_close(out);
}

/* ---- names of notes ------------------------------------------------------ */

/* "Did you mean 'a', 'b'? ", if the caller may list the notes. */
static void put_nearest_notes(struct evaluation *v, const char *identifier,
                              struct buf *out)
{
    struct err none = {0};
    if (!evaluation_allows(v, host_call_of_right(RIGHT_LIST_NOTES), &none))
        return;
    struct vault *vault =
        evaluation_vault(v, &none); /* bounded in time; the code may be over */
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    struct str ids[NOTES_NEAREST];
    size_t count = 0;
    if (vault)
        (void)notes_nearest(vault, str_of(identifier), ids, &count, arena, &none);
    if (count && str_is(ids[0], identifier))
        return; /* the note exists: another part is missing */
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s'%.*s'", i ? ", " : "Did you mean ", STR_ARGS(ids[i]));
    if (count)
        buf_cstr(out, "? ");
}

/* ---- names of calls ------------------------------------------------------ */

static bool is_namespace(struct str name)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(api_namespace(calls[i]), name))
            return true;
    return false;
}

static const struct {
    const char *name, *advice;
} elsewhere[] = {
    {"require", "Nothing can be loaded; api.describe() lists the API."},
    {"process", "There is no process; pass values in `context`."},
    {"globalThis", "There is no global object; declare what you need."},
    {"global", "There is no global object; declare what you need."},
    {"window", "This is not a browser; api.describe() lists the API."},
    {"document", "This is not a browser; api.describe() lists the API."},
};

/* Why code has no global of this name; NULL: unknown. */
static const char *why_missing(struct str name)
{
    size_t count;
    const struct host_call_group *const *groups = host_call_groups(&count);
    for (size_t i = 0; i < count; i++)
        if (groups[i]->feature && str_eq(name, api_namespace(groups[i]->rows)))
            return groups[i]->feature->missing;
    for (size_t i = 0; i < LENGTH(elsewhere); i++)
        if (str_is(name, elsewhere[i].name))
            return elsewhere[i].advice;
    return NULL;
}

/* Does the message, in the words of either language, say of this very name that it is not
 * defined? */
static bool says_undefined(struct str message, struct str name)
{
    char javascript[96], python[96];
    (void)snprintf(javascript, sizeof javascript, "%.*s is not defined", STR_ARGS(name));
    (void)snprintf(python, sizeof python, "name '%.*s' is not defined", STR_ARGS(name));
    return str_is(message, javascript) || str_is(message, python);
}

static void advise_missing(struct str missing, struct str message, struct buf *out)
{
    char near[64];
    struct str root = missing;
    const char *dot = memchr(missing.at, '.', missing.n);
    root.n = dot ? (size_t)(dot - missing.at) : root.n;
    const char *why = why_missing(root);
    if (why)
        buf_cstr(out, why);
    else if (api_nearest(missing, near))
        buf_printf(out, "Did you mean %s? See api.describe('%s').", near, near);
    else if (is_namespace(root))
        buf_printf(out, "api.describe('%.*s') lists its methods.", STR_ARGS(root));
    else if (says_undefined(message, root))
        buf_printf(out, "Define %.*s, or give it by `context`", STR_ARGS(root));
}

/* ---- a failed call ------------------------------------------------------- */

static void advise_option(const struct advice *a, struct buf *out)
{
    const char *names[64];
    char text[64][40];
    size_t count = 0;
    struct str rest = str_of(a->failed->signature), line;
    while (api_next_line(&rest, &line)) {
        struct str parameters = api_signature_read(line).parameters;
        struct api_field outer, inner;
        while (api_next_field(&parameters, &outer)) {
            struct str members = api_members(outer.type);
            while (count < LENGTH(names) && api_next_field(&members, &inner)) {
                (void)snprintf(text[count], sizeof text[count], "%.*s",
                               STR_ARGS(str_cut(inner.name, sizeof text[count] - 1)));
                names[count] = text[count];
                count++;
            }
        }
    }
    const char *near = api_nearest_of(str_of(a->option), names, count);
    if (near)
        buf_printf(out, "Did you mean '%s'? ", near);
}

static void advise_not_found(struct evaluation *v, struct buf *out)
{
    const struct advice *a = &v->advice;
    char list[64];
    (void)snprintf(list, sizeof list, "%.*s.list", STR_ARGS(api_namespace(a->failed)));
    /* The error about a missing part says how to install it. */
    if (a->why == CAUSE_NOT_INSTALLED || a->why == CAUSE_NO_SECTION)
        return;
    const struct note_advice *notes = host_call_group_of(a->failed)->notes;
    if (notes && a->identifier[0])
        put_nearest_notes(v, a->identifier, out);
    if (notes)
        buf_cstr(out, notes->not_found);
    else if (api_call_named(str_of(list)))
        buf_printf(out, "%s answers what there is.", list);
}

static void put_example(const struct host_call *c, struct buf *out)
{
    buf_cstr(out, " For example: ");
    for (const char *at = c->example; *at; at++)
        buf_char(out, *at == '\n' ? ' ' : *at);
}

/* A name that is taken or not allowed, or an outdated version. */
static void advise_conflict(const struct advice *a, struct buf *out)
{
    const struct note_advice *notes = host_call_group_of(a->failed)->notes;
    if (a->failed->taken)
        buf_cstr(out, a->failed->taken);
    else if (a->why == CAUSE_TAKEN)
        buf_cstr(out, "Choose another title.");
    else if (notes && a->why == CAUSE_STALE)
        buf_cstr(out, notes->stale);
}

static void advise_call(struct evaluation *v, enum err_code code, struct buf *out)
{
    const struct advice *a = &v->advice;
    if (code == ERR_NOT_FOUND)
        advise_not_found(v, out);
    if (code == ERR_INVALID && a->option[0] && !v->explained.known)
        advise_option(a, out);
    if (code == ERR_INVALID)
        buf_printf(out, "See api.describe('%s').", a->failed->row.name);
    if (code == ERR_INVALID && a->failed->example && !a->option[0] &&
        a->why == CAUSE_SHAPE)
        put_example(a->failed, out);
    /* No user's decision can raise a query's limits. */
    if (a->why == CAUSE_QUERY && a->failed->select)
        buf_cstr(out, a->failed->select);
    if (code == ERR_CONFLICT)
        advise_conflict(a, out);
}

/* ---- the sentence -------------------------------------------------------- */

static const char *usual_advice(enum err_code type)
{
    switch (type) {
    case ERR_TIMEOUT:
        return "Do less in one call, or ask for a larger timeout (ms). Waiting counts, unless "
               "computeTimeout bounds the computing apart.";
    case ERR_MEMORY:
        return "Work on fewer notes at a time, or ask for a larger memoryLimit (MB).";
    case ERR_FUEL:
        return "Do less in one call, or ask for more fuel.";
    case ERR_STACK:
        return "Use a loop instead of deep recursion.";
    case ERR_OUTPUT:
        return "Return a summary, or a part of the result.";
    case ERR_HOST_CALLS:
        return "Ask for less, for example with notes.search or a limit.";
    case ERR_NO_VAULT:
        return "Start cloche with --vault DIR.";
    case ERR_DENIED:
        return "Use what this call may use, or ask the person for more rights.";
    default:
        return NULL;
    }
}

static void advise_null_note(struct evaluation *v, struct buf *out)
{
    const char *note = v->explained.note[0] ? v->explained.note : v->advice.no_note;
    if (!note[0])
        return;
    buf_printf(out, "notes.get returned null: there is no note '%s'. ", note);
    put_nearest_notes(v, note, out);
}

/* The linter knows the code; without it there are only names. */
static void advise_thrown(struct evaluation *v, const struct script_outcome *o,
                          struct buf *out)
{
    if (v->explained.null_note)
        advise_null_note(v, out);
    else if (!v->explained.known && o->missing.n)
        advise_missing(buf_view(&o->missing), buf_view(&o->message), out);
}

void advise(struct evaluation *v, const struct script_outcome *o, struct buf *out)
{
    if (v)
        buf_str(out, buf_view(&v->explained.suggestion));
    if (v && out->n) {
        /* the code's own advice is more specific than its call's */
    } else if (v && v->by_requests) {
        if (o->type == ERR_GUEST && o->missing.n)
            buf_cstr(out,
                     "A script reaches notes by host.call(method, path, body), such as "
                     "host.call('GET', `/workspaces/${workspace_id}/notes`).");
    } else if (v && v->advice.failed && str_is(buf_view(&o->message), v->advice.message))
        advise_call(v, o->type, out);
    else if (v && o->type == ERR_GUEST)
        advise_thrown(v, o, out);
    if (v && v->resource[0])
        buf_printf(out,
                   "Return a summary, or read the whole in pieces with read_result "
                   "{resource: '%s'}.",
                   v->resource);
    if (!out->n && usual_advice(o->type))
        buf_cstr(out, usual_advice(o->type));
    struct str tidy = str_trim(buf_view(out));
    out->n = tidy.n;
}
