/* The notes that a wrong identifier may mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "notes/notes.h"

static char root[HOME_SIZE];
static struct vault *vault;

static void put(const char *path, const char *text)
{
    char name[200];
    (void)snprintf(name, sizeof name, "%s/%s", root, path);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int open_vault(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(root))
        return -1;
    static const char *const folders[] = {"meeting", "project", "person"};
    for (size_t i = 0; i < LENGTH(folders); i++) {
        char name[200];
        (void)snprintf(name, sizeof name, "%s/%s", root, folders[i]);
        if (mkdir(name, 0700) != 0)
            return -1;
    }
    put("meeting/Weekly Standup.md", "# Weekly Standup\n");
    put("meeting/Retro.md", "# Retrospective\n");
    put("project/Greenhouse.md", "# The greenhouse\n");
    put("person/No\xc3\xa9mie.md", "hello\n");
    vault = vault_open(root, &e);
    return vault ? 0 : -1;
}

static int close_vault(void **state)
{
    (void)state;
    vault_close(vault);
    return folder_remove(root);
}

static void expect(const char *name, const char *want)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct str ids[NOTES_NEAREST];
    size_t count;
    if (!notes_nearest(vault, str_of(name), ids, &count, a, &e))
        fail_msg("%s: %s", name, e.msg);
    struct json_writer w = json_writer(&b);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        json_put_str(&w, ids[i]);
    json_close(&w);
    assert_string_equal(buf_cz(&b), want);
}

static void a_slip_is_understood(void **state)
{
    (void)state;
    expect("meeting/weekly standup", "[\"meeting/Weekly Standup\"]");
    expect("meeting/Wekly Standup", "[\"meeting/Weekly Standup\"]");
    expect("project/Weekly Standup",
           "[\"meeting/Weekly Standup\"]"); /* the wrong folder */
    expect("Standup", "[\"meeting/Weekly Standup\"]");
    expect("The grenhouse", "[\"project/Greenhouse\"]");
    expect("person/Noemie", "[\"person/No\xc3\xa9mie\"]");
    expect("retros", "[\"meeting/Retro\"]");
}

static void what_is_like_nothing_finds_nothing(void **state)
{
    (void)state;
    expect("xyzzy/plugh", "[]");
    expect("", "[]");
    expect("/", "[]");
    expect("meeting/", "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_understood),
        cmocka_unit_test(what_is_like_nothing_finds_nothing),
    };
    return cmocka_run_group_tests(tests, open_vault, close_vault);
}
