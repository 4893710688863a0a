/* Actions that create or change a custom function: checked, tried, then stored. */
#include "functions_api/function_actions.h"
#include "functions_api/function_python.h"
#include "functions_api/functioning.h"

#include <stdio.h>

/* ---- storing a function -------------------------------------------------------------- */

/* The store, and the functions in it now. */
struct shelf {
    struct functions *functions;
    const struct function_set *now;
};

static void shelf_done(struct shelf *s)
{
    function_set_drop(s->now);
}
#define scoped_shelf __attribute__((cleanup(shelf_done)))

static bool shelf_open(const struct action_call *c, struct shelf *s, struct err *e)
{
    s->now = functioning_now(c->actions, c->place, &s->functions, e);
    return s->now != NULL;
}

/* A change that was made, or would be. */
struct keeping {
    const char *name; /* "registered" */
    struct str of;    /* the one to change; empty: new */
    bool replace;
    enum examples examples; /* those to run before */
};

static bool answer_kept(const struct function *fn, const struct judgement *j,
                        const struct keeping *d, bool dry, bool same, struct answer *out,
                        struct err *e)
{
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "success", true);
    json_pair_cstr(&w, "action", same ? "unchanged" : d->name);
    if (dry)
        json_pair_bool(&w, "dryRun", true);
    function_put(fn, &w);
    judgement_write(j, &w);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

static bool function_store(const struct action_call *c, struct shelf *s,
                           const struct function *fn, const struct judgement *j,
                           const struct keeping *d, struct answer *out, struct err *e)
{
    const struct breaking *b = &j->breaking;
    size_t count = 1 + b->rewritten_count;
    struct function_change *changes = arena_get(c->arena, count * sizeof *changes, e);
    struct function_author who = function_author_of(c);
    scoped_set const struct function_set *after = NULL;
    if (!changes)
        return false;
    changes[0] =
        (struct function_change){.fn = fn,
                                 .of = d->of,
                                 .replace = d->replace,
                                 .expected_version = (uint32_t)json_int(
                                     json_get(c->arguments, "expectedVersion"), 0)};
    for (size_t i = 1; i < count; i++) {
        const struct function *by = b->rewritten[i - 1];
        changes[i] = (struct function_change){
            .fn = by, .of = by->name, .expected_version = by->version};
    }
    if (!functions_change(s->functions, changes, count, &who, &after, e))
        return false;
    const struct function *kept = function_named(after, fn->name);
    for (size_t i = 0; i < count; i++)
        if (!changes[i].same)
            function_changed(c, i ? "updated" : d->name, changes[i].fn->name,
                             changes[i].version);
    return answer_kept(kept ? kept : fn, j, d, false, changes[0].same, out, e);
}

/* The checker's findings have its own codes: TS2322. */
static enum usage_trial trial_of(const struct judgement *j, bool passes)
{
    return passes                  ? USAGE_KEPT
           : !j->found.error_count ? USAGE_UNPROVEN
           : j->found.type_errors  ? USAGE_MISTYPED
                                   : USAGE_INVALID;
}

static bool judge_and_keep(const struct action_call *c, struct shelf *s,
                           struct function *fn, const struct keeping *d,
                           struct answer *out, struct err *e)
{
    scoped_judgement struct judgement j;
    uint64_t begun_ns = os_mono_ns();
    judgement_init(&j);
    fn->api_version = function_api_version(c, e);
    if (!function_judge(c, fn, d->of, s->now, d->examples, &j, e))
        return false;
    bool passes = function_passes(c, &j, out);
    if (!passes || !function_flag(c, "dryRun", false))
        functioning_tried(c, s->functions, trial_of(&j, passes),
                          (double)(os_mono_ns() - begun_ns) / 1e6);
    if (!passes || !breaking_passes(c, &j, out))
        return true;
    return function_flag(c, "dryRun", false) ? answer_kept(fn, &j, d, true, false, out, e)
                                             : function_store(c, s, fn, &j, d, out, e);
}

/* ---- register, validate ------------------------------------------------------------------ */

/* The definition cannot be read: the answer lists everything wrong with it. */
static bool answer_unread(const struct action_call *c, const struct findings *found,
                          struct answer *out)
{
    struct judgement j = {.found = *found};
    return !function_passes(c, &j, out);
}

/* false: it cannot be read; the answer says so, or *e. */
static bool read_definition(const struct action_call *c, const struct json *given,
                            struct function *fn, struct answer *out, struct err *e)
{
    scoped_findings struct findings found;
    findings_init(&found);
    given = python_complete(c, given, NULL, &found, e);
    if (given && !found.error_count && function_read(given, c->arena, fn, &found, e))
        return true;
    if (!e->code)
        answer_unread(c, &found, out);
    return false;
}

