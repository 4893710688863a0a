#include "functions_api/function_load.h"

#include <stdio.h>

#include "functions_api/checking.h"
#include "functions_api/functioning.h"
#include "typescript/typescript.h"

#define NEAREST 3u
#define PREFIX "customFunctions."

/* ---- lookup -------------------------------------------------------------- */

struct loaded_functions *functions_loaded(const struct evaluation *v)
{
    void **part =
        evaluation_part((struct evaluation *)(uintptr_t)v, &functions_capability);
    if (!*part)
        *part = mem_new(sizeof(struct loaded_functions));
    return *part;
}

void evaluation_functions(struct evaluation *v, const struct function_set *among,
                          const struct function *draft)
{
    functions_loaded(v)->set = among;
    functions_loaded(v)->draft = draft;
    functions_loaded(v)->given = true;
}

const struct function_set *functions_of(struct evaluation *v, struct err *e)
{
    struct loaded_functions *l = functions_loaded(v);
    if (l->set || l->given)
        return l->set;
    /* The vault it began in: a name's meaning does not change while the code runs. */
    l->set = functioning_now(v->actions, v->places, &l->kept, e);
    return l->set;
}

/* The nearest names so far, best first. */
struct nearest {
    struct str wrong, names[NEAREST];
    size_t distances[NEAREST], count;
};

static void consider(struct nearest *n, struct str name)
{
    bool part = n->wrong.n >= 3 && memmem(name.at, name.n, n->wrong.at, n->wrong.n);
    size_t d = part ? 1 : str_distance(n->wrong, name);
    if (d > n->wrong.n / 3 + 1)
        return;
    size_t at = n->count;
    while (at > 0 && n->distances[at - 1] > d)
        at--;
    if (at == NEAREST)
        return;
    n->count += n->count < NEAREST;
    for (size_t i = n->count - 1; i > at; i--) {
        n->names[i] = n->names[i - 1];
        n->distances[i] = n->distances[i - 1];
    }
    n->names[at] = name;
    n->distances[at] = d;
}

static bool name_refuse(struct evaluation *v, const struct function_set *set,
                        struct str wrong, struct err *e)
{
    struct nearest near = {.wrong = wrong};
    char text[NEAREST * 80] = "";
    size_t n = 0, all = set ? function_count(set) : 0;
    for (size_t i = 0; i < all; i++) {
        struct err denied = {0};
        struct str name = function_at(set, i)->name;
        if (function_allowed(v, name, &denied))
            consider(&near, name);
    }
    for (size_t i = 0; i < near.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s'%.*s'", i ? " or " : "",
                              STR_ARGS(str_cut(near.names[i], 64)));
    if (!all)
        return err_set(e, ERR_NOT_FOUND,
                       "there is no customFunctions.%.*s: no function is registered "
                       "in this vault; register_custom_function registers one",
                       STR_ARGS(str_cut(wrong, 60)));
    return err_set(e, ERR_NOT_FOUND,
                   "there is no customFunctions.%.*s%s%s%s "
                   "Object.keys(customFunctions) lists the functions",
                   STR_ARGS(str_cut(wrong, 60)), near.count ? "; did you mean " : "",
                   text, near.count ? "?" : ";");
}

const struct function *function_find(struct evaluation *v, struct str name, struct err *e)
{
    const struct function *draft = functions_loaded(v)->draft;
    if (draft && str_eq(draft->name, name))
        return draft;
    const struct function_set *set = functions_of(v, e);
    const struct function *fn = set ? function_named(set, name) : NULL;
    if (fn && str_eq(fn->name, name)) /* not by its id */
        return fn;
    if (set || functions_loaded(v)->given)
        name_refuse(v, set, name, e);
    return NULL;
}

bool function_allowed(const struct evaluation *v, struct str name, struct err *e)
{
    char call[sizeof PREFIX + FUNCTION_NAME_MAX * 4];
    if (name.n >= sizeof call - sizeof PREFIX)
        return err_set(e, ERR_NOT_FOUND, "no custom function has a name of %zu bytes",
                       name.n);
    (void)snprintf(call, sizeof call, PREFIX "%.*s", STR_ARGS(name));
    return permit_call(&v->here->permit,
                       &(struct permit_need){.name = call, .least = LEVEL_ZERO}, e);
}

