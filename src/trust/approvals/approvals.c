/* Requests for approval, and their decisions. A call that waits for one waits for its entry
 * (entries.c), without a lock; it looks into the folder now and then, since the decision may
 * be another process's.
 */
#include "approvals/internal.h"

#include <stdio.h>

#include "os/os.h"

#define FOLDER "approvals"
#define LOOK_MS 100u /* between looks for a decision of another process */
#define SETTLED_NS 1000000000

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
    int dir = os_state_folder(FOLDER, e);
    if (dir < 0)
        return NULL;
    struct approvals *a = mem_new(sizeof *a);
    a->dir = dir;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    return a;
}

void approvals_close(struct approvals *a)
{
    if (!a)
        return;
    os_close(a->dir);
    pthread_cond_destroy(&a->changed);
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

/* ---- asking ---------------------------------------------------------------- */

static bool same_request(const struct entry *x, const struct approval_request *w)
{
    return str_is(json_str(json_get(x->json, "asker")), w->asker) &&
           str_is(json_str(json_get(x->json, "digest")), w->digest) &&
           str_is(json_str(json_get(x->json, "kind")), w->kind);
}

/* NULL: there is none. */
static char *text_of(const struct json *v)
{
    scoped_buf struct buf text = buf_of(SAID_MAX);
    struct json_writer w = json_writer(&text);
    if (!json_is(v, JSON_OBJECT))
        return NULL;
    json_put(&w, v);
    return text.failed ? NULL : strdup(buf_cz(&text));
}

static void entry_take_decision(const struct entry *x, struct approval_decision *out)
{
    out->decided = true;
    out->allowed = json_bool(json_get(x->decision, "allowed"), false);
    (void)approval_memory_named(json_str(json_get(x->decision, "remember")),
                                &out->memory);
    (void)snprintf(out->by, sizeof out->by, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(x->decision, "by")), 15)));
    (void)snprintf(out->id, sizeof out->id, "%.*s", STR_ARGS(x->id));
    out->edited = text_of(json_get(x->decision, "edited"));
    (void)snprintf(out->reason, sizeof out->reason, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(x->decision, "reason")),
                                    APPROVAL_REASON_MAX)));
}

static void entry_put(const struct approval_request *w, const char *id, uint32_t wait_ms,
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
    if (w->arguments.n)
        json_pair_raw(out, "arguments", w->arguments);
    json_close(out);
}

static bool entry_make(const struct approvals *a, const struct approval_request *w,
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
        return err_set(
            e, ERR_LIMIT,
            "the request has %zu bytes, which is too large to be shown to a person (at most %zu)",
            w->shown.n, APPROVAL_SHOWN_MAX);
    /* An entry that cannot be read would never be decided or removed. */
    if (!json_read(buf_view(&text), arena, e))
        return err_wrap(e, "the request cannot be shown to a person");
    return os_draft(a->dir, name, buf_view(&text), NULL, 0600, false, e);
}

/* The decision on the request, or an entry to wait for: its own, or one that no call waits for
 * any more. `*waits`: the lock that says that a call waits. */
static bool find_or_make(struct approvals *a, const struct approval_request *w,
                         uint32_t wait_ms, struct approval_decision *out, int *waits,
                         struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(LIST_MAX);
    scoped(free) struct entries *all = mem_new(sizeof *all);
    scoped_fd int lock = approvals_lock(a, e);
    if (lock < 0 || !entries_read(a, all, arena, e))
        return false;
    unsigned of_asker = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct entry *x = &all->at[i];
        of_asker += str_is(json_str(json_get(x->json, "asker")), w->asker);
        if (x->waiting || !same_request(x, w))
            continue;
        if (x->decision) {
            entry_take_decision(x, out);
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
            "too many requests wait for a person's approval (at most %u for one caller, %u in all); nothing ran; try again when some are decided",
            APPROVALS_ASKER_MAX, APPROVALS_MAX);
    if (!out->id[0] && !entry_make(a, w, wait_ms, out->id, e))
        return false;
    *waits = wait_ms ? os_lock(a->dir, WAITING_FILE, hash_fnv(HASH_FNV, str_of(out->id)),
                               LOCK_MS, e)
                     : -1;
    return !wait_ms || *waits >= 0;
}

