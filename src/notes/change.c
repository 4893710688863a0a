#include "notes/entry.h"

#include <stdio.h>

#include "notes/name.h"
#include "notes/steps.h"
#include "notes/trash.h"
#include "notes/verdicts.h"

#define ARENA_MAX \
    (CHANGE_BYTES_MAX + ((size_t)256 << 20)) /* bytes; what is parsed, too */

struct change *change_begin(struct vault *v, const struct change_options *o,
                            struct err *e)
{
    struct change *c = mem_new(sizeof *c);
    c->v = v;
    c->options = *o;
    bool dry = o->dry_run || (v->view.review && v->view.review->looks);
    c->arena = arena_new(ARENA_MAX);
    c->now_ms = os_real_ms();
    if (!dry && !(c->db = history_lock(v->history, e))) {
        change_end(c);
        return NULL;
    }
    return c;
}

void change_end(struct change *c)
{
    if (!c)
        return;
    if (c->db)
        history_unlock(c->v->history);
    arena_free(c->arena);
    free(c->entries);
    free(c->named);
    free(c);
}

struct verdicts *change_verdicts(const struct change *c)
{
    return c->options.verdicts;
}

struct db *change_db(struct change *c)
{
    return c->db;
}

/* ---- what a session is told ---------------------------------------------- */

struct db *change_index(struct change *c)
{
    return c->index;
}

void change_set_index(struct change *c, struct db *index)
{
    c->index = index;
}

bool change_news(struct change *c, change_new *tell, void *arg, struct err *e)
{
    for (const struct entry *n = c->news; n; n = n->next_news)
        if (!tell(arg, n->known, n->removed ? NULL : n->to, e))
            return false;
    return true;
}

void change_told(struct change *c)
{
    for (; c->news; c->news = c->news->next_news) {
        c->news->known = c->news->removed ? NULL : c->news->to;
        c->news->is_news = false;
    }
}

/* ---- the notes of a change ----------------------------------------------- */

uint64_t entry_sum(const char *path)
{
    uint64_t sum = 14695981039346656037u;
    for (; *path; path++)
        sum = (sum ^ (unsigned char)*path) * 1099511628211u;
    return sum;
}

static struct entry *find_to(const struct change *c, const char *path)
{
    uint64_t sum = entry_sum(path);
    for (size_t i = 0; i < c->count; i++) {
        struct entry *n = c->entries[i];
        if (n->to_sum == sum && !n->removed && !strcmp(n->to, path))
            return n;
    }
    return NULL;
}

/* Was a note there that the change has moved away or removed? */
static bool has_left(const struct change *c, const char *path)
{
    uint64_t sum = entry_sum(path);
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = c->entries[i];
        if (n->from_sum == sum && !strcmp(n->from, path) && strcmp(n->to, path) != 0)
            return true;
    }
    return false;
}

static void set_to(struct entry *n, const char *to)
{
    n->to = to;
    n->to_sum = entry_sum(to);
}

static struct entry *add_entry(struct change *c, const char *from, const char *to,
                               struct err *e)
{
    if (c->count == CHANGE_NOTES_MAX) {
        err_set(e, ERR_LIMIT,
                "one change may touch at most %u notes; nothing was written",
                CHANGE_NOTES_MAX);
        return NULL;
    }
    if (c->count == c->capacity) {
        size_t more = c->capacity ? 2 * c->capacity : 16;
        struct entry **grown = reallocarray(c->entries, more, sizeof(struct entry *));
        if (!grown) {
            err_set(e, ERR_LIMIT, "no memory for a change of %zu notes", more);
            return NULL;
        }
        c->entries = grown;
        c->capacity = more;
    }
    struct entry *n = arena_get(c->arena, sizeof *n, e);
    char *from_copy = n ? arena_copy(c->arena, from, strlen(from), e) : NULL;
    char *to_copy = from_copy ? arena_copy(c->arena, to, strlen(to), e) : NULL;
    if (!to_copy)
        return NULL;
    n->from = from_copy;
    n->from_sum = entry_sum(from_copy);
    set_to(n, to_copy);
    n->known = name_is_path(str_of(from)) ? from_copy : NULL;
    c->entries[c->count++] = n;
    return n;
}

