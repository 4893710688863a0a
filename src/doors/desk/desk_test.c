/* Where a person decides: links that are good once, words and what they come to, and that
 * each is recorded. */
#include "desk/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "calls/calls.h"
#include "catalogue/catalogue.h"
#include "os/os.h"
#include "programs/programs.h"
#include "json/json.h"

#define URL "http://127.0.0.1:7070"

static char home[HOME_SIZE];
static struct guard *guard;
static struct approvals *approvals;
static struct arena *arena;
static int links;
static struct err e;

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    if (!home_make(home))
        return -1;
    const struct guard_options options = host_call_guard_options();
    guard = guard_open(&options);
    approvals = approvals_open(&e);
    arena = arena_new((size_t)64 << 20);
    links = links_open(&e);
    return approvals && links >= 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    os_close(links);
    arena_free(arena);
    approvals_close(approvals);
    guard_close(guard);
    return folder_remove(home);
}

/* ---- links ------------------------------------------------------------------ */

/* What stands behind the '#'. */
static struct str link_to(const char *url)
{
    static char link[DESK_LINK_MAX];
    if (!desk_link(url, link, &e))
        fail_msg("%s", e.msg);
    return str_of(strchr(link, '#') + 1);
}

static void a_link_is_good_once(void **state)
{
    (void)state;
    struct str token = link_to(URL);
    assert_int_equal(token.n, CRYPTO_TOKEN - 1);
    assert_true(links_take(links, token));
    assert_false(links_take(links, token));
}

static void what_is_no_link_leads_nowhere(void **state)
{
    (void)state;
    struct str token = link_to(URL);
    char wrong[CRYPTO_TOKEN];
    memcpy(wrong, token.at, sizeof wrong);
    wrong[0] = wrong[0] == 'a' ? 'b' : 'a';
    assert_false(links_take(links, str_of(wrong)));
    assert_false(links_take(links, STR("")));
    assert_false(links_take(links, STR("../../policy.json")));
    assert_true(links_take(links, token));
}

static bool is_shown(void *arg, const char *name, const struct os_stat *st,
                     struct err *why)
{
    (void)st;
    (void)why;
    assert_null(strstr(name, arg));
    scoped_buf struct buf text;
    buf_init(&text, 1000);
    struct err none = {0};
    if (os_read_file(links, name, &text, NULL, &none))
        assert_null(strstr(buf_cz(&text), arg));
    return true;
}

static void who_reads_the_folder_cannot_come_in(void **state)
{
    (void)state;
    char token[CRYPTO_TOKEN];
    memcpy(token, link_to(URL).at, sizeof token);
    assert_true(os_walk(links, is_shown, token, &e));
}

static void a_link_that_is_over_is_none(void **state)
{
    (void)state;
    char token[CRYPTO_TOKEN] = "", hex[CRYPTO_HASH_HEX], name[100];
    crypto_token(token);
    crypto_hash_hex(str_of(token), hex);
    (void)snprintf(name, sizeof name, "%s.link", hex);
    assert_true(os_write_file(links, name, STR("1000"), OS_CREATE, 0600, NULL, &e));
    assert_false(links_take(links, str_of(token)));
}

static void so_many_links_wait_and_no_more(void **state)
{
    (void)state;
    char link[DESK_LINK_MAX], first[CRYPTO_TOKEN];
    memcpy(first, link_to(URL).at, sizeof first);
    for (int i = 1; i < 32; i++)
        (void)link_to(URL);
    assert_false(desk_link(URL, link, &e));
    assert_int_equal(e.code, ERR_BUSY);
    e = (struct err){0};
    assert_true(links_take(links, str_of(first)));
    (void)link_to(URL);
}

