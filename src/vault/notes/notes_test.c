/* A vault as its callers use it: the seed's shapes, other programs' edits, other
 * processes, strangers' input. */
#include <pthread.h>
#include <sys/wait.h>

#include "notes/fixture_test.h"

#include "base/home_test.h"
#include "base/kill_test.h"
#include "base/skip_test.h"

/* ---- create and get ----------------------------------------------------- */

static void a_created_note_is_read_back(void **state)
{
    (void)state;
    const struct json *made = call(
        notes_create,
        "{'type': 'meeting', 'title': 'Weekly Standup: #1', 'content':"
        " '# Weekly\\n\\n[[Plan|the plan]]\\n', 'metadata': {'attendees': ['Alice',"
        " 'Bob: \\\"x\\\"'], 'date': '2026-11-21T05:16:00.000Z', 'n': 3, 'tags': ['a', 'b']}}");
    assert_string_equal(keys_of(made), "id,type,title,filename,path,created");
    assert_string_equal(text(made, "id"), "meeting/Weekly Standup 1");
    assert_string_equal(text(made, "title"), "Weekly Standup: #1");
    assert_string_equal(text(made, "path"), "meeting/Weekly Standup 1.md");
    assert_string_equal(text(made, "filename"), "Weekly Standup 1.md");

    const struct json *n = call(notes_get, "'meeting/Weekly Standup 1'");
    assert_string_equal(keys_of(n),
                        "id,uid,title,content,metadata,content_hash,links,type,"
                        "created,updated,path,filename,size,tags");
    assert_string_equal(text(n, "content"), "# Weekly\n\n[[Plan|the plan]]\n");
    assert_true(json_equal(
        json_get(n, "metadata"),
        parse("{\"attendees\":[\"Alice\",\"Bob: \\\"x\\\"\"],\"date\":"
              "\"2026-11-21T05:16:00.000Z\",\"n\":3,\"tags\":[\"a\",\"b\"]}")));
    assert_true(
        json_equal(json_get(n, "links"),
                   parse("[{\"target\":\"Plan\",\"label\":\"the plan\",\"kind\":\"wiki\","
                         "\"line\":3}]")));
    assert_true(json_equal(json_get(n, "tags"), parse("[\"a\",\"b\"]")));
    assert_string_equal(text(n, "created"), text(made, "created"));
    assert_string_equal(text(n, "type"), "meeting");
    assert_true(str_starts(json_str(json_get(n, "content_hash")), "sha256:"));
    assert_int_equal(strlen(text(n, "content_hash")), 71);
    assert_true(str_starts(json_str(json_get(n, "uid")), "n-"));
    /* By every name. */
    assert_true(json_equal(n, call(notes_get, "{'identifier': '%s'}", text(n, "uid"))));
    assert_true(json_equal(n, call(notes_get, "'Weekly Standup: #1'")));
    assert_true(json_equal(n, call(notes_get, "'meeting/Weekly Standup 1.md'")));
    assert_true(json_equal(n, call(notes_get, "'Weekly Standup 1'")));
}

static void a_note_that_is_not_there_is_null(void **state)
{
    (void)state;
    assert_true(json_is(call(notes_get, "'project/None'"), JSON_NULL));
    assert_true(json_is(call(notes_get, "'None'"), JSON_NULL));
    refused(ERR_NOT_FOUND, notes_delete, "'None'");
    refused(ERR_NOT_FOUND, notes_update,
            "{'identifier': 'None', 'content': '', 'force': true}");
}

static void reading_by_id_makes_nothing_in_the_vault(void **state)
{
    (void)state;
    put("project/Plan.md", "# The Plan\n");
    const struct json *n = call(notes_get, "'project/Plan'");
    assert_string_equal(text(n, "title"), "The Plan");
    assert_string_equal(text(n, "content"), "# The Plan\n");
    assert_true(json_is(json_get(n, "uid"), JSON_NULL));
    assert_false(exists(".cloche"));
}

static void a_taken_name_is_a_conflict_that_names_the_note(void **state)
{
    (void)state;
    call(notes_create, "{'type': 'project', 'title': 'Plan', 'content': 'one'}");
    const char *why = refused(ERR_CONFLICT, notes_create,
                              "{'type': 'project', 'title': 'Plan?', 'content': 'two'}");
    assert_non_null(strstr(why, "project/Plan"));
    put("Root.md", "x");
    why = refused(ERR_CONFLICT, notes_create, "{'title': 'Root', 'content': 'two'}");
    assert_non_null(strstr(why, "note/Root"));
    assert_false(exists("note/Root.md"));
}

