/* cloche eval --check: what the linter finds in code that is not run. */
#include <stdio.h>

#include "cli/commands.h"
#include "json/json.h"

/* "plan.js:3:7: warning: notes.update is not awaited ... [unawaited-call]" */
static void print_finding(const char *file, const struct json *f)
{
    struct str suggestion = json_str(json_get(f, "suggestion"));
    printf("%s:%lld:%lld: %.*s: %.*s [%.*s]\n", file,
           (long long)json_int(json_get(f, "line"), 0),
           (long long)json_int(json_get(f, "column"), 0),
           STR_ARGS(json_str(json_get(f, "severity"))),
           STR_ARGS(json_str(json_get(f, "message"))),
           STR_ARGS(json_str(json_get(f, "rule"))));
    if (suggestion.n)
        printf("    %.*s\n", STR_ARGS(suggestion));
}

static void print_findings(const char *file, const struct json *answer)
{
    struct json_iter it = json_iter(json_get(answer, "findings"));
    while (json_next(&it))
        print_finding(file, it.value);
    printf("%s: %lld errors, %lld warnings, %lld hints\n", file,
           (long long)json_int(json_get(answer, "errors"), 0),
           (long long)json_int(json_get(answer, "warnings"), 0),
           (long long)json_int(json_get(answer, "hints"), 0));
}

int cli_check(struct actions *a, const char *file, const struct json *arguments,
              const struct caller *who, bool as_json)
{
    struct err e = {0};
    struct answer out = {0};
    scoped(arena_free) struct arena *arena = arena_new((size_t)64 << 20);
    buf_init(&out.json, (size_t)16 << 20);
    const struct json *answer =
        actions_call(a, action_named(a, STR("check_code")), arguments, who, &out, &e)
            ? json_read(buf_view(&out.json), arena, &e)
            : NULL;
    if (answer && as_json)
        printf("%s\n", buf_cz(&out.json));
    else if (answer)
        print_findings(file, answer);
    bool ok = json_bool(json_get(answer, "ok"), false);
    buf_done(&out.json);
    return !answer ? cli_fail(&e) : ok ? EXIT_DONE : EXIT_FAILED;
}
