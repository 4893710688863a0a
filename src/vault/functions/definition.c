/* Reads definitions: shapes, lengths and counts. What a name or a type means is not looked
 * at here. Nothing stops at the first mistake: who wrote it by hand wants to hear of all. */
#include <ctype.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "functions/internal.h"
#include "functions/reader.h"

#define TAG_MAX 64u           /* bytes */
#define EXAMPLE_NAME_MAX 200u /* bytes */
#define CODE_LINES_MAX 20000u

static void refuse_type(struct reader *r, const struct json *v, const char *wanted)
{
    reader_wrong(r, json_type(v) == JSON_ABSENT ? "MISSING_FIELD" : "WRONG_TYPE",
                 json_type(v) == JSON_ABSENT ? "is missing%s; %s is accepted"
                                             : "is %s; %s is accepted",
                 json_type(v) == JSON_ABSENT ? "" : json_type_name(json_type(v)), wanted);
}

/* A field that is a text of at most `max` bytes; empty where it may be missing, and is. */
static struct str definition_read_text(struct reader *r, const struct json *object,
                                       const char *key, size_t max, bool needed,
                                       const char *wanted)
{
    const struct json *v = json_get(object, key);
    if (!v && !needed)
        return (struct str){"", 0};
    reader_enter(r, str_of(key));
    struct str s = json_str(v);
    if (!json_is(v, JSON_STRING))
        refuse_type(r, v, wanted);
    else if (needed && !str_trim(s).n)
        reader_wrong(r, "EMPTY_FIELD", "is empty; %s is accepted", wanted);
    else if (s.n > max)
        reader_wrong(r, "TOO_LONG", "has %zu bytes; at most %zu are accepted", s.n, max);
    reader_leave(r);
    return s;
}

static bool definition_is_word_char(char c, bool first)
{
    return char_is_letter(c) || c == '_' || c == '$' || (c & 0x80) ||
           (!first && char_is_digit(c));
}

/* Could it be an identifier? So that whatever is made of it keeps its form. */
static bool definition_is_word(struct str s)
{
    size_t chars = 0;
    for (size_t i = 0; i < s.n; i++) {
        chars += (s.at[i] & 0xc0) != 0x80;
        if (!definition_is_word_char(s.at[i], i == 0))
            return false;
    }
    return chars > 0 && chars <= FUNCTION_NAME_MAX;
}

