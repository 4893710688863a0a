/* A manifest goes through the published schema, which tells all that is wrong at once
 * and leaves out what nobody knows, as the zod schema of the seed does; then through the
 * rules that a schema cannot say. */
#include "catalogue/manifest.h"

#include <regex.h>
#include <stdio.h>

#include "catalogue/plain.h"
#include "catalogue/semver.h"

#define NOTES_MAX ((size_t)16 << 10)
#define NOTE_MAX 1200u
#define SHOWN_MAX 60u /* bytes of a wrong value, or of a strange key */

EMBED(manifest_schema, "docs/tool-manifest.schema.json");

/* ---- notes -------------------------------------------------------------- */

void tool_notes_init(struct tool_notes *n)
{
    *n = (struct tool_notes){0};
    buf_init(&n->errors, NOTES_MAX);
    buf_init(&n->warnings, NOTES_MAX);
}

void tool_notes_done(struct tool_notes *n)
{
    buf_done(&n->errors);
    buf_done(&n->warnings);
}

/* Where in the manifest we are. */
struct place {
    const struct place *outer; /* NULL: the whole */
    struct str key;            /* or, when it is empty, the index */
    size_t index;
};

static void manifest_put_place(const struct place *p, struct buf *out)
{
    if (!p->outer)
        return;
    manifest_put_place(p->outer, out);
    if (!p->key.at) {
        buf_printf(out, "[%zu]", p->index);
        return;
    }
    if (out->n)
        buf_char(out, '.');
    plain_put(p->key, SHOWN_MAX, out);
}

struct check {
    struct tool_notes *notes;
    struct json_writer *out;
};

/* Adds a line to one of the lists. Lines without room are still counted. */
static void note(struct buf *list, size_t *count, const struct place *p, struct str what)
{
    scoped_buf struct buf line = buf_of(NOTE_MAX);
    manifest_put_place(p, &line);
    if (!line.n)
        buf_cstr(&line, "the manifest");
    buf_char(&line, ' ');
    buf_str(&line, what);
    buf_char(&line, '\n');
    ++*count;
    if (!line.failed && list->ceiling - list->n > line.n)
        buf_str(list, buf_view(&line));
}

static void wrong(struct check *c, const struct place *p, const struct buf *what)
{
    note(&c->notes->errors, &c->notes->error_count, p, buf_view(what));
}

static void warn(struct check *c, const struct place *p, const char *what)
{
    note(&c->notes->warnings, &c->notes->warning_count, p, str_of(what));
}

/* ---- found and accepted values ------------------------------------------ */

static void manifest_put_value(const struct json *v, struct buf *out)
{
    scoped_buf struct buf text = buf_of(SHOWN_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, v);
    if (!v)
        buf_cstr(out, "is missing");
    else if (text.failed)
        buf_printf(out, "is such %s", json_type_name(json_type(v)));
    else {
        buf_cstr(out, "is ");
        plain_put(buf_view(&text), SHOWN_MAX, out);
    }
}

/* `"cli", "json" or "positional"`. */
static void put_choices(const struct json *choices, struct buf *out)
{
    size_t n = json_length(choices), i = 0;
    struct json_iter it = json_iter(choices);
    for (; json_next(&it); i++) {
        if (i)
            buf_cstr(out, i + 1 == n ? " or " : ", ");
        struct json_writer w = json_writer(out);
        json_put(&w, it.value);
    }
}

static void manifest_put_type(struct str type, const struct json *schema, struct buf *out)
{
    const struct json *max = json_get(schema, "maxLength"),
                      *least = json_get(schema, "minimum"),
                      *most = json_get(schema, "maximum");
    struct str pattern = json_str(json_get(schema, "pattern"));
    bool vowel = str_is(type, "object") || str_is(type, "array");
    if (str_is(type, "integer"))
        buf_cstr(out, "a whole number");
    else
        buf_printf(out, "%s %.*s", vowel ? "an" : "a", STR_ARGS(type));
    if (least)
        buf_printf(out, " from %lld to %lld", (long long)json_int(least, 0),
                   (long long)json_int(most, 0));
    if (max)
        buf_printf(out, " of at most %lld characters", (long long)json_int(max, 0));
    if (pattern.n)
        buf_printf(out, " that matches %.*s", STR_ARGS(pattern));
}

