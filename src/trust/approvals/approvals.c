/* Entries on disk: `ID.json`, what is asked, written once; `ID.said`, a person's word.
 *
 * A process that reads or changes the folder holds its lock, for as long
 * as that takes and never while it waits. A waiting call holds a lock of its entry's own, which
 * ends with its process: an entry without one is there to be taken on by the same request.
 */
#include "approvals/approvals.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

#define FOLDER "approvals"
#define LOCK_FILE "lock"
#define WAITING_FILE "waiting"
#define ENTRY ".json"
#define SAID ".said"
#define LOCK_MS 5000u
#define LOOK_MS 100u    /* between looks for a word from another process */
#define FILES_MAX 1024u /* looked at */
#define ENTRY_MAX ((size_t)128 << 10)
#define SAID_MAX ((size_t)4096)
#define KNOWN_BAD 32u
#define SETTLED_NS 1000000000
#define LIST_MAX (4 * APPROVALS_MAX * ENTRY_MAX) /* working memory */

struct approvals {
    int dir;
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t said;     /* by this process */
    uint64_t bad[KNOWN_BAD]; /* hashes of names that were warned of */
    size_t bad_count;
};

static const char *const memories[] = {"call", "session", "always"};

const char *approval_memory_name(enum approval_memory m)
{
    return memories[m];
}

bool approval_memory_named(struct str name, enum approval_memory *out)
{
    for (unsigned i = 0; i < LENGTH(memories); i++)
        if (str_is(name, memories[i])) {
            *out = (enum approval_memory)i;
            return true;
        }
    return false;
}

/* ---- opening -------------------------------------------------------------- */

struct approvals *approvals_open(struct err *e)
{
    scoped(free) char *path = NULL;
    scoped_fd int state = os_state_dir(&path, e);
    if (state < 0)
        return NULL;
    scoped(free) char *folder = NULL;
    must(asprintf(&folder, "%s/" FOLDER, path) > 0);
    int dir = os_dir_make(folder, 0700, e);
    if (dir < 0)
        return NULL;
    struct approvals *a = mem_new(sizeof *a);
    a->dir = dir;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->said, NULL);
    return a;
}

void approvals_close(struct approvals *a)
{
    if (!a)
        return;
    os_close(a->dir);
    pthread_cond_destroy(&a->said);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

uint64_t approvals_state(struct approvals *a)
{
    struct os_stamp now = os_stamp(a->dir, ".");
    /* The clock of file systems has coarse steps: what comes within one of them shows
     * only because for a moment every look is another. */
    int64_t age_ns = os_real_ms() * 1000000 - now.changed_ns;
    if (age_ns < SETTLED_NS)
        now.size += (uint64_t)os_mono_ns();
    return now.inode ^ ((uint64_t)now.changed_ns * 0x9e3779b97f4a7c15u) ^ now.size;
}

/* ---- names ----------------------------------------------------------------- */

static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* none like another */
_Static_assert(sizeof letters == 33, "five bits each");

static void entry_make_id(char out[static APPROVAL_ID])
{
    unsigned char bytes[APPROVAL_ID - 1];
    os_random(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        out[i] = letters[bytes[i] & 31];
    out[sizeof bytes] = '\0';
}

static bool is_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.at[i] || !strchr(letters, s.at[i]))
            return false;
    return s.n == APPROVAL_ID - 1;
}

static void entry_file(struct str id, const char *suffix, char out[static 32])
{
    (void)snprintf(out, 32, "%.*s%s", STR_ARGS(str_cut(id, APPROVAL_ID - 1)), suffix);
}

/* Once for each name: whoever can write there shall not fill the log as well. */
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

struct entry {
    const struct json *json;
    struct str id;
    int64_t asked_ms, keep_ms;
    const struct json *said; /* NULL: nobody has decided */
    int64_t until_ms;        /* when it is forgotten, unless somebody waits */
    bool waiting;
};

struct entries {
    struct entry at[APPROVALS_MAX];
    size_t n;
};

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

static void entry_read_said(struct approvals *a, struct entry *x, struct arena *arena)
{
    char name[32];
    struct err e = {0};
    entry_file(x->id, SAID, name);
    const struct json *said = read_json(a, name, SAID_MAX, arena, &e);
    enum approval_memory memory;
    if (!said && e.code == ERR_NOT_FOUND)
        return;
    if (!said || !json_is(json_get(said, "allowed"), JSON_BOOL) ||
        !approval_memory_named(json_str(json_get(said, "remember")), &memory)) {
        warn_bad(a, str_of(name), said ? "it is no decision" : e.msg);
        return;
    }
    x->said = said;
    x->until_ms = json_int(json_get(said, "at_ms"), 0) + APPROVAL_KEEP_MS;
}