/* ---- loading --------------------------------------------------------------- */

static const struct typescript_code *translate(struct evaluation *v,
                                               const struct function *fn, struct err *e)
{
    struct typescript *t = services_typescript(v->actions->services, e);
    struct typescript_limits limits = {.compute_ms = permit_timeout_ms(&v->here->permit),
                                       .until_ns = v->until_ns,
                                       .cancel = v->who->cancel};
    struct typescript_place where = {0};
    const struct typescript_code *code =
        t ? typescript_transpile(t, fn->code, &limits, &where, e) : NULL;
    if (!code && where.line)
        err_wrap(e, PREFIX "%.*s does not compile: line %u, column %u",
                 STR_ARGS(str_cut(fn->name, 64)), where.line, where.column);
    else if (!code)
        err_wrap(e, PREFIX "%.*s cannot be run", STR_ARGS(str_cut(fn->name, 64)));
    return code;
}

static struct loaded_function *loaded_add(struct loaded_functions *l, struct err *e)
{
    if (l->count == l->capacity) {
        size_t want = l->capacity ? l->capacity * 2 : 8;
        struct loaded_function *grown = realloc(l->at, want * sizeof *grown);
        if (!grown) {
            err_set(e, ERR_LIMIT, "no memory for another custom function");
            return NULL;
        }
        l->at = grown;
        l->capacity = want;
    }
    return &l->at[l->count];
}

uint32_t function_load(struct evaluation *v, const struct function *fn, struct err *e)
{
    struct loaded_functions *l = functions_loaded(v);
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].fn == fn)
            return (uint32_t)i + 1;
    uint64_t begun_ns = os_mono_ns();
    bool python = fn->language == FUNCTION_PYTHON;
    struct loaded_function *f = loaded_add(l, e);
    const struct typescript_code *code = f && !python ? translate(v, fn, e) : NULL;
    if (!f || (!code && !python))
        return 0;
    *f = (struct loaded_function){.fn = fn, .code = code};
    f->load_ms = (double)(os_mono_ns() - begun_ns) / 1e6;
    /* A session may hold what an earlier version defined: that has another file name. */
    (void)snprintf(f->file, sizeof f->file, PREFIX "%.*s",
                   STR_ARGS(str_cut(fn->name, 100)));
    (void)snprintf(f->made, sizeof f->made, "%s@%.*s", f->file,
                   STR_ARGS(str_cut(fn->hash.n ? fn->hash : STR("draft"), 12)));
    return (uint32_t)++l->count;
}

void functions_forget(struct evaluation *v)
{
    struct loaded_functions *l = functions_loaded(v);
    for (size_t i = 0; i < l->count; i++)
        typescript_drop(l->at[i].code); /* NULL is fine */
    free(l->at);
    free(l->apart.tallies);
    buf_done(&l->apart.frame);
    buf_done(&l->apart.message);
    if (!l->given)
        function_set_drop(l->set);
    free(l);
}

/* ---- source maps --------------------------------------------------------- */

struct str functions_source(void *v, struct str file)
{
    const struct loaded_functions *l = functions_loaded(v);
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].code && str_is(file, l->at[i].made))
            return typescript_javascript(l->at[i].code);
    return (struct str){0};
}

static void turn_place(void *arg, uint32_t *line, uint32_t *column)
{
    struct typescript_place at =
        typescript_origin(arg, (struct typescript_place){*line, *column});
    *line = at.line;
    *column = at.column;
}

struct script_origin *functions_origins(struct evaluation *v, size_t *count)
{
    const struct loaded_functions *l = functions_loaded(v);
    struct script_origin *further = calloc(l->count + 1, sizeof *further);
    *count = l->count;
    for (size_t i = 0; further && i < l->count; i++)
        if (l->at[i].code) /* else none of its code is in this world */
            further[i] = (struct script_origin){
                .source = l->at[i].fn->code,
                .file = l->at[i].file,
                .made = l->at[i].made,
                .place = turn_place,
                .arg = (void *)(uintptr_t)l->at[i].code,
            };
    return further;
}

