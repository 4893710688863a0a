/* Alerts: what is unusual in one caller's calls, and callers that were paused.
 *
 * Each caller has a few windows of time, an eighth of which is forgotten at once. Callers
 * are bounded: the one that was silent longest makes room. A pause is a note in the
 * user's state folder, so that it holds for all processes, and until a person takes it
 * away; it is looked at before every call. */
#include <stdio.h>

#include "guard/internal.h"
#include "os/os.h"

#define CALLERS_MAX 64u
#define PARTS 8u
#define SINKS_MAX 4u
#define HOSTS_SEEN_MAX 1024u
#define ERRORS_LEAST 2u /* one failure in so many calls, or more */
#define PAUSED_FILE "paused.json"
#define PAUSED_MAX ((size_t)64 << 10)
#define LOCK_MS 5000u

static const char *const kind_names[ALERT_KINDS] = {"denials", "deletes",  "limits",
                                                    "errors",  "newHosts", "disk"};
static const char *const kind_words[ALERT_KINDS] = {"refusals",
                                                    "deleted notes",
                                                    "stops by a limit",
                                                    "failed calls",
                                                    "hosts never fetched from before",
                                                    NULL};

struct window {
    uint64_t part; /* the number of the newest part, since the clock began */
    uint32_t n[PARTS];
};

struct watched {
    char name[64];
    uint64_t used_ns;
    struct window windows[ALERT_COUNTED], all;
    struct spent {
        uint32_t odd_bytes; /* less than a KiB */
        struct window kib;  /* of a day */
    } spent[SPENT_KINDS];
    uint64_t quiet_until[ALERT_KINDS]; /* one alert a window */
};

struct sink {
    alert_fn *fn;
    void *arg;
};

struct alerts {
    pthread_mutex_t lock; /* guards all below */
    struct watched callers[CALLERS_MAX];
    uint64_t hosts[HOSTS_SEEN_MAX]; /* hashes of the hosts that requests went to */
    size_t host_count;
    struct sink sinks[SINKS_MAX];
    atomic_uint_least64_t raised[ALERT_KINDS];
    /* Calls without events, to be counted with the next one that has some. */
    atomic_uint succeeded[WAY_OTHER + 1];

    int state; /* the user's folder; -1: not opened, or none */
    bool is_read;
    struct os_stamp stamp;
    struct arena *arena;
    const struct json *paused;
    struct err unread; /* why the paused callers are unknown; no code: they are known */
};

struct alerts *alerts_new(void)
{
    struct alerts *a = mem_new(sizeof *a);
    struct err none = {0};
    pthread_mutex_init(&a->lock, NULL);
    a->state = os_state_dir(NULL, &none);
    return a;
}

