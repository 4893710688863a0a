/* Outcomes of code that was made of other sources: their places are turned into
 * those of the source, wherever they are told. */
#include <ctype.h>
#include <stdio.h>

#include "script/internal.h"

#define CODE "code.js"
#define FRAME_MAX 200   /* bytes before a frame's place */
#define FRAMES_MAX 500u /* of one outcome: what is beyond keeps its place in the code */

/* ---- frames -------------------------------------------------------------- */

struct origins {
    const struct script_origin *code, *further;
    size_t count;
    unsigned left; /* frames that are turned yet */
};

static const struct script_origin *origin_of(const struct origins *from, struct str file)
{
    if (from->code && str_is(file, from->code->made ? from->code->made : CODE))
        return from->code;
    for (size_t i = 0; i < from->count; i++)
        if (from->further[i].made && str_is(file, from->further[i].made))
            return &from->further[i];
    return NULL;
}

/* "12:34" at `*at`; steps over it. */
static bool read_place(const char **at, const char *end, uint32_t out[2])
{
    const char *c = *at;
    for (int i = 0; i < 2; i++) {
        const char *first = c;
        out[i] = 0;
        for (; c < end && isdigit((unsigned char)*c) && c - first < 9; c++)
            out[i] = out[i] * 10 + (uint32_t)(*c - '0');
        if (c == first || (i == 0 && (c == end || *c++ != ':')))
            return false;
    }
    *at = c;
    return true;
}

/* A frame's line is nothing but "    at f (code.js:1:2)": does one stand here, with its
 * bracket? Lines end in the stack with a line feed, and in the logs, which are JSON, with
 * an escaped one. */
static bool stands_in_frame(const char *start, const char *at)
{
    const char *line = at;
    while (line > start && at - line < FRAME_MAX && line[-1] != '\n' && line[-1] != '"' &&
           !(line[-1] == 'n' && line - start > 1 && line[-2] == '\\'))
        line--;
    while (line < at && *line == ' ')
        line++;
    return at - line >= 3 && memcmp(line, "at ", 3) == 0;
}

/* "file:12:34" behind the bracket at `at`; steps over it. */
static bool read_frame(const char **at, const char *end, struct str *file,
                       uint32_t place[2])
{
    const char *first = *at + 1;
    size_t most = (size_t)(end - first);
    const char *colon =
        memchr(first, ':', most < SCRIPT_FILE_MAX ? most : SCRIPT_FILE_MAX);
    const char *behind = colon ? colon + 1 : NULL;
    if (!colon || !read_place(&behind, end, place))
        return false;
    *file = (struct str){first, (size_t)(colon - first)};
    *at = behind;
    return true;
}

static void put_frame(const struct script_origin *from, uint32_t place[2],
                      struct str as_it_was, struct buf *out)
{
    from->place(from->arg, &place[0], &place[1]);
    if (place[0])
        buf_printf(out, "%s:%u:%u", from->file, place[0], place[1]);
    else if (from->made)
        buf_cstr(out, from->file);
    else
        buf_str(out, as_it_was);
}

/* Copies a text, its frames' places turned. */
static void turn_frames(struct origins *from, struct str text, struct buf *out)
{
    const char *at = text.at, *end = text.at + text.n, *open;
    while (from->left && (open = memchr(at, '(', (size_t)(end - at)))) {
        struct str file;
        uint32_t place[2];
        const char *behind = open;
        const struct script_origin *origin =
            stands_in_frame(text.at, open) && read_frame(&behind, end, &file, place)
                ? origin_of(from, file)
                : NULL;
        buf_put(out, at, (size_t)(open + 1 - at));
        at = open + 1;
        if (!origin)
            continue;
        put_frame(origin, place, (struct str){at, (size_t)(behind - at)}, out);
        from->left--;
        at = behind;
    }
    buf_put(out, at, (size_t)(end - at));
}

static void turn_buf(struct origins *from, struct buf *text)
{
    struct buf turned;
    if (!text->n)
        return;
    buf_init(&turned, text->ceiling);
    turn_frames(from, buf_view(text), &turned);
    if (turned.failed) {
        buf_done(&turned);
        return;
    }
    buf_done(text);
    *text = turned;
}

/* ---- outcomes ------------------------------------------------------------ */

/* The line of a call that stands in this source. */
static void turn_line(const struct origins *from, uint32_t source, uint32_t *line)
{
    uint32_t column = 1;
    const struct script_origin *origin = source == 0 ? from->code
                                         : source <= from->count
                                             ? &from->further[source - 1]
                                             : NULL;
    if (*line && origin && origin->place)
        origin->place(origin->arg, line, &column);
}

static void turn_within(const struct origins *from, struct script_outcome *o)
{
    const struct script_origin *origin =
        o->within.line ? origin_of(from, str_of(o->within.file)) : NULL;
    if (!origin)
        return;
    origin->place(origin->arg, &o->within.line, &o->within.column);
    if (o->within.line)
        explain_frame(origin->source, o->within.line, o->within.column, &o->within.frame);
}

void script_outcome_origin(struct script_outcome *o, const struct script_origin *code,
                           const struct script_origin *further, size_t count)
{
    struct origins from = {code, further, count, FRAMES_MAX};
    turn_buf(&from, &o->stack);
    turn_buf(&from, &o->logs);
    for (size_t i = 0; i < o->made_count; i++)
        turn_line(&from, o->made[i].from, &o->made[i].line);
    for (size_t i = 0; i < o->visit_count; i++)
        turn_line(&from, o->visits[i].from, &o->visits[i].line);
    turn_within(&from, o);
    if (!code || !o->line)
        return;
    code->place(code->arg, &o->line, &o->column);
    buf_clear(&o->frame);
    if (o->line)
        explain_frame(code->source, o->line, o->column, &o->frame);
}

void script_outcome_syntax(struct script_outcome *o, struct str source, uint32_t line,
                           uint32_t column, const char *message)
{
    o->success = false;
    o->type = ERR_SYNTAX;
    o->line = line;
    o->column = column;
    buf_cstr(&o->name, "SyntaxError");
    buf_cstr(&o->message, message);
    if (line)
        explain_frame(source, line, column, &o->frame);
    if (!o->logs.n)
        buf_cstr(&o->logs, "[]");
}
