/* Changes by other programs in a vault, as subscribers get them. Each test waits for an
 * event; one whose event never comes hangs. */
#include "performing/performing.h"
#include "workspaces/world_test.h"

/* All notifications, a line each: "resources work", "one ieapp://...". */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buf lines;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void hear(void *arg, const struct workspaces_change *c)
{
    static const char *const names[] = {"tools", "prompts", "resources", "one", "all"};
    (void)arg;
    pthread_mutex_lock(&heard.lock);
    buf_printf(&heard.lines, "%s %.*s\n", names[c->what],
               STR_ARGS(c->uri.n ? c->uri : str_of(c->workspace)));
    pthread_cond_broadcast(&heard.changed);
    pthread_mutex_unlock(&heard.lock);
}

static void await(const char *line)
{
    pthread_mutex_lock(&heard.lock);
    while (!strstr(buf_cz(&heard.lines), line))
        pthread_cond_wait(&heard.changed, &heard.lock);
    pthread_mutex_unlock(&heard.lock);
}

/* `second`, after `first`. */
static void await_both(const char *first, const char *second)
{
    const char *at = NULL;
    pthread_mutex_lock(&heard.lock);
    while (!(at = strstr(buf_cz(&heard.lines), first)) || !strstr(at, second))
        pthread_cond_wait(&heard.changed, &heard.lock);
    pthread_mutex_unlock(&heard.lock);
}

static bool was_told(const char *line)
{
    pthread_mutex_lock(&heard.lock);
    bool told = strstr(buf_cz(&heard.lines), line) != NULL;
    pthread_mutex_unlock(&heard.lock);
    return told;
}

static void forget(void)
{
    pthread_mutex_lock(&heard.lock);
    buf_clear(&heard.lines);
    pthread_mutex_unlock(&heard.lock);
}

static void fill(void)
{
    put("work/task/Buy.md", "# Buy\n");
    put("work/Probe.md", "");
    put("other/Probe.md", "");
}

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    buf_init(&heard.lines, (size_t)4 << 20);
    return world_begin("work", "other", fill, NULL) &&
                   workspaces_hear(workspaces, hear, NULL, &e)
               ? 0
               : -1;
}

static int end(void **state)
{
    (void)state;
    workspaces_unhear(workspaces, hear, NULL);
    int code = world_end();
    buf_done(&heard.lines);
    return code;
}

/* From then on changes of the vault are reported. */
static void follow(const char *workspace)
{
    struct err e = {0};
    char uri[100];
    scoped_buf struct buf canonical;
    buf_init(&canonical, 1000);
    (void)snprintf(uri, sizeof uri, "ieapp://%s/links", workspace);
    assert_true(workspaces_follow(workspaces, &person, str_of(uri), &canonical, &e));
}

/* As follow(), after the first look: only changes from now on are reported. */
static void await_watch(const char *workspace)
{
    char any[160], note[160], last[160], probe[100];
    (void)snprintf(any, sizeof any, " ieapp://%s/", workspace);
    (void)snprintf(note, sizeof note, "one ieapp://%s/notes/note%%2FProbe\n", workspace);
    (void)snprintf(last, sizeof last, "one ieapp://%s/links\n", workspace);
    (void)snprintf(probe, sizeof probe, "%s/Probe.md", workspace);
    follow(workspace);
    put(probe, "first");
    await(any);
    forget();
    put(probe, "second");
    await_both(note, last);
    forget();
}

static void an_edit_tells_of_the_note_and_the_lists_alone(void **state)
{
    (void)state;
    await_watch("work");
    put("work/task/Buy.md", "# Buy\n\n## Status\ndone\n");
    await("one ieapp://work/notes/task%2FBuy\n");
    await("one ieapp://work/notes/task%2FBuy/history\n");
    await("one ieapp://work/notes/list\n");
    await("one ieapp://work/links\n");
    assert_false(was_told("resources work"));
    assert_false(was_told("all "));
}

