/* Shapes: checks of arguments at run time, as far as the text of a parameter's type
 * tells: keywords, literals, unions, arrays, tuples, objects, classes, and the types of
 * our API. For anything else (types that the code itself declares, generics, conditional
 * types) the checker is needed (checking_put_shapes(), which comes first); here it
 * accepts any value.
 *
 * The parser has a stack of bounded depth: a type is nested SHAPES_DEEP times at most,
 * and becomes SHAPES_MAX shapes at most, beyond which any value is accepted. */
#include <ctype.h>
#include <stdio.h>

#include "functions_api/function_load.h"
#include "functions_api/functioning.h"

#define SHAPES_MAX 256u
#define SHAPES_DEEP 24u
#define TEXT_MAX 100u
#define PARTS_MAX 64u /* of a union, a tuple or an object */

struct reader {
    struct arena *arena;
    struct str shapes[SHAPES_MAX], texts[SHAPES_MAX]; /* JSON; the source text */
    struct {
        const struct api_type *type;
        uint32_t shape;
    } named[API_TYPES_MAX];
    size_t count, named_count;
    unsigned depth;
    bool whole; /* everything was understood */
    struct str rest, code;
};

static uint32_t read_type(struct reader *r);

/* ---- tokens ------------------------------------------------------------- */

static void skip(struct reader *r)
{
    while (r->rest.n && isspace((unsigned char)r->rest.at[0]))
        r->rest = (struct str){r->rest.at + 1, r->rest.n - 1};
}

static bool take_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    skip(r);
    if (!str_starts(r->rest, word))
        return false;
    r->rest = (struct str){r->rest.at + n, r->rest.n - n};
    return true;
}

static struct str take_name(struct reader *r)
{
    size_t n = 0;
    skip(r);
    while (n < r->rest.n && char_is_word(r->rest.at[n]))
        n++;
    struct str name = {r->rest.at, n};
    r->rest = (struct str){r->rest.at + n, r->rest.n - n};
    return name;
}

/* A quoted string without escapes; false: none here, or one with escapes. */
static bool take_quoted(struct reader *r, struct str *out)
{
    skip(r);
    char quote = r->rest.n ? r->rest.at[0] : 0;
    if (quote != '\'' && quote != '"')
        return false;
    const char *end = memchr(r->rest.at + 1, quote, r->rest.n - 1);
    if (!end || memchr(r->rest.at, '\\', (size_t)(end - r->rest.at)))
        return false;
    *out = (struct str){r->rest.at + 1, (size_t)(end - r->rest.at - 1)};
    r->rest = (struct str){end + 1, r->rest.n - out->n - 2};
    return true;
}

/* ---- shapes ------------------------------------------------------------- */

/* Allocates its index before its parts are read: they may refer to it. */
static uint32_t reserve(struct reader *r)
{
    if (r->count == SHAPES_MAX) {
        r->whole = false;
        return SHAPES_MAX - 1;
    }
    r->shapes[r->count] = STR("\"any\"");
    r->texts[r->count] = (struct str){0};
    return (uint32_t)r->count++;
}

static uint32_t shape_put(struct reader *r, uint32_t at, const struct buf *json)
{
    struct err full = {0};
    char *own = at < SHAPES_MAX - 1 && !json->failed
                    ? arena_copy(r->arena, json->at, json->n, &full)
                    : NULL;
    if (own)
        r->shapes[at] = (struct str){own, json->n};
    else
        r->whole = false;
    return at;
}

static uint32_t put_word(struct reader *r, const char *word)
{
    char text[40];
    struct buf json;
    buf_init(&json, sizeof text);
    buf_printf(&json, "\"%s\"", word);
    uint32_t at = shape_put(r, reserve(r), &json);
    buf_done(&json);
    return at;
}

/* A type that this parser does not know. */
static uint32_t put_unknown(struct reader *r)
{
    r->whole = false;
    return put_word(r, "any");
}

static uint32_t put_literal(struct reader *r, struct str value, bool text)
{
    struct buf json;
    buf_init(&json, 64 + value.n * 6);
    struct json_writer w = json_writer(&json);
    json_open_object(&w);
    if (text)
        json_pair_str(&w, "is", value);
    else
        json_pair_raw(&w, "is", value);
    json_close(&w);
    uint32_t at = shape_put(r, reserve(r), &json);
    buf_done(&json);
    return at;
}

/* {"or": [1, 2]}, and the like. */
static uint32_t shape_put_list(struct reader *r, uint32_t at, const char *key,
                               const uint32_t *parts, size_t count, size_t optional)
{
    struct buf json;
    buf_init(&json, PARTS_MAX * 8);
    struct json_writer w = json_writer(&json);
    json_open_object(&w);
    json_key(&w, key);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        json_put_int(&w, parts[i]);
    json_close(&w);
    if (optional)
        json_pair_int(&w, "optional", (int64_t)optional);
    json_close(&w);
    shape_put(r, at, &json);
    buf_done(&json);
    return at;
}

