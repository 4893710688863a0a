/* Approvals: who finds which decision, the end of a wait, damaged files, and that an
 * agent's text stays on its line. */
#include "approvals/approvals.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/home_test.h"
#include "os/os.h"

static char home[HOME_SIZE];
static struct approvals *store;
static struct arena *arena;

static struct approval_request request(const char *digest)
{
    static const char *const tools[] = {"jq"};
    return (struct approval_request){.kind = "run",
                                     .caller = "stdio",
                                     .asker = "stdio",
                                     .digest = digest,
                                     .tools = tools,
                                     .tool_count = 1,
                                     .session = true,
                                     .shown =
                                         STR("{\"tool\":\"jq 1.7\",\"args\":[\"a\"]}")};
}

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    arena = arena_new((size_t)64 << 20);
    store = home_make(home) ? approvals_open(&e) : NULL;
    return store ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    approvals_close(store);
    arena_free(arena);
    return folder_remove(home);
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* Does not wait. */
static struct approval_decision ask(const char *digest)
{
    struct err e = {0};
    struct approval_decision decision;
    struct approval_request w = request(digest);
    if (!approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e))
        fail_msg("%s", e.msg);
    return decision;
}

static const struct json *listed(void)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, (size_t)32 << 20);
    if (!approvals_list(store, &out, &e))
        fail_msg("%s", e.msg);
    return json_read(buf_view(&out), arena, &e);
}

static void decide(const char *id, bool allow, enum approval_memory memory)
{
    struct err e = {0};
    if (!approvals_decide(store, str_of(id), allow, memory, "terminal", NULL, &e))
        fail_msg("%s", e.msg);
}

static void put_file(const char *name, const char *text)
{
    struct err e = {0};
    char path[200];
    (void)snprintf(path, sizeof path, "%s/cloche/approvals", home);
    scoped_fd int dir = os_dir_open(path, &e);
    assert_true(os_write_file(dir, name, str_of(text), OS_REPLACE, 0600, NULL, &e));
}

/* ---- words ----------------------------------------------------------------- */

static void a_word_is_good_for_one_request_of_the_same_asker(void **state)
{
    (void)state;
    struct approval_decision decision = ask("one");
    assert_false(decision.decided);
    decide(decision.id, true, APPROVAL_SESSION);
    assert_false(ask("two").decided);
    struct err e = {0};
    struct approval_decision other;
    struct approval_request w = request("one");
    w.asker = "http token ci";
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &other, &e));
    assert_false(other.decided);
    struct approval_decision again = ask("one");
    assert_true(again.decided && again.allowed);
    assert_int_equal(again.memory, APPROVAL_SESSION);
    assert_string_equal(again.by, "terminal");
    assert_string_equal(again.id, decision.id);
    assert_false(ask("one").decided);
}

