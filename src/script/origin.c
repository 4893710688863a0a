/* Outcomes of code that was made of another language's: their places are turned into
 * those of the source, wherever they are told. */
#include <ctype.h>
#include <stdio.h>

#include "script/internal.h"

#define JS "code.js:"
#define FRAME_MAX 200   /* bytes before a frame's place */
#define FRAMES_MAX 500u /* of one outcome: what is beyond keeps its place in the code */

/* ---- frames -------------------------------------------------------------- */

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

/* A frame's line is nothing but "    at f (code.js:1:2)": does one stand here? Lines end
 * in the stack with a line feed, and in the logs, which are JSON, with an escaped one. */
static bool stands_in_frame(const char *start, const char *at)
{
    const char *line = at;
    while (line > start && at - line < FRAME_MAX && line[-1] != '\n' && line[-1] != '"' &&
           !(line[-1] == 'n' && line - start > 1 && line[-2] == '\\'))
        line--;
    while (line < at && *line == ' ')
        line++;
    return at - line >= 3 && memcmp(line, "at ", 3) == 0 &&
           (at[-1] == '(' || at[-1] == ' ');
}

/* Copies a text, its frames' places turned. */
static void turn_frames(const struct script_origin *from, struct str text,
                        struct buf *out, unsigned *left)
{
    const char *at = text.at, *end = text.at + text.n, *found;
    while (*left && (found = memmem(at, (size_t)(end - at), JS, sizeof JS - 1))) {
        uint32_t place[2];
        const char *behind = found + sizeof JS - 1;
        bool turned = stands_in_frame(text.at, found) && read_place(&behind, end, place);
        if (turned) {
            from->place(from->arg, &place[0], &place[1]);
            (*left)--;
        }
        buf_put(out, at, (size_t)(found - at));
        if (turned && place[0])
            buf_printf(out, "%s:%u:%u", from->file, place[0], place[1]);
        else
            buf_put(out, found, (size_t)(behind - found));
        at = behind;
    }
    buf_put(out, at, (size_t)(end - at));
}

static void turn_buf(const struct script_origin *from, struct buf *text, unsigned *left)
{
    struct buf turned;
    if (!text->n || !memmem(text->at, text->n, JS, sizeof JS - 1))
        return;
    buf_init(&turned, text->ceiling);
    turn_frames(from, buf_view(text), &turned, left);
    if (turned.failed) {
        buf_done(&turned);
        return;
    }
    buf_done(text);
    *text = turned;
}

/* ---- outcomes ------------------------------------------------------------ */

void script_outcome_origin(struct script_outcome *o, const struct script_origin *from)
{
    unsigned left = FRAMES_MAX;
    turn_buf(from, &o->stack, &left);
    turn_buf(from, &o->logs, &left);
    for (size_t i = 0; i < o->made_count && o->made[i].line; i++) {
        uint32_t column = 1;
        from->place(from->arg, &o->made[i].line, &column);
    }
    if (!o->line)
        return;
    from->place(from->arg, &o->line, &o->column);
    buf_clear(&o->frame);
    if (o->line)
        explain_frame(from->source, o->line, o->column, &o->frame);
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
