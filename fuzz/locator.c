/* The target of a request, as it was sent: what is taken apart is UTF-8 without a way up,
 * spelt again it is the same, and fits no pattern in two ways. */
#include "routes/locator.h"
#include "driver.h"
#include "uri/uri.h"

static const char *const patterns[] = {
    "/workspaces",
    "/workspaces/{workspace_id}",
    "/workspaces/{workspace_id}/notes",
    "/workspaces/{workspace_id}/notes/{note_id}",
    "/workspaces/{workspace_id}/notes/{note_id}/history",
    "/workspaces/{workspace_id}/notes/{note_id}/history/{revision}",
    "/workspaces/{workspace_id}/notes/{note_id}/history/{revision}/restore"};

static void holds_text(struct str s)
{
    holds(str_is_utf8(s) && !memchr(s.at, '\0', s.n));
}

static void check_segments(const struct locator *t, struct buf *again)
{
    holds(t->count <= LOCATOR_SEGMENTS && t->parameter_count <= LOCATOR_PARAMETERS);
    for (size_t i = 0; i < t->count; i++) {
        struct str s = t->segments[i];
        holds_text(s);
        holds(s.n && !str_is(s, ".") && !str_is(s, ".."));
        buf_char(again, '/');
        uri_escape(s, again);
    }
    for (size_t i = 0; i < t->parameter_count; i++) {
        holds_text(t->parameters[i].name);
        holds_text(t->parameters[i].value);
        for (size_t k = 0; k < i; k++)
            holds(!str_eq(t->parameters[k].name, t->parameters[i].name));
    }
}

/* What the variables stand for is what stands in their place. */
static void check_patterns(const struct locator *t, struct arena *a)
{
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        struct err e = {0};
        struct str values[3] = {{0}};
        if (!locator_fits(t, patterns[i], "note_id", values, LENGTH(values), a, &e)) {
            holds(e.code == ERR_NONE || e.code == ERR_LIMIT);
            continue;
        }
        holds(str_is(t->segments[0], "workspaces"));
        if (i)
            holds(str_eq(values[0], t->segments[1]));
        if (i >= 3)
            holds(values[1].n && str_is_utf8(values[1]));
        if (i == 3 && t->count == 4)
            holds(str_eq(values[1], t->segments[3]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(4u << 20);
    struct locator t, same;
    if (!locator_read(text, &t, a, &e)) {
        holds_error(&e);
        return 0;
    }
    scoped_buf struct buf again;
    buf_init(&again, 4 * LOCATOR_MAX);
    check_segments(&t, &again);
    check_patterns(&t, a);
    if (!t.count || again.n > LOCATOR_MAX)
        return 0;
    holds(locator_read(buf_view(&again), &same, a, &e));
    holds(same.count == t.count);
    for (size_t i = 0; i < t.count; i++)
        holds(str_eq(same.segments[i], t.segments[i]));
    return 0;
}
