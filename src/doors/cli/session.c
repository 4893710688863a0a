/* cloche session: the sessions that evaluations have left, as a person sees them. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/subcommand.h"
#include "guard/guard.h"
#include "session/session.h"
#include "json/json.h"

#define LIST_MEMORY ((size_t)32 << 20)

/* The sessions of all callers. */
struct found {
    struct sessions *store;
    struct arena *arena;
    struct session_limits limits;
    struct session_info *all;
    size_t count;
};

struct session_command {
    const char *words[2]; /* the verb, and which session */
    bool json, all, help;
    struct found found;
};

static void found_done(struct found *f)
{
    sessions_close(f->store);
    arena_free(f->arena);
}

static bool find_all(struct found *f, struct err *e)
{
    struct ward *ward;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    const struct policy *p = g ? ward_policy(ward, e) : NULL;
    if (p)
        f->limits.idle_ms = (uint64_t)p->sessions.idle_minutes * 60000u;
    bool ok = p != NULL;
    policy_release(p);
    f->arena = arena_new(LIST_MEMORY);
    return ok && (f->store = sessions_open(e)) &&
           sessions_list(f->store, NULL, &f->limits, f->arena, &f->all, &f->count, e);
}

/* ---- list --------------------------------------------------------------- */

static void session_put_row(const struct session_info *x, uint64_t idle_ms,
                            struct json_writer *w)
{
    json_open_object(w);
    json_pair_str(w, "name", x->name);
    json_pair_str(w, "handle", x->handle);
    json_pair_str(w, "caller", x->caller);
    json_pair_str(w, "vault", x->vault);
    json_pair_int(w, "calls", (int64_t)x->calls);
    json_pair_int(w, "bytes", (int64_t)x->bytes);
    json_pair_time(w, "created", x->created_ms);
    json_pair_time(w, "used", x->used_ms);
    json_pair_time(w, "expires", x->used_ms + (int64_t)idle_ms);
    json_close(w);
}

static bool sessions_print_json(const struct found *f, struct err *e)
{
    scoped_buf struct buf text = buf_of(LIST_MEMORY);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < f->count; i++)
        session_put_row(&f->all[i], f->limits.idle_ms, &w);
    json_close(&w);
    if (!buf_check(&text, "the list", e))
        return false;
    cli_put_line(buf_view(&text));
    return true;
}

static bool list_sessions(void *command, struct err *e)
{
    struct session_command *c = command;
    struct found *f = &c->found;
    if (!find_all(f, e))
        return false;
    if (c->json)
        return sessions_print_json(f, e);
    for (size_t i = 0; i < f->count; i++) {
        const struct session_info *x = &f->all[i];
        char used[25];
        date_format(x->used_ms, used);
        printf("%-16.*s %-14.*s %s %5llu KB  %.*s\n", SPELT_ARGS(x->name),
               SPELT_ARGS(x->caller), used, (unsigned long long)(x->bytes >> 10),
               SPELT_ARGS(x->handle));
    }
    return true;
}

/* ---- close -------------------------------------------------------------- */

static bool close_one(const struct found *f, const char *name, struct err *e)
{
    const struct session_info *named = NULL;
    for (size_t i = 0; i < f->count; i++) {
        const struct session_info *x = &f->all[i];
        if (!str_is(x->name, name) && !str_is(x->handle, name))
            continue;
        if (named)
            return err_set(
                e, ERR_INVALID,
                "several callers have a session '%.40s'; give the handle of one, from "
                "cloche session list",
                name);
        named = x;
    }
    if (!named)
        return err_set(e, ERR_NOT_FOUND, "there is no session '%.60s'", name);
    return sessions_end(f->store, NULL, &f->limits, named->handle, e);
}

static bool close_sessions(void *command, struct err *e)
{
    struct session_command *c = command;
    struct found *f = &c->found;
    if (c->all == (c->words[1] != NULL))
        return err_set(e, ERR_INVALID,
                       "cloche session close takes a NAME, a handle, or --all");
    if (!find_all(f, e))
        return false;
    if (!c->all)
        return close_one(f, c->words[1], e);
    for (size_t i = 0; i < f->count; i++) {
        struct err why = {0};
        if (!sessions_end(f->store, NULL, &f->limits, f->all[i].handle, &why) &&
            why.code != ERR_NOT_FOUND) /* another was quicker */
            return err_set(e, why.code, "%s", why.msg);
    }
    return true;
}

static const struct verb verbs[] = {
    {.name = "list", .run = list_sessions},
    {.name = "close",
     .takes = "a NAME, a handle, or --all",
     .most = 1,
     .only = "--all",
     .run = close_sessions},
};

int command_session(int argc, char **argv)
{
    struct session_command c = {0};
    const struct option_row rows[] = {
        OPTION_FLAG("--all", &c.all, "close: every session"),
        OPTION_FLAG("--json", &c.json, "list: print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche session (list | close NAME | close --all) [OPTIONS]\n\nLists "
                 "and ends the sessions of cloche eval and of agents.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    int exit = verbs_command("session", verbs, LENGTH(verbs), &use, &c, argc, argv);
    found_done(&c.found);
    return exit;
}
