/* How calls went over time: a ring of aggregates for each vault that is asked about (room
 * trends), filled from its trail at the first question and followed from then on. */
#include <stdio.h>

#include "desk/internal.h"
#include "os/os.h"
#include "trends/trends.h"

#define MINUTE_MS INT64_C(60000)

struct performance {
    pthread_mutex_t lock;
    struct {
        struct trail *trail;
        struct trends *trends;
        uint64_t asked; /* the count of questions when it was asked about last */
    } rings[PERFORMANCE_VAULTS];
    uint64_t asked;
};

struct performance *performance_new(void)
{
    struct performance *p = mem_new(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void performance_free(struct performance *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < PERFORMANCE_VAULTS; i++)
        trends_free(p->rings[i].trends);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* The ring of a trail, or a new one in place of that which was asked about longest ago. */
static struct trends *ring_of(struct performance *p, struct trail *trail)
{
    size_t at = 0;
    for (size_t i = 0; i < PERFORMANCE_VAULTS; i++) {
        if (p->rings[i].trail == trail) {
            at = i;
            break;
        }
        if (p->rings[i].asked < p->rings[at].asked)
            at = i;
    }
    if (p->rings[at].trail != trail) {
        trends_free(p->rings[at].trends);
        p->rings[at].trail = trail;
        p->rings[at].trends = trends_new(CALLER_PAGE);
    }
    p->rings[at].asked = ++p->asked;
    return p->rings[at].trends;
}

static const struct range_row {
    const char *name;
    unsigned minutes, step; /* both in minutes */
} ranges[] = {{"hour", 60, 1},
              {"day", 24 * 60, 15},
              {"week", 7 * 24 * 60, 120},
              {"month", 31 * 24 * 60, 720}};

static bool range_of(struct http_request *rq, int64_t now_ms, struct trend_range *out,
                     struct err *e)
{
    static const char *const kinds[TREND_KINDS] = {"all", "action", "caller", "method",
                                                   "error"};
    struct str name = http_query(rq, "range"), kind = http_query(rq, "kind");
    *out = (struct trend_range){.name = http_query(rq, "name")};
    for (size_t i = 0; i < TREND_KINDS; i++)
        if (kind.n && str_is(kind, kinds[i]))
            out->kind = (enum trend_kind)i;
    for (size_t i = 0; i < LENGTH(ranges); i++) {
        if (!str_is(name.n ? name : STR("day"), ranges[i].name))
            continue;
        out->step_ms = ranges[i].step * MINUTE_MS;
        out->to_ms = (now_ms / out->step_ms + 1) * out->step_ms;
        out->from_ms = out->to_ms - ranges[i].minutes * MINUTE_MS;
        return true;
    }
    return err_set(e, ERR_INVALID, "range: hour, day, week or month is accepted");
}

bool tell_performance(struct desk *d, struct http_request *rq, struct http_response *rs,
                      struct err *e)
{
    int64_t now_ms = os_real_ms();
    struct str vault;
    struct trend_range range;
    struct err odd = {0};
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_SMALL);
    struct ward *ward = desk_ward(d, http_query(rq, "vault"), a, &vault, e);
    if (!ward || !range_of(rq, now_ms, &range, e))
        return false;
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", vault);
    json_key(&w, "trends");
    pthread_mutex_lock(&d->performance->lock);
    struct trends *t = ring_of(d->performance, ward_trail(ward));
    (void)trends_catch_up(t, ward_trail(ward), now_ms, &odd);
    bool ok = trends_put(t, &range, &w, e);
    pthread_mutex_unlock(&d->performance->lock);
    if (odd.code)
        put_spelt(&w, "odd", str_of(odd.msg));
    json_close(&w);
    return ok && buf_check(&rs->body, "the figures", e);
}
