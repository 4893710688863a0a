/* The audit and the history of a vault: what the one says, and the other should. The history
 * keeps with each revision the name by which the audit knows its call. */
#include "reconcile/reconcile.h"

#include "notes/notes.h"

#define LISTED 32u
#define NAMES_MAX ((size_t)8 << 10) /* bytes of JSON */

/* ---- what the history has ---------------------------------------------------- */

struct history {
    int64_t last, missing;
    void (*each)(void *arg, const struct json *change);
    void *arg;
};

/* Reads a page of the changes behind `*after`, which is moved on; 0: that was the last. */
static bool read_page(struct vault *v, struct str call, int64_t *after, struct history *h,
                      struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_VAULT);
    scoped_buf struct buf options, out;
    buf_init(&options, BUF_LINE);
    buf_init(&out, BUF_ANSWER);
    struct json_writer o = json_writer(&options), w = json_writer(&out);
    json_open_object(&o);
    json_pair_str(&o, "call", call);
    json_pair_int(&o, "after", *after);
    json_close(&o);
    const struct json *asked = json_read(buf_view(&options), arena, e);
    if (!asked || !notes_by_calls(v, asked, &w, e) || !buf_check(&out, "the history", e))
        return false;
    const struct json *answer = json_read(buf_view(&out), arena, e);
    struct json_iter it = json_iter(json_get(answer, "changes"));
    while (json_next(&it))
        h->each(h->arg, it.value);
    h->last = json_int(json_get(answer, "last"), 0);
    h->missing = json_int(json_get(answer, "missing"), 0);
    *after = json_int(json_get(answer, "next"), 0);
    return answer != NULL;
}

/* All changes that calls made, or that call ("": all). */
static bool read_history(struct vault *v, struct str call, struct history *h,
                         struct err *e)
{
    int64_t after = 0;
    do
        if (!read_page(v, call, &after, h, e))
            return false;
    while (after);
    return true;
}

/* ---- what was interrupted ------------------------------------------------------ */

static void add_note(void *arg, const struct json *change)
{
    tally_add(arg, json_str(json_get(change, "id")));
}

static void put_notes(const struct tally *notes, struct json_writer *w)
{
    size_t before = w->out->n;
    uint64_t told = 0;
    const char *name = NULL;
    if (!notes->count)
        return;
    json_pair_bool(w, "changed", true);
    json_key(w, "notes");
    json_open_array(w);
    for (; told < LISTED && w->out->n - before < NAMES_MAX; told++) {
        name = tally_next(notes, name);
        if (!name)
            break;
        json_put_cstr(w, name);
    }
    json_close(w);
    if (notes->count > told)
        json_pair_int(w, "more_notes", (int64_t)(notes->count - told));
}

void reconcile_interrupted(void *arg, const char *vault, struct str intent,
                           struct json_writer *w)
{
    struct err e = {0};
    struct tally notes = {0};
    (void)arg;
    scoped(vault_close) struct vault *v = vault ? vault_open(vault, &e) : NULL;
    struct history h = {.each = add_note, .arg = &notes};
    if (v && read_history(v, intent, &h, &e))
        put_notes(&notes, w);
    else if (e.code)
        json_pair_str(w, "why", str_cut(str_of(e.msg), 200));
    tally_done(&notes);
}

/* ---- the one against the other --------------------------------------------------- */

struct comparison {
    struct map calls; /* by their names */
    struct json_writer *out;
    int64_t revision;  /* the highest that a record names */
    char record[20];   /* the beginning of its MAC */
    size_t strange;    /* changes whose call no record names */
    char exported[40]; /* the time up to which records were taken out; "": none were */
};

/* Records that were exported are not missing. */
static void take_export(struct comparison *c, struct str line)
{
    struct err broken = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, arena, &broken);
    struct str until = json_str(json_get(r, "until"));
    if (str_is(json_str(json_get(r, "event")), "export") &&
        json_bool(json_get(r, "removed"), false) && until.n < sizeof c->exported &&
        str_cmp(until, str_of(c->exported)) > 0) {
        memcpy(c->exported, until.at, until.n);
        c->exported[until.n] = '\0';
    }
}

static bool take_record(void *arg, struct str line, struct err *e)
{
    struct comparison *c = arg;
    struct err broken = {0};
    if (memmem(line.at, line.n, "\"event\":\"export\"",
               sizeof "\"event\":\"export\"" - 1))
        take_export(c, line);
    if (!memmem(line.at, line.n, "\"intent\":\"", sizeof "\"intent\":\"" - 1))
        return true;
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, arena, &broken);
    struct str call = json_str(json_get(r, "intent"));
    int64_t revision = json_int(json_get(r, "revision"), 0);
    if (revision > c->revision) {
        c->revision = revision;
        struct str mac = str_cut(json_str(json_get(r, "mac")), 12);
        memcpy(c->record, mac.at, mac.n);
        c->record[mac.n] = '\0';
    }
    return !call.n || map_add_hash(&c->calls, call, e) != MAP_NONE;
}

#define STRANGE_TOLD 100u

static void check_change(void *arg, const struct json *change)
{
    struct comparison *c = arg;
    struct str call = json_str(json_get(change, "call"));
    if (map_find_hash(&c->calls, call) != MAP_NONE ||
        str_cmp(json_str(json_get(change, "time")), str_of(c->exported)) <= 0)
        return;
    if (c->strange++ < STRANGE_TOLD)
        json_put(c->out, change);
}

bool reconcile_verify(struct trail *t, const char *vault, struct json_writer *out,
                      bool *sound, struct err *e)
{
    struct comparison c = {.out = out};
    struct history h = {.each = check_change, .arg = &c};
    scoped(vault_close) struct vault *v = vault_open(vault, e);
    /* Intents stand there before the changes: what is read later is never behind. */
    bool ok = v != NULL;
    json_open_object(out);
    if (ok) {
        scoped_buf struct buf strange = buf_of(BUF_LIST);
        struct json_writer w = json_writer(&strange);
        /* An odd file is trail_verify()'s to tell. */
        struct err odd = {0};
        ok = trail_each(t, take_record, &c, &odd) || odd.code == ERR_LIMIT ||
             err_pass(e, &odd);
        c.out = &w;
        json_open_array(&w);
        ok = ok && read_history(v, STR(""), &h, e);
        json_close(&w);
        bool whole = ok && !c.strange && !h.missing && c.revision <= h.last;
        if (c.strange) {
            json_pair_raw(out, "unrecorded", buf_view(&strange));
            json_pair_int(out, "unrecorded_count", (int64_t)c.strange);
        }
        if (h.missing)
            json_pair_int(out, "missing_revisions", h.missing);
        if (c.revision > h.last) {
            json_pair_int(out, "history_ends", h.last);
            json_pair_int(out, "recorded_revision", c.revision);
            json_pair_cstr(out, "record", c.record);
        }
        json_pair_bool(out, "ok", whole);
        *sound = *sound && whole;
    }
    json_close(out);
    map_done(&c.calls);
    return ok;
}
