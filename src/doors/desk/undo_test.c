/* Undo of calls, over a vault of the test's own: all of a call or nothing; an undo is
 * itself a call. */
#include "desk/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "actions/actions.h"
#include "audit/audit.h"
#include "base/home_test.h"
#include "calls/calls.h"
#include "os/os.h"
#include "performing/performing.h"

static char home[HOME_SIZE];
static char vault[HOME_SIZE + 8];
static struct desk desk;
static struct arena *arena;
static struct http_response rs;
static struct err e;
static const struct caller agent = {.name = "test", .level = LEVEL_FULL};

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    desk = (struct desk){0};
    rs = (struct http_response){.status = 200};
    if (!home_make(home))
        return -1;
    (void)snprintf(vault, sizeof vault, "%s/vault", home);
    if (mkdir(vault, 0700) != 0)
        return -1;
    const char *vaults[] = {vault, NULL};
    const struct guard_options options = host_call_guard_options();
    desk.o.guard = guard_open(&options);
    desk.o.actions = actions_open(&(struct actions_options){.vaults = vaults}, &e);
    arena = arena_new(ARENA_FILE);
    buf_init(&rs.body, BUF_FILE);
    return desk.o.actions ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    buf_done(&rs.body);
    arena_free(arena);
    actions_close(desk.o.actions);
    guard_close(desk.o.guard);
    return folder_remove(home);
}

/* ---- calls ------------------------------------------------------------------- */

struct step {
    const char *name, *args; /* of a host call */
};

/* Finds the intent of the first record that has one. */
static bool find_intent(void *arg, struct str line, struct err *why)
{
    struct str *out = arg;
    (void)why;
    const struct json *r = json_read(line, arena, &e);
    if (str_is(json_str(json_get(r, "event")), "call"))
        *out = json_str(json_get(r, "intent"));
    return !out->n;
}

/* The id of the last call that made changes. */
static struct str last_call(void)
{
    struct str id, intent = STR("");
    struct ward *ward = desk_ward(&desk, STR(""), arena, &id, &e);
    assert_non_null(ward);
    (void)trail_back(ward_trail(ward), find_intent, &intent, &e);
    assert_true(intent.n);
    return intent;
}

/* Makes these calls as one call of an agent; returns its id. */
static struct str call_of(const struct step *steps, size_t count)
{
    struct work *w = work_begin(desk.o.actions, &agent, STR("vault"), "TEST", &e);
    assert_non_null(w);
    for (size_t i = 0; i < count; i++) {
        scoped_buf struct buf out = buf_of(BUF_FILE);
        if (!work_call(w, steps[i].name, str_of(steps[i].args), &out, &e))
            fail_msg("%s: %s", steps[i].name, e.msg);
    }
    work_end(w, NULL);
    return last_call();
}
#define CALLED(...)                             \
    call_of((const struct step[]){__VA_ARGS__}, \
            LENGTH(((const struct step[]){__VA_ARGS__})))
#define CREATE(title, content) \
    {"notes.create",           \
     "[{\"type\":\"q\",\"title\":\"" title "\",\"content\":\"" content "\"}]"}

/* The contents of a note's file; "": none. */
static const char *note(const char *path)
{
    scoped_fd int dir = os_dir_open(vault, &e);
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    struct err none = {0};
    assert_true(dir >= 0);
    if (!os_read_file(dir, path, &text, NULL, &none))
        return "";
    return str_cz(buf_view(&text), arena, &e);
}

/* Writes a note as an agent; returns the call's id. */
static struct str write_note(const char *id, const char *content)
{
    scoped_buf struct buf get = buf_of(BUF_TEXT);
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    scoped_buf struct buf out = buf_of(BUF_TEXT);
    struct work *w = work_begin(desk.o.actions, &agent, STR("vault"), "TEST", &e);
    assert_non_null(w);
    buf_printf(&args, "[\"%s\"]", id);
    assert_true(work_call(w, "notes.get", buf_view(&args), &get, &e));
    const struct json *now = json_read(buf_view(&get), arena, &e);
    buf_clear(&args);
    buf_printf(&args,
               "[{\"identifier\":\"%s\",\"content\":\"%s\",\"contentHash\":\"%s\"}]", id,
               content, json_cstr(json_get(now, "content_hash")));
    if (!work_call(w, "notes.update", buf_view(&args), &out, &e))
        fail_msg("%s", e.msg);
    work_end(w, NULL);
    return last_call();
}

/* ---- taking back ----------------------------------------------------------------- */

