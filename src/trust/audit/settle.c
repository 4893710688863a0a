/* Intents without an end, of a process that died. Found by reading the
 * chain from the file on where the first of them stands, as the head says. */
#include <stdio.h>

#include "audit/chain.h"
#include "os/os.h"

#define ID_MAX 64u
#define OPEN_MOST 10000u /* intents without an end that are kept at a time */

enum trail_kind chain_kind(struct str line)
{
    static const char event[] = "\"event\":\"intent\"", named[] = "\"intent\":\"";
    if (memmem(line.at, line.n, event, sizeof event - 1))
        return TRAIL_INTENT;
    return memmem(line.at, line.n, named, sizeof named - 1) ? TRAIL_END : TRAIL_PLAIN;
}

struct opened {
    struct opened *next;
    char id[ID_MAX];
    struct buf line;
};

struct settling {
    struct opened *open;
    size_t count;
};

static void intent_drop(struct opened **at)
{
    struct opened *gone = *at;
    *at = gone->next;
    buf_done(&gone->line);
    free(gone);
}

static void intent_keep(struct settling *s, struct str id, struct str line)
{
    if (s->count == OPEN_MOST || id.n >= ID_MAX)
        return;
    struct opened *new = mem_new(sizeof *new);
    buf_init(&new->line, AUDIT_RECORD_MAX + 1);
    (void)snprintf(new->id, sizeof new->id, "%.*s", STR_ARGS(id));
    buf_str(&new->line, line);
    new->next = s->open;
    s->open = new;
    s->count++;
}

static bool settling_take_line(void *arg, struct str line, struct err *e)
{
    struct settling *s = arg;
    struct err broken = {0};
    enum trail_kind kind = chain_kind(line);
    (void)e;
    if (kind == TRAIL_PLAIN)
        return true;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    struct str id = json_str(json_get(json_read(line, a, &broken), "intent"));
    if (!id.n)
        return true;
    struct opened **at = &s->open;
    while (*at && !str_is(id, (*at)->id))
        at = &(*at)->next;
    if (!*at && kind == TRAIL_INTENT)
        intent_keep(s, id, line);
    if (*at && kind == TRAIL_END) {
        intent_drop(at);
        s->count--;
    }
    return true;
}

/* The members of the intent that its end has, too. */
static void intent_put_members(const struct json *intent, struct json_writer *w)
{
    static const char *const other[] = {"n", "mac", "time", "event", "call", NULL};
    json_put_pairs(w, intent, other);
}

static bool end_one(struct chain *c, const struct opened *o, const char *vault,
                    audit_interrupted_fn *fn, void *arg, struct err *e)
{
    struct err broken = {0};
    char state[STATE_MAX + 1];
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    scoped_buf struct buf text = buf_of(AUDIT_RECORD_MAX);
    const struct json *intent = json_read(buf_view(&o->line), a, &broken);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_time(&w, "time", os_real_ms());
    json_pair_cstr(&w, "event", "call");
    intent_put_members(intent, &w);
    json_pair_cstr(&w, "result", "Interrupted");
    json_pair_str(&w, "begun", json_str(json_get(intent, "time")));
    if (fn)
        fn(arg, vault, str_of(o->id), &w);
    json_close(&w);
    memcpy(state, c->head.state, sizeof state);
    struct entry entry = {.members = {text.at + 1, text.n - 2},
                          .before = STR(""),
                          .state = state,
                          .kind = TRAIL_END};
    return buf_check(&text, "the record", e) && chain_append(c, &entry, e);
}

bool chain_settle(struct chain *c, const char *vault, audit_interrupted_fn *fn, void *arg,
                  struct err *e)
{
    struct settling s = {0};
    struct err odd = {0}; /* what cannot be read has no intents, either */
    bool ok = true;
    if (!c->head.open)
        return true;
    for (uint32_t file = c->head.open_from; file && file <= c->head.file; file++)
        ok = ok && chain_file_lines(c, file, settling_take_line, &s, &odd, e);
    while (s.open) {
        ok = ok && end_one(c, s.open, vault, fn, arg, e);
        intent_drop(&s.open);
    }
    return ok && (!c->head.open || chain_forget_open(c, e));
}