static void put_accepted(const struct json *schema, struct buf *out)
{
    const struct json *type = json_get(schema, "type"),
                      *choices = json_get(schema, "enum");
    buf_cstr(out, "; ");
    if (choices)
        put_choices(choices, out);
    else if (json_is(type, JSON_STRING) || !type)
        manifest_put_type(type ? json_str(type) : STR("string"), schema, out);
    struct json_iter it = json_iter(json_is(type, JSON_ARRAY) ? type : NULL);
    for (bool first = true; json_next(&it); first = false) {
        buf_cstr(out, first ? "" : " or ");
        manifest_put_type(json_str(it.value), NULL, out);
    }
    buf_cstr(out, " is accepted");
}

static void value_refuse(struct check *c, const struct place *p,
                         const struct json *schema, const struct json *v)
{
    scoped_buf struct buf what = buf_of(NOTE_MAX);
    manifest_put_value(v, &what);
    put_accepted(schema, &what);
    wrong(c, p, &what);
}

static void refuse_size(struct check *c, const struct place *p, size_t n,
                        const struct json *max, const char *of)
{
    scoped_buf struct buf what = buf_of(NOTE_MAX);
    buf_printf(&what, "has %zu %s; at most %lld are accepted", n, of,
               (long long)json_int(max, 0));
    wrong(c, p, &what);
}

/* ---- the schema --------------------------------------------------------- */

static bool manifest_type_fits(struct str name, const struct json *v)
{
    if (str_is(name, "integer"))
        return json_is_int(v);
    return str_is(name, json_type_name(json_type(v)));
}

static bool types_fit(const struct json *type, const struct json *v)
{
    struct json_iter it = json_iter(json_is(type, JSON_ARRAY) ? type : NULL);
    while (json_next(&it))
        if (manifest_type_fits(json_str(it.value), v))
            return true;
    return !type || (json_is(type, JSON_STRING) && manifest_type_fits(json_str(type), v));
}

static bool manifest_is_among(const struct json *choices, const struct json *v)
{
    struct json_iter it = json_iter(choices);
    while (json_next(&it))
        if (json_equal(it.value, v))
            return true;
    return !choices;
}

static bool pattern_matches(struct str pattern, struct str s)
{
    regex_t r;
    char p[200], text[400];
    if (!pattern.n)
        return true;
    (void)snprintf(p, sizeof p, "%.*s", STR_ARGS(pattern));
    (void)snprintf(text, sizeof text, "%.*s", STR_ARGS(s));
    must(regcomp(&r, p, REG_EXTENDED | REG_NOSUB) == 0); /* our own schema's */
    /* A NUL in it would end the text early. */
    bool ok = strlen(text) == s.n && regexec(&r, text, 0, NULL, 0) == 0;
    regfree(&r);
    return ok;
}

static bool string_fits(const struct json *schema, struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    if (s.n && memchr(s.at, '\0', s.n)) /* it would be another to the tool */
        return false;
    return (int64_t)n >= json_int(json_get(schema, "minLength"), 0) &&
           (int64_t)n <= json_int(json_get(schema, "maxLength"), INT64_MAX) &&
           pattern_matches(json_str(json_get(schema, "pattern")), s);
}

static bool scalar_fits(const struct json *schema, const struct json *v)
{
    double n = json_number(v, 0);
    return types_fit(json_get(schema, "type"), v) &&
           manifest_is_among(json_get(schema, "enum"), v) &&
           (!json_is(v, JSON_STRING) || string_fits(schema, json_str(v))) &&
           (!json_is(v, JSON_NUMBER) ||
            (n >= json_number(json_get(schema, "minimum"), n) &&
             n <= json_number(json_get(schema, "maximum"), n)));
}

static void manifest_check_value(struct check *c, const struct json *schema,
                                 const struct json *v, const struct place *p);

static void manifest_check_array(struct check *c, const struct json *schema,
                                 const struct json *v, const struct place *p)
{
    const struct json *max = json_get(schema, "maxItems"),
                      *items = json_get(schema, "items");
    size_t n = json_length(v);
    if (max && (int64_t)n > json_int(max, 0)) {
        refuse_size(c, p, n, max, "items");
        return;
    }
    json_open_array(c->out);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; json_next(&it); i++)
        manifest_check_value(c, items, it.value, &(struct place){.outer = p, .index = i});
    json_close(c->out);
}

