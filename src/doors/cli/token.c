/* cloche token: who else may come in over HTTP. */
#include <inttypes.h>
#include <stdio.h>

#include "access/access.h"
#include "caller/caller.h"
#include "cli/commands.h"
#include "cli/subcommand.h"
#include "desk/desk.h"
#include "guard/guard.h"
#include "vaults/vaults.h"
#include "json/json.h"

#define LIST_MEMORY ((size_t)64 << 20)
#define SCOPES_USUAL "read,write,evaluate"
#define EXPIRES_USUAL "90d"

struct token_command {
    const char *words[2]; /* the verb, and which token */
    const char *scopes, *level, *expires, *vaults[OPTION_REPEAT + 1];
    bool json, help, unregistered;
};

/* ---- create ------------------------------------------------------------- */

/* A misspelt id would be a token that opens nothing. */
static bool check_vaults(const struct policy_names *vaults, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list = {0};
    if (!vaults_read(a, &list, e))
        return false;
    for (size_t i = 0; i < vaults->n; i++)
        if (!vaults_find(&list, str_of(vaults->at[i])))
            return err_set(e, ERR_INVALID,
                           "no registered vault has the id '%.60s', and no token was "
                           "made; 'cloche vault list' shows them. For a folder that "
                           "'cloche serve --vault DIR' is given, whose id is its name, "
                           "add --unregistered",
                           vaults->at[i]);
    return true;
}

static bool create(void *command, struct err *e)
{
    const struct token_command *c = command;
    char text[TOKEN_TEXT];
    struct token_wish w = {.name = c->words[1], .level = LEVEL_FULL};
    while (w.vaults.n < OPTION_REPEAT && c->vaults[w.vaults.n])
        w.vaults.n++;
    w.vaults.at = c->vaults;
    w.vaults.given = w.vaults.n > 0;
    if (c->level && !level_named(c->level, &w.level))
        return err_set(e, ERR_INVALID, "unknown level '%.40s'; use full, limited or zero",
                       c->level);
    if (!scopes_read(c->scopes ? c->scopes : SCOPES_USUAL, &w.scopes, e) ||
        !expiry_read(c->expires ? c->expires : EXPIRES_USUAL, &w.expires_ms, e))
        return false;
    if (!c->unregistered && !check_vaults(&w.vaults, e))
        return false;
    struct ward *ward;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    if (!g || !desk_token_create(g, &w, "terminal", text, e))
        return false;
    printf("%s\n", text);
    fflush(stdout);
    explicit_bzero(text, sizeof text);
    fprintf(stderr,
            "cloche: this token is shown once; it is for %s, at the level '%s', and %s\n",
            w.vaults.given ? "the vaults that were given" : "all vaults",
            level_name(w.level),
            w.expires_ms ? c->expires ? "expires as given" : "expires in 90 days"
                         : "never expires");
    return true;
}

/* ---- list and revoke ---------------------------------------------------- */

/* "read,write" or "work,home"; null as `none`. */
static void print_words(const struct json *list, const char *none)
{
    struct json_iter it = json_iter(list);
    if (!json_length(list))
        printf("%s", json_is(list, JSON_NULL) ? none : "-");
    for (bool first = true; json_next(&it); first = false)
        printf("%s%.*s", first ? "" : ",", SPELT_ARGS(json_str(it.value)));
}

static void print_token(const struct json *t)
{
    struct str expires = json_str(json_get(t, "expires")),
               revoked = json_str(json_get(t, "revoked")),
               used = json_str(json_get(t, "last_used"));
    printf("%.*s %-16.*s %-7.*s ", SPELT_ARGS(json_str(json_get(t, "id"))),
           SPELT_ARGS(json_str(json_get(t, "name"))),
           SPELT_ARGS(json_str(json_get(t, "level"))));
    print_words(json_get(t, "scopes"), "-");
    printf(" of ");
    print_words(json_get(t, "vaults"), "all vaults");
    if (revoked.n)
        printf("; revoked %.*s\n", SPELT_ARGS(revoked));
    else
        printf("; expires %.*s, last used %.*s\n",
               SPELT_ARGS(expires.n ? expires : STR("never")),
               SPELT_ARGS(used.n ? used : STR("never")));
}

static bool tokens_print(void *command, struct err *e)
{
    const struct token_command *c = command;
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    scoped_buf struct buf text = buf_of((size_t)32 << 20);
    struct json_writer w = json_writer(&text);
    if (!tokens_list(&w, e))
        return false;
    if (c->json)
        cli_put_line(buf_view(&text));
    struct json_iter it = json_iter(c->json ? NULL : json_read(buf_view(&text), a, e));
    while (json_next(&it))
        print_token(it.value);
    return !e->code;
}

static bool revoke(void *command, struct err *e)
{
    const struct token_command *c = command;
    struct ward *ward;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    return g && desk_token_revoke(g, c->words[1], "terminal", e);
}

/* ---- the command -------------------------------------------------------- */

static const struct verb verbs[] = {
    {.name = "list", .run = tokens_print},
    {.name = "create",
     .takes = "a NAME",
     .least = 1,
     .most = 1,
     .only = "--scope, --vault, --unregistered, --level and --expires",
     .run = create},
    {.name = "revoke", .takes = "a NAME", .least = 1, .most = 1, .run = revoke},
};

int command_token(int argc, char **argv)
{
    struct token_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--scope", &c.scopes, "LIST",
                     "create: of read,write,evaluate,audit (" SCOPES_USUAL ")"),
        OPTION_VALUE("--vault", c.vaults, "ID...",
                     "create: for this vault only; may be repeated"),
        OPTION_FLAG("--unregistered", &c.unregistered,
                    "create: a --vault need not be registered"),
        OPTION_VALUE("--level", &c.level, "LEVEL",
                     "create: at most full, limited or zero (full)"),
        OPTION_VALUE("--expires", &c.expires, "TIME",
                     "create: 30d, 12h, 90m or never (" EXPIRES_USUAL ")"),
        OPTION_FLAG("--json", &c.json, "list: print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche token (create NAME | list | revoke NAME) [OPTIONS]\n\nTokens "
            "admit programs over HTTP (docs/serving.md). A token is shown once, when "
            "it\nis created; without --vault it is for all vaults. A revoked token is "
            "refused at once.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    return verbs_command("token", verbs, LENGTH(verbs), &use, &c, argc, argv);
}