/* "my-func 2" -> "myFunc2"; empty: nothing of it can stay. */
static void make_word(struct str s, char out[FUNCTION_NAME_MAX + 1])
{
    size_t n = 0;
    bool gap = false;
    for (size_t i = 0; i < s.n && n < FUNCTION_NAME_MAX; i++) {
        char c = s.at[i];
        bool fits = !(c & 0x80) && definition_is_word_char(c, n == 0);
        if (fits && gap && n && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        if (fits)
            out[n++] = c;
        gap = !fits;
    }
    out[n] = '\0';
}

static void definition_check_word(struct reader *r, struct str s, const char *what)
{
    char word[FUNCTION_NAME_MAX + 1], text[FUNCTION_NAME_MAX + 40];
    if (definition_is_word(s))
        return;
    make_word(s, word);
    (void)snprintf(text, sizeof text, "'%s' would be one, in the code too.", word);
    r->suggestion = word[0] ? text : NULL;
    reader_wrong(r, "INVALID_NAME",
                 "'%.*s' is not a name for a %s: 1 to %u letters, digits, '_' and '$' "
                 "are accepted, the first not a digit",
                 STR_ARGS(str_cut(s, 80)), what, FUNCTION_NAME_MAX);
}

/* An array's or an object's length, of which at most FUNCTION_LIST_MAX are accepted. */
static size_t read_length(struct reader *r, const struct json *v)
{
    if (json_length(v) <= FUNCTION_LIST_MAX)
        return json_length(v);
    reader_wrong(r, "TOO_MANY", "has %zu entries; at most %u are accepted",
                 json_length(v), FUNCTION_LIST_MAX);
    return FUNCTION_LIST_MAX;
}

/* ---- parameters ---------------------------------------------------------- */

static void definition_read_parameter(struct reader *r, const struct json *v,
                                      struct function_parameter *out)
{
    bool rest;
    definition_check_word(r, function_parameter_name(out, &rest), "parameter");
    if (!json_is(v, JSON_OBJECT)) {
        refuse_type(r, v, "an object {type, description?, optional?, default?}");
        return;
    }
    out->type = definition_read_text(r, v, "type", FUNCTION_TEXT_MAX, true,
                                     "a TypeScript type such as 'string' or 'Note[]'");
    out->description =
        definition_read_text(r, v, "description", FUNCTION_TEXT_MAX, false, "a string");
    const struct json *optional = json_get(v, "optional");
    if (optional && !json_is(optional, JSON_BOOL)) {
        reader_enter(r, STR("optional"));
        refuse_type(r, optional, "true or false");
        reader_leave(r);
    }
    out->fallback = json_get(v, "default");
    out->optional = json_bool(optional, false) || out->fallback;
    out->source = r->of_file ? v : NULL;
}

static bool definition_read_parameters(struct reader *r, const struct json *v,
                                       struct function *out, struct err *e)
{
    if (!v && r->of_file)
        return true;
    reader_enter(r, STR("parameters"));
    if (!json_is(v, JSON_OBJECT))
        refuse_type(r, v, "an object {NAME: {type, description?, optional?, default?}}");
    size_t n = json_is(v, JSON_OBJECT) ? read_length(r, v) : 0;
    struct function_parameter *all = arena_get(r->arena, (n + 1) * sizeof *all, e);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; all && i < n && json_next(&it); i++) {
        all[i].name = it.key;
        reader_enter(r, it.key);
        definition_read_parameter(r, it.value, &all[i]);
        reader_leave(r);
    }
    out->parameters = all;
    out->parameter_count = n;
    reader_leave(r);
    return all;
}

/* ---- code, tags, examples ------------------------------------------------ */

static struct str join_lines(struct reader *r, const struct json *v, struct err *e)
{
    scoped_buf struct buf text = buf_of(FUNCTION_CODE_MAX + 1);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; json_next(&it); i++) {
        reader_enter_at(r, i);
        if (!json_is(it.value, JSON_STRING))
            refuse_type(r, it.value, "a line of code");
        reader_leave(r);
        if (i)
            buf_char(&text, '\n');
        buf_str(&text, json_str(it.value));
    }
    if (text.failed) {
        reader_wrong(r, "TOO_LONG",
                     "has more than %zu bytes, which is all that is accepted",
                     FUNCTION_CODE_MAX);
        return (struct str){"", 0};
    }
    char *copy = arena_copy(r->arena, text.at, text.n, e);
    return (struct str){copy ? copy : "", copy ? text.n : 0};
}

static struct str definition_read_code(struct reader *r, const struct json *object,
                                       struct err *e)
{
    static const char wanted[] = "TypeScript that binds the function's name";
    const struct json *v = json_get(object, "code");
    if (!json_is(v, JSON_ARRAY))
        return definition_read_text(r, object, "code", FUNCTION_CODE_MAX, true, wanted);
    reader_enter(r, STR("code"));
    struct str code =
        json_length(v) > CODE_LINES_MAX ? (struct str){"", 0} : join_lines(r, v, e);
    if (json_length(v) > CODE_LINES_MAX)
        reader_wrong(r, "TOO_MANY", "has %zu lines; at most %u are accepted",
                     json_length(v), CODE_LINES_MAX);
    else if (!str_trim(code).n && !e->code)
        reader_wrong(r, "EMPTY_FIELD", "is empty; %s is accepted", wanted);
    reader_leave(r);
    return code;
}

/* JavaScript is TypeScript without types. */
static void read_language(struct reader *r, const struct json *v, struct function *out)
{
    struct str s = json_str(v);
    bool python = str_is(s, "python");
    out->language = python ? FUNCTION_PYTHON : FUNCTION_TYPESCRIPT;
    if (!v || python || str_is(s, "typescript") || str_is(s, "javascript"))
        return;
    reader_enter(r, STR("language"));
    reader_wrong(r, "INVALID_VALUE",
                 "is '%.*s'; 'typescript', 'javascript' or 'python' is accepted",
                 STR_ARGS(str_cut(s, 40)));
    reader_leave(r);
}

