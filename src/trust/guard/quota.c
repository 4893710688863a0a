/* Limits on the disk space that callers' records and changes take. A person at the terminal
 * is limited by the disk alone. */
#include <inttypes.h>
#include <stdio.h>

#include "guard/internal.h"
#include "os/os.h"

#define LOOK_NS 10000000000u /* between looks at the size of a trail */
#define TOLD_AT 80u          /* percent */

static bool is_agent(const struct caller *who)
{
    enum way way = caller_way(who);
    return way == WAY_STDIO || way == WAY_HTTP;
}

static uint64_t most_of(const struct policy *p)
{
    return (uint64_t)p->audit.max_megabytes << 20;
}

/* Measured every ten seconds; `*tell`: it is nearly full, which was not reported yet. */
static uint64_t trail_size(struct ward *w, uint64_t most, bool *tell)
{
    uint64_t now_ns = os_mono_ns();
    pthread_mutex_lock(&w->lock);
    bool stale = !w->looked_ns || now_ns - w->looked_ns >= LOOK_NS;
    if (stale)
        w->looked_ns = now_ns;
    pthread_mutex_unlock(&w->lock);
    uint64_t bytes = stale ? trail_bytes(w->trail) : 0;
    pthread_mutex_lock(&w->lock);
    if (stale)
        w->trail_bytes = bytes;
    bytes = w->trail_bytes;
    bool nearly = bytes >= most / 100 * TOLD_AT;
    *tell = nearly && !w->told_full;
    w->told_full = nearly;
    pthread_mutex_unlock(&w->lock);
    return bytes;
}

static void tell_full(struct ward *w, const struct policy *p, const struct caller *who,
                      uint64_t bytes)
{
    struct alert alert = {.kind = ALERT_DISK, .caller = who->name, .claim = who->claim};
    (void)snprintf(alert.message, sizeof alert.message,
                   "the audit trail is at %" PRIu64 " MB of %u: cloche audit export "
                   "--remove makes room",
                   bytes >> 20, p->audit.max_megabytes);
    alerts_raise(w, p, &alert);
}

static void tell_share(struct ward *w, const struct policy *p, const struct caller *who)
{
    struct alert alert = {.kind = ALERT_DISK, .caller = who->name, .claim = who->claim};
    (void)snprintf(alert.message, sizeof alert.message,
                   "its records took %u MB within 24 h: its calls are refused",
                   p->audit.caller_megabytes);
    if (alerts_first(w->guard->alerts, who->name))
        alerts_raise(w, p, &alert);
}

bool quota_allows(struct ward *w, const struct policy *p, const struct caller *who,
                  struct err *e)
{
    bool tell;
    if (!is_agent(who) || !p->audit.required)
        return true;
    if (!alerts_spend(w->guard->alerts, who->name, SPENT_RECORDS, 0,
                      p->audit.caller_megabytes << 10)) {
        tell_share(w, p, who);
        return err_set(e, ERR_BUSY,
                       "nothing ran: the records of this caller's calls have taken %u MB "
                       "within 24 hours; try again later, or a person raises "
                       "audit.callerMegabytes",
                       p->audit.caller_megabytes);
    }
    uint64_t bytes = trail_size(w, most_of(p), &tell);
    if (tell)
        tell_full(w, p, who, bytes);
    return bytes < most_of(p) ||
           err_set(
               e, ERR_BUSY,
               "nothing ran: the audit trail is full (%u MB); a person makes room with "
               "'cloche audit export --remove', or raises audit.maxMegabytes",
               p->audit.max_megabytes);
}

/* The space that agents leave free; 0 where the size of the disk is unknown. */
static uint64_t reserve_of(const struct ward *w, const struct policy *p)
{
    uint64_t size = os_disk_bytes(w->dir), reserve = (uint64_t)p->reserve_megabytes << 20;
    return size / 20 < reserve ? size / 20 : reserve;
}

bool quota_allows_writes(struct ward *w, const struct policy *p, const struct caller *who,
                         const char *call, struct err *e)
{
    if (w->dir < 0 || !p->reserve_megabytes || !is_agent(who) ||
        os_free_bytes(w->dir) >= reserve_of(w, p))
        return true;
    struct alert alert = {.kind = ALERT_DISK, .caller = who->name, .claim = who->claim};
    (void)snprintf(alert.message, sizeof alert.message,
                   "the disk of the vault is nearly full: agents change nothing");
    if (alerts_first(w->guard->alerts, who->name))
        alerts_raise(w, p, &alert);
    return err_set(e, ERR_IO,
                   "%s did nothing: the disk is nearly full, and the rest (%" PRIu64
                   " MB) is reserved for the person; free some space",
                   call, os_free_bytes(w->dir) >> 20);
}

bool ward_spend(struct ward *w, const struct caller *who, size_t bytes)
{
    struct err none = {0};
    if (!is_agent(who))
        return true;
    const struct policy *p = ward_policy_last(w, &none);
    uint32_t most = p ? p->audit.caller_megabytes << 10 : UINT32_MAX;
    policy_release(p);
    return alerts_spend(w->guard->alerts, who->name, SPENT_RECORDS, bytes, most);
}

static bool refuse_notes(struct ward *w, const struct policy *p, const struct caller *who,
                         struct err *e)
{
    struct alert alert = {.kind = ALERT_DISK, .caller = who->name, .claim = who->claim};
    (void)snprintf(alert.message, sizeof alert.message,
                   "it has written %u MB within 24 h: it changes nothing more",
                   p->caller_megabytes);
    if (alerts_first(w->guard->alerts, who->name))
        alerts_raise(w, p, &alert);
    return err_set(
        e, ERR_LIMIT,
        "nothing was changed: this caller has written %u MB of notes, types and functions "
        "within 24 hours; try again later, or a person raises disk.callerMegabytes",
        p->caller_megabytes);
}

bool ward_admit(struct ward *w, const struct caller *who, size_t bytes, struct err *e)
{
    struct err none = {0};
    const struct policy *p = is_agent(who) ? ward_policy(w, &none) : NULL;
    bool ok = !p || alerts_spend(w->guard->alerts, who->name, SPENT_NOTES, bytes,
                                 p->caller_megabytes << 10);
    if (!ok)
        (void)refuse_notes(w, p, who, e);
    policy_release(p);
    return ok;
}

void ward_disk(struct ward *w, struct json_writer *out)
{
    struct err none = {0};
    const struct policy *p = ward_policy(w, &none);
    uint64_t bytes = trail_bytes(w->trail), most = p ? most_of(p) : 0;
    uint64_t room = w->dir >= 0 ? os_free_bytes(w->dir) : UINT64_MAX;
    uint64_t reserve = p && w->dir >= 0 ? reserve_of(w, p) : 0;
    bool nearly = p && bytes >= most / 100 * TOLD_AT, low = room < reserve;
    json_open_object(out);
    json_pair_int(out, "audit_bytes", (int64_t)bytes);
    json_pair_int(out, "audit_most", (int64_t)most);
    json_pair_int(out, "free_bytes", room < INT64_MAX ? (int64_t)room : -1);
    json_pair_int(out, "reserve", (int64_t)reserve);
    json_pair_bool(out, "ok", !nearly && !low);
    if (nearly || low)
        json_pair_cstr(
            out, "why",
            low ? "the disk is nearly full: agents change nothing"
                : "the audit trail is nearly full: cloche audit export --remove");
    json_close(out);
    policy_release(p);
}
