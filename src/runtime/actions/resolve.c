#include "actions/resolve.h"

#include "actions/calls.h"
#include "actions/function_actions.h"
#include "actions/places.h"

#define LINES_MAX ((size_t)4 << 20)
#define DIFF_MAX ((size_t)16000) /* of one function's code */

void resolved_init(struct resolved *r)
{
    *r = (struct resolved){0};
    buf_init(&r->lines, LINES_MAX);
}

void resolved_done(struct resolved *r)
{
    buf_done(&r->lines);
}

static bool end(struct resolved *r, struct json_writer *w, struct err *e)
{
    json_close(w);
    crypto_hash_hex(buf_view(&r->lines), r->digest);
    r->changes = (struct confirm_changes){buf_view(&r->lines), r->digest};
    return buf_check(&r->lines, "what would change", e);
}

bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e)
{
    return !strcmp(before->digest, now->digest) ||
           err_set(e, ERR_CONFLICT,
                   "the target changed after the user approved this call. Nothing was "
                   "changed; repeat the call to request approval again");
}

/* ---- custom functions --------------------------------------------------------- */

static void put_code(struct str old, struct str now, struct json_writer *w)
{
    scoped_buf struct buf diff;
    buf_init(&diff, 2 * DIFF_MAX);
    bool whole = diff_put(old, now, DIFF_MAX, &diff);
    struct str left = buf_view(&diff);
    while (left.n) {
        const char *at = memchr(left.at, '\n', left.n);
        size_t n = at ? (size_t)(at - left.at) : left.n;
        json_put_str(w, (struct str){left.at, n});
        n += at != NULL;
        left = (struct str){left.at + n, left.n - n};
    }
    if (!whole)
        json_put_cstr(w, "(and more lines)");
}

static void put_function(const struct action_call *c, const struct function_set *s,
                         struct str name, struct json_writer *w)
{
    const struct function *fn = function_named(s, name);
    const struct json *code = json_get(c->arguments, "code");
    scoped_buf struct buf line;
    buf_init(&line, (size_t)64 << 10);
    buf_str(&line, name);
    if (fn) {
        buf_printf(&line, " version %u, ", fn->version);
        buf_str(&line, fn->hash);
        buf_cstr(&line, ": ");
        function_signature(fn, &line);
    } else {
        buf_cstr(&line, ": there is none of this name yet");
    }
    json_put_str(w, buf_view(&line));
    if (json_is(code, JSON_STRING))
        put_code(fn ? fn->code : STR(""), json_str(code), w);
}

bool resolve_functions(const struct action_call *c, struct resolved *out, struct err *e)
{
    struct functions *f;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    struct json_writer w = json_writer(&out->lines);
    if (!s)
        return false;
    struct str name = json_str(json_get(c->arguments, "name"));
    struct json_iter it = json_iter(json_get(c->arguments, "names"));
    json_open_array(&w);
    if (name.n)
        put_function(c, s, name, &w);
    while (json_next(&it))
        put_function(c, s, json_str(it.value), &w);
    return end(out, &w, e);
}

/* ---- vaults ------------------------------------------------------------------- */

bool resolve_vault(struct evaluation *v, const struct json *args, struct resolved *out,
                   struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
    const struct json *first = json_at(args, 0);
    struct str id = json_str(json_is(first, JSON_OBJECT) ? json_get(first, "id") : first);
    unsigned number = vault_set_find(v->actions->vaults, id, v->who->grant, e);
    scoped(free) char *path = number ? vault_set_path(v->actions->vaults, number) : NULL;
    scoped_buf struct buf list;
    buf_init(&list, (size_t)16 << 20);
    struct json_writer all = json_writer(&list);
    if (!number || !vault_set_list(v->actions->vaults, v->who->grant, &all, e))
        return false;
    const struct json *rows = json_read(buf_view(&list), a, e);
    struct json_iter it = json_iter(rows);
    struct json_writer w = json_writer(&out->lines);
    json_open_array(&w);
    while (json_next(&it)) {
        if (!str_eq(json_str(json_get(it.value, "id")), id))
            continue;
        scoped_buf struct buf line;
        buf_init(&line, (size_t)64 << 10);
        buf_cstr(&line, "the vault '");
        buf_str(&line, json_str(json_get(it.value, "name")));
        buf_printf(&line, "' in the folder %s; ", path ? path : "(none)");
        buf_str(&line, json_str(json_get(it.value, "description")));
        json_put_str(&w, buf_view(&line));
    }
    return rows && end(out, &w, e);
}