static uint32_t shape_put_one(struct reader *r, const char *key, uint32_t part)
{
    struct buf json;
    buf_init(&json, 64);
    buf_printf(&json, "{\"%s\":%u}", key, part);
    uint32_t at = shape_put(r, reserve(r), &json);
    buf_done(&json);
    return at;
}

static uint32_t put_class(struct reader *r, struct str name)
{
    struct buf json;
    buf_init(&json, 64);
    buf_printf(&json, "{\"class\":\"%.*s\"}", STR_ARGS(name));
    uint32_t at = shape_put(r, reserve(r), &json);
    buf_done(&json);
    return at;
}

/* ---- objects ------------------------------------------------------------- */

struct members {
    struct json_writer fields, optional;
    struct buf fields_text, optional_text;
    uint32_t others;
    bool has_others;
};

/* "[key: string]: T", behind its bracket. */
static bool read_others(struct reader *r, struct members *m)
{
    (void)take_name(r);
    if (!take_word(r, ":") || !str_is(take_name(r), "string") || !take_word(r, "]") ||
        !take_word(r, ":"))
        return false;
    m->others = read_type(r);
    m->has_others = true;
    return true;
}

/* Steps over a method's parameters and what it answers. */
static uint32_t read_method(struct reader *r)
{
    int depth = 0;
    while (r->rest.n) {
        char c = r->rest.at[0];
        depth += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
        if (depth < 0 || (depth == 0 && strchr(",;\n", c)))
            break;
        r->rest = (struct str){r->rest.at + 1, r->rest.n - 1};
    }
    return put_word(r, "function");
}

static bool read_member(struct reader *r, struct members *m)
{
    struct str name;
    if (take_word(r, "["))
        return read_others(r, m);
    if (!take_quoted(r, &name))
        name = take_name(r);
    if (str_is(name, "readonly") && r->rest.n && r->rest.at[0] == ' ')
        return read_member(r, m);
    bool optional = name.n && take_word(r, "?");
    skip(r);
    bool method = r->rest.n && r->rest.at[0] == '(';
    if (!name.n || (!method && !take_word(r, ":")))
        return false;
    json_key_str(&m->fields, name);
    json_put_int(&m->fields, method ? read_method(r) : read_type(r));
    if (optional)
        json_put_str(&m->optional, name);
    return true;
}

static void put_members(struct reader *r, uint32_t at, struct members *m)
{
    struct buf json;
    buf_init(&json, BUF_TEXT);
    buf_cstr(&json, "{\"fields\":");
    buf_str(&json, buf_view(&m->fields_text));
    buf_cstr(&json, ",\"optional\":");
    buf_str(&json, buf_view(&m->optional_text));
    if (m->has_others)
        buf_printf(&json, ",\"others\":%u", m->others);
    buf_char(&json, '}');
    if (m->fields_text.failed || m->optional_text.failed)
        json.failed = true;
    shape_put(r, at, &json);
    buf_done(&json);
}

/* After the brace. */
static uint32_t read_object(struct reader *r, uint32_t at)
{
    struct members m = {.has_others = false};
    buf_init(&m.fields_text, (size_t)32 << 10);
    buf_init(&m.optional_text, BUF_PAGE);
    m.fields = json_writer(&m.fields_text);
    m.optional = json_writer(&m.optional_text);
    json_open_object(&m.fields);
    json_open_array(&m.optional);
    bool ok = true;
    while (ok && !take_word(r, "}")) {
        ok = read_member(r, &m);
        while (take_word(r, ",") || take_word(r, ";"))
            ;
    }
    json_close(&m.fields);
    json_close(&m.optional);
    if (ok)
        put_members(r, at, &m);
    else
        r->whole = false;
    if (!ok)
        r->rest = (struct str){0}; /* the rest cannot be trusted */
    buf_done(&m.fields_text);
    buf_done(&m.optional_text);
    return at;
}

/* ---- types ----------------------------------------------------------------- */

static const char classes[] =
    " Date RegExp Map Set WeakMap WeakSet Promise Error ArrayBuffer DataView Uint8Array "
    "Int8Array Uint8ClampedArray Uint16Array Int16Array Uint32Array Int32Array "
    "Float32Array Float64Array BigInt64Array BigUint64Array URL URLSearchParams "
    "AbortSignal ";
static const char words[] =
    " string number boolean bigint symbol null undefined any never object ";

