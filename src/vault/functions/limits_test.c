/* The limits of the store, each met; many at once; and that nothing hangs on how many
 * functions there are. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"
#include "functions/internal.h"

/* A definition in which one field is `n` bytes, or entries, long. */
static char *with_long(struct fixture *x, const char *field, size_t n)
{
    scoped_buf struct buf b;
    buf_init(&b, (size_t)8 << 20);
    buf_printf(&b, "{\"name\":\"f\",\"%s\":", field);
    if (!strcmp(field, "tags")) {
        for (size_t i = 0; i < n; i++)
            buf_printf(&b, "%c\"t%zu\"", i ? ',' : '[', i);
        buf_cstr(&b, "]");
    } else if (!strcmp(field, "parameters")) {
        for (size_t i = 0; i < n; i++)
            buf_printf(&b, "%c\"p%zu\":{\"type\":\"any\"}", i ? ',' : '{', i);
        buf_cstr(&b, "}");
    } else if (!strcmp(field, "examples")) {
        buf_cstr(&b, "[{\"expected\":\"");
        for (size_t i = 0; i < n; i++)
            buf_char(&b, 'x');
        buf_cstr(&b, "\"}]");
    } else {
        buf_char(&b, '"');
        for (size_t i = 0; i < n; i++)
            buf_char(&b, 'x');
        buf_char(&b, '"');
    }
    static const char *const others[] = {"description", "returnType", "code", NULL};
    for (size_t i = 0; others[i]; i++)
        if (strcmp(field, others[i]) != 0)
            buf_printf(&b, ",\"%s\":\"x\"", others[i]);
    if (strcmp(field, "parameters") != 0)
        buf_cstr(&b, ",\"parameters\":{}");
    buf_char(&b, '}');
    return arena_copy(x->arena, buf_cz(&b), b.n, &x->e);
}

static uint32_t errors_of(struct fixture *x, const char *json)
{
    struct function fn;
    scoped_findings struct findings found;
    findings_init(&found);
    const struct json *v = json_read(str_of(json), x->arena, &x->e);
    assert_fine(x, v);
    bool ok = function_read(v, x->arena, &fn, &found, &x->e);
    assert_int_equal(ok, found.error_count == 0);
    return found.error_count;
}

static void each_field_has_a_limit(void **state)
{
    struct fixture *x = *state;
    static const struct {
        const char *field;
        size_t most;
    } rows[] = {
        {"description", FUNCTION_TEXT_MAX}, {"returnType", FUNCTION_TEXT_MAX},
        {"code", FUNCTION_CODE_MAX},        {"tags", FUNCTION_LIST_MAX},
        {"parameters", FUNCTION_LIST_MAX},  {"examples", FUNCTION_EXAMPLES_MAX - 17},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        if (errors_of(x, with_long(x, rows[i].field, rows[i].most)) != 0 ||
            errors_of(x, with_long(x, rows[i].field, rows[i].most + 1)) != 1)
            fail_msg("%s", rows[i].field);
    }
    char name[2 * FUNCTION_NAME_MAX + 40];
    for (size_t n = FUNCTION_NAME_MAX; n <= FUNCTION_NAME_MAX + 1; n++) {
        size_t at = (size_t)sprintf(name, "{\"name\":\"");
        for (size_t i = 0; i < n; i++)
            at += (size_t)sprintf(name + at, "ä");
        sprintf(name + at, "\"}");
        /* description, returnType, code and parameters are missing, too */
        assert_int_equal(errors_of(x, name), 4 + (n > FUNCTION_NAME_MAX));
    }
}

static void put_many(struct fixture *x, size_t from, size_t count)
{
    struct function *all = mem_new(count * sizeof *all);
    struct function_change *changes = mem_new(count * sizeof *changes);
    for (size_t i = 0; i < count; i++) {
        all[i] = made(x, arena_printf(x->arena, &x->e, "f%zu", from + i), "x");
        changes[i] = (struct function_change){.fn = &all[i]};
    }
    bool ok = functions_change(x->f, changes, count, &tester, NULL, &x->e);
    free(all);
    free(changes);
    assert_fine(x, ok);
}

