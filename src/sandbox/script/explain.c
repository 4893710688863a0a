/* Failures in words that help an agent: what, where, and the lines around it. */
#include <ctype.h>
#include <stdio.h>

#include "script/internal.h"
#include "json/json.h"

#define FRAME_LINES 2u /* before and after the line itself */
#define FRAME_COLUMNS 120u
#define PREVIEW_MAX 2000u

static void frame_put_line(struct buf *out, uint32_t number, struct str line, bool marked)
{
    bool cut = line.n > FRAME_COLUMNS;
    buf_printf(out, "%s %4u | %.*s%s\n", marked ? ">" : " ", number,
               STR_ARGS(str_cut(line, FRAME_COLUMNS)), cut ? " ..." : "");
}

/* Columns count characters, so tabs before the caret are repeated as they are. */
static void put_caret(struct buf *out, struct str line, uint32_t column)
{
    buf_cstr(out, "       | ");
    const char *at = line.at, *end = line.at + line.n;
    for (uint32_t i = 1; i < column && i < FRAME_COLUMNS; i++) {
        uint32_t c = at < end ? str_next_char(&at, end) : ' ';
        buf_char(out, c == '\t' ? '\t' : ' ');
    }
    buf_cstr(out, "^\n");
}

void explain_frame(struct str code, uint32_t line, uint32_t column, struct buf *out)
{
    uint32_t number = 1;
    const char *at = code.at, *end = code.at + code.n;
    while (at <= end && number <= line + FRAME_LINES) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct str text = {at, (size_t)(stop - at)};
        if (text.n && text.at[text.n - 1] == '\r')
            text.n--;
        if (number + FRAME_LINES >= line) {
            frame_put_line(out, number, text, number == line);
            if (number == line && column && column < FRAME_COLUMNS)
                put_caret(out, text, column);
        }
        at = stop + 1;
        number++;
    }
    if (out->n && out->at[out->n - 1] == '\n')
        out->n--;
}

/* The error code for an error that ended the code. A name alone is the code's to
 * choose. */
static enum err_code failure_kind(const struct json *v, uint32_t failed)
{
    struct str name = json_str(json_get(v, "name"));
    struct str message = json_str(json_get(v, "message"));
    if (failed == SCRIPT_FAILED_PARSING)
        return ERR_SYNTAX;
    /* The guest knows its own limits: the name is not the code's. */
    struct str limit = json_str(json_get(v, "limit"));
    if (str_is(limit, "stack"))
        return ERR_STACK;
    if (str_is(limit, "memory"))
        return ERR_MEMORY;
    if (str_is(name, "RangeError") && str_is(message, "Maximum call stack size exceeded"))
        return ERR_STACK;
    if (str_is(name, "InternalError") && str_is(message, "out of memory"))
        return ERR_MEMORY;
    char text[40];
    (void)snprintf(text, sizeof text, "%.*s", STR_ARGS(str_cut(name, sizeof text - 1)));
    enum err_code named = err_code_named(text);
    bool from_host = json_bool(json_get(v, "host"), false);
    return !from_host ? ERR_GUEST : named ? named : ERR_HOST_CALL;
}

/* The text around the code is ours: a place in it is the code's end. */
static bool lies_behind(struct str code, uint32_t *line, uint32_t *column)
{
    uint32_t lines = 1, chars = 1;
    for (size_t i = 0; i < code.n; i++)
        lines += code.at[i] == '\n';
    if (*line <= lines)
        return false;
    const char *at = code.at, *end = code.at + str_trim(code).n;
    end += str_trim(code).at - code.at;
    for (lines = 1; at < end;) {
        chars++;
        if (str_next_char(&at, end) == '\n')
            lines++, chars = 1;
    }
    *line = lines;
    *column = chars;
    return true;
}

static void explain_syntax(struct script_outcome *out, struct str code)
{
    if (!lies_behind(code, &out->line, &out->column))
        return;
    buf_clear(&out->stack);
    const char *said = buf_cz(&out->message);
    if (!strstr(said, "token") && !strstr(said, "expecting"))
        return;
    buf_clear(&out->message);
    buf_cstr(&out->message,
             "the code does not end where it should: a bracket, brace or quote of it "
             "has no partner");
}

/* As much of it as there is room for. */
static void message_put_text(struct buf *out, struct str s)
{
    buf_str(out, str_cut(s, out->ceiling));
}

/* Whole or not at all. */
static void put_problem(struct script_outcome *out, const struct json *v)
{
    const struct json *problem = json_get(v, "problem");
    struct json_writer w = json_writer(&out->problem);
    if (!json_is(problem, JSON_OBJECT))
        return;
    json_put(&w, problem);
    if (out->problem.failed) {
        buf_done(&out->problem);
        buf_init(&out->problem, 0);
    }
    out->status = (int)json_int(json_get(v, "status"), 0);
}

/* Where in a further source it happened. */
static void put_within(struct script_outcome *out, const struct json *within)
{
    struct str file = json_str(json_get(within, "file"));
    if (!file.n || file.n >= sizeof out->within.file)
        return;
    (void)snprintf(out->within.file, sizeof out->within.file, "%.*s", STR_ARGS(file));
    out->within.line = (uint32_t)json_int(json_get(within, "line"), 0);
    out->within.column = (uint32_t)json_int(json_get(within, "column"), 0);
}