/* Takes the decision, if there is one. */
static bool look_for_decision(struct approvals *a, struct approval_decision *out,
                              struct err *e)
{
    char name[32];
    struct entry x;
    struct err gone = {0};
    entry_file(str_of(out->id), SAID, name);
    if (!os_stamp(a->dir, name).inode)
        return true;
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_fd int lock = approvals_lock(a, e);
    if (lock < 0)
        return false;
    if (!entry_read(a, str_of(out->id), &x, arena, &gone) || !x.decision)
        return true; /* not a decision: it was warned of */
    entry_take_decision(&x, out);
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
    pthread_mutex_lock(&a->lock);
    (void)os_cond_wait(&a->changed, &a->lock, os_in_ms(LOOK_MS));
    pthread_mutex_unlock(&a->lock);
}

struct approval_ticket {
    struct approvals *in;
    struct approval_decision decision;
    int waits; /* the lock that says that a call waits */
    uint64_t until_ns;
    struct err why;
};

struct approval_ticket *approvals_begin(struct approvals *a,
                                        const struct approval_request *w,
                                        const struct approval_wait *wait, struct err *e)
{
    struct approval_ticket *t = mem_new(sizeof *t);
    *t = (struct approval_ticket){.in = a, .waits = -1};
    if (!find_or_make(a, w, wait->ms, &t->decision, &t->waits, e)) {
        free(t);
        return NULL;
    }
    t->until_ns = os_in_ms(wait->ms);
    if (!t->decision.decided && wait->ms && wait->begins)
        wait->begins(wait->arg, t->decision.id);
    return t;
}

bool approvals_look(struct approval_ticket *t, uint64_t *look_ns)
{
    uint64_t now = os_mono_ns();
    *look_ns = now + LOOK_MS * 1000000u;
    if (t->decision.decided || t->why.code || t->waits < 0)
        return true;
    return !look_for_decision(t->in, &t->decision, &t->why) || t->decision.decided ||
           now >= t->until_ns;
}

bool approvals_end(struct approval_ticket *t, struct approval_decision *out,
                   struct err *e)
{
    bool ok = t->why.code == ERR_NONE;
    *out = t->decision;
    if (!ok)
        *e = t->why;
    os_close(t->waits);
    free(t);
    return ok;
}