static bool take_back(struct str call, bool dry)
{
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_str(&w, "call", call);
    json_pair_bool(&w, "dryRun", dry);
    json_close(&w);
    buf_clear(&rs.body);
    rs.status = 200;
    e = (struct err){0};
    return do_undo(&desk, NULL, json_read(buf_view(&text), arena, &e), &rs, &e);
}

static bool is_undone(void)
{
    const struct json *answer = json_read(buf_view(&rs.body), arena, &e);
    return json_bool(json_get(answer, "undone"), false);
}

static void undo(struct str call)
{
    if (!take_back(call, false))
        fail_msg("%s", e.msg);
    if (rs.status != 200 || !is_undone())
        fail_msg("%s", buf_cz(&rs.body));
}

static void a_note_that_a_call_made_goes(void **state)
{
    (void)state;
    undo(CALLED(CREATE("One", "one"), CREATE("Two", "two")));
    assert_string_equal(note("q/One.md"), "");
    assert_string_equal(note("q/Two.md"), "");
}

static void what_a_note_held_comes_back(void **state)
{
    (void)state;
    (void)CALLED(CREATE("One", "one"));
    const char *before = note("q/One.md");
    struct str call = write_note("q/One", "two");
    assert_non_null(strstr(note("q/One.md"), "two"));
    undo(call);
    assert_string_equal(note("q/One.md"), before);
}

static void a_note_that_a_call_deleted_comes_back(void **state)
{
    (void)state;
    (void)CALLED(CREATE("One", "one"));
    const char *before = note("q/One.md");
    struct str call =
        CALLED({"notes.delete", "[{\"identifier\":\"q/One\",\"confirm\":true}]"});
    assert_string_equal(note("q/One.md"), "");
    undo(call);
    assert_string_equal(note("q/One.md"), before);
}

static void a_note_goes_back_to_its_name_and_links_follow(void **state)
{
    (void)state;
    (void)CALLED(CREATE("One", "one"), CREATE("Two", "see [[q/One]]"));
    const char *before = note("q/One.md");
    struct str call =
        CALLED({"notes.rename",
                "[{\"identifier\":\"q/One\",\"new_title\":\"Other\",\"force\":true}]"});
    assert_string_equal(note("q/One.md"), "");
    assert_non_null(strstr(note("q/Two.md"), "[[q/Other]]"));
    undo(call);
    assert_string_equal(note("q/One.md"), before);
    assert_non_null(strstr(note("q/Two.md"), "[[q/One]]"));
    assert_string_equal(note("q/Other.md"), "");
}

static void nothing_is_undone_where_one_note_was_changed_since(void **state)
{
    (void)state;
    struct str call = CALLED(CREATE("One", "one"), CREATE("Two", "two"));
    (void)write_note("q/Two", "later");
    assert_true(take_back(call, false));
    assert_int_equal(rs.status, 409);
    assert_false(is_undone());
    const struct json *answer = json_read(buf_view(&rs.body), arena, &e);
    const struct json *kept = json_get(answer, "refused");
    assert_int_equal(json_length(kept), 1);
    assert_string_equal(json_cstr(json_get(json_at(kept, 0), "id")), "q/Two");
    assert_non_null(strstr(note("q/One.md"), "one"));
    assert_non_null(strstr(note("q/Two.md"), "later"));
}

static void a_dry_run_changes_nothing(void **state)
{
    (void)state;
    struct str call = CALLED(CREATE("One", "one"));
    assert_true(take_back(call, true));
    assert_int_equal(rs.status, 200);
    assert_false(is_undone());
    assert_non_null(strstr(note("q/One.md"), "one"));
}

static void an_undo_is_taken_back_like_any_call(void **state)
{
    (void)state;
    struct str call = CALLED(CREATE("One", "one"));
    const char *made = note("q/One.md");
    undo(call);
    struct str back = last_call();
    const struct json *answer = json_read(buf_view(&rs.body), arena, &e);
    assert_true(str_is(back, json_cstr(json_get(answer, "call"))));
    assert_false(str_eq(back, call));
    undo(back);
    assert_string_equal(note("q/One.md"), made);
}

static void a_call_that_is_not_known_is_not_found(void **state)
{
    (void)state;
    assert_false(take_back(STR("0123456789abcdef01234567"), false));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_false(take_back(STR(""), false));
    assert_int_equal(e.code, ERR_INVALID);
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_note_that_a_call_made_goes),
        T(what_a_note_held_comes_back),
        T(a_note_that_a_call_deleted_comes_back),
        T(a_note_goes_back_to_its_name_and_links_follow),
        T(nothing_is_undone_where_one_note_was_changed_since),
        T(a_dry_run_changes_nothing),
        T(an_undo_is_taken_back_like_any_call),
        T(a_call_that_is_not_known_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