static void bad_options_are_named(void **state)
{
    (void)state;
    static const struct {
        notes_fn *f;
        const char *options, *says;
    } rows[] = {
        {notes_create, "null", "object"},
        {notes_create, "{}", "title"},
        {notes_create, "{'title': ''}", "title"},
        {notes_create, "{'title': '///'}", "title"},
        {notes_create, "{'title': 5}", "title"},
        {notes_create, "{'title': 'x', 'content': 5}", "content"},
        {notes_create, "{'title': 'x', 'oops': 5}", "oops"},
        {notes_create, "{'title': 'x', 'type': ''}", "type"},
        {notes_create, "{'title': 'x', 'type': '..'}", "type"},
        {notes_create, "{'title': 'x', 'type': '.cloche'}", "type"},
        {notes_create, "{'title': 'x', 'type': 'a/b'}", "type"},
        {notes_create, "{'title': 'x', 'type': 'a', 'type_id': 'b'}", "type_id"},
        {notes_create, "{'title': 'x', 'metadata': []}", "metadata"},
        {notes_create, "{'title': 'x', 'metadata': {'id': 'y'}}", "id"},
        {notes_create, "{'title': 'x', 'metadata': {'created': 'y'}}", "created"},
        {notes_create, "{'title': 'x', 'metadata': {'': 1}}", "key"},
        {notes_get, "5", "identifier"},
        {notes_get, "''", "identifier"},
        {notes_get, "{'id': 'x'}", "identifier"},
        {notes_update, "{'identifier': 'x'}", "content"},
        {notes_update, "{'identifier': 'x', 'content': 'y', 'contentHash': 5}",
         "contentHash"},
        {notes_update, "{'identifier': 'x', 'metadata': {'type': 'y'}, 'force': true}",
         "type"},
        {notes_delete, "{'identifier': 'x', 'confirm': 1}", "confirm"},
        {notes_list, "5", "object"},
        {notes_list, "{'limit': 0}", "limit"},
        {notes_list, "{'limit': 10001}", "limit"},
        {notes_list, "{'limit': 1.5}", "limit"},
        {notes_list, "{'limit': '5'}", "limit"},
        {notes_list, "{'fields': 'id'}", "fields"},
        {notes_list, "{'fields': []}", "fields"},
        {notes_list, "{'fields': ['x']}", "x"},
        {notes_list, "{'cursor': 'note/none'}", "cursor"},
        {notes_search, "{}", "query"},
        {notes_search, "{'query': '  '}", "query"},
        {notes_search, "{'query': 'x', 'limit': -1}", "limit"},
        {notes_search, "{'query': '(', 'useRegex': true}", "query"},
        {notes_search, "{'query': 'x', 'useRegex': 'yes'}", "useRegex"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *why = refused(ERR_INVALID, rows[i].f, rows[i].options);
        if (!strstr(why, rows[i].says))
            fail_msg("%s: %s", rows[i].options, why);
    }
    assert_int_equal(json_length(call(notes_list, "null")), 0);
}

/* ---- names that lead out ------------------------------------------------ */

static void no_identifier_leads_out_of_the_vault(void **state)
{
    (void)state;
    static const char *const names[] = {"../../../../etc/passwd",
                                        "../secret",
                                        "/etc/passwd",
                                        "/tmp/secret.md",
                                        "..",
                                        ".",
                                        "./Plan",
                                        "project/../Plan",
                                        "project/../../secret",
                                        ".cloche/policy",
                                        ".cloche/policy.md",
                                        "project/.hidden",
                                        "a\\u0000b",
                                        "..\\\\secret",
                                        "Plan/",
                                        "project//Plan",
                                        "%2e%2e/secret"};
    put("Plan.md", "inside");
    put(".cloche/policy.md", "secret");
    put("project/.hidden.md", "secret");
    put("project/Plan.md", "inside");
    char outside[100];
    (void)snprintf(outside, sizeof outside, "../secret-%s.md", root + 5);
    put(outside, "secret");
    for (size_t i = 0; i < LENGTH(names); i++) {
        const struct json *n = call(notes_get, "'%s'", names[i]);
        if (!json_is(n, JSON_NULL))
            fail_msg("%s was read", names[i]);
        refused(ERR_NOT_FOUND, notes_delete, "{'identifier': '%s', 'confirm': true}",
                names[i]);
        refused(ERR_NOT_FOUND, notes_update,
                "{'identifier': '%s', 'content': 'x', 'force': true}", names[i]);
    }
    outside[strlen(outside) - 3] = '\0';
    assert_true(json_is(call(notes_get, "'%s'", outside), JSON_NULL));
    assert_true(json_is(call(notes_get, "'%s.md'", outside), JSON_NULL));
    strcat(outside, ".md");
    assert_int_equal(unlink(full(outside)), 0);
    assert_string_equal(file(".cloche/policy.md"), "secret");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
}

static void symbolic_links_are_no_notes(void **state)
{
    (void)state;
    put("project/Plan.md", "inside");
    put(".cloche/policy.md", "secret");
    assert_int_equal(symlink("/etc/passwd", full("passwd.md")), 0);
    assert_int_equal(symlink(".cloche/policy.md", full("policy.md")), 0);
    assert_int_equal(symlink("project/Plan.md", full("Alias.md")), 0);
    assert_int_equal(symlink("/etc", full("etc")), 0);
    assert_int_equal(symlink(".cloche", full("own")), 0);
    assert_int_equal(symlink("project", full("inner")), 0);
    assert_int_equal(mkfifo(full("pipe.md"), 0644), 0);
    static const char *const names[] = {
        "passwd",     "note/passwd", "passwd.md",     "policy.md",  "Alias.md",
        "etc/passwd", "own/policy",  "own/policy.md", "inner/Plan", "pipe.md"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        assert_true(json_is(call(notes_get, "'%s'", names[i]), JSON_NULL));
        refused(ERR_NOT_FOUND, notes_delete, "{'identifier': '%s', 'confirm': true}",
                names[i]);
    }
    assert_string_equal(ids(call(notes_list, "null")), "project/Plan");
    refused(ERR_DENIED, notes_create, "{'type': 'inner', 'title': 'x'}");
    refused(ERR_DENIED, notes_create, "{'type': 'etc', 'title': 'cloche-test'}");
    /* Nor is anything written through one. */
    assert_int_equal(symlink("/tmp/cloche-nowhere", full("project/x.md")), 0);
    refused(ERR_CONFLICT, notes_create, "{'type': 'project', 'title': 'x'}");
    assert_int_equal(access("/tmp/cloche-nowhere", F_OK), -1);
}

static void a_link_in_the_place_of_our_folder_is_not_followed(void **state)
{
    (void)state;
    char elsewhere[HOME_SIZE];
    assert_true(folder_make(elsewhere));
    assert_int_equal(symlink(elsewhere, full(".cloche")), 0);
    put("Plan.md", "text");
    assert_string_equal(ids(call(notes_list, "null")), "note/Plan");
    refused(ERR_DENIED, notes_update,
            "{'identifier': 'Plan', 'content': 'x', 'force': true}");
    refused(ERR_DENIED, notes_delete, "{'identifier': 'Plan', 'confirm': true}");
    assert_int_equal(rmdir(elsewhere), 0); /* still empty */
}

/* ---- ids ---------------------------------------------------------------- */

static void the_folder_wins_over_the_root(void **state)
{
    (void)state;
    put("X.md", "root");
    assert_string_equal(text(call(notes_get, "'note/X'"), "content"), "root");
    assert_string_equal(text(call(notes_get, "'X.md'"), "id"), "note/X");
    put("note/X.md", "folder");
    assert_string_equal(text(call(notes_get, "'note/X'"), "content"), "folder");
    const struct json *n = call(notes_get, "'X.md'");
    assert_string_equal(text(n, "content"), "root");
    assert_string_equal(text(n, "id"), "X.md");
    const struct json *rows = call(notes_list, "{'type': 'note'}");
    assert_int_equal(json_length(rows), 2);
    assert_non_null(strstr(ids(rows), "X.md"));
    assert_non_null(strstr(ids(rows), "note/X"));
    assert_int_equal(json_length(call(notes_list, "{'cursor': 'X.md'}")) +
                         json_length(call(notes_list, "{'cursor': 'note/X'}")),
                     1);
}

static void nested_folders_are_part_of_the_id(void **state)
{
    (void)state;
    put("project/sub/deep/Plan.md", "x");
    const struct json *n = call(notes_get, "'project/sub/deep/Plan'");
    assert_string_equal(text(n, "id"), "project/sub/deep/Plan");
    assert_string_equal(text(n, "type"), "project");
    assert_string_equal(ids(call(notes_list, "'project'")), "project/sub/deep/Plan");
}

static void a_title_that_two_notes_have_names_both(void **state)
{
    (void)state;
    put("a/One.md", "# Same\n");
    put("b/Two.md", "---\ntitle: Same\n---\n");
    const char *why = refused(ERR_CONFLICT, notes_get, "'Same'");
    assert_non_null(strstr(why, "a/One"));
    assert_non_null(strstr(why, "b/Two"));
}

static void unicode_names_are_kept_as_bytes(void **state)
{
    (void)state;
    call(notes_create,
         "{'type': 'Überblick', 'title': '日本語 🌍 naïve', 'content': 'x'}");
    assert_true(exists("Überblick/日本語 🌍 naïve.md"));
    put("caf\xc3\xa9.md", "composed");
    put("cafe\xcc\x81.md", "decomposed");
    assert_string_equal(text(call(notes_get, "'caf\xc3\xa9.md'"), "content"), "composed");
    assert_string_equal(text(call(notes_get, "'cafe\xcc\x81.md'"), "content"),
                        "decomposed");
    put("x\xff.md", "no name that JSON could hold");
    assert_int_equal(json_length(call(notes_list, "null")), 3);
}

/* ---- what files hold ---------------------------------------------------- */

static void a_broken_frontmatter_is_kept_and_reported(void **state)
{
    (void)state;
    put("Broken.md", "---\ntitle: [oops\n---\n\nbody\n");
    const struct json *n = call(notes_get, "'Broken.md'");
    assert_string_equal(text(n, "content"), "body\n");
    assert_string_equal(text(n, "title"), "Broken");
    assert_int_equal(json_length(json_get(n, "metadata")), 0);
    assert_true(json_str(json_get(n, "frontmatter_error")).n > 0);
    call(notes_update,
         "{'identifier': 'Broken.md', 'content': 'new\\n', 'contentHash': '%s'}",
         text(n, "content_hash"));
    assert_string_equal(file("Broken.md"), "---\ntitle: [oops\n---\n\nnew\n");
    refused(ERR_INVALID, notes_update,
            "{'identifier': 'Broken.md', 'metadata': {'a': 1}, 'contentHash': '%s'}",
            hash_of("Broken.md"));
    put("Open.md", "---\ntitle: x\n\nnever closed\n");
    n = call(notes_get, "'Open.md'");
    assert_string_equal(text(n, "content"), "---\ntitle: x\n\nnever closed\n");
    assert_true(json_str(json_get(n, "frontmatter_error")).n > 0);
}

static void bytes_that_are_no_text_are_readable(void **state)
{
    (void)state;
    put_bytes("Bin.md", "---\nk: v\n---\n\n# T\xff\xfe\n\0x\n", 23);
    const struct json *n = call(notes_get, "'Bin.md'");
    assert_true(str_eq(json_str(json_get(n, "content")),
                       (struct str){"# T\xef\xbf\xbd\xef\xbf\xbd\n\0x\n", 13}));
    call(notes_update,
         "{'identifier': 'Bin.md', 'metadata': {'k': 'w'}, 'contentHash': '%s'}",
         text(n, "content_hash"));
    assert_memory_equal(file("Bin.md"), "---\nk: w\n---\n\n# T\xff\xfe\n\0x\n", 23);
    assert_int_equal(json_length(call(notes_list, "null")), 1);
}

static void large_notes_have_a_limit(void **state)
{
    (void)state;
    size_t ten = 10u << 20;
    char *big = malloc(ten + (7u << 20));
    memset(big, 'x', ten + (7u << 20));
    for (size_t i = 0; i < ten; i += 80)
        big[i] = '\n';
    put_bytes("Ten.md", big, ten);
    put_bytes("TooBig.md", big, (16u << 20) + 1);
    free(big);
    assert_int_equal(json_str(json_get(call(notes_get, "'Ten.md'"), "content")).n, ten);
    refused(ERR_LIMIT, notes_get, "'TooBig.md'");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
    call(notes_update, "{'identifier': 'Ten.md', 'metadata': {'a': 1}, 'force': true}");
    refused(ERR_LIMIT, notes_update,
            "{'identifier': 'TooBig.md', 'content': 'x', 'force': true}");
}

static void files_that_are_no_markdown_are_ignored(void **state)
{
    (void)state;
    put("a.txt", "x");
    put("b.markdown", "x");
    put(".hidden.md", "x");
    put(".obsidian/x.md", "x");
    put("ok.md", "x");
    assert_string_equal(ids(call(notes_list, "null")), "note/ok");
}

static void dates_come_from_the_frontmatter_or_the_file(void **state)
{
    (void)state;
    put("A.md", "---\ncreated: 2020-01-02\nupdated: 2021-01-01T00:00:00+01:00\n---\n");
    put("B.md", "---\ncreated: whenever\n---\n");
    struct timespec when[2] = {{1600000000, 0}, {1600000000, 500000000}};
    assert_int_equal(utimensat(AT_FDCWD, full("B.md"), when, 0), 0);
    const struct json *a = call(notes_get, "'A.md'"), *b = call(notes_get, "'B.md'");
    assert_string_equal(text(a, "created"), "2020-01-02T00:00:00.000Z");
    assert_string_equal(text(a, "updated"), "2020-12-31T23:00:00.000Z");
    assert_string_equal(text(b, "updated"), "2020-09-13T12:26:40.500Z");
    assert_string_equal(text(b, "created"), "2020-09-13T12:26:40.500Z");
    assert_string_equal(ids(call(notes_list, "null")), "note/A,note/B");
}

/* ---- update ------------------------------------------------------------- */

static void an_update_needs_the_hash_that_was_read(void **state)
{
    (void)state;
    put("Plan.md", "one\n");
    const char *old = hash_of("note/Plan");
    const struct json *u = call(
        notes_update,
        "{'identifier': 'note/Plan', 'content': 'two\\n', 'contentHash': '%s'}", old);
    assert_string_equal(keys_of(u), "id,updated,timestamp,content_hash");
    assert_string_equal(text(u, "id"), "note/Plan");
    assert_true(json_bool(json_get(u, "updated"), false));
    assert_string_equal(text(u, "content_hash"), hash_of("note/Plan"));
    assert_string_equal(file("Plan.md"), "two\n");
    const char *why = refused(
        ERR_CONFLICT, notes_update,
        "{'identifier': 'note/Plan', 'content': 'three\\n', 'content_hash': '%s'}", old);
    assert_non_null(strstr(why, old));
    assert_non_null(strstr(why, hash_of("note/Plan")));
    assert_string_equal(file("Plan.md"), "two\n");
    call(notes_update, "{'identifier': 'Plan', 'content': 'four', 'force': true}");
    assert_string_equal(file("Plan.md"), "four");
    why = refused(ERR_INVALID, notes_update, "{'identifier': 'Plan', 'content': 'five'}");
    assert_non_null(strstr(why, "contentHash"));
    (void)refused(ERR_NOT_FOUND, notes_update, "{'identifier': 'none', 'content': 'x'}");
}

static void frontmatter_bytes_are_kept(void **state)
{
    (void)state;
    put("Plan.md",
        "---\n# mine\ntags:   [ a,  b ]\nTitle: 'x'  # odd\nlist:\n- 1\n---\n\nold\n");
    call(notes_update,
         "{'identifier': 'Plan.md', 'content': 'new\\n', 'contentHash': '%s'}",
         hash_of("Plan.md"));
    assert_string_equal(file("Plan.md"),
                        "---\n# mine\ntags:   [ a,  b ]\nTitle: 'x'  # odd\n"
                        "list:\n- 1\n---\n\nnew\n");
    call(notes_update,
         "{'identifier': 'Plan.md', 'metadata': {'tags': ['a', 'b'], 'Title': null,"
         " 'done': true}, 'contentHash': '%s'}",
         hash_of("Plan.md"));
    assert_string_equal(file("Plan.md"), "---\n# mine\ntags:   [ a,  b ]\nlist:\n- 1\n"
                                         "done: true\n---\n\nnew\n");
}

static void updated_is_refreshed_where_it_stands(void **state)
{
    (void)state;
    put("Plan.md", "---\nupdated: 2020-01-01\nk: 1\n---\nold\n");
    const char *same = file("Plan.md");
    call(notes_update,
         "{'identifier': 'Plan.md', 'content': 'old\\n', 'metadata': {'k': 1},"
         " 'contentHash': '%s'}",
         hash_of("Plan.md"));
    assert_string_equal(file("Plan.md"), same); /* nothing changed */
    const struct json *u =
        call(notes_update,
             "{'identifier': 'Plan.md', 'content': 'new\\n', 'contentHash': '%s'}",
             hash_of("Plan.md"));
    assert_string_equal(text(call(notes_get, "'Plan.md'"), "updated"),
                        text(u, "timestamp"));
    assert_non_null(strstr(file("Plan.md"), "k: 1\n---\nnew\n"));
    /* A note without frontmatter stays without, until metadata is given. */
    put("Bare.md", "old\n");
    call(notes_update, "{'identifier': 'Bare.md', 'content': 'new\\n', 'force': true}");
    assert_string_equal(file("Bare.md"), "new\n");
    call(notes_update,
         "{'identifier': 'Bare.md', 'metadata': {'k': 'v'}, 'force': true}");
    assert_true(str_starts(str_of(file("Bare.md")), "---\nk: v\nupdated: 20"));
    assert_true(str_ends(str_of(file("Bare.md")), "Z\n---\n\nnew\n"));
}

static void a_note_stays_as_old_as_it_is(void **state)
{
    (void)state;
    put("Plan.md", "old\n");
    const char *created = text(call(notes_get, "'Plan.md'"), "created");
    struct os_stat st, old;
    struct err e = {0};
    scoped_fd int before = open(full("Plan.md"), O_RDONLY);
    assert_true(os_stat_fd(before, &old, &e));
    do { /* until a new birth can be told from it */
        put("Later.md", "");
        scoped_fd int later = open(full("Later.md"), O_RDONLY);
        assert_true(os_stat_fd(later, &st, &e));
    } while (st.mtime_ns / 1000000 == old.mtime_ns / 1000000);
    assert_int_equal(unlink(full("Later.md")), 0);
    call(notes_update, "{'identifier': 'Plan.md', 'content': 'new\\n', 'force': true}");
    scoped_fd int fd = open(full("Plan.md"), O_RDONLY);
    assert_true(os_stat_fd(fd, &st, &e));
    if (st.birth_ns / 1000000 == st.mtime_ns / 1000000)
        skip_system("the file system keeps no attributes");
    assert_string_equal(text(call(notes_get, "'Plan.md'"), "created"), created);
    assert_string_equal(text(json_at(call(notes_list, "null"), 0), "created"), created);
}

static void crlf_line_ends_are_kept(void **state)
{
    (void)state;
    put("Win.md", "---\r\nk: 1\r\n---\r\n\r\none\r\ntwo\r\n");
    call(notes_update, "{'identifier': 'Win.md', 'content': 'one\\r\\ntwo\\nthree\\n',"
                       " 'metadata': {'k': 2}, 'force': true}");
    assert_string_equal(file("Win.md"),
                        "---\r\nk: 2\r\n---\r\n\r\none\r\ntwo\r\nthree\r\n");
    put("Mixed.md", "one\r\ntwo\n");
    call(notes_update,
         "{'identifier': 'Mixed.md', 'content': 'a\\nb\\r\\n', 'force': true}");
    assert_string_equal(file("Mixed.md"), "a\nb\r\n");
}

static void the_seeds_bulk_update_runs(void **state)
{
    (void)state;
    call(notes_create,
         "{'type': 'project', 'title': 'P', 'content': 'TODO: x', 'metadata':"
         " {'owner': 'Ann: B', 'deep': {'a': [1, 'two']}}}");
    const struct json *n = call(notes_get, "'project/P'");
    scoped_buf struct buf b;
    buf_init(&b, 4000);
    struct json_writer w = json_writer(&b);
    json_open_object(&w);
    json_pair(&w, "identifier", json_get(n, "id"));
    json_pair_cstr(&w, "content", "DONE x");
    json_pair(&w, "contentHash", json_get(n, "content_hash"));
    json_key(&w, "metadata");
    json_open_object(&w);
    struct json_iter it = json_iter(json_get(n, "metadata"));
    while (json_next(&it)) {
        json_key_str(&w, it.key);
        json_put(&w, it.value);
    }
    json_pair_cstr(&w, "last_todo_update", "2026-11-21T05:16:00.000Z");
    json_close(&w);
    json_close(&w);
    call_with(notes_update, parse(buf_cz(&b)));
    const struct json *after = call(notes_get, "'project/P'");
    assert_string_equal(text(after, "content"), "DONE x");
    assert_true(json_equal(json_get(after, "metadata"),
                           parse("{\"owner\":\"Ann: B\",\"deep\":{\"a\":[1,\"two\"]},"
                                 "\"last_todo_update\":\"2026-11-21T05:16:00.000Z\"}")));
    assert_string_equal(text(after, "created"), text(n, "created"));
    assert_string_equal(text(after, "uid"), text(n, "uid"));
}

/* ---- delete ------------------------------------------------------------- */

static void a_deleted_note_lies_in_the_trash(void **state)
{
    (void)state;
    put("project/sub/Plan.md", "text");
    const struct json *d = call(notes_delete, "{'identifier': 'project/sub/Plan'}");
    assert_string_equal(keys_of(d), "id,deleted,timestamp,backup_path");
    assert_string_equal(text(d, "id"), "project/sub/Plan");
    assert_true(json_bool(json_get(d, "deleted"), false));
    assert_true(str_starts(json_str(json_get(d, "backup_path")), ".cloche/trash/"));
    assert_true(str_ends(json_str(json_get(d, "backup_path")), "/project/sub/Plan.md"));
    assert_string_equal(file(text(d, "backup_path")), "text");
    assert_false(exists("project/sub/Plan.md"));
    assert_int_equal(json_length(call(notes_list, "null")), 0);
}

static void a_note_that_others_link_to_needs_a_confirmation(void **state)
{
    (void)state;
    put("project/Plan.md",
        "---\nid: n-1\ntitle: Great Plan\n---\nI link to [[Plan]] myself");
    static const char *const linking[] = {
        "[[project/Plan]]",     "[[plan]]",    "[[Great Plan|x]]",         "[[n-1]]",
        "[x](project/Plan.md)", "[[Plan.md]]", "[[project/Plan.md#Goals]]"};
    for (size_t i = 0; i < LENGTH(linking); i++) {
        put("Other.md", linking[i]);
        const struct json *d = call(notes_delete, "'project/Plan'");
        assert_string_equal(keys_of(d), "id,deleted,timestamp,warnings");
        assert_false(json_bool(json_get(d, "deleted"), true));
        const struct json *warnings = json_get(d, "warnings");
        if (!str_starts(json_str(json_at(warnings, 0)), "\"note/Other\" links to it"))
            fail_msg("%s: %.*s", linking[i], STR_ARGS(json_str(json_at(warnings, 0))));
        assert_true(exists("project/Plan.md"));
    }
    put("Other.md", "`[[Plan]]` [[Planet]] [x](https://x.y/project/Plan.md)");
    put("Third.md", "[[Plan]]");
    const struct json *d =
        call(notes_delete, "{'identifier': 'project/Plan', 'confirm': true}");
    assert_true(json_bool(json_get(d, "deleted"), false));
    assert_false(exists("project/Plan.md"));
}

/* ---- list --------------------------------------------------------------- */

static void make_pages(void)
{
    for (int i = 0; i < 25; i++) {
        char path[40], body[120];
        (void)snprintf(path, sizeof path, "%s/N%02d.md", i % 2 ? "odd" : "even", i);
        (void)snprintf(
            body, sizeof body,
            "---\nupdated: 2026-01-%02dT00:00:00Z\ntags: [t%d]\n---\nbody %d\n",
            1 + i / 3, i % 4, i);
        put(path, body);
    }
}

static void lists_come_in_pages_that_fit_together(void **state)
{
    (void)state;
    make_pages();
    const struct json *all = call(notes_list, "null");
    assert_int_equal(json_length(all), 25);
    assert_string_equal(keys_of(json_at(all, 0)),
                        "id,title,type,created,updated,size,tags,path");
    assert_string_equal(text(json_at(all, 0), "id"), "even/N24");
    assert_string_equal(text(json_at(all, 1), "id"), "even/N22"); /* same date: by id */
    assert_string_equal(text(json_at(all, 2), "id"), "odd/N21");

    size_t seen = 0;
    const struct json *page = call(notes_list, "{'limit': 7}");
    while (json_length(page)) {
        for (size_t i = 0; i < json_length(page); i++)
            assert_true(json_equal(json_at(page, i), json_at(all, seen++)));
        page = call(notes_list, "{'limit': 7, 'cursor': '%s'}",
                    text(json_at(page, json_length(page) - 1), "id"));
    }
    assert_int_equal(seen, 25);
}

static void lists_are_filtered_and_cut_to_fields(void **state)
{
    (void)state;
    make_pages();
    assert_int_equal(json_length(call(notes_list, "{'typeName': 'odd'}")), 12);
    assert_int_equal(json_length(call(notes_list, "'even'")), 13);
    assert_int_equal(json_length(call(notes_list, "{'type': 'none'}")), 0);
    const struct json *rows =
        call(notes_list, "{'typeName': 'odd', 'limit': 1, 'fields':"
                         " ['path', 'id', 'uid', 'filename', 'content_hash',"
                         " 'metadata']}");
    assert_string_equal(keys_of(json_at(rows, 0)),
                        "id,path,uid,filename,content_hash,metadata");
    assert_true(
        json_equal(json_get(json_at(rows, 0), "metadata"), parse("{\"tags\":[\"t1\"]}")));
    assert_string_equal(text(json_at(rows, 0), "content_hash"),
                        hash_of(text(json_at(rows, 0), "id")));
}

static void tags_are_read_in_their_usual_forms(void **state)
{
    (void)state;
    put("A.md", "---\ntags: one, two\n---\n");
    put("B.md", "---\ntags:\n  - '#x'\n  - 2026\n  - true\n---\n");
    put("C.md", "---\ntags: 5\n---\n");
    assert_true(json_equal(json_get(call(notes_get, "'A.md'"), "tags"),
                           parse("[\"one\",\"two\"]")));
    assert_true(json_equal(json_get(call(notes_get, "'B.md'"), "tags"),
                           parse("[\"x\",\"2026\"]")));
    assert_true(json_equal(json_get(call(notes_get, "'C.md'"), "tags"), parse("[]")));
}

/* ---- search ------------------------------------------------------------- */

static void make_texts(void)
{
    put("recipe/Soup.md", "# Tomato soup\n\nTake ripe tomatoes and basil.\n");
    put("recipe/Bread.md",
        "# Bread\n\nFlour, water, salt.\nBake it with tomato and love.\n");
    put("project/Garden.md",
        "---\ntags: [tomato]\n---\n# Garden\n\nPlant naïve café basil in May.\n");
    put("project/日本.md", "今日は天気がいい。\n");
}

static void words_are_joined_and_ranked(void **state)
{
    (void)state;
    make_texts();
    const struct json *rows = call(notes_search, "{'query': 'tomato'}");
    assert_int_equal(json_length(rows), 3);
    assert_string_equal(keys_of(json_at(rows, 0)),
                        "id,note_id,title,excerpt,score,type,created");
    assert_string_equal(text(json_at(rows, 0), "id"), "recipe/Soup"); /* in the title */
    assert_string_equal(text(json_at(rows, 0), "note_id"), "recipe/Soup");
    for (size_t i = 0; i < 3; i++) {
        double score = json_number(json_get(json_at(rows, i), "score"), -1);
        assert_true(score > 0);
        assert_true(i == 0 ||
                    score <= json_number(json_get(json_at(rows, i - 1), "score"), -1));
    }
    assert_string_equal(ids(call(notes_search, "'tomato flour'")), "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "'garden bread zebra'")),
                        "project/Garden,recipe/Bread"); /* no note has all: any */
    assert_string_equal(
        ids(call(notes_search, "{'query': 'basil', 'typeFilter': 'project'}")),
        "project/Garden");
    assert_string_equal(ids(call(notes_search, "'CAFE naive'")), "project/Garden");
    assert_string_equal(ids(call(notes_search, "'flou'")), "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "'\\\"ripe tomatoes\\\"'")),
                        "recipe/Soup");
    assert_string_equal(ids(call(notes_search, "'\\\"tomatoes ripe\\\"'")), "");
    assert_string_equal(ids(call(notes_search, "'天気'")), "project/日本");
    assert_string_equal(ids(call(notes_search, "'zzz'")), "");
    assert_int_equal(json_length(call(notes_search, "{'query': 'tomato', 'limit': 1}")),
                     1);
}

static void nothing_that_is_typed_is_syntax(void **state)
{
    (void)state;
    make_texts();
    static const char *const queries[] = {"AND",
                                          "OR OR",
                                          "NOT tomato",
                                          "NEAR(a b)",
                                          "title:tomato",
                                          "tomato*",
                                          "*",
                                          "^tomato",
                                          "(tomato",
                                          "tomato)",
                                          "a AND",
                                          "\\\"",
                                          "\\\"tomato",
                                          "tomato\\\"",
                                          "\\\"\\\"",
                                          "-tomato",
                                          "{tomato}",
                                          "tomato + basil",
                                          "'; DROP TABLE notes; --",
                                          "%",
                                          "\\u0000",
                                          "a\\u0000b",
                                          "\\\\",
                                          "C++",
                                          "???",
                                          "…",
                                          "\\n\\t x",
                                          "tomato NEAR/3 basil"};
    for (size_t i = 0; i < LENGTH(queries); i++) {
        char o[200];
        (void)snprintf(o, sizeof o, "{\"query\":\"%s\"}", queries[i]);
        call_with(notes_search, parse(o));
    }
    assert_string_equal(ids(call(notes_search, "'title:tomato'")), "");
    assert_int_equal(json_length(call(notes_search, "'tomato'")), 3);
}

static void excerpts_show_the_place(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 500; i++)
        buf_cstr(&b, "padding é words ");
    buf_cstr(&b, "the\nneedle   is here");
    for (int i = 0; i < 500; i++)
        buf_cstr(&b, " more padding");
    put("Hay.md", buf_cz(&b));
    const struct json *row = json_at(call(notes_search, "'needle'"), 0);
    struct str excerpt = json_str(json_get(row, "excerpt"));
    assert_non_null(memmem(excerpt.at, excerpt.n, "the needle is here", 18));
    assert_true(str_starts(excerpt, "...") && str_ends(excerpt, "..."));
    assert_true(excerpt.n > 150 && excerpt.n < 300);
}

