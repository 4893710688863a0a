/* Places: the path of fields, and the line and column of it in a text. */
#include "functions/reader.h"

#include <stdarg.h>
#include <stdio.h>

void reader_enter(struct reader *r, struct str key)
{
    must(r->depth < READER_DEPTH);
    r->steps[r->depth++] = (struct reader_step){.key = key};
}

void reader_enter_at(struct reader *r, size_t index)
{
    must(r->depth < READER_DEPTH);
    r->steps[r->depth++] = (struct reader_step){.index = index};
}

void reader_leave(struct reader *r)
{
    must(r->depth > 0);
    r->depth--;
}

/* ---- in the text --------------------------------------------------------- */

static size_t reader_skip_space(struct str text, size_t at)
{
    while (at < text.n && memchr(" \t\r\n,:", text.at[at], 6))
        at++;
    return at;
}

/* Behind the value that begins at `at`, in a text that was read before. */
static size_t skip_value(struct str text, size_t at)
{
    unsigned depth = 0;
    bool quoted = false;
    for (; at < text.n; at++) {
        char c = text.at[at];
        if (quoted) {
            at += c == '\\';
            quoted = c != '"';
            if (!quoted && depth == 0)
                return at + 1;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth <= 1)
                return at + depth;
            depth--;
        } else if (depth == 0 && memchr(" \t\r\n,:", c, 6)) {
            return at;
        }
    }
    return text.n;
}

/* The index of the entry that the step leads to. By index, because a key
 * may be spelt with escapes in the text. */
static bool step_over(const struct reader_step *step, const struct json **v, size_t *out)
{
    struct json_iter it = json_iter(*v);
    for (*out = 0; json_next(&it); ++*out)
        if (step->key.at ? json_is(*v, JSON_OBJECT) && str_eq(it.key, step->key)
                         : *out == step->index) {
            *v = it.value;
            return true;
        }
    return false;
}

/* Where the value begins; of one that is missing: what it is missing in. */
static size_t find_place(const struct reader *r)
{
    const struct json *v = r->root;
    size_t at = reader_skip_space(r->text, 0);
    for (unsigned i = 0; i < r->depth; i++) {
        bool keys = json_is(v, JSON_OBJECT);
        size_t index;
        if (!step_over(&r->steps[i], &v, &index))
            break;
        at = reader_skip_space(r->text, at + 1);
        for (size_t left = index * (1 + keys) + keys; left > 0; left--)
            at = reader_skip_space(r->text, skip_value(r->text, at));
    }
    return at;
}

static void put_path(const struct reader *r, struct buf *out)
{
    for (unsigned i = 0; i < r->depth; i++) {
        if (r->steps[i].key.at)
            buf_printf(out, "%s%.*s", out->n ? "." : "",
                       STR_ARGS(str_cut(r->steps[i].key, 80)));
        else
            buf_printf(out, "[%zu]", r->steps[i].index);
    }
}

static void finding_put(struct reader *r, bool placed, size_t at, const char *code,
                        const char *message)
{
    scoped_buf struct buf path = buf_of(BUF_PAGE);
    put_path(r, &path);
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_printf(&text, "%s%s%s", buf_cz(&path), path.n ? " " : "", message);
    struct finding what = {
        .field = buf_view(&path), .code = code, .message = buf_view(&text)};
    if (r->suggestion)
        what.suggestion = str_of(r->suggestion);
    r->suggestion = NULL;
    if (placed && r->found->error_count < FINDINGS_MAX) {
        what.line = what.column = 1;
        for (size_t i = 0; i < at && i < r->text.n; i++) {
            bool line = r->text.at[i] == '\n';
            what.line += line;
            /* Characters, as editors count. */
            what.column = line ? 1 : what.column + ((r->text.at[i] & 0xc0) != 0x80);
        }
    }
    findings_error(r->found, &what);
}

void reader_wrong(struct reader *r, const char *code, const char *fmt, ...)
{
    char message[500];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct str said = str_cut(str_of(message), sizeof message - 1);
    message[said.n] = '\0';
    bool placed = r->root != NULL;
    finding_put(r, placed,
                placed && r->found->error_count < FINDINGS_MAX ? find_place(r) : 0, code,
                message);
}

void reader_wrong_at(struct reader *r, size_t byte, const char *code, const char *message)
{
    finding_put(r, byte != SIZE_MAX, byte, code, message);
}
