/* Shows people the policy in force and its origin, and the errors of a file. */
#include "guard/internal.h"

static void policy_put_file(const struct ward *w, bool in_vault, struct json_writer *out)
{
    struct err none = {0};
    struct os_stat st;
    scoped(free) char *path = policy_path(w, in_vault);
    int dir = in_vault ? w->dir : w->guard->config;
    if (in_vault && dir < 0)
        return;
    json_open_object(out);
    json_pair_cstr(out, "from", in_vault ? "vault" : "user");
    json_pair_cstr(out, "file", path);
    json_pair_bool(
        out, "there",
        dir >= 0 &&
            os_stat_beneath(dir, in_vault ? VAULT_POLICY_FILE : POLICY_FILE, &st, &none));
    json_close(out);
}

bool ward_show(struct ward *w, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    const struct policy_state *s = ward_read(w, &p, e);
    if (!s)
        return false;
    struct json_writer writer = json_writer(out);
    json_open_object(&writer);
    policy_put_state(s, &writer);
    json_key(&writer, "files");
    json_open_array(&writer);
    policy_put_file(w, false, &writer);
    policy_put_file(w, true, &writer);
    json_close(&writer);
    policy_put_problems(&p, &writer);
    json_pair_cstr(&writer, "digest", s->shown.digest);
    json_close(&writer);
    return buf_check(out, "the policy", e);
}

/* ---- checking ----------------------------------------------------------- */

static bool put_check(const struct problems *p, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_bool(&w, "ok", p->errors == 0);
    policy_put_problems(p, &w);
    json_close(&w);
    return buf_check(out, "the problems", e);
}

bool guard_check(struct guard *g, const char *file, struct str text, bool vault,
                 struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    struct policy_text t = {.file = file, .is_vault = vault, .text = text};
    struct policy_text nothing = {.file = POLICY_FILE};
    if (text.n > POLICY_FILE_MAX)
        return err_set(e, ERR_LIMIT, "%s has %zu bytes; at most %zu are accepted", file,
                       text.n, POLICY_FILE_MAX);
    policy_text_read(&t, &g->terms, &p);
    if (vault && !p.errors && !policy_merge(&g->terms.keys, &nothing, &t, &p, arena, e))
        return false;
    return put_check(&p, out, e);
}

bool ward_check(struct ward *w, struct buf *out, struct err *e)
{
    struct err refused = {0};
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    if (!ward_read(w, &p, &refused) && !p.errors) {
        *e = refused; /* it is of no file */
        return false;
    }
    return put_check(&p, out, e);
}

bool guard_schema(const struct guard *g, struct buf *out, struct err *e)
{
    return policy_schema(&g->terms.keys, out, e);
}