static void an_exact_search_is_for_the_title(void **state)
{
    (void)state;
    put("daily/2024-01-15.md", "# Monday\n");
    put("note/Other.md", "mentions 2024-01-15 and Monday\n");
    assert_string_equal(ids(call(notes_search, "{'query': '2024-01-15', 'exact': true}")),
                        "daily/2024-01-15");
    assert_string_equal(ids(call(notes_search, "{'query': 'monday', 'exact': true}")),
                        "daily/2024-01-15");
    assert_string_equal(ids(call(notes_search, "{'query': '2024-01', 'exact': true}")),
                        "");
}

static void patterns_are_matched_line_by_line(void **state)
{
    (void)state;
    make_texts();
    const struct json *rows =
        call(notes_search, "{'query': '^Bake .* tomato', 'useRegex': true}");
    assert_string_equal(ids(rows), "recipe/Bread");
    assert_string_equal(text(json_at(rows, 0), "excerpt"),
                        "Bake it with tomato and love.");
    assert_string_equal(
        ids(call(notes_search, "{'query': '^Garden$', 'useRegex': true}")),
        "project/Garden"); /* the title */
    assert_string_equal(ids(call(notes_search, "{'query': 'FLOUR', 'useRegex': true}")),
                        "");
    assert_string_equal(
        ids(call(notes_search, "{'query': '(?i)FLOUR', 'useRegex': true}")),
        "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "{'query': 'na.ve', 'useRegex': true}")),
                        "project/Garden"); /* a character, not a byte */
}

