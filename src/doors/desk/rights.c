/* What agents may do: the policy with its origin, changes of it, and the answer to "may this
 * caller do that?", which the guard itself gives. */
#include <stdio.h>

#include "access/access.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "desk/internal.h"
#include "programs/programs.h"

#define TEXT_MAX ((size_t)4 << 20)
#define LIST_MEMORY ((size_t)64 << 20)

/* ---- the policy --------------------------------------------------------------- */

bool tell_policy(struct desk *d, struct http_request *rq, struct http_response *rs,
                 struct err *e)
{
    struct str vault;
    struct err why = {0};
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_SMALL);
    scoped_buf struct buf shown = buf_of(TEXT_MAX), schema = buf_of(TEXT_MAX),
                          checked = buf_of(TEXT_MAX);
    struct ward *ward = desk_ward_of(d, http_query(rq, "vault"), a, &vault, e);
    if (!ward || !guard_schema(d->o.guard, &schema, e))
        return false;
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", vault);
    if (ward_show(ward, &shown, &why)) {
        json_pair_raw(&w, "shown", buf_view(&shown));
    } else { /* it refuses every call: what is wrong with it is what there is to see */
        json_pair_raw(&w, "shown", STR("null"));
        json_pair_cstr(&w, "why", why.msg);
        if (ward_check(ward, &checked, &why))
            json_pair_raw(&w, "check", buf_view(&checked));
    }
    json_pair_raw(&w, "schema", buf_view(&schema));
    json_close(&w);
    return buf_check(&rs->body, "the policy", e);
}

/* {vault?, edits, make?, confirm?}: what the edits would come to, or that they were made. */
bool do_policy(struct desk *d, struct http_request *rq, const struct json *said,
               struct http_response *rs, struct err *e)
{
    (void)rq;
    struct str vault;
    bool make = json_bool(json_get(said, "make"), false), made;
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_SMALL);
    scoped_buf struct buf out = buf_of(TEXT_MAX);
    struct ward *ward = desk_ward_of(d, json_str(json_get(said, "vault")), a, &vault, e);
    struct ward_edits x = {.in_vault = vault.n > 0,
                           .edits = json_get(said, "edits"),
                           .by = make ? "page" : NULL};
    if (!ward || !ward_edit(ward, &x, &made, &out, e))
        return false;
    const struct json *found = json_read(buf_view(&out), a, e);
    if (make && !made && json_bool(json_get(found, "wider"), false)) {
        if (!confirmed(d, said,
                       "Agents may do more by this than before, from their next call on, "
                       "until you change it back.",
                       rs))
            return true;
        x.agreed = true;
        buf_clear(&out);
        if (!ward_edit(ward, &x, &made, &out, e))
            return false;
        found = json_read(buf_view(&out), a, e);
    }
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_bool(&w, "made", made);
    json_put_pairs(&w, found, (const char *const[]){NULL});
    json_close(&w);
    rs->type = "application/json";
    rs->status = make && !made ? 409 : 200;
    return !e->code && buf_check(&rs->body, "the policy", e);
}

/* ---- "may this caller do that?" ------------------------------------------------- */

static void put_answer(struct json_writer *w, const char *call, const char *what,
                       bool allowed, bool asks, const struct err *why)
{
    json_open_object(w);
    json_pair_cstr(w, "call", call);
    json_pair_cstr(w, "what", what);
    json_pair_cstr(w, "may", allowed ? asks ? "asks" : "yes" : "no");
    if (!allowed)
        put_spelt(w, "why", str_of(why->msg));
    json_close(w);
}

static void put_calls(const struct permit *p, struct json_writer *w)
{
    size_t count;
    const struct host_call *const *all = host_calls_listed(&count);
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        struct permit_need need = host_call_need(all[i]);
        bool allowed = permit_call(p, &need, &why);
        put_answer(w, all[i]->row.name, all[i]->summary, allowed,
                   allowed && permit_asks(p, &need), &why);
    }
}

static void put_uses(const struct permit *p, struct json_writer *w)
{
    for (size_t i = 0; i < capability_count; i++) {
        struct permit_use use;
        for (size_t at = 0;
             capability_list[i]->use && capability_list[i]->use(p->policy, at, &use);
             at++) {
            struct err why = {0};
            enum permission word;
            bool allowed = permit_run(p, &use, &word, &why);
            put_answer(w, use.key, use.name, allowed, allowed && word == PERMISSION_ASK,
                       &why);
        }
    }
}