static bool keep_bytes(struct change *c, struct str bytes, struct str *out, struct err *e)
{
    char *copy = arena_copy(c->arena, bytes.at, bytes.n, e);
    *out = (struct str){copy, bytes.n};
    return copy != NULL;
}

/* Reads the file `from`; *out is NULL when there is none. */
static bool load(struct change *c, const char *from, struct entry **out, struct err *e)
{
    *out = NULL;
    scoped_buf struct buf bytes;
    buf_init(&bytes, NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    bool found;
    struct err why = {0};
    bool readable = vault_read(c->v, from, &bytes, &st, &found, &why);
    if (readable && !found)
        return true;
    if (!readable && why.code != ERR_LIMIT && why.code != ERR_DENIED)
        return err_set(e, why.code, "%s", why.msg);
    struct entry *n = add_entry(c, from, from, e);
    if (!n)
        return false;
    n->opaque = !readable;
    n->st = st;
    if (readable)
        note_hash(buf_view(&bytes), n->old_hash);
    else if (!apply_look(c->v, from, n->old_hash, &n->st, e))
        return false;
    memcpy(n->new_hash, n->old_hash, HASH_SIZE);
    *out = n;
    if (!readable || !keep_bytes(c, buf_view(&bytes), &n->old, e))
        return !readable;
    n->now = n->old;
    return true;
}

static bool find_entry(struct change *c, const char *path, struct entry **out,
                       struct err *e)
{
    *out = find_to(c, path);
    return *out || has_left(c, path) || load(c, path, out, e);
}

bool change_has(struct change *c, const char *path)
{
    return find_to(c, path) || (!has_left(c, path) && vault_has(c->v, str_of(path)));
}

static bool parse_entry(struct change *c, struct entry *n, struct err *e)
{
    if (n->note)
        return true;
    struct note *note = arena_get(c->arena, sizeof *note, e);
    if (!note || !note_parse(str_of(n->to), n->now, &n->st, c->arena, note, e))
        return false;
    n->note = note;
    return true;
}

bool change_read(struct change *c, const char *path, struct note *out, bool *found,
                 struct err *e)
{
    struct entry *n;
    if (!find_entry(c, path, &n, e))
        return false;
    *found = n != NULL;
    if (!n)
        return true;
    change_looks(c);
    if (n->opaque) { /* once more, for its reason */
        scoped_buf struct buf bytes;
        buf_init(&bytes, NOTE_SIZE_MAX + 4096);
        struct os_stat st;
        return vault_read(c->v, path, &bytes, &st, found, e) ||
               err_set(e, ERR_CONFLICT, "\"%.200s\" changes while it is read", path);
    }
    if (!parse_entry(c, n, e))
        return false;
    *out = *n->note;
    return true;
}

/* ---- changing ------------------------------------------------------------ */

static bool not_there(const char *path, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no note \"%.200s\"; nothing was written",
                   path);
}

static bool is_free(struct change *c, const char *path, struct err *e)
{
    if (!change_has(c, path))
        return true;
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    vault_put_id(c->v, str_of(path), &id);
    return err_set(
        e, ERR_CONFLICT,
        "a note of that name exists: its id is \"%.200s\"; nothing was written",
        buf_cz(&id));
}

static bool set_now(struct change *c, struct entry *n, struct str bytes, struct err *e)
{
    if (bytes.n > NOTE_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT,
            "\"%.200s\" would be %zu bytes; notes may have at most %u. Nothing was "
            "written",
            n->to, bytes.n, NOTE_SIZE_MAX);
    c->bytes += bytes.n;
    if (c->bytes > CHANGE_BYTES_MAX)
        return err_set(e, ERR_LIMIT,
                       "one change may write at most %zu bytes; nothing was written",
                       CHANGE_BYTES_MAX);
    n->note = NULL;
    note_hash(bytes, n->new_hash);
    return keep_bytes(c, bytes, &n->now, e);
}