static void patterns_without_end_are_stopped(void **state)
{
    (void)state;
    char line[20001];
    memset(line, 'a', sizeof line);
    line[sizeof line - 1] = '\0';
    line[sizeof line - 2] = '!';
    put("A.md", line);
    static const char *const bombs[] = {"(a+)+$",
                                        "(a|aa)+$",
                                        "(a?){60}$",
                                        "(.*a){20}$",
                                        "^(([a-z])+.)+[A-Z]([a-z])+$",
                                        "(a*)*\\\\1[b-z]"};
    for (size_t i = 0; i < LENGTH(bombs); i++)
        refused(ERR_LIMIT, notes_search, "{'query': '%s', 'useRegex': true}", bombs[i]);
    static const char *const bad[] = {
        "(",     "[",
        "*a",    "(?<n",
        "\\\\C", "a{99999}",
        "(?&x)", "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((x"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_search, "{'query': '%s', 'useRegex': true}", bad[i]);
    char longest[1200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    refused(ERR_INVALID, notes_search, "'%s'", longest);
}

/* ---- other programs ----------------------------------------------------- */

static void an_edit_by_another_program_is_seen_by_the_next_call(void **state)
{
    (void)state;
    put("project/Plan.md", "apples\n");
    assert_string_equal(ids(call(notes_search, "'apples'")), "project/Plan");
    put("project/Plan.md", "pears\n");
    assert_string_equal(ids(call(notes_search, "'apples'")), "");
    assert_string_equal(ids(call(notes_search, "'pears'")), "project/Plan");
    for (int i = 0; i < 50; i++) { /* the same size, within one tick of the clock */
        char word[20];
        (void)snprintf(word, sizeof word, "word%02d\n", i);
        put("project/Plan.md", word);
        assert_string_equal(ids(call(notes_search, "'word%02d'", i)), "project/Plan");
    }
    put("new/folder/deep/Note.md", "plums\n");
    assert_string_equal(ids(call(notes_search, "'plums'")), "new/folder/deep/Note");
    assert_int_equal(rename(full("new/folder"), full("project/moved")), 0);
    assert_string_equal(ids(call(notes_search, "'plums'")), "project/moved/deep/Note");
    assert_int_equal(rename(full("project/Plan.md"), full("project/Plot.md")), 0);
    assert_string_equal(ids(call(notes_search, "'word49'")), "project/Plot");
    assert_int_equal(unlink(full("project/Plot.md")), 0);
    assert_int_equal(rename(full("project/moved"), full(".hidden")), 0);
    assert_int_equal(json_length(call(notes_list, "null")), 0);
}

static void changes_while_nobody_looked_are_seen(void **state)
{
    (void)state;
    put("A.md", "first\n");
    put("B.md", "second\n");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
    vault_close(vault);
    put("A.md", "third\n"); /* the same size, perhaps the same time */
    put("C.md", "fourth\n");
    assert_int_equal(unlink(full("B.md")), 0);
    struct err e = {0};
    vault = vault_open(root, &e);
    assert_string_equal(ids(call(notes_search, "'third'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'second'")), "");
    assert_string_equal(ids(call(notes_search, "'fourth'")), "note/C");
}

static void a_second_change_within_one_tick_is_seen_by_the_next_opening(void **state)
{
    (void)state;
    put("A.md", "first\n");
    struct timespec now[2];
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now[0]), 0);
    now[1] = now[0];
    assert_int_equal(utimensat(AT_FDCWD, full("A.md"), now, 0), 0);
    assert_int_equal(json_length(call(notes_search, "'first'")), 1);
    vault_close(vault);
    int fd = open(full("A.md"), O_WRONLY); /* the same inode, size and time */
    assert_int_equal(write(fd, "other\n", 6), 6);
    (void)close(fd);
    assert_int_equal(utimensat(AT_FDCWD, full("A.md"), now, 0), 0);
    struct err e = {0};
    vault = vault_open(root, &e);
    assert_int_equal(json_length(call(notes_search, "'other'")), 1);
}

