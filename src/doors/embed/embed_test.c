/* The library's interface: options, errors, added tools, callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cloche.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/home_test.h"
#include "engine/traps_test.h"

static char home[HOME_SIZE], folder[80];
static struct cloche *c;
static struct cloche_error *e;
static struct cloche_text *text;
static unsigned records;

/* ---- what is added -------------------------------------------------------- */

static void answer_as_told(void *arg, struct cloche_call *call)
{
    const char *json = arg ? arg : cloche_call_arguments(call);
    (void)cloche_call_answer(call, json);
}

static void fail_twice(void *arg, struct cloche_call *call)
{
    (void)arg;
    cloche_call_fail(call, CLOCHE_BUSY, "not now");
    cloche_call_fail(call, CLOCHE_IO, "never");
    assert_int_equal(cloche_call_answer(call, "{}"), CLOCHE_INVALID);
}

static void answer_badly_first(void *arg, struct cloche_call *call)
{
    (void)arg;
    assert_int_equal(cloche_call_answer(call, "{"), CLOCHE_INVALID);
    assert_int_equal(cloche_call_answer(call, "[]"), CLOCHE_INVALID);
    assert_int_equal(cloche_call_answer(call, "7"), CLOCHE_INVALID);
    assert_int_equal(cloche_call_answer(call, "{\"at\":\"last\"}"), CLOCHE_OK);
    assert_int_equal(cloche_call_answer(call, "{}"), CLOCHE_INVALID);
    cloche_call_progress(call, 1, 0, NULL); /* without a listener */
}

static void forget_to_answer(void *arg, struct cloche_call *call)
{
    (void)arg;
    (void)cloche_call_cancelled(call);
}

/* A tool may call the instance that it is part of. */
static void call_inside(void *arg, struct cloche_call *call)
{
    struct cloche_text *inner = cloche_text_new();
    (void)arg;
    assert_int_equal(
        cloche_evaluate(c, NULL, "return {from: 'within'}", NULL, inner, NULL, NULL),
        CLOCHE_OK);
    (void)cloche_call_answer(call, cloche_text_at(inner));
    cloche_text_free(inner);
}

static void count_record(void *arg, const char *record)
{
    assert_int_equal(record[0], '{');
    ++*(unsigned *)arg;
}

static const char any[] = "{\"type\":\"object\"}";

static struct cloche_options *usual_options(void)
{
    struct cloche_options *o = cloche_options_new();
    const char *guest = getenv("CLOCHE_GUEST");
    cloche_options_guests(o, guest ? guest : "build/guest");
    cloche_options_vault(o, folder);
    cloche_options_on_record(o, count_record, &records);
    cloche_options_tool(o, "echo", NULL, "Echoes.", any, any, CLOCHE_TOOL_READS,
                        answer_as_told, NULL);
    cloche_options_tool(o, "fails", "F", "Fails.", any, NULL, 0, fail_twice, NULL);
    cloche_options_tool(o, "badly", "B", "Bad.", any, NULL, 0, answer_badly_first, NULL);
    cloche_options_tool(o, "forgets", "G", "Forgets.", any, NULL, 0, forget_to_answer,
                        NULL);
    cloche_options_tool(o, "inside", "I", "Inside.", any, NULL, 0, call_inside, NULL);
    cloche_options_resource(o, "app://order/{id}", "order", NULL, NULL, answer_as_told,
                            "[{\"uri\":\"app://order/7\",\"text\":\"seven\"}]");
    cloche_options_prompt(o, "ask", NULL, "who why?", answer_as_told, "[]");
    return o;
}

static int begin(void **state)
{
    (void)state;
    if (!home_make(home))
        return -1;
    (void)snprintf(folder, sizeof folder, "%s/notes", home);
    if (mkdir(folder, 0700) != 0)
        return -1;
    e = cloche_error_new();
    text = cloche_text_new();
    struct cloche_options *o = usual_options();
    c = cloche_open(o, e);
    cloche_options_free(o); /* an open instance keeps what it needs */
    return c ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    cloche_close(c);
    cloche_text_free(text);
    cloche_error_free(e);
    return folder_remove(home);
}

static enum cloche_code call(const char *name, const char *arguments)
{
    return cloche_call_tool(c, NULL, name, arguments, NULL, text, NULL, e);
}

/* ---- tests ---------------------------------------------------------------- */

