/* cloche eval --check: what the linter and the type checker find in code that is not run. */
#include <stdio.h>

#include "cli/commands.h"
#include "json/json.h"

/* "plan.js:3:7: warning: notes.update is not awaited ... [unawaited-call]" */
static void finding_print(const char *file, const struct json *f)
{
    struct str suggestion = json_str(json_get(f, "suggestion"));
    printf("%s:%lld:%lld: %.*s: %.*s [%.*s]\n", file,
           (long long)json_int(json_get(f, "line"), 0),
           (long long)json_int(json_get(f, "column"), 0),
           SPELT_ARGS(json_str(json_get(f, "severity"))),
           SPELT_ARGS(json_str(json_get(f, "message"))),
           SPELT_ARGS(json_str(json_get(f, "rule"))));
    if (suggestion.n)
        printf("    %.*s\n", SPELT_ARGS(suggestion));
}

/* Is there one in the same place? It says the same in other words. */
static bool is_told_by(const struct json *list, const struct json *finding)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        if (json_int(json_get(it.value, "line"), 0) ==
                json_int(json_get(finding, "line"), 0) &&
            json_int(json_get(it.value, "column"), 0) ==
                json_int(json_get(finding, "column"), 0))
            return true;
    return false;
}

/* For JavaScript the checker's findings are warnings, shown where the linter, which knows
 * more of what would help, has none there; returns how many. */
static long long print_types(const char *file, const struct json *answer)
{
    long long warnings = 0;
    struct str unchecked = json_str(json_get(answer, "typesUnchecked"));
    struct json_iter it = json_iter(json_get(answer, "types"));
    while (json_next(&it)) {
        struct str severity = json_str(json_get(it.value, "severity"));
        if (str_is(severity, "warning") &&
            is_told_by(json_get(answer, "findings"), it.value))
            continue;
        warnings += str_is(severity, "warning");
        printf("%s:%lld:%lld: %.*s: %.*s [%.*s]\n", file,
               (long long)json_int(json_get(it.value, "line"), 0),
               (long long)json_int(json_get(it.value, "column"), 0), SPELT_ARGS(severity),
               SPELT_ARGS(json_str(json_get(it.value, "message"))),
               SPELT_ARGS(json_str(json_get(it.value, "code"))));
    }
    if (unchecked.n) {
        printf("%s: %.*s\n", file, SPELT_ARGS(unchecked));
        cli_build_checker();
    }
    return warnings;
}

static void print_findings(const char *file, const struct json *answer)
{
    long long type_warnings = print_types(file, answer);
    struct json_iter it = json_iter(json_get(answer, "findings"));
    while (json_next(&it))
        finding_print(file, it.value);
    long long types = json_int(json_get(answer, "typeErrors"), 0);
    printf("%s: ", file);
    if (types)
        printf("%lld type error%s, ", types, str_plural(types));
    long long errors = json_int(json_get(answer, "errors"), 0);
    long long warnings = json_int(json_get(answer, "warnings"), 0) + type_warnings;
    long long hints = json_int(json_get(answer, "hints"), 0);
    printf("%lld error%s, %lld warning%s, %lld hint%s\n", errors, str_plural(errors),
           warnings, str_plural(warnings), hints, str_plural(hints));
}

int cli_check(struct cloche *c, const char *file, const char *arguments,
              struct cloche_caller *who, bool as_json)
{
    struct err broken = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    scoped(cloche_error_free) struct cloche_error *e = cloche_error_new();
    scoped(cloche_text_free) struct cloche_text *out = cloche_text_new();
    if (cloche_call_tool(c, who, "check_code", arguments, NULL, out, NULL, e))
        return cli_fail_library(e);
    const char *text = cloche_text_at(out);
    const struct json *answer = json_read(str_of(text), arena, &broken);
    if (as_json)
        cli_put_line(str_of(text));
    else
        print_findings(file, answer);
    return json_bool(json_get(answer, "ok"), false) ? EXIT_DONE : EXIT_FAILED;
}