static bool definition_read_tags(struct reader *r, const struct json *v,
                                 struct function *out, struct err *e)
{
    if (!v)
        return true;
    reader_enter(r, STR("tags"));
    if (!json_is(v, JSON_ARRAY))
        refuse_type(r, v, "a list of strings");
    size_t n = json_is(v, JSON_ARRAY) ? read_length(r, v) : 0;
    struct str *all = arena_get(r->arena, (n + 1) * sizeof *all, e);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; all && i < n && json_next(&it); i++) {
        all[i] = json_str(it.value);
        reader_enter_at(r, i);
        if (!json_is(it.value, JSON_STRING))
            refuse_type(r, it.value, "a string");
        else if (!str_trim(all[i]).n || all[i].n > TAG_MAX)
            reader_wrong(r, "INVALID_TAG", "has %zu bytes; 1 to %u are accepted",
                         all[i].n, TAG_MAX);
        reader_leave(r);
    }
    out->tags = all;
    out->tag_count = n;
    reader_leave(r);
    return all;
}

static void read_example(struct reader *r, const struct json *v,
                         struct function_example *out)
{
    if (!json_is(v, JSON_OBJECT)) {
        refuse_type(
            r, v,
            "an object {name?, args?, expected? | matches? | error?, notes?, now?}");
        return;
    }
    out->name = definition_read_text(r, v, "name", EXAMPLE_NAME_MAX, false, "a string");
    out->error =
        definition_read_text(r, v, "error", FUNCTION_TEXT_MAX, false, "a string");
    out->args = json_get(v, "args");
    out->expected = json_get(v, "expected");
    out->matches = json_get(v, "matches");
    out->source = r->of_file ? v : NULL;
    if (out->args && !json_is(out->args, JSON_OBJECT) &&
        !json_is(out->args, JSON_ARRAY)) {
        reader_enter(r, STR("args"));
        refuse_type(r, out->args, "an object by parameter, or an array");
        reader_leave(r);
    }
    out->notes = json_get(v, "notes");
    out->now = definition_read_text(r, v, "now", 64, false, "a date");
    if (out->notes && !json_is(out->notes, JSON_ARRAY)) {
        reader_enter(r, STR("notes"));
        refuse_type(r, out->notes, "a list of notes, as notes.create takes them");
        reader_leave(r);
    }
    if (out->now.n && !date_read(out->now, &out->now_ms))
        reader_wrong(r, "INVALID_EXAMPLE",
                     "has '%.*s' as now; a date such as 2026-01-31, or a time such as "
                     "2026-01-31T12:00:00Z, is accepted",
                     STR_ARGS(str_cut(out->now, 40)));
    int wishes = !!json_get(v, "error") + !!out->expected + !!out->matches;
    if (wishes > 1)
        reader_wrong(r, "INVALID_EXAMPLE",
                     "has several of expected, matches and error; one is accepted");
}

static bool read_examples(struct reader *r, const struct json *v, struct function *out,
                          struct err *e)
{
    if (!v)
        return true;
    reader_enter(r, STR("examples"));
    if (!json_is(v, JSON_ARRAY))
        refuse_type(
            r, v,
            "a list of {name?, args?, expected? | matches? | error?, notes?, now?}");
    size_t n = json_is(v, JSON_ARRAY) ? read_length(r, v) : 0;
    struct function_example *all = arena_get(r->arena, (n + 1) * sizeof *all, e);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; all && i < n && json_next(&it); i++) {
        reader_enter_at(r, i);
        read_example(r, it.value, &all[i]);
        reader_leave(r);
    }
    scoped_buf struct buf size = buf_of(FUNCTION_EXAMPLES_MAX);
    struct json_writer w = json_writer(&size);
    json_put(&w, v);
    if (size.failed)
        reader_wrong(r, "TOO_LONG",
                     "have more than %zu bytes, which is all that is accepted",
                     FUNCTION_EXAMPLES_MAX);
    out->examples = all;
    out->example_count = n;
    reader_leave(r);
    return all;
}

