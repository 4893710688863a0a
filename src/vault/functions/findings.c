/* Findings: faults of a definition, each with its place. */
#include <stdio.h>

#include "functions/functions.h"

#define FINDINGS_BYTES ((size_t)512 << 10) /* of each kind */
#define MESSAGE_MAX 1000u                  /* bytes of a message or a suggestion */

void findings_init(struct findings *f)
{
    *f = (struct findings){0};
    buf_init(&f->errors, FINDINGS_BYTES);
    buf_init(&f->warnings, FINDINGS_BYTES);
}

void findings_done(struct findings *f)
{
    buf_done(&f->errors);
    buf_done(&f->warnings);
}

static void put_finding(struct buf *out, uint32_t *count, const struct finding *what)
{
    if ((*count)++ >= FINDINGS_MAX || out->failed)
        return;
    size_t before = out->n;
    if (before)
        buf_char(out, ',');
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_str(&w, "field", str_cut(what->field, MESSAGE_MAX));
    if (what->line) {
        json_pair_int(&w, "line", what->line);
        json_pair_int(&w, "column", what->column);
    }
    json_pair_cstr(&w, "code", what->code);
    json_pair_str(&w, "message", str_cut(what->message, MESSAGE_MAX));
    if (what->suggestion.n)
        json_pair_str(&w, "suggestion", str_cut(what->suggestion, MESSAGE_MAX));
    json_close(&w);
    if (!out->failed)
        return;
    /* Full: what is there stays whole, the count tells of the rest. */
    out->n = before;
}

void findings_error(struct findings *f, const struct finding *what)
{
    if (!f->error_count) {
        f->first.line = what->line;
        f->first.column = what->column;
        (void)snprintf(f->first.field, sizeof f->first.field, "%.*s",
                       STR_ARGS(str_cut(what->field, 80)));
        (void)snprintf(f->first.message, sizeof f->first.message, "%.*s",
                       STR_ARGS(str_cut(what->message, MESSAGE_MAX)));
    }
    f->type_errors += !strncmp(what->code, "TS", 2);
    put_finding(&f->errors, &f->error_count, what);
}

void findings_warn(struct findings *f, const struct finding *what)
{
    put_finding(&f->warnings, &f->warning_count, what);
}