static void the_index_may_be_deleted_at_any_time(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    assert_true(exists(".cloche/index.db"));
    assert_int_equal(unlink(full(".cloche/index.db")), 0); /* while it is in use */
    put("B.md", "second\n");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
    assert_true(exists(".cloche/index.db"));
    char own[100];
    (void)snprintf(own, sizeof own, "%s", full(".cloche"));
    assert_int_equal(folder_remove(own), 0);
    assert_int_equal(json_length(call(notes_search, "'second'")), 1);
    assert_true(exists(".cloche/index.db"));
}

static void a_damaged_index_is_made_anew(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    vault_close(vault);
    vault = NULL;
    put(".cloche/index.db",
        "this is no database at all, whatever its name may say ..........");
    reopen();
    assert_int_equal(json_length(call(notes_search, "'first'")), 1);

    for (int i = 0; i < 300; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "n/N%03d.md", i);
        put(path,
            "some words that fill the pages of the index with what can be spoilt\n");
    }
    assert_int_equal(json_length(call(notes_list, "null")), 301);
    vault_close(vault);
    vault = NULL;
    int fd = open(full(".cloche/index.db"), O_WRONLY);
    char rubbish[4096];
    memset(rubbish, 0x5a, sizeof rubbish);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, at), sizeof rubbish);
    (void)close(fd);
    reopen();
    assert_int_equal(json_length(call(notes_list, "null")), 301);
    assert_int_equal(
        json_length(call(notes_search, "{'query': 'spoilt', 'limit': 1000}")), 300);
}

