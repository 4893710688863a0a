#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "vm/follow.h"

/* What was found, as "Host: A;" for a head, "l;" for a line and "n*;" for n bytes of a body; at last
 * "!why" if it cannot be followed. The bytes come in pieces of `step`. */
static char *followed(struct str bytes, size_t step)
{
    static char out[4000];
    struct follow f = {0};
    size_t at = 0, part = 0; /* what has come, and where the part begins */
    size_t n = 0;
    out[0] = '\0';
    while (part < bytes.n) {
        char name[PEEK_NAME];
        const char *why;
        size_t used;
        at = at < part ? part : at;
        uint64_t body = follow_body(&f);
        if (body) {
            size_t some = bytes.n - part < body ? bytes.n - part : (size_t)body;
            follow_passed(&f, some);
            n += (size_t)snprintf(out + n, sizeof out - n, "%zu*;", some);
            part += some;
            continue;
        }
        at = at + step < bytes.n ? at + step : bytes.n;
        struct str some = {bytes.at + part, at - part};
        enum peek got = follow_part(&f, some, &used, name, &why);
        if (got == PEEK_MORE && at == bytes.n)
            break;
        if (got == PEEK_MORE)
            continue;
        if (got == PEEK_NOTHING) {
            assert_non_null(why);
            (void)snprintf(out + n, sizeof out - n, "!%s", why);
            break;
        }
        n += (size_t)snprintf(out + n, sizeof out - n, *name ? "%s;" : "l;", name);
        part += used;
    }
    return out;
}

static void each_request_names_its_host(void **state)
{
    (void)state;
    struct str all =
        STR("GET /a HTTP/1.1\r\nAccept: */*\r\nhOst:  Example.org:8080 \r\n\r\n"
            "HEAD * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"
            "POST /b?c HTTP/1.1\r\nHost: b.test\r\nContent-Length: 5\r\n\r\nhello"
            "GET / HTTP/1.0\r\nHost: c.test\r\nContent-Length: 0\r\n\r\n");
    for (size_t step = 1; step <= all.n; step++)
        assert_string_equal(followed(all, step), "Example.org;[::1];b.test;5*;c.test;");
}

static void chunks_are_no_requests(void **state)
{
    (void)state;
    struct str all =
        STR("POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nHost: a\r\n\r\n"
            "1C;x=\"y\"\r\nGET / HTTP/1.1\r\nHost: no\r\n\r\n\r\n"
            "0001\r\nx\r\n0\r\nDigest: z\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: b\r\n\r\n");
    for (size_t step = 1; step <= all.n; step++)
        assert_string_equal(followed(all, step), "a;l;28*;l;l;1*;l;l;l;l;b;");
}

static void what_two_could_read_differently_is_refused(void **state)
{
    (void)state;
    static const char *const all[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n Host: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\x0bHost: b\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rHost: b\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET //b/ HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT /b HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/0.9\r\nHost: a\r\n\r\n",
        "GET /\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "get / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket, h2C\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nUpgrade: H2\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: HTTP/2.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: ,tls /1.2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
        "identity\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        if (followed(str_of(all[i]), 1)[0] != '!')
            fail_msg("%s: %s", all[i], followed(str_of(all[i]), 1));
}

static void a_body_that_is_not_chunked_as_it_says_is_refused(void **state)
{
    (void)state;
    static const char head[] =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char *const all[] = {"\r\n",
                                      "g\r\n",
                                      "1\r\nxy\r\n",
                                      "1\nx\r\n",
                                      "1 \r\nx\r\n",
                                      "-1\r\nx\r\n",
                                      "0x1\r\nx\r\n",
                                      "1\r\nx\n\r\n",
                                      "ffffffffffffffff\r\n",
                                      "0\r\nHost: b\r\n\r\n",
                                      "0\r\nContent-Length: 9\r\n\r\n",
                                      "0\r\n folded\r\n\r\n",
                                      "0\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
                                      ";x\r\n"};
    for (size_t i = 0; i < LENGTH(all); i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "%s%s", head, all[i]);
        if (!strchr(followed(str_of(text), 1), '!'))
            fail_msg("%s: %s", all[i], followed(str_of(text), 1));
    }
}

static void another_protocol_is_for_the_first_request(void **state)
{
    (void)state;
    static const char *const fine =
        "GET / HTTP/1.1\r\nUpgrade: websocket\r\nHost: a\r\nConnection: Upgrade\r\n\r\n";
    static const char *const late =
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET / HTTP/1.1\r\nUpgrade: websocket\r\nHost: a\r\n\r\n";
    assert_string_equal(followed(str_of(fine), 1), "a;");
    assert_memory_equal(followed(str_of(late), 1), "a;!", 3);
}

/* Whatever pieces it comes in. */
static void an_answer_says_whether_the_protocol_changes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum peek found;
    } rows[] = {
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", PEEK_FOUND},
        {"HTTP/1.1 101\r\n\r\n", PEEK_FOUND},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Yes\r\n", PEEK_FOUND},
        {"HTTP/1.1 100\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 101 \r\n",
         PEEK_FOUND},
        {"HTTP/1.1 103 Hints\r\nLink: HTTP/1.1 101 \r\n", PEEK_MORE},
        {"HTTP/1.1 103 Hints\r\nLink: a\n\nHTTP/1.1 101 Yes\r\n\r", PEEK_MORE},
        {"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x",
         PEEK_NOTHING},
        {"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 Yes\r\n\r\n", PEEK_NOTHING},
        {"HTTP/1.1 1011 OK\r\n\r\n", PEEK_NOTHING},
        {"HTTP/1.1 1x1 OK\r\n\r\n", PEEK_NOTHING},
        {"HTTP/1.0 101 OK\r\n\r\n", PEEK_NOTHING},
        {"\r\nHTTP/1.1 101 OK\r\n\r\n", PEEK_NOTHING},
        {"http/1.1 101 OK\r\n\r\n", PEEK_NOTHING},
        {"HTTP/1.1 10", PEEK_MORE},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t step = 1; step < 40; step++) {
            struct follow f = {.asks = true};
            struct str left = str_of(rows[i].text);
            enum peek found = PEEK_MORE;
            while (left.n && found == PEEK_MORE) {
                size_t n = left.n < step ? left.n : step;
                found = follow_answer(&f, (struct str){left.at, n});
                left = (struct str){left.at + n, left.n - n};
            }
            if (found != rows[i].found || f.asks != (found == PEEK_MORE))
                fail_msg("%s in steps of %zu: %d", rows[i].text, step, (int)found);
        }
}

static void a_head_has_its_limit(void **state)
{
    (void)state;
    char *bytes = mem_new(PEEK_MAX), name[PEEK_NAME];
    const char *why;
    size_t used,
        n = (size_t)snprintf(bytes, PEEK_MAX, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    struct follow f = {0};
    memset(bytes + n, 'x', PEEK_MAX - n);
    assert_int_equal(
        follow_part(&f, (struct str){bytes, PEEK_MAX - 1}, &used, name, &why), PEEK_MORE);
    assert_int_equal(follow_part(&f, (struct str){bytes, PEEK_MAX}, &used, name, &why),
                     PEEK_NOTHING);
    assert_non_null(why);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_names_its_host),
        cmocka_unit_test(chunks_are_no_requests),
        cmocka_unit_test(what_two_could_read_differently_is_refused),
        cmocka_unit_test(a_body_that_is_not_chunked_as_it_says_is_refused),
        cmocka_unit_test(another_protocol_is_for_the_first_request),
        cmocka_unit_test(an_answer_says_whether_the_protocol_changes),
        cmocka_unit_test(a_head_has_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
