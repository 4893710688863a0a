/* The permissions of one call: every interface checks them here. */
#include <stdio.h>

#include "guard/internal.h"

/* The names stay the caller's own text. */
static bool read_wish(struct permit *p, const struct guard *g, const struct json *allowed,
                      struct err *e)
{
    size_t n = json_length(allowed), i = 0;
    if (!json_is(allowed, JSON_ARRAY))
        return true;
    if (n > PERMIT_WISH_MAX)
        return err_set(e, ERR_INVALID,
                       "allowedAPIs has %zu names; at most %u are accepted", n,
                       PERMIT_WISH_MAX);
    const char **at = calloc(n + 1, sizeof *at);
    if (!at)
        return err_set(e, ERR_LIMIT, "no memory for allowedAPIs");
    p->wish = (struct policy_names){.at = at, .n = n, .given = true};
    struct json_iter it = json_iter(allowed);
    while (json_next(&it)) {
        struct str name = json_str(it.value);
        at[i++] = name.at;
        if (call_pattern_known(name, &g->terms.calls))
            continue;
        const char *near = str_nearest(name, g->terms.calls.at, g->terms.calls.n);
        return err_set(e, ERR_INVALID,
                       "allowedAPIs: there is no '%.*s'%s%s%s; a method such as "
                       "'notes.get' or a namespace such as 'utils' is accepted",
                       STR_ARGS(str_cut(name, 60)), near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
    }
    return true;
}

bool permit_open(struct permit *p, struct ward *w, const struct caller *who,
                 const struct json *allowed, struct err *e)
{
    *p = (struct permit){0};
    p->ward = w;
    p->who = who;
    p->policy = ward_policy(w, e);
    if (!p->policy)
        return false;
    enum way way = caller_way(who);
    p->level = level_lower(who->level, p->policy->level);
    if (who->grant)
        p->level = level_lower(p->level, who->grant->level);
    if (way != WAY_OTHER)
        p->level = level_lower(p->level, p->policy->ways[way]);
    /* Also for what is checked without permit_call(): mounts, outgoing requests. */
    bool may_write = !who->grant || who->grant->scopes & SCOPE_WRITE;
    p->read_only = p->policy->read_only || p->level == LEVEL_ZERO || !may_write;
    if (alerts_allow(w->guard->alerts, who->name, e) &&
        quota_allows(w, p->policy, who, e) && read_wish(p, w->guard, allowed, e))
        return true;
    permit_close(p);
    return false;
}

void permit_close(struct permit *p)
{
    policy_release(p->policy);
    free((void *)(uintptr_t)p->wish.at);
    *p = (struct permit){0};
}

static bool call_is_named(const struct policy_names *list, const struct permit_need *need)
{
    for (size_t i = 0; i < list->n; i++) {
        struct str pattern = str_of(list->at[i]);
        if (call_pattern_fits(pattern, need->name) ||
            (need->alias && str_is(pattern, need->alias)))
            return true;
    }
    return false;
}

static bool is_outside(const struct policy_names *list, const struct permit_need *need)
{
    return list->given && !call_is_named(list, need);
}

unsigned permit_scope(const struct permit_need *need)
{
    return need->writes ? SCOPE_WRITE : need->scopeless ? 0 : SCOPE_READ;
}

/* An intent is recorded first, and the audit trail has room for the outcome. */
static bool is_recorded(const struct permit *p, const struct permit_need *need,
                        struct err *e)
{
    struct err why = {0};
    bool ok = trail_ready(p->ward->trail, &why) &&
              (!p->intend || p->intend(p->intend_arg, need, &why));
    return ok || !p->policy->audit.required ||
           err_set(e, why.code == ERR_BUSY ? ERR_BUSY : ERR_IO,
                   "%s did nothing, because it could not be recorded: %s", need->name,
                   why.msg);
}

bool permit_call(const struct permit *p, const struct permit_need *need, struct err *e)
{
    const struct policy *policy = p->policy;
    const char *call = need->name;
    if (p->level > need->least)
        return err_set(e, ERR_DENIED, "%s is not allowed at the level '%s'", call,
                       level_name(p->level));
    if (need->always && !call_is_named(&policy->denied, need))
        return true;
    unsigned scope = permit_scope(need);
    if (scope && !caller_may(p->who, scope, call, e))
        return false;
    if (is_outside(&p->wish, need))
        return err_set(e, ERR_DENIED, "%s is not among this call's allowedAPIs", call);
    if (is_outside(&policy->allowed[0], need) || is_outside(&policy->allowed[1], need))
        return err_set(
            e, ERR_DENIED,
            "%s is not among the allowedAPIs of the policy; a person may add it "
            "there ('cloche policy show')",
            call);
    if (call_is_named(&policy->denied, need))
        return err_set(
            e, ERR_DENIED,
            "%s is among the deniedAPIs of the policy; a person may take it out "
            "('cloche policy show')",
            call);
    if (need->writes && p->read_only)
        return err_set(
            e, ERR_DENIED,
            "%s would change something, and the policy is readOnly; nothing was "
            "changed",
            call);
    if (need->writes && !alerts_allow(p->ward->guard->alerts, p->who->name, e))
        return false;
    return !need->writes || (quota_allows_writes(p->ward, policy, p->who, call, e) &&
                             is_recorded(p, need, e));
}

bool permit_asks(const struct permit *p, const struct permit_need *need)
{
    return p->policy->confirm.n && !caller_is_person(p->who) &&
           call_is_named(&p->policy->confirm, need);
}

/* ---- what has a permission of its own ------------------------------------- */

const char *permission_name(enum permission p)
{
    return permission_words[p];
}

bool permission_named(struct str name, enum permission *out)
{
    for (unsigned i = PERMISSION_ALWAYS; permission_words[i]; i++)
        if (str_is(name, permission_words[i])) {
            *out = (enum permission)i;
            return true;
        }
    return false;
}

enum permission permission_for(const struct permit_use *use, const char **from)
{
    enum permission user = use->words[0], vault = use->words[1];
    const char *said = user == PERMISSION_USUAL ? "default" : "user";
    if (user == PERMISSION_USUAL)
        user = use->usual;
    if (from)
        *from = vault > user ? "vault" : said;
    return vault > user ? vault : user;
}

static bool use_denied(const struct permit_use *use, const char *from, struct err *e)
{
    if (strcmp(from, "vault") != 0)
        return err_set(e, ERR_DENIED,
                       "Permission denied: %s is 'never' by the policy; a person may "
                       "change that ('%s'); nothing ran",
                       use->name, use->change);
    return err_set(
        e, ERR_DENIED,
        "Permission denied: %s is 'never' by the vault's policy%s%s%s; nothing ran",
        use->name, use->key ? " (" : "", use->key ? use->key : "", use->key ? ")" : "");
}

bool permit_run(const struct permit *p, const struct permit_use *use,
                enum permission *out, struct err *e)
{
    struct err why = {0};
    const char *from;
    if (!permit_call(p, &use->need, &why))
        return err_set(e, why.code, "%s%s",
                       why.code == ERR_DENIED ? "Permission denied: " : "", why.msg);
    if (use->refused)
        return err_set(e, ERR_DENIED, "Permission denied: %s %s; nothing ran", use->name,
                       use->refused);
    *out = permission_for(use, &from);
    if (*out == PERMISSION_NEVER)
        return use_denied(use, from, e);
    if (caller_is_person(p->who))
        *out = PERMISSION_ALWAYS;
    return true;
}

uint32_t permit_timeout_ms(const struct permit *p)
{
    return p->policy->levels[p->level].timeout_ms;
}

uint32_t permit_memory_mb(const struct permit *p)
{
    return p->policy->levels[p->level].memory_mb;
}
