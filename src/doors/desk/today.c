/* The first view: who came, what they changed, what is wrong; made of the trail's newest
 * records, of a day at most. */
#include <stdio.h>

#include "approvals/approvals.h"
#include "audit/audit.h"
#include "desk/internal.h"
#include "os/os.h"

#define DAY_MS INT64_C(86400000)
#define RECORDS_MAX 5000u
#define AGENTS_MAX 32u
#define CHANGES_MAX 60u
#define ALERTS_MAX 20u
#define NAME_MAX_BYTES 100u

struct agent {
    struct str caller, name, version, level, action, result, last;
    bool claimed;
    int64_t calls, failed, changed;
};

struct today {
    struct arena *arena;
    char since[25];
    unsigned records, agent_count, changes, alerts;
    struct agent agents[AGENTS_MAX];
    struct json_writer change_out, alert_out;
};

static bool same_agent(const struct agent *a, const struct agent *b)
{
    return str_eq(a->caller, b->caller) && str_eq(a->name, b->name);
}

/* The newest record of each comes first: what it says of the last call stays. */
static void count_call(struct today *t, const struct json *r)
{
    const struct json *client = json_get(r, "client");
    struct agent one = {.caller = json_str(json_get(r, "caller")),
                        .name = json_str(json_get(client, "name")),
                        .version = json_str(json_get(client, "version")),
                        .level = json_str(json_get(r, "level")),
                        .action = json_str(json_get(r, "action")),
                        .result = json_str(json_get(r, "result")),
                        .last = json_str(json_get(r, "time"))};
    unsigned i = 0;
    while (i < t->agent_count && !same_agent(&t->agents[i], &one))
        i++;
    if (i == AGENTS_MAX)
        return;
    if (i == t->agent_count)
        t->agents[t->agent_count++] = one;
    t->agents[i].calls++;
    t->agents[i].failed += !str_is(one.result, "success");
    t->agents[i].changed += json_bool(json_get(r, "changed"), false);
}

static void record_put_some(struct json_writer *w, const struct json *r, struct str mac)
{
    static const char *const kept[] = {
        "time", "event",  "caller",  "client",     "action", "calls",
        "tool", "result", "notes",   "more_notes", "ms",     "intent",
        "why",  "kind",   "message", "target",     "changed"};
    json_open_object(w);
    for (size_t i = 0; i < LENGTH(kept); i++)
        if (json_get(r, kept[i]))
            json_pair(w, kept[i], json_get(r, kept[i]));
    json_pair_str(w, "mac", mac);
    json_close(w);
}

static bool today_see(void *arg, struct str line, struct err *e)
{
    struct today *t = arg;
    struct err broken = {0};
    (void)e;
    const struct json *r = json_read(line, t->arena, &broken);
    struct str event = json_str(json_get(r, "event")), mac = json_str(json_get(r, "mac"));
    if (!r)
        return !broken.code || broken.code != ERR_LIMIT;
    if (str_cmp(json_str(json_get(r, "time")), str_of(t->since)) < 0 ||
        t->records++ > RECORDS_MAX)
        return false;
    if (str_is(event, "alert") && t->alerts++ < ALERTS_MAX)
        record_put_some(&t->alert_out, r, mac);
    if (!str_is(event, "call"))
        return true;
    count_call(t, r);
    if (json_bool(json_get(r, "changed"), false) && t->changes++ < CHANGES_MAX)
        record_put_some(&t->change_out, r, mac);
    return true;
}

/* *damaged: the list of pauses is, so that all calls are refused. */
static void today_put_agents(struct desk *d, const struct today *t, struct json_writer *w,
                             struct err *damaged)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer p = json_writer(&text);
    (void)guard_paused(d->o.guard, &p, damaged);
    const struct json *paused = json_read(buf_view(&text), t->arena, &none);
    json_key(w, "agents");
    json_open_array(w);
    for (unsigned i = 0; i < t->agent_count; i++) {
        const struct agent *a = &t->agents[i];
        json_open_object(w);
        json_pair_str(w, "caller", a->caller);
        if (a->name.n)
            json_pair_str(w, "name", a->name);
        if (a->version.n)
            json_pair_str(w, "version", a->version);
        json_pair_str(w, "level", a->level);
        json_pair_int(w, "calls", a->calls);
        json_pair_int(w, "failed", a->failed);
        json_pair_int(w, "changed", a->changed);
        json_pair_str(w, "last", a->last);
        json_pair_str(w, "action", a->action);
        json_pair_str(w, "result", a->result);
        if (json_get_str(paused, a->caller))
            json_pair(w, "paused", json_get_str(paused, a->caller));
        json_close(w);
    }
    json_close(w);
}

/* Is all well? `pauses`: why the list of paused callers cannot be read, which stops calls. */
static void today_put_health(struct ward *ward, const struct err *pauses,
                             struct json_writer *w)
{
    struct err e = {0};
    const struct policy *p = ward_policy(ward, &e);
    json_key(w, "health");
    json_open_object(w);
    json_pair_bool(w, "policy", p != NULL);
    json_pair_bool(w, "pauses", !pauses->code);
    if (!p || pauses->code)
        json_pair_cstr(w, "why", p ? pauses->msg : e.msg);
    if (p)
        json_pair_bool(w, "readOnly", p->read_only);
    json_key(w, "disk");
    ward_disk(ward, w);
    json_close(w);
    policy_release(p);
}

static unsigned approvals_waiting(struct desk *d, struct arena *a)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(BUF_ANSWER);
    if (!approvals_list(d->o.approvals, &text, &none))
        return 0;
    return (unsigned)json_length(json_read(buf_view(&text), a, &none));
}

bool tell_today(struct desk *d, struct http_request *rq, struct http_response *rs,
                struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(2 * ARENA_FILE);
    scoped(free) struct today *t = mem_new(sizeof *t);
    scoped_buf struct buf changes = buf_of(BUF_FILE);
    scoped_buf struct buf alerts = buf_of(BUF_FILE);
    struct str id, wanted = http_query(rq, "vault");
    struct err odd = {0}, pauses = {0};
    t->arena = a;
    t->change_out = json_writer(&changes);
    t->alert_out = json_writer(&alerts);
    date_format(os_real_ms() - DAY_MS, t->since);
    const struct json *vaults = desk_vaults(d, a, e);
    bool has_none = vaults && !json_length(vaults) && !wanted.n;
    struct ward *ward =
        vaults ? desk_ward(d, has_none ? STR("own") : wanted, a, &id, e) : NULL;
    if (!ward)
        return false;
    json_open_array(&t->change_out);
    json_open_array(&t->alert_out);
    (void)trail_back(ward_trail(ward), today_see, t, &odd);
    json_close(&t->change_out);
    json_close(&t->alert_out);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", id);
    json_pair(&w, "vaults", vaults);
    json_pair_cstr(&w, "version", CLOCHE_VERSION);
    json_pair_int(&w, "waiting", approvals_waiting(d, a));
    today_put_agents(d, t, &w, &pauses);
    json_pair_raw(&w, "changes", buf_view(&changes));
    json_pair_raw(&w, "alerts", buf_view(&alerts));
    today_put_health(ward, &pauses, &w);
    json_close(&w);
    return buf_check(&changes, "the changes", e) && buf_check(&rs->body, "the day", e);
}
