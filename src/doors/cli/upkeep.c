/* cloche reindex and cloche doctor. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "http/http.h"
#include "lazy/lazy.h"
#include "json/json.h"

struct upkeep {
    const char *vault[2]; /* one, and the end */
    bool scratch, json, help;
};

static void print_pairs(const struct json *object)
{
    struct json_iter it = json_iter(object);
    while (json_next(&it)) {
        scoped_buf struct buf value = buf_of(BUF_PAGE);
        struct json_writer w = json_writer(&value);
        json_put(&w, it.value);
        printf("%-12.*s ", SPELT_ARGS(it.key));
        cli_put_line(buf_view(&value));
    }
}

/* Opens the vault and asks it. NULL: *exit, and why is printed. The caller frees. */
static struct cloche_text *upkeep_ask(const struct upkeep *o, bool reindex, int *exit)
{
    scoped(cloche_error_free) struct cloche_error *e = cloche_error_new();
    scoped(cloche_text_free) struct cloche_text *out = cloche_text_new();
    scoped(cloche_options_free) struct cloche_options *options =
        cli_options(o->vault, NULL);
    scoped(cloche_close) struct cloche *c = cloche_open(options, e);
    if (!c) {
        *exit = cli_fail_open(e);
        return NULL;
    }
    if (reindex ? cloche_reindex(c, o->scratch, out, e) : cloche_doctor(c, out, e)) {
        *exit = cli_fail_library(e);
        return NULL;
    }
    return take(out);
}

static int reindex(const struct upkeep *o)
{
    int exit;
    struct err broken = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    scoped(cloche_text_free) struct cloche_text *out = upkeep_ask(o, true, &exit);
    if (!out)
        return exit;
    if (o->json)
        cli_put_line(str_of(cloche_text_at(out)));
    else
        print_pairs(json_read(str_of(cloche_text_at(out)), arena, &broken));
    return EXIT_DONE;
}

int command_reindex(int argc, char **argv)
{
    struct upkeep o = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", o.vault, "DIR", "the folder of notes"),
        OPTION_FLAG("--scratch", &o.scratch, "rebuild the index from scratch"),
        OPTION_FLAG("--json", &o.json, "print JSON"),
        OPTION_FLAG("--help", &o.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche reindex [OPTIONS]\n\nBrings the index up to date with the files.",
        OPTION_ROWS(rows, &o.help),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    return reindex(&o);
}

static void print_checks(const struct json *checks)
{
    struct json_iter it = json_iter(checks);
    while (json_next(&it))
        printf("%-4s %-28.*s %.*s\n",
               json_bool(json_get(it.value, "ok"), false) ? "ok" : "BAD",
               SPELT_ARGS(json_str(json_get(it.value, "name"))),
               SPELT_ARGS(json_str(json_get(it.value, "detail"))));
}

/* The accounts that may connect without a token, unknown to the library. It is no fault. */
static void put_accounts(struct json_writer *w)
{
    struct err e = {0};
    char detail[600];
    if (http_tells_accounts(&e))
        (void)snprintf(
            detail, sizeof detail,
            "over HTTP, programs of this account and of root need no token; this "
            "includes forwarders (ssh -L, docker-proxy, socat)");
    else
        (void)snprintf(detail, sizeof detail,
                       "over HTTP all need a token, or a socket (serve --listen "
                       "unix:/PATH): %s",
                       e.msg);
    json_open_object(w);
    json_pair_cstr(w, "name", "programs of this machine");
    json_pair_bool(w, "ok", true);
    json_pair_cstr(w, "detail", detail);
    json_close(w);
}

/* The library's checks, and ours. */
static void put_all(const struct json *found, struct buf *out)
{
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(json_get(found, "checks"));
    json_open_object(&w);
    json_key(&w, "checks");
    json_open_array(&w);
    while (json_next(&it))
        json_put(&w, it.value);
    put_accounts(&w);
    json_close(&w);
    json_pair_bool(&w, "ok", json_bool(json_get(found, "ok"), false));
    json_close(&w);
}

static int doctor(const struct upkeep *o)
{
    int exit;
    struct err broken = {0};
    if (!lazy_load_all(&broken))
        return cli_fail(&broken);
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    scoped(cloche_text_free) struct cloche_text *out = upkeep_ask(o, false, &exit);
    if (!out)
        return exit;
    const struct json *found = json_read(str_of(cloche_text_at(out)), arena, &broken);
    scoped_buf struct buf all = buf_of(BUF_LIST);
    put_all(found, &all);
    found = json_read(buf_view(&all), arena, &broken);
    if (o->json)
        cli_put_line(buf_view(&all));
    else
        print_checks(json_get(found, "checks"));
    return json_bool(json_get(found, "ok"), false) ? EXIT_DONE : EXIT_FAILED;
}

int command_doctor(int argc, char **argv)
{
    struct upkeep o = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", o.vault, "DIR", "a folder of notes to check too"),
        OPTION_FLAG("--json", &o.json, "print JSON"),
        OPTION_FLAG("--help", &o.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche doctor [OPTIONS]\n\nChecks the libraries, the engine, the cache, an evaluation "
            "and, where given, the vault.",
        OPTION_ROWS(rows, &o.help),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    return doctor(&o);
}