/* The schema of what stands at that key: NULL and *known for anything at all. */
static const struct json *member(const struct json *schema, struct str key, bool *known)
{
    const struct json *properties = json_get(schema, "properties"),
                      *more = json_get(schema, "additionalProperties"),
                      *own = json_get_str(properties, key);
    *known = own || more || !properties;
    return own ? own : json_is(more, JSON_OBJECT) ? more : NULL;
}

static void check_missing(struct check *c, const struct json *schema,
                          const struct json *v, const struct place *p)
{
    struct json_iter it = json_iter(json_get(schema, "required"));
    while (json_next(&it)) {
        struct str key = json_str(it.value);
        if (!json_get_str(v, key))
            value_refuse(c, &(struct place){.outer = p, .key = key},
                         json_get_str(json_get(schema, "properties"), key), NULL);
    }
}

static void key_check_name(struct check *c, const struct json *schema, struct str key,
                           const struct place *p)
{
    const struct json *names = json_get(schema, "propertyNames");
    scoped_buf struct buf what = buf_of(NOTE_MAX);
    if (!names || string_fits(names, key))
        return;
    buf_cstr(&what, "is not a valid name for it");
    put_accepted(names, &what);
    wrong(c, p, &what);
}

static void manifest_check_object(struct check *c, const struct json *schema,
                                  const struct json *v, const struct place *p)
{
    const struct json *max = json_get(schema, "maxProperties");
    size_t n = json_length(v);
    if (max && (int64_t)n > json_int(max, 0)) {
        refuse_size(c, p, n, max, "fields");
        return;
    }
    check_missing(c, schema, v, p);
    json_open_object(c->out);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        /* Also an empty key has its place. */
        struct place at = {.outer = p, .key = {it.key.at ? it.key.at : "", it.key.n}};
        bool known;
        const struct json *own = member(schema, it.key, &known);
        if (!known) {
            warn(c, &at, "is not known, and left out");
            continue;
        }
        key_check_name(c, schema, it.key, &at);
        json_key_str(c->out, it.key);
        manifest_check_value(c, own, it.value, &at);
    }
    json_close(c->out);
}

/* Goes as deep as the schema does. */
static void manifest_check_value(struct check *c, const struct json *schema,
                                 const struct json *v, const struct place *p)
{
    if (!scalar_fits(schema, v)) {
        value_refuse(c, p, schema, v);
        json_put_null(c->out);
    } else if (json_is(v, JSON_OBJECT) && schema) {
        manifest_check_object(c, schema, v, p);
    } else if (json_is(v, JSON_ARRAY) && json_get(schema, "items")) {
        manifest_check_array(c, schema, v, p);
    } else {
        json_put(c->out, v);
    }
}

/* ---- rules beyond the schema -------------------------------------------- */

static void refuse_text(struct check *c, const struct place *p, const char *text)
{
    scoped_buf struct buf what = buf_of(NOTE_MAX);
    buf_cstr(&what, text);
    wrong(c, p, &what);
}

static void manifest_check_required(struct check *c, const struct json *parameters,
                                    const struct place *p)
{
    const struct json *properties = json_get(parameters, "properties");
    struct place list = {.outer = p, .key = STR("required")};
    struct json_iter it = json_iter(json_get(parameters, "required"));
    for (size_t i = 0; json_next(&it); i++) {
        struct place at = {.outer = &list, .index = i};
        if (json_get_str(properties, json_str(it.value)))
            continue;
        scoped_buf struct buf what = buf_of(NOTE_MAX);
        manifest_put_value(it.value, &what);
        buf_cstr(&what, "; a name of parameters.properties is accepted");
        wrong(c, &at, &what);
    }
}

/* A number's choices may be spelt as strings: the seed's type has no others. */
static bool choice_fits(struct str type, const struct json *choice)
{
    if (str_is(type, "string"))
        return json_is(choice, JSON_STRING);
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    return json_is(choice, JSON_NUMBER) ||
           json_is(json_read(json_str(choice), a, &none), JSON_NUMBER);
}

static bool is_choice(const struct json *choices, const struct json *v)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    struct json_iter it = json_iter(json_is(v, JSON_NUMBER) ? choices : NULL);
    while (json_next(&it))
        if (json_is(it.value, JSON_STRING) &&
            json_equal(json_read(json_str(it.value), a, &none), v))
            return true;
    return manifest_is_among(choices, v);
}

