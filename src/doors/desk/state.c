/* The page's state as JSON. Texts are spelt out, as at the terminal. */
#include "catalogue/catalogue.h"
#include "desk/internal.h"
#include "json/json.h"

#define TEXT_MAX ((size_t)1 << 20)
#define LIST_MAX ((size_t)64 << 20)

void put_spelt(struct json_writer *w, const char *key, struct str text)
{
    scoped_buf struct buf spelt = buf_of(TEXT_MAX);
    str_spell(text, &spelt);
    json_pair_str(w, key, buf_view(&spelt));
}

static void put_approval(const struct json *x, struct json_writer *w)
{
    scoped_buf struct buf shown = buf_of(TEXT_MAX);
    approvals_tell_shown(json_get(x, "shown"), &shown);
    json_open_object(w);
    json_pair(w, "id", json_get(x, "id"));
    json_pair(w, "kind", json_get(x, "kind"));
    json_pair(w, "asked", json_get(x, "asked"));
    json_pair(w, "left_ms", json_get(x, "left_ms"));
    json_pair(w, "waiting", json_get(x, "waiting"));
    json_pair(w, "choices", json_get(x, "choices"));
    json_pair(w, "tools", json_get(x, "tools"));
    scoped_buf struct buf asker = buf_of(TEXT_MAX);
    approvals_tell_entry_asker(x, &asker);
    json_pair_str(w, "caller", buf_view(&asker));
    put_spelt(w, "question", json_str(json_get(x, "question")));
    json_pair_str(w, "text", buf_view(&shown));
    json_close(w);
}

static bool put_approvals(struct desk *d, struct json_writer *w, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(4 * LIST_MAX);
    scoped_buf struct buf text = buf_of(LIST_MAX);
    if (!approvals_list(d->o.approvals, &text, e))
        return false;
    struct json_iter it = json_iter(json_read(buf_view(&text), a, e));
    json_key(w, "approvals");
    json_open_array(w);
    while (json_next(&it))
        put_approval(it.value, w);
    json_close(w);
    return !e->code;
}

static void state_put_tool(const struct tool *t, const struct policy *p,
                           struct json_writer *w)
{
    static const char *const access[] = {"none", "read", "write", "readwrite"};
    enum tool_access files = t->execution.access;
    struct permit_tool facts = {.name = t->name,
                                .builtin = t->builtin,
                                .is_signed = t->signer != NULL,
                                .reads = files == TOOL_READ || files == TOOL_READWRITE,
                                .writes = files == TOOL_WRITE || files == TOOL_READWRITE};
    const char *from;
    enum permission word = policy_permission(p, &facts, &from);
    json_open_object(w);
    json_pair_cstr(w, "name", t->name);
    put_spelt(w, "version", str_of(t->version));
    put_spelt(w, "category", str_of(t->category));
    put_spelt(w, "description", str_of(t->description));
    put_spelt(w, "license", str_of(t->license));
    put_spelt(w, "signer", str_of(t->signer));
    put_spelt(w, "vault", str_of(t->vault));
    json_pair_cstr(w, "source", t->builtin ? "builtin" : "user");
    json_pair_cstr(w, "files", access[files]);
    json_pair_bool(w, "enabled",
                   t->enabled && !policy_names_tool(&p->tools.disabled, t->name));
    json_pair_cstr(w, "permission", permission_name(word));
    json_pair_bool(w, "asksForFiles", policy_asks_for_files(p, &facts));
    json_pair_cstr(w, "from", from);
    json_close(w);
}

static bool put_tools(struct desk *d, struct json_writer *w, struct err *e)
{
    struct tool_list all = {0};
    struct ward *ward = guard_ward(d->o.guard, NULL, e);
    const struct policy *p = ward ? ward_policy(ward, e) : NULL;
    bool ok =
        p && (!d->o.catalogue || tool_list(d->o.catalogue, TOOL_EVERY_VAULT, &all, e));
    json_key(w, "tools");
    json_open_array(w);
    for (size_t i = 0; ok && i < all.count; i++)
        state_put_tool(all.tools[i], p, w);
    json_close(w);
    if (ok && d->o.catalogue)
        tool_list_release(d->o.catalogue, &all);
    policy_release(p);
    return ok;
}

static void put_compiling(struct desk *d, struct json_writer *w)
{
    pthread_mutex_lock(&d->lock);
    if (d->compiling.seconds) {
        json_key(w, "compiling");
        json_open_object(w);
        json_pair_cstr(w, "tool", d->compiling.tool);
        json_pair_int(w, "seconds", d->compiling.seconds);
        json_pair_bool(w, "simply", d->compiling.simply);
        json_close(w);
    }
    pthread_mutex_unlock(&d->lock);
}

static unsigned seconds_compiling(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    unsigned seconds = d->compiling.seconds;
    pthread_mutex_unlock(&d->lock);
    return seconds;
}

uint64_t desk_state(struct desk *d)
{
    struct err none = {0};
    struct ward *ward = guard_ward(d->o.guard, NULL, &none);
    const struct policy *p = ward ? ward_policy(ward, &none) : NULL;
    uint64_t state = approvals_state(d->o.approvals);
    if (d->o.catalogue)
        state = state * 31 + catalogue_version(d->o.catalogue);
    for (const char *c = p ? p->digest : "unusable"; *c; c++)
        state = state * 31 + (unsigned char)*c;
    state = state * 31 + seconds_compiling(d);
    policy_release(p);
    return state & (((uint64_t)1 << 53) - 1); /* a number of JavaScript's */
}

bool desk_put_state(struct desk *d, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_int(&w, "state", (int64_t)desk_state(d));
    bool ok = put_approvals(d, &w, e) && put_tools(d, &w, e);
    put_compiling(d, &w);
    json_close(&w);
    return ok && buf_check(out, "what the page shows", e);
}
