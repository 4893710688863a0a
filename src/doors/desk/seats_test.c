/* Seats: browsers known by a cookie; their number, lifetime and keys. */
#include "desk/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "os/os.h"

static char home[HOME_SIZE];
static int dir;
static struct err e;

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    if (!home_make(home))
        return -1;
    dir = links_open(&e);
    return dir >= 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    os_close(dir);
    return folder_remove(home);
}

static void sit(char cookie[static CRYPTO_TOKEN])
{
    if (!seats_take(dir, cookie, &e))
        fail_msg("%s", e.msg);
}

/* Sets the end of this cookie's seat, ms since 1970. */
static void set_end(const char *cookie, const char *end_ms)
{
    char hex[CRYPTO_HASH_HEX], name[CRYPTO_HASH_HEX + 8];
    crypto_hash_hex(str_of(cookie), hex);
    (void)snprintf(name, sizeof name, "%s.seat", hex);
    assert_true(os_write_file(dir, name, str_of(end_ms), OS_REPLACE, 0600, NULL, &e));
}

static void a_seat_is_had_by_its_cookie_alone(void **state)
{
    (void)state;
    char cookie[CRYPTO_TOKEN], other[CRYPTO_TOKEN];
    sit(cookie);
    assert_true(seats_have(dir, str_of(cookie)));
    crypto_token(other);
    assert_false(seats_have(dir, str_of(other)));
    assert_false(seats_have(dir, STR("")));
    assert_false(seats_have(dir, STR("../../policy.json")));
    assert_false(seats_have(dir, str_cut(str_of(cookie), CRYPTO_TOKEN - 2)));
}

static bool is_hidden(void *arg, const char *name, const struct os_stat *st,
                      struct err *why)
{
    (void)st;
    (void)why;
    scoped_buf struct buf text = buf_of(BUF_LINE);
    struct err none = {0};
    assert_null(strstr(name, arg));
    if (os_read_file(dir, name, &text, NULL, &none))
        assert_null(strstr(buf_cz(&text), arg));
    return true;
}

static void who_reads_the_folder_learns_no_cookie(void **state)
{
    (void)state;
    char cookie[CRYPTO_TOKEN];
    sit(cookie);
    assert_true(os_walk(dir, is_hidden, cookie, &e));
}

static void a_seat_ends_when_its_time_is_over(void **state)
{
    (void)state;
    char cookie[CRYPTO_TOKEN];
    sit(cookie);
    set_end(cookie, "1000");
    assert_false(seats_have(dir, str_of(cookie)));
    set_end(cookie, "no number");
    assert_false(seats_have(dir, str_of(cookie)));
}

static void who_leaves_has_no_seat_and_others_keep_theirs(void **state)
{
    (void)state;
    char cookie[CRYPTO_TOKEN], other[CRYPTO_TOKEN];
    sit(cookie);
    sit(other);
    seats_leave(dir, str_of(cookie));
    assert_false(seats_have(dir, str_of(cookie)));
    assert_true(seats_have(dir, str_of(other)));
    seats_leave(dir, str_of(cookie)); /* a second time is no error */
}

static void of_too_many_the_one_that_ends_first_makes_room(void **state)
{
    (void)state;
    char cookies[DESK_SEATS_MAX + 1][CRYPTO_TOKEN], end_ms[32];
    for (unsigned i = 0; i < DESK_SEATS_MAX; i++)
        sit(cookies[i]);
    (void)snprintf(end_ms, sizeof end_ms, "%lld", (long long)os_real_ms() + 3600000);
    set_end(cookies[5], end_ms);
    sit(cookies[DESK_SEATS_MAX]);
    for (unsigned i = 0; i <= DESK_SEATS_MAX; i++)
        assert_int_equal(seats_have(dir, str_of(cookies[i])), i != 5);
}

static void a_seat_that_is_over_takes_no_room(void **state)
{
    (void)state;
    char cookies[DESK_SEATS_MAX + 1][CRYPTO_TOKEN];
    for (unsigned i = 0; i < DESK_SEATS_MAX; i++)
        sit(cookies[i]);
    set_end(cookies[9], "1000");
    sit(cookies[DESK_SEATS_MAX]);
    for (unsigned i = 0; i <= DESK_SEATS_MAX; i++)
        assert_int_equal(seats_have(dir, str_of(cookies[i])), i != 9);
}

static void links_and_seats_are_told_apart(void **state)
{
    (void)state;
    char cookie[CRYPTO_TOKEN], link[DESK_LINK_MAX];
    sit(cookie);
    assert_false(links_take(dir, str_of(cookie)));
    assert_true(desk_link("http://127.0.0.1:7070", link, &e));
    assert_false(seats_have(dir, str_of(strchr(link, '#') + 1)));
    assert_true(seats_have(dir, str_of(cookie)));
}

static void a_key_hangs_on_the_cookie_and_on_the_process(void **state)
{
    (void)state;
    struct desk one = {.secret = {1}}, another = {.secret = {2}};
    char key[CRYPTO_HASH_HEX], same[CRYPTO_HASH_HEX], odd[CRYPTO_HASH_HEX];
    seats_key(&one, STR("cookie"), key);
    seats_key(&one, STR("cookie"), same);
    assert_string_equal(key, same);
    seats_key(&one, STR("cookif"), odd);
    assert_string_not_equal(key, odd);
    seats_key(&another, STR("cookie"), odd);
    assert_string_not_equal(key, odd);
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_seat_is_had_by_its_cookie_alone),
        T(who_reads_the_folder_learns_no_cookie),
        T(a_seat_ends_when_its_time_is_over),
        T(who_leaves_has_no_seat_and_others_keep_theirs),
        T(of_too_many_the_one_that_ends_first_makes_room),
        T(a_seat_that_is_over_takes_no_room),
        T(links_and_seats_are_told_apart),
        T(a_key_hangs_on_the_cookie_and_on_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