static void manifest_check_choices(struct check *c, const struct json *one,
                                   const struct place *p)
{
    struct str type = json_str(json_get(one, "type"));
    struct place list = {.outer = p, .key = STR("enum")};
    struct json_iter it = json_iter(json_get(one, "enum"));
    if (json_length(json_get(one, "enum")) && !str_is(type, "string") &&
        !str_is(type, "number")) {
        warn(c, &list, "belongs to strings and numbers, and does nothing here");
        return;
    }
    for (size_t i = 0; json_next(&it); i++)
        if (!choice_fits(type, it.value))
            refuse_text(c, &(struct place){.outer = &list, .index = i},
                        str_is(type, "string") ? "must be a string, as its parameter is"
                                               : "must be a number, as its parameter is");
}

static bool items_fit(const struct json *one, const struct json *v)
{
    struct str type = json_str(json_get(json_get(one, "items"), "type"));
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!manifest_type_fits(type.n ? type : STR("string"), it.value))
            return false;
    return true;
}

static void manifest_check_default(struct check *c, const struct json *one,
                                   const struct place *p)
{
    const struct json *v = json_get(one, "default"), *choices = json_get(one, "enum"),
                      *type = json_get(one, "type");
    struct place at = {.outer = p, .key = STR("default")};
    bool is_array = json_is(v, JSON_ARRAY);
    /* Nothing, said in so many words. */
    if (!v || json_is(v, JSON_NULL) || (json_is(v, JSON_STRING) && !json_str(v).n))
        return;
    if (!manifest_type_fits(json_str(type), v) || (is_array && !items_fit(one, v)))
        value_refuse(c, &at, one, v);
    else if (!is_array && !json_is(v, JSON_BOOL) && json_length(choices) &&
             !is_choice(choices, v))
        value_refuse(c, &at, one, v);
}

static void check_parameter(struct check *c, const struct json *one, struct str style,
                            const struct place *p)
{
    manifest_check_choices(c, one, p);
    manifest_check_default(c, one, p);
    const struct json *flag = json_get(one, "flag"),
                      *position = json_get(one, "position");
    if (json_get(one, "items") && !str_is(json_str(json_get(one, "type")), "array"))
        warn(c, &(struct place){.outer = p, .key = STR("items")},
             "belongs to arrays, and does nothing here");
    if ((flag || position) && !str_is(style, "cli"))
        warn(c, p, "has a flag or position, which only argStyle \"cli\" looks at");
    if (flag && position)
        refuse_text(c, p, "has a flag and a position; one of them is accepted");
}

static bool parameter_suits_clients(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool letter = c == '_' || char_is_letter(c);
        if (!letter && (i == 0 || !char_is_digit(c)))
            return false;
    }
    return name.n > 0 && name.n <= TOOL_NAME_MAX;
}

bool tool_suits_clients(const struct tool *t)
{
    for (size_t i = 0; i < t->parameter_count; i++)
        if (!parameter_suits_clients(str_of(t->parameters[i].name)))
            return false;
    return strlen(t->name) <= TOOL_CLIENTS_NAME_MAX;
}

/* It works all the same: by run_tool and in code. */
static void check_clients(struct check *c, const struct json *m,
                          const struct place *whole, const struct place *properties)
{
    static const char text[] =
        "is a name that not all clients take, so the tool is never in a client's list: "
        "find_tools finds it, run_tool runs it";
    if (json_str(json_get(m, "name")).n > TOOL_CLIENTS_NAME_MAX)
        warn(c, &(struct place){.outer = whole, .key = STR("name")}, text);
    struct json_iter it = json_iter(json_get(json_get(m, "parameters"), "properties"));
    while (json_next(&it))
        if (it.key.n && !parameter_suits_clients(it.key))
            warn(c, &(struct place){.outer = properties, .key = it.key}, text);
}

static void check_positions(struct check *c, const struct json *properties,
                            const struct place *p)
{
    for (struct json_iter it = json_iter(properties); json_next(&it);) {
        int64_t position = json_int(json_get(it.value, "position"), 0);
        struct place at = {.outer = p, .key = it.key};
        for (struct json_iter other = json_iter(properties);
             position && json_next(&other);) {
            if (other.value == it.value)
                break;
            if (json_int(json_get(other.value, "position"), 0) == position)
                refuse_text(c, &at, "has the position of another parameter");
        }
    }
}

static void check_stdin(struct check *c, const struct json *m,
                        const struct json *properties, const struct place *whole)
{
    const struct json *name = json_get(json_get(m, "execution"), "stdinParam");
    struct place at = {.outer = whole, .key = STR("execution.stdinParam")};
    if (name && !json_get_str(properties, json_str(name)))
        refuse_text(c, &at, "is not a name in parameters.properties");
}