bool approvals_ask(struct approvals *a, const struct approval_request *w,
                   const struct approval_wait *wait, struct approval_decision *out,
                   struct err *e)
{
    uint64_t look_ns;
    *out = (struct approval_decision){0};
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
    static const char *const keys[] = {"kind",   "caller",   "client",  "question",
                                       "vault",  "tools",    "choices", "shown",
                                       "digest", "arguments"};
    int64_t left = x->until_ms - os_real_ms();
    json_open_object(w);
    json_pair_str(w, "id", x->id);
    json_pair_time(w, "asked", x->asked_ms);
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
    scoped_fd int lock = approvals_lock(a, e);
    if (lock < 0 || !entries_read(a, all, arena, e))
        return false;
    struct json_writer w = json_writer(out);
    json_open_array(&w);
    for (size_t i = 0; i < all->n; i++)
        if (!all->at[i].decision)
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
    if (!entry_is_id(id) || !entry_read(a, id, x, arena, &why) ||
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

/* On one line, whatever was typed. */
static void put_reason(struct str reason, struct json_writer *w)
{
    char line[APPROVAL_REASON_MAX + 1];
    struct str cut = str_cut(reason, APPROVAL_REASON_MAX);
    for (size_t i = 0; i < cut.n; i++)
        line[i] =
            (char)((unsigned char)cut.at[i] < ' ' || cut.at[i] == 0x7f ? ' ' : cut.at[i]);
    json_pair_str(w, "reason", (struct str){line, cut.n});
}

/* What a person said. */
struct word {
    bool allow;
    enum approval_memory memory;
    struct str reason;         /* of a denial; or empty */
    const struct json *edited; /* NULL: nothing was */
    const char *by;
};

static bool write_word(struct approvals *a, const struct entry *x,
                       const struct word *said, struct err *e)
{
    char name[32];
    scoped_buf struct buf text = buf_of(SAID_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_bool(&w, "allowed", said->allow);
    json_pair_cstr(&w, "remember", memories[said->memory]);
    json_pair_cstr(&w, "by", said->by);
    if (said->reason.n)
        put_reason(said->reason, &w);
    if (said->edited)
        json_pair(&w, "edited", said->edited);
    json_pair_int(&w, "at_ms", os_real_ms());
    json_close(&w);
    entry_file(x->id, SAID, name);
    return os_write_file(a->dir, name, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

static bool may_say(const struct entry *x, const struct word *said, struct err *e)
{
    if (x->decision)
        return err_set(
            e, ERR_CONFLICT, "%.*s is decided already: it was %s", STR_ARGS(x->id),
            json_bool(json_get(x->decision, "allowed"), false) ? "allowed" : "denied");
    if (said->allow && !offers(x, said->memory))
        return err_set(e, ERR_INVALID,
                       "%.*s cannot be allowed for '%s' here; nothing was decided",
                       STR_ARGS(x->id), memories[said->memory]);
    if (said->edited && !json_get(x->json, "arguments"))
        return err_set(e, ERR_INVALID,
                       "the arguments of %.*s cannot be edited here; nothing was decided",
                       STR_ARGS(x->id));
    return true;
}

static bool decide_one(struct approvals *a, struct str id, const struct word *said,
                       struct buf *entry, struct err *e)
{
    struct entry x;
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_fd int lock = approvals_lock(a, e);
    if (lock < 0 || !read_one(a, id, &x, arena, e) || !may_say(&x, said, e))
        return false;
    if (entry) {
        struct json_writer w = json_writer(entry);
        entry_put_shown(&x, &w);
        if (!buf_check(entry, "the approval", e))
            return false;
    }
    if (!write_word(a, &x, said, e))
        return false;
    pthread_mutex_lock(&a->lock);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return true;
}

bool approvals_decide(struct approvals *a, struct str id, bool allow,
                      enum approval_memory memory, const char *by, struct buf *entry,
                      struct err *e)
{
    const struct word said = {allow, allow ? memory : APPROVAL_CALL, STR(""), NULL, by};
    return decide_one(a, id, &said, entry, e);
}

bool approvals_deny(struct approvals *a, struct str id, struct str reason, const char *by,
                    struct buf *entry, struct err *e)
{
    const struct word said = {false, APPROVAL_CALL, reason, NULL, by};
    if (reason.n > APPROVAL_REASON_MAX)
        return err_set(e, ERR_INVALID,
                       "the reason has %zu bytes; at most %u are accepted", reason.n,
                       APPROVAL_REASON_MAX);
    return decide_one(a, id, &said, entry, e);
}

bool approvals_edit(struct approvals *a, struct str id, const struct json *arguments,
                    const char *by, struct buf *entry, struct err *e)
{
    const struct word said = {false, APPROVAL_CALL, STR(""), arguments, by};
    scoped_buf struct buf text = buf_of(APPROVAL_EDIT_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, arguments);
    if (!json_is(arguments, JSON_OBJECT) || text.failed)
        return err_set(e, ERR_INVALID,
                       "arguments must be an object of at most %zu bytes of JSON",
                       APPROVAL_EDIT_MAX);
    return decide_one(a, id, &said, entry, e);
}