bool action_register_function(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    scoped_shelf struct shelf s = {0};
    struct function fn;
    struct keeping d = {.name = "registered"};
    if (!shelf_open(c, &s, e))
        return false;
    if (!read_definition(c, c->arguments, &fn, out, e))
        return !e->code;
    return judge_and_keep(c, &s, &fn, &d, out, e);
}

static bool answer_validity(const struct action_call *c, const struct function *fn,
                            const struct judgement *j, struct answer *out, struct err *e)
{
    bool valid = j->found.error_count == 0;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "valid", valid);
    judgement_write(j, &w);
    if (fn && !function_facts(c, fn, &w, e))
        return false;
    if (fn && valid)
        function_put(fn, &w);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

bool action_validate_function(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    scoped_shelf struct shelf s = {0};
    scoped_judgement struct judgement j;
    struct function fn;
    judgement_init(&j);
    if (!shelf_open(c, &s, e))
        return false;
    const struct json *given = python_complete(c, c->arguments, NULL, &j.found, e);
    bool read =
        given && !j.found.error_count && function_read(given, c->arena, &fn, &j.found, e);
    if (e->code || (read && !function_check(c, &fn, s.now, &j.found, e)))
        return false;
    return answer_validity(c, read ? &fn : NULL, &j, out, e);
}

/* ---- update ---------------------------------------------------------------------------- */

/* The fields to change: the arguments without the options, and newName as the name. */
static const struct json *read_patch(const struct action_call *c, struct err *e)
{
    static const char *const others[] = {
        "name", "newName", "expectedVersion", "force", "dryRun", "note", NULL};
    scoped_buf struct buf text;
    buf_init(&text, BUF_FILE);
    struct json_writer w = json_writer(&text);
    struct str renamed = function_argument(c, "newName");
    json_open_object(&w);
    if (renamed.n)
        json_pair_str(&w, "name", renamed);
    json_put_pairs(&w, c->arguments, others);
    json_close(&w);
    return buf_check(&text, "the change", e) ? json_read(buf_view(&text), c->arena, e)
                                             : NULL;
}

/* A function that is renamed binds its new name: its code is changed, unless new code is
 * given. */
static bool rebind(const struct action_call *c, const struct function *was,
                   struct function *fn, struct err *e)
{
    if (str_eq(was->name, fn->name) || !str_eq(was->code, fn->code))
        return true;
    struct function before = *fn;
    before.name = was->name;
    return function_renamed(&before, fn->name, c->arena, fn, e);
}

bool action_update_function(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    scoped_shelf struct shelf s = {0};
    scoped_findings struct findings found;
    struct function fn;
    findings_init(&found);
    if (!shelf_open(c, &s, e))
        return false;
    const struct function *was = function_by_name(s.now, function_argument(c, "name"), e);
    const struct json *patch = was ? read_patch(c, e) : NULL;
    if (patch && json_get(patch, "language") &&
        python_is(patch) != (was->language == FUNCTION_PYTHON))
        return err_set(e, ERR_INVALID,
                       "a function keeps its language; register another one");
    if (patch)
        patch = python_complete(c, patch, was, &found, e);
    if (!patch)
        return false;
    if (found.error_count)
        return answer_unread(c, &found, out);
    if (!json_length(patch))
        return err_set(e, ERR_INVALID,
                       "no change is given; description, parameters, returnType, "
                       "code, tags, examples and newName can be changed");
    if (!function_patch(was, patch, c->arena, &fn, &found, e))
        return !e->code && answer_unread(c, &found, out);
    /* Examples run against an unchanged store. */
    struct keeping d = {.name = "updated",
                        .of = was->name,
                        .examples =
                            function_only_words(was, &fn) ? EXAMPLES_NONE : EXAMPLES_ALL};
    return rebind(c, was, &fn, e) && judge_and_keep(c, &s, &fn, &d, out, e);
}

/* ---- duplicate, rollback ------------------------------------------------------------------ */

bool action_duplicate_function(const struct action_call *c, struct answer *out,
                               struct err *e)
{
    scoped_shelf struct shelf s = {0};
    if (!shelf_open(c, &s, e))
        return false;
    const struct function *was = function_by_name(s.now, function_argument(c, "name"), e);
    if (!was)
        return false;
    struct function fn = *was;
    struct str description = function_argument(c, "description");
    fn.name = function_argument(c, "newName");
    fn.id = fn.origin = STR("");
    fn.source = NULL;
    if (description.n)
        fn.description = description;
    struct keeping d = {.name = "duplicated"};
    return rebind(c, was, &fn, e) && judge_and_keep(c, &s, &fn, &d, out, e);
}

static bool roll_back(const struct action_call *c, struct shelf *s, struct str name,
                      uint32_t version, const struct judgement *j, struct answer *out,
                      struct err *e)
{
    struct function_author who = function_author_of(c);
    scoped_set const struct function_set *after = NULL;
    uint32_t expected = (uint32_t)json_int(json_get(c->arguments, "expectedVersion"), 0);
    if (!functions_rollback(s->functions, name, version, expected, &who, &after, e))
        return false;
    const struct function *kept = function_named(after, name);
    struct keeping d = {.name = "rolled back"};
    if (!kept)
        return err_set(e, ERR_CONFLICT,
                       "it was rolled back, and changed again at once by somebody else");
    function_changed(c, d.name, kept->name, kept->version);
    return answer_kept(kept, j, &d, false, false, out, e);
}