/* Its program is a word of its own: what follows are arguments, whatever is in them. */
static void check_runtime(struct check *c, const struct json *m,
                          const struct place *whole)
{
    const struct json *command = json_get(m, "command"),
                      *memory = json_get(json_get(m, "execution"), "memoryLimit");
    struct str program = json_str(json_at(command, 0));
    struct place at = {.outer = whole, .key = STR("command")};
    struct place limit = {.outer = whole, .key = STR("execution.memoryLimit")};
    if (!manifest_is_command(m)) {
        if (command)
            warn(c, &at, "belongs to the runtime \"vm\", and does nothing here");
        return;
    }
    if (!program.n || program.at[0] == '-')
        refuse_text(c, &at,
                    "must begin with a program of the Linux machine, such as "
                    "[\"python3\", \"-m\", \"json.tool\"]: the runtime is \"vm\"");
    if (memory && (uint64_t)json_int(memory, 0) < TOOL_MACHINE_LEAST)
        refuse_text(c, &limit,
                    "is less than a Linux machine has: from 67108864 on is accepted");
}

static void check_sense(struct check *c, const struct json *m)
{
    const struct json *parameters = json_get(m, "parameters"),
                      *properties = json_get(parameters, "properties");
    struct str style = json_str(json_get(json_get(m, "execution"), "argStyle"));
    struct place whole = {0}, at = {.outer = &whole, .key = STR("parameters")},
                 list = {.outer = &at, .key = STR("properties")};
    manifest_check_required(c, parameters, &at);
    struct json_iter it = json_iter(properties);
    while (json_next(&it))
        check_parameter(c, it.value, style,
                        &(struct place){.outer = &list, .key = it.key});
    check_positions(c, properties, &list);
    check_stdin(c, m, properties, &whole);
    check_runtime(c, m, &whole);
    if (!semver_is(json_str(json_get(m, "version"))))
        warn(c, &(struct place){.outer = &whole, .key = STR("version")},
             "is not a semantic version such as 1.2.3, so that nobody can tell which "
             "of two is newer");
    check_clients(c, m, &whole, &list);
}

/* ---- whole -------------------------------------------------------------- */

/* The errors as one sentence, as many as fit. */
static bool refuse_all(const struct tool_notes *notes, struct err *e)
{
    scoped_buf struct buf line = buf_of(340);
    struct str rest = buf_view(&notes->errors);
    size_t told = 0;
    while (rest.n) {
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = (size_t)(end - rest.at);
        if (told && line.n + n + 2 > line.ceiling)
            break;
        buf_cstr(&line, told++ ? ". " : "");
        buf_str(&line, str_cut((struct str){rest.at, n}, 330));
        rest = (struct str){end + 1, rest.n - n - 1};
    }
    if (told < notes->error_count)
        return err_set(e, ERR_INVALID, "%s. And %zu more", buf_cz(&line),
                       notes->error_count - told);
    return err_set(e, ERR_INVALID, "%s", buf_cz(&line));
}

bool manifest_check(struct str text, struct tool_notes *notes, struct buf *clean,
                    struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(MANIFEST_MEMORY + ARENA_SMALL);
    if (text.n > MANIFEST_MAX)
        return err_set(e, ERR_LIMIT,
                       "the manifest has %zu bytes; at most %zu are accepted", text.n,
                       MANIFEST_MAX);
    if (str_starts(text, "\xef\xbb\xbf"))
        text = (struct str){text.at + 3, text.n - 3};
    const struct json *m = json_read(text, a, e),
                      *schema = json_read(str_of(manifest_schema), a, e);
    if (!m || !schema)
        return err_wrap(e, "the manifest is not JSON that can be parsed");
    struct json_writer out = json_writer(clean);
    struct check c = {.notes = notes, .out = &out};
    manifest_check_value(&c, schema, m, &(struct place){0});
    if (!notes->error_count)
        check_sense(&c, m);
    if (notes->error_count)
        return refuse_all(notes, e);
    return buf_check(clean, "the manifest", e);
}

bool tool_manifest_check(struct str text, struct tool_notes *notes, struct err *e)
{
    scoped_buf struct buf clean = buf_of(MANIFEST_MAX);
    return manifest_check(text, notes, &clean, e);
}