static bool entry_read(struct approvals *a, struct str id, struct entry *x,
                       struct arena *arena, struct err *e)
{
    char name[32];
    entry_file(id, ENTRY, name);
    const struct json *v = read_json(a, name, ENTRY_MAX, arena, e);
    if (!v)
        return false;
    if (!entry_fill(x, v, id, os_real_ms()))
        return err_set(e, ERR_INVALID, "it is no entry");
    entry_read_said(a, x, arena);
    x->waiting = holds_lock(a, id);
    return true;
}

/* ---- the folder; the lock is held in all that follows --------------------- */

static void entry_forget(const struct approvals *a, struct str id)
{
    char name[32];
    struct err none = {0};
    /* The entry first: a word without one says nothing. */
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
    if (!is_id(stem) || !entry_read(l->a, stem, &x, l->arena, &why)) {
        if (why.code != ERR_NOT_FOUND)
            warn_bad(l->a, str_of(name), why.code ? why.msg : "its name is none of ours");
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

static bool entries_read(struct approvals *a, struct entries *out, struct arena *arena,
                         struct err *e)
{
    struct looking l = {a, out, arena, os_real_ms(), 0};
    out->n = 0;
    if (!os_walk(a->dir, entry_look_at, &l, e))
        return false;
    qsort(out->at, out->n, sizeof out->at[0], entries_by_age);
    return true;
}

static int lock_folder(const struct approvals *a, struct err *e)
{
    int fd = os_lock(a->dir, LOCK_FILE, 0, LOCK_MS, e);
    if (fd < 0)
        err_wrap(e, "the approvals");
    return fd;
}

/* ---- asking ---------------------------------------------------------------- */

static bool same_request(const struct entry *x, const struct approval_wish *w)
{
    return str_is(json_str(json_get(x->json, "asker")), w->asker) &&
           str_is(json_str(json_get(x->json, "digest")), w->digest) &&
           str_is(json_str(json_get(x->json, "kind")), w->kind);
}

static void take_word(const struct entry *x, struct approval_word *out)
{
    out->said = true;
    out->allowed = json_bool(json_get(x->said, "allowed"), false);
    (void)approval_memory_named(json_str(json_get(x->said, "remember")), &out->memory);
    (void)snprintf(out->by, sizeof out->by, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(x->said, "by")), 15)));
    (void)snprintf(out->id, sizeof out->id, "%.*s", STR_ARGS(x->id));
}

static void entry_put(const struct approval_wish *w, const char *id, uint32_t wait_ms,
                      struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "id", id);
    json_pair_cstr(out, "kind", w->kind);
    json_pair_cstr(out, "caller", w->caller);
    client_claim_put(w->claim, out);
    if (w->question)
        json_pair_cstr(out, "question", w->question);
    json_pair_cstr(out, "asker", w->asker);
    json_pair_cstr(out, "digest", w->digest);
    json_pair_int(out, "asked_ms", os_real_ms());
    json_pair_int(out, "keep_ms", (w->keep_ms ? w->keep_ms : APPROVAL_KEEP_MS) + wait_ms);
    if (w->vault)
        json_pair_cstr(out, "vault", w->vault);
    json_key(out, "tools");
    json_open_array(out);
    for (size_t i = 0; i < w->tool_count && i < APPROVAL_TOOLS_MAX; i++)
        json_put_cstr(out, w->tools[i]);
    json_close(out);
    json_key(out, "choices");
    json_open_array(out);
    json_put_cstr(out, memories[APPROVAL_CALL]);
    if (w->session)
        json_put_cstr(out, memories[APPROVAL_SESSION]);
    if (w->always)
        json_put_cstr(out, memories[APPROVAL_ALWAYS]);
    json_close(out);
    json_pair_raw(out, "shown", w->shown);
    json_close(out);
}

static bool entry_make(const struct approvals *a, const struct approval_wish *w,
                       uint32_t wait_ms, char id[static APPROVAL_ID], struct err *e)
{
    char name[32];
    scoped_buf struct buf text = buf_of(ENTRY_MAX - 1);
    entry_make_id(id);
    struct json_writer out = json_writer(&text);
    entry_put(w, id, wait_ms, &out);
    entry_file(str_of(id), ENTRY, name);
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    if (text.failed || w->shown.n > APPROVAL_SHOWN_MAX)
        return err_set(e, ERR_LIMIT,
                       "what is asked has %zu bytes, and is too large to be "
                       "shown to a person (%zu may be)",
                       w->shown.n, APPROVAL_SHOWN_MAX);
    /* An entry that cannot be read would never be decided or removed. */
    if (!json_read(buf_view(&text), arena, e))
        return err_wrap(e, "what is asked cannot be shown to a person");
    return os_draft(a->dir, name, buf_view(&text), NULL, 0600, false, e);
}

