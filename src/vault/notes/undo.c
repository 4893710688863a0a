/* Taking back what calls have done: every note that they changed becomes what it was, as one
 * change. A note that somebody changed since stays, and the answer shows both changes. */
#include "notes/undo.h"

#include <stdio.h>

#include "notes/attachmove.h"
#include "notes/entry.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/relink.h"
#include "notes/session.h"
#include "notes/sight.h"
#include "notes/trash.h"
#include "notes/write.h"

#define UNDO_ARENA (CHANGE_BYTES_MAX + ((size_t)256 << 20)) /* bytes */
#define DIFFS_MAX 100u                                      /* notes that are shown */

struct undoing {
    struct undo_filter filter;
    struct arena *arena; /* of the call */
    /* What came of it, for a dry run too: */
    struct undo_note *all;
    size_t count;
};

/* One run. */
struct undo {
    struct undoing *s;
    struct change *c;
    struct vault *v;
    const char *summary;
};

static bool read_undo(const struct json *o, void *state, struct err *e)
{
    struct undoing *u = state;
    if (!options_check(o, "notes.undo", NOTES_UNDO_KEYS, e) ||
        !undo_read_filter(o, os_real_ms(), &u->filter, e))
        return false;
    return u->filter.call.n || u->filter.agent.n || u->filter.since_ms ||
           err_set(e, ERR_INVALID,
                   "notes.undo takes call (the id of a call, from notes.log), since "
                   "(\"1h\", or a date) or agent (a caller's name), or several of these");
}

/* ---- what is against it ---------------------------------------------------- */

/* Is its file as the history has it? */
static bool look_at_file(struct undo *u, struct undo_note *n, struct err *e)
{
    struct note note;
    struct err why = {0};
    bool found = false;
    if (!change_read(u->c, n->now.path, &note, &found, &why)) {
        if (why.code != ERR_LIMIT && why.code != ERR_DENIED)
            return err_pass(e, &why);
        n->why = "it cannot be read";
        return true;
    }
    if (found)
        memcpy(n->hash, note.hash, HASH_SIZE);
    if (!found && n->was.there)
        n->why = "another program has moved or deleted it";
    else if (found && strcmp(note.hash, n->now.hash) != 0 &&
             strcmp(note.hash, n->was.there ? n->was.hash : "") != 0)
        n->why = "another program has changed it since";
    n->path = found ? n->now.path : NULL;
    return true;
}

/* Is there nothing left to undo? */
static bool undo_is_done(const struct undo_note *n)
{
    if (!n->was.there)
        return !n->path;
    return n->path && !strcmp(n->path, n->was.path) && !strcmp(n->hash, n->was.hash);
}

/* The note stays, where undoing does to it what the caller may not do by `call`. */
static bool settle_need(struct undo *u, struct undo_note *n, bool does, const char *call,
                        struct err *e)
{
    struct err denied = {0};
    if (n->why || !does || vault_permits(u->v, call, &denied))
        return true;
    n->why = arena_printf(u->s->arena, e, "that needs %s, which is not permitted", call);
    return n->why != NULL;
}

static bool settle_permission(struct undo *u, struct undo_note *n, struct err *e)
{
    bool is = n->path != NULL, was = n->was.there, both = is && was;
    struct str from = str_of(is ? n->path : ""), to = str_of(n->was.path);
    struct str name = is ? name_file(from) : from, back = was ? name_file(to) : to;
    bool renamed = both && !str_eq(name, back);
    bool moved = both && !str_eq((struct str){from.at, from.n - name.n},
                                 (struct str){to.at, to.n - back.n});
    bool changed = both && n->was.content && strcmp(n->hash, n->was.hash) != 0;
    return settle_need(u, n, is && !was, "notes.delete", e) &&
           settle_need(u, n, was && !is, "notes.create", e) &&
           settle_need(u, n, moved, "notes.move", e) &&
           settle_need(u, n, renamed, "notes.rename", e) &&
           settle_need(u, n, changed, "notes.update", e);
}

static bool settle_note(struct undo *u, struct undo_note *n, struct err *e)
{
    const char *objection = undo_objection(n);
    if (n->now.there && !look_at_file(u, n, e))
        return false;
    if (undo_is_done(n))
        n->why = "";
    else if (!n->why || (objection && n->by))
        n->why = objection;
    return settle_permission(u, n, e);
}

/* A name that was free then may be another note's now; and where that one stays, the note
 * stays, whose name still another waits for. */