/* ---- what the store says of it ------------------------------------------- */

static int64_t definition_read_date(struct reader *r, const struct json *object,
                                    const char *key, int64_t usual)
{
    const struct json *v = json_get(object, key);
    int64_t ms = usual;
    if (!v || json_is(v, JSON_NULL))
        return usual;
    reader_enter(r, str_of(key));
    if (!json_is(v, JSON_STRING))
        refuse_type(r, v, "a date such as '2026-11-21T05:16:00.000Z'");
    else if (!date_read(json_str(v), &ms))
        reader_wrong(r, "INVALID_DATE",
                     "'%.*s' is not a date; for example '2026-11-21T05:16:00.000Z' is "
                     "accepted",
                     STR_ARGS(str_cut(json_str(v), 60)));
    reader_leave(r);
    return ms;
}

static int64_t read_count(struct reader *r, const struct json *object, const char *key,
                          int64_t least, int64_t usual)
{
    const struct json *v = json_get(object, key);
    if (!v || json_is(v, JSON_NULL))
        return usual;
    int64_t n = json_int(v, -1);
    if (n >= least && n <= INT32_MAX)
        return n;
    reader_enter(r, str_of(key));
    reader_wrong(r, "INVALID_NUMBER", "is not an integer from %lld to %d",
                 (long long)least, INT32_MAX);
    reader_leave(r);
    return usual;
}

static void read_metadata(struct reader *r, const struct json *v, struct function *out)
{
    reader_enter(r, STR("metadata"));
    if (v && !json_is(v, JSON_OBJECT))
        refuse_type(r, v, "an object");
    out->created_ms = definition_read_date(r, v, "createdAt", r->usual_ms);
    out->updated_ms = definition_read_date(r, v, "updatedAt", out->created_ms);
    out->last_used_ms = definition_read_date(r, v, "lastUsed", 0);
    out->usage_count = (uint64_t)read_count(r, v, "usageCount", 0, 0);
    out->version = (uint32_t)read_count(r, v, "version", 1, 1);
    out->updated_by =
        definition_read_text(r, v, "updatedBy", FUNCTION_TEXT_MAX, false, "a string");
    out->api_version =
        definition_read_text(r, v, "apiVersion", FUNCTION_TEXT_MAX, false, "a string");
    struct str by = definition_read_text(r, v, "createdBy", FUNCTION_TEXT_MAX, false,
                                         "'agent' or 'user'");
    out->created_by = str_is(by, "agent") ? FUNCTION_BY_AGENT : FUNCTION_BY_USER;
    if (by.n && !str_is(by, "agent") && !str_is(by, "user")) {
        reader_enter(r, STR("createdBy"));
        reader_wrong(r, "INVALID_VALUE", "is '%.*s'; 'agent' or 'user' is accepted",
                     STR_ARGS(str_cut(by, 60)));
        reader_leave(r);
    }
    reader_leave(r);
}

/* ---- the whole ----------------------------------------------------------- */

/* It stands in addresses and messages. */
static void check_id(struct reader *r, struct str id)
{
    bool sound = true;
    for (size_t i = 0; i < id.n; i++)
        sound = sound && (isalnum((unsigned char)id.at[i]) || strchr("_-.:", id.at[i])) &&
                id.at[i];
    if (sound)
        return;
    reader_enter(r, STR("id"));
    reader_wrong(r, "INVALID_VALUE", "may have letters, digits and any of '_-.:'");
    reader_leave(r);
}

/* A function without an id gets the same at each reading, so that its history holds. */
static bool definition_make_id(struct reader *r, struct function *out, struct err *e)
{
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(out->name, hash);
    char *id = arena_printf(r->arena, e, "fn_%.16s", hash);
    out->id = str_of(id);
    return id;
}

bool function_hash(struct function *fn, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(DEFINITION_MAX);
    struct json_writer w = json_writer(&text);
    function_write_definition(fn, &w);
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&text), hash);
    fn->hash = (struct str){arena_copy(a, hash, 32, e), 32};
    return fn->hash.at && buf_check(&text, "a function", e);
}