static void reindexing_counts_what_it_did(void **state)
{
    (void)state;
    put("A.md", "---\n[\n---\nfirst [[B]]\n");
    put("b/B.md", "second\n");
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 10000);
    struct json_writer w = json_writer(&b);
    assert_true(notes_reindex(vault, false, &w, &e));
    const struct json *r = parse(buf_cz(&b));
    assert_int_equal(json_int(json_get(r, "notes"), -1), 2);
    assert_int_equal(json_int(json_get(r, "read"), -1), 2);
    assert_string_equal(text(r, "index"), "vault");
    buf_clear(&b);
    w = json_writer(&b);
    assert_int_equal(unlink(full("b/B.md")), 0);
    assert_true(notes_reindex(vault, true, &w, &e));
    r = parse(buf_cz(&b));
    assert_int_equal(json_int(json_get(r, "notes"), -1), 1);
    assert_int_equal(json_int(json_get(r, "read"), -1), 1);
}

/* ---- other processes and threads ---------------------------------------- */

static int run_children(int count, int (*work)(int number))
{
    pid_t children[16];
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct err e = {0};
            vault = vault_open(root, &e); /* each its own */
            _exit(vault ? work(i) : 99);
        }
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        failed += status != 0;
    }
    return failed;
}

static bool quietly(notes_fn *f, const char *o, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    buf_clear(out);
    struct json_writer w = json_writer(out);
    const struct json *v = json_read(str_of(o), a, e);
    return v && f(vault, v, &w, e);
}

