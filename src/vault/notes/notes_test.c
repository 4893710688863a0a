/* Notes: create, get, update, delete, and what their files may hold. */
#include "notes/fixture_test.h"

#include "base/home_test.h"
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

static void the_text_of_a_broken_frontmatter_is_found(void **state)
{
    (void)state;
    put("A.md", "---\nowner: [Lovelace\n---\nbody\n");
    put("B.md", "---\nowner: Byron\nowner: Babbage\n---\nbody\n");
    assert_string_equal(ids(call(notes_search, "'lovelace'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'babbage'")), "note/B");
}

static void a_title_that_names_a_folder_is_refused(void **state)
{
    (void)state;
    static const struct {
        notes_fn *f;
        const char *options, *says;
    } rows[] = {
        {notes_create, "{'title': 'Daily/x'}", "give folder"},
        {notes_create, "{'title': 'Daily/old/x', 'type': 'note'}", "give folder"},
        {notes_create, "{'markdown': '# Daily/x\\n'}", "give folder"},
        {notes_rename, "{'identifier': 'A', 'new_title': 'Daily/x', 'force': true}",
         "notes.move"},
    };
    put("A.md", "");
    put("Daily/old/B.md", "");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *why = refused(ERR_INVALID, rows[i].f, rows[i].options);
        assert_non_null(strstr(why, rows[i].says));
    }
    assert_string_equal(text(call(notes_create, "{'title': 'CI/CD'}"), "path"),
                        "note/CI-CD.md");
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
        T(the_text_of_a_broken_frontmatter_is_found),
        T(a_title_that_names_a_folder_is_refused),
        T(dates_come_from_the_frontmatter_or_the_file),
        T(an_update_needs_the_hash_that_was_read),
        T(frontmatter_bytes_are_kept),
        T(updated_is_refreshed_where_it_stands),
        T(a_note_stays_as_old_as_it_is),
        T(crlf_line_ends_are_kept),
        T(the_seeds_bulk_update_runs),
        T(a_deleted_note_lies_in_the_trash),
        T(a_note_that_others_link_to_needs_a_confirmation),
        T(a_vault_must_be_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
