#include <stdio.h>

#include "permits/permits.h"
#include "json/json.h"

#define TOLD_MAX ((size_t)64 << 20)  /* bytes */
#define LINES_MAX ((size_t)16 << 20) /* bytes */
#define DIFF_LINES 40u               /* of one note */

struct preview *preview_new(void)
{
    struct preview *r = mem_new(sizeof *r);
    r->of.looks = true;
    buf_init(&r->of.told, TOLD_MAX);
    buf_init(&r->lines, LINES_MAX);
    return r;
}

void preview_free(struct preview *r)
{
    if (!r)
        return;
    buf_done(&r->of.told);
    buf_done(&r->lines);
    free(r);
}

/* ---- in lines ------------------------------------------------------------------ */

static void put_pair(struct buf *line, const char *what, struct str value)
{
    if (!value.n)
        return;
    buf_cstr(line, what);
    buf_str(line, str_cut(value, 300));
}

/* "delete idea/junk.md; 'Junk'; id idea/junk; uid 7; sha256:..." */
static void put_head(const struct json *one, struct json_writer *w)
{
    scoped_buf struct buf line;
    buf_init(&line, (size_t)16 << 10);
    int64_t others = json_int(json_get(one, "others"), 0);
    if (others)
        buf_printf(&line, "and %lld more notes", (long long)others);
    put_pair(&line, "", json_str(json_get(one, "action")));
    put_pair(&line, " ", json_str(json_get(one, "path")));
    put_pair(&line, " -> ", json_str(json_get(one, "new_path")));
    put_pair(&line, "; title ", json_str(json_get(one, "title")));
    put_pair(&line, "; id ", json_str(json_get(one, "id")));
    put_pair(&line, "; uid ", json_str(json_get(one, "uid")));
    put_pair(&line, "; ", json_str(json_get(one, "content_hash")));
    json_put_str(w, buf_view(&line));
}

static void put_diff(const struct json *one, struct json_writer *w)
{
    struct str left = json_str(json_get(one, "diff"));
    unsigned lines = 0, more = 0;
    while (left.n) {
        const char *end = memchr(left.at, '\n', left.n);
        struct str line = {left.at, end ? (size_t)(end - left.at) : left.n};
        left = (struct str){left.at + line.n + (end != NULL),
                            left.n - line.n - (end != NULL)};
        if (lines++ < DIFF_LINES)
            json_put_str(w, line);
        else
            more++;
    }
    if (more || json_bool(json_get(one, "diff_truncated"), false)) {
        char text[60];
        (void)snprintf(text, sizeof text, "(and %u more lines%s)", more,
                       json_bool(json_get(one, "diff_truncated"), false) ? " or so" : "");
        json_put_cstr(w, text);
    }
}

/* Which notes first, each in a line; then what changes in them. */
static bool make_lines(struct preview *r, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(2 * TOLD_MAX);
    const struct json *told = json_read(buf_view(&r->of.told), a, e);
    struct json_writer w = json_writer(&r->lines);
    json_open_array(&w);
    struct json_iter heads = json_iter(told);
    while (json_next(&heads))
        put_head(heads.value, &w);
    struct json_iter diffs = json_iter(told);
    while (json_next(&diffs))
        put_diff(diffs.value, &w);
    json_close(&w);
    return told && buf_check(&r->lines, "what would change", e);
}

bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e)
{
    r->of.looks = false;
    *asks = r->of.known && r->of.changes;
    if (!r->of.known)
        return ok || err_set(e, why->code, "%s", why->msg);
    r->changes = (struct confirm_changes){.digest = r->of.digest};
    if (!make_lines(r, e))
        return false;
    r->changes.lines = buf_view(&r->lines);
    return true;
}
