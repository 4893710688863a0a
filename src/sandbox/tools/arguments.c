/* A tool's words, and what it reads, of what it is called with: checked against the
 * manifest first, then laid out by its argStyle (design/CONTRACT.md, "Tools").
 *
 * A parameter may say where its value goes (`flag`, `position`); what says nothing goes
 * where the style puts it: "--name value", or in a row. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "tools/arguments.api.h"
#include "tools/internal.h"

const struct shared_parameter shared_parameters[] = {COMPONENTS, {NULL, NULL}};

struct value {
    const struct tool_parameter *p;
    const struct json *v;
    bool placed; /* it stands among the words already */
};

struct layout {
    const struct tool *tool;
    const struct json *given; /* NULL: nothing */
    bool piped;               /* it reads another's output */
    const struct json *input; /* the value that is standard input; NULL: there is none */
    struct arena *arena;
    struct value *values; /* those that count, in the call's order; then defaults */
    size_t count;
    struct command *out;
    size_t room; /* for words */
    size_t bytes;
};

/* ---- given arguments ---------------------------------------------------- */

static const struct tool_parameter *parameter_named(const struct tool *t, struct str name)
{
    for (size_t i = 0; i < t->parameter_count; i++)
        if (str_is(name, t->parameters[i].name))
            return &t->parameters[i];
    return NULL;
}

bool argument_is_shared(const struct tool *t, struct str key)
{
    bool found = false;
    for (const struct shared_parameter *p = shared_parameters; p->name; p++)
        found |= str_is(key, p->name);
    return found && !parameter_named(t, key);
}

/* A value of the call's own, beside the parameters; NULL: there is none. */
static const struct json *layout_shared(const struct layout *l, const char *key)
{
    return parameter_named(l->tool, str_of(key)) ? NULL : json_get(l->given, key);
}

static bool is_given(const struct json *v)
{
    return v && !json_is(v, JSON_NULL);
}

static bool argument_refuse_unknown(const struct tool *t, struct str key, struct err *e)
{
    scoped_buf struct buf known = buf_of(BUF_LINE);
    for (size_t i = 0; i < t->parameter_count; i++)
        buf_printf(&known, "%s, ", t->parameters[i].name);
    for (const struct shared_parameter *p = shared_parameters; p->name; p++)
        buf_printf(&known, "%s%s", p > shared_parameters ? ", " : "", p->name);
    return err_set(e, ERR_INVALID, "there is no argument '%.*s'; accepted are %s",
                   STR_ARGS(str_cut(key, 60)), buf_cz(&known)) ||
           err_because(e, CAUSE_SHAPE);
}

/* A number's choices may be spelt as strings in the manifest, and are meant by both. */
static bool check_number(const struct tool_parameter *p, const struct json *spelt,
                         const struct json *v, struct err *e)
{
    struct json_iter it = json_iter(p->choices);
    while (json_next(&it))
        if (json_equal(it.value, v))
            return true;
    for (it = json_iter(spelt); json_next(&it);)
        if (json_equal(it.value, v))
            return true;
    scoped_buf struct buf text = buf_of(BUF_LINE);
    struct json_writer w = json_writer(&text);
    for (it = json_iter(p->choices); json_next(&it);) {
        buf_cstr(&text, text.n ? ", " : "");
        w = json_writer(&text);
        json_put(&w, it.value);
    }
    return err_set(e, ERR_INVALID, "arguments.%.64s is not one of its choices: %s",
                   p->name, buf_cz(&text));
}

/* The manifest's own words about a parameter are a schema of it. */
static bool arguments_check_value(const struct layout *l, const struct tool_parameter *p,
                                  const struct json *v, struct err *e)
{
    const struct json *all =
        json_get(json_get(l->tool->manifest, "parameters"), "properties");
    char place[TOOL_NAME_MAX + 16];
    if (p->type == TOOL_NUMBER && p->choices)
        return check_number(p, json_get(json_get(all, p->name), "enum"), v, e);
    (void)snprintf(place, sizeof place, "arguments.%.64s", p->name);
    return json_schema_check(json_get(all, p->name), v, place, e);
}

static bool check_given(const struct layout *l, struct err *e)
{
    struct json_iter it = json_iter(l->given);
    while (json_next(&it)) {
        const struct tool_parameter *p = parameter_named(l->tool, it.key);
        if (!p && !argument_is_shared(l->tool, it.key))
            return argument_refuse_unknown(l->tool, it.key, e);
        if (p && is_given(it.value) && !arguments_check_value(l, p, it.value, e))
            return false;
    }
    return true;
}