const char *functions_source_name(const struct evaluation *v, uint32_t number)
{
    return number > 0 && number <= functions_loaded(v)->count
               ? functions_loaded(v)->at[number - 1].file
               : NULL;
}

static void put_place(const struct function *fn, uint32_t line, uint32_t column,
                      const struct buf *frame, struct json_writer *w)
{
    json_key(w, "function");
    json_open_object(w);
    json_pair_str(w, "name", fn->name);
    json_pair_int(w, "version", fn->version);
    if (line) {
        json_pair_int(w, "line", line);
        json_pair_int(w, "column", column);
        json_pair_str(w, "frame", buf_view(frame));
    }
    json_close(w);
}

void functions_put_failure(const struct evaluation *v, const struct script_outcome *o,
                           struct json_writer *w)
{
    const struct loaded_functions *l = functions_loaded(v);
    if (l->apart.failed && l->apart.line &&
        str_eq(buf_view(&l->apart.message), buf_view(&o->message))) {
        put_place(l->apart.failed, l->apart.line, l->apart.column, &l->apart.frame, w);
        return;
    }
    for (size_t i = 0; o->within.file[0] && i < functions_loaded(v)->count; i++) {
        const struct loaded_function *f = &functions_loaded(v)->at[i];
        if (strcmp(f->made, o->within.file) != 0)
            continue;
        put_place(f->fn, o->within.line, o->within.column, &o->within.frame, w);
        return;
    }
}

/* ---- counts of calls -------------------------------------------------------- */

static const char *outcome_name(uint32_t outcome)
{
    static const char *const kinds[] = {SCRIPT_KIND_NAMES};
    return outcome == 0                  ? "not ended"
           : outcome == 1                ? "ok"
           : outcome - 2 < LENGTH(kinds) ? kinds[outcome - 2]
                                         : kinds[0];
}

void functions_put_visit(const struct evaluation *v, const struct script_outcome *o,
                         const struct script_visit *visit, struct json_writer *w)
{
    const char *name = functions_source_name(v, visit->source);
    const char *in = functions_source_name(v, visit->from);
    if (!name)
        return;
    json_open_object(w);
    json_pair_cstr(w, "call", name);
    json_pair_int(w, "version", functions_loaded(v)->at[visit->source - 1].fn->version);
    if (in)
        json_pair_cstr(w, "in", in);
    json_pair_int(w, "line", visit->line);
    json_pair_cstr(w, "outcome", outcome_name(visit->outcome));
    if (visit->outcome && visit->end_ns >= visit->start_ns &&
        visit->start_ns >= o->begun_ns) {
        json_pair_number(w, "at", (double)(visit->start_ns - o->begun_ns) / 1e6);
        json_pair_number(w, "ms", (double)(visit->end_ns - visit->start_ns) / 1e6);
    }
    json_close(w);
}

/* The limit that ended the code is the error of its functions under way. */
static bool was_stopped(const struct script_outcome *o)
{
    static const enum err_code limits[] = {ERR_TIMEOUT,   ERR_FUEL,       ERR_MEMORY,
                                           ERR_CANCELLED, ERR_HOST_CALLS, ERR_STACK};
    for (size_t i = 0; !o->success && i < LENGTH(limits); i++)
        if (o->type == limits[i])
            return true;
    return false;
}

/* The counts of one function, for the vault's statistics. */
struct counted {
    struct usage_function of;
    struct usage_failure failures[SCRIPT_KINDS + 1];
    double times_ms[SCRIPT_SAMPLES];
};

static void count_failures(const struct script_outcome *o, const struct script_tally *t,
                           struct counted *c, struct usage_use *use)
{
    static const char *const kinds[] = {SCRIPT_KIND_NAMES};
    use->failures = c->failures;
    for (size_t i = 0; i < SCRIPT_KINDS; i++)
        if (t->kinds[i])
            c->failures[use->failure_count++] =
                (struct usage_failure){str_of(kinds[i]), t->kinds[i]};
    if (!was_stopped(o) || !t->open)
        return;
    use->failed += t->open;
    c->failures[use->failure_count++] =
        (struct usage_failure){str_of(err_kind(o->type)->name), t->open};
}

