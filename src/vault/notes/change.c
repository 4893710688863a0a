#include "notes/entry.h"

#include "notes/apply.h"
#include "notes/linktext.h"
#include "notes/name.h"
#include "notes/trash.h"

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
    c->now_ms = vault_now(v);
    if (!dry && !(c->db = history_lock(v->history, v, e))) {
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
    free(c->places);
    map_done(&c->paths);
    twins_done(&c->twins);
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

/* A file that is neither a note nor a canvas: it is moved, and its bytes are not read. */
static bool is_attachment(const char *path)
{
    struct str s = str_of(path);
    return name_is_file(s) && !name_is_path(s) && !name_is_canvas(s);
}

static bool load_attachment(struct change *c, const char *from, struct entry **out,
                            struct err *e)
{
    struct os_stat st;
    struct err none = {0};
    if (!os_stat_beneath(c->v->dir, from, &st, &none) || !st.is_file)
        return true;
    struct entry *n = entry_add(c, from, from, e);
    if (!n || !apply_look(c->v, from, n->old_hash, &n->st, e))
        return false;
    n->opaque = true;
    memcpy(n->new_hash, n->old_hash, HASH_SIZE);
    *out = n;
    return true;
}

/* Reads the file `from`; *out is NULL when there is none. */
static bool change_load(struct change *c, const char *from, struct entry **out,
                        struct err *e)
{
    *out = NULL;
    if (is_attachment(from))
        return load_attachment(c, from, out, e);
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    bool found;
    struct err why = {0};
    bool readable = vault_read(c->v, from, &bytes, &st, &found, &why);
    if (readable && !found)
        return true;
    if (!readable && why.code != ERR_LIMIT && why.code != ERR_DENIED)
        return err_pass(e, &why);
    struct entry *n = entry_add(c, from, from, e);
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
    if (!readable)
        return true;
    n->old = (struct str){arena_copy(c->arena, bytes.at, bytes.n, e), bytes.n};
    n->now = n->old;
    return n->old.at != NULL;
}

static bool change_find_entry(struct change *c, const char *path, struct entry **out,
                              struct err *e)
{
    *out = entry_at(c, path);
    if (*out)
        return !(*out)->links || linktext_write((*out)->links, e);
    return entry_has_left(c, path) || change_load(c, path, out, e);
}

bool change_has(struct change *c, const char *path)
{
    struct os_stat st;
    struct err none = {0};
    if (entry_at(c, path) || entry_has_left(c, path))
        return entry_at(c, path);
    return is_attachment(path) ? os_stat_beneath(c->v->dir, path, &st, &none)
                               : vault_has(c->v, str_of(path));
}

bool change_read(struct change *c, const char *path, struct note *out, bool *found,
                 struct err *e)
{
    struct entry *n;
    if (!change_find_entry(c, path, &n, e))
        return false;
    *found = n != NULL;
    if (!n)
        return true;
    change_looks(c);
    if (is_attachment(path)) {
        *out = (struct note){.path = str_of(n->to), .st = n->st};
        memcpy(out->hash, n->new_hash, HASH_SIZE);
        return true;
    }
    if (n->opaque) { /* once more, for its reason */
        scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
        struct os_stat st;
        return vault_read(c->v, path, &bytes, &st, found, e) ||
               err_set(e, ERR_CONFLICT, "\"%.200s\" changes while it is read", path);
    }
    const struct note *note = entry_parse(c, n, e);
    if (note)
        *out = *note;
    return note != NULL;
}

/* ---- changing ------------------------------------------------------------ */

static bool not_there(const char *path, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no note \"%.200s\"; nothing was written",
                   path);
}

/* `except` is the path of the note that shall be there, or NULL: it may be respelt. */
static bool is_free(struct change *c, const char *path, const char *except, struct err *e)
{
    char home[PATH_MAX];
    const char *twin = NULL, *taken = change_has(c, path) ? path : NULL;
    if (!taken && name_is_path(str_of(path)) &&
        (!twins_find(c, path, except, &twin, e) ||
         (!twin && name_other_home(str_of(path), home) &&
          !twins_find(c, home, except, &twin, e))))
        return false;
    if (!taken && !twin)
        return true;
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    vault_put_id(c->v, str_of(taken ? taken : twin), &id);
    if (taken && is_attachment(path))
        return err_set(e, ERR_CONFLICT, "there is a file \"%.200s\"; nothing was written",
                       path) ||
               err_because(e, CAUSE_TAKEN);
    return err_set(
               e, ERR_CONFLICT,
               "a note of that name exists%s: its id is \"%.200s\"; nothing was written",
               taken ? "" : ", spelt with other capitals or accents", buf_cz(&id)) ||
           err_because(e, CAUSE_TAKEN);
}

