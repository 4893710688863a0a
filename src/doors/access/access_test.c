/* Tokens in their file and in a server, and limits of one caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/internal.h"
#include "base/home_test.h"
#include "caller/caller.h"

static char home[HOME_SIZE];

static int begin(void **state)
{
    (void)state;
    return home_make(home) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return folder_remove(home);
}

static struct token_wish wish(const char *name)
{
    return (struct token_wish){
        .name = name, .level = LEVEL_LIMITED, .scopes = SCOPE_READ | SCOPE_WRITE};
}

static void make(const struct token_wish *w, char text[static TOKEN_TEXT])
{
    struct err e = {0};
    if (!token_create(w, text, &e))
        fail_msg("%s", e.msg);
}

/* The verdict of a server with this store on that text. */
static enum verdict ask(struct store *s, const char *text, struct bearer *b)
{
    struct verifier v = store_verifier(s);
    return v.verify(v.arg, str_of(text), os_real_ms(), b);
}

static void let_go(const struct bearer *b)
{
    b->let_go(b->held);
}

static void read_file(struct buf *out)
{
    struct err e = {0};
    scoped_fd int dir = os_config_dir(NULL, &e);
    assert_true(os_read_file(dir, TOKENS_FILE, out, NULL, &e));
}

static void write_file(const char *text)
{
    struct err e = {0};
    scoped_fd int dir = os_config_dir(NULL, &e);
    assert_true(
        os_write_file(dir, TOKENS_FILE, str_of(text), OS_REPLACE, 0600, NULL, &e));
}

/* ---- tokens ------------------------------------------------------------- */

static void a_token_that_was_made_is_known_with_what_it_grants(void **state)
{
    (void)state;
    char text[TOKEN_TEXT];
    static const char *const vaults[] = {"work", "home"};
    struct token_wish w = wish("first");
    w.vaults = (struct policy_names){vaults, 2, true};
    make(&w, text);
    assert_int_equal(strlen(text), TOKEN_TEXT - 1);
    assert_int_equal(strncmp(text, "cloche_", 7), 0);
    struct store *s = store_open();
    struct bearer b;
    assert_int_equal(ask(s, text, &b), VERDICT_GOOD);
    assert_string_equal(b.grant.principal, "token first");
    assert_int_equal(b.grant.level, LEVEL_LIMITED);
    assert_int_equal(b.grant.scopes, SCOPE_READ | SCOPE_WRITE);
    assert_true(grant_reaches(&b.grant, "home"));
    assert_false(grant_reaches(&b.grant, "other"));
    let_go(&b);
    store_close(s);
}

static void no_text_but_the_very_one_is_good(void **state)
{
    (void)state;
    char text[TOKEN_TEXT], other[TOKEN_TEXT + 8];
    struct token_wish w = wish("exact");
    make(&w, text);
    struct store *s = store_open();
    struct bearer b;
    for (size_t i = 7; i < TOKEN_TEXT - 1; i++) {
        memcpy(other, text, TOKEN_TEXT);
        other[i] = other[i] == 'a' ? 'b' : 'a';
        assert_int_equal(ask(s, other, &b), VERDICT_BAD);
    }
    memcpy(other, text, TOKEN_TEXT);
    other[TOKEN_TEXT - 2] = '\0';
    assert_int_equal(ask(s, other, &b), VERDICT_BAD);
    (void)snprintf(other, sizeof other, "%sx", text);
    assert_int_equal(ask(s, other, &b), VERDICT_BAD);
    assert_int_equal(ask(s, "cloche_", &b), VERDICT_BAD);
    assert_int_equal(ask(s, "eyJhbGciOiJub25lIn0.e30.", &b), VERDICT_FOREIGN);
    assert_int_equal(ask(s, "", &b), VERDICT_FOREIGN);
    store_close(s);
}

