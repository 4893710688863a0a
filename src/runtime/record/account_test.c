#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "capability/home_test.h"
#include "place/place.h"
#include "record/internal.h"
#include "record/record.h"
#include "json/json.h"

static struct actions actions;
static struct arena *arena;
static struct account account;
static struct place place;
static struct buf text;
static struct err e;
static struct client_claim claim;
static struct caller who;

static void put_row(const void *row, struct json_writer *w)
{
    json_pair_cstr(w, "name", row);
    json_pair_int(w, "calls", INT64_MAX);
}

static const struct account_list lists[] = {
    {.name = "functions", .more = "more_functions", .size = 65, .put = put_row},
    {.name = "functions_changed",
     .more = "more_functions_changed",
     .size = 65,
     .changes = true,
     .put = put_row},
    {.name = "machines", .more = "more_machines", .size = 65, .put = put_row}};

/* A table of host calls for this test. */
#define ROWS 150
static char names[ROWS][80];
static struct host_call rows[ROWS];
static const struct host_call_group group = {rows, ROWS, .order = 1};
static const struct capability listed = {
    .calls = CALLS(&group), .records = RECORDS(&lists[0], &lists[1], &lists[2])};
const struct capability *const capability_list[] = {&listed};
const size_t capability_count = 1;

static void name_rows(void)
{
    for (unsigned i = 0; i < ROWS; i++) {
        (void)snprintf(names[i], sizeof names[i], "notes.%064u", i);
        rows[i].row.name = names[i];
    }
}

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    if (make_home() != 0)
        return -1;
    name_rows();
    struct guard_options options = host_call_guard_options();
    actions = (struct actions){.guard = guard_open(&options),
                               .vaults = vault_set_open(NULL, NULL, NULL, &e)};
    arena = arena_new((size_t)16 << 20);
    buf_init(&text, (size_t)1 << 20);
    who = (struct caller){.name = "stdio", .claim = &claim};
    if (!actions.vaults || !place_find(&place, &actions, 0, &who, &e))
        return -1;
    account_begin(&account, &actions, "evaluate_note_code", NULL, &who);
    account_place(&account, &place, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (account.parts)
        account_end(&account);
    buf_done(&text);
    vault_set_close(actions.vaults);
    guard_close(actions.guard);
    arena_free(arena);
    return drop_home();
}

static const struct json *record(void)
{
    buf_clear(&text);
    buf_char(&text, '{');
    account_write(place.part, &text);
    buf_char(&text, '}');
    assert_true(text.n <= AUDIT_RECORD_MAX - 254);
    const struct json *r = json_read(buf_view(&text), arena, &e);
    assert_non_null(r);
    return r;
}

/* Rows listed and rows left out add up. */
static void adds_up(const struct json *r, const char *list, const char *more, int64_t all)
{
    assert_int_equal(
        (int64_t)json_length(json_get(r, list)) + json_int(json_get(r, more), 0), all);
}

static void a_record_counts_what_it_does_not_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "type/note %u", i);
        account_change(place.part, str_of(name));
        account_change(place.part, str_of(name));
        (void)snprintf(name, sizeof name, "host%u.example.org", i);
        account_host(place.part, name);
    }
    const struct json *r = record();
    assert_int_equal(json_length(json_get(r, "notes")), ACCOUNT_LISTED);
    adds_up(r, "notes", "more_notes", 10000);
    adds_up(r, "hosts", "more_hosts", 10000);
}

static void a_record_fits_whatever_its_names_are(void **state)
{
    (void)state;
    char name[5000], row[65] = "";
    for (unsigned i = 0; i < 100; i++) {
        memset(name, i % 2 ? 0x1b : 'x', sizeof name); /* one byte becomes six */
        (void)snprintf(name, 20, "%u", i);
        name[strlen(name)] = 'y';
        name[sizeof name - 1] = '\0';
        account_change(place.part, str_of(name));
        account_host(place.part, name);
        memset(row, 0x1b, 64);
        for (size_t k = 0; k < LENGTH(lists); k++)
            account_row(place.part, &lists[k], row);
    }
    size_t calls;
    (void)host_call_all(&calls);
    for (uint32_t i = 0; i < calls; i++) {
        account_call(place.part, i, host_call_all(&calls)[i], ERR_DENIED,
                     &(struct outcome){0});
        account_call(place.part, i, host_call_all(&calls)[i], ERR_LIMIT,
                     &(struct outcome){0});
    }
    const struct json *r = record();
    adds_up(r, "notes", "more_notes", 100);
    adds_up(r, "hosts", "more_hosts", 100);
    adds_up(r, "functions", "more_functions", 100);
    adds_up(r, "functions_changed", "more_functions_changed", 100);
    adds_up(r, "machines", "more_machines", 100);
    adds_up(r, "denied", "more_denied", (int64_t)calls);
    adds_up(r, "failed", "more_failed", (int64_t)calls);
    assert_true(json_bool(json_get(r, "changed"), false));
}