static bool is_among(const char *list, struct str word)
{
    char text[40];
    if (!word.n || word.n > sizeof text - 3)
        return false;
    (void)snprintf(text, sizeof text, " %.*s ", STR_ARGS(word));
    return strstr(list, text) != NULL;
}

/* A type of the API: its definition is parsed once, in place of its name. */
static uint32_t read_named(struct reader *r, const struct api_type *t)
{
    for (size_t i = 0; i < r->named_count; i++)
        if (r->named[i].type == t)
            return r->named[i].shape;
    if (r->named_count == LENGTH(r->named))
        return put_unknown(r);
    struct str behind = r->rest, definition = str_of(t->definition);
    bool object = definition.at[0] == '{';
    uint32_t at = object ? reserve(r) : (uint32_t)r->count;
    r->named[r->named_count].type = t;
    r->named[r->named_count++].shape = at;
    r->rest = (struct str){definition.at + object, definition.n - object};
    if (object)
        read_object(r, at);
    else
        at = read_type(r);
    r->texts[at] = str_of(t->name);
    r->named[r->named_count - 1].shape = at;
    r->rest = behind;
    return at;
}

/* "<T>" after Array, Record and others. */
static uint32_t read_generic(struct reader *r, struct str name)
{
    bool array = str_is(name, "Array") || str_is(name, "ReadonlyArray");
    bool record = str_is(name, "Record");
    uint32_t first = read_type(r), last = first;
    while (take_word(r, ","))
        last = read_type(r);
    if (!take_word(r, ">"))
        return put_unknown(r);
    if (array)
        return shape_put_one(r, "array", first);
    if (!record)
        return is_among(classes, name) ? put_class(r, name) : put_unknown(r);
    struct buf json;
    buf_init(&json, 64);
    buf_printf(&json, "{\"fields\":{},\"others\":%u}", last);
    uint32_t at = shape_put(r, reserve(r), &json);
    buf_done(&json);
    /* Of Record<'a' | 'b', T> only the values are checked here. */
    r->whole &= str_is(r->shapes[first], "\"string\"");
    return at;
}

/* Whether the code seems to declare a type of this name, which then is the one meant. */
static bool is_declared(struct str code, struct str name)
{
    static const char *const kinds[] = {"interface", "type", "class", "enum"};
    const char *at = code.at, *end = code.at + code.n, *found;
    while ((found = memmem(at, (size_t)(end - at), name.at, name.n))) {
        struct str before = str_trim((struct str){code.at, (size_t)(found - code.at)});
        at = found + name.n;
        for (size_t i = 0; i < LENGTH(kinds); i++)
            if (str_ends(before, kinds[i]) && before.at + before.n < found &&
                (at == end || !char_is_word(*at)))
                return true;
    }
    return false;
}

static uint32_t shape_read_name(struct reader *r)
{
    struct str name = take_name(r);
    const struct api_type *known = api_type_named(name);
    if (name.n && (known || is_among(classes, name)) && is_declared(r->code, name))
        return put_unknown(r);
    if (take_word(r, "<"))
        return read_generic(r, name);
    if (is_among(words, name)) {
        char word[16];
        (void)snprintf(word, sizeof word, "%.*s", STR_ARGS(name));
        return put_word(r, word);
    }
    if (str_is(name, "unknown"))
        return put_word(r, "any");
    if (str_is(name, "void"))
        return put_word(r, "undefined");
    if (str_is(name, "Function"))
        return put_word(r, "function");
    if (str_is(name, "true") || str_is(name, "false"))
        return put_literal(r, name, false);
    if (str_is(name, "readonly"))
        return read_type(r);
    if (is_among(classes, name))
        return put_class(r, name);
    return known ? read_named(r, known) : put_unknown(r);
}

/* Whether an arrow follows the bracket that opens here. */
static bool is_function(struct str s)
{
    int depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        depth += (s.at[i] == '(') - (s.at[i] == ')');
        if (depth == 0)
            return str_starts(str_trim((struct str){s.at + i + 1, s.n - i - 1}), "=>");
    }
    return false;
}

static uint32_t read_tuple(struct reader *r)
{
    uint32_t parts[PARTS_MAX];
    size_t count = 0, optional = 0;
    while (!take_word(r, "]")) {
        if (count == PARTS_MAX || !r->rest.n || str_starts(r->rest, "..."))
            return put_unknown(r);
        parts[count++] = read_type(r);
        optional += take_word(r, "?");
        if (take_word(r, ":")) /* it was a name */
            return put_unknown(r);
        (void)take_word(r, ",");
    }
    return shape_put_list(r, reserve(r), "tuple", parts, count, optional);
}

