/* A change is written: first to the history, with the steps that are pending, and then to
 * the files (apply.h). */
#include <stdio.h>

#include "notes/entry.h"
#include "notes/name.h"
#include "notes/steps.h"
#include "notes/trash.h"
#include "notes/verdicts.h"

static struct str uid_in(struct change *c, struct str path, struct str bytes)
{
    struct note n;
    struct err none = {0};
    struct os_stat st = {0};
    return note_parse(c->v, path, bytes, &st, c->arena, &n, &none) ? n.uid : STR("");
}

static bool commit_keep_text(struct change *c, const struct entry *n, struct str bytes,
                             const char *hash, int64_t *content, struct err *e)
{
    *content = 0;
    return n->opaque || history_keep(c->db, bytes, hash, content, e);
}

/* Records a content that the history has not seen and that is about to be replaced. */
static bool record_found(struct change *c, const struct entry *n, int64_t key,
                         struct err *e)
{
    bool seen;
    if (!history_has_last(c->db, key, n->old_hash, &seen, e))
        return false;
    if (seen)
        return true;
    struct revision_note r = {
        .key = key,
        .time_ms = n->st.mtime_ns / 1000000,
        .author = "external",
        .action = "external",
        .summary = "found as another program left it",
        .path = str_of(n->from),
        .hash = n->old_hash,
        .size = n->st.size,
    };
    return commit_keep_text(c, n, n->old, n->old_hash, &r.content, e) &&
           history_add(c->db, &r, e);
}

static const char *summary_of(struct change *c, const struct entry *n)
{
    struct err full = {0};
    const char *text = n->summary;
    if (!text && n->removed)
        text = "moved to the trash";
    if (!text && *n->from && strcmp(n->from, n->to) != 0)
        text = arena_printf(c->arena, &full, "moved from %.300s", n->from);
    return text ? text : *n->from ? "changed" : "created";
}

static bool record_new(struct change *c, const struct entry *n, int64_t key,
                       struct err *e)
{
    struct revision_note r = {
        .key = key,
        .time_ms = c->now_ms,
        .author = c->v->view.author ? c->v->view.author->name : "unknown",
        .call = c->v->view.author ? c->v->view.author->call : NULL,
        .action = n->action ? n->action : c->options.action,
        .summary = summary_of(c, n),
        .path = str_of(n->removed ? n->from : n->to),
        .hash = n->new_hash,
        .size = n->opaque ? n->st.size : n->now.n,
        .backup = n->removed ? n->to : NULL,
    };
    return commit_keep_text(c, n, n->now, n->new_hash, &r.content, e) &&
           history_add(c->db, &r, e) && history_moved(c->db, key, r.path, n->removed, e);
}

/* A note that comes back, out of the trash or the history, keeps its key. Of several that were
 * deleted at one path, the trash tells which one it is. */
static bool find_key(struct change *c, const struct entry *n, int64_t *key, struct err *e)
{
    struct str path = str_of(*n->from ? n->from : n->to), original = path;
    struct str uid = n->opaque ? STR("") : uid_in(c, path, *n->from ? n->old : n->now);
    bool trashed = trash_is_path(path, &original);
    bool back = trashed || (!*n->from && n->action && !strcmp(n->action, "restore"));
    *key = 0;
    return (!trashed || history_of_backup(c->db, original, path, key, e)) &&
           (!back || *key || history_find(c->db, c->v, original, uid, key, e)) &&
           (*key || history_key(c->db, c->v, back ? str_of(n->to) : path, uid, key, e));
}

static bool record_step(struct change *c, size_t i, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(c->db,
                 "INSERT INTO pending(step, from_path, to_path, old_hash, new_hash,"
                 " before) VALUES(?, ?, ?, ?, ?, ?)",
                 e);
    if (!q)
        return false;
    const struct step *s = &c->steps[i];
    query_bind_int(q, 1, (int64_t)i);
    query_bind_cstr(q, 2, s->from);
    query_bind_cstr(q, 3, s->to);
    query_bind_cstr(q, 4, s->old_hash);
    query_bind_cstr(q, 5, s->new_hash);
    query_bind_int(q, 6, c->last_revision);
    return query_run(q, e);
}