static bool find_taken(struct undo *u, struct err *e)
{
    struct undoing *s = u->s;
    scoped_map struct map leave = {0};
    for (bool more = true; more;) {
        more = false;
        map_done(&leave);
        for (size_t i = 0; i < s->count; i++)
            if (!s->all[i].why && s->all[i].path &&
                map_add(&leave, str_of(s->all[i].path), e) == MAP_NONE)
                return false;
        for (size_t i = 0; i < s->count; i++) {
            struct undo_note *n = &s->all[i];
            struct str to = str_of(n->was.path);
            if (n->why || !n->was.there || (n->path && str_is(to, n->path)) ||
                map_find(&leave, to) != MAP_NONE || !change_has(u->c, n->was.path))
                continue;
            n->why = "another note has its name now";
            more = true;
        }
    }
    return true;
}

static bool keep_diff(struct arena *a, struct str from, struct str to, struct str *out,
                      struct err *e)
{
    scoped_buf struct buf diff = buf_of(CHANGE_DIFF_MAX + 4096);
    (void)diff_put(from, to, CHANGE_DIFF_MAX, &diff);
    *out = (struct str){arena_copy(a, diff.at, diff.n, e), diff.n};
    return out->at != NULL;
}

/* Both versions of a note that stays as it is. */
static bool show_versions(struct undo *u, struct db *db, struct undo_note *n,
                          struct err *e)
{
    scoped_buf struct buf done = buf_of(NOTE_SIZE_MAX + 4096);
    struct note note = {0};
    bool kept = false, found = false;
    struct err none = {0};
    if (n->done.there && !history_bytes(db, str_of(n->done.hash), &done, &kept, e))
        return false;
    if (n->path && !change_read(u->c, n->path, &note, &found, &none))
        found = false;
    return keep_diff(u->s->arena, n->bytes, buf_view(&done), &n->mine, e) &&
           keep_diff(u->s->arena, buf_view(&done), found ? note.bytes : STR(""),
                     &n->theirs, e);
}

static bool settle(struct undo *u, struct db *db, struct err *e)
{
    struct undoing *s = u->s;
    size_t shown = 0;
    if (!undo_list(db, &s->filter, s->arena, &s->all, &s->count, e))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!vault_goes_on(u->v, e) || !settle_note(u, &s->all[i], e))
            return false;
    if (!find_taken(u, e))
        return false;
    for (size_t i = 0; i < s->count && shown < DIFFS_MAX; i++)
        if (s->all[i].why && *s->all[i].why &&
            (shown++, !show_versions(u, db, &s->all[i], e)))
            return false;
    return true;
}

static bool settle_with_store(struct undo *u, struct err *e)
{
    bool none = false;
    struct db *db = change_db(u->c);
    struct db *read = db ? NULL : history_read(u->v->history, &none, e);
    bool ok = db || read ? settle(u, db ? db : read, e) : none;
    if (read)
        history_read_end(u->v->history);
    return ok;
}

/* ---- doing it -------------------------------------------------------------- */

static bool say_undone(struct undo *u, const struct undo_note *n, const char *path)
{
    change_say(u->c, path, "undo", u->summary);
    change_is(u->c, path, n->key);
    return true;
}

static bool remove_made(struct undo *u, struct undo_note *n, struct err *e)
{
    char backup[PATH_MAX];
    if (!change_remove(u->c, n->path, backup, e))
        return false;
    n->path = NULL;
    return say_undone(u, n, backup);
}

static bool revision_title(struct undo *u, const char *path, struct str bytes,
                           struct str *out, struct err *e)
{
    struct os_stat st = {.size = bytes.n};
    struct note n;
    if (!note_parse(u->v, str_of(path), bytes, &st, u->s->arena, &n, e))
        return false;
    *out = n.title;
    return true;
}

/* Links that were made to it since, and those in notes that stay, follow. */
static bool move_to(struct undo *u, struct undo_note *n, const char *path, struct err *e)
{
    struct relink r = {.v = u->v, .c = u->c, .path = path};
    bool found;
    if (name_is_file(str_of(path)) && !name_is_path(str_of(path))) {
        struct attachmove m = {.v = u->v, .c = u->c, .from = n->path, .to = path};
        n->path = path;
        return attachmove_do(&m, e);
    }
    if (!session_learn(u->c, e) || !change_read(u->c, n->path, &r.old, &found, e))
        return false;
    if (!found)
        return err_set(e, ERR_CONFLICT, "\"%.200s\" goes while it is read", n->path);
    struct str bytes = n->was.content ? n->bytes : r.old.bytes;
    if (!change_replace(u->c, n->path, bytes, e) ||
        !revision_title(u, path, bytes, &r.title, e) || !relink_move(&r, e))
        return false;
    n->path = path;
    return true;
}