bool reader_function(struct reader *r, const struct json *v, struct function *out,
                     struct err *e)
{
    *out = (struct function){0};
    if (!json_is(v, JSON_OBJECT)) {
        refuse_type(r, v, "an object {name, description, parameters, returnType, code}");
        return true;
    }
    bool all = !r->of_file; /* a person's file may leave out what is only told */
    out->name = definition_read_text(r, v, "name", FUNCTION_TEXT_MAX, true,
                                     "the function's name");
    out->description = definition_read_text(r, v, "description", FUNCTION_TEXT_MAX, all,
                                            "a sentence that says what it does");
    out->return_type = definition_read_text(r, v, "returnType", FUNCTION_TEXT_MAX, true,
                                            "a TypeScript type such as 'Promise<Note>'");
    if (out->name.n && out->name.n <= FUNCTION_TEXT_MAX) {
        reader_enter(r, STR("name"));
        definition_check_word(r, out->name, "function");
        reader_leave(r);
    }
    read_language(r, json_get(v, "language"), out);
    out->code = definition_read_code(r, v, e);
    if (!definition_read_parameters(r, json_get(v, "parameters"), out, e) ||
        !definition_read_tags(r, json_get(v, "tags"), out, e) ||
        !read_examples(r, json_get(v, "examples"), out, e) || e->code)
        return false;
    if (!r->of_file)
        return true;
    out->source = v;
    out->id = definition_read_text(r, v, "id", 100, false, "a string");
    check_id(r, out->id);
    read_metadata(r, json_get(v, "metadata"), out);
    return out->id.n || definition_make_id(r, out, e);
}

bool function_read(const struct json *given, struct arena *a, struct function *out,
                   struct findings *f, struct err *e)
{
    struct reader r = {.arena = a, .found = f};
    uint32_t before = f->error_count;
    return reader_function(&r, given, out, e) && f->error_count == before &&
           function_hash(out, a, e);
}

bool function_recall(const struct json *v, struct arena *a, struct function *out,
                     struct findings *f, struct err *e)
{
    struct reader r = {.arena = a, .found = f, .of_file = true};
    uint32_t before = f->error_count;
    return reader_function(&r, v, out, e) && f->error_count == before &&
           function_hash(out, a, e);
}

/* ---- patches ------------------------------------------------------------- */

static const char *const patchable[] = {"name",       "description", "parameters",
                                        "returnType", "code",        "language",
                                        "tags",       "examples",    NULL};

static bool is_patchable(struct str key)
{
    for (size_t i = 0; patchable[i]; i++)
        if (str_is(key, patchable[i]))
            return true;
    return false;
}

bool function_patch(const struct function *fn, const struct json *patch, struct arena *a,
                    struct function *out, struct findings *f, struct err *e)
{
    /* A patched definition is read as a whole, so that every rule holds for it. */
    scoped_buf struct buf text = buf_of(2 * DEFINITION_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    scoped_buf struct buf old = buf_of(DEFINITION_MAX);
    struct json_writer ow = json_writer(&old);
    function_write_definition(fn, &ow);
    const struct json *was =
        buf_check(&old, "a function", e) ? json_read(buf_view(&old), a, e) : NULL;
    struct json_iter it = json_iter(was);
    while (json_next(&it))
        if (!json_get_str(patch, it.key))
            json_key_str(&w, it.key), json_put(&w, it.value);
    it = json_iter(patch);
    while (json_next(&it))
        if (is_patchable(it.key))
            json_key_str(&w, it.key), json_put(&w, it.value);
    json_close(&w);
    const struct json *now = was && buf_check(&text, "a function", e)
                                 ? json_read(buf_view(&text), a, e)
                                 : NULL;
    if (!now || !function_read(now, a, out, f, e))
        return false;
    out->source = fn->source;
    out->id = fn->id;
    if (!json_get(patch, "parameters"))
        out->parameters = fn->parameters; /* with what others wrote into them */
    if (!json_get(patch, "examples"))
        out->examples = fn->examples;
    return true;
}
