#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/lines.h"

#define MAX 1000u

static struct lines lines;
static int in[2], out[2];

static int opened(void **state)
{
    (void)state;
    struct err e = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, in) < 0 || pipe(out) < 0)
        return -1;
    return lines_init(&lines, in[0], out[1], -1, MAX, &e) ? 0 : -1;
}

static int closed(void **state)
{
    (void)state;
    lines_done(&lines);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    return 0;
}

static void put(const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(write(in[1], text, n), n);
}

static void end(void)
{
    shutdown(in[1], SHUT_WR);
}

static void assert_line(const char *text)
{
    struct str line;
    assert_int_equal(lines_next(&lines, &line), LINES_LINE);
    assert_int_equal(line.n, strlen(text));
    assert_memory_equal(line.at, text, line.n);
}

static void assert_got(enum lines_got got)
{
    struct str line;
    assert_int_equal(lines_next(&lines, &line), got);
}

static void lines_come_one_by_one(void **state)
{
    (void)state;
    put("one\ntwo\r\n\n  \t\r\n three \nfo");
    put("ur\nlast");
    end();
    assert_line("one");
    assert_line("two");
    assert_line("three");
    assert_line("four");
    assert_line("last");
    assert_got(LINES_END);
    assert_got(LINES_END);
}

static void what_was_read_already_is_known(void **state)
{
    (void)state;
    assert_false(lines_are_there(&lines));
    put("one\ntwo\nthr");
    assert_line("one");
    assert_true(lines_are_there(&lines));
    assert_line("two");
    assert_false(lines_are_there(&lines));
    end();
    assert_line("thr");
    assert_true(lines_are_there(&lines)); /* the end is */
    assert_got(LINES_END);
}

static void an_empty_input_has_no_lines(void **state)
{
    (void)state;
    end();
    assert_got(LINES_END);
}

static void what_is_too_long_is_skipped_to_its_end(void **state)
{
    (void)state;
    char row[MAX + 2];
    memset(row, 'x', sizeof row);
    row[MAX] = '\0';
    put(row);
    put("\n");
    assert_line(row); /* just fits */
    put(row);
    put("y");
    assert_got(LINES_TOO_LONG); /* reported before its end arrives */
    for (int i = 0; i < 10; i++)
        put(row);
    put("\nnext\n");
    assert_line("next");
    put(row);
    put("yz\nafter\n"); /* all at once */
    assert_got(LINES_TOO_LONG);
    assert_line("after");
    put(row);
    put("y");
    end();
    assert_got(LINES_TOO_LONG);
    assert_got(LINES_END);
}

static void *put_a_million(void *arg)
{
    (void)arg;
    char piece[1001];
    memset(piece, 'x', 1000);
    piece[1000] = '\0';
    for (int i = 0; i < 1000; i++)
        put(piece);
    put("\nsmall\n");
    return NULL;
}

static void the_buffer_grows_and_is_given_back(void **state)
{
    (void)state;
    lines.max = 2000000;
    size_t usual = lines.size;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, put_a_million, NULL), 0);
    struct str line;
    assert_int_equal(lines_next(&lines, &line), LINES_LINE);
    assert_int_equal(line.n, 1000000);
    assert_true(lines.size > 1000000);
    assert_line("small");
    pthread_join(t, NULL);
    put("end\n");
    assert_line("end");
    assert_int_equal(lines.size, usual);
}

static void it_ends_when_nobody_listens_any_more(void **state)
{
    (void)state;
    close(out[0]);
    assert_got(LINES_END);
    out[0] = dup(out[1]);
}

static void it_ends_when_it_is_told(void **state)
{
    (void)state;
    lines_stop(&lines);
    assert_got(LINES_END);
}

static void it_ends_when_its_stop_can_be_read(void **state)
{
    (void)state;
    int stop[2];
    assert_int_equal(pipe(stop), 0);
    lines.stop = stop[0];
    close(stop[1]);
    assert_got(LINES_END);
    close(stop[0]);
}

static void an_input_that_fails_says_so(void **state)
{
    (void)state;
    lines.in = out[1]; /* only to be written */
    lines.out = -1;
    close(out[0]);
    assert_got(LINES_END);
    assert_int_equal(lines.failure.code, ERR_IO);
    out[0] = dup(out[1]);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(lines_come_one_by_one),
        test(what_was_read_already_is_known),
        test(an_empty_input_has_no_lines),
        test(what_is_too_long_is_skipped_to_its_end),
        test(the_buffer_grows_and_is_given_back),
        test(it_ends_when_nobody_listens_any_more),
        test(it_ends_when_it_is_told),
        test(it_ends_when_its_stop_can_be_read),
        test(an_input_that_fails_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