static void notes_that_come_and_go_change_the_list_of_resources(void **state)
{
    (void)state;
    await_watch("work");
    put("work/task/Sell.md", "# Sell\n");
    await("resources work\n");
    await("one ieapp://work/notes/task%2FSell\n");
    await("one ieapp://work/classes\n");
    forget();
    assert_int_equal(remove(full("work/task/Sell.md")), 0);
    await("resources work\n");
    await("one ieapp://work/notes/task%2FSell\n");
}

static void a_folder_that_moves_takes_its_notes_with_it(void **state)
{
    (void)state;
    await_watch("work");
    char to[200];
    (void)snprintf(to, sizeof to, "%s", full("work/done"));
    assert_int_equal(rename(full("work/task"), to), 0);
    await("one ieapp://work/notes/task%2FBuy\n");
    await("one ieapp://work/notes/done%2FBuy\n");
}

static void a_name_that_almost_is_one_is_no_other(void **state)
{
    (void)state;
    put("work/task/Buy.m.md", "x");
    put("work/task/Buy.mc.md", "x");
    await_watch("work");
    put("work/task/Buy.md", "# Buy\n\nchanged\n");
    await("one ieapp://work/notes/task%2FBuy\n");
    await("one ieapp://work/links\n");
    assert_false(was_told("resources work"));
    assert_false(was_told("Buy.m"));
}

/* The second name is the end of the first. */
static void names_within_each_other_are_two(void **state)
{
    (void)state;
    put("work/a/First.md", "x");
    put("work/a/task/Buy.md", "x");
    await_watch("work");
    put("work/a/task/Buy.md", "y");
    put("work/task/Buy.md", "y");
    await("one ieapp://work/notes/a%2Ftask%2FBuy\n");
    await("one ieapp://work/notes/task%2FBuy\n");
}

static void a_burst_is_told_as_one(void **state)
{
    (void)state;
    await_watch("work");
    char path[100];
    assert_int_equal(mkdir(full("aside"), 0700), 0);
    for (unsigned i = 0; i < 600; i++) {
        (void)snprintf(path, sizeof path, "aside/N %u.md", i);
        put(path, "x");
    }
    char to[200];
    (void)snprintf(to, sizeof to, "%s", full("work/many"));
    assert_int_equal(rename(full("aside"), to), 0);
    await("all ieapp://work/\n");
    await("resources work\n");
    assert_false(was_told("one "));
}

static void our_own_changes_are_told_too(void **state)
{
    (void)state;
    await_watch("work");
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 65536);
    struct work *w = work_begin(actions, &person, STR("work"), "test", &e);
    assert_non_null(w);
    assert_true(work_call(w, "notes.create",
                          STR("[{\"type\":\"task\",\"title\":\"Ours\"}]"), &out, &e));
    out.n = 0;
    assert_true(work_call(w, "noteTypes.create",
                          STR("[{\"type_name\":\"task\",\"description\":\"x\"}]"), &out,
                          &e));
    work_end(w, NULL);
    await("one ieapp://work/notes/task%2FOurs\n");
    await("one ieapp://work/classes\n");
}

static void another_workspace_is_told_of_once_it_is_followed(void **state)
{
    (void)state;
    await_watch("other");
    put("other/New.md", "x");
    await("one ieapp://other/notes/note%2FNew\n");
    await("resources other\n");
    assert_false(was_told("ieapp://work"));
}

/* Reading so many takes longer than changing one. */
static void fill_other(unsigned n)
{
    char path[100];
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(path, sizeof path, "other/many/N %u.md", i);
        put(path, "x");
    }
}

static void what_changes_once_it_is_followed_is_told_however_soon(void **state)
{
    (void)state;
    fill_other(3000);
    follow("other");
    put("other/many/N 7.md", "changed");
    await("ieapp://other/");
    await("resources other\n"); /* it may have been new */
}

static void what_goes_once_it_is_followed_is_told_however_soon(void **state)
{
    (void)state;
    fill_other(3000);
    follow("other");
    assert_int_equal(remove(full("other/many/N 7.md")), 0);
    await("ieapp://other/");
    await("resources other\n");
}