/* Is this the parameter whose value is standard input? */
static bool is_input(const struct layout *l, const struct tool_parameter *p)
{
    const char *name = l->tool->execution.stdin_parameter;
    return name && !strcmp(name, p->name);
}

/* Does standard input come from elsewhere? */
static bool has_input(const struct layout *l)
{
    return l->piped || is_given(layout_shared(l, "stdin"));
}

/* A caller that gives the words itself may leave out required arguments. */
static bool arguments_check_required(const struct layout *l, struct err *e)
{
    for (size_t i = 0; i < l->tool->parameter_count; i++) {
        const struct tool_parameter *p = &l->tool->parameters[i];
        if (p->required && !p->default_value && !is_given(json_get(l->given, p->name)) &&
            !is_given(layout_shared(l, "args")) && !(is_input(l, p) && has_input(l)))
            return err_set(e, ERR_INVALID, "arguments.%.64s is missing: %.200s", p->name,
                           p->description ? p->description : "it is required");
    }
    return true;
}

static bool collect_values(struct layout *l, struct err *e)
{
    const struct tool *t = l->tool;
    l->values = arena_get(l->arena, (t->parameter_count + 1) * sizeof *l->values, e);
    if (!l->values)
        return false;
    struct json_iter it = json_iter(l->given);
    while (json_next(&it)) {
        const struct tool_parameter *p = parameter_named(t, it.key);
        if (p && is_given(it.value) && is_input(l, p))
            l->input = it.value;
        else if (p && is_given(it.value))
            l->values[l->count++] = (struct value){.p = p, .v = it.value};
    }
    /* Not for who writes the words himself. */
    for (size_t i = 0; i < t->parameter_count && !is_given(layout_shared(l, "args"));
         i++) {
        const struct tool_parameter *p = &t->parameters[i];
        if (!is_given(p->default_value) || is_given(json_get(l->given, p->name)))
            continue;
        if (!is_input(l, p))
            l->values[l->count++] = (struct value){.p = p, .v = p->default_value};
        else if (!has_input(l))
            l->input = p->default_value;
    }
    return true;
}

/* ---- words -------------------------------------------------------------- */

static bool arguments_add_word(struct layout *l, struct str text, struct err *e)
{
    struct command *c = l->out;
    if (c->count == l->room) {
        size_t room = 2 * l->room + 16;
        const char **grown = arena_get(l->arena, room * sizeof *grown, e);
        if (!grown)
            return false;
        if (c->count)
            memcpy(grown, c->words, c->count * sizeof *grown);
        c->words = grown;
        l->room = room;
    }
    l->bytes += text.n + 1;
    if (l->bytes > WASI_STRINGS_MAX)
        return err_set(
            e, ERR_LIMIT,
            "the arguments are more than %u bytes; give long text as stdin, or "
            "as a file",
            WASI_STRINGS_MAX);
    char *word = str_cz(text, l->arena, e);
    if (!word)
        return err_wrap(e, "an argument");
    c->words[c->count++] = word;
    return true;
}

/* Objects, and arrays in arrays, as JSON. */
static void arguments_put_item(struct buf *b, const struct json *v)
{
    struct json_writer w = json_writer(b);
    if (json_is(v, JSON_STRING))
        buf_str(b, json_str(v));
    else
        json_put(&w, v);
}

/* As JavaScript's String() has it; of an array its items, between commas. */
static void argument_put_text(struct buf *b, const struct json *v)
{
    struct json_iter it = json_iter(v);
    if (!json_is(v, JSON_ARRAY))
        arguments_put_item(b, v);
    else
        for (bool first = true; json_next(&it); first = false) {
            buf_cstr(b, first ? "" : ",");
            arguments_put_item(b, it.value);
        }
}

/* `before` and the value's text as one word. */
static bool add_value(struct layout *l, const char *before, const struct json *v,
                      struct err *e)
{
    scoped_buf struct buf text = buf_of(WASI_STRINGS_MAX);
    buf_cstr(&text, before);
    argument_put_text(&text, v);
    return buf_check(&text, "an argument", e) &&
           arguments_add_word(l, buf_view(&text), e);
}

/* "--key value"; behind a flag that ends in '=' as one word. */
static bool add_flag(struct layout *l, const char *flag, const struct json *v,
                     struct err *e)
{
    if (json_is(v, JSON_BOOL))
        return !json_bool(v, false) || arguments_add_word(l, str_of(flag), e);
    if (str_ends(str_of(flag), "="))
        return add_value(l, flag, v, e);
    return arguments_add_word(l, str_of(flag), e) && add_value(l, "", v, e);
}

