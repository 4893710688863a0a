#include <stdio.h>

#include "permits/permits.h"

#define LINES_MAX ((size_t)16 << 20) /* bytes, of the notes and of their changes */
#define DIFF_LINES 40u               /* of one note */

/* ---- lines --------------------------------------------------------------------- */

static void put_part(struct buf *line, const char *what, struct str value)
{
    if (!value.n)
        return;
    buf_cstr(line, what);
    buf_str(line, str_cut(value, 300));
}

/* "delete idea/junk.md; title Junk; id idea/junk; uid 7; sha256:..." */
static void add_head(const struct reviewed_change *one, struct text_list *heads)
{
    scoped_buf struct buf line;
    buf_init(&line, BUF_PAGE);
    if (one->others)
        buf_printf(&line, "and %zu more notes", one->others);
    put_part(&line, "", str_of(one->action ? one->action : ""));
    put_part(&line, " ", one->path);
    put_part(&line, " -> ", one->new_path);
    put_part(&line, "; title ", one->title);
    put_part(&line, "; id ", one->id);
    put_part(&line, "; uid ", one->uid);
    put_part(&line, "; ", one->content_hash);
    text_list_add(heads, buf_view(&line));
}

static void add_diff(const struct reviewed_change *one, struct text_list *diffs)
{
    struct str left = one->diff;
    unsigned lines = 0, more = 0;
    while (left.n) {
        const char *end = memchr(left.at, '\n', left.n);
        struct str line = {left.at, end ? (size_t)(end - left.at) : left.n};
        left = (struct str){left.at + line.n + (end != NULL),
                            left.n - line.n - (end != NULL)};
        if (lines++ < DIFF_LINES)
            text_list_add(diffs, line);
        else
            more++;
    }
    if (more || one->diff_cut) {
        char text[60];
        (void)snprintf(text, sizeof text, "(and %u more lines%s)", more,
                       one->diff_cut ? " or so" : "");
        text_list_add(diffs, str_of(text));
    }
}

static void preview_hear(void *arg, const struct reviewed_change *one)
{
    struct preview *r = arg;
    if (one) {
        add_head(one, &r->lines);
        add_diff(one, &r->diffs);
        return;
    }
    buf_clear(&r->lines.bytes);
    buf_clear(&r->diffs.bytes);
}

/* ---- the preview --------------------------------------------------------------- */

struct preview *preview_new(void)
{
    struct preview *r = mem_new(sizeof *r);
    r->of = (struct vault_review){.looks = true, .tell = preview_hear, .arg = r};
    r->lines.bytes = buf_of(LINES_MAX);
    r->diffs.bytes = buf_of(LINES_MAX);
    return r;
}

void preview_free(struct preview *r)
{
    if (!r)
        return;
    buf_done(&r->lines.bytes);
    buf_done(&r->diffs.bytes);
    free(r);
}

bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e)
{
    r->of.looks = false;
    *asks = r->of.known && r->of.changes;
    if (!r->of.known)
        return ok || err_pass(e, why);
    /* First which notes, one a line; then their changes. */
    buf_str(&r->lines.bytes, buf_view(&r->diffs.bytes));
    r->lines.bytes.failed |= r->diffs.bytes.failed;
    r->changes = (struct confirm_changes){&r->lines, r->of.digest};
    return buf_check(&r->lines.bytes, "what would change", e);
}