void alerts_free(struct alerts *a)
{
    os_close(a->state);
    arena_free(a->arena);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* ---- windows ------------------------------------------------------------ */

/* Adds `more`, and answers what came within the last `seconds`. */
static uint32_t window_add(struct window *w, uint64_t now_ns, uint32_t seconds,
                           uint32_t more)
{
    uint64_t part = now_ns / ((uint64_t)seconds * 1000000000u / PARTS + 1);
    uint64_t passed = part - w->part;
    for (uint64_t i = 0; i < (passed < PARTS ? passed : PARTS); i++)
        w->n[(w->part + 1 + i) % PARTS] = 0;
    w->part = part;
    w->n[part % PARTS] += more;
    uint32_t sum = 0;
    for (size_t i = 0; i < PARTS; i++)
        sum += w->n[i];
    return sum;
}

static struct watched *find_caller(struct alerts *a, const char *name, uint64_t now_ns)
{
    struct watched *oldest = &a->callers[0];
    for (size_t i = 0; i < CALLERS_MAX; i++) {
        struct watched *w = &a->callers[i];
        if (!strncmp(w->name, name, sizeof w->name - 1)) {
            w->used_ns = now_ns;
            return w;
        }
        if (w->used_ns < oldest->used_ns)
            oldest = w;
    }
    *oldest = (struct watched){.used_ns = now_ns};
    (void)snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

static bool is_new_host(struct alerts *a, const char *host)
{
    uint64_t hash = hash_fnv(HASH_FNV, str_of(host));
    for (size_t i = 0; i < a->host_count; i++)
        if (a->hosts[i] == hash)
            return false;
    if (a->host_count < HOSTS_SEEN_MAX)
        a->hosts[a->host_count++] = hash;
    return true;
}

/* ---- paused callers ----------------------------------------------------- */

static struct os_stamp look_at_paused(const struct alerts *a)
{
    return os_stamp(a->state, PAUSED_FILE);
}

/* The lock is held. `now` may be outdated: then the next call finds a difference and reads
 * again. */
static void read_paused(struct alerts *a, const struct os_stamp *now)
{
    if (a->is_read && os_same_stamp(now, &a->stamp))
        return;
    struct err why = {0};
    scoped_buf struct buf text = buf_of(PAUSED_MAX);
    arena_free(a->arena);
    a->arena = arena_new(16 * PAUSED_MAX);
    a->paused = NULL;
    if (a->state >= 0 && os_read_file(a->state, PAUSED_FILE, &text, NULL, &why)) {
        a->paused = json_read(buf_view(&text), a->arena, &why);
        if (a->paused && !json_is(a->paused, JSON_OBJECT))
            err_set(&why, ERR_INVALID, "it is not a JSON object");
    }
    a->unread = (struct err){0};
    if (why.code && why.code != ERR_NOT_FOUND)
        a->unread = why;
    a->stamp = *now;
    a->is_read = true;
}

/* The list of paused callers is not guessed: with a damaged list every call is refused. */
static bool is_known(const struct alerts *a, struct err *e)
{
    return !a->unread.code ||
           err_set(
               e, ERR_DENIED,
               "paused callers cannot be read from " PAUSED_FILE
               " in the state folder (%.120s); a person repairs the file, or removes it, "
               "which lifts all pauses",
               a->unread.msg);
}

bool alerts_allow(struct alerts *a, const char *name, struct err *e)
{
    struct os_stamp now = look_at_paused(a);
    pthread_mutex_lock(&a->lock);
    read_paused(a, &now);
    if (!is_known(a, e)) {
        pthread_mutex_unlock(&a->lock);
        return err_wrap(e, "nothing ran");
    }
    const struct json *p = json_get_str(a->paused, str_cut(str_of(name), 63));
    if (p)
        err_set(e, ERR_DENIED,
                "nothing was run: caller '%s' has been paused since %.*s (%.*s); to "
                "resume: cloche callers resume '%s'",
                name, STR_ARGS(str_cut(json_str(json_get(p, "since")), 30)),
                STR_ARGS(str_cut(json_str(json_get(p, "why")), 120)), name);
    pthread_mutex_unlock(&a->lock);
    return !p;
}

/* Writes the list anew with `name` in it, for `why`, or without it. */
static bool write_paused(struct alerts *a, const char *name, const char *why,
                         struct err *e)
{
    scoped_buf struct buf text = buf_of(PAUSED_MAX);
    if (a->state < 0)
        return err_set(e, ERR_NOT_FOUND,
                       "there is no folder to store paused callers "
                       "in");
    scoped_fd int lock = os_lock(a->state, "paused.lock", 0, LOCK_MS, e);
    if (lock < 0)
        return false;
    struct os_stamp present = look_at_paused(a);
    pthread_mutex_lock(&a->lock);
    read_paused(a, &present);
    if (!is_known(a, e)) {
        pthread_mutex_unlock(&a->lock);
        return false;
    }
    struct json_writer w = json_writer(&text);
    struct json_iter it = json_iter(a->paused);
    struct str own = str_cut(str_of(name), 63);
    bool there = json_get_str(a->paused, own) != NULL;
    json_open_object(&w);
    while (json_next(&it)) {
        if (str_eq(it.key, own))
            continue;
        json_key_str(&w, it.key);
        json_put(&w, it.value);
    }
    if (why) {
        json_key_str(&w, own);
        json_open_object(&w);
        json_pair_time(&w, "since", os_real_ms());
        json_pair_cstr(&w, "why", why);
        json_close(&w);
    }
    json_close(&w);
    pthread_mutex_unlock(&a->lock);
    if (!why && !there)
        return err_set(e, ERR_NOT_FOUND,
                       "the caller '%.60s' is not paused; 'cloche callers' lists those "
                       "that are",
                       name);
    return buf_check(&text, "the paused callers", e) &&
           os_write_file(a->state, PAUSED_FILE, buf_view(&text), OS_REPLACE, 0600, NULL,
                         e);
}

/* Records in the trail who was paused or resumed, and why. */
static void alert_record(struct ward *w, const char *event, const char *caller,
                         const struct alert *alert, const char *why, bool lasting)
{
    struct err none = {0};
    struct ward_event told;
    ward_event_begin(&told, event);
    json_pair_str(&told.out, "caller", str_cut(str_of(caller), 63));
    if (alert) {
        client_claim_put(alert->claim, &told.out);
        json_pair_cstr(&told.out, "kind", kind_names[alert->kind]);
        json_pair_bool(&told.out, "paused", alert->paused);
    }
    json_pair_cstr(&told.out, "why", why);
    (void)ward_event_end(&told, w, NULL, lasting, &none);
}

void ward_refused(struct ward *w, const char *caller, const char *why)
{
    alert_record(w, "refused", caller, NULL, why, false);
}

bool ward_pause(struct ward *w, const char *caller, const char *why, struct err *e)
{
    if (!write_paused(w->guard->alerts, caller, why, e))
        return false;
    alert_record(w, "pause", caller, NULL, why, true);
    return true;
}

bool ward_resume(struct ward *w, const char *caller, struct err *e)
{
    if (!write_paused(w->guard->alerts, caller, NULL, e))
        return false;
    alert_record(w, "resume", caller, NULL, "by a person", true);
    return true;
}

bool guard_paused(struct guard *g, struct json_writer *out, struct err *e)
{
    struct alerts *a = g->alerts;
    struct os_stamp now = look_at_paused(a);
    pthread_mutex_lock(&a->lock);
    read_paused(a, &now);
    bool ok = is_known(a, e);
    if (ok && a->paused)
        json_put(out, a->paused);
    else
        json_open_object(out), json_close(out);
    pthread_mutex_unlock(&a->lock);
    return ok;
}

/* ---- raising ------------------------------------------------------------ */

void guard_on_alert(struct guard *g, alert_fn *fn, void *arg)
{
    struct alerts *a = g->alerts;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < SINKS_MAX; i++)
        if (!a->sinks[i].fn) {
            a->sinks[i] = (struct sink){fn, arg};
            break;
        }
    pthread_mutex_unlock(&a->lock);
}

void guard_off_alert(struct guard *g, alert_fn *fn, void *arg)
{
    struct alerts *a = g->alerts;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < SINKS_MAX; i++)
        if (a->sinks[i].fn == fn && a->sinks[i].arg == arg)
            a->sinks[i] = (struct sink){0};
    pthread_mutex_unlock(&a->lock);
}