/* A word that was said of it, or an entry to wait for: its own, or one that nobody waits
 * for any more. `*waits`: the lock that tells of who waits. */
static bool find_or_make(struct approvals *a, const struct approval_wish *w,
                         uint32_t wait_ms, struct approval_word *out, int *waits,
                         struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(LIST_MAX);
    scoped(free) struct entries *all = mem_new(sizeof *all);
    scoped_fd int lock = lock_folder(a, e);
    if (lock < 0 || !entries_read(a, all, arena, e))
        return false;
    unsigned of_asker = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct entry *x = &all->at[i];
        of_asker += str_is(json_str(json_get(x->json, "asker")), w->asker);
        if (x->waiting || !same_request(x, w))
            continue;
        if (x->said) {
            take_word(x, out);
            entry_forget(a, x->id);
            return true;
        }
        if (!out->id[0])
            (void)snprintf(out->id, sizeof out->id, "%.*s", STR_ARGS(x->id));
    }
    if (!out->id[0] &&
        (of_asker >= APPROVALS_ASKER_MAX || !share_fits(of_asker, all->n, APPROVALS_MAX)))
        return err_set(
            e, ERR_BUSY,
            "too many requests wait for a person's word (%u of one asker may, %u "
            "in all); nothing ran; ask again when some are decided",
            APPROVALS_ASKER_MAX, APPROVALS_MAX);
    if (!out->id[0] && !entry_make(a, w, wait_ms, out->id, e))
        return false;
    *waits = wait_ms ? os_lock(a->dir, WAITING_FILE, hash_fnv(HASH_FNV, str_of(out->id)),
                               LOCK_MS, e)
                     : -1;
    return !wait_ms || *waits >= 0;
}

/* Looks whether a word was said, and takes it along. */
static bool look_for_word(struct approvals *a, struct approval_word *out, struct err *e)
{
    char name[32];
    struct entry x;
    struct err gone = {0};
    entry_file(str_of(out->id), SAID, name);
    if (!os_stamp(a->dir, name).inode)
        return true;
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_fd int lock = lock_folder(a, e);
    if (lock < 0)
        return false;
    if (!entry_read(a, str_of(out->id), &x, arena, &gone) || !x.said)
        return true; /* not a word: it was warned of */
    take_word(&x, out);
    entry_forget(a, x.id);
    return true;
}

static bool asker_is_cancelled(const struct approval_wait *w)
{
    for (size_t i = 0; i < LENGTH(w->cancel); i++)
        if (w->cancel[i] && cancel_fired(w->cancel[i]))
            return true;
    return false;
}

static void entry_wait_a_look(struct approvals *a)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)LOOK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&a->lock);
    (void)pthread_cond_clockwait(&a->said, &a->lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&a->lock);
}

struct approval_ticket {
    struct approvals *in;
    struct approval_word word;
    int waits; /* the lock that tells of who waits */
    uint64_t until_ns;
    struct err why;
};

struct approval_ticket *approvals_begin(struct approvals *a,
                                        const struct approval_wish *w,
                                        const struct approval_wait *wait, struct err *e)
{
    struct approval_ticket *t = mem_new(sizeof *t);
    *t = (struct approval_ticket){.in = a, .waits = -1};
    if (!find_or_make(a, w, wait->ms, &t->word, &t->waits, e)) {
        free(t);
        return NULL;
    }
    t->until_ns = os_mono_ns() + (uint64_t)wait->ms * 1000000u;
    if (!t->word.said && wait->ms && wait->begins)
        wait->begins(wait->arg, t->word.id);
    return t;
}

bool approvals_look(struct approval_ticket *t, uint64_t *look_ns)
{
    uint64_t now = os_mono_ns();
    *look_ns = now + LOOK_MS * 1000000u;
    if (t->word.said || t->why.code || t->waits < 0)
        return true;
    return !look_for_word(t->in, &t->word, &t->why) || t->word.said || now >= t->until_ns;
}

bool approvals_end(struct approval_ticket *t, struct approval_word *out, struct err *e)
{
    bool ok = t->why.code == ERR_NONE;
    *out = t->word;
    if (!ok)
        *e = t->why;
    os_close(t->waits);
    free(t);
    return ok;
}