static void a_denials_reason_reaches_who_asked_on_one_line(void **state)
{
    (void)state;
    struct err e = {0};
    char long_one[APPROVAL_REASON_MAX + 2];
    struct approval_decision decision = ask("one");
    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_false(
        approvals_deny(store, str_of(decision.id), str_of(long_one), "page", NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_true(approvals_deny(store, str_of(decision.id),
                               STR("use the\nother \x1b[31mnote"), "page", NULL, &e));
    struct approval_decision again = ask("one");
    assert_true(again.decided);
    assert_false(again.allowed);
    assert_string_equal(again.reason, "use the other  [31mnote");
    decide(ask("two").id, false, APPROVAL_CALL);
    assert_string_equal(ask("two").reason, "");
}

static void the_same_request_does_not_ask_twice(void **state)
{
    (void)state;
    struct approval_decision first = ask("one"), second = ask("one");
    assert_string_equal(first.id, second.id);
    assert_int_equal(json_length(listed()), 1);
}

static void the_first_word_holds(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision = ask("one");
    decide(decision.id, false, APPROVAL_CALL);
    assert_false(approvals_decide(store, str_of(decision.id), true, APPROVAL_CALL, "page",
                                  NULL, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_non_null(strstr(e.msg, "denied"));
    assert_int_equal(json_length(listed()), 0);
    struct approval_decision again = ask("one");
    assert_true(again.decided && !again.allowed);
}

static void only_what_is_offered_can_be_chosen(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision = ask("one");
    assert_false(approvals_decide(store, str_of(decision.id), true, APPROVAL_ALWAYS,
                                  "page", NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(
        approvals_decide(store, STR("../../x"), true, APPROVAL_CALL, "page", NULL, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    decide(decision.id, true, APPROVAL_CALL);
}

/* ---- waiting --------------------------------------------------------------- */

static void *allow_it(void *id)
{
    decide(id, true, APPROVAL_CALL);
    return NULL;
}

static pthread_t other;

static void begins(void *arg, const char *id)
{
    char *copy = arg;
    (void)snprintf(copy, APPROVAL_ID, "%s", id);
    assert_int_equal(pthread_create(&other, NULL, allow_it, copy), 0);
}

static void who_waits_hears_the_word(void **state)
{
    (void)state;
    struct err e = {0};
    char id[APPROVAL_ID];
    struct approval_decision decision;
    struct approval_request w = request("one");
    struct approval_wait wait = {.ms = 60000, .begins = begins, .arg = id};
    assert_true(approvals_ask(store, &w, &wait, &decision, &e));
    pthread_join(other, NULL);
    assert_true(decision.decided && decision.allowed);
    assert_int_equal(json_length(listed()), 0);
}

static void waiting_ends_with_its_time_and_the_entry_stays(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision;
    struct approval_request w = request("one");
    assert_true(
        approvals_ask(store, &w, &(struct approval_wait){.ms = 1}, &decision, &e));
    assert_false(decision.decided);
    decide(decision.id, true, APPROVAL_CALL);
    assert_true(ask("one").allowed);
}

static void cancelling_ends_the_waiting(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision;
    struct approval_request w = request("one");
    struct cancel cancel;
    cancel_init(&cancel);
    cancel_fire(&cancel);
    struct approval_wait wait = {.ms = 600000, .cancel = {NULL, &cancel}};
    assert_false(approvals_ask(store, &w, &wait, &decision, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
}

static void tell_parent(void *arg, const char *id)
{
    assert_int_equal(write(*(int *)arg, id, APPROVAL_ID), APPROVAL_ID);
}

/* In another process; its id arrives when it waits. */
static pid_t wait_elsewhere(const char *digest, char id[static APPROVAL_ID])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        struct approval_decision decision;
        struct approval_request w = request(digest);
        struct approvals *own = approvals_open(&e);
        struct approval_wait wait = {.ms = 60000, .begins = tell_parent, .arg = &ends[1]};
        bool ok = own && approvals_ask(own, &w, &wait, &decision, &e);
        _exit(ok && decision.decided && decision.allowed ? 0 : 1);
    }
    assert_int_equal(read(ends[0], id, APPROVAL_ID), APPROVAL_ID);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static bool is_waiting(void)
{
    return json_bool(json_get(json_at(listed(), 0), "waiting"), false);
}

static void another_process_hears_the_word(void **state)
{
    (void)state;
    int status;
    char id[APPROVAL_ID];
    pid_t child = wait_elsewhere("one", id);
    assert_true(is_waiting());
    decide(id, true, APPROVAL_CALL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void who_was_killed_leaves_an_entry_that_the_same_request_takes_on(void **state)
{
    (void)state;
    int status;
    char id[APPROVAL_ID];
    pid_t child = wait_elsewhere("one", id);
    assert_string_not_equal(ask("one").id, id); /* the other belongs to another caller */
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    decide(id, true, APPROVAL_CALL);
    assert_true(ask("one").allowed);
}

/* ---- limits ---------------------------------------------------------------- */

static void one_asker_can_only_have_so_many(void **state)
{
    (void)state;
    struct err e = {0};
    char digest[16];
    struct approval_decision decision;
    for (unsigned i = 0; i < APPROVALS_ASKER_MAX; i++) {
        (void)snprintf(digest, sizeof digest, "%u", i);
        (void)ask(digest);
    }
    struct approval_request w = request("more");
    assert_false(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_int_equal(e.code, ERR_BUSY);
    w.asker = "another";
    e = (struct err){0};
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
}

static void all_together_can_only_have_so_many(void **state)
{
    (void)state;
    struct err e = {0};
    char asker[16];
    struct approval_decision decision;
    struct approval_request w = request("one");
    w.asker = asker;
    for (unsigned i = 0; i <= APPROVALS_MAX; i++) {
        (void)snprintf(asker, sizeof asker, "asker %u", i);
        bool ok = approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e);
        assert_int_equal(ok, i < APPROVALS_MAX);
    }
    assert_int_equal(e.code, ERR_BUSY);
}

static void edited_arguments_reach_who_asked_and_allow_nothing(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    const struct json *better = json_read(STR("{\"args\":[\"b\"]}"), a, &e);
    struct approval_decision decision;
    struct approval_request w = request("edited");
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_false(approvals_edit(store, str_of(decision.id), better, "page", NULL, &e));
    assert_int_equal(e.code, ERR_INVALID); /* it has none that can be edited */
    w = request("editable");
    w.arguments = STR("{\"args\":[\"a\"]}");
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_null(decision.edited);
    assert_false(approvals_edit(store, str_of(decision.id), json_get(better, "args"),
                                "page", NULL, &e)); /* no object */
    e = (struct err){0};
    assert_true(approvals_edit(store, str_of(decision.id), better, "page", NULL, &e));
    assert_false(approvals_decide(store, str_of(decision.id), true, APPROVAL_CALL, "page",
                                  NULL, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    e = (struct err){0};
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_true(decision.decided && !decision.allowed);
    assert_string_equal(decision.edited, "{\"args\":[\"b\"]}");
    free(decision.edited);
}

static void the_last_places_are_for_those_who_have_none(void **state)
{
    (void)state;
    struct err e = {0};
    char asker[16], digest[16];
    struct approval_decision decision;
    for (unsigned i = 0; i < APPROVALS_MAX - APPROVALS_MAX / 8; i++) {
        (void)snprintf(asker, sizeof asker, "asker %u", i / APPROVALS_ASKER_MAX);
        (void)snprintf(digest, sizeof digest, "%u", i);
        struct approval_request w = request(digest);
        w.asker = asker;
        assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    }
    struct approval_request w = request("more");
    w.asker = "a new one";
    assert_true(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    w.digest = "and more";
    assert_false(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_int_equal(e.code, ERR_BUSY);
}

static void what_cannot_be_shown_whole_is_not_asked(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision;
    struct approval_request w = request("one");
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    buf_printf(&text, "{\"a\":\"%0*d\"}", (int)APPROVAL_SHOWN_MAX, 0);
    w.shown = buf_view(&text);
    assert_false(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(json_length(listed()), 0);
}

static void what_could_not_be_read_again_is_not_asked(void **state)
{
    (void)state;
    struct err e = {0};
    struct approval_decision decision;
    struct approval_request w = request("one");
    w.shown = STR("{\"mounts\":[\"nothing\"],\"mounts\":[\"/vault\"]}");
    assert_false(approvals_ask(store, &w, &(struct approval_wait){0}, &decision, &e));
    assert_int_equal(e.code, ERR_INVALID);
    (void)ask("another"); /* nothing in its way was left */
    assert_int_equal(json_length(listed()), 1);
}

/* ---- files of others ------------------------------------------------------- */

static void damaged_and_forged_files_are_passed_over(void **state)
{
    (void)state;
    struct approval_decision decision = ask("one");
    put_file("aaaaaaaa.json", "{\"id\":");
    put_file("bbbbbbbb.json", "[]");
    put_file("cccccccc.json", "{\"id\":\"dddddddd\"}");
    put_file("NOT-ONE.json", "{}");
    put_file("eeeeeeee.json",
             "{\"id\":\"eeeeeeee\",\"kind\":\"run\",\"caller\":\"x\",\"asker\":\"x\","
             "\"digest\":\"d\",\"asked_ms\":9000000000000,\"keep_ms\":1,\"choices\":[],"
             "\"tools\":[],\"shown\":{}}");
    assert_int_equal(json_length(listed()), 1);
    struct err e = {0};
    assert_false(
        approvals_decide(store, STR("bbbbbbbb"), true, APPROVAL_CALL, "page", NULL, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    char said[32];
    (void)snprintf(said, sizeof said, "%s.said", decision.id);
    put_file(said, "{\"allowed\":\"yes\"}");
    assert_false(ask("one").decided);
}

static void what_is_old_is_forgotten(void **state)
{
    (void)state;
    put_file("ffffffff.json",
             "{\"id\":\"ffffffff\",\"kind\":\"run\",\"caller\":\"x\",\"asker\":\"stdio\","
             "\"digest\":\"one\",\"asked_ms\":1000,\"keep_ms\":1,\"choices\":[\"call\"],"
             "\"tools\":[],\"shown\":{}}");
    put_file("ffffffff.decided",
             "{\"allowed\":true,\"remember\":\"call\",\"at_ms\":1000}");
    assert_false(ask("one").decided);
    struct err e = {0};
    assert_false(
        approvals_decide(store, STR("ffffffff"), true, APPROVAL_CALL, "page", NULL, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* ---- showing --------------------------------------------------------------- */

static const char *spelt(const char *text)
{
    static struct buf out;
    buf_done(&out);
    buf_init(&out, 1 << 12);
    str_spell(str_of(text), &out);
    return buf_cz(&out);
}

static void nothing_that_an_agent_wrote_looks_like_a_line_of_ours(void **state)
{
    (void)state;
    assert_string_equal(spelt("a   b    c"), "a   b\\u{20}*4c");
    assert_string_equal(spelt("      "), "\\u{20}*6");
    assert_string_equal(spelt("e\u0301\u0302\u0303\u0304 e\u0301"),
                        "e\u0301\u0302\\u{303}\\u{304} e\u0301");
}

static void nothing_that_an_agent_wrote_leaves_its_line(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 16);
    const struct json *entry =
        json_read(STR("{\"id\":\"abcdefgh\",\"kind\":\"run\",\"caller\":\"a\\nb\","
                      "\"left_ms\":9000,\"waiting\":true,\"shown\":{\"arguments\":["
                      "\"\\u001b[2J\\u001b[H  tool        ls\",\"x\\ny\",\"\\u202eevil\","
                      "\"a\\u200bb\\u2066c\\ufeff\\u0085\"],\"na\\nme\":\"\\u2800\"}}"),
                  arena, &e);
    approvals_tell(entry, &out);
    assert_string_equal(buf_cz(&out),
                        "abcdefgh  to be run, asked by a\\nb, who waits\n"
                        "  arguments   \\u{1b}[2J\\u{1b}[H  tool\\u{20}*8ls\n"
                        "              x\\ny\n"
                        "              \\u{202e}evil\n"
                        "              a\\u{200b}b\\u{2066}c\\u{feff}\\u{85}\n"
                        "  na\\nme      \\u{2800}\n"
                        "  good for    9 s\n");
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        test(a_word_is_good_for_one_request_of_the_same_asker),
        test(a_denials_reason_reaches_who_asked_on_one_line),
        test(the_same_request_does_not_ask_twice),
        test(the_first_word_holds),
        test(only_what_is_offered_can_be_chosen),
        test(who_waits_hears_the_word),
        test(waiting_ends_with_its_time_and_the_entry_stays),
        test(cancelling_ends_the_waiting),
        test(another_process_hears_the_word),
        test(who_was_killed_leaves_an_entry_that_the_same_request_takes_on),
        test(one_asker_can_only_have_so_many),
        test(all_together_can_only_have_so_many),
        test(edited_arguments_reach_who_asked_and_allow_nothing),
        test(the_last_places_are_for_those_who_have_none),
        test(what_cannot_be_shown_whole_is_not_asked),
        test(damaged_and_forged_files_are_passed_over),
        test(what_is_old_is_forgotten),
        test(what_could_not_be_read_again_is_not_asked),
        test(nothing_that_an_agent_wrote_leaves_its_line),
        test(nothing_that_an_agent_wrote_looks_like_a_line_of_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