/* Reads a number and writes the next one, until it was the first to do so. */
static int count_up(int number)
{
    (void)number;
    for (int done = 0; done < 100;) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 100000);
        scoped(arena_free) struct arena *a = arena_new(1 << 20);
        if (!quietly(notes_get, "\"note/Count\"", &b, &e))
            return 1;
        const struct json *n = json_read(buf_view(&b), a, &e);
        if (!n)
            return 2;
        char o[300];
        (void)snprintf(o, sizeof o,
                       "{\"identifier\":\"note/Count\",\"content\":\"%d\","
                       "\"contentHash\":\"%.*s\"}",
                       atoi(json_str(json_get(n, "content")).at) + 1,
                       STR_ARGS(json_str(json_get(n, "content_hash"))));
        if (quietly(notes_update, o, &b, &e))
            done++;
        else if (e.code != ERR_CONFLICT)
            return fprintf(stderr, "%s\n", e.msg), 3;
    }
    return 0;
}

static void two_processes_lose_no_update(void **state)
{
    (void)state;
    put("note/Count.md", "---\nk: 1\nupdated: 2020-01-01\n---\n0");
    assert_int_equal(run_children(2, count_up), 0);
    assert_string_equal(text(call(notes_get, "'note/Count'"), "content"), "200");
    assert_true(str_starts(str_of(file("note/Count.md")), "---\nk: 1\nupdated: 2"));
}

static int create_and_list(int number)
{
    for (int i = 0; i < 20; i++) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 1000000);
        char o[200];
        (void)snprintf(o, sizeof o,
                       "{\"type\":\"t%d\",\"title\":\"Note %d\",\"content\":\"word%d\"}",
                       number, i, number);
        if (!quietly(notes_create, o, &b, &e) || !quietly(notes_list, "null", &b, &e) ||
            !quietly(notes_search, "\"word\"", &b, &e))
            return fprintf(stderr, "%s\n", e.msg), 1;
        /* One's own note is always seen. */
        char id[40];
        (void)snprintf(id, sizeof id, "t%d/Note %d\"", number, i);
        if (!strstr(buf_cz(&b), id) && i < 10)
            return 2;
    }
    return 0;
}

static void processes_on_one_vault_are_never_busy(void **state)
{
    (void)state;
    assert_int_equal(run_children(4, create_and_list), 0);
    assert_int_equal(json_length(call(notes_list, "null")), 80);
    assert_int_equal(json_length(call(notes_search, "{'query': 'word', 'limit': 1000}")),
                     80);
}

static int only_one_creates(int number)
{
    (void)number;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 100000);
    if (quietly(notes_create, "{\"type\":\"t\",\"title\":\"Same\",\"content\":\"x\"}", &b,
                &e))
        return 0;
    return e.code == ERR_CONFLICT ? 7 : 8;
}

static void of_many_that_create_one_name_one_succeeds(void **state)
{
    (void)state;
    assert_int_equal(run_children(8, only_one_creates), 7);
    assert_true(exists("t/Same.md"));
}

static void *work_in_thread(void *arg)
{
    int number = *(int *)arg;
    return create_and_list(number) == 0 ? NULL : "failed";
}

static void threads_share_a_vault(void **state)
{
    (void)state;
    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_thread, &numbers[i]),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(json_length(call(notes_list, "null")), 80);
}

/* Writes without pause until it is killed. */
static int write_for_ever(int number)
{
    (void)number;
    for (int i = 0;; i++) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 1000000);
        char o[300];
        (void)snprintf(
            o, sizeof o,
            "{\"identifier\":\"note/Long\",\"content\":\"%0200d\",\"force\":true}", i);
        (void)quietly(notes_update, o, &b, &e);
        (void)quietly(notes_list, "null", &b, &e);
    }
    return 0;
}