static void neither_a_token_nor_its_secret_stands_in_the_file(void **state)
{
    (void)state;
    char text[TOKEN_TEXT];
    struct token_wish w = wish("hidden");
    make(&w, text);
    scoped_buf struct buf file;
    buf_init(&file, 1 << 20);
    read_file(&file);
    assert_null(strstr(buf_cz(&file), text));
    assert_null(strstr(buf_cz(&file), text + 7 + TOKEN_ID + 1));
    assert_non_null(strstr(buf_cz(&file), "hidden"));
    char path[128];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/cloche/" TOKENS_FILE, home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_revoked_token_is_refused_by_a_server_that_runs(void **state)
{
    (void)state;
    struct err e = {0};
    char text[TOKEN_TEXT], name[TOKEN_NAME_MAX + 1];
    struct token_wish w = wish("leaving");
    make(&w, text);
    struct store *s = store_open();
    struct verifier v = store_verifier(s);
    struct bearer b, again;
    assert_int_equal(ask(s, text, &b), VERDICT_GOOD);
    assert_true(v.stands(v.arg, &b));
    assert_true(token_revoke("leaving", name, &e));
    assert_string_equal(name, "leaving");
    assert_int_equal(ask(s, text, &again), VERDICT_BAD);
    assert_true(v.changed(v.arg));
    assert_false(v.changed(v.arg));
    assert_false(v.stands(v.arg, &b));
    /* Data that a request borrows stays whole until it ends. */
    assert_string_equal(b.grant.principal, "token leaving");
    let_go(&b);
    assert_false(token_revoke("leaving", name, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    store_close(s);
}

static void a_name_is_never_given_twice(void **state)
{
    (void)state;
    struct err e = {0};
    char text[TOKEN_TEXT], name[TOKEN_NAME_MAX + 1];
    struct token_wish w = wish("once");
    make(&w, text);
    assert_false(token_create(&w, text, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    e = (struct err){0};
    assert_true(token_revoke("once", name, &e));
    assert_false(token_create(&w, text, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void an_expired_token_is_told_from_a_wrong_one(void **state)
{
    (void)state;
    struct err e = {0};
    char text[TOKEN_TEXT];
    struct token_wish w = wish("soon");
    w.expires_ms = os_real_ms() + 3600000;
    make(&w, text);
    struct store *s = store_open();
    struct verifier v = store_verifier(s);
    struct bearer b;
    assert_int_equal(v.verify(v.arg, str_of(text), w.expires_ms - 1, &b), VERDICT_GOOD);
    assert_int_equal(b.expires_ms, w.expires_ms);
    let_go(&b);
    assert_int_equal(v.verify(v.arg, str_of(text), w.expires_ms, &b), VERDICT_EXPIRED);
    store_close(s);
    w.expires_ms = os_real_ms() - 1;
    w.name = "late";
    assert_false(token_create(&w, text, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void names_that_could_be_mistaken_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         " ",    "a b",
        "-a",       ".a",   "a/b",
        "\xc3\xa9", "a\nb", "a2345678901234567890123456789012345678901"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        char text[TOKEN_TEXT];
        struct token_wish w = wish(bad[i]);
        assert_false(token_create(&w, text, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_file_that_cannot_be_believed_lets_nobody_in(void **state)
{
    (void)state;
    struct err e = {0};
    char text[TOKEN_TEXT];
    struct token_wish w = wish("believed");
    make(&w, text);
    scoped_buf struct buf good;
    buf_init(&good, 1 << 20);
    read_file(&good);
    struct store *s = store_open();
    struct bearer b;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"version\":2,\"tokens\":[]}",
        "{\"version\":1,\"tokens\":{}}",
        "{\"version\":1,\"tokens\":[{\"id\":\"000000000000\"}]}"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        write_file(bad[i]);
        assert_int_equal(ask(s, text, &b), VERDICT_BAD);
        e = (struct err){0};
        w.name = "later";
        assert_false(token_create(&w, text, &e));
        assert_int_equal(e.code, ERR_DENIED);
    }
    write_file(buf_cz(&good));
    assert_int_equal(ask(s, text, &b), VERDICT_GOOD);
    let_go(&b);
    store_close(s);
}

/* A user with one link in the folder could point it elsewhere unseen. */
static void a_link_in_place_of_the_file_lets_nobody_in(void **state)
{
    (void)state;
    char text[TOKEN_TEXT], from[128], to[128];
    struct token_wish w = wish("linked");
    make(&w, text);
    (void)snprintf(from, sizeof from, "%s/cloche/" TOKENS_FILE, home);
    (void)snprintf(to, sizeof to, "%s/cloche/elsewhere", home);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(symlink("elsewhere", from), 0);
    struct store *s = store_open();
    struct bearer b;
    assert_int_equal(ask(s, text, &b), VERDICT_BAD);
    assert_int_equal(rename(to, from), 0);
    assert_int_equal(ask(s, text, &b), VERDICT_GOOD);
    let_go(&b);
    store_close(s);
}

static void *make_some(void *arg)
{
    for (int i = 0; i < 10; i++) {
        char name[32], text[TOKEN_TEXT];
        (void)snprintf(name, sizeof name, "many-%d-%d", *(int *)arg, i);
        struct err e = {0};
        struct token_wish w = wish(name);
        if (!token_create(&w, text, &e))
            return "failed";
    }
    return NULL;
}

static void tokens_made_at_the_same_time_are_all_kept(void **state)
{
    (void)state;
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_some, &numbers[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    scoped_buf struct buf list;
    struct err e = {0};
    buf_init(&list, 1 << 20);
    struct json_writer w = json_writer(&list);
    assert_true(tokens_list(&w, &e));
    size_t n = 0;
    for (const char *at = buf_cz(&list); (at = strstr(at, "\"many-")); at++)
        n++;
    assert_int_equal(n, 40);
}

static void more_tokens_than_are_accepted_are_refused(void **state)
{
    (void)state;
    scoped_buf struct buf good, full;
    struct err e = {0};
    char text[TOKEN_TEXT];
    buf_init(&good, 1 << 20);
    buf_init(&full, 1 << 20);
    read_file(&good);
    buf_cstr(&full, "{\"version\":1,\"tokens\":[");
    for (unsigned i = 0; i < TOKENS_MAX; i++)
        buf_printf(&full,
                   "%s{\"id\":\"%012x\",\"name\":\"n%u\",\"level\":\"full\",\"scopes\":["
                   "\"read\"],\"vaults\":null,\"hash\":\"%064x\",\"created\":1,"
                   "\"expires\":null,\"revoked\":null}",
                   i ? "," : "", i, i, i);
    buf_cstr(&full, "]}");
    write_file(buf_cz(&full));
    struct token_wish w = wish("one-more");
    assert_false(token_create(&w, text, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    write_file(buf_cz(&good));
}

static void the_last_use_is_noted_and_listed(void **state)
{
    (void)state;
    struct err e = {0};
    char text[TOKEN_TEXT];
    struct token_wish w = wish("used");
    make(&w, text);
    struct store *s = store_open();
    struct verifier v = store_verifier(s);
    struct bearer b;
    assert_int_equal(ask(s, text, &b), VERDICT_GOOD);
    v.used(v.arg, &b, 1763700000000);
    let_go(&b);
    store_close(s);
    scoped_buf struct buf list;
    buf_init(&list, 1 << 20);
    struct json_writer out = json_writer(&list);
    assert_true(tokens_list(&out, &e));
    assert_non_null(strstr(buf_cz(&list), "\"last_used\":\"2025-11-21T04:40:00.000Z\""));
    assert_null(strstr(buf_cz(&list), "hash"));
}

/* ---- limits ------------------------------------------------------------- */

#define SECOND ((uint64_t)1000000000)

static bool one_more(struct limits *l, const char *who, uint64_t now_ns)
{
    bool first;
    unsigned wait_s;
    const char *why;
    return limits_begin(l, who, now_ns, &first, &wait_s, &why);
}

static void a_caller_has_its_rate_and_others_have_theirs(void **state)
{
    (void)state;
    struct limits *l = limits_new(10, 1000);
    uint64_t now = SECOND;
    for (int i = 0; i < 20; i++)
        assert_true(one_more(l, "token a", now));
    assert_false(one_more(l, "token a", now));
    assert_true(one_more(l, "token b", now));
    now += SECOND / 10;
    assert_true(one_more(l, "token a", now));
    assert_false(one_more(l, "token a", now));
    now += 60 * SECOND;
    for (int i = 0; i < 20; i++)
        assert_true(one_more(l, "token a", now));
    assert_false(one_more(l, "token a", now));
    limits_free(l);
}

static void only_so_many_of_one_caller_run_at_once(void **state)
{
    (void)state;
    struct limits *l = limits_new(1000, 2);
    assert_true(one_more(l, "token a", SECOND));
    assert_true(one_more(l, "token a", SECOND));
    assert_false(one_more(l, "token a", SECOND));
    assert_true(one_more(l, "token b", SECOND));
    limits_end(l, "token a");
    assert_true(one_more(l, "token a", SECOND));
    assert_false(one_more(l, "token a", SECOND));
    limits_free(l);
}

static void callers_are_bounded_and_idle_ones_make_room(void **state)
{
    (void)state;
    struct limits *l = limits_new(10, 10);
    char name[40];
    for (unsigned i = 0; i < ACCOUNTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "oauth %u", i);
        assert_true(one_more(l, name, SECOND));
    }
    assert_false(one_more(l, "oauth another", SECOND));
    limits_end(l, "oauth 7");
    /* Its bucket is not full yet, so it must not be forgotten. */
    assert_false(one_more(l, "oauth another", SECOND));
    assert_true(one_more(l, "oauth another", 2 * SECOND));
    limits_free(l);
}

static void the_first_use_in_a_minute_is_told(void **state)
{
    (void)state;
    struct limits *l = limits_new(10, 10);
    bool first = false;
    unsigned wait_s;
    const char *why;
    assert_true(limits_begin(l, "token a", SECOND, &first, &wait_s, &why));
    assert_true(first);
    assert_true(limits_begin(l, "token a", 2 * SECOND, &first, &wait_s, &why));
    assert_false(first);
    assert_true(limits_begin(l, "token a", 61 * SECOND, &first, &wait_s, &why));
    assert_true(first);
    limits_free(l);
}

/* ---- log-ins that failed ------------------------------------------------ */

static unsigned wrong(struct failures *f, const char *peer, uint64_t now_ns)
{
    bool first;
    return failures_add(f, peer, now_ns, &first);
}

static void wrong_tokens_are_slowed_down_by_address(void **state)
{
    (void)state;
    struct failures *f = failures_new();
    for (int i = 0; i < 10; i++)
        assert_int_equal(wrong(f, "192.0.2.1", SECOND), 0);
    assert_true(wrong(f, "192.0.2.1", SECOND) > 0);
    assert_int_equal(wrong(f, "192.0.2.2", SECOND), 0);
    /* However long the attack: a minute or so later one may try again. */
    for (int i = 0; i < 10000; i++)
        assert_true(wrong(f, "192.0.2.1", SECOND) <= 13);
    assert_int_equal(wrong(f, "192.0.2.1", 14 * SECOND), 0);
    failures_free(f);
}

static void addresses_of_one_customer_are_one(void **state)
{
    (void)state;
    struct failures *f = failures_new();
    char peer[48];
    for (int i = 0; i < 10; i++) {
        (void)snprintf(peer, sizeof peer, "2001:db8:1:2::%x", i + 1);
        assert_int_equal(wrong(f, peer, SECOND), 0);
    }
    assert_true(wrong(f, "2001:db8:1:2:ffff::1", SECOND) > 0);
    assert_int_equal(wrong(f, "2001:db8:1:3::1", SECOND), 0);
    /* IPv4 over an IPv6 socket is the same IPv4 address. */
    for (int i = 0; i < 10; i++)
        assert_int_equal(wrong(f, i % 2 ? "::ffff:198.51.100.1" : "198.51.100.1", SECOND),
                         0);
    assert_true(wrong(f, "198.51.100.1", SECOND) > 0);
    assert_int_equal(wrong(f, "::ffff:198.51.100.2", SECOND), 0);
    assert_int_equal(wrong(f, "unknown", SECOND), 0);
    failures_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_that_was_made_is_known_with_what_it_grants),
        cmocka_unit_test(no_text_but_the_very_one_is_good),
        cmocka_unit_test(neither_a_token_nor_its_secret_stands_in_the_file),
        cmocka_unit_test(a_revoked_token_is_refused_by_a_server_that_runs),
        cmocka_unit_test(a_name_is_never_given_twice),
        cmocka_unit_test(an_expired_token_is_told_from_a_wrong_one),
        cmocka_unit_test(names_that_could_be_mistaken_are_refused),
        cmocka_unit_test(a_file_that_cannot_be_believed_lets_nobody_in),
        cmocka_unit_test(a_link_in_place_of_the_file_lets_nobody_in),
        cmocka_unit_test(tokens_made_at_the_same_time_are_all_kept),
        cmocka_unit_test(more_tokens_than_are_accepted_are_refused),
        cmocka_unit_test(the_last_use_is_noted_and_listed),
        cmocka_unit_test(a_caller_has_its_rate_and_others_have_theirs),
        cmocka_unit_test(only_so_many_of_one_caller_run_at_once),
        cmocka_unit_test(callers_are_bounded_and_idle_ones_make_room),
        cmocka_unit_test(the_first_use_in_a_minute_is_told),
        cmocka_unit_test(wrong_tokens_are_slowed_down_by_address),
        cmocka_unit_test(addresses_of_one_customer_are_one),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
