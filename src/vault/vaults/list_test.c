/* The user's list of vaults, in a configuration folder of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "vaults/vaults.h"

static char base[HOME_SIZE];
static struct arena *arena;
static struct vaults list;

static int begin_test(void **state)
{
    (void)state;
    if (!home_make(base))
        return -1;
    arena = arena_new((size_t)64 << 20);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    arena_free(arena);
    return folder_remove(base);
}

static void put_file(const char *text)
{
    char path[100];
    (void)snprintf(path, sizeof path, "%s/cloche", base);
    (void)mkdir(path, 0700);
    strcat(path, "/vaults.json");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_reads(size_t count, const char *current)
{
    struct err e = {0};
    if (!vaults_read(arena, &list, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(list.count, count);
    assert_true(str_is(list.current, current));
}

static void add(const char *id, const char *path, bool use, enum err_code want)
{
    struct err e = {0};
    struct vault_entry v = {.id = str_of(id), .name = STR("Name"), .path = str_of(path)};
    bool ok = vaults_add(&v, use, &e);
    if (e.code != want)
        fail_msg("%s: %s", id, e.msg);
    assert_int_equal(ok, want == ERR_NONE);
}

static void without_a_file_nothing_is_listed(void **state)
{
    (void)state;
    assert_reads(0, "");
}

static void the_first_one_becomes_the_current_one(void **state)
{
    (void)state;
    add("a", "/x/a", false, ERR_NONE);
    add("b", "/x/b", false, ERR_NONE);
    assert_reads(2, "a");
    assert_true(str_is(list.all[1].path, "/x/b"));
    assert_int_equal(list.all[1].created.n, 24);
    add("c", "/x/c", true, ERR_NONE);
    assert_reads(3, "c");
}

static void an_id_and_a_folder_are_listed_once(void **state)
{
    (void)state;
    add("a", "/x/a", false, ERR_NONE);
    add("a", "/x/b", false, ERR_CONFLICT);
    add("b", "/x/a", false, ERR_CONFLICT);
    assert_reads(1, "a");
}

static void what_is_no_id_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "-a",
        ".a",
        "a b",
        "a/b",
        "\xc3\xa4",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        add(bad[i], "/x/a", false, ERR_INVALID);
    add("A.b_c-9", "/x/a", false, ERR_NONE);
}

static void a_name_and_a_description_can_be_changed_and_taken_away(void **state)
{
    (void)state;
    struct err e = {0};
    struct str name = STR("New"), text = STR("for work"), none = STR(""),
               two = STR("a\nb");
    add("a", "/x/a", false, ERR_NONE);
    assert_true(vaults_update(STR("a"), &name, &text, &e));
    assert_reads(1, "a");
    assert_true(str_is(list.all[0].name, "New"));
    assert_true(str_is(list.all[0].description, "for work"));
    assert_true(vaults_update(STR("a"), NULL, &none, &e));
    assert_reads(1, "a");
    assert_true(str_is(list.all[0].name, "New"));
    assert_int_equal(list.all[0].description.n, 0);
    assert_false(vaults_update(STR("a"), &two, NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(vaults_update(STR("b"), &name, NULL, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.msg, "there are: a"));
}

static void without_its_current_one_a_list_has_none(void **state)
{
    (void)state;
    struct err e = {0};
    add("a", "/x/a", false, ERR_NONE);
    add("b", "/x/b", false, ERR_NONE);
    assert_true(vaults_remove(STR("a"), &e));
    assert_reads(1, "");
    assert_true(vaults_use(STR("b"), &e));
    assert_reads(1, "b");
    assert_false(vaults_remove(STR("a"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void the_list_has_an_end(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    buf_cstr(&text, "{\"version\":1,\"vaults\":[");
    for (unsigned i = 0; i < VAULTS_MAX; i++)
        buf_printf(&text, "%s{\"id\":\"v%u\",\"name\":\"n\",\"path\":\"/x/%u\"}",
                   i ? "," : "", i, i);
    buf_cstr(&text, "]}");
    put_file(buf_cz(&text));
    add("more", "/x/more", false, ERR_LIMIT);
    assert_reads(VAULTS_MAX, "");
}

static void a_damaged_file_is_named_and_stays(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"version\":1}",
        "{\"version\":1,\"vaults\":[{\"id\":\"a\",\"name\":\"n\",\"path\":\"x\"}]}",
        "{\"version\":1,\"vaults\":[{\"id\":\"/\",\"name\":\"n\",\"path\":\"/x\"}]}"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        put_file(bad[i]);
        assert_false(vaults_read(arena, &list, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_non_null(strstr(e.msg, "vaults.json"));
        add("a", "/x/a", false, ERR_INVALID);
    }
    put_file("{\"version\":2,\"vaults\":[]}");
    add("a", "/x/a", false, ERR_CONFLICT);
}

/* Twelve processes, each adding five. */
static void processes_do_not_lose_each_others_changes(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        if (fork() != 0)
            continue;
        bool ok = true;
        for (int k = 0; k < 5; k++) {
            char id[40], path[40];
            struct err e = {0};
            (void)snprintf(id, sizeof id, "v%d-%d", i, k);
            (void)snprintf(path, sizeof path, "/x/%d/%d", i, k);
            struct vault_entry v = {
                .id = str_of(id), .name = STR("n"), .path = str_of(path)};
            ok = vaults_add(&v, false, &e) && ok;
        }
        _exit(ok ? 0 : 1);
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed += status != 0;
    assert_int_equal(failed, 0);
    struct err e = {0};
    assert_true(vaults_read(arena, &list, &e));
    assert_int_equal(list.count, 60);
}

