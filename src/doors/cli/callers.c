/* cloche callers: those that are paused, letting them go on, and who came at all. */
#include <stdio.h>

#include "access/access.h"
#include "audit/audit.h"
#include "caller/caller.h"
#include "cli/commands.h"
#include "cli/subcommand.h"
#include "guard/guard.h"
#include "json/json.h"

#define SEEN_MAX 256u /* callers that are told apart, each with its clients */

/* A program by the name that it claims, as the trail has it. */
struct seen {
    char caller[104];
    struct client_claim client;
    uint64_t calls;
    char last[40];
};

struct seeing {
    struct seen *at; /* of SEEN_MAX */
    size_t count;
    uint64_t more; /* calls of others */
};

static struct seen *find_seen(struct seeing *s, const struct seen *one)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->at[i].caller, one->caller) &&
            !strcmp(s->at[i].client.name, one->client.name) &&
            !strcmp(s->at[i].client.version, one->client.version))
            return &s->at[i];
    if (s->count == SEEN_MAX)
        return NULL;
    s->at[s->count] = *one;
    return &s->at[s->count++];
}

static bool see(void *arg, struct str line, struct err *e)
{
    struct seeing *s = arg;
    struct err broken = {0};
    (void)e;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &broken);
    const struct json *client = json_get(r, "client");
    struct seen one = {0};
    if (!str_is(json_str(json_get(r, "event")), "call"))
        return true;
    (void)snprintf(one.caller, sizeof one.caller, "%.*s",
                   STR_ARGS(str_cut(json_str(json_get(r, "caller")), 100)));
    client_claim_read(&one.client, json_str(json_get(client, "name")),
                      json_str(json_get(client, "version")));
    struct seen *known = find_seen(s, &one);
    if (!known) {
        s->more++;
        return true;
    }
    struct str time = str_cut(json_str(json_get(r, "time")), sizeof known->last - 1);
    known->calls++;
    if (str_cmp(time, str_of(known->last)) > 0)
        (void)snprintf(known->last, sizeof known->last, "%.*s", STR_ARGS(time));
    return true;
}

static void put_seen(const struct seeing *s, struct json_writer *w)
{
    json_open_array(w);
    for (size_t i = 0; i < s->count; i++) {
        json_open_object(w);
        json_pair_cstr(w, "caller", s->at[i].caller);
        client_claim_put(&s->at[i].client, w);
        json_pair_int(w, "calls", (int64_t)s->at[i].calls);
        json_pair_cstr(w, "last", s->at[i].last);
        json_close(w);
    }
    json_close(w);
}

static void callers_print_all(const struct json *answer)
{
    struct json_iter it = json_iter(json_get(answer, "paused"));
    while (json_next(&it))
        printf("%.*s paused since %.*s: %.*s\n", SPELT_ARGS(it.key),
               SPELT_ARGS(json_str(json_get(it.value, "since"))),
               SPELT_ARGS(json_str(json_get(it.value, "why"))));
    it = json_iter(json_get(answer, "seen"));
    while (json_next(&it)) {
        const struct json *client = json_get(it.value, "client");
        printf("%.*s", SPELT_ARGS(json_str(json_get(it.value, "caller"))));
        if (client)
            printf(" (says it is %.*s %.*s)",
                   SPELT_ARGS(json_str(json_get(client, "name"))),
                   SPELT_ARGS(json_str(json_get(client, "version"))));
        printf(": %lld call%s, the last %.*s\n",
               (long long)json_int(json_get(it.value, "calls"), 0),
               str_plural(json_int(json_get(it.value, "calls"), 0)),
               SPELT_ARGS(json_str(json_get(it.value, "last"))));
    }
    if (json_get(answer, "more"))
        printf("%lld call%s of others\n",
               (long long)json_int(json_get(answer, "more"), 0),
               str_plural(json_int(json_get(answer, "more"), 0)));
}

struct callers_command {
    const char *vault, *words[2]; /* the verb, and who */
    bool json, help;
    struct guard *guard;
    struct ward *ward;
};