void explain_error(struct script_outcome *out, struct str code, struct str json,
                   const struct script_answer *answer)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(json.n * 4 + 65536);
    const struct json *v = json_read(json, a, &e);
    out->success = false;
    out->type = answer->result_cut ? ERR_OUTPUT : failure_kind(v, answer->failed);
    message_put_text(&out->name, json_str(json_get(v, "name")));
    message_put_text(&out->message, json_str(json_get(v, "message")));
    message_put_text(&out->stack, json_str(json_get(v, "stack")));
    put_problem(out, v);
    out->line = (uint32_t)json_int(json_get(v, "line"), 0);
    out->column = (uint32_t)json_int(json_get(v, "column"), 0);
    put_within(out, json_get(v, "within"));
    if (out->type == ERR_SYNTAX)
        explain_syntax(out, code);
    if (out->line)
        explain_frame(code, out->line, out->column, &out->frame);
    if (out->type == ERR_OUTPUT)
        buf_str(&out->preview, str_cut(buf_view(&out->result), PREVIEW_MAX));
    buf_clear(&out->result);
}

void explain_limit(struct script_outcome *out, const struct err *why)
{
    out->success = false;
    out->type = why->code;
    buf_clear(&out->message);
    buf_cstr(&out->message, why->msg);
}

/* ---- injected values ---------------------------------------------------- */

static bool key_is_taken(const struct script *s, struct str key)
{
    char word[64];
    if (key.n > sizeof word - 3)
        return false;
    (void)snprintf(word, sizeof word, " %.*s ", STR_ARGS(key));
    return strstr(s->language->taken, word) != NULL;
}

/* Beyond ASCII nearly everything is a letter; these are spaces, punctuation, symbols
 * and what is private or none. (The rest of what Unicode excludes does no harm: code
 * cannot spell it, but finds it in `context`.) */
static bool is_letter(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } others[] = {{0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},      {0xbb, 0xbf},
                  {0xd7, 0xd7},     {0xf7, 0xf7},     {0x2000, 0x2070},  {0x2190, 0x2bff},
                  {0x3000, 0x3004}, {0x3008, 0x3020}, {0xe000, 0xf8ff},  {0xfe10, 0xfe6f},
                  {0xfeff, 0xff0f}, {0xfff0, 0xffff}, {0x1f000, 0x1ffff}};
    if (c < 0x80)
        return isalpha((int)c) || c == '$' || c == '_';
    for (size_t i = 0; i < LENGTH(others); i++)
        if (c >= others[i].from && c <= others[i].to)
            return false;
    return true;
}

static bool is_identifier(struct str s)
{
    const char *at = s.at, *end = s.at + s.n;
    while (at < end) {
        bool first = at == s.at;
        uint32_t c = str_next_char(&at, end);
        if (!is_letter(c) && (first || c >= 0x80 || !isdigit((int)c)))
            return false;
    }
    return s.n > 0;
}

/* Is `key` this name with "_" before each capital, which it has as a small letter? */
static bool is_snake_of(struct str key, struct str name)
{
    size_t at = 0;
    for (size_t i = 0; i < name.n; i++) {
        bool capital = name.at[i] >= 'A' && name.at[i] <= 'Z';
        if (capital && (at == key.n || key.at[at++] != '_'))
            return false;
        if (at == key.n ||
            key.at[at++] != (capital ? name.at[i] - 'A' + 'a' : name.at[i]))
            return false;
    }
    return at == key.n;
}

static bool hides_a_call(const struct script *s, struct str key)
{
    for (size_t i = 0; i < s->row_count; i++) {
        const char *dot = strchr(s->rows[i].name, '.');
        size_t n = dot ? (size_t)(dot - s->rows[i].name) : strlen(s->rows[i].name);
        struct str name = {s->rows[i].name, n};
        if (str_eq(key, name) || (s->language->snake_case && is_snake_of(key, name)))
            return true;
    }
    return false;
}

static bool check_key(const struct script *s, struct str key, struct err *e)
{
    struct str shown = str_cut(key, 60);
    if (!is_identifier(key))
        return err_set(e, ERR_INVALID,
                       "context.%.*s: a key must be an identifier, such as 'my_value'",
                       STR_ARGS(shown));
    return key_is_taken(s, key) || hides_a_call(s, key)
               ? err_set(e, ERR_INVALID,
                         "context.%.*s would hide what the code needs under that name; "
                         "choose another",
                         STR_ARGS(shown))
               : true;
}

bool check_context(const struct script *s, struct str context, struct err *e)
{
    if (context.n == 0)
        return true;
    scoped(arena_free) struct arena *a = arena_new(context.n * 24 + 65536);
    const struct json *v = json_read(context, a, e);
    if (!v)
        return err_wrap(e, "context");
    if (!json_is(v, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "context must be an object, not %s",
                       json_type_name(json_type(v)));
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!check_key(s, it.key, e))
            return false;
    return true;
}
