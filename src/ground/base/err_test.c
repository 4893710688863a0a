/* Errors: the first wins, and a message is always one line of valid UTF-8. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static void the_first_failure_wins(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(err_set(&e, ERR_LIMIT, "%d of %s", 3, "four"));
    assert_false(err_set(&e, ERR_IO, "a later one"));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(e.msg, "3 of four");
}

static void the_systems_reason_can_be_told(void **state)
{
    (void)state;
    struct err e = {0};
    errno = ENOENT;
    err_set(&e, ERR_IO, "x: %m");
    assert_string_equal(e.msg, "x: No such file or directory");
}

static void context_stands_before_the_message(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, ERR_IO, "inner");
    assert_false(err_wrap(&e, "outer %d", 1));
    assert_false(err_wrap(&e, "outermost"));
    assert_string_equal(e.msg, "outermost: outer 1: inner");
    assert_int_equal(e.code, ERR_IO);
}

static void assert_is_tidy(const struct err *e)
{
    assert_true(memchr(e->msg, '\0', sizeof e->msg) != NULL);
    assert_true(str_is_utf8(str_of(e->msg)));
    for (const char *c = e->msg; *c; c++)
        assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void a_message_that_is_cut_ends_in_a_whole_character(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char text[600];
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x94\x94", 5);
        struct err e = {0};
        err_set(&e, ERR_INVALID, "%s", text);
        assert_is_tidy(&e);
        assert_true(strlen(e.msg) > sizeof e.msg - 6);
        err_wrap(&e, "%s", "context");
        assert_is_tidy(&e);
        assert_memory_equal(e.msg, "context: ", 9);
    }
}

static void context_longer_than_a_message_is_cut_too(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'c', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct err e = {0};
    err_set(&e, ERR_INVALID, "inner");
    err_wrap(&e, "%s", text);
    assert_is_tidy(&e);
    assert_int_equal(e.msg[0], 'c');
}

static void a_debug_build_knows_where_an_error_comes_from(void **state)
{
    (void)state;
    struct err e = {0};
    assert_string_equal(ERR_ORIGIN(&e), "");
    int line = __LINE__ + 1;
    err_set(&e, ERR_INVALID, "inner");
    err_set(&e, ERR_IO, "a later one");
    err_wrap(&e, "outer");
    char expected[100];
    (void)snprintf(expected, sizeof expected, " [%s:%d, %s:%d]", __FILE__, line, __FILE__,
                   line + 2);
#ifdef NDEBUG
    assert_string_equal(ERR_ORIGIN(&e), "");
    assert_int_equal(sizeof e, sizeof e.code + sizeof e.msg);
#else
    assert_string_equal(ERR_ORIGIN(&e), expected);
#endif
    /* One that is used again begins anew; the message never says it. */
    e.code = ERR_NONE;
    line = __LINE__ + 1;
    err_set(&e, ERR_INVALID, "another");
    (void)snprintf(expected, sizeof expected, " [%s:%d]", __FILE__, line);
#ifndef NDEBUG
    assert_string_equal(ERR_ORIGIN(&e), expected);
#endif
    assert_string_equal(e.msg, "another");
    for (int i = 0; i < 100; i++)
        err_wrap(&e, "%d", i);
    assert_true(strlen(ERR_ORIGIN(&e)) < 400);
}

static void line_ends_and_escapes_from_outside_become_spaces(void **state)
{
    (void)state;
    struct err e = {0};
    err_set(&e, ERR_INVALID, "a\nb\r\x1b[31mc\x7f");
    assert_string_equal(e.msg, "a b  [31mc ");
}

static void bytes_that_are_no_utf8_do_not_reach_the_message(void **state)
{
    (void)state;
    static const char *const broken[] = {"\xff", "a\xc3(b", "\xed\xa0\x80!", "\xe2\x82x",
                                         "tail \xf0\x9f"};
    for (size_t i = 0; i < LENGTH(broken); i++) {
        struct err e = {0};
        err_set(&e, ERR_INVALID, "'%s' \xe2\x82\xac", broken[i]);
        assert_is_tidy(&e);
        assert_non_null(strstr(e.msg, "\xe2\x82\xac")); /* what is valid stays */
    }
}