static bool callers_print(void *command, struct err *e)
{
    const struct callers_command *c = command;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    scoped_buf struct buf text;
    scoped(free) struct seen *all = mem_new(SEEN_MAX * sizeof *all);
    struct seeing s = {.at = all};
    buf_init(&text, BUF_LIST);
    struct json_writer w = json_writer(&text);
    struct err odd = {0};
    if (!trail_each(ward_trail(c->ward), see, &s, &odd)) {
        if (odd.code != ERR_LIMIT)
            return err_set(e, odd.code, "%s", odd.msg);
        (void)cli_fail(&odd); /* and the others are told of */
    }
    json_open_object(&w);
    json_key(&w, "paused");
    struct err damaged = {0};
    bool known = guard_paused(c->guard, &w, &damaged);
    json_key(&w, "seen");
    put_seen(&s, &w);
    if (s.more)
        json_pair_int(&w, "more", (int64_t)s.more);
    json_close(&w);
    if (!buf_check(&text, "the callers", e))
        return false;
    if (c->json)
        cli_put_line(buf_view(&text));
    else
        callers_print_all(json_read(buf_view(&text), a, e));
    return !e->code && (known || err_set(e, damaged.code, "%s", damaged.msg));
}

/* Tokens that nobody has come with yet. */
static bool caller_is_token(const char *caller, struct err *e)
{
    static const char prefix[] = "http token ";
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    scoped_buf struct buf text = buf_of((size_t)32 << 20);
    struct json_writer w = json_writer(&text);
    if (!str_starts(str_of(caller), prefix) || !tokens_list(&w, e))
        return false;
    struct json_iter it = json_iter(json_read(buf_view(&text), a, e));
    while (json_next(&it))
        if (str_is(json_str(json_get(it.value, "name")), caller + strlen(prefix)))
            return true;
    return false;
}

/* A misspelt name would pause nobody, and let the one who was meant go on. */
static bool callers_check_name(struct ward *ward, const char *caller, struct err *e)
{
    scoped(free) struct seen *all = mem_new(SEEN_MAX * sizeof *all);
    struct seeing s = {.at = all};
    const char *names[SEEN_MAX + 2] = {"stdio", "http 127.0.0.1"};
    size_t count = 2;
    if (!trail_each(ward_trail(ward), see, &s, e))
        return false;
    for (size_t i = 0; i < s.count; i++)
        names[count++] = s.at[i].caller;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(caller, names[i]))
            return true;
    if (s.more ||
        caller_is_token(caller, e)) /* who of the many others came is not known */
        return true;
    const char *near = str_nearest(str_of(caller), names, count);
    return e->code ? false
           : near  ? err_set(e, ERR_INVALID,
                             "there is no caller '%.80s', and nobody was paused; did "
                             "you mean '%.80s'?",
                             caller, near)
                   : err_set(e, ERR_INVALID,
                             "there is no caller '%.80s', and nobody was paused; "
                             "'cloche callers' lists the callers of this vault",
                             caller);
}

static bool pause_caller(void *command, struct err *e)
{
    const struct callers_command *c = command;
    return callers_check_name(c->ward, c->words[1], e) &&
           ward_pause(c->ward, c->words[1], "by a person", e);
}

static bool resume_caller(void *command, struct err *e)
{
    const struct callers_command *c = command;
    return ward_resume(c->ward, c->words[1], e);
}

static const struct verb verbs[] = {
    {.name = "list", .run = callers_print},
    {.name = "pause", .takes = "a NAME", .least = 1, .most = 1, .run = pause_caller},
    {.name = "resume", .takes = "a NAME", .least = 1, .most = 1, .run = resume_caller},
};

int command_callers(int argc, char **argv)
{
    struct callers_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", &c.vault, "DIR",
                     "the trail that it is recorded in (the current)"),
        OPTION_FLAG("--json", &c.json, "print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche callers [list | pause NAME | resume NAME] [OPTIONS]\n\nLists "
            "paused callers, whose calls are refused until you resume them, and "
            "callers\nin the audit, with the programs that they claim to be. NAME is "
            "a caller in\n'cloche audit', such as stdio or 'http 127.0.0.1'.",
        OPTION_ROWS(rows, &c.help),
        OPTION_WORDS(c.words),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    scoped(guard_close) struct guard *g = cli_guard(c.vault, &c.ward, &e);
    c.guard = g;
    bool ok = g && verbs_run("callers", verbs, LENGTH(verbs), &use, &c, &e);
    return ok ? EXIT_DONE : cli_fail(&e);
}