static uint32_t shape_read_number(struct reader *r)
{
    size_t n = r->rest.at[0] == '-';
    while (n < r->rest.n && (char_is_digit(r->rest.at[n]) || r->rest.at[n] == '.'))
        n++;
    struct str number = {r->rest.at, n};
    struct err e = {0};
    const struct json *read = json_read(number, r->arena, &e);
    r->rest = (struct str){r->rest.at + n, r->rest.n - n};
    return json_is(read, JSON_NUMBER) ? put_literal(r, number, false) : put_unknown(r);
}

static uint32_t read_primary(struct reader *r)
{
    struct str text;
    skip(r);
    char c = r->rest.n ? r->rest.at[0] : 0;
    if (take_quoted(r, &text))
        return put_literal(r, text, true);
    if (c == '(' && is_function(r->rest)) {
        r->rest = (struct str){0};
        return put_word(r, "function");
    }
    if (c == '-' || char_is_digit(c))
        return shape_read_number(r);
    if (take_word(r, "{"))
        return read_object(r, reserve(r));
    if (take_word(r, "["))
        return read_tuple(r);
    if (take_word(r, "(")) {
        uint32_t inner = read_type(r);
        return take_word(r, ")") ? inner : put_unknown(r);
    }
    return char_is_word(c) ? shape_read_name(r) : put_unknown(r);
}

/* T[], T[][] */
static uint32_t read_array(struct reader *r)
{
    const char *first = r->rest.at;
    uint32_t at = read_primary(r);
    while (take_word(r, "[")) {
        if (!take_word(r, "]"))
            return put_unknown(r); /* T['key'] */
        at = shape_put_one(r, "array", at);
        struct str text = {first, (size_t)(r->rest.at - first)};
        if (at < SHAPES_MAX)
            r->texts[at] = str_trim(str_cut(text, TEXT_MAX));
    }
    return at;
}

static uint32_t read_row(struct reader *r, const char *sign, const char *key,
                         uint32_t (*part)(struct reader *r))
{
    uint32_t parts[PARTS_MAX];
    size_t count = 0;
    (void)take_word(r, sign);
    do {
        uint32_t at = part(r);
        if (count == PARTS_MAX)
            return put_unknown(r);
        parts[count++] = at;
    } while (take_word(r, sign));
    return count == 1 ? parts[0] : shape_put_list(r, reserve(r), key, parts, count, 0);
}

static uint32_t read_intersection(struct reader *r)
{
    return read_row(r, "&", "and", read_array);
}

static uint32_t read_type(struct reader *r)
{
    if (r->depth == SHAPES_DEEP || r->count >= SHAPES_MAX - 1) {
        r->rest = (struct str){0};
        return put_unknown(r);
    }
    r->depth++;
    skip(r);
    struct str from = r->rest;
    uint32_t at = read_row(r, "|", "or", read_intersection);
    size_t n = r->rest.at ? (size_t)(r->rest.at - from.at) : from.n;
    if (at < SHAPES_MAX && n <= from.n && !r->texts[at].n)
        r->texts[at] = str_trim(str_cut((struct str){from.at, n}, TEXT_MAX));
    r->depth--;
    return at;
}

/* ---- parameters ------------------------------------------------------------- */

static void write_shapes(const struct reader *r, const uint32_t *parameters, size_t count,
                         struct json_writer *out)
{
    json_open_object(out);
    json_key(out, "types");
    json_open_array(out);
    for (size_t i = 0; i < r->count; i++)
        json_put_raw(out, r->shapes[i]);
    json_close(out);
    json_key(out, "texts");
    json_open_array(out);
    for (size_t i = 0; i < r->count; i++)
        json_put_str(out, r->texts[i]);
    json_close(out);
    json_key(out, "parameters");
    json_open_array(out);
    for (size_t i = 0; i < count; i++)
        json_put_int(out, parameters[i]);
    json_close(out);
    json_close(out);
}

bool function_put_shapes(const struct function *fn, struct json_writer *out)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    scoped(free) struct reader *r = calloc(1, sizeof *r);
    uint32_t parameters[FUNCTION_LIST_MAX];
    size_t count = 0;
    bool whole = true;
    if (r)
        r->arena = arena, r->code = fn->language == FUNCTION_PYTHON ? STR("") : fn->code;
    for (; r && count < fn->parameter_count && count < FUNCTION_LIST_MAX; count++) {
        r->rest = fn->parameters[count].type;
        r->whole = true;
        parameters[count] = read_type(r);
        skip(r);
        if (r->rest.n) /* unknown syntax follows */
            parameters[count] = put_unknown(r);
        whole &= r->whole;
    }
    if (r)
        write_shapes(r, parameters, count, out);
    return r && whole;
}
