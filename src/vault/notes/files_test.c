/* What a program made of a vault's files: kept as one change, or not at all. */
#include <dirent.h>
#include <time.h>

#include "notes/copies.h"
#include "notes/fixture_test.h"

static struct notes_file files[16];
static size_t count;
static struct err e;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int begin(void **state)
{
    count = 0;
    return set_up(state);
}

/* As an overlay tells it: what the host's file was, when the program first changed it. */
static struct notes_file *add(const char *path, enum notes_file_change change,
                              const char *bytes)
{
    struct stat st;
    struct notes_file *f = &files[count++];
    *f = (struct notes_file){
        .path = str_of(path), .bytes = str_of(bytes), .change = change};
    if (change != NOTES_MADE) {
        assert_int_equal(stat(full(path), &st), 0);
        f->inode = st.st_ino;
        f->size = (uint64_t)st.st_size;
        f->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        f->changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    }
    return f;
}

static bool keep(void)
{
    e = (struct err){0};
    return notes_put_files(vault, files, count, now_ns(), &e);
}

static void assert_refused(enum err_code code, const char *says)
{
    assert_false(keep());
    assert_int_equal(e.code, code);
    if (!strstr(e.msg, says))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

/* A vault with a note and a file, and a program that changed both, and more. */
static void prepare(void)
{
    put("a/One.md", "# One\n");
    put("a/Two.md", "# Two\n");
    put("picture.bin", "old");
    put("gone.bin", "gone");
    add("a/Two.md", NOTES_REMOVED, "");
    add("gone.bin", NOTES_REMOVED, "");
    add("a/One.md", NOTES_CHANGED, "# One, new\n");
    add("picture.bin", NOTES_CHANGED, "new");
    add("deep/er", NOTES_MADE, "")->folder = true;
    add("deep/er/Three.md", NOTES_MADE, "# Three\n");
    add("deep/er/more.bin", NOTES_MADE, "more");
}

static void assert_untouched(void)
{
    assert_string_equal(file("a/One.md"), "# One\n");
    assert_string_equal(file("a/Two.md"), "# Two\n");
    assert_string_equal(file("picture.bin"), "old");
    assert_string_equal(file("gone.bin"), "gone");
    assert_false(exists("deep/er/Three.md") || exists("deep/er/more.bin"));
    DIR *stage = opendir(full(".cloche/history/stage"));
    for (struct dirent *d; stage && (d = readdir(stage));)
        assert_true(d->d_name[0] == '.');
    if (stage)
        closedir(stage);
}

static void all_of_it_is_kept(void **state)
{
    (void)state;
    prepare();
    if (!keep())
        fail_msg("%s", e.msg);
    assert_string_equal(file("a/One.md"), "# One, new\n");
    assert_string_equal(file("picture.bin"), "new");
    assert_string_equal(file("deep/er/Three.md"), "# Three\n");
    assert_string_equal(file("deep/er/more.bin"), "more");
    assert_false(exists("a/Two.md") || exists("gone.bin"));
    const struct json *kept = try_call(notes_history, parse("\"a/One.md\""), &e);
    assert_int_equal(json_length(kept), 2);
    assert_int_equal(json_length(try_call(notes_list_trash, parse("null"), &e)), 1);
}

static void a_file_that_another_program_changed_meanwhile_keeps_all_as_it_was(
    void **state)
{
    (void)state;
    static const char *const paths[] = {"a/One.md", "picture.bin", "gone.bin",
                                        "a/Two.md"};
    for (size_t i = 0; i < LENGTH(paths); i++) {
        count = 0;
        prepare();
        put(paths[i], "another's");
        assert_refused(ERR_CONFLICT, paths[i]);
        assert_string_equal(file(paths[i]), "another's");
        assert_false(exists("deep/er/more.bin"));
    }
    count = 0;
    prepare();
    put("deep/er/more.bin", "another's");
    assert_refused(ERR_CONFLICT, "was made");
    assert_string_equal(file("deep/er/more.bin"), "another's");
    assert_string_equal(file("a/One.md"), "# One\n");
}

static void what_was_changed_after_the_program_began_is_a_conflict(void **state)
{
    (void)state;
    prepare();
    e = (struct err){0};
    assert_false(notes_put_files(vault, files, count, now_ns() - 3600000000000, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_untouched();
}

static void a_step_that_fails_takes_the_others_back(void **state)
{
    (void)state;
    prepare();
    put("wall", "a file where a folder would be");
    add("wall/x.bin", NOTES_MADE, "x");
    assert_false(keep());
    assert_untouched();

    count = 0;
    prepare();
    add("Bad\xff.md", NOTES_MADE, "x");
    assert_refused(ERR_INVALID, "UTF-8");
    assert_untouched();
}

static void hidden_names_and_ways_out_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {
        ".cloche/policy.json", "a/.hidden", "../out",   "/etc/passwd",
        "a/../../out",         "",          "a/b\n.md", "c\x1b[2J",
        "d\x7f/e.bin"};
    for (size_t i = 0; i < LENGTH(paths); i++) {
        count = 0;
        add(paths[i], NOTES_MADE, "x");
        assert_refused(ERR_INVALID, "nothing was changed");
    }
    count = 0;
    assert_int_equal(symlink("/tmp", full("way")), 0);
    add("way/out.bin", NOTES_MADE, "x");
    assert_false(keep());
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        test(all_of_it_is_kept),
        test(a_file_that_another_program_changed_meanwhile_keeps_all_as_it_was),
        test(what_was_changed_after_the_program_began_is_a_conflict),
        test(a_step_that_fails_takes_the_others_back),
        test(hidden_names_and_ways_out_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