static bool value_is_empty(const struct json *v)
{
    return json_is(v, JSON_STRING) && json_str(v).n == 0;
}

/* A flag of the manifest's: once for each item of an array. */
static bool place_flag(struct layout *l, struct value *v, struct err *e)
{
    v->placed = true;
    if (value_is_empty(v->v))
        return true;
    if (!json_is(v->v, JSON_ARRAY))
        return add_flag(l, v->p->flag, v->v, e);
    struct json_iter it = json_iter(v->v);
    while (json_next(&it))
        if (!add_flag(l, v->p->flag, it.value, e))
            return false;
    return true;
}

static bool place_named(struct layout *l, struct value *v, struct err *e)
{
    v->placed = true;
    if (value_is_empty(v->v))
        return true;
    char *flag = arena_printf(l->arena, e, "--%s", v->p->name);
    return flag && add_flag(l, flag, v->v, e);
}

/* A word in the row, or each item of an array. An empty one is left out where the style is
 * cli, unless it was asked for. */
static bool place_word(struct layout *l, struct value *v, struct err *e)
{
    v->placed = true;
    if (l->tool->execution.style == TOOL_CLI && value_is_empty(v->v) && !v->p->required)
        return true;
    if (!json_is(v->v, JSON_ARRAY) || !v->p->position)
        return add_value(l, "", v->v, e);
    struct json_iter it = json_iter(v->v);
    while (json_next(&it))
        if (!add_value(l, "", it.value, e))
            return false;
    return true;
}

static struct value *next_by_position(struct layout *l)
{
    struct value *first = NULL;
    for (size_t i = 0; i < l->count; i++) {
        struct value *v = &l->values[i];
        if (!v->placed && v->p->position &&
            (!first || v->p->position < first->p->position))
            first = v;
    }
    return first;
}

static struct value *arguments_value(struct layout *l, struct str name)
{
    for (size_t i = 0; i < l->count; i++)
        if (str_is(name, l->values[i].p->name) && !l->values[i].placed)
            return &l->values[i];
    return NULL;
}

static bool place_required(struct layout *l, struct err *e)
{
    struct json_iter it =
        json_iter(json_get(json_get(l->tool->manifest, "parameters"), "required"));
    while (json_next(&it)) {
        struct value *v = arguments_value(l, json_str(it.value));
        if (v && !place_word(l, v, e))
            return false;
    }
    return true;
}

/* Options first, then what has a position, then the rest in its order. */
static bool place_all(struct layout *l, struct err *e)
{
    bool named = l->tool->execution.style == TOOL_CLI;
    for (size_t i = 0; i < l->count; i++) {
        struct value *v = &l->values[i];
        if (v->p->flag ? !place_flag(l, v, e)
                       : named && !v->p->position && !place_named(l, v, e))
            return false;
    }
    for (struct value *v; (v = next_by_position(l));)
        if (!place_word(l, v, e))
            return false;
    if (!place_required(l, e))
        return false;
    for (size_t i = 0; i < l->count; i++)
        if (!l->values[i].placed && !place_word(l, &l->values[i], e))
            return false;
    return true;
}

/* `args`: words as they are, behind all others. */
static bool add_args(struct layout *l, struct err *e)
{
    const struct json *args = layout_shared(l, "args");
    if (is_given(args) && !json_is(args, JSON_ARRAY))
        return err_set(e, ERR_INVALID,
                       "arguments.args is %s; an array of strings is "
                       "accepted",
                       json_type_name(json_type(args)));
    struct json_iter it = json_iter(args);
    while (json_next(&it)) {
        enum json_type type = json_type(it.value);
        if (type != JSON_STRING && type != JSON_NUMBER)
            return err_set(e, ERR_INVALID,
                           "arguments.args holds %s; strings are accepted",
                           json_type_name(type));
        if (!add_value(l, "", it.value, e))
            return false;
    }
    return true;
}

/* ---- standard input ----------------------------------------------------- */

bool argument_bytes(const struct json *v, const char *place, struct arena *a,
                    struct str *out, struct err *e)
{
    const struct json *coded = json_get(v, "base64");
    *out = json_str(v);
    if (json_is(v, JSON_STRING))
        return true;
    if (!json_is(coded, JSON_STRING))
        return err_set(e, ERR_INVALID,
                       "%s is %s; a string, or {\"base64\": \"...\"} is accepted", place,
                       json_type_name(json_type(v)));
    scoped_buf struct buf bytes = buf_of(json_str(coded).n + 4);
    if (!crypto_base64_read(json_str(coded), &bytes, e))
        return err_wrap(e, "%s", place);
    *out = (struct str){arena_copy(a, bytes.n ? bytes.at : "", bytes.n, e), bytes.n};
    return out->at != NULL;
}

