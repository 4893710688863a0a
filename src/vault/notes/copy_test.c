/* A copy of a vault: the same to its calls, and nothing that is done to it reaches the
 * first. */
#include <sys/wait.h>

#include "notes/copies.h"
#include "notes/fixture_test.h"

static struct vault_copy *copy;
static struct vault *first;

/* Calls go to the copy from here on, until to_first(). */
static void make_copy(void)
{
    struct err e = {0};
    copy = vault_copy_make(vault, NULL, &e);
    if (!copy)
        fail_msg("%s", e.msg);
    first = vault;
    vault = vault_copy_vault(copy, NULL);
}

static void to_first(void)
{
    vault = first;
}

static const char *changes(void)
{
    struct err e = {0};
    size_t count;
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct json_writer w = json_writer(&out);
    if (!vault_copy_changes(copy, &count, &w, &e))
        fail_msg("%s", e.msg);
    return arena_copy(arena, buf_cz(&out), out.n, &e);
}

/* The changes without their differences, which have times in them. */
static const char *bare_changes(void)
{
    static const char key[] = ",\"diff\":\"";
    struct err e = {0};
    scoped_buf struct buf out = buf_of(1 << 20);
    for (const char *rest = changes(), *at; *rest;) {
        at = strstr(rest, key);
        buf_put(&out, rest, at ? (size_t)(at - rest) : strlen(rest));
        rest = at ? at + strlen(key) : "";
        while (*rest && *rest != '"')
            rest += *rest == '\\' ? 2 : 1;
        rest += *rest != 0;
    }
    return arena_copy(arena, buf_cz(&out), out.n, &e);
}

static const char *path_in_copy(const char *name)
{
    struct err e = {0};
    const char *folder;
    (void)vault_copy_vault(copy, &folder);
    return arena_printf(arena, &e, "%s/%s", folder, name);
}

static int end(void **state)
{
    if (copy)
        to_first();
    vault_copy_free(copy);
    copy = NULL;
    return tear_down(state);
}

/* Changed long ago: fresh files are read again in any case, and a copy is born later. */
static void age(const char *name)
{
    struct timespec old[2] = {{.tv_sec = 1000000000, .tv_nsec = 5},
                              {.tv_sec = 1000000000, .tv_nsec = 5}};
    assert_int_equal(utimensat(AT_FDCWD, full(name), old, 0), 0);
}

static void fill(void)
{
    put("a/One.md", "---\ntags: [x]\n---\n# One\n\n[[Two]]\n");
    put("a/Two.md", "# Two\n\nword\n");
    put("Root.md", "root\n");
    put("a/picture.png", "bytes");
    put(".cloche/types/a.md", "---\ndescription: an A\n---\n");
    age("a/One.md");
    age("a/Two.md");
    age("Root.md");
}

/* ---- the same ------------------------------------------------------------- */

static void a_copy_answers_as_the_first(void **state)
{
    (void)state;
    fill();
    (void)call(notes_create, "{'type': 'a', 'title': 'Three', 'content': '[[One]]'}");
    (void)call(notes_delete, "{'identifier': 'a/Two', 'confirm': true}");
    static const struct {
        notes_fn *call;
        const char *options;
    } asked[] = {
        {notes_list, "{}"},
        {notes_get, "{'identifier': 'a/One'}"},
        {notes_search, "{'query': 'root'}"},
        {links_get_backlinks, "'a/One'"},
        {links_find_broken, "{}"},
        {note_types_list, "null"},
        {notes_history, "{'identifier': 'a/Three'}"},
        {notes_list_trash, "{}"},
    };
    const char *before[LENGTH(asked)];
    for (size_t i = 0; i < LENGTH(asked); i++)
        before[i] = shown(call(asked[i].call, "%s", asked[i].options));
    make_copy();
    for (size_t i = 0; i < LENGTH(asked); i++)
        if (asked[i].call != notes_get) /* a copy is born later */
            assert_string_equal(shown(call(asked[i].call, "%s", asked[i].options)),
                                before[i]);
    assert_string_equal(hash_of("a/One"), text(parse(before[1]), "content_hash"));
    assert_string_equal(changes(), "[]");
}

static void the_index_goes_along_and_reads_nothing_anew(void **state)
{
    (void)state;
    fill();
    (void)call(notes_list, "{}");
    make_copy();
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct json_writer w = json_writer(&out);
    assert_true(notes_reindex(vault, false, &w, &e));
    assert_int_equal(json_int(json_get(parse(buf_cz(&out)), "notes"), -1), 3);
    assert_int_equal(json_int(json_get(parse(buf_cz(&out)), "read"), -1), 0);
}

/* ---- apart ------------------------------------------------------------------ */