static struct usage_use count_use(const struct script_outcome *o,
                                  const struct loaded_function *f, uint32_t number,
                                  const struct script_tally *t, struct counted *c)
{
    const struct function *fn = f->fn;
    c->of = (struct usage_function){.id = fn->id,
                                    .name = fn->name,
                                    .code = fn->code,
                                    .version = fn->version,
                                    .made_ms = fn->created_ms,
                                    .counted = fn->usage_count};
    struct usage_use use = {.of = &c->of,
                            .calls = t->calls,
                            .failed = t->failed,
                            .ms = t->total_ms,
                            .times_ms = c->times_ms,
                            .time_count = t->samples,
                            .each = t->stride,
                            .in_a_row = trace_in_a_row(o, number),
                            .load_ms = f->load_ms,
                            .shared = fn->origin.n > 0};
    for (size_t i = 0; i < t->samples; i++)
        c->times_ms[i] = (double)t->ms[i];
    count_failures(o, t, c, &use);
    return use;
}

struct function_row {
    char name[65]; /* cut to fit */
    uint32_t version, calls, failed;
};

/* The guest counted their calls. */
static void loaded_put_row(const void *row, struct json_writer *w)
{
    const struct function_row *f = row;
    json_pair_cstr(w, "name", f->name);
    json_pair_int(w, "version", f->version);
    json_pair_int(w, "calls", f->calls);
    json_pair_int(w, "failed", f->failed);
}

const struct account_list functions_record = {.name = "functions",
                                              .more = "more_functions",
                                              .size = sizeof(struct function_row),
                                              .put = loaded_put_row};

void functions_account(struct evaluation *v, const struct script_outcome *o)
{
    const struct loaded_functions *l = functions_loaded(v);
    size_t count = l->count, used = 0;
    scoped(free) struct counted *all = calloc(count + 1, sizeof *all);
    scoped(free) struct usage_use *uses = calloc(count + 1, sizeof *uses);
    for (size_t i = 0; all && uses && i < count; i++) {
        const struct loaded_function *f = &functions_loaded(v)->at[i];
        struct script_tally t =
            i < o->tally_count ? o->tallies[i] : (struct script_tally){.stride = 1};
        if (i < l->apart.count) {
            t.calls += l->apart.tallies[i].calls;
            t.failed += l->apart.tallies[i].failed;
            t.total_ms += l->apart.tallies[i].total_ms;
        }
        struct usage_use use = count_use(o, f, (uint32_t)i + 1, &t, &all[i]);
        struct function_row row = {
            .version = f->fn->version, .calls = use.calls, .failed = use.failed};
        (void)snprintf(row.name, sizeof row.name, "%.*s",
                       STR_ARGS(str_cut(f->fn->name, sizeof row.name - 1)));
        account_row(v->places->part, &functions_record, &row);
        if (use.calls)
            uses[used++] = use;
    }
    functioning_used(v, uses, used);
}

/* ---- custom_code ------------------------------------------------------------- */

/* Other functions may give another answer. */
bool functions_put_key(const struct action_call *c, struct buf *out)
{
    struct err e = {0};
    scoped_set const struct function_set *set =
        functioning_now(c->actions, c->place, NULL, &e);
    if (!set)
        return false;
    buf_char(out, ' ');
    buf_str(out, function_set_hash(set));
    return true;
}

void functions_declare(const struct action_call *c, struct buf *out)
{
    struct err none = {0};
    scoped_set const struct function_set *all =
        functioning_now(c->actions, c->place, NULL, &none);
    checking_put_functions(all, json_str(json_get(c->arguments, "code")), out);
}

void functions_define(const struct action_call *c, struct buf *out)
{
    struct err none = {0};
    scoped_set const struct function_set *all =
        functioning_now(c->actions, c->place, NULL, &none);
    checking_define_functions(all, json_str(json_get(c->arguments, "code")), out);
}

void functions_end_code(struct evaluation *v, const struct script_outcome *o,
                        struct str code)
{
    functions_account(v, o);
    if (o->success && !v->cached)
        functioning_repeated(v, code);
}
