/* Cancelled calls: they end, have changed nothing, and hold nothing. */
#include "notes/fixture_test.h"

#include <pthread.h>

#include "notes/history.h"

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- a caller ----------------------------------------------------------------- */

static struct cancel cancels[2];

static struct vault *for_caller(const struct vault_author *author)
{
    const struct vault_view view = {.author = author,
                                    .notes = true,
                                    .types = true,
                                    .cancel = {&cancels[0], &cancels[1]}};
    cancel_init(&cancels[0]);
    cancel_init(&cancels[1]);
    return vault_as(vault, &view);
}

static bool tried(struct vault *v, notes_fn *f, const char *options_text, struct err *e)
{
    scoped_buf struct buf b;
    buf_init(&b, 64u << 20);
    struct json_writer w = json_writer(&b);
    return f(v, parse(options_text), &w, e);
}

/* A call on a thread of its own. */
struct running {
    struct vault *v;
    notes_fn *call;
    const struct json *options;
    struct err e;
    atomic_bool done;
    pthread_t thread;
};

static void *run(void *arg)
{
    struct running *r = arg;
    scoped_buf struct buf b;
    buf_init(&b, 64u << 20);
    struct json_writer w = json_writer(&b);
    (void)r->call(r->v, r->options, &w, &r->e);
    atomic_store(&r->done, true);
    return NULL;
}

static void start(struct running *r, struct vault *v, notes_fn *call_fn, const char *text)
{
    *r = (struct running){.v = v, .call = call_fn, .options = parse(text)};
    assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
}

static void must_be_cancelled(struct running *r)
{
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    if (r->e.code != ERR_CANCELLED)
        fail_msg("code %d: %s", r->e.code, r->e.msg);
}

static void pause_shortly(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ---- one that was cancelled before ---------------------------------------------- */

static void a_cancelled_call_reads_and_writes_nothing(void **state)
{
    (void)state;
    put("p/A.md", "## One\n[[B]]\n");
    put("p/B.md", "x\n");
    put("Parent.md", "---\nsubnotes:\n  - p/A\n---\n");
    static const struct {
        notes_fn *call;
        const char *options;
    } rows[] = {
        {notes_list, "null"},
        {notes_search, "{\"query\": \"x\"}"},
        {notes_search_by_text, "{\"query\": \"x\"}"},
        {notes_search_advanced, "{\"type\": \"p\"}"},
        {notes_get_sections, "\"p/A\""},
        {links_list, "null"},
        {links_find_broken, "null"},
        {links_get_backlinks, "\"p/B\""},
        {links_migrate, "null"},
        {hierarchy_get_descendants, "\"Parent\""},
        {relationships_get_related, "\"p/A\""},
        {note_types_list, "null"},
        {notes_create, "{\"title\": \"New\"}"},
        {notes_rename,
         "{\"identifier\": \"p/A\", \"new_title\": \"C\", \"force\": true}"},
        {notes_delete, "{\"identifier\": \"p/A\", \"confirm\": true}"},
        {notes_batch, "{\"changes\": [{\"action\": \"delete\", \"identifier\": \"p/A\","
                      " \"confirm\": true}]}"},
        {note_types_delete,
         "{\"type_name\": \"p\", \"action\": \"migrate\", \"target_type\": \"q\"}"},
    };
    (void)call(note_types_create, "{'type_name': 'p', 'description': 'x'}");
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        struct vault *v = for_caller(NULL);
        struct err e = {0};
        cancel_fire(&cancels[i % 2]);
        bool ok = tried(v, rows[i / 2].call, rows[i / 2].options, &e);
        if (ok || e.code != ERR_CANCELLED)
            fail_msg("%zu: %s: code %d: %s", i / 2, rows[i / 2].options, e.code, e.msg);
        vault_close(v);
    }
    assert_string_equal(file("p/A.md"), "## One\n[[B]]\n");
    assert_int_equal(json_length(call(notes_list, "null")), 3);
}

/* ---- while it works --------------------------------------------------------------- */

static bool fire_and_admit(void *arg, size_t bytes, struct err *e)
{
    (void)bytes, (void)e;
    cancel_fire(arg);
    return true;
}

static void a_change_may_be_cancelled_until_it_is_kept(void **state)
{
    (void)state;
    put("A.md", "a\n");
    put("B.md", "[[A]]\n");
    const struct vault_author author = {
        .name = "x", .call = "", .admits = fire_and_admit, .arg = &cancels[0]};
    struct vault *v = for_caller(&author);
    struct err e = {0};
    assert_false(tried(v, notes_rename,
                       "{\"identifier\": \"A\", \"new_title\": \"C\", \"force\": true}",
                       &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    vault_close(v);
    assert_string_equal(file("A.md"), "a\n");
    assert_string_equal(file("B.md"), "[[A]]\n");
    assert_int_equal(json_length(call(notes_history, "'A'")), 0);
    (void)call(notes_rename, "{'identifier': 'A', 'new_title': 'C', 'force': true}");
    assert_string_equal(file("B.md"), "[[C]]\n");
}

static bool is_locked(void)
{
    struct err none = {0};
    scoped_fd int folder = os_dir_open(full(".cloche"), &none);
    scoped_fd int lock = folder < 0 ? -1 : os_lock(folder, "notes.lock", 0, 0, &none);
    return none.code == ERR_BUSY;
}

#define MANY 400u /* notes, of so many links */

static void put_many(void)
{
    scoped_buf struct buf b;
    buf_init(&b, 1u << 20);
    for (unsigned i = 0; i < MANY; i++) {
        char path[32];
        buf_clear(&b);
        for (unsigned k = 0; k < MANY; k++)
            buf_printf(&b, "[[z/n%u]] ", (i + k) % MANY);
        (void)snprintf(path, sizeof path, "z/n%u.md", i);
        put(path, buf_cz(&b));
    }
}

static void long_work_ends_with_its_caller_and_lets_go_of_the_vault(void **state)
{
    (void)state;
    struct running r;
    put_many();
    (void)call(note_types_create, "{'type_name': 'z', 'description': 'x'}");
    assert_int_equal(json_length(call(notes_list, "{'limit': 5}")), 5);
    struct vault *v = for_caller(NULL);
    start(&r, v, note_types_delete,
          "{\"type_name\": \"z\", \"action\": \"migrate\", \"target_type\": \"y\"}");
    while (!is_locked() && !atomic_load(&r.done))
        pause_shortly();
    cancel_fire(&cancels[1]);
    must_be_cancelled(&r);
    vault_close(v);
    assert_false(is_locked());
    assert_false(exists("y"));
    assert_int_equal(strncmp(file("z/n1.md"), "[[z/n1]] ", 9), 0);
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
}

static void who_waits_for_another_change_may_be_cancelled(void **state)
{
    (void)state;
    struct running r;
    struct err e = {0};
    assert_non_null(history_lock(vault->history, vault, &e));
    struct vault *v = for_caller(NULL);
    start(&r, v, notes_create, "{\"title\": \"New\"}");
    cancel_fire(&cancels[0]);
    must_be_cancelled(&r);
    history_unlock(vault->history);
    vault_close(v);
    assert_false(exists("New.md"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_cancelled_call_reads_and_writes_nothing),
        T(a_change_may_be_cancelled_until_it_is_kept),
        T(long_work_ends_with_its_caller_and_lets_go_of_the_vault),
        T(who_waits_for_another_change_may_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
