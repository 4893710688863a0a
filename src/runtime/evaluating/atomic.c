/* All or nothing: what code changed before it failed is undone, vault by vault, each as one change
 * set. */
#include "evaluating/atomic.h"

#include "evaluation/evaluation.h"
#include "notes/notes.h"
#include "place/place.h"
#include "record/record.h"
#include "json/json.h"

/* The changes are the call's own, and so is taking them back: neither needs another permission nor
 * counts as more that it wrote. */
static bool undo_in(struct evaluation *v, const struct place *p, struct arena *a,
                    const struct json **done, struct err *e)
{
    struct vault_author author = *p->author;
    author.admits = NULL;
    const struct vault_view view = {.author = &author, .notes = true, .types = true};
    struct vault *vault = vault_set_get(v->actions->vaults, p->vault, e);
    scoped_buf struct buf order = buf_of(BUF_LINE);
    scoped_buf struct buf answer = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&answer);
    buf_printf(&order, "{\"call\":\"%s\"}", p->part->id);
    const struct json *which = vault ? json_read(buf_view(&order), a, e) : NULL;
    *done = which && notes_undo(vault_as(vault, &view), which, &w, e) &&
                    buf_check(&answer, "what was undone", e)
                ? json_read(buf_view(&answer), a, e)
                : NULL;
    return *done != NULL;
}

static void put_refused(const struct json *done, struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(done, "refused"));
    while (json_next(&it))
        json_put(w, it.value);
}

void atomic_put(struct evaluation *v, struct json_writer *w)
{
    int64_t undone = 0;
    struct err why = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    json_key(w, "atomic");
    json_open_object(w);
    json_key(w, "refused");
    json_open_array(w);
    for (struct place *p = v->places; p; p = p->next) {
        const struct json *done = NULL;
        struct err e = {0};
        if (!p->vault || !p->part || !account_has_changed(p->part))
            continue;
        if (!undo_in(v, p, a, &done, &e))
            why = e;
        undone += json_int(json_get(done, "undone"), 0);
        put_refused(done, w);
    }
    json_close(w);
    json_pair_int(w, "undone", undone);
    if (why.code)
        json_pair_cstr(w, "error", why.msg);
    json_close(w);
}