static void a_vault_keeps_so_many_functions(void **state)
{
    struct fixture *x = *state;
    put_many(x, 0, FUNCTIONS_MAX);
    assert_int_equal(count_of(x), FUNCTIONS_MAX);
    struct function fn = made(x, "more", "x");
    struct function_change c = {.fn = &fn};
    assert_false(functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_refused(x, ERR_LIMIT, "at most 2000 functions");
    /* One goes and one comes, in one change. */
    struct function_change both[] = {{.of = STR("f7")}, {.fn = &fn}};
    assert_fine(x, functions_change(x->f, both, 2, &tester, NULL, &x->e));
    assert_int_equal(count_of(x), FUNCTIONS_MAX);
}

static void a_file_has_a_limit_and_what_would_pass_it_changes_nothing(void **state)
{
    struct fixture *x = *state;
    scoped_buf struct buf code;
    buf_init(&code, FUNCTION_CODE_MAX);
    buf_cstr(&code, "function big() {} //");
    while (code.n < FUNCTION_CODE_MAX)
        buf_char(&code, 'x');
    bool ok = true;
    size_t n = 0;
    for (; ok && n < 40; n++) {
        struct function fns[8];
        struct function_change changes[8];
        for (size_t i = 0; i < 8; i++) {
            fns[i] = made(x, arena_printf(x->arena, &x->e, "f%zu", 8 * n + i), "x");
            fns[i].code = buf_view(&code);
            changes[i] = (struct function_change){.fn = &fns[i]};
        }
        ok = functions_change(x->f, changes, 8, &tester, NULL, &x->e);
    }
    assert_false(ok);
    assert_refused(x, ERR_LIMIT, "32 MB");
    assert_int_equal(count_of(x), 8 * (n - 1));

    /* One that somebody else made so large is refused, and can be put back. */
    scoped_fd int dir = os_dir_open(x->path, &x->e);
    scoped_fd int file = os_open_beneath(dir, FILE_PATH, O_WRONLY, 0, &x->e);
    assert_int_equal(ftruncate(file, (off_t)FUNCTIONS_FILE_MAX + 1), 0);
    assert_null(functions_now(x->f, &x->e));
    assert_refused(x, ERR_LIMIT, "more than 32 MB");
    told(x, functions_restore(x->f, STR(""), &tester, out, &x->e));
    assert_int_equal(count_of(x), 8 * (n - 2));
}

static void bombs_of_brackets_and_values_are_refused(void **state)
{
    struct fixture *x = *state;
    scoped_buf struct buf b;
    buf_init(&b, (size_t)64 << 20);
    for (int i = 0; i < 1000000; i++)
        buf_char(&b, '[');
    write_text(x, FILE_PATH, buf_view(&b));
    assert_null(functions_now(x->f, &x->e));
    assert_refused(x, ERR_INVALID, "nested deeper");
    buf_clear(&b);
    buf_cstr(&b, "[0");
    while (b.n < FUNCTIONS_FILE_MAX - 10)
        buf_cstr(&b, ",0");
    buf_cstr(&b, "]");
    write_text(x, FILE_PATH, buf_view(&b));
    assert_null(functions_now(x->f, &x->e));
    x->e = (struct err){0};
    buf_clear(&b);
    buf_cstr(
        &b, "{\"functions\":[{\"name\":\"f\",\"returnType\":\"x\",\"code\":\"x\",\"a\":");
    for (int i = 0; i < 120; i++)
        buf_char(&b, '[');
    for (int i = 0; i < 120; i++)
        buf_char(&b, ']');
    buf_cstr(&b, "}]}");
    write_text(x, FILE_PATH, buf_view(&b));
    assert_int_equal(count_of(x), 1);
    assert_int_equal(put(x, "other", "x"), 1);
}

static void the_last_ten_files_are_kept(void **state)
{
    struct fixture *x = *state;
    for (int i = 0; i < 15; i++)
        put(x, "greet", arena_printf(x->arena, &x->e, "%d", i));
    const struct json *all = told(x, functions_backups(x->f, out, &x->e));
    assert_int_equal(json_length(all), FUNCTION_BACKUPS);
    assert_true(json_bool(json_get(json_at(all, 0), "sound"), false));
    assert_int_equal(int_at(json_at(all, 0), "functions"), 1);
    char name[FUNCTION_BACKUP_NAME];
    assert_fine(x, functions_backup(x->f, NULL, name, &x->e));
    all = told(x, functions_backups(x->f, out, &x->e));
    assert_int_equal(json_length(all), FUNCTION_BACKUPS);
    assert_string_equal(str_at(x, json_at(all, 0), "backup"), name);
    put(x, "greet", "later");
    put(x, "another", "x");
    const struct json *back =
        told(x, functions_restore(x->f, str_of(name), &tester, out, &x->e));
    assert_string_equal(str_at(x, back, "backup"), name);
    assert_int_equal(json_length(json_get(back, "changed")), 1);
    assert_true(str_is(json_str(json_at(json_get(back, "removed"), 0)), "another"));
    assert_int_equal(version_of(x, "greet"), 17);
    scoped_set const struct function_set *s = now(x);
    assert_true(str_is(function_at(s, 0)->description, "says 14"));
    struct json_writer none = {0};
    assert_false(functions_restore(x->f, STR("../x.json"), &tester, &none, &x->e));
    assert_refused(x, ERR_INVALID, "not the name of a backup");
}

/* A process of its own, that puts `count` versions. */
static pid_t begin_writer(struct fixture *x, int who, int count)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    struct err e = {0};
    struct functions *f = functions_open(x->path, &e);
    for (int i = 0; i < count && f && !e.code; i++) {
        struct function fns[] = {
            made(x, arena_printf(x->arena, &e, "own_%d_%d", who, i), "x"),
            made(x, "both", arena_printf(x->arena, &e, "%d %d", who, i))};
        struct function_change changes[] = {{.fn = &fns[0]},
                                            {.fn = &fns[1], .replace = true}};
        (void)functions_change(f, changes, 2, &tester, NULL, &e);
    }
    functions_close(f);
    _exit(e.code ? 1 : 0);
}

