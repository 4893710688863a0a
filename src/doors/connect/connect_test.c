/* Settings as clients and people write them: an entry goes in and out, and nothing else changes. */
#include "connect/connect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const words[] = {"/opt/cloche", "mcp", "--vault",
                                    "/home/me/my \"notes\"", NULL};
static const struct connect_server server = {.name = "cloche", .words = words};

static const struct connect_client *client(const char *id)
{
    struct err e = {0};
    const struct connect_client *c = connect_find(id, &e);
    assert_non_null(c);
    return c;
}

static struct buf with_entry(const char *id, struct str text)
{
    struct buf out = buf_of(BUF_FILE);
    struct err e = {0};
    if (!connect_set(client(id), text, &server, &out, &e))
        fail_msg("%s: %s", id, e.msg);
    return out;
}

static void expect(const char *id, const char *before, const char *after)
{
    scoped_buf struct buf set = with_entry(id, str_of(before)),
                          again = with_entry(id, buf_view(&set));
    assert_string_equal(buf_cz(&set), after);
    assert_string_equal(buf_cz(&again), after);
}

#define ENTRY(i, u)                                             \
    "\"cloche\": {\n" i u "\"command\": \"/opt/cloche\",\n" i u \
    "\"args\": [\"mcp\", \"--vault\", \"/home/me/my \\\"notes\\\"\"]\n" i "}"

static void a_new_file_is_whole(void **state)
{
    (void)state;
    static const char whole[] =
        "{\n  \"mcpServers\": {\n    " ENTRY("    ", "  ") "\n  }\n}\n";
    expect("cursor", "", whole);
    expect("cursor", "  \n",
           "  \n{\n  \"mcpServers\": {\n    " ENTRY("    ", "  ") "\n  }\n}\n");
    expect("cursor", "// mine",
           "// mine\n{\n  \"mcpServers\": {\n    " ENTRY("    ", "  ") "\n  }\n}\n");
    expect("cursor", "{}", "{\n  \"mcpServers\": {\n    " ENTRY("    ", "  ") "\n  }\n}");
    expect("cursor", "{\"mcpServers\": {}}",
           "{\"mcpServers\": {\n  " ENTRY("  ", "  ") "\n}}");
    expect("codex", "",
           "[mcp_servers.cloche]\ncommand = \"/opt/cloche\"\n"
           "args = [\"mcp\", \"--vault\", \"/home/me/my \\\"notes\\\"\"]\n");
}

static void others_entries_and_comments_stay(void **state)
{
    (void)state;
    expect(
        "zed",
        "// Zed settings\n{\n    \"theme\": \"One\", // dark, at night\n    /* servers */\n"
        "    \"context_servers\": {\n        \"other\": { \"command\": \"x\" } // last\n    },\n}\n",
        "// Zed settings\n{\n    \"theme\": \"One\", // dark, at night\n    /* servers */\n"
        "    \"context_servers\": {\n        \"other\": { \"command\": \"x\" }, // last\n"
        "        " ENTRY("        ", "    ") "\n    },\n}\n");
    expect("cursor", "{\n\t\"a\": 1,\n\t// the end\n}\n",
           "{\n\t\"a\": 1,\n\t// the end\n\t\"mcpServers\": {\n\t\t" ENTRY(
               "\t\t", "\t") "\n\t},\n}\n");
    expect("cursor", "\xef\xbb\xbf{\"a\": \"}, // \\\" {\"}",
           "\xef\xbb\xbf{\"a\": \"}, // \\\" {\", \"mcpServers\": {\n    " ENTRY(
               "    ", "  ") "\n  }}");
    expect(
        "codex",
        "model = \"o3\" # [mcp_servers.cloche]\n\n[mcp_servers.other]\ncommand = \"x\"",
        "model = \"o3\" # [mcp_servers.cloche]\n\n[mcp_servers.other]\ncommand = \"x\"\n\n"
        "[mcp_servers.cloche]\ncommand = \"/opt/cloche\"\n"
        "args = [\"mcp\", \"--vault\", \"/home/me/my \\\"notes\\\"\"]\n");
}

