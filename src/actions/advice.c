/* What would help: the sentence beside a failure, made from what the code used, what
 * its host calls said, and what there is.
 *
 * While the code runs only little is noted, since it may catch its failures and go on;
 * names are looked up once, at the end, for the failure that ended it. */
#include <stdio.h>

#include "actions/api.h"
#include "actions/report.h"

#define NEAREST 3

/* ---- noting -------------------------------------------------------------- */

static void keep(char *to, size_t size, struct str s)
{
    s = str_cut(s, size - 1);
    if (s.n)
        memcpy(to, s.at, s.n);
    to[s.n] = '\0';
}

/* The note that a call is about. */
static struct str identifier_of(const struct json *args)
{
    static const char *const keys[] = {"identifier", "note_id", "noteId", "parent_id",
                                       "start_note_id"};
    const struct json *first = json_at(args, 0);
    if (json_is(first, JSON_STRING))
        return json_str(first);
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (json_is(json_get(first, keys[i]), JSON_STRING))
            return json_str(json_get(first, keys[i]));
    return (struct str){0};
}

/* Does any overload of the call take such an option? */
static bool takes_option(const struct host_call *c, struct str name)
{
    struct str rest = str_of(c->signature), line;
    while (api_next_line(&rest, &line)) {
        struct str parameters = api_signature_read(line).parameters;
        struct api_field outer, inner;
        while (api_next_field(&parameters, &outer)) {
            struct str members = api_members(outer.type);
            while (api_next_field(&members, &inner))
                if (str_eq(inner.name, name))
                    return true;
        }
    }
    return false;
}

/* The first option that the call does not take; empty: it takes all. */
static struct str unknown_option(const struct host_call *c, const struct json *args)
{
    struct json_iter values = json_iter(args);
    while (json_next(&values)) {
        struct json_iter it = json_iter(values.value);
        while (json_is(values.value, JSON_OBJECT) && json_next(&it))
            if (!takes_option(c, it.key))
                return it.key;
    }
    return (struct str){0};
}

void advice_failed(struct evaluation *v, const struct host_call *c,
                   const struct json *args, const struct err *why)
{
    pthread_mutex_lock(&v->lock);
    struct advice *a = &v->advice;
    a->failed = c;
    keep(a->message, sizeof a->message, str_of(why->msg));
    keep(a->identifier, sizeof a->identifier, identifier_of(args));
    keep(a->option, sizeof a->option,
         why->code == ERR_INVALID ? unknown_option(c, args) : (struct str){"", 0});
    pthread_mutex_unlock(&v->lock);
}

void advice_done(struct evaluation *v, const struct host_call *c, uint32_t row,
                 const struct json *args, struct str answer)
{
    bool none = str_is(answer, "null") && !strcmp(c->row.name, "notes.get");
    if (!none && !c->row.writes)
        return;
    pthread_mutex_lock(&v->lock);
    v->advice.writes[row] += c->row.writes;
    if (none)
        keep(v->advice.no_note, sizeof v->advice.no_note, identifier_of(args));
    pthread_mutex_unlock(&v->lock);
}

void advice_put_writes(const struct evaluation *v, struct json_writer *out)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    json_open_object(out);
    for (size_t i = 0; i < count; i++)
        if (v->advice.writes[i])
            json_pair_int(out, calls[i]->row.name, v->advice.writes[i]);
    json_close(out);
}

/* ---- names of notes ------------------------------------------------------ */

/* "Did you mean 'a', 'b'? ", to whom may list the notes. */
static void put_nearest_notes(struct evaluation *v, const char *identifier,
                              struct buf *out)
{
    struct err none = {0};
    const struct host_call *list = api_call_named(STR("notes.list"));
    if (!list || !evaluation_allows(v, list, &none))
        return;
    struct vault *vault = actions_vault(v, &none);
    scoped_buf struct buf text;
    buf_init(&text, (size_t)64 << 10);
    struct json_writer w = json_writer(&text);
    scoped(arena_free) struct arena *arena = arena_new((size_t)1 << 20);
    if (!vault || !notes_nearest(vault, str_of(identifier), NEAREST, &w, &none))
        return;
    struct json_iter it = json_iter(json_read(buf_view(&text), arena, &none));
    for (const char *before = "Did you mean "; json_next(&it); before = ", ")
        buf_printf(out, "%s'%.*s'", before, STR_ARGS(json_str(it.value)));
    if (text.n > 2)
        buf_cstr(out, "? ");
}

