/* Entries on disk: `ID.json`, what is asked, written once; `ID.said`, a person's decision.
 *
 * A process that reads or changes the folder holds its lock, for as long
 * as that takes and never while it waits. A waiting call holds a lock of its entry's own, which
 * ends with its process: an entry without one is there to be taken on by the same request.
 */
#include "approvals/internal.h"

#include <stdio.h>

#define LOCK_FILE "lock"
#define FILES_MAX 1024u /* looked at */

/* ---- names ----------------------------------------------------------------- */

static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* none like another */
_Static_assert(sizeof letters == 33, "five bits each");

void entry_make_id(char out[static APPROVAL_ID])
{
    unsigned char bytes[APPROVAL_ID - 1];
    os_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        out[i] = letters[bytes[i] & 31];
    out[sizeof bytes] = '\0';
}

bool entry_is_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.at[i] || !strchr(letters, s.at[i]))
            return false;
    return s.n == APPROVAL_ID - 1;
}

void entry_file(struct str id, const char *suffix, char out[static 32])
{
    (void)snprintf(out, 32, "%.*s%s", STR_ARGS(str_cut(id, APPROVAL_ID - 1)), suffix);
}

/* Once for each name: a program that can write there shall not fill the log. */
static void warn_bad(struct approvals *a, struct str name, const char *why)
{
    uint64_t hash = hash_fnv(HASH_FNV, name);
    pthread_mutex_lock(&a->lock);
    bool known = a->bad_count == KNOWN_BAD;
    for (size_t i = 0; i < a->bad_count && !known; i++)
        known = a->bad[i] == hash;
    if (!known)
        a->bad[a->bad_count++] = hash;
    pthread_mutex_unlock(&a->lock);
    if (known)
        return;
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    str_spell(str_cut(name, 100), &text);
    log_line(LOG_WARN, "approvals: ignoring file %s: %s", buf_cz(&text), why);
}

/* ---- reading --------------------------------------------------------------- */

static bool holds_lock(const struct approvals *a, struct str id)
{
    struct err none = {0};
    scoped_fd int fd = os_lock(a->dir, WAITING_FILE, hash_fnv(HASH_FNV, id), 0, &none);
    return fd < 0 && none.code == ERR_BUSY;
}

static const struct json *read_json(struct approvals *a, const char *name, size_t most,
                                    struct arena *arena, struct err *e)
{
    scoped_buf struct buf text = buf_of(most);
    if (!os_read_file(a->dir, name, &text, NULL, e))
        return NULL;
    const struct json *v = json_read(buf_view(&text), arena, e);
    if (v && !json_is(v, JSON_OBJECT))
        err_set(e, ERR_INVALID, "it holds no object");
    return e->code ? NULL : v;
}

static bool is_text(const struct json *v, const char *key)
{
    return json_is(json_get(v, key), JSON_STRING);
}

static bool entry_fill(struct entry *x, const struct json *v, struct str id,
                       int64_t now_ms)
{
    *x = (struct entry){.json = v, .id = json_str(json_get(v, "id"))};
    x->asked_ms = json_int(json_get(v, "asked_ms"), 0);
    x->keep_ms = json_int(json_get(v, "keep_ms"), 0);
    x->until_ms = x->asked_ms + x->keep_ms;
    /* An entry from the future would never end. */
    return str_eq(x->id, id) && is_text(v, "kind") && is_text(v, "caller") &&
           is_text(v, "asker") && is_text(v, "digest") &&
           json_is(json_get(v, "choices"), JSON_ARRAY) &&
           json_is(json_get(v, "tools"), JSON_ARRAY) &&
           json_is(json_get(v, "shown"), JSON_OBJECT) && x->asked_ms > 0 &&
           x->asked_ms <= now_ms + 60000 && x->keep_ms > 0 &&
           x->keep_ms <= (int64_t)30 * 86400 * 1000;
}

static void entry_read_decision(struct approvals *a, struct entry *x, struct arena *arena)
{
    char name[32];
    struct err e = {0};
    entry_file(x->id, SAID, name);
    const struct json *decision = read_json(a, name, SAID_MAX, arena, &e);
    enum approval_memory memory;
    if (!decision && e.code == ERR_NOT_FOUND)
        return;
    if (!decision || !json_is(json_get(decision, "allowed"), JSON_BOOL) ||
        !approval_memory_named(json_str(json_get(decision, "remember")), &memory)) {
        warn_bad(a, str_of(name), decision ? "it is not a decision" : e.msg);
        return;
    }
    x->decision = decision;
    x->until_ms = json_int(json_get(decision, "at_ms"), 0) + APPROVAL_KEEP_MS;
}

bool entry_read(struct approvals *a, struct str id, struct entry *x, struct arena *arena,
                struct err *e)
{
    char name[32];
    entry_file(id, ENTRY, name);
    const struct json *v = read_json(a, name, ENTRY_MAX, arena, e);
    if (!v)
        return false;
    if (!entry_fill(x, v, id, os_real_ms()))
        return err_set(e, ERR_INVALID, "it is not an entry");
    entry_read_decision(a, x, arena);
    x->waiting = holds_lock(a, id);
    return true;
}

/* ---- the folder; the lock is held in all that follows --------------------- */

void entry_forget(const struct approvals *a, struct str id)
{
    char name[32];
    struct err none = {0};
    /* The entry first: a decision without one has no meaning. */
    entry_file(id, ENTRY, name);
    (void)os_drop(a->dir, name, &none);
    entry_file(id, SAID, name);
    (void)os_drop(a->dir, name, &none);
}

struct looking {
    struct approvals *a;
    struct entries *out;
    struct arena *arena;
    int64_t now_ms;
    unsigned seen;
};

static bool entry_look_at(void *arg, const char *name, const struct os_stat *st,
                          struct err *e)
{
    (void)e;
    struct looking *l = arg;
    struct err why = {0};
    struct str stem = str_of(name);
    struct entry x;
    if (!st->is_file || !str_ends(stem, ENTRY))
        return true;
    if (++l->seen > FILES_MAX || l->out->n == APPROVALS_MAX)
        return false;
    stem.n -= strlen(ENTRY);
    if (!entry_is_id(stem) || !entry_read(l->a, stem, &x, l->arena, &why)) {
        if (why.code != ERR_NOT_FOUND)
            warn_bad(l->a, str_of(name), why.code ? why.msg : "its name is unknown");
        return true;
    }
    if (x.until_ms < l->now_ms && !x.waiting)
        entry_forget(l->a, x.id);
    else
        l->out->at[l->out->n++] = x;
    return true;
}

static int entries_by_age(const void *a, const void *b)
{
    int64_t x = ((const struct entry *)a)->asked_ms,
            y = ((const struct entry *)b)->asked_ms;
    return x < y ? -1 : x > y;
}

bool entries_read(struct approvals *a, struct entries *out, struct arena *arena,
                  struct err *e)
{
    struct looking l = {a, out, arena, os_real_ms(), 0};
    out->n = 0;
    if (!os_walk(a->dir, entry_look_at, &l, e))
        return false;
    qsort(out->at, out->n, sizeof out->at[0], entries_by_age);
    return true;
}

int approvals_lock(const struct approvals *a, struct err *e)
{
    int fd = os_lock(a->dir, LOCK_FILE, 0, LOCK_MS, e);
    if (fd < 0)
        err_wrap(e, "the approvals");
    return fd;
}
