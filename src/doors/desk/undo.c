/* Taking back what a call changed in a vault: all of it or nothing, as one change set, and as
 * a call of the person's own, which can be taken back like any other.
 *
 * A note that somebody has changed since is a conflict: then nothing is undone, and the answer
 * names it. */
#include <stdio.h>

#include "desk/internal.h"
#include "notes/notes.h"
#include "performing/performing.h"

#define NOTES_MAX 500u
#define WHAT "POST /person/undo"

/* A note that the call changed, with the first and the last of its revisions there. */
struct touched {
    struct str id;
    int64_t first, last;
};

struct undoing {
    struct arena *arena;
    struct work *work;
    struct touched notes[NOTES_MAX];
    size_t count;
    struct buf changes, later; /* two arrays of JSON */
    struct json_writer change, conflict;
    size_t conflicts;
};

/* A host call with one argument, an object. */
static const struct json *undo_ask(struct undoing *u, const char *name,
                                   struct str argument, struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_FILE);
    scoped_buf struct buf out = buf_of(BUF_ANSWER);
    buf_printf(&args, "[");
    buf_str(&args, argument);
    buf_printf(&args, "]");
    return buf_check(&args, "the call to undo", e) &&
                   work_call(u->work, name, buf_view(&args), &out, e)
               ? json_read(buf_view(&out), u->arena, e)
               : NULL;
}

/* The newest revision of a note, or the one before `cursor`. NULL: none, or *e. */
static const struct json *revision(struct undoing *u, struct str id, int64_t cursor,
                                   struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "identifier", id);
    json_pair_int(&w, "limit", 1);
    if (cursor)
        json_pair_int(&w, "cursor", cursor);
    json_close(&w);
    return json_at(undo_ask(u, "notes.history", buf_view(&args), e), 0);
}

static bool undo_collect(struct undoing *u, const struct json *changes, struct err *e)
{
    struct json_iter it = json_iter(changes);
    while (json_next(&it)) {
        struct str id = json_str(json_get(it.value, "id"));
        int64_t number = json_int(json_get(it.value, "revision"), 0);
        size_t i = 0;
        while (i < u->count && !str_eq(u->notes[i].id, id))
            i++;
        if (i == NOTES_MAX)
            return err_set(
                e, ERR_LIMIT,
                "the call changed more than %u notes; restore them one by one, "
                "from their history",
                NOTES_MAX);
        if (i == u->count)
            u->notes[u->count++] = (struct touched){id, number, number};
        struct touched *t = &u->notes[i];
        t->first = number < t->first ? number : t->first;
        t->last = number > t->last ? number : t->last;
    }
    return u->count ||
           err_set(e, ERR_NOT_FOUND,
                   "nothing of this call is left in the history of the notes");
}

static void begin_change(struct undoing *u, const char *action, struct str id)
{
    json_open_object(&u->change);
    json_pair_cstr(&u->change, "action", action);
    json_pair_str(&u->change, "identifier", id);
}

static void put_conflict(struct undoing *u, const struct touched *t,
                         const struct json *now)
{
    u->conflicts++;
    json_open_object(&u->conflict);
    json_pair_str(&u->conflict, "id", t->id);
    json_pair(&u->conflict, "author", json_get(now, "author"));
    json_pair(&u->conflict, "time", json_get(now, "updated_at"));
    json_close(&u->conflict);
}

/* The part of a path behind its last slash, less ".md"; and what stands before it. */
static struct str path_title(struct str path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    size_t skip = slash ? (size_t)(slash - path.at) + 1 : 0;
    struct str name = {path.at + skip, path.n - skip};
    return str_ends(name, ".md") ? (struct str){name.at, name.n - 3} : name;
}

static struct str path_folder(struct str path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return slash ? (struct str){path.at, (size_t)(slash - path.at)} : STR("");
}

/* A note that stands elsewhere now goes back to its name. */
static void move_back(struct undoing *u, struct str id, struct str was, struct str is)
{
    if (!str_eq(path_title(was), path_title(is))) {
        begin_change(u, "rename", id);
        json_pair_str(&u->change, "new_title", path_title(was));
        json_pair_bool(&u->change, "force", true);
        json_close(&u->change);
    }
    if (!str_eq(path_folder(was), path_folder(is))) {
        begin_change(u, "move", id);
        json_pair_str(&u->change, "new_type", path_folder(was));
        json_pair_bool(&u->change, "force", true);
        json_close(&u->change);
    }
}

/* Whether a note is in the trash, or not yet made, at a revision of its history. */
static bool is_absent(const struct json *revision)
{
    return !revision || str_is(json_str(json_get(revision, "action")), "delete");
}