void alerts_raise(struct ward *w, const struct policy *p, struct alert *alert)
{
    struct alerts *a = w->guard->alerts;
    struct sink sinks[SINKS_MAX];
    struct err e = {0};
    atomic_fetch_add(&a->raised[alert->kind], 1);
    if (alert->paused && !write_paused(a, alert->caller, alert->message, &e))
        alert->paused = false;
    alert_record(w, "alert", alert->caller, alert, alert->message, true);
    pthread_mutex_lock(&a->lock);
    memcpy(sinks, a->sinks, sizeof sinks);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < SINKS_MAX; i++)
        if (sinks[i].fn)
            sinks[i].fn(sinks[i].arg, alert);
    if (p->webhook)
        webhook_send(w->guard->webhook, p->webhook, alert, kind_names[alert->kind]);
}

/* Is the threshold passed, and not reported yet? The lock is held. */
static bool alert_is_due(struct watched *c, const struct policy *p, enum alert_kind kind,
                         uint32_t more, uint32_t ended, uint64_t now_ns, uint32_t *sum)
{
    const struct policy_alert *limit = &p->alerts[kind];
    *sum = window_add(&c->windows[kind], now_ns, limit->seconds, more);
    bool over =
        limit->count && more && *sum >= limit->count && now_ns >= c->quiet_until[kind];
    if (kind == ALERT_ERRORS) {
        uint32_t all = window_add(&c->all, now_ns, limit->seconds, ended);
        over = over && *sum >= all / ERRORS_LEAST;
    }
    if (over)
        c->quiet_until[kind] = now_ns + (uint64_t)limit->seconds * 1000000000u;
    return over;
}