static bool moves(const struct undo_note *n)
{
    return !n->why && n->path && n->was.there && strcmp(n->path, n->was.path) != 0;
}

/* Out of the way of another one, which is where it goes to, or behind that. */
static bool undo_keep_aside(struct undo *u, struct undo_note *n, struct err *e)
{
    for (unsigned i = 1;; i++) {
        const char *aside =
            arena_printf(u->s->arena, e, "%.*s (%u).md",
                         (int)(strlen(n->path) - strlen(".md")), n->path, i);
        if (!aside)
            return false;
        if (name_is_path(str_of(aside)) && !change_has(u->c, aside))
            return move_to(u, n, aside, e);
        if (i == 1000)
            return err_set(e, ERR_CONFLICT,
                           "there is no free temporary name for "
                           "\"%.200s\"",
                           n->path);
    }
}

static bool move_back(struct undo *u, struct err *e)
{
    struct undoing *s = u->s;
    for (bool done = false; !done;) {
        struct undo_note *waits = NULL;
        bool moved = false;
        for (size_t i = 0; i < s->count; i++) {
            struct undo_note *n = &s->all[i];
            if (!moves(n))
                continue;
            if (!vault_goes_on(u->v, e))
                return false;
            if (change_has(u->c, n->was.path)) {
                waits = waits ? waits : n;
                continue;
            }
            if (!move_to(u, n, n->was.path, e))
                return false;
            moved = true;
        }
        done = !waits;
        if (waits && !moved && !undo_keep_aside(u, waits, e))
            return false;
    }
    return true;
}

/* The file in the trash, if it is there still. */
static bool undo_from_trash(struct undo *u, const struct undo_note *n, bool *back,
                            struct err *e)
{
    scoped(query_end) struct query *q =
        u->c->db
            ? db_query(u->c->db,
                       "SELECT backup FROM revisions WHERE note = ?1 AND number = ?2", e)
            : NULL;
    *back = false;
    if (!q)
        return e->code == ERR_NONE;
    query_bind_int(q, 1, n->key);
    query_bind_int(q, 2, n->now.number);
    struct str backup = query_next(q, e) ? query_str(q, 0) : STR(""), original;
    if (!backup.n || !trash_is_path(backup, &original))
        return e->code == ERR_NONE;
    char path[PATH_MAX];
    struct err why = {0};
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(backup));
    *back = change_take_back(u->c, path, n->was.path, &why);
    return *back || why.code == ERR_NOT_FOUND || err_pass(e, &why);
}

static bool bring_back(struct undo *u, struct undo_note *n, struct err *e)
{
    bool back;
    if (!undo_from_trash(u, n, &back, e) ||
        !(back || change_create(u->c, n->was.path, n->bytes, e)))
        return false;
    n->path = n->was.path;
    return true;
}

static bool write_texts(struct undo *u, struct err *e)
{
    for (size_t i = 0; i < u->s->count; i++) {
        struct undo_note *n = &u->s->all[i];
        if (n->why || !n->path || !n->was.there || !n->was.content)
            continue;
        if (!vault_goes_on(u->v, e) || !change_replace(u->c, n->path, n->bytes, e))
            return false;
    }
    return true;
}

/* The texts first: what a link leads to, as it was, needs no rewriting; and once more where
 * a move has rewritten one. */
static bool undo_all(void *arg, struct err *e)
{
    struct undo *u = arg;
    struct undoing *s = u->s;
    for (size_t i = 0; i < s->count; i++)
        if (!s->all[i].why && s->all[i].path && !s->all[i].was.there &&
            !remove_made(u, &s->all[i], e))
            return false;
    if (!write_texts(u, e) || !move_back(u, e))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!s->all[i].why && !s->all[i].path && s->all[i].was.there &&
            !bring_back(u, &s->all[i], e))
            return false;
    if (!write_texts(u, e))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!s->all[i].why && s->all[i].path)
            (void)say_undone(u, &s->all[i], s->all[i].path);
    return true;
}

static bool any_moves(const struct undoing *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (moves(&s->all[i]))
            return true;
    return false;
}

/* ---- the answer ------------------------------------------------------------ */

static const char *undo_action(const struct undo_note *n)
{
    if (!n->was.there)
        return "delete";
    if (!n->now.there)
        return "create";
    return strcmp(n->now.path, n->was.path) != 0 ? "move" : "update";
}

