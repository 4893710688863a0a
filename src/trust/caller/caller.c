#include "caller/caller.h"

#include <stdio.h>

/* ---- levels ------------------------------------------------------------- */

static const char *const level_names[LEVELS] = {"full", "limited", "zero"};

const char *level_name(enum level level)
{
    return level_names[level];
}

bool level_named(const char *name, enum level *out)
{
    for (size_t i = 0; i < LEVELS; i++) {
        if (strcmp(level_names[i], name) != 0)
            continue;
        *out = (enum level)i;
        return true;
    }
    return false;
}

enum level level_lower(enum level a, enum level b)
{
    return a > b ? a : b;
}

/* ---- scopes ------------------------------------------------------------- */

static const struct {
    unsigned bit;
    const char *name;
} scopes[] = {{SCOPE_READ, "read"},
              {SCOPE_WRITE, "write"},
              {SCOPE_EVALUATE, "evaluate"},
              {SCOPE_AUDIT, "audit"}};

const char *scope_name(unsigned scope)
{
    for (size_t i = 0; i < LENGTH(scopes); i++)
        if (scopes[i].bit == scope)
            return scopes[i].name;
    return "?";
}

unsigned scope_named(struct str name)
{
    for (size_t i = 0; i < LENGTH(scopes); i++)
        if (str_is(name, scopes[i].name))
            return scopes[i].bit;
    return 0;
}

/* ---- grants ------------------------------------------------------------- */

bool grant_reaches(const struct grant *g, const char *vault_id)
{
    if (!g || !g->vaults.given)
        return true;
    for (size_t i = 0; i < g->vaults.n; i++)
        if (!strcmp(g->vaults.at[i], vault_id))
            return true;
    return false;
}

void grant_challenge(const struct grant *g, unsigned needed,
                     char out[static CHALLENGE_MAX])
{
    char words[40] = "";
    size_t n = 0;
    for (size_t i = 0; i < LENGTH(scopes); i++)
        if ((needed | (g ? g->scopes : 0)) & scopes[i].bit)
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s", n ? " " : "",
                                  scopes[i].name);
    const char *url = g ? g->metadata_url : NULL;
    (void)snprintf(out, CHALLENGE_MAX,
                   "Bearer error=\"insufficient_scope\", scope=\"%s\"%s%s%s", words,
                   url ? ", resource_metadata=\"" : "", url ? url : "", url ? "\"" : "");
}

/* ---- clients ------------------------------------------------------------ */

static void take_claim(struct str text, unsigned most, char *out)
{
    const char *at = text.at, *end = text.at + text.n;
    bool known = str_is_utf8(text);
    for (unsigned taken = 0; known && at < end && taken < most;) {
        const char *from = at;
        if (str_is_unseen(str_next_char(&at, end)))
            continue;
        memcpy(out, from, (size_t)(at - from));
        out += at - from;
        taken++;
    }
    *out = '\0';
}

void client_claim_read(struct client_claim *c, struct str name, struct str version)
{
    take_claim(str_trim(name), CLIENT_NAME_MAX, c->name);
    take_claim(str_trim(version), CLIENT_VERSION_MAX, c->version);
}

void client_claim_agent(struct client_claim *c, struct str agent)
{
    const char *end = agent.n ? memchr(agent.at, ' ', agent.n) : NULL;
    struct str product = {agent.at, end ? (size_t)(end - agent.at) : agent.n};
    const char *slash = product.n ? memchr(product.at, '/', product.n) : NULL;
    size_t n = slash ? (size_t)(slash - product.at) : product.n;
    struct str version = {slash ? slash + 1 : "", slash ? product.n - n - 1 : 0};
    client_claim_read(c, (struct str){product.at, n}, version);
}

void client_claim_put(const struct client_claim *c, struct json_writer *w)
{
    if (!c || !*c->name)
        return;
    json_key(w, "client");
    json_open_object(w);
    json_pair_cstr(w, "name", c->name);
    if (*c->version)
        json_pair_cstr(w, "version", c->version);
    json_pair_bool(w, "claimed", true);
    json_close(w);
}

/* ---- callers ------------------------------------------------------------ */

void caller_http_name(char out[static CALLER_NAME], const struct grant *g,
                      const char *peer)
{
    (void)snprintf(out, CALLER_NAME, "http %.*s", (int)PRINCIPAL_MAX,
                   g ? g->principal : peer);
}

enum way caller_way(const struct caller *who)
{
    static const char *const ways[WAY_OTHER] = {"stdio", "http", "terminal"};
    const char *name = who->name;
    size_t n = strcspn(name, " ");
    for (size_t i = 0; i < WAY_OTHER; i++)
        if (str_is((struct str){name, n}, ways[i]))
            return (enum way)i;
    return WAY_OTHER;
}

bool caller_is_person(const struct caller *who)
{
    return caller_way(who) == WAY_TERMINAL || !strcmp(who->name, CALLER_PAGE);
}

bool caller_may(const struct caller *who, unsigned scope, const char *what, struct err *e)
{
    if (!who->grant || who->grant->scopes & scope)
        return true;
    return err_set(e, ERR_DENIED,
                   "%s needs the scope '%s', which this token does not have; nothing was "
                   "changed",
                   what, scope_name(scope));
}

const char *caller_principal(const struct caller *who)
{
    return who->grant ? who->grant->principal : "";
}

bool policy_names_have(const struct policy_names *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->at[i], name))
            return true;
    return false;
}