static void what_is_done_to_it_is_told_and_reaches_nobody(void **state)
{
    (void)state;
    fill();
    (void)call(notes_list, "{}");
    make_copy();
    (void)call(notes_create, "{'type': 'b', 'title': 'New', 'content': 'x'}");
    (void)call(notes_update,
               "{'identifier': 'a/One', 'content': 'changed', 'force': true}");
    (void)call(notes_delete, "{'identifier': 'a/Two', 'confirm': true}");
    (void)call(notes_move, "{'identifier': 'Root', 'new_type': 'c', 'force': true}");
    (void)call(note_types_create, "{'type_name': 'b', 'description': 'a B'}");
    assert_non_null(strstr(changes(), "-[[Two]]\\n"));
    assert_non_null(strstr(changes(), "+changed\\n"));
    assert_string_equal(
        bare_changes(),
        "[{\"id\":\"note/Root\",\"path\":\"Root.md\",\"action\":\"rename\","
        "\"new_path\":\"c/Root.md\",\"new_id\":\"c/Root\"},"
        "{\"id\":\"a/One\",\"path\":\"a/One.md\",\"action\":\"update\"},"
        "{\"id\":\"a/Two\",\"path\":\"a/Two.md\",\"action\":\"delete\"},"
        "{\"path\":\".cloche/types/b.md\",\"action\":\"create\"},"
        "{\"id\":\"b/New\",\"path\":\"b/New.md\",\"action\":\"create\"}]");
    to_first();
    assert_string_equal(file("a/One.md"), "---\ntags: [x]\n---\n# One\n\n[[Two]]\n");
    assert_true(exists("a/Two.md") && exists("Root.md"));
    assert_false(exists("b/New.md") || exists(".cloche/types/b.md") ||
                 exists(".cloche/trash") || exists("c/Root.md"));
    assert_string_equal(ids(call(notes_search, "{'query': 'changed'}")), "");
}

static void other_files_have_their_bytes_when_asked_for(void **state)
{
    (void)state;
    fill();
    make_copy();
    struct stat st;
    char bytes[6] = "";
    assert_int_equal(stat(path_in_copy("a/picture.png"), &st), 0);
    assert_int_equal(st.st_size, 5);
    struct err e = {0};
    assert_true(vault_copy_files(copy, &e));
    scoped_fd int fd = open(path_in_copy("a/picture.png"), O_RDONLY);
    assert_int_equal(read(fd, bytes, 5), 5);
    assert_string_equal(bytes, "bytes");
    assert_string_equal(changes(), "[]");
}

static void the_folder_is_gone_with_it(void **state)
{
    (void)state;
    fill();
    make_copy();
    const char *path = path_in_copy("a");
    assert_int_equal(access(path, F_OK), 0);
    to_first();
    vault_copy_free(copy);
    copy = NULL;
    assert_int_equal(access(path, F_OK), -1);
}

/* Of a process that died nobody removes it, until the next one looks. */
static void what_a_dead_process_left_is_removed_by_the_next(void **state)
{
    (void)state;
    int pipes[2];
    char path[200] = "";
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        struct os_scratch *s = os_scratch_open(1, &e);
        (void)!write(pipes[1], os_scratch_path(s), strlen(os_scratch_path(s)));
        _exit(0);
    }
    assert_true(read(pipes[0], path, sizeof path - 1) > 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(access(path, F_OK), 0);
    struct err e = {0};
    struct os_scratch *one = os_scratch_open(1, &e), *two = os_scratch_open(1, &e);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(os_scratch_path(one), F_OK), 0); /* one that lives stays */
    os_scratch_close(one);
    os_scratch_close(two);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- bounds ------------------------------------------------------------------- */

static void a_vault_that_is_too_large_is_refused(void **state)
{
    (void)state;
    put("a/One.md", "x");
    for (int i = 0; i < 40; i++) { /* holes: nothing is written to the disk */
        char name[32];
        (void)snprintf(name, sizeof name, "a/N%d.md", i);
        put(name, "x");
        assert_int_equal(truncate(full(name), NOTE_SIZE_MAX), 0);
    }
    struct err e = {0};
    assert_null(vault_copy_make(vault, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void links_and_hidden_files_do_not_come_along(void **state)
{
    (void)state;
    fill();
    put(".secret/x.md", "no");
    assert_int_equal(symlink("/etc", full("a/etc")), 0);
    assert_int_equal(symlink("/etc/passwd", full("a/passwd.md")), 0);
    make_copy();
    assert_int_equal(access(path_in_copy(".secret"), F_OK), -1);
    assert_int_equal(access(path_in_copy("a/etc"), F_OK), -1);
    assert_int_equal(access(path_in_copy("a/passwd.md"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copy_answers_as_the_first, set_up, end),
        cmocka_unit_test_setup_teardown(the_index_goes_along_and_reads_nothing_anew,
                                        set_up, end),
        cmocka_unit_test_setup_teardown(what_is_done_to_it_is_told_and_reaches_nobody,
                                        set_up, end),
        cmocka_unit_test_setup_teardown(other_files_have_their_bytes_when_asked_for,
                                        set_up, end),
        cmocka_unit_test_setup_teardown(the_folder_is_gone_with_it, set_up, end),
        cmocka_unit_test_setup_teardown(what_a_dead_process_left_is_removed_by_the_next,
                                        set_up, end),
        cmocka_unit_test_setup_teardown(a_vault_that_is_too_large_is_refused, set_up,
                                        end),
        cmocka_unit_test_setup_teardown(links_and_hidden_files_do_not_come_along, set_up,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
