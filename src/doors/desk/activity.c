/* The trail as a person reads it: its records by what they say, one of them whole, and is it
 * sound. */
#include "actions/actions.h"
#include "audit/audit.h"
#include "desk/internal.h"
#include "notes/notes.h"
#include "reconcile/reconcile.h"
#include "record/record.h"

#define LIMIT_USUAL 100
#define LIMIT_MAX 500
#define SCANNED_MAX 200000u /* lines of one request */

/* ---- the list ------------------------------------------------------------------ */

struct reading {
    struct actions *actions;
    struct str caller, action, result, note, text, since, until, before, event;
    struct json_writer *out;
    struct arena *arena; /* of one line */
    bool begun, more;
    int64_t left;
    unsigned scanned;
    char next[72];
};

static bool has_note(const struct json *r, struct str note)
{
    struct json_iter it = json_iter(json_get(r, "notes"));
    while (json_next(&it))
        if (str_holds(json_str(it.value), note))
            return true;
    return !note.n || str_holds(json_str(json_get(r, "target")), note);
}

static bool is_by(const struct json *r, struct str caller)
{
    return !caller.n || str_eq(json_str(json_get(r, "caller")), caller) ||
           str_eq(json_str(json_get(json_get(r, "client"), "name")), caller);
}

static bool has_result(const struct json *r, struct str result)
{
    struct str had = json_str(json_get(r, "result"));
    if (!result.n)
        return true;
    if (str_is(result, "failed"))
        return had.n && !str_is(had, "success");
    if (str_is(result, "changed"))
        return json_bool(json_get(r, "changed"), false);
    return str_eq(had, result);
}

bool desk_is_look(struct actions *actions, const struct json *r)
{
    struct str caller = json_str(json_get(r, "caller")),
               action = json_str(json_get(r, "action"));
    if (json_bool(json_get(r, "changed"), false) ||
        !str_is(json_str(json_get(r, "event")), "call"))
        return false;
    if (str_is(caller, "doctor"))
        return true;
    if (!str_is(caller, CALLER_PAGE) || str_starts(action, "GET "))
        return str_is(caller, CALLER_PAGE);
    const struct action *which = action_named(actions, action);
    struct str baggage = json_str(json_get(json_get(r, "trace"), "baggage"));
    return (which && which->read_only) || str_is(baggage, LOOK_BAGGAGE);
}

static bool record_is_wanted(const struct reading *g, const struct json *r)
{
    struct str time = json_str(json_get(r, "time"));
    bool looks = !g->caller.n && !g->action.n && desk_is_look(g->actions, r);
    return !str_is(json_str(json_get(r, "event")), "intent") && !looks &&
           is_by(r, g->caller) &&
           (!g->action.n || str_eq(json_str(json_get(r, "action")), g->action)) &&
           (!g->event.n || str_eq(json_str(json_get(r, "event")), g->event)) &&
           has_result(r, g->result) && has_note(r, g->note) &&
           (!g->until.n || str_cmp(time, g->until) < 0);
}

static bool take_line(void *arg, struct str line, struct err *e)
{
    struct reading *g = arg;
    struct err broken = {0};
    (void)e;
    if (++g->scanned > SCANNED_MAX) {
        g->more = true;
        return false;
    }
    if (!g->begun) { /* what the pages before have had */
        g->begun = memmem(line.at, line.n, g->before.at, g->before.n) != NULL;
        return true;
    }
    if (!str_holds(line, g->text))
        return true;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &broken);
    if (!r)
        return true;
    if (g->since.n && str_cmp(json_str(json_get(r, "time")), g->since) < 0)
        return false;
    if (!record_is_wanted(g, r))
        return true;
    if (!g->left) {
        g->more = true;
        return false;
    }
    g->left--;
    json_put(g->out, r);
    struct str mac = str_cut(json_str(json_get(r, "mac")), sizeof g->next - 1);
    memcpy(g->next, mac.at, mac.n);
    g->next[mac.n] = '\0';
    return true;
}

static struct str query(struct http_request *rq, const char *name)
{
    struct str s = http_query(rq, name);
    return s.at ? s : STR("");
}

static int64_t activity_limit(struct http_request *rq)
{
    struct str s = query(rq, "limit");
    int64_t n = 0;
    for (size_t i = 0; i < s.n && i < 6 && s.at[i] >= '0' && s.at[i] <= '9'; i++)
        n = n * 10 + (s.at[i] - '0');
    return n < 1 ? LIMIT_USUAL : n > LIMIT_MAX ? LIMIT_MAX : n;
}