static void two_processes_lose_nothing(void **state)
{
    struct fixture *x = *state;
    enum { EACH = 60 };
    pid_t pids[] = {begin_writer(x, 1, EACH), begin_writer(x, 2, EACH)};
    for (size_t i = 0; i < LENGTH(pids); i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_of(x), 2 * EACH + 1);
    assert_int_equal(version_of(x, "both"), 2 * EACH);
    const struct json *all =
        json_get(told(x, functions_versions(x->f, STR("both"), out, &x->e)), "versions");
    assert_int_equal(json_length(all), 2 * EACH);
    struct json_iter it = json_iter(all);
    for (int64_t expected = 2 * EACH; json_next(&it); expected--) {
        assert_int_equal(int_at(it.value, "version"), expected);
        assert_string_equal(str_at(x, it.value, "by"), "tester");
    }
}

static void what_others_wrote_into_it_survives(void **state)
{
    struct fixture *x = *state;
    by_hand(x,
            "{'$schema': 'mine', 'functions': [{'name': 'b', 'returnType': 'void', "
            "'code': 'x', 'color': 'red', 'parameters': {'p': {'type': 'string', 'ui': "
            "[1]}}, 'metadata': {'stars': 5, 'version': 1}}, {'name': 'a', "
            "'returnType': 'void', 'code': 'y', 'examples': [{'args': [], 'why': 1}]}]}");
    put(x, "c", "x");
    struct function fn;
    scoped_findings struct findings found;
    findings_init(&found);
    scoped_set const struct function_set *s = now(x);
    const struct json *patch =
        json_read(STR("{\"description\": \"new\"}"), x->arena, &x->e);
    assert_fine(x, function_patch(function_named(s, STR("b")), patch, x->arena, &fn,
                                  &found, &x->e));
    struct function_change c = {.fn = &fn, .of = STR("b"), .expected_version = 1};
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    const char *text = file_text(x, FILE_PATH);
    static const char *const kept[] = {
        "\n  \"$schema\": \"mine\"", "\n      \"color\": \"red\"",
        "\n        \"stars\": 5", "\"ui\": [", "\"why\": 1"};
    for (size_t i = 0; i < LENGTH(kept); i++)
        if (!strstr(text, kept[i]))
            fail_msg("%s in %s", kept[i], text);
    assert_true(strstr(text, "\"a\"") < strstr(text, "\"b\""));
    assert_true(strstr(text, "\"description\": \"new\"") != NULL);
}

static void a_newer_format_is_left_alone(void **state)
{
    struct fixture *x = *state;
    by_hand(x, "{'version': 2, 'functions': []}");
    assert_null(functions_now(x->f, &x->e));
    assert_refused(x, ERR_CONFLICT, "newer version");
    struct function fn = made(x, "f", "x");
    struct function_change c = {.fn = &fn};
    assert_false(functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "newer version");
}

static void diagnosis_tells_all_mistakes_of_a_file(void **state)
{
    struct fixture *x = *state;
    by_hand(x, "{'functions': [{'name': '1'},\n 5]}");
    scoped_findings struct findings found;
    findings_init(&found);
    assert_fine(x, functions_diagnose(x->f, &found, &x->e));
    assert_int_equal(found.error_count, 4); /* name, returnType, code; and the 5 */
    assert_null(functions_now(x->f, &x->e));
    assert_refused(x, ERR_INVALID, "and 3 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_field_has_a_limit),
        T(a_vault_keeps_so_many_functions),
        T(a_file_has_a_limit_and_what_would_pass_it_changes_nothing),
        T(bombs_of_brackets_and_values_are_refused),
        T(the_last_ten_files_are_kept),
        T(two_processes_lose_nothing),
        T(what_others_wrote_into_it_survives),
        T(a_newer_format_is_left_alone),
        T(diagnosis_tells_all_mistakes_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
