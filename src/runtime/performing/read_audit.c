/* Reads a vault's audit records, for the user and credentials with that scope, not
 * code. */
#include <stdio.h>

#include "audit/audit.h"
#include "caller/caller.h"
#include "guard/guard.h"
#include "performing/internal.h"
#include "performing/performing.h"

struct reading {
    const struct audit_filter *filter;
    const struct cancel *cancel;
    size_t most, found;
    struct buf rows[AUDIT_READ_MAX]; /* those that fit, newest first */
    bool met;                        /* `before` was found, or is not given */
};

static bool names(struct str wanted, const struct json *record, const char *key)
{
    return !wanted.n || str_eq(wanted, json_str(json_get(record, key)));
}

static bool filter_fits(const struct audit_filter *f, const struct json *record)
{
    struct str time = json_str(json_get(record, "time"));
    return str_is(json_str(json_get(record, "event")), "call") &&
           names(f->action, record, "action") && names(f->caller, record, "caller") &&
           names(f->result, record, "result") &&
           (!f->since.n || str_cmp(time, f->since) >= 0) &&
           (!f->until.n || str_cmp(time, f->until) < 0);
}

static bool audit_take_record(void *arg, struct str line, struct err *e)
{
    struct reading *r = arg;
    struct err broken = {0};
    if (cancel_fired(r->cancel))
        return err_set(e, ERR_CANCELLED, "the call was cancelled");
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *record = json_read(line, a, &broken);
    if (!r->met)
        r->met = names(r->filter->before, record, "mac");
    else if (record && filter_fits(r->filter, record))
        buf_str(&r->rows[r->found++], line);
    if (r->found == r->most && r->filter->next)
        (void)snprintf(r->filter->next, 72, "%.*s",
                       STR_ARGS(json_str(json_get(record, "mac"))));
    return r->found < r->most;
}

/* The folder's path is hidden from bearers of credentials. */
static void put_record(const struct work *w, struct str line, struct json_writer *out)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    json_open_object(out);
    json_pair_cstr(out, "workspace", work_vault(w));
    json_put_pairs(out, json_read(line, a, &none),
                   (const char *const[]){"workspace", "vault", NULL});
    json_close(out);
}

static bool read_rows(struct reading *r, const struct work *w, struct trail *trail,
                      struct buf *out, struct err *e)
{
    struct err why = {0};
    /* A file that came with the vault may be damaged: the user at the terminal is
     * told. */
    if (!trail_back(trail, audit_take_record, r, &why) && why.code != ERR_LIMIT)
        return err_pass(e, &why);
    if (!r->met)
        return err_set(e, ERR_INVALID,
                       "no record has the mac '%.*s'; that of a record that was answered "
                       "is accepted",
                       STR_ARGS(str_cut(r->filter->before, 70)));
    struct json_writer j = json_writer(out);
    json_open_array(&j);
    for (size_t i = 0; i < r->found; i++)
        put_record(w, buf_view(&r->rows[i]), &j);
    json_close(&j);
    return buf_check(out, "the records", e);
}

static bool audit_may_read(const struct evaluation *v, struct err *e)
{
    enum level level = v->here->permit.level;
    if (v->by_requests)
        return err_set(e, ERR_DENIED, "evaluated code cannot read the audit trail");
    if (level != LEVEL_FULL)
        return err_set(e, ERR_DENIED,
                       "the audit is read at the level full, and this caller has the "
                       "level %s",
                       level_name(level));
    return caller_may(v->who, SCOPE_AUDIT, "audit", e);
}

bool work_audit(struct work *w, const struct audit_filter *f, struct buf *out,
                struct err *e)
{
    const struct evaluation *v = work_evaluation(w);
    if (!audit_may_read(v, e))
        return false;
    if (f->limit > AUDIT_READ_MAX)
        return err_set(e, ERR_INVALID, "limit is %zu; at most %d is accepted", f->limit,
                       AUDIT_READ_MAX);
    struct reading *r = mem_new(sizeof *r);
    r->filter = f;
    if (f->next)
        f->next[0] = '\0';
    r->met = !f->before.n;
    r->cancel = v->cancel;
    r->most = f->limit ? f->limit : AUDIT_READ_USUAL;
    for (size_t i = 0; i < r->most; i++)
        buf_init(&r->rows[i], AUDIT_RECORD_MAX + 256);
    bool ok = read_rows(r, w, ward_trail(v->here->ward), out, e);
    for (size_t i = 0; i < r->most; i++)
        buf_done(&r->rows[i]);
    free(r);
    return ok;
}
