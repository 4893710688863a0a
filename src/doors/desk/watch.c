/* The contents of the stream of events: each record of the audit as it is written, by any
 * process of the user; that something waits, or waits no more; that tools or the policy
 * changed.
 *
 * Records are followed in the files, so what a client of `cloche mcp` does is seen like what
 * comes over HTTP, and no call waits for a page. */
#include <stdio.h>

#include "approvals/approvals.h"
#include "audit/audit.h"
#include "desk/internal.h"
#include "os/os.h"

#define VAULTS_MAX 64u
#define VAULTS_NS UINT64_C(5000000000) /* between looks for other vaults */
#define EVENT_MAX ((size_t)128 << 10)

struct watched {
    char id[80];
    struct trail *trail;
    struct trail_place place;
};

struct watch {
    struct desk *desk;
    struct events *events;
    struct watched *at; /* the user's own trail first; of VAULTS_MAX */
    size_t count;
    uint64_t looked_ns, approvals, settings;
    char compiling[200]; /* what was said of it last; empty: nothing is compiled */
    struct watched *now; /* whose records are told */
};

struct watch *watch_new(struct desk *d)
{
    struct watch *w = mem_new(sizeof *w);
    w->desk = d;
    w->at = mem_new(VAULTS_MAX * sizeof *w->at);
    return w;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    free(w->at);
    free(w);
}

static void watch_add(struct watch *w, const char *id, struct ward *ward)
{
    struct trail *trail = ward ? ward_trail(ward) : NULL;
    for (size_t i = 0; i < w->count; i++)
        if (w->at[i].trail == trail)
            return;
    if (!trail || w->count == VAULTS_MAX)
        return;
    struct watched *new = &w->at[w->count++];
    *new = (struct watched){.trail = trail};
    struct str cut = str_cut(str_of(id), sizeof new->id - 1);
    memcpy(new->id, cut.at, cut.n);
}

static void watch_find_vaults(struct watch *w)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_SMALL);
    struct guard *g = w->desk->o.guard;
    watch_add(w, "", guard_ward(g, NULL, &none));
    struct json_iter it = json_iter(desk_vaults(w->desk, a, &none));
    while (json_next(&it))
        watch_add(w, json_cstr(json_get(it.value, "id")),
                  guard_ward(g, json_cstr(json_get(it.value, "path")), &none));
}

static bool watch_tell_record(void *arg, struct str line, struct err *e)
{
    struct watch *w = arg;
    struct err broken = {0};
    (void)e;
    /* The record of a call's end says more than that it would change something. */
    if (memmem(line.at, line.n, "\"event\":\"intent\"",
               sizeof "\"event\":\"intent\"" - 1))
        return true;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &broken);
    if (!r)
        return true;
    scoped_buf struct buf data = buf_of(EVENT_MAX);
    struct json_writer out = json_writer(&data);
    json_open_object(&out);
    json_pair_cstr(&out, "vault", w->now->id);
    json_pair(&out, "record", r);
    if (desk_is_look(w->desk->o.actions, r))
        json_pair_bool(&out, "look", true);
    json_close(&out);
    if (!data.failed)
        events_say(w->events, "record", buf_view(&data));
    return true;
}

/* Another number is told as an event without more; the page asks for the rest. */
static void watch_compare(struct events *ev, const char *kind, uint64_t *known,
                          uint64_t now, bool begins)
{
    if (*known != now && !begins)
        events_say(ev, kind, STR("{}"));
    *known = now;
}

static void watch_tell_compiling(struct watch *w, struct events *ev)
{
    scoped_buf struct buf now = buf_of(BUF_LINE);
    bool compiles = desk_put_compiling(w->desk, &now);
    if ((compiles || *w->compiling) && !str_is(buf_view(&now), w->compiling))
        events_say(ev, "compiling", buf_view(&now));
    (void)snprintf(w->compiling, sizeof w->compiling, "%s", compiles ? buf_cz(&now) : "");
}

void watch_look(void *watch, struct events *ev, bool begins)
{
    struct watch *w = watch;
    struct err none = {0};
    uint64_t now_ns = os_mono_ns();
    w->events = ev;
    if (begins)
        for (size_t i = 0; i < w->count; i++)
            w->at[i].place = (struct trail_place){0};
    if (begins || now_ns - w->looked_ns > VAULTS_NS) {
        watch_find_vaults(w);
        w->looked_ns = now_ns;
    }
    for (size_t i = 0; i < w->count; i++) {
        w->now = &w->at[i];
        (void)trail_follow(w->now->trail, &w->now->place, watch_tell_record, w, &none);
    }
    watch_compare(ev, "approvals", &w->approvals, approvals_state(w->desk->o.approvals),
                  begins);
    watch_compare(ev, "settings", &w->settings, desk_settings(w->desk), begins);
    watch_tell_compiling(w, ev);
}