/* ---- folders ------------------------------------------------------------ */

static void assert_allowed(const char *path, const char *root, const char *want)
{
    struct err e = {0};
    const char *const roots[] = {root, NULL};
    scoped(free) char *got = vaults_folder_allowed(str_of(path), roots, true, &e);
    if (!want) {
        assert_null(got);
        assert_int_equal(e.code, ERR_DENIED);
        return;
    }
    if (!got)
        fail_msg("%s: %s", path, e.msg);
    assert_string_equal(got, want);
}

static void code_may_only_use_folders_beneath_a_root(void **state)
{
    (void)state;
    char want[200], root[100], outside[100];
    (void)snprintf(want, sizeof want, "%s/cloche/vaults/work/a", base);
    assert_allowed("work/a", NULL, want);
    assert_allowed(want, NULL, want);
    (void)snprintf(root, sizeof root, "%s/mine", base);
    assert_int_equal(mkdir(root, 0700), 0);
    (void)snprintf(outside, sizeof outside, "%s/mine/x", base);
    assert_allowed(outside, NULL, NULL);
    assert_allowed(outside, root, outside);
    static const char *const bad[] = {"..",  "a/../..", "../x", "/etc",     "/",
                                      "",    ".",       "a//b", ".cloche",  "a/.git/x",
                                      "./a", "/etc/x",  "a/",   "a/.cloche"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_allowed(bad[i], root, NULL);
}

static void a_link_leads_code_nowhere(void **state)
{
    (void)state;
    char link[200], way[300];
    assert_allowed("a", NULL,
                   (snprintf(way, sizeof way, "%s/cloche/vaults/a", base), way));
    (void)snprintf(link, sizeof link, "%s/cloche/vaults/out", base);
    assert_int_equal(symlink("/tmp", link), 0);
    assert_allowed("out", NULL, NULL);
    assert_allowed("out/x", NULL, NULL);
}

static void a_person_chooses_any_folder_but_our_own(void **state)
{
    (void)state;
    struct err e = {0};
    char path[200], link[200];
    (void)snprintf(path, sizeof path, "%s/notes", base);
    assert_null(vaults_folder(path, false, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    scoped(free) char *made = vaults_folder(path, true, &e);
    assert_string_equal(made, path);
    (void)snprintf(link, sizeof link, "%s/link", base);
    assert_int_equal(symlink(path, link), 0);
    scoped(free) char *through = vaults_folder(link, false, &e);
    assert_string_equal(through, path);
    (void)snprintf(path, sizeof path, "%s/notes/.cloche/x", base);
    assert_null(vaults_folder(path, true, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_folders_name_makes_an_id(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"/x/My Notes (old)", "my-notes-old"},
                                           {"/", "vault"},
                                           {"/x/\xc3\xa4\xc3\xb6", "vault"},
                                           {"plain", "plain"}};
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        char id[VAULT_ID_MAX + 1];
        vaults_id_of(pairs[i][0], id);
        assert_string_equal(id, pairs[i][1]);
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_a_file_nothing_is_listed),
        test(the_first_one_becomes_the_current_one),
        test(an_id_and_a_folder_are_listed_once),
        test(what_is_no_id_is_refused),
        test(a_name_and_a_description_can_be_changed_and_taken_away),
        test(without_its_current_one_a_list_has_none),
        test(the_list_has_an_end),
        test(a_damaged_file_is_named_and_stays),
        test(processes_do_not_lose_each_others_changes),
        test(code_may_only_use_folders_beneath_a_root),
        test(a_link_leads_code_nowhere),
        test(a_person_chooses_any_folder_but_our_own),
        test(a_folders_name_makes_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