/* Plans what takes a note back; `moves`: where it stands, else what it holds. */
static bool undo_plan(struct undoing *u, const struct touched *t, bool moves,
                      struct err *e)
{
    const struct json *now = revision(u, t->id, 0, e);
    if (e->code == ERR_NOT_FOUND) /* it has another name by now */
        *e = (struct err){0};
    const struct json *was = now ? revision(u, t->id, t->first, e) : NULL;
    if (e->code)
        return false;
    if (!now || json_int(json_get(now, "revision"), 0) != t->last) {
        if (!moves)
            put_conflict(u, t, now);
        return true;
    }
    struct str hash = json_str(json_get(now, "content_hash"));
    bool is_gone = is_absent(now), was_gone = is_absent(was);
    struct str path = json_str(json_get(now, "path"));
    if (moves) {
        if (!was_gone && !is_gone)
            move_back(u, t->id, json_str(json_get(was, "path")), path);
    } else if (was_gone && !is_gone) { /* it made it, or took it out of the trash */
        begin_change(u, "delete", t->id);
        json_pair_bool(&u->change, "confirm", true);
        json_pair_str(&u->change, "contentHash", hash);
        json_close(&u->change);
    } else if (!was_gone &&
               (is_gone || !str_eq(hash, json_str(json_get(was, "content_hash"))))) {
        begin_change(u, "restore", t->id);
        json_pair(&u->change, "revision", json_get(was, "revision"));
        if (!is_gone)
            json_pair_str(&u->change, "contentHash", hash);
        json_close(&u->change);
    }
    return true;
}

/* First what the notes hold, then their names: links follow a name that is taken back. */
static bool undo_plan_all(struct undoing *u, struct err *e)
{
    for (unsigned moves = 0; moves < 2; moves++)
        for (size_t i = 0; i < u->count; i++)
            if (!undo_plan(u, &u->notes[i], moves, e))
                return false;
    return true;
}

static bool undo_run_batch(struct undoing *u, bool dry, const struct json **done,
                           struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_FILE);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_raw(&w, "changes", buf_view(&u->changes));
    if (dry)
        json_pair_bool(&w, "dry_run", true);
    json_close(&w);
    *done = undo_ask(u, "notes.batch", buf_view(&args), e);
    return *done != NULL;
}

static bool undo_run(struct undoing *u, bool dry, struct http_response *rs, struct err *e)
{
    const struct json *done = NULL;
    json_open_array(&u->change);
    json_open_array(&u->conflict);
    bool ok = undo_plan_all(u, e);
    json_close(&u->change);
    json_close(&u->conflict);
    if (!ok)
        return false;
    struct json_writer w = json_writer(&rs->body);
    bool nothing = str_is(buf_view(&u->changes), "[]");
    if (!u->conflicts && !nothing && !undo_run_batch(u, dry, &done, e))
        return false;
    json_open_object(&w);
    json_pair_bool(&w, "undone", !u->conflicts && !dry);
    json_pair_int(&w, "notes", (int64_t)u->count);
    json_pair_raw(&w, "changedSince", buf_view(&u->later));
    if (u->conflicts)
        json_pair_cstr(&w, "error",
                       "some notes were changed since, so nothing was taken back");
    if (done)
        json_pair(&w, "result", done);
    json_close(&w);
    rs->status = u->conflicts ? 409 : 200;
    rs->type = "application/json";
    return true;
}

/* {vault, call: the intent of a record, dryRun?} */
bool do_undo(struct desk *d, struct http_request *rq, const struct json *said,
             struct http_response *rs, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(2 * ARENA_FILE);
    scoped_buf struct buf found = buf_of(BUF_ANSWER);
    scoped_buf struct buf options = buf_of(BUF_LINE);
    struct str id, call = json_str(json_get(said, "call"));
    struct ward *ward = desk_ward(d, json_str(json_get(said, "vault")), a, &id, e);
    if (!ward)
        return false;
    if (!call.n || !ward_path(ward))
        return err_set(e, ERR_INVALID, "{vault, call: a record's intent} is accepted");
    struct json_writer o = json_writer(&options), w = json_writer(&found);
    json_open_object(&o);
    json_pair_str(&o, "call", str_cut(call, 64));
    json_close(&o);
    scoped(vault_close) struct vault *v = vault_open(ward_path(ward), e);
    const struct json *asked = json_read(buf_view(&options), a, e);
    if (!v || !asked || !notes_by_calls(v, asked, &w, e))
        return false;
    const struct json *changes = json_get(json_read(buf_view(&found), a, e), "changes");
    scoped(free) struct undoing *u = mem_new(sizeof *u);
    const struct caller who = desk_person(rq);
    u->arena = a;
    buf_init(&u->changes, BUF_FILE);
    buf_init(&u->later, BUF_FILE);
    u->change = json_writer(&u->changes);
    u->conflict = json_writer(&u->later);
    bool ok = undo_collect(u, changes, e) &&
              (u->work = work_begin(d->o.actions, &who, id, WHAT, e)) != NULL;
    if (ok) {
        ok = undo_run(u, json_bool(json_get(said, "dryRun"), false), rs, e);
        work_end(u->work, ok ? NULL : e);
    }
    buf_done(&u->changes);
    buf_done(&u->later);
    return ok;
}