static uint32_t count_new_hosts(struct alerts *a, const struct observed *d)
{
    uint32_t n = 0;
    for (size_t i = 0; i < d->host_count; i++)
        n += is_new_host(a, d->hosts[i]);
    return n;
}

void ward_observe(struct ward *w, const struct caller *who, const struct observed *d)
{
    struct err none = {0};
    struct alerts *a = w->guard->alerts;
    struct alert raised[ALERT_COUNTED];
    size_t n = 0;
    enum way way = caller_way(who);
    /* The common case, a call without events: counted together with the next one. */
    if (d->ended && !d->denials && !d->deletes && !d->limit && !d->failed &&
        !d->host_count) {
        atomic_fetch_add_explicit(&a->succeeded[way], 1, memory_order_relaxed);
        return;
    }
    const struct policy *p = ward_policy(w, &none);
    if (!p)
        return;
    uint32_t ended = atomic_exchange(&a->succeeded[way], 0) + d->ended;
    uint64_t now_ns = os_mono_ns();
    pthread_mutex_lock(&a->lock);
    struct watched *c = find_caller(a, who->name, now_ns);
    uint32_t counts[ALERT_COUNTED] = {d->denials, d->deletes, d->limit, d->failed,
                                      count_new_hosts(a, d)};
    for (size_t kind = 0; kind < ALERT_COUNTED; kind++) {
        uint32_t sum;
        if (!alert_is_due(c, p, (enum alert_kind)kind, counts[kind], ended, now_ns, &sum))
            continue;
        struct alert *new = &raised[n++];
        *new = (struct alert){.kind = (enum alert_kind)kind,
                              .caller = who->name,
                              .claim = who->claim,
                              .paused = p->alerts[kind].pause};
        (void)snprintf(new->message, sizeof new->message, "%u %s within %u s", sum,
                       kind_words[kind], p->alerts[kind].seconds);
    }
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < n; i++)
        alerts_raise(w, p, &raised[i]);
    policy_release(p);
}

/* ---- the records' share ------------------------------------------------------ */

#define DAY_SECONDS 86400u

bool alerts_spend(struct alerts *a, const char *name, enum spent_kind kind, size_t bytes,
                  uint32_t most_kib)
{
    uint64_t now_ns = os_mono_ns();
    pthread_mutex_lock(&a->lock);
    struct spent *s = &find_caller(a, name, now_ns)->spent[kind];
    bool room = window_add(&s->kib, now_ns, DAY_SECONDS, 0) < most_kib;
    if (room || kind == SPENT_RECORDS) { /* a record is written already */
        uint32_t all = s->odd_bytes + (uint32_t)(bytes < UINT32_MAX / 2 ? bytes : 0);
        s->odd_bytes = all % 1024;
        uint32_t sum = window_add(&s->kib, now_ns, DAY_SECONDS, all / 1024);
        room = kind == SPENT_RECORDS ? sum < most_kib : room;
    }
    pthread_mutex_unlock(&a->lock);
    return room;
}

bool alerts_first(struct alerts *a, const char *name)
{
    uint64_t now_ns = os_mono_ns();
    pthread_mutex_lock(&a->lock);
    struct watched *c = find_caller(a, name, now_ns);
    bool first = now_ns >= c->quiet_until[ALERT_DISK];
    if (first)
        c->quiet_until[ALERT_DISK] = now_ns + (uint64_t)DAY_SECONDS / PARTS * 1000000000u;
    pthread_mutex_unlock(&a->lock);
    return first;
}

struct guard_counts guard_count(const struct guard *g)
{
    struct guard_counts n = {.recorded = audit_appended(g->audit),
                             .lost = audit_lost(g->audit)};
    for (size_t i = 0; i < ALERT_KINDS; i++)
        n.alerts[i] = atomic_load(&g->alerts->raised[i]);
    for (struct ward *w = atomic_load(&g->wards); w; w = w->next)
        n.trail_bytes += trail_bytes(w->trail);
    return n;
}
