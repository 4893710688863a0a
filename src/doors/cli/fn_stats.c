/* cloche fn stats, templates. */
#include <stdio.h>

#include "cli/fn.h"
#include "cli/options.h"

#define DAYS_SHOWN 14u

static long long member_number(const struct json *of, const char *key)
{
    return (long long)json_int(json_get(of, key), 0);
}

static void print_use(const struct json *row)
{
    const struct json *times = json_get(row, "durations");
    printf("%-28.*s %6lld calls, %lld failed",
           SPELT_ARGS(json_str(json_get(row, "name"))), member_number(row, "calls"),
           member_number(row, "failed"));
    if (json_get(times, "p50"))
        printf(", p50 %.1f ms, p95 %.1f ms", json_number(json_get(times, "p50"), 0),
               json_number(json_get(times, "p95"), 0));
    putchar('\n');
}

/* "RangeError 3, TypeError 1" */
static void print_errors(const struct json *row)
{
    struct json_iter it = json_iter(json_get(row, "errors"));
    for (bool first = true; json_next(&it); first = false)
        printf("%s%.*s %lld", first ? "  errors: " : ", ",
               SPELT_ARGS(json_str(json_get(it.value, "kind"))),
               member_number(it.value, "count"));
    if (json_length(json_get(row, "errors")))
        putchar('\n');
}

static void print_versions(const struct json *row)
{
    struct json_iter it = json_iter(json_get(row, "versions"));
    while (json_next(&it)) {
        const struct json *version = json_get(it.value, "version");
        printf("  version ");
        if (json_is(version, JSON_NUMBER))
            printf("%lld", (long long)json_int(version, 0));
        else
            fn_print(json_str(version));
        printf(": %lld call%s, %lld failed\n", member_number(it.value, "calls"),
               str_plural(member_number(it.value, "calls")),
               member_number(it.value, "failed"));
    }
}

static void print_runs(const struct json *row)
{
    struct json_iter it = json_iter(json_get(row, "runs"));
    while (json_next(&it))
        printf("  %.*s v%lld %s%lld call%s, %.1f ms, %.*s, by %.*s\n",
               SPELT_ARGS(json_str(json_get(it.value, "at"))),
               member_number(it.value, "version"),
               json_bool(json_get(it.value, "trial"), false) ? "trial, " : "",
               member_number(it.value, "calls"),
               str_plural(member_number(it.value, "calls")),
               json_number(json_get(it.value, "ms"), 0),
               SPELT_ARGS(json_str(json_get(it.value, "outcome"))),
               SPELT_ARGS(json_str(json_get(it.value, "caller"))));
}

/* The last ones on which there was a call. */
static void print_days(const struct json *answer)
{
    const struct json *days = json_get(answer, "days");
    size_t count = json_length(days), at = 0;
    struct json_iter it = json_iter(days);
    while (json_next(&it))
        if (at++ + DAYS_SHOWN >= count)
            printf("  %.*s: %lld call%s, %lld failed\n",
                   SPELT_ARGS(json_str(json_get(it.value, "day"))),
                   member_number(it.value, "calls"),
                   str_plural(member_number(it.value, "calls")),
                   member_number(it.value, "failed"));
}

/* "functionReuseRate 0.25"; what has no value yet says so. */
static void print_metrics(const struct json *metrics)
{
    struct json_iter it = json_iter(metrics);
    while (json_next(&it)) {
        static const char *const keys[] = {"value", "compilation", "runtime"};
        printf("%-28.*s", SPELT_ARGS(it.key));
        for (size_t i = 0; i < LENGTH(keys); i++) {
            const struct json *v = json_get(it.value, keys[i]);
            if (v && i)
                printf(" %s", keys[i]);
            if (json_is(v, JSON_NUMBER))
                printf(" %.4g", json_number(v, 0));
            else if (v)
                printf(" -");
        }
        putchar('\n');
    }
}

/* "1 call, ": the number that `key` has. */
static void print_count(const struct json *o, const char *key, const char *noun,
                        const char *then)
{
    printf("%lld %s%s%s", member_number(o, key), noun, str_plural(member_number(o, key)),
           then);
}

static void stats_print_all(const struct json *answer)
{
    const struct json *totals = json_get(answer, "totals");
    struct str since = json_str(json_get(totals, "since"));
    struct json_iter it = json_iter(json_get(answer, "functions"));
    while (json_next(&it))
        print_use(it.value);
    if (json_get(answer, "more"))
        printf("... and %lld more\n", member_number(answer, "more"));
    putchar('\n');
    print_count(totals, "functions", "function", ", ");
    print_count(totals, "calls", "call", ", ");
    printf("%lld failed, ", member_number(totals, "failed"));
    print_count(totals, "evaluations", "evaluation", since.n ? ", since " : "");
    printf("%.*s\nin 30 days: ", SPELT_ARGS(since));
    print_count(totals, "callsThisMonth", "call", ", ");
    print_count(totals, "sessionsThisMonth", "session", "\n");
    print_days(answer);
    putchar('\n');
    print_metrics(json_get(answer, "metrics"));
}

static void print_one(const struct json *answer)
{
    print_use(answer);
    print_errors(answer);
    print_versions(answer);
    print_days(answer);
    print_runs(answer);
}

int fn_stats(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(
            &f,
            "cloche fn stats [NAME] [OPTIONS]\n\nShows how custom functions are used, "
            "with suggestions: for all functions, with\ntotals and metrics, or for "
            "one, with its errors, versions, days and last runs;\n--json prints all "
            "figures.",
            argc, argv, words, 0, 1, &exit))
        return exit;
    if (words[0])
        json_pair_cstr(&f.w, "name", words[0]);
    if (!fn_call(&f, "custom_function_stats", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    if (json_get(f.answered, "functions"))
        stats_print_all(f.answered);
    else
        print_one(f.answered);
    struct json_iter it = json_iter(json_get(f.answered, "suggestions"));
    while (json_next(&it)) {
        fputs("- ", stdout);
        fn_print(json_str(json_get(it.value, "message")));
        putchar('\n');
    }
    return EXIT_DONE;
}

int fn_templates(int argc, char **argv)
{
    scoped_fn struct fn f = {0};
    const char *words[1] = {0};
    int exit;
    if (!fn_plain(&f,
                  "cloche fn templates [OPTIONS]\n\n"
                  "What 'cloche fn new NAME --template T' can make a function of.",
                  argc, argv, words, 0, 0, &exit))
        return exit;
    if (!fn_call(&f, "custom_function_templates", &exit) || !fn_goes_on(&f, &exit))
        return exit;
    struct json_iter it = json_iter(json_get(f.answered, "templates"));
    while (json_next(&it))
        printf("%-20.*s %.*s\n", SPELT_ARGS(json_str(json_get(it.value, "template"))),
               SPELT_ARGS(json_str(json_get(it.value, "description"))));
    return EXIT_DONE;
}