bool approvals_ask(struct approvals *a, const struct approval_wish *w,
                   const struct approval_wait *wait, struct approval_word *out,
                   struct err *e)
{
    uint64_t look_ns;
    *out = (struct approval_word){0};
    struct approval_ticket *t = approvals_begin(a, w, wait, e);
    if (!t)
        return false;
    while (!approvals_look(t, &look_ns)) {
        if (asker_is_cancelled(wait)) {
            err_set(&t->why, ERR_CANCELLED,
                    "cancelled while waiting for approval; nothing was run");
            break;
        }
        entry_wait_a_look(a);
    }
    return approvals_end(t, out, e);
}

/* ---- deciding -------------------------------------------------------------- */

static void entry_put_shown(const struct entry *x, struct json_writer *w)
{
    static const char *const keys[] = {"kind",  "caller",  "client", "question", "vault",
                                       "tools", "choices", "shown",  "digest"};
    char asked[25];
    os_format_utc(x->asked_ms, asked);
    int64_t left = x->until_ms - os_real_ms();
    json_open_object(w);
    json_pair_str(w, "id", x->id);
    json_pair_cstr(w, "asked", asked);
    json_pair_int(w, "left_ms", left > 0 ? left : 0);
    json_pair_bool(w, "waiting", x->waiting);
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (json_get(x->json, keys[i]))
            json_pair(w, keys[i], json_get(x->json, keys[i]));
    json_close(w);
}

bool approvals_list(struct approvals *a, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(LIST_MAX);
    scoped(free) struct entries *all = mem_new(sizeof *all);
    scoped_fd int lock = lock_folder(a, e);
    if (lock < 0 || !entries_read(a, all, arena, e))
        return false;
    struct json_writer w = json_writer(out);
    json_open_array(&w);
    for (size_t i = 0; i < all->n; i++)
        if (!all->at[i].said)
            entry_put_shown(&all->at[i], &w);
    json_close(&w);
    return buf_check(out, "the approvals", e);
}

static bool no_such(struct str id, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_NAME);
    str_spell(str_cut(id, 40), &text);
    return err_set(e, ERR_NOT_FOUND,
                   "no pending approval '%s': it was decided or has expired; 'cloche "
                   "approvals list' shows pending approvals",
                   buf_cz(&text));
}

static bool read_one(struct approvals *a, struct str id, struct entry *x,
                     struct arena *arena, struct err *e)
{
    struct err why = {0};
    if (!is_id(id) || !entry_read(a, id, x, arena, &why) ||
        (x->until_ms < os_real_ms() && !x->waiting))
        return no_such(id, e);
    return true;
}

static bool offers(const struct entry *x, enum approval_memory memory)
{
    struct json_iter it = json_iter(json_get(x->json, "choices"));
    while (json_next(&it))
        if (str_is(json_str(it.value), memories[memory]))
            return true;
    return false;
}

static bool write_word(struct approvals *a, const struct entry *x, bool allow,
                       enum approval_memory memory, const char *by, struct err *e)
{
    char name[32];
    scoped_buf struct buf text = buf_of(SAID_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_bool(&w, "allowed", allow);
    json_pair_cstr(&w, "remember", memories[memory]);
    json_pair_cstr(&w, "by", by);
    json_pair_int(&w, "at_ms", os_real_ms());
    json_close(&w);
    entry_file(x->id, SAID, name);
    return os_write_file(a->dir, name, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

bool approvals_decide(struct approvals *a, struct str id, bool allow,
                      enum approval_memory memory, const char *by, struct buf *entry,
                      struct err *e)
{
    struct entry x;
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_fd int lock = lock_folder(a, e);
    if (lock < 0 || !read_one(a, id, &x, arena, e))
        return false;
    if (x.said)
        return err_set(
            e, ERR_CONFLICT, "%.*s is decided already: it was %s", STR_ARGS(x.id),
            json_bool(json_get(x.said, "allowed"), false) ? "allowed" : "denied");
    if (allow && !offers(&x, memory))
        return err_set(e, ERR_INVALID,
                       "%.*s cannot be allowed for '%s' here; nothing was decided",
                       STR_ARGS(x.id), memories[memory]);
    if (entry) {
        struct json_writer w = json_writer(entry);
        entry_put_shown(&x, &w);
        if (!buf_check(entry, "the approval", e))
            return false;
    }
    if (!write_word(a, &x, allow, allow ? memory : APPROVAL_CALL, by, e))
        return false;
    pthread_mutex_lock(&a->lock);
    pthread_cond_broadcast(&a->said);
    pthread_mutex_unlock(&a->lock);
    return true;
}