static void the_version_is_the_headers(void **state)
{
    (void)state;
    char version[40];
    (void)snprintf(version, sizeof version, "%d.%d.%d", CLOCHE_VERSION_MAJOR,
                   CLOCHE_VERSION_MINOR, CLOCHE_VERSION_PATCH);
    assert_string_equal(cloche_version(), version);
}

static void tools_answer_fail_or_are_told_off(void **state)
{
    (void)state;
    assert_int_equal(call("echo", "{\"a\": [1]}"), CLOCHE_OK);
    assert_string_equal(cloche_text_at(text), "{\"a\":[1]}");
    assert_int_equal(cloche_text_size(text), 9);
    assert_int_equal(call("echo", NULL), CLOCHE_OK);
    assert_string_equal(cloche_text_at(text), "{}");
    assert_int_equal(call("fails", NULL), CLOCHE_BUSY);
    assert_string_equal(cloche_error_message(e), "not now");
    assert_string_equal(cloche_error_name(e), "Busy");
    assert_int_equal(cloche_text_size(text), 0);
    assert_int_equal(call("badly", NULL), CLOCHE_OK);
    assert_int_equal(cloche_error_code(e), CLOCHE_OK);
    assert_int_equal(call("forgets", NULL), CLOCHE_INTERNAL);
    assert_int_equal(call("inside", NULL), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "within"));
}

static void a_call_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_int_equal(call("nobody", NULL), CLOCHE_NOT_FOUND);
    assert_int_equal(call("echo", "{"), CLOCHE_INVALID);
    assert_int_equal(call("echo", "[1]"), CLOCHE_INVALID);
    assert_int_equal(call("get_note", "{}"), CLOCHE_INVALID);
    assert_int_equal(cloche_call_tool(c, NULL, "echo", "{", NULL, text, NULL, NULL),
                     CLOCHE_INVALID); /* without an error to fill */
}

static void a_failed_evaluation_is_an_answer(void **state)
{
    (void)state;
    int failed = 7;
    assert_int_equal(cloche_evaluate(c, NULL, "null.x", NULL, text, &failed, e),
                     CLOCHE_OK);
    assert_int_equal(failed, 1);
    assert_non_null(strstr(cloche_text_at(text), "TypeError"));
    assert_int_equal(cloche_evaluate(c, NULL, "1", NULL, text, &failed, e), CLOCHE_OK);
    assert_int_equal(failed, 0);
}

static void a_caller_has_its_level(void **state)
{
    (void)state;
    static const char write[] =
        "await notes.create({type: 'a', title: 'b', content: 'c'})";
    int failed = 0;
    struct cloche_caller *zero = cloche_caller_new("somebody", CLOCHE_ZERO);
    struct cloche_caller *odd = cloche_caller_new("odd", (enum cloche_level)99);
    assert_int_equal(cloche_evaluate(c, zero, write, NULL, text, &failed, e), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "PermissionDenied"));
    assert_int_equal(cloche_evaluate(c, odd, write, NULL, text, &failed, e), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "PermissionDenied"));
    cloche_caller_free(zero);
    cloche_caller_free(odd);
}

static void a_call_that_is_cancelled_before_does_not_begin(void **state)
{
    (void)state;
    int failed = 0;
    struct cloche_cancel *cancel = cloche_cancel_new();
    cloche_cancel_fire(cancel);
    assert_int_equal(cloche_evaluate(c, NULL, "1", cancel, text, &failed, e), CLOCHE_OK);
    assert_int_equal(failed, 1);
    assert_non_null(strstr(cloche_text_at(text), "Cancelled"));
    cloche_cancel_free(cancel);
}

static void resources_and_requests_are_answered(void **state)
{
    (void)state;
    int status = 0;
    assert_int_equal(cloche_read(c, NULL, "app://order/7", text, e), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "seven"));
    assert_int_equal(cloche_read(c, NULL, "app://nothing", text, e), CLOCHE_NOT_FOUND);
    assert_int_equal(cloche_request(c, NULL, "POST", "/workspaces/notes/notes",
                                    "{\"markdown\":\"# One\"}", NULL, NULL, &status, text,
                                    e),
                     CLOCHE_OK);
    assert_int_equal(status, 201);
    assert_int_equal(cloche_request(c, NULL, "GET", "/workspaces/notes/notes", NULL, NULL,
                                    NULL, &status, text, e),
                     CLOCHE_OK);
    assert_int_equal(status, 200);
    assert_non_null(strstr(cloche_text_at(text), "\"One\""));
    assert_int_equal(
        cloche_request(c, NULL, "GET", "nowhere", NULL, NULL, NULL, &status, text, e),
        CLOCHE_OK);
    assert_int_equal(status, 400);
}