bool action_rollback_function(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    scoped_shelf struct shelf s = {0};
    scoped_judgement struct judgement j;
    struct function old;
    struct str name = function_argument(c, "name");
    uint32_t version = (uint32_t)json_int(json_get(c->arguments, "version"), 0);
    judgement_init(&j);
    if (!shelf_open(c, &s, e) ||
        !functions_version(s.functions, name, version, c->arena, &old, e))
        return false;
    const struct function *now = function_named(s.now, old.id);
    struct keeping d = {.name = "rolled back"};
    if (!function_judge(c, &old, now ? now->name : STR(""), s.now, EXAMPLES_APART, &j, e))
        return false;
    breaking_leave(&j.breaking);
    /* It was stored once: its errors can be forced as well. */
    if (!function_flag(c, "force", false) &&
        (!function_passes(c, &j, out) || !breaking_passes(c, &j, out)))
        return true;
    return function_flag(c, "dryRun", false)
               ? answer_kept(&old, &j, &d, true, false, out, e)
               : roll_back(c, &s, old.id.n ? old.id : name, version, &j, out, e);
}

/* ---- test --------------------------------------------------------------------------------- */

static bool run_once(const struct action_call *c, const struct function *fn,
                     const struct function_set *now, const struct json *args, bool dry,
                     struct answer *out, struct err *e)
{
    struct json_writer w = json_writer(&out->json);
    bool success = false;
    json_open_object(&w);
    json_pair_str(&w, "name", fn->name);
    if (fn->version)
        json_pair_int(&w, "version", fn->version);
    json_pair_bool(&w, "dryRun", dry);
    if (!function_try(c, fn, now, args, dry, &w, &success, e)) {
        buf_clear(&out->json);
        return false;
    }
    json_close(&w);
    out->is_error = !success;
    return buf_check(&out->json, "the answer", e);
}

static bool run_examples(const struct action_call *c, const struct function *fn,
                         const struct function_set *now, struct answer *out,
                         struct err *e)
{
    uint32_t failed = 0;
    scoped_buf struct buf tests;
    buf_init(&tests, BUF_FILE);
    struct json_writer inner = json_writer(&tests), w = json_writer(&out->json);
    if (!fn->example_count)
        return err_set(e, ERR_INVALID,
                       "%.*s has no examples; give args, such as {} for no arguments",
                       STR_ARGS(fn->name));
    if (!function_examples(c, fn, now, EXAMPLES_ALL, &inner, &failed, e) ||
        !buf_check(&tests, "the results of the tests", e))
        return false;
    json_open_object(&w);
    json_pair_bool(&w, "success", failed == 0);
    if (failed) {
        char why[80];
        (void)snprintf(why, sizeof why, "%u of its %zu example%s failed (tests says how)",
                       failed, fn->example_count, str_plural((int64_t)fn->example_count));
        function_put_error(ERR_INVALID, why, &w);
    }
    json_pair_str(&w, "name", fn->name);
    if (fn->version)
        json_pair_int(&w, "version", fn->version);
    json_pair_bool(&w, "dryRun", true);
    json_pair_raw(&w, "tests", buf_view(&tests));
    json_close(&w);
    out->is_error = failed > 0;
    return buf_check(&out->json, "the answer", e);
}

/* Code that is not stored is checked like code that is evaluated. */
static bool passes_lint(const struct action_call *c, const struct function *fn,
                        struct answer *out, struct err *e)
{
    scoped_judgement struct judgement j;
    judgement_init(&j);
    return c->place->permit.policy->lint != POLICY_LINT_REFUSE ||
           (function_lint(c, fn, &j.found, e) && function_passes(c, &j, out));
}

bool action_test_function(const struct action_call *c, struct answer *out, struct err *e)
{
    scoped_shelf struct shelf s = {0};
    struct function own;
    const struct function *fn = &own;
    const struct json *given = json_get(c->arguments, "definition");
    const struct json *args = json_get(c->arguments, "args");
    struct str name = function_argument(c, "name");
    if ((given != NULL) == (name.n > 0))
        return err_set(e, ERR_INVALID, "give the name of a function, or a definition");
    if (!shelf_open(c, &s, e))
        return false;
    if (given &&
        (!read_definition(c, given, &own, out, e) || !passes_lint(c, &own, out, e)))
        return !e->code;
    if (!given && !(fn = function_by_name(s.now, name, e)))
        return false;
    return args ? run_once(c, fn, s.now, args, function_flag(c, "dryRun", true), out, e)
                : run_examples(c, fn, s.now, out, e);
}