static void an_entry_is_replaced_where_it_stands(void **state)
{
    (void)state;
    expect(
        "cursor",
        "{\n  \"mcpServers\": {\n    \"cloche\": {\"command\": \"old\", \"env\": {\"}\": 1}},\n"
        "    \"b\": {}\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    " ENTRY("    ", "  ") ",\n    \"b\": {}\n  }\n}\n");
    expect(
        "codex",
        "[ mcp_servers . \"cloche\" ]  # mine\ncommand = \"old\"\nargs = [\n  \"x\",\n]\n\n"
        "# the environment\n[mcp_servers.cloche.env]\nA = \"1\"\n[b]\n",
        "[mcp_servers.cloche]\ncommand = \"/opt/cloche\"\n"
        "args = [\"mcp\", \"--vault\", \"/home/me/my \\\"notes\\\"\"]\n\n"
        "# the environment\n[mcp_servers.cloche.env]\nA = \"1\"\n[b]\n");
}

static void expect_without(const char *id, const char *before, const char *after)
{
    scoped_buf struct buf out = buf_of(BUF_FILE);
    struct err e = {0};
    if (!connect_remove(client(id), str_of(before), "cloche", &out, &e))
        fail_msg("%s", e.msg);
    assert_string_equal(buf_cz(&out), after);
}

static void what_was_set_is_removed_without_a_trace(void **state)
{
    (void)state;
    static const struct {
        const char *id, *text;
    } all[] = {
        {"cursor", "{\n  \"mcpServers\": {\n    \"a\": {}\n  },\n  \"b\": 2\n}\n"},
        {"cursor", "{\n  \"mcpServers\": {\n    \"a\": {}, // why\n  }\n}\n"},
        {"cursor", "{\n  \"mcpServers\": {\n    \"a\": {} // why\n  }\n}\n"},
        {"cursor", "{ \"mcpServers\": { \"a\": {} } }"},
        {"vscode", "{\r\n\t\"servers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}"},
        {"zed", "{\"context_servers\":{}}"},
        {"opencode", "{\n  \"mcp\": {\n    \"a\": [\n    ]\n    /* end */\n  }\n}\n"},
        {"codex", "a = 1\n"},
        {"codex", "a = 1\r\n\r\n[mcp_servers.b]\r\n"},
        {"codex", "[mcp_servers.other]\ncommand = '''\n[mcp_servers.cloche]\n'''\n"},
        {"codex", ""},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        scoped_buf struct buf set = with_entry(all[i].id, str_of(all[i].text));
        expect_without(all[i].id, buf_cz(&set), all[i].text);
        expect_without(all[i].id, all[i].text, all[i].text);
    }
    expect_without("cursor", "{\"mcpServers\": {\"cloche\": {}, \"b\": 1}}",
                   "{\"mcpServers\": {\"b\": 1}}");
    expect_without("cursor", "{\"mcpServers\": {\"a\": 1, \"cloche\": {}}}",
                   "{\"mcpServers\": {\"a\": 1}}");
    expect_without("cursor", "{\"mcpServers\": { /* none */ \"cloche\": {}, }}",
                   "{\"mcpServers\": { /* none */  }}");
    expect_without(
        "codex",
        "[mcp_servers.cloche]\na = 1\n[mcp_servers.cloche.env]\nb = 2\n\n# c\n[c]\n",
        "# c\n[c]\n");
}

static void what_cannot_be_edited_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *id, *text;
    } all[] = {
        {"cursor", "[]"},
        {"cursor", "{\"mcpServers\": []}"},
        {"cursor", "{\"mcpServers\": {}"},
        {"cursor", "{\"a\": \"b}"},
        {"cursor", "{\"a\" 1}"},
        {"cursor", "{\"a\": 1 \"b\": 2}"},
        {"cursor", "{\"a\": }"},
        {"cursor", "{\"a\": 1} x"},
        {"cursor", "{\"a\": 1 /*"},
        {"cursor", "mcpServers: {}"},
        {"codex", "mcp_servers = { other = { command = \"x\" } }\n"},
        {"codex", "mcp_servers.other.command = \"x\"\n"},
        {"codex", "[mcp_servers]\ncloche = { command = \"x\" }\n"},
        {"codex", "[mcp_servers.cloche]\na = 1\n[b]\n[mcp_servers.cloche.env]\n"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        scoped_buf struct buf out = buf_of(BUF_FILE);
        struct err e = {0};
        bool set = connect_set(client(all[i].id), str_of(all[i].text), &server, &out, &e);
        bool one =
            !strcmp(all[i].id, "codex") && i + 1 == LENGTH(all); /* of removal alone */
        struct err r = {0};
        if (one)
            set = connect_remove(client(all[i].id), str_of(all[i].text), "cloche", &out,
                                 &r);
        if (set)
            fail_msg("%s was edited: %s", all[i].text, buf_cz(&out));
        assert_int_equal(one ? r.code : e.code, ERR_INVALID);
    }
}