/* A move comes behind all that was done before it; other steps may come at any time. */
static void change_touch_entry(struct change *c, struct entry *n, bool moves)
{
    if (!n->order || moves)
        n->order = ++c->order;
    struct str to = str_of(n->to);
    if (n->is_news || (name_is_file(to) && !name_is_path(to)))
        return; /* the index has no row for it */
    n->is_news = true;
    n->next_news = c->news;
    c->news = n;
}

bool change_create(struct change *c, const char *path, struct str bytes, struct err *e)
{
    must(name_is_path(str_of(path)));
    struct entry *n = is_free(c, path, NULL, e) ? entry_add(c, "", path, e) : NULL;
    if (!n || !entry_set(c, n, bytes, e))
        return false;
    n->action = "create";
    change_touch_entry(c, n, true);
    return true;
}

bool change_replace(struct change *c, const char *path, struct str bytes, struct err *e)
{
    struct entry *n;
    if (!change_find_entry(c, path, &n, e))
        return false;
    if (!n || n->opaque)
        return not_there(path, e);
    if (str_eq(n->now, bytes))
        return true;
    change_touch_entry(c, n, false);
    return entry_set(c, n, bytes, e);
}

/* The new spelling of a name, where the file system knows no case. */
static bool is_respelling(struct change *c, const struct entry *n, const char *to)
{
    struct os_stat st;
    struct err none = {0};
    return *n->from && os_stat_beneath(c->v->dir, to, &st, &none) &&
           st.inode == n->st.inode && !entry_at(c, to);
}

static bool find_movable(struct change *c, const char *from, const char *to,
                         struct entry **out, struct err *e)
{
    must(name_is_file(str_of(to)) && is_attachment(to) == is_attachment(from));
    if (!change_find_entry(c, from, out, e))
        return false;
    if (!*out)
        return not_there(from, e);
    return !strcmp(from, to) || is_respelling(c, *out, to) ||
           is_free(c, to, (*out)->to, e);
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
    if (!entry_move(c, n, to, false, e))
        return false;
    n->note = NULL;
    change_touch_entry(c, n, true);
    return true;
}

bool change_remove(struct change *c, const char *path, char *backup, struct err *e)
{
    struct entry *n;
    char name[PATH_MAX];
    if (!change_find_entry(c, path, &n, e) || !trash_name(path, c->now_ms, name, e))
        return false;
    if (!n)
        return not_there(path, e);
    if (!*n->from)
        return err_set(
            e, ERR_INVALID,
            "\"%.200s\" is made and deleted by one change; nothing was written", path);
    if (!entry_move(c, n, name, true, e))
        return false;
    n->action = "delete";
    change_touch_entry(c, n, true);
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
    if (!trash_is_path(str_of(backup), &original) || !change_find_entry(c, backup, &n, e))
        return e->code ? false : not_there(backup, e);
    if (!n)
        return not_there(backup, e);
    if (!is_free(c, path, NULL, e) || !entry_move(c, n, path, false, e))
        return false;
    n->note = NULL;
    n->action = "restore";
    change_touch_entry(c, n, true);
    return true;
}

void change_say(struct change *c, const char *path, const char *action,
                const char *summary)
{
    struct entry *n = entry_at(c, path);
    struct err full = {0};
    if (!n)
        return;
    n->action = action ? action : n->action;
    if (summary)
        n->summary = arena_copy(c->arena, summary, strlen(summary), &full);
}

void change_is(struct change *c, const char *path, int64_t key)
{
    struct entry *n = entry_at(c, path);
    if (n)
        n->key = key;
}

void change_hold(struct change *c, struct str why)
{
    struct err full = {0};
    c->held = arena_printf(c->arena, &full, "%.*s", STR_ARGS(str_cut(why, 120)));
}

const char *change_held(const struct change *c)
{
    return c->held;
}

bool change_touches(struct change *c, const char *path)
{
    const struct entry *n = entry_at(c, path);
    return n && n->order;
}

void change_hash(struct change *c, const char *path, char hash[static HASH_SIZE])
{
    struct entry *n = entry_at(c, path);
    memcpy(hash, n ? n->new_hash : "", n ? HASH_SIZE : 1);
    if (!n || n->answered)
        return;
    n->answered = true;
    n->next_answered = c->answered;
    c->answered = n;
}