/* A move comes behind all that was done before it; other steps may come at any time. */
static void touch(struct change *c, struct entry *n, bool moves)
{
    if (!n->order || moves)
        n->order = ++c->order;
    if (n->is_news)
        return;
    n->is_news = true;
    n->next_news = c->news;
    c->news = n;
}

bool change_create(struct change *c, const char *path, struct str bytes, struct err *e)
{
    must(name_is_path(str_of(path)));
    struct entry *n = is_free(c, path, e) ? add_entry(c, "", path, e) : NULL;
    if (!n || !set_now(c, n, bytes, e))
        return false;
    n->action = "create";
    touch(c, n, true);
    return true;
}

bool change_replace(struct change *c, const char *path, struct str bytes, struct err *e)
{
    struct entry *n;
    if (!find_entry(c, path, &n, e))
        return false;
    if (!n || n->opaque)
        return not_there(path, e);
    if (str_eq(n->now, bytes))
        return true;
    touch(c, n, false);
    return set_now(c, n, bytes, e);
}

/* The new spelling of a name, where the file system knows no case. */
static bool is_respelling(struct change *c, const struct entry *n, const char *to)
{
    struct os_stat st;
    struct err none = {0};
    return *n->from && os_stat_beneath(c->v->dir, to, &st, &none) &&
           st.inode == n->st.inode && !find_to(c, to);
}

static bool find_movable(struct change *c, const char *from, const char *to,
                         struct entry **out, struct err *e)
{
    must(name_is_path(str_of(to)));
    if (!find_entry(c, from, out, e))
        return false;
    if (!*out)
        return not_there(from, e);
    return !strcmp(from, to) || is_respelling(c, *out, to) || is_free(c, to, e);
}

bool change_can_move(struct change *c, const char *from, const char *to, struct err *e)
{
    struct entry *n;
    return find_movable(c, from, to, &n, e);
}

bool change_move(struct change *c, const char *from, const char *to, struct err *e)
{
    struct entry *n;
    if (!find_movable(c, from, to, &n, e))
        return false;
    if (!strcmp(from, to))
        return true;
    const char *copy = arena_copy(c->arena, to, strlen(to), e);
    if (!copy)
        return false;
    set_to(n, copy);
    n->note = NULL;
    touch(c, n, true);
    return true;
}

bool change_remove(struct change *c, const char *path, char *backup, struct err *e)
{
    struct entry *n;
    char name[PATH_MAX];
    if (!find_entry(c, path, &n, e) || !trash_name(path, c->now_ms, name, e))
        return false;
    if (!n)
        return not_there(path, e);
    if (!*n->from)
        return err_set(
            e, ERR_INVALID,
            "\"%.200s\" is made and deleted by one change; nothing was written", path);
    const char *copy = arena_copy(c->arena, name, strlen(name), e);
    if (!copy)
        return false;
    set_to(n, copy);
    n->removed = true;
    n->action = "delete";
    touch(c, n, true);
    if (backup)
        memcpy(backup, name, strlen(name) + 1);
    return true;
}

bool change_take_back(struct change *c, const char *backup, const char *path,
                      struct err *e)
{
    struct str original;
    struct entry *n;
    must(name_is_path(str_of(path)));
    if (!trash_is_path(str_of(backup), &original) || !find_entry(c, backup, &n, e))
        return e->code ? false : not_there(backup, e);
    if (!n)
        return not_there(backup, e);
    const char *copy = arena_copy(c->arena, path, strlen(path), e);
    if (!copy || !is_free(c, path, e))
        return false;
    set_to(n, copy);
    n->note = NULL;
    n->action = "restore";
    touch(c, n, true);
    return true;
}

void change_say(struct change *c, const char *path, const char *action,
                const char *summary)
{
    struct entry *n = find_to(c, path);
    struct err full = {0};
    if (!n)
        return;
    n->action = action ? action : n->action;
    if (summary)
        n->summary = arena_copy(c->arena, summary, strlen(summary), &full);
}

bool change_touches(struct change *c, const char *path)
{
    const struct entry *n = find_to(c, path);
    return n && n->order;
}

void change_hash(struct change *c, const char *path, char hash[static HASH_SIZE])
{
    const struct entry *n = find_to(c, path);
    memcpy(hash, n ? n->new_hash : "", n ? HASH_SIZE : 1);
}