static void put_undone(struct undo *u, const struct undo_note *n, struct json_writer *w)
{
    char hash[HASH_SIZE] = "";
    const char *path = n->was.there ? n->was.path : n->now.path;
    json_open_object(w);
    write_pair_id(u->v, w, "id", str_of(path));
    json_pair_cstr(w, "path", path);
    json_pair_cstr(w, "action", undo_action(n));
    if (n->was.there) {
        change_hash(u->c, path, hash);
        json_pair_cstr(w, "content_hash", hash);
    }
    json_close(w);
}

static void put_refused(struct vault *v, const struct undo_note *n, struct json_writer *w)
{
    const char *path = n->now.there ? n->now.path : n->was.path;
    json_open_object(w);
    write_pair_id(v, w, "id", str_of(path));
    json_pair_cstr(w, "path", path);
    json_pair_cstr(w, "reason", n->why);
    if (n->by && *n->by)
        json_pair_cstr(w, "changed_by", n->by);
    if (n->by_call && *n->by_call)
        json_pair_cstr(w, "call", n->by_call);
    if (n->was.there)
        json_pair_int(w, "revision", n->was.number);
    json_pair_str(w, "diff", n->mine);
    json_pair_str(w, "diff_since", n->theirs);
    json_close(w);
}

static size_t count_of(const struct undoing *s, bool refused)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += refused ? s->all[i].why && *s->all[i].why : !s->all[i].why;
    return count;
}

/* Pairs of the open object. */
static void put_all_refused(struct vault *v, const struct undoing *s,
                            struct json_writer *w)
{
    json_pair_int(w, "kept", (int64_t)count_of(s, true));
    if (sight_hides(v, SIGHT_NOTES))
        return;
    json_key(w, "refused");
    json_open_array(w);
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].why && *s->all[i].why)
            put_refused(v, &s->all[i], w);
    json_close(w);
}

static void undo_put_answer(struct undo *u, struct json_writer *w)
{
    const struct undoing *s = u->s;
    json_open_object(w);
    json_pair_int(w, "undone", (int64_t)count_of(s, false));
    json_pair_time(w, "timestamp", vault_now(u->v));
    if (!sight_hides(u->v, SIGHT_NOTES)) {
        json_key(w, "notes");
        json_open_array(w);
        for (size_t i = 0; i < s->count; i++)
            if (!s->all[i].why)
                put_undone(u, &s->all[i], w);
        json_close(w);
    }
    put_all_refused(u->v, s, w);
    if (sight_hides(u->v, SIGHT_NOTES))
        sight_put_hidden(SIGHT_NOTES, w);
    json_close(w);
}

static void put_beside_dry_run(struct vault *v, const void *state, struct json_writer *w)
{
    put_all_refused(v, state, w);
}

static bool undo_nothing(const struct undoing *s, struct err *e)
{
    return err_set(
        e, ERR_NOT_FOUND, "the history has no change of a note by %s%.*s%s%.*s%s",
        s->filter.call.n ? "call " : "", STR_ARGS(str_cut(s->filter.call, 80)),
        s->filter.agent.n ? s->filter.call.n ? " of " : "" : "",
        STR_ARGS(str_cut(s->filter.agent, 80)),
        s->filter.since_ms
            ? s->filter.call.n || s->filter.agent.n ? " since then" : "anybody since then"
            : "");
}

static bool run_undo(struct change *c, struct vault *v, void *state,
                     struct json_writer *out, struct err *e)
{
    struct undoing *s = state;
    struct undo u = {.s = s, .c = c, .v = v};
    change_looks(c);
    bool ok = settle_with_store(&u, e) && (s->count || undo_nothing(s, e));
    u.summary = s->filter.call.n ? arena_printf(s->arena, e, "undone: call %.*s",
                                                STR_ARGS(str_cut(s->filter.call, 80)))
                                 : "undone";
    ok = ok && u.summary &&
         (any_moves(s) ? session_run(v, c, undo_all, &u, e) : undo_all(&u, e));
    if (ok)
        undo_put_answer(&u, out);
    return ok;
}

bool notes_undo(struct vault *v, const struct json *options, struct json_writer *out,
                struct err *e)
{
    static const struct operation operation = {
        "notes.undo", "undo", sizeof(struct undoing), read_undo, run_undo};
    scoped(arena_free) struct arena *a = arena_new(UNDO_ARENA);
    return write_perform_with(v, &operation, options, &(struct undoing){.arena = a},
                              put_beside_dry_run, out, e);
}
