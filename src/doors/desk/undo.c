/* Undo of a call, as a call of the person's own, which can be undone in turn.
 *
 * A note that somebody has changed since is a conflict: then nothing is undone, and the answer
 * shows both changes. The person may then undo the others alone. */
#include "desk/internal.h"
#include "performing/performing.h"

#define WHAT "POST /person/undo"

/* Calls notes.undo; NULL: *e. */
static const struct json *undo_ask(struct work *work, struct str call, bool dry,
                                   struct arena *a, struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_LINE);
    scoped_buf struct buf out = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&args);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "call", call);
    json_pair_bool(&w, "dry_run", dry);
    json_close(&w);
    json_close(&w);
    return buf_check(&args, "the call to undo", e) &&
                   work_call(work, "notes.undo", buf_view(&args), &out, e)
               ? json_read(buf_view(&out), a, e)
               : NULL;
}

static void put_undone(const struct work *work, const struct json *done, bool conflict,
                       struct http_response *rs)
{
    struct json_writer w = json_writer(&rs->body);
    const struct json *undone = json_get(done, "notes");
    size_t count = json_length(undone ? undone : json_get(done, "changes"));
    json_open_object(&w);
    json_pair_bool(&w, "undone", undone != NULL);
    json_pair_int(&w, "notes", (int64_t)count);
    json_pair(&w, "refused", json_get(done, "refused"));
    if (undone && count)
        json_pair_cstr(&w, "call", work_id(work));
    if (conflict)
        json_pair_cstr(&w, "error", "some notes cannot be undone, so nothing was");
    json_close(&w);
    rs->status = conflict ? 409 : 200;
    rs->type = "application/json";
}

/* {vault, call: the intent of a record, dryRun?, others?: where some notes cannot be undone,
 * undo the others} */
bool do_undo(struct desk *d, struct http_request *rq, const struct json *said,
             struct http_response *rs, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(2 * ARENA_FILE);
    const struct caller who = desk_person(rq);
    struct str id, call = json_str(json_get(said, "call"));
    bool dry = json_bool(json_get(said, "dryRun"), false),
         others = json_bool(json_get(said, "others"), false);
    if (!desk_ward(d, json_str(json_get(said, "vault")), a, &id, e))
        return false;
    if (!call.n)
        return err_set(e, ERR_INVALID, "{vault, call: a record's intent} is accepted");
    struct work *work = work_begin(d->o.actions, &who, id, WHAT, e);
    if (!work)
        return false;
    const struct json *trial = undo_ask(work, call, true, a, e), *done = trial;
    bool conflict = trial && json_int(json_get(trial, "kept"), 0) && !others;
    if (trial && !conflict && !dry)
        done = undo_ask(work, call, false, a, e);
    if (done)
        put_undone(work, done, conflict, rs);
    work_end(work, done ? NULL : e);
    return done != NULL;
}