static void tools_are_listed_and_records_are_told(void **state)
{
    (void)state;
    unsigned before = records;
    assert_int_equal(cloche_tools(c, text, e), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "\"name\":\"run_script\""));
    assert_non_null(strstr(cloche_text_at(text), "\"title\":\"echo\""));
    assert_int_equal(call("echo", NULL), CLOCHE_OK);
    assert_int_equal(records, before + 1);
    assert_int_equal(cloche_reindex(c, 1, text, e), CLOCHE_OK);
    assert_int_equal(cloche_doctor(c, text, e), CLOCHE_OK);
    assert_non_null(strstr(cloche_text_at(text), "\"ok\":true"));
}

static void wrong_options_are_told_when_it_opens(void **state)
{
    (void)state;
    struct cloche_options *o = cloche_options_new();
    cloche_options_vault(o, "/nowhere/at/all");
    assert_null(cloche_open(o, e));
    assert_int_equal(cloche_error_code(e), CLOCHE_NOT_FOUND);
    cloche_options_free(o);

    o = usual_options();
    cloche_options_tool(o, "get_note", "x", "Taken.", any, NULL, 0, fail_twice, NULL);
    assert_null(cloche_open(o, e));
    assert_int_equal(cloche_error_code(e), CLOCHE_CONFLICT);
    cloche_options_free(o);

    o = usual_options();
    cloche_options_tool(o, "x", "x", "No schema.", "{", NULL, 0, fail_twice, NULL);
    assert_null(cloche_open(o, e));
    assert_int_equal(cloche_error_code(e), CLOCHE_INVALID);
    cloche_options_free(o);

    o = cloche_options_new();
    for (int i = 0; i < 129; i++)
        cloche_options_prompt(o, "p", NULL, NULL, fail_twice, NULL);
    assert_null(cloche_open(o, e));
    assert_int_equal(cloche_error_code(e), CLOCHE_LIMIT);
    cloche_options_free(o);

    o = cloche_options_new();
    for (int i = 0; i < 257; i++)
        cloche_options_vault_root(o, folder);
    assert_null(cloche_open(o, NULL));
    cloche_options_free(o);
}

static void a_server_serves_loopback_alone(void **state)
{
    (void)state;
    struct cloche_server *s = cloche_serve_http(c, "127.0.0.1:0", e);
    assert_non_null(s);
    assert_true(str_starts(str_of(cloche_server_url(s)), "http://127.0.0.1:"));
    cloche_server_close(s);
    assert_null(cloche_serve_http(c, "0.0.0.0:0", e));
    assert_int_equal(cloche_error_code(e), CLOCHE_DENIED);
    assert_null(cloche_serve_http(c, "nonsense", e));
    assert_int_equal(cloche_error_code(e), CLOCHE_INVALID);
}

static void take_line(void *arg, int level, const char *line)
{
    *(int *)arg = level * 1000 + (int)strlen(line);
}

static void the_log_goes_where_it_is_wanted(void **state)
{
    (void)state;
    int heard = 0;
    cloche_on_log(take_line, &heard);
    log_line(LOG_WARN, "seven %s", "ab");
    cloche_on_log(NULL, NULL);
    assert_int_equal(heard, 1008);
}

static void nothing_is_fine_to_end(void **state)
{
    (void)state;
    cloche_close(NULL);
    cloche_server_close(NULL);
    cloche_caller_free(NULL);
    cloche_cancel_free(NULL);
    cloche_options_free(NULL);
    cloche_text_free(NULL);
    cloche_error_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_the_headers),
        cmocka_unit_test(tools_answer_fail_or_are_told_off),
        cmocka_unit_test(a_call_that_is_none_is_refused),
        cmocka_unit_test(a_failed_evaluation_is_an_answer),
        cmocka_unit_test(a_caller_has_its_level),
        cmocka_unit_test(a_call_that_is_cancelled_before_does_not_begin),
        cmocka_unit_test(resources_and_requests_are_answered),
        cmocka_unit_test(tools_are_listed_and_records_are_told),
        cmocka_unit_test(wrong_options_are_told_when_it_opens),
        cmocka_unit_test(a_server_serves_loopback_alone),
        cmocka_unit_test(the_log_goes_where_it_is_wanted),
        cmocka_unit_test(nothing_is_fine_to_end),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