/* Each shown files: what it may do at most. */
static bool put_tools(struct desk *d, const struct permit *p, struct str vault,
                      struct json_writer *w, struct err *e)
{
    struct tool_list all = {0};
    if (!d->o.catalogue)
        return true;
    if (!tool_list(d->o.catalogue, vault, &all, e))
        return false;
    for (size_t i = 0; i < all.count; i++) {
        const struct tool *t = all.tools[i];
        char call[sizeof "tools." + TOOL_NAME_MAX];
        struct err why = {0};
        enum permission word;
        (void)snprintf(call, sizeof call, "tools.%s", t->name);
        bool allowed = permit_tool(p, t, true, &word, &why);
        if (allowed && !t->enabled)
            allowed = err_set(&why, ERR_DENIED, "%s is disabled", t->name);
        put_answer(w, call, t->description, allowed, allowed && word == PERMISSION_ASK,
                   &why);
    }
    tool_list_release(d->o.catalogue, &all);
    return true;
}

/* The grant of the token of this name. false and *e: there is none that can be used. */
static bool grant_of(struct str name, struct grant *out, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    if (!tokens_list(&w, e))
        return false;
    struct json_iter it = json_iter(json_read(buf_view(&text), a, e));
    while (json_next(&it)) {
        if (!str_eq(json_str(json_get(it.value, "name")), name) ||
            json_str(json_get(it.value, "revoked")).n)
            continue;
        const struct json *vaults = json_get(it.value, "vaults");
        size_t n = json_length(vaults);
        const char **ids = arena_get(a, (n + 1) * sizeof *ids, e);
        char *principal = arena_get(a, PRINCIPAL_MAX, e);
        if (!ids || !principal)
            return false;
        (void)snprintf(principal, PRINCIPAL_MAX, "token %.*s",
                       STR_ARGS(str_cut(name, 40)));
        *out =
            (struct grant){.principal = principal,
                           .vaults = {.at = ids, .given = json_is(vaults, JSON_ARRAY)}};
        (void)level_named(json_cstr(json_get(it.value, "level")), &out->level);
        struct json_iter scope = json_iter(json_get(it.value, "scopes"));
        while (json_next(&scope))
            out->scopes |= scope_named(json_str(scope.value));
        struct json_iter vault = json_iter(vaults);
        while (json_next(&vault))
            ids[out->vaults.n++] = json_cstr(vault.value);
        return true;
    }
    return err_set(e, ERR_NOT_FOUND, "there is no token '%.*s'",
                   STR_ARGS(str_cut(name, 60)));
}

bool tell_may(struct desk *d, struct http_request *rq, struct http_response *rs,
              struct err *e)
{
    char name[CALLER_NAME], level[16];
    struct str vault, token = http_query(rq, "token"), said = http_query(rq, "level");
    struct grant grant = {0};
    struct permit p;
    struct err why = {0};
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct caller who = {.name = str_is(http_query(rq, "way"), "http") ? "http 127.0.0.1"
                                                                       : "stdio"};
    (void)snprintf(level, sizeof level, "%.*s", STR_ARGS(str_cut(said, sizeof level)));
    if (said.n && !level_named(level, &who.level))
        return err_set(e, ERR_INVALID, "level: full, limited or zero is accepted");
    struct ward *ward = desk_ward(d, http_query(rq, "vault"), a, &vault, e);
    if (!ward || (token.n && !grant_of(token, &grant, a, e)))
        return false;
    if (token.n) {
        who.grant = &grant;
        caller_http_name(name, &grant, "127.0.0.1");
        who.name = name;
    }
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", vault);
    json_pair_cstr(&w, "caller", who.name);
    char id[200];
    (void)snprintf(id, sizeof id, "%.*s", STR_ARGS(str_cut(vault, sizeof id)));
    if (!grant_reaches(who.grant, id))
        err_set(&why, ERR_DENIED, "this token is not for this vault");
    else if (permit_open(&p, ward, &who, NULL, &why)) {
        json_pair_cstr(&w, "level", level_name(p.level));
        json_pair_bool(&w, "readOnly", p.read_only);
        json_key(&w, "answers");
        json_open_array(&w);
        put_calls(&p, &w);
        put_uses(&p, &w);
        (void)put_tools(d, &p, vault, &w, e);
        json_close(&w);
        permit_close(&p);
    }
    if (why.code)
        put_spelt(&w, "refused", str_of(why.msg)); /* whatever it calls */
    json_close(&w);
    return !e->code && buf_check(&rs->body, "the answers", e);
}