static void what_changes_once_somebody_hears_is_told_however_soon(void **state)
{
    (void)state;
    struct err e = {0};
    for (unsigned i = 0; i < 20; i++) {
        workspaces_unhear(workspaces, hear, NULL);
        forget();
        assert_true(workspaces_hear(workspaces, hear, NULL, &e));
        put("work/task/Buy.md", i % 2 ? "one" : "other");
        await("ieapp://work/");
    }
}

static _Atomic bool busy;

static void *edit_on_and_on(void *arg)
{
    (void)arg;
    for (unsigned i = 0; busy; i++)
        put("work/task/Buy.md", i % 2 ? "one" : "other");
    return NULL;
}

/* Types cause no notices: they are polled. */
static void a_vault_that_never_rests_keeps_none_from_being_looked_at(void **state)
{
    (void)state;
    pthread_t editor;
    await_watch("other");
    busy = true;
    assert_int_equal(pthread_create(&editor, NULL, edit_on_and_on, NULL), 0);
    await("one ieapp://work/notes/task%2FBuy\n");
    (void)mkdir(full("other/.cloche"), 0700);
    (void)mkdir(full("other/.cloche/types"), 0700);
    put("other/.cloche/types/task.json", "{}");
    await("one ieapp://other/classes\n");
    busy = false;
    pthread_join(editor, NULL);
}

static void a_note_is_followed_by_its_id_whatever_it_is_called(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf uri;
    buf_init(&uri, 1000);
    assert_true(
        workspaces_follow(workspaces, &person, STR("ieapp://work/notes/Buy"), &uri, &e));
    assert_string_equal(buf_cz(&uri), "ieapp://work/notes/task%2FBuy");
    buf_clear(&uri);
    assert_true(workspaces_follow(workspaces, &person,
                                  STR("ieapp://work/notes/not/yet/history"), &uri, &e));
    assert_string_equal(buf_cz(&uri), "ieapp://work/notes/not%2Fyet/history");
    assert_false(
        workspaces_follow(workspaces, &person, STR("ieapp://no/links"), &uri, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void who_has_ended_hearing_is_told_nothing(void **state)
{
    (void)state;
    struct err e = {0};
    await_watch("work");
    workspaces_unhear(workspaces, hear, NULL);
    workspaces_tell(workspaces, &(struct workspaces_change){.what = CHANGED_TOOLS});
    assert_false(was_told("tools"));
    assert_true(workspaces_hear(workspaces, hear, NULL, &e));
    workspaces_tell(workspaces, &(struct workspaces_change){.what = CHANGED_TOOLS});
    await("tools");
    await_watch("work"); /* and goes on where it was */
}

static void more_hearers_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    char places[HEARERS_MAX];
    for (size_t i = 1; i < HEARERS_MAX; i++)
        assert_true(workspaces_hear(workspaces, hear, &places[i], &e));
    assert_false(workspaces_hear(workspaces, hear, &places[0], &e));
    assert_int_equal(e.code, ERR_LIMIT);
    for (size_t i = 1; i < HEARERS_MAX; i++)
        workspaces_unhear(workspaces, hear, &places[i]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(an_edit_tells_of_the_note_and_the_lists_alone),
        T(notes_that_come_and_go_change_the_list_of_resources),
        T(a_folder_that_moves_takes_its_notes_with_it),
        T(a_name_that_almost_is_one_is_no_other),
        T(names_within_each_other_are_two),
        T(a_burst_is_told_as_one),
        T(our_own_changes_are_told_too),
        T(another_workspace_is_told_of_once_it_is_followed),
        T(what_changes_once_it_is_followed_is_told_however_soon),
        T(what_goes_once_it_is_followed_is_told_however_soon),
        T(what_changes_once_somebody_hears_is_told_however_soon),
        T(a_vault_that_never_rests_keeps_none_from_being_looked_at),
        T(a_note_is_followed_by_its_id_whatever_it_is_called),
        T(who_has_ended_hearing_is_told_nothing),
        T(more_hearers_than_there_is_room_for_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