static void every_code_has_a_row_of_its_own(void **state)
{
    (void)state;
    for (int code = ERR_INVALID; code <= ERR_BUG; code++) {
        const struct err_kind *kind = err_kind((enum err_code)code);
        assert_non_null(kind->name);
        assert_in_range(kind->http, 400, 599);
        assert_true(kind->jsonrpc < 0);
        assert_int_equal(err_code_named(kind->name), code);
        assert_int_equal(err_code_named(kind->code), code);
    }
    assert_ptr_equal(err_kind((enum err_code)999), err_kind(ERR_BUG));
    assert_int_equal(err_code_named("NoSuchError"), ERR_NONE);
    assert_int_equal(err_code_named(""), ERR_NONE);
}

/* Runs `what` in a child; answers how it ended, and what it wrote to stderr. */
static int watch_child(void (*what)(void), char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        what();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(ends[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void break_a_promise(void)
{
    int two = 2;
    must(two == 3);
}

static void a_broken_assumption_ends_the_program_and_names_the_place(void **state)
{
    (void)state;
    char text[400];
    int status = watch_child(break_a_promise, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "two == 3"));
    assert_non_null(strstr(text, "err_test.c:"));
}

static void log_two_levels(void)
{
    log_line(LOG_INFO, "not shown");
    log_line(LOG_WARN, "note '%s'", "a\nerror: b\x1b[0m");
    log_set_level(LOG_DEBUG);
    log_line(LOG_DEBUG, "%s", "shown");
}

static void a_log_entry_is_one_line_whatever_is_in_it(void **state)
{
    (void)state;
    char text[2000];
    assert_int_equal(watch_child(log_two_levels, text, sizeof text), 0);
    assert_string_equal(text, "cloche: warning: note 'a error: b [0m'\n"
                              "cloche: debug: shown\n");
}

static void log_an_error(void)
{
    struct err e = {0};
    err_set(&e, ERR_IO, "the disk is full");
    err_log(&e, "not shown");
    log_set_level(LOG_DEBUG);
    err_log(&e, "rest");
}

static void a_debug_build_logs_an_error_with_its_origin(void **state)
{
    (void)state;
    char text[2000];
    assert_int_equal(watch_child(log_an_error, text, sizeof text), 0);
#ifdef NDEBUG
    assert_string_equal(text, "");
#else
    assert_ptr_equal(
        strstr(text,
               "cloche: debug: rest: the disk is full [src/ground/base/err_test.c:"),
        text);
#endif
}

static void a_cause_goes_with_its_error(void **state)
{
    (void)state;
    struct err first = {0}, second = {0};
    assert_false(err_set(&first, ERR_CONFLICT, "changed") ||
                 err_because(&first, CAUSE_STALE));
    assert_false(err_wrap(&first, "notes.update"));
    assert_false(err_pass(&second, &first));
    assert_int_equal(second.code, ERR_CONFLICT);
    assert_int_equal(second.cause, CAUSE_STALE);
    assert_string_equal(second.msg, "notes.update: changed");

    struct err third = {0};
    err_set(&third, ERR_BUSY, "later");
    assert_false(err_pass(&second, &third)); /* the first failure wins */
    assert_int_equal(second.cause, CAUSE_STALE);
    assert_int_equal(third.cause, CAUSE_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_wins),
        cmocka_unit_test(a_cause_goes_with_its_error),
        cmocka_unit_test(the_systems_reason_can_be_told),
        cmocka_unit_test(context_stands_before_the_message),
        cmocka_unit_test(a_message_that_is_cut_ends_in_a_whole_character),
        cmocka_unit_test(context_longer_than_a_message_is_cut_too),
        cmocka_unit_test(a_debug_build_knows_where_an_error_comes_from),
        cmocka_unit_test(line_ends_and_escapes_from_outside_become_spaces),
        cmocka_unit_test(bytes_that_are_no_utf8_do_not_reach_the_message),
        cmocka_unit_test(every_code_has_a_row_of_its_own),
        cmocka_unit_test(a_broken_assumption_ends_the_program_and_names_the_place),
        cmocka_unit_test(a_log_entry_is_one_line_whatever_is_in_it),
        cmocka_unit_test(a_debug_build_logs_an_error_with_its_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
