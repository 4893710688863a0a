/* cloche callers: those that are paused, and letting them go on. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "guard/guard.h"
#include "json/json.h"

static bool list(struct guard *g, bool as_json, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    scoped_buf struct buf text;
    buf_init(&text, (size_t)1 << 20);
    struct json_writer w = json_writer(&text);
    guard_paused(g, &w);
    if (as_json)
        printf("%s\n", buf_cz(&text));
    struct json_iter it = json_iter(as_json ? NULL : json_read(buf_view(&text), a, e));
    while (json_next(&it))
        printf("%.*s paused since %.*s: %.*s\n", STR_ARGS(it.key),
               STR_ARGS(json_str(json_get(it.value, "since"))),
               STR_ARGS(json_str(json_get(it.value, "why"))));
    return !e->code;
}

int command_callers(int argc, char **argv)
{
    const char *vault = NULL, *words[2] = {0};
    bool json = false, help = false;
    const struct option_row rows[] = {
        {"--vault", &vault, NULL, "DIR",
         "the trail that it is recorded in (the current)"},
        {"--json", NULL, &json, NULL, "print JSON"},
        {"--help", NULL, &help, NULL, "this list"},
    };
    struct option_use use = {
        .usage = "cloche callers [list | pause NAME | resume NAME] [OPTIONS]\n\n"
                 "Callers whose calls are refused until you let them go on; NAME is the\n"
                 "caller of 'cloche audit', such as stdio or 'http 127.0.0.1'.",
        .rows = rows,
        .count = LENGTH(rows),
        .help = &help,
        .words = words,
        .max = LENGTH(words),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    struct ward *ward = NULL;
    scoped(guard_close) struct guard *g = cli_guard(vault, &ward, &e);
    const char *verb = words[0] ? words[0] : "list";
    bool ok = g != NULL;
    if (ok && !strcmp(verb, "list") && use.given < 2)
        ok = list(g, json, &e);
    else if (ok && !strcmp(verb, "pause") && use.given == 2)
        ok = ward_pause(ward, words[1], "by a person", &e);
    else if (ok && !strcmp(verb, "resume") && use.given == 2)
        ok = ward_resume(ward, words[1], &e);
    else if (ok)
        ok =
            err_set(&e, ERR_INVALID,
                    "'cloche callers' is followed by nothing, list, pause NAME or resume "
                    "NAME");
    return ok ? EXIT_DONE : cli_fail(&e);
}