/* A text that ends anywhere is refused, or edited; nothing beyond its end is read. */
static void a_text_that_is_cut_off_is_no_harm(void **state)
{
    (void)state;
    static const char json[] =
        "\xef\xbb\xbf// c\n{ \"mcpServers\" : /* x */ { \"a\" : [ \"\\\"\", { } ] , "
        "\"cloche\" : { } , } , \"b\" : null }\n";
    static const char toml[] =
        "a = \"\"\"\n\"\"\"\n[mcp_servers.\"cloche\"]\nb = '''x'''\n[c]\n";
    for (size_t n = 0; n < sizeof toml; n++) {
        struct err e = {0};
        scoped_buf struct buf out = buf_of(BUF_FILE);
        char *cut = mem_new(n + 1);
        memcpy(cut, toml, n);
        (void)connect_remove(client("codex"), (struct str){cut, n}, "cloche", &out, &e);
        free(cut);
    }
    for (size_t n = 0; n < sizeof json; n++) {
        struct err e = {0}, r = {0};
        scoped_buf struct buf out = buf_of(BUF_FILE), less = buf_of(BUF_FILE);
        char *cut = malloc(n ? n : 1);
        memcpy(cut, json, n);
        bool set = connect_set(client("cursor"), (struct str){cut, n}, &server, &out, &e);
        bool there,
            has = connect_has(client("cursor"), buf_view(&out), "cloche", &there, &r);
        if (set)
            assert_true(has && there);
        (void)connect_remove(client("cursor"), (struct str){cut, n}, "cloche", &less, &r);
        free(cut);
    }
}

static void the_settings_are_where_the_client_looks(void **state)
{
    (void)state;
    struct err e = {0};
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/h", 1);
    char *at = connect_path(client("claude-desktop"), &e);
    assert_string_equal(at, "/h/.config/Claude/claude_desktop_config.json");
    free(at);
    setenv("XDG_CONFIG_HOME", "/s", 1);
    at = connect_path(client("vscode"), &e);
    assert_string_equal(at, "/s/Code/User/mcp.json");
    free(at);
    unsetenv("HOME");
    assert_null(connect_path(client("cursor"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void a_name_that_is_nearly_right_is_suggested(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(connect_find("claude-dekstop", &e));
    assert_non_null(strstr(e.msg, "did you mean claude-desktop?"));
    e = (struct err){0};
    assert_null(connect_find("emacs", &e));
    assert_non_null(strstr(e.msg, "claude-code"));
}

static void what_does_not_answer_is_told(void **state)
{
    (void)state;
    struct connect_answer a;
    struct err e = {0};
    const char *ends[] = {"/bin/sh", "-c", "echo first >&2; echo 'no vault' >&2; exit 1",
                          NULL};
    assert_false(connect_try(&(struct connect_server){"x", ends}, 60000, &a, &e));
    assert_string_equal(e.msg, "the server ended without an answer: no vault");
    e = (struct err){0};
    const char *waits[] = {"/bin/sh", "-c", "exec sleep 1000", NULL};
    assert_false(connect_try(&(struct connect_server){"x", waits}, 50, &a, &e));
    assert_int_equal(e.code, ERR_TIMEOUT);
    e = (struct err){0};
    const char *none[] = {"/nowhere/cloche", NULL};
    assert_false(connect_try(&(struct connect_server){"x", none}, 60000, &a, &e));
    assert_int_equal(e.code, ERR_IO);
    e = (struct err){0};
    const char *says[] = {
        "/bin/sh", "-c",
        "read a; read b; read c; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
        "{\"serverInfo\":{\"name\":\"n\",\"version\":\"2\"}}}'; echo noise; "
        "echo '{\"id\":2,\"result\":{\"tools\":[{},{},{}]}}'; cat > /dev/null",
        NULL};
    assert_true(connect_try(&(struct connect_server){"x", says}, 60000, &a, &e));
    assert_int_equal(a.tools, 3);
    assert_string_equal(a.name, "n");
    assert_string_equal(a.version, "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_is_whole),
        cmocka_unit_test(others_entries_and_comments_stay),
        cmocka_unit_test(an_entry_is_replaced_where_it_stands),
        cmocka_unit_test(what_was_set_is_removed_without_a_trace),
        cmocka_unit_test(what_cannot_be_edited_is_refused),
        cmocka_unit_test(a_text_that_is_cut_off_is_no_harm),
        cmocka_unit_test(the_settings_are_where_the_client_looks),
        cmocka_unit_test(a_name_that_is_nearly_right_is_suggested),
        cmocka_unit_test(what_does_not_answer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