/* ---- names of calls ------------------------------------------------------ */

static bool is_namespace(struct str name)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    for (size_t i = 0; i < count; i++)
        if (str_eq(api_namespace(calls[i]), name))
            return true;
    return false;
}

static const struct {
    const char *name, *advice;
} elsewhere[] = {
    {"fetch", "The network is there only with enableNetwork, where the person's policy "
              "names the host."},
    {"fs", "Files are there only with enableFileSystem; notes are read with notes.get."},
    {"require", "Nothing can be loaded; api.describe() lists what there is."},
    {"process", "There is no process; values come in by `context`."},
    {"globalThis", "There is no global object; declare what you need."},
    {"global", "There is no global object; declare what you need."},
    {"window", "This is no browser; api.describe() lists what there is."},
    {"document", "This is no browser; api.describe() lists what there is."},
};

static void advise_missing(struct str missing, struct buf *out)
{
    char near[64];
    struct str root = missing;
    const char *dot = memchr(missing.at, '.', missing.n);
    root.n = dot ? (size_t)(dot - missing.at) : root.n;
    for (size_t i = 0; i < LENGTH(elsewhere); i++)
        if (str_is(root, elsewhere[i].name)) {
            buf_cstr(out, elsewhere[i].advice);
            return;
        }
    if (api_nearest(missing, near))
        buf_printf(out, "Did you mean %s? api.describe('%s') tells of it.", near, near);
    else if (is_namespace(root))
        buf_printf(out, "api.describe('%.*s') lists what there is.", STR_ARGS(root));
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
                keep(text[count], sizeof text[count], inner.name);
                names[count] = text[count];
                count++;
            }
        }
    }
    const char *near = api_nearest_of(str_of(a->option), names, count);
    if (near)
        buf_printf(out, "Did you mean '%s'? ", near);
}

static void advise_call(struct evaluation *v, enum err_code code, struct buf *out)
{
    const struct advice *a = &v->advice;
    const char *name = a->failed->row.name;
    if (code == ERR_NOT_FOUND && a->identifier[0])
        put_nearest_notes(v, a->identifier, out);
    if (code == ERR_NOT_FOUND)
        buf_cstr(out, "notes.list and notes.search answer the ids that there are.");
    if (code == ERR_INVALID && a->option[0])
        advise_option(a, out);
    if (code == ERR_INVALID)
        buf_printf(out, "api.describe('%s') tells what it takes.", name);
    if (code == ERR_CONFLICT && !strcmp(name, "notes.create"))
        buf_cstr(out, "Choose another title, or change that note with notes.update.");
}

/* ---- the sentence -------------------------------------------------------- */

static const char *usual_advice(enum err_code type)
{
    switch (type) {
    case ERR_TIMEOUT:
        return "Do less in one call, or ask for a larger timeout (ms).";
    case ERR_MEMORY:
        return "Work on fewer notes at a time, or ask for a larger memoryLimit (MB).";
    case ERR_STACK:
        return "Use a loop instead of deep recursion.";
    case ERR_OUTPUT:
        return "Return a summary, or a part of the result.";
    case ERR_HOST_CALLS:
        return "Ask for less, for example with notes.search or a limit.";
    case ERR_CONFLICT:
        return "Read it again with notes.get, then repeat the change.";
    case ERR_NO_VAULT:
        return "Start cloche with --vault DIR.";
    case ERR_DENIED:
        return "Use what this call may use, or ask the person for more rights.";
    default:
        return NULL;
    }
}

static void advise_thrown(struct evaluation *v, const struct script_outcome *o,
                          struct buf *out)
{
    struct str message = buf_view(&o->message);
    if (v->advice.no_note[0] && str_ends(message, " of null")) {
        buf_printf(out, "notes.get answered null: there is no note '%s'. ",
                   v->advice.no_note);
        put_nearest_notes(v, v->advice.no_note, out);
        return;
    }
    if (o->missing.n)
        advise_missing(buf_view(&o->missing), out);
    if (!out->n && str_is(message, "not a function"))
        buf_cstr(out,
                 "Is an await missing? All calls but api.* and utils.* answer promises.");
}

void advise(struct evaluation *v, const struct script_outcome *o, struct buf *out)
{
    if (v && v->advice.failed && str_is(buf_view(&o->message), v->advice.message))
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
