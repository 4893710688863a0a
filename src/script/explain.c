/* Failures in words that help an agent: what, where, and the lines around it. */
#include <ctype.h>
#include <stdio.h>

#include "script/internal.h"
#include "json/json.h"

#define FRAME_LINES 2u /* before and after the line itself */
#define FRAME_COLUMNS 120u
#define PREVIEW_MAX 2000u

static void put_line(struct buf *out, uint32_t number, struct str line, bool marked)
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

static void write_frame(struct str code, uint32_t line, uint32_t column, struct buf *out)
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
            put_line(out, number, text, number == line);
            if (number == line && column && column < FRAME_COLUMNS)
                put_caret(out, text, column);
        }
        at = stop + 1;
        number++;
    }
    if (out->n && out->at[out->n - 1] == '\n')
        out->n--;
}

/* Which of our kinds is an error that ended the code? A name alone is the code's to
 * choose. */
static enum err_code kind_of(const struct json *v, uint32_t failed)
{
    struct str name = json_str(json_get(v, "name"));
    struct str message = json_str(json_get(v, "message"));
    if (failed == SCRIPT_FAILED_PARSING)
        return ERR_SYNTAX;
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

/* What stands around the code is ours: a place in it is the code's end. */
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
static void put_text(struct buf *out, struct str s)
{
    buf_str(out, str_cut(s, out->ceiling));
}

void explain_error(struct script_outcome *out, struct str code, struct str json,
                   const struct script_answer *answer)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(json.n * 4 + 65536);
    const struct json *v = json_read(json, a, &e);
    out->success = false;
    out->type = answer->result_cut ? ERR_OUTPUT : kind_of(v, answer->failed);
    put_text(&out->name, json_str(json_get(v, "name")));
    put_text(&out->message, json_str(json_get(v, "message")));
    put_text(&out->stack, json_str(json_get(v, "stack")));
    out->line = (uint32_t)json_int(json_get(v, "line"), 0);
    out->column = (uint32_t)json_int(json_get(v, "column"), 0);
    if (out->type == ERR_SYNTAX)
        explain_syntax(out, code);
    if (out->line)
        write_frame(code, out->line, out->column, &out->frame);
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

/* What code would no longer find, besides the table's own names. */
static const char *const taken[] = {
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "NaN",
    "Infinity",
    "Object",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Symbol",
    "BigInt",
    "Math",
    "JSON",
    "Date",
    "RegExp",
    "Promise",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "WeakRef",
    "Proxy",
    "Reflect",
    "Error",
    "Function",
    "console",
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "sleep",
    "queueMicrotask",
    "structuredClone",
    "TextEncoder",
    "TextDecoder",
    "URL",
    "URLSearchParams",
    "atob",
    "btoa",
    "crypto",
    "performance",
    "AbortController",
    "AbortSignal",
    "fetch",
    "require",
    "process",
    "module",
    "global",
    "globalThis",
    "context",
    "__main",
    "__last",
    "__nothing",
    "__spread",
    "__proto__",
};

/* Identifiers of ASCII letters, digits, $ and _, or of anything beyond ASCII. */
static bool is_identifier(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool letter = isalpha(c) || c == '$' || c == '_' || c >= 0x80;
        if (!letter && !(i > 0 && isdigit(c)))
            return false;
    }
    return s.n > 0;
}

static bool hides_a_call(const struct script *s, struct str key)
{
    for (size_t i = 0; i < s->row_count; i++) {
        const char *dot = strchr(s->rows[i].name, '.');
        size_t n = dot ? (size_t)(dot - s->rows[i].name) : strlen(s->rows[i].name);
        if (str_eq(key, (struct str){s->rows[i].name, n}))
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
    bool hides = hides_a_call(s, key);
    for (size_t i = 0; !hides && i < LENGTH(taken); i++)
        hides = str_is(key, taken[i]);
    return hides ? err_set(e, ERR_INVALID,
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