bool tell_activity(struct desk *d, struct http_request *rq, struct http_response *rs,
                   struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct str id;
    struct err odd = {0};
    struct ward *ward = desk_ward(d, query(rq, "vault"), a, &id, e);
    if (!ward)
        return false;
    struct json_writer w = json_writer(&rs->body);
    struct reading g = {.actions = d->o.actions,
                        .caller = query(rq, "caller"),
                        .action = query(rq, "action"),
                        .result = query(rq, "result"),
                        .event = query(rq, "event"),
                        .note = query(rq, "note"),
                        .text = query(rq, "q"),
                        .since = query(rq, "since"),
                        .until = query(rq, "until"),
                        .before = query(rq, "before"),
                        .left = activity_limit(rq),
                        .out = &w};
    g.begun = !g.before.n;
    json_open_object(&w);
    json_pair_str(&w, "vault", id);
    json_key(&w, "records");
    json_open_array(&w);
    (void)trail_back(ward_trail(ward), take_line, &g, &odd);
    json_close(&w);
    json_pair_cstr(&w, "next", g.more ? g.next : "");
    if (odd.code)
        json_pair_cstr(&w, "odd", odd.msg);
    json_close(&w);
    return buf_check(&rs->body, "the records", e);
}

/* ---- one of them ------------------------------------------------------------------ */

struct finding {
    struct str mac;
    struct arena *arena;
    const struct json *record;
};

static bool find_line(void *arg, struct str line, struct err *e)
{
    struct finding *f = arg;
    struct err broken = {0};
    (void)e;
    if (!memmem(line.at, line.n, f->mac.at, f->mac.n))
        return true;
    const struct json *r = json_read(line, f->arena, &broken);
    struct str mac = json_str(json_get(r, "mac"));
    bool is_it = mac.n >= f->mac.n && !memcmp(mac.at, f->mac.at, f->mac.n);
    if (is_it)
        f->record = r;
    return !is_it;
}

/* The changes of the call, as the history has them: [{call, id, revision, time}]. */
static bool call_put_changes(struct ward *ward, struct str call, struct json_writer *w,
                             struct arena *a, struct err *e)
{
    scoped_buf struct buf options = buf_of(BUF_LINE);
    struct json_writer o = json_writer(&options);
    json_open_object(&o);
    json_pair_str(&o, "call", call);
    json_close(&o);
    const struct json *asked = json_read(buf_view(&options), a, e);
    scoped(vault_close) struct vault *v = asked ? vault_open(ward_path(ward), e) : NULL;
    json_key(w, "history");
    return v && notes_by_calls(v, asked, w, e);
}

static void call_put_code(struct ward *ward, struct str hash, struct json_writer *w)
{
    struct err none = {0};
    char sha256[CRYPTO_SHA256_HEX] = "";
    scoped_buf struct buf code = buf_of(BUF_LIST);
    if (hash.n != sizeof sha256 - 1)
        return;
    memcpy(sha256, hash.at, hash.n);
    if (trail_kept(ward_trail(ward), sha256, &code, &none))
        json_pair_str(w, "code", buf_view(&code));
}

bool tell_call(struct desk *d, struct http_request *rq, struct http_response *rs,
               struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct str id;
    struct err odd = {0};
    struct finding f = {.mac = query(rq, "mac"), .arena = a};
    struct ward *ward = desk_ward(d, query(rq, "vault"), a, &id, e);
    if (!ward)
        return false;
    if (f.mac.n < 8)
        return err_set(e, ERR_INVALID, "mac must be that of a record, or begin one");
    (void)trail_back(ward_trail(ward), find_line, &f, &odd);
    if (!f.record)
        return err_set(e, ERR_NOT_FOUND, "no record here is '%.*s'",
                       STR_ARGS(str_cut(f.mac, 70)));
    struct str call = json_str(json_get(f.record, "intent"));
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", id);
    json_pair(&w, "record", f.record);
    call_put_code(ward, json_str(json_get(f.record, "code")), &w);
    account_tell_steps(ward_trail(ward), f.record, a, &w);
    if (call.n && ward_path(ward) && !call_put_changes(ward, call, &w, a, e))
        return false;
    json_close(&w);
    return buf_check(&rs->body, "the call", e);
}

/* ---- is it sound? ------------------------------------------------------------------ */

bool tell_verified(struct desk *d, struct http_request *rq, struct http_response *rs,
                   struct err *e)
{
    bool sound = true;
    struct str id;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct ward *ward = desk_ward(d, query(rq, "vault"), a, &id, e);
    if (!ward)
        return false;
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_key(&w, "trails");
    if (!trail_verify(ward_trail(ward), &w, &sound, e))
        return false;
    if (ward_path(ward)) {
        json_key(&w, "history");
        if (!reconcile_verify(ward_trail(ward), ward_path(ward), &w, &sound, e))
            return false;
    }
    json_pair_bool(&w, "ok", sound);
    json_close(&w);
    return buf_check(&rs->body, "the findings", e);
}