static void links_lead_to_the_server_that_was_started_last(void **state)
{
    (void)state;
    char link[DESK_LINK_MAX];
    assert_false(desk_link(NULL, link, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    links_serve(links, URL);
    assert_true(desk_link(NULL, link, &e));
    assert_true(str_starts(str_of(link), URL DESK_PATH "#"));
    links_serve(links, "http://127.0.0.1:7071");
    links_unserve(links, URL); /* not the last one's to take away */
    assert_true(desk_link(NULL, link, &e));
    assert_true(str_starts(str_of(link), "http://127.0.0.1:7071" DESK_PATH "#"));
    links_unserve(links, "http://127.0.0.1:7071");
    assert_false(desk_link(NULL, link, &e));
}

/* ---- words ------------------------------------------------------------------ */

static enum permission permission_of(const char *tool)
{
    struct ward *w = guard_ward(guard, NULL, &e);
    const struct policy *p = ward_policy(w, &e);
    if (!p)
        fail_msg("%s", e.msg);
    const struct tool t = {
        .name = tool, .builtin = true, .execution = {.access = TOOL_READ}};
    enum permission word = tool_standing(p, &t).permission;
    policy_release(p);
    return word;
}

static struct approval_decision ask(const char *kind, const char *const *tools,
                                    size_t count)
{
    struct approval_decision decision;
    struct approval_request request = {.kind = kind,
                                       .caller = "stdio",
                                       .asker = "stdio",
                                       .digest = "0123",
                                       .tools = tools,
                                       .tool_count = count,
                                       .session = true,
                                       .always = true,
                                       .shown = STR("{\"tool\":\"jq\"}")};
    if (!approvals_ask(approvals, &request, &(struct approval_wait){0}, &decision, &e))
        fail_msg("%s", e.msg);
    return decision;
}

static bool decide(const char *id, bool allow, enum approval_memory memory)
{
    return desk_decide(guard, approvals, NULL, NULL, str_of(id), allow, memory, STR(""),
                       "terminal", &e);
}

static void always_is_written_into_the_policy_and_call_is_not(void **state)
{
    (void)state;
    static const char *const tools[] = {"jq", "sqlite3"};
    enum permission before = permission_of("jq");
    assert_int_not_equal(before, PERMISSION_ALWAYS);
    assert_true(decide(ask("run", tools, 2).id, true, APPROVAL_CALL));
    assert_int_equal(permission_of("jq"), before);
    assert_true(ask("run", tools, 2).decided); /* used up */
    assert_true(decide(ask("run", tools, 2).id, true, APPROVAL_ALWAYS));
    assert_int_equal(permission_of("jq"), PERMISSION_ALWAYS);
    assert_int_equal(permission_of("sqlite3"), PERMISSION_ALWAYS);
    assert_int_equal(permission_of("awk"), before);
}

static void a_no_never_writes_a_policy(void **state)
{
    (void)state;
    static const char *const tools[] = {"jq"};
    enum permission before = permission_of("jq");
    struct approval_decision decision = ask("run", tools, 1);
    (void)decide(decision.id, false, APPROVAL_CALL);
    assert_int_equal(permission_of("jq"), before);
    assert_false(ask("run", tools, 1).allowed);
}

static void what_nobody_asked_cannot_be_decided(void **state)
{
    (void)state;
    assert_false(decide("aaaaaaaa", true, APPROVAL_CALL));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void what_was_proposed_is_installed_only_where_tools_are(void **state)
{
    (void)state;
    assert_false(decide(ask("install", NULL, 0).id, true, APPROVAL_CALL));
    assert_non_null(strstr(e.msg, "it is allowed, but was not installed"));
    assert_non_null(strstr(e.msg, "cloche tool install"));
}

static void a_permission_is_set_and_taken_out_again(void **state)
{
    (void)state;
    enum permission usual = permission_of("jq");
    struct ward *w = guard_ward(guard, NULL, &e);
    assert_true(desk_permit(w, false, "jq", PERMISSION_NEVER, "page", &e));
    assert_int_equal(permission_of("jq"), PERMISSION_NEVER);
    assert_true(desk_permit(w, false, "jq", PERMISSION_USUAL, "page", &e));
    assert_int_equal(permission_of("jq"), usual);
    char long_name[200];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_false(desk_permit(w, false, long_name, PERMISSION_NEVER, "page", &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(desk_permit(w, false, "a tool", PERMISSION_NEVER, "page", &e));
}

static void other_settings_are_another_number(void **state)
{
    (void)state;
    struct desk d = {.o = {.guard = guard, .approvals = approvals}};
    uint64_t before = desk_settings(&d);
    assert_int_equal(desk_settings(&d), before);
    struct ward *w = guard_ward(guard, NULL, &e);
    assert_true(desk_permit(w, false, "jq", PERMISSION_NEVER, "page", &e));
    assert_int_not_equal(desk_settings(&d), before);
}

static void a_text_from_outside_is_spelt_out(void **state)
{
    (void)state;
    scoped_buf struct buf spelt;
    buf_init(&spelt, 1000);
    struct json_writer w = json_writer(&spelt);
    json_open_object(&w);
    put_spelt(&w, "x", STR("a\x1b[2Jb\xe2\x80\xae"));
    json_close(&w);
    assert_null(memchr(spelt.at, 0x1b, spelt.n));
    assert_null(strstr(buf_cz(&spelt), "\xe2\x80\xae"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_link_is_good_once),
        T(what_is_no_link_leads_nowhere),
        T(who_reads_the_folder_cannot_come_in),
        T(a_link_that_is_over_is_none),
        T(so_many_links_wait_and_no_more),
        T(links_lead_to_the_server_that_was_started_last),
        T(always_is_written_into_the_policy_and_call_is_not),
        T(a_no_never_writes_a_policy),
        T(what_nobody_asked_cannot_be_decided),
        T(what_was_proposed_is_installed_only_where_tools_are),
        T(a_permission_is_set_and_taken_out_again),
        T(other_settings_are_another_number),
        T(a_text_from_outside_is_spelt_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