static void a_killed_process_leaves_whole_notes_and_no_lock(void **state)
{
    (void)state;
    put("note/Long.md", "---\nk: v\n---\n\nstart");
    for (int round = 0; round < 15; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct err e = {0};
            vault = vault_open(root, &e);
            _exit(write_for_ever(0));
        }
        /* Killed at its first write, or a little later. */
        const char *before = file("note/Long.md");
        while (!strcmp(before, file("note/Long.md")))
            ;
        assert_true(kill_at_stop(child, 1 + 9 * (unsigned)round));
        const struct json *n = call(notes_get, "'note/Long'");
        assert_int_equal(json_str(json_get(n, "content")).n, 200);
        assert_string_equal(text(json_get(n, "metadata"), "k"), "v");
        call(notes_update,
             "{'identifier': 'note/Long', 'content': 'round %d', 'force': true}", round);
        assert_int_equal(json_length(call(notes_search, "'round %d'", round)), 1);
    }
}

/* Not root, in a vault that it may only read; its history it may not where that is another's. */
static int read_only_child(bool mine)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 9;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1000000);
    vault = vault_open(root, &e);
    if (!vault || !quietly(notes_get, "\"project/Plan\"", &b, &e) ||
        !strstr(buf_cz(&b), "text") || !quietly(notes_list, "null", &b, &e) ||
        !strstr(buf_cz(&b), "project/Plan"))
        return fprintf(stderr, "%s\n", e.msg), 1;
    if (!quietly(notes_search, "\"text\"", &b, &e) || !strstr(buf_cz(&b), "project/Plan"))
        return 2;
    if (!mine &&
        (quietly(notes_history, "\"project/Plan\"", &b, &e) || e.code != ERR_DENIED))
        return fprintf(stderr, "%s\n", e.msg), 7;
    e = (struct err){0};
    if (mine &&
        (!quietly(notes_history, "\"project/Plan\"", &b, &e) ||
         !strstr(buf_cz(&b), "external") ||
         !quietly(notes_get_revision, "{\"identifier\":\"project/Plan\",\"revision\":1}",
                  &b, &e) ||
         !strstr(buf_cz(&b), "before") || !quietly(notes_list_trash, "null", &b, &e) ||
         !quietly(notes_restore,
                  "{\"identifier\":\"project/Plan\",\"revision\":1,\"force\":true,"
                  "\"dry_run\":true}",
                  &b, &e)))
        return fprintf(stderr, "%s\n", e.msg), 6;
    if (quietly(notes_create, "{\"title\":\"x\"}", &b, &e) || e.code != ERR_DENIED)
        return fprintf(stderr, "%s\n", e.msg), 3;
    e = (struct err){0};
    if (quietly(notes_update,
                "{\"identifier\":\"project/Plan\",\"content\":\"x\",\"force\":true}", &b,
                &e) ||
        e.code != ERR_DENIED)
        return 4;
    vault_close(vault);
    return 0;
}

static void a_vault_that_cannot_be_written_is_still_read(void **state)
{
    (void)state;
    put("project/Plan.md", "before\n");
    call(notes_update,
         "{'identifier': 'project/Plan', 'content': 'text', 'force': true}");
    vault_close(vault);
    vault = NULL;
    assert_int_equal(chmod(full("project"), 0555), 0);
    assert_int_equal(chmod(root, 0555), 0);
    for (int round = geteuid() ? 2 : 0; round < 4; round++) {
        bool mine = round >= 2;
        assert_int_equal(chmod(cache, round % 2 ? 0777 : 0555), 0);
        const char *history = full(".cloche/history/history.db");
        if (mine && geteuid() == 0)
            assert_int_equal(chown(history, 65534, 65534), 0);
        assert_int_equal(chmod(history, mine ? 0400 : 0600), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(read_only_child(mine));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void a_strangers_index_names_nothing_outside(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    vault_close(vault);
    vault = NULL;
    char command[700];
    (void)snprintf(
        command, sizeof command,
        "python3 -c \"import sqlite3; d = sqlite3.connect('%s/.cloche/index.db');"
        " d.execute('INSERT INTO notes SELECT 100, \\'../../etc/x.md\\', \\'evil/x\\',"
        " \\'evil\\', type, stem, \\'Evil\\', created, updated, size, mtime_ns, inode,"
        " racy, state, hash, tags, metadata, properties, cut FROM notes'); d.commit()\"",
        root);
    assert_int_equal(system(command), 0);
    reopen();
    assert_string_equal(ids(call(notes_list, "null")), "note/A");
    assert_true(json_is(call(notes_get, "'evil'"), JSON_NULL));
}

static void a_vault_must_be_a_folder(void **state)
{
    (void)state;
    struct err e = {0};
    put("file", "x");
    assert_null(vault_open(full("file"), &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_null(vault_open(full("none"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_created_note_is_read_back),
        T(a_note_that_is_not_there_is_null),
        T(reading_by_id_makes_nothing_in_the_vault),
        T(a_taken_name_is_a_conflict_that_names_the_note),
        T(bad_options_are_named),
        T(no_identifier_leads_out_of_the_vault),
        T(symbolic_links_are_no_notes),
        T(a_link_in_the_place_of_our_folder_is_not_followed),
        T(the_folder_wins_over_the_root),
        T(nested_folders_are_part_of_the_id),
        T(a_title_that_two_notes_have_names_both),
        T(unicode_names_are_kept_as_bytes),
        T(a_broken_frontmatter_is_kept_and_reported),
        T(bytes_that_are_no_text_are_readable),
        T(large_notes_have_a_limit),
        T(files_that_are_no_markdown_are_ignored),
        T(dates_come_from_the_frontmatter_or_the_file),
        T(an_update_needs_the_hash_that_was_read),
        T(frontmatter_bytes_are_kept),
        T(updated_is_refreshed_where_it_stands),
        T(a_note_stays_as_old_as_it_is),
        T(crlf_line_ends_are_kept),
        T(the_seeds_bulk_update_runs),
        T(a_deleted_note_lies_in_the_trash),
        T(a_note_that_others_link_to_needs_a_confirmation),
        T(lists_come_in_pages_that_fit_together),
        T(lists_are_filtered_and_cut_to_fields),
        T(tags_are_read_in_their_usual_forms),
        T(words_are_joined_and_ranked),
        T(nothing_that_is_typed_is_syntax),
        T(excerpts_show_the_place),
        T(an_exact_search_is_for_the_title),
        T(patterns_are_matched_line_by_line),
        T(patterns_without_end_are_stopped),
        T(an_edit_by_another_program_is_seen_by_the_next_call),
        T(changes_while_nobody_looked_are_seen),
        T(a_second_change_within_one_tick_is_seen_by_the_next_opening),
        T(the_index_may_be_deleted_at_any_time),
        T(a_damaged_index_is_made_anew),
        T(reindexing_counts_what_it_did),
        T(two_processes_lose_no_update),
        T(processes_on_one_vault_are_never_busy),
        T(of_many_that_create_one_name_one_succeeds),
        T(threads_share_a_vault),
        T(a_killed_process_leaves_whole_notes_and_no_lock),
        T(a_vault_that_cannot_be_written_is_still_read),
        T(a_strangers_index_names_nothing_outside),
        T(a_vault_must_be_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