/* Are the arguments themselves what it reads? */
static bool reads_json(const struct layout *l)
{
    const struct json *given = layout_shared(l, "stdin");
    bool beside = l->tool->execution.stdin_parameter && has_input(l);
    return l->tool->execution.style == TOOL_JSON && !l->input && !beside &&
           (l->count || !is_given(given));
}

/* All values as one object; in the arena. */
static bool make_json(struct layout *l, struct str *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(RUN_MEMORY / 4);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    for (size_t i = 0; i < l->count; i++)
        json_pair(&w, l->values[i].p->name, l->values[i].v);
    json_close(&w);
    if (!buf_check(&text, "the arguments", e))
        return false;
    *out = (struct str){arena_copy(l->arena, text.at, text.n, e), text.n};
    return out->at != NULL;
}

/* The value of a parameter, which may not be given beside another input. */
static bool put_input(struct layout *l, struct err *e)
{
    const char *name = l->tool->execution.stdin_parameter;
    if (has_input(l))
        return err_set(
            e, ERR_INVALID,
            "arguments.%.64s is what the tool reads as standard input, which %s; "
            "one of both is accepted",
            name,
            l->piped ? "in a pipeline the stage before gives"
                     : "arguments.stdin gives, too");
    scoped_buf struct buf text = buf_of(RUN_MEMORY / 4);
    argument_put_text(&text, l->input);
    if (!buf_check(&text, "standard input", e))
        return false;
    l->out->input =
        (struct str){arena_copy(l->arena, text.n ? text.at : "", text.n, e), text.n};
    l->out->has_input = true;
    return l->out->input.at != NULL;
}

static bool add_input(struct layout *l, struct err *e)
{
    const struct json *given = layout_shared(l, "stdin");
    if (l->input)
        return put_input(l, e);
    if (reads_json(l)) {
        if (is_given(given))
            return err_set(
                e, ERR_INVALID,
                "arguments.stdin cannot be given: the tool reads its arguments from "
                "standard input");
        l->out->has_input = l->out->by_json = true;
        return make_json(l, &l->out->input, e);
    }
    l->out->has_input = is_given(given);
    return !l->out->has_input ||
           argument_bytes(given, "arguments.stdin", l->arena, &l->out->input, e);
}

/* ---- altogether --------------------------------------------------------- */

/* A tool of the style json takes one word, where its input is something else. */
static bool place_json(struct layout *l, struct err *e)
{
    struct str word = {0};
    bool beside = l->input || (l->tool->execution.stdin_parameter && has_input(l));
    return !beside || (make_json(l, &word, e) && arguments_add_word(l, word, e));
}

static bool lay_out(struct layout *l, struct err *e)
{
    if (!json_is(l->given, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "the arguments are %s; an object is accepted",
                       json_type_name(json_type(l->given))) ||
               err_because(e, CAUSE_SHAPE);
    return check_given(l, e) && arguments_check_required(l, e) && collect_values(l, e) &&
           (l->tool->execution.style == TOOL_JSON ? place_json(l, e) : place_all(l, e)) &&
           add_args(l, e) && add_input(l, e);
}

bool command_make(const struct tool_stage *s, bool piped, struct arena *a,
                  struct command *out, struct err *e)
{
    *out = (struct command){0};
    struct layout l = {
        .tool = s->tool, .given = s->arguments, .piped = piped, .arena = a, .out = out};
    const char *const own[] = {s->tool->name, NULL};
    const char *const *first = s->tool->command ? s->tool->command : own;
    for (; *first; first++)
        if (!arguments_add_word(&l, str_of(*first), e))
            return false;
    if (s->arguments)
        return lay_out(&l, e);
    for (size_t i = 0; i < s->arg_count; i++)
        if (!arguments_add_word(&l, str_of(s->args[i]), e))
            return false;
    return true;
}

bool command_mentions(const struct command *c, struct str path)
{
    for (size_t i = 1; i < c->count; i++)
        if (memmem(c->words[i], strlen(c->words[i]), path.at, path.n))
            return true;
    return c->by_json && memmem(c->input.at, c->input.n, path.at, path.n);
}