/* ---- the journal --------------------------------------------------------- */

static bool is_nothing(const struct entry *n)
{
    return !n->order || (!strcmp(n->from, n->to) && !strcmp(n->old_hash, n->new_hash));
}

static int by_order(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

/* What is to be done, in its order. */
size_t change_sort(struct change *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (!is_nothing(c->entries[i]))
            c->entries[count++] = c->entries[i];
    c->count = count;
    if (count)
        qsort(c->entries, count, sizeof(struct entry *), by_order);
    return count;
}

static struct str uid_in(struct change *c, struct str path, struct str bytes)
{
    struct note n;
    struct err none = {0};
    struct os_stat st = {0};
    return note_parse(path, bytes, &st, c->arena, &n, &none) ? n.uid : STR("");
}

static bool keep(struct change *c, const struct entry *n, struct str bytes,
                 const char *hash, int64_t *content, struct err *e)
{
    *content = 0;
    return n->opaque || history_keep(c->db, bytes, hash, content, e);
}

/* What stood there and the history has not seen: it is about to be replaced. */
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
    return keep(c, n, n->old, n->old_hash, &r.content, e) && history_add(c->db, &r, e);
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
    return keep(c, n, n->now, n->new_hash, &r.content, e) && history_add(c->db, &r, e) &&
           history_moved(c->db, key, r.path, n->removed, e);
}

/* What comes back, out of the trash or the history, is the note that it was. */
static bool find_key(struct change *c, const struct entry *n, int64_t *key, struct err *e)
{
    struct str path = str_of(*n->from ? n->from : n->to), original = path;
    struct str uid = n->opaque ? STR("") : uid_in(c, path, *n->from ? n->old : n->now);
    bool back = trash_is_path(path, &original) ||
                (!*n->from && n->action && !strcmp(n->action, "restore"));
    *key = 0;
    return (!back || history_find(c->db, c->v, original, uid, key, e)) &&
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

static bool record(struct change *c, struct err *e)
{
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, c->db, e) || !last_revision(c, e))
        return false;
    for (size_t i = 0; i < c->step_count; i++)
        if (!record_note(c, &c->steps[i], e) || !record_step(c, i, e))
            return false;
    return db_commit(&t, e);
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

/* Tells whoever wants to know what was changed. */
static void tell_changed(struct change *c)
{
    const struct vault_author *by = c->v->view.author;
    struct err none = {0};
    int64_t before = c->last_revision;
    if (!by || !by->changed || !last_revision(c, &none))
        return;
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = c->entries[i];
        scoped_buf struct buf id;
        buf_init(&id, PATH_MAX + 8);
        vault_put_id(c->v, str_of(n->removed ? n->from : n->to), &id);
        by->changed(by->arg, buf_view(&id), c->last_revision);
    }
    c->last_revision = before;
}

/* May its author write so much? */
static bool is_admitted(const struct change *c, struct err *e)
{
    const struct vault_author *by = c->v->view.author;
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++)
        bytes += c->entries[i]->removed ? 0 : c->entries[i]->now.n;
    return !by || !by->admits || by->admits(by->arg, bytes, e);
}

bool change_commit(struct change *c, struct err *e)
{
    must(!c->options.dry_run);
    if (!change_review(c, NULL, e))
        return false;
    must(!c->options.verdicts || !verdicts_wait(c->options.verdicts));
    if (change_sort(c) == 0)
        return true;
    if (!list_steps(c, e))
        return false;
    struct err ignored = {0};
    if (!is_admitted(c, e) || !check_space(c, e) ||
        !history_mark(c->v->history, HISTORY_BUSY, e))
        return false;
    if (!record(c, e)) {
        (void)history_mark(c->v->history, HISTORY_IDLE, &ignored);
        return false;
    }
    if (!apply_all(c->v, c->db, c->steps, c->step_count, e)) {
        abandon(c);
        return false;
    }
    /* Where this fails, the next to write finds that all is done already. */
    (void)apply_done(c->v->history, c->db, &ignored);
    tell_changed(c);
    return true;
}
