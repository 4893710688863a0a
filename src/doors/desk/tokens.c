/* Tokens for programs: made, listed and revoked by a person, each recorded. */
#include <stdio.h>

#include "access/access.h"
#include "desk/internal.h"

#define LIST_MEMORY ((size_t)64 << 20)

/* In the user's own trail. */
static bool token_record(struct guard *g, const char *event, const char *name,
                         const struct token_wish *t, const char *by, struct err *e)
{
    struct ward *ward = guard_ward(g, NULL, e);
    if (!ward)
        return false;
    struct ward_event told;
    ward_event_begin(&told, event);
    json_pair_cstr(&told.out, "caller", by);
    json_pair_cstr(&told.out, "why", name);
    if (t) {
        json_pair_cstr(&told.out, "level", level_name(t->level));
        json_pair_int(&told.out, "scopes", t->scopes);
        json_key(&told.out, "vaults");
        json_open_array(&told.out);
        for (size_t i = 0; i < t->vaults.n; i++)
            json_put_cstr(&told.out, t->vaults.at[i]);
        json_close(&told.out);
    }
    return ward_event_end(&told, ward, NULL, true, e);
}

bool desk_token_create(struct guard *g, const struct token_wish *t, const char *by,
                       char text[static TOKEN_TEXT], struct err *e)
{
    struct err why = {0};
    if (!token_create(t, text, e))
        return false;
    if (token_record(g, "token create", t->name, t, by, &why))
        return true;
    char name[TOKEN_NAME_MAX + 1];
    explicit_bzero(text, TOKEN_TEXT);
    (void)token_revoke(t->name, name, e);
    *e = why;
    return err_wrap(e, "no token was made, since it could not be recorded");
}

bool desk_token_revoke(struct guard *g, const char *which, const char *by, struct err *e)
{
    char name[TOKEN_NAME_MAX + 1];
    return token_revoke(which, name, e) &&
           token_record(g, "token revoke", name, NULL, by, e);
}

/* ---- the page ------------------------------------------------------------------- */

bool tell_tokens(struct desk *d, struct http_request *rq, struct http_response *rs,
                 struct err *e)
{
    (void)d, (void)rq;
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_key(&w, "tokens");
    if (!tokens_list(&w, e))
        return false;
    json_close(&w);
    return buf_check(&rs->body, "the tokens", e);
}

/* The vaults of the list, whose ids have to be those of vaults that are there. */
static bool vaults_named(struct desk *d, const struct json *list,
                         struct policy_names *out, struct arena *a, struct err *e)
{
    const char **ids = arena_get(a, (json_length(list) + 1) * sizeof *ids, e);
    *out = (struct policy_names){.at = ids, .given = json_is(list, JSON_ARRAY)};
    struct json_iter it = json_iter(list);
    while (ids && json_next(&it)) {
        struct str name;
        if (!json_is(it.value, JSON_STRING))
            return err_set(e, ERR_INVALID, "vaults: a list of ids is accepted");
        if (!desk_ward(d, json_str(it.value), a, &name, e))
            return false;
        ids[out->n++] = json_cstr(it.value);
    }
    return ids && (!out->given || out->n ||
                   err_set(e, ERR_INVALID, "a token for no vault opens nothing"));
}

/* {name, level, scopes: "read,write", vaults?, expires: "90d" | "never", confirm}. */
bool do_token(struct desk *d, struct http_request *rq, const struct json *said,
              struct http_response *rs, struct err *e)
{
    (void)rq;
    char text[TOKEN_TEXT];
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    const struct json *level = json_get(said, "level");
    struct token_wish t = {.name = json_cstr(json_get(said, "name")),
                           .level = LEVEL_FULL};
    if (level && !level_named(json_cstr(level), &t.level))
        return err_set(e, ERR_INVALID, "level: full, limited or zero is accepted");
    if (!scopes_read(json_cstr(json_get(said, "scopes")), &t.scopes, e) ||
        !expiry_read(json_cstr(json_get(said, "expires")), &t.expires_ms, e) ||
        !vaults_named(d, json_get(said, "vaults"), &t.vaults, a, e))
        return false;
    if (!confirmed(d, said,
                   "Every program that has this token can reach your notes over HTTP, as "
                   "far as the token and the policy let it, until it expires or you "
                   "revoke it.",
                   rs))
        return true;
    if (!desk_token_create(d->o.guard, &t, "page", text, e))
        return false;
    say_json(rs, 200, "token", text);
    explicit_bzero(text, sizeof text);
    return true;
}

bool do_revoke(struct desk *d, struct http_request *rq, const struct json *said,
               struct http_response *rs, struct err *e)
{
    (void)rq;
    if (!desk_token_revoke(d->o.guard, json_cstr(json_get(said, "name")), "page", e))
        return false;
    say_json(rs, 200, "done", "revoke");
    return true;
}