static void a_record_fits_whatever_its_caller_says(void **state)
{
    (void)state;
    static char long_text[20000];
    memset(long_text, 0x01, sizeof long_text - 1);
    struct str long_str = str_of(long_text);
    struct trace trace = {long_str, long_str, long_str};
    memset(claim.name, '"', sizeof claim.name - 1);
    memset(claim.version, '"', sizeof claim.version - 1);
    who.name = long_text;
    who.trace = &trace;
    who.session = "session";
    account.action = long_text;
    (void)record();
    claim = (struct client_claim){0};
    who = (struct caller){.name = "stdio"};
    account.action = "evaluate_note_code";
}

static void what_is_done_in_one_vault_is_told_there_alone(void **state)
{
    (void)state;
    account_change(place.part, STR("a/Here"));
    account_host(place.part, "this.example.org");
    const struct json *r = record();
    assert_int_equal(json_length(json_get(r, "notes")), 1);
    struct account_part there = {.of = &account, .ward = place.ward};
    place.part->next = &there;
    account_change(&there, STR("b/There"));
    account_host(&there, "there.example.org");
    r = record();
    assert_int_equal(json_length(json_get(r, "notes")), 1);
    assert_null(strstr(buf_cz(&text), "there.example.org"));
    assert_null(strstr(buf_cz(&text), "b/There"));
    place.part->next = NULL;
    tally_done(&there.notes);
    tally_done(&there.hosts);
}

static const struct json *steps(void)
{
    buf_clear(&text);
    account.has_stats = true;
    account_write_steps(place.part, &text);
    assert_true(text.n <= TRAIL_BESIDE_MAX);
    return text.n ? json_read(buf_view(&text), arena, &e) : NULL;
}

static void step(uint32_t row, uint64_t at_us, uint64_t us, enum err_code outcome)
{
    uint64_t begun_ns = account.begun_ns + at_us * 1000;
    account_step(place.part, row, outcome, begun_ns, begun_ns + us * 1000);
}

static void host_calls_are_told_in_their_order(void **state)
{
    (void)state;
    assert_null(steps());
    step(7, 900, 30, ERR_DENIED);
    step(3, 100, 20, ERR_NONE);
    step(3, 200, 20, ERR_NONE);
    const struct json *s = steps();
    assert_string_equal(
        buf_cz(&text) + strcspn(buf_cz(&text), "]"),
        "],\"steps\":[[0,100,20],[0,200,20],[1,900,30,\"PermissionDenied\"]]}");
    assert_string_equal(json_cstr(json_at(json_get(s, "names"), 0)), names[3]);
}

static void of_many_host_calls_the_longest_are_told(void **state)
{
    (void)state;
    int64_t us = 0;
    for (uint32_t i = 0; i < 1000; i++)
        step(0, i * 1000, i % 100 ? 5 : 500, ERR_NONE);
    const struct json *s = steps();
    const struct json *all = json_get(s, "steps");
    for (size_t i = 0; i < json_length(all); i++)
        us += json_int(json_at(json_at(all, i), 2), 0);
    assert_int_equal(json_length(all) + (size_t)json_int(json_get(s, "left"), 0), 1000);
    assert_int_equal(us + json_int(json_get(s, "left_us"), 0), 990 * 5 + 10 * 500);
    assert_true(us >= 10 * 500);
}

static void host_calls_of_any_name_and_time_fit(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++)
        step(i, UINT32_MAX - i, UINT32_MAX, ERR_DENIED);
    const struct json *s = steps();
    size_t told = json_length(json_get(s, "steps"));
    assert_true(told > 10);
    assert_int_equal(told + (size_t)json_int(json_get(s, "left"), 0), ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_counts_what_it_does_not_name, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_record_fits_whatever_its_names_are, begin, end),
        cmocka_unit_test_setup_teardown(a_record_fits_whatever_its_caller_says, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_is_done_in_one_vault_is_told_there_alone,
                                        begin, end),
        cmocka_unit_test_setup_teardown(host_calls_are_told_in_their_order, begin, end),
        cmocka_unit_test_setup_teardown(of_many_host_calls_the_longest_are_told, begin,
                                        end),
        cmocka_unit_test_setup_teardown(host_calls_of_any_name_and_time_fit, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