static bool last_revision(struct change *c, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(c->db, "SELECT max(id) FROM revisions", e);
    if (!q)
        return false;
    if (query_next(q, e))
        c->last_revision = query_int(q, 0);
    return e->code == ERR_NONE;
}

/* Step by step: a path may be one note's and then another's. */
static bool record_note(struct change *c, const struct step *s, struct err *e)
{
    struct entry *n = c->entries[s->number];
    if (!n->key && !find_key(c, n, &n->key, e))
        return false;
    if (s->is_aside)
        return history_moved(c->db, n->key, str_of(n->from), true, e);
    return (!*n->from || record_found(c, n, n->key, e)) && record_new(c, n, n->key, e);
}

static bool commit_record(struct change *c, struct err *e)
{
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, c->db, e) || !last_revision(c, e))
        return false;
    for (size_t i = 0; i < c->step_count; i++)
        if (!vault_goes_on(c->v, e) || !record_note(c, &c->steps[i], e) ||
            !record_step(c, i, e))
            return false;
    return vault_goes_on(c->v, e) && db_commit(&t, e);
}

#define SPARE_BYTES (256u << 10) /* that a disk must have beside the change itself */

/* A disk that becomes full half way costs more than one that is found to be. */
static bool check_space(struct change *c, struct err *e)
{
    uint64_t need = SPARE_BYTES, free_bytes = os_free_bytes(c->v->dir);
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = c->entries[i];
        bool content = !n->removed && strcmp(n->old_hash, n->new_hash) != 0;
        /* In the journal, in the database that it becomes, and in the file. */
        need += 2 * n->old.n + (content ? 3 * n->now.n : 0);
    }
    return free_bytes >= need ||
           err_set(
               e, ERR_IO,
               "the disk is too full: %llu bytes are free, and up to %llu may be needed; "
               "nothing was written",
               (unsigned long long)free_bytes, (unsigned long long)need);
}

/* Says first that it is to be undone: on a full disk that may be all that can be said. */
static void abandon(struct change *c)
{
    struct err ignored = {0};
    (void)history_mark(c->v->history, HISTORY_ABANDONED, &ignored);
    if (apply_forget(c->db, c->steps, c->step_count, c->last_revision, &ignored))
        (void)history_mark(c->v->history, HISTORY_IDLE, &ignored);
}

static bool list_steps(struct change *c, struct err *e)
{
    c->steps = arena_get(c->arena, 2 * c->count * sizeof *c->steps, e);
    if (!c->steps)
        return false;
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = c->entries[i];
        struct step *s = &c->steps[i];
        *s = (struct step){.from = n->from, .to = n->to, .fresh = &n->now, .number = i};
        memcpy(s->old_hash, n->old_hash, HASH_SIZE);
        memcpy(s->new_hash, n->new_hash, HASH_SIZE);
    }
    c->step_count = c->count;
    return steps_sort(c->steps, &c->step_count, c->now_ms, c->arena, e);
}

/* May its author write so much? */
static bool is_admitted(const struct change *c, struct err *e)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++)
        bytes += c->entries[i]->removed ? 0 : c->entries[i]->now.n;
    return vault_admits(c->v, bytes, e);
}

bool change_commit(struct change *c, struct err *e)
{
    must(!c->options.dry_run);
    if (!change_review(c, NULL, e))
        return false;
    must(!c->options.verdicts || !verdicts_wait(c->options.verdicts));
    if (change_sort(c) == 0) {
        change_tell(c, 0);
        return true;
    }
    if (!list_steps(c, e))
        return false;
    struct err ignored = {0};
    if (!is_admitted(c, e) || !check_space(c, e) ||
        !history_mark(c->v->history, HISTORY_BUSY, e))
        return false;
    if (!commit_record(c, e)) {
        (void)history_mark(c->v->history, HISTORY_IDLE, &ignored);
        return false;
    }
    if (!apply_all(c->v, c->db, c->steps, c->step_count, e)) {
        abandon(c);
        return e->code == ERR_CONFLICT && err_because(e, CAUSE_STALE);
    }
    /* If this fails, the next writer finds that all is done already. */
    (void)apply_done(c->v->history, c->db, &ignored);
    struct err unread = {0};
    if (c->v->view.outcome)
        (void)last_revision(c, &unread);
    change_tell(c, c->last_revision);
    return true;
}
