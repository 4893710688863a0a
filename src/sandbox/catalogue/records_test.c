/* Records of installed tools: written and read in this process and others; damaged ones
 * are named and left out; unnamed files are removed. */
#include "catalogue/records.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "crypto/crypto.h"

#define ID "01234567-89ab-8def-8123-456789abcdef"
#define OTHER "11234567-89ab-8def-8123-456789abcdef"
#define MANIFEST                                                                      \
    "{\"name\":\"probe\",\"version\":\"1.0.0\",\"description\":\"d\",\"category\":"   \
    "\"c\",\"parameters\":{\"type\":\"object\",\"properties\":{}},\"returns\":{"      \
    "\"type\":\"string\",\"description\":\"r\"},\"execution\":{\"argStyle\":\"cli\"," \
    "\"fileAccess\":\"none\"}}"

static char home[HOME_SIZE], sha256[CRYPTO_SHA256_HEX];
static struct catalogue *c;
static struct edit ed;
static struct err e;

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    if (!home_make(home))
        return -1;
    crypto_sha256_hex(STR("module"), sha256);
    c = catalogue_open(&(struct catalogue_options){.guest_dir = home});
    return edit_begin(c, &ed, &e) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    edit_end(&ed);
    catalogue_close(c);
    return folder_remove(home);
}

static struct record record(const char *id, const char *vault)
{
    return (struct record){.id = id,
                           .vault = vault,
                           .manifest = STR(MANIFEST),
                           .wasm_sha256 = sha256,
                           .wasm_bytes = 6,
                           .key = "",
                           .enabled = true,
                           .installed_ms = 1000,
                           .updated_ms = 2000};
}

static void keep(const char *id, const char *vault)
{
    const struct record r = record(id, vault);
    if (!module_write(&ed, sha256, STR("module"), &e) || !record_write(&ed, &r, &e))
        fail_msg("%s", e.msg);
}

static struct tool_list list;

static size_t listed(const char *vault)
{
    tool_list_release(c, &list);
    list = (struct tool_list){0};
    if (!tool_list(c, str_of(vault), &list, &e))
        fail_msg("%s", e.msg);
    return list.count;
}

static void done_listing(void)
{
    tool_list_release(c, &list);
    list = (struct tool_list){0};
}

static bool is_there(const char *name)
{
    struct stat st;
    return fstatat(ed.dir, name, &st, 0) == 0;
}

static void write_text(const char *name, const char *text)
{
    if (!os_write_file(ed.dir, name, str_of(text), OS_REPLACE, 0600, NULL, &e))
        fail_msg("%s", e.msg);
}

static void what_is_written_is_found_again(void **state)
{
    (void)state;
    keep(ID, NULL);
    edit_end(&ed);
    assert_int_equal(listed(""), 1);
    const struct tool *t = list.tools[0];
    assert_string_equal(t->id, ID);
    assert_string_equal(t->name, "probe");
    assert_string_equal(t->sha256, sha256);
    assert_true(t->enabled && !t->builtin);
    assert_null(t->vault);
    assert_null(t->signer);
    assert_int_equal(t->installed_ms, 1000);
    assert_int_equal(t->updated_ms, 2000);
    done_listing();
}

static void one_for_a_vault_is_meant_there_first_and_nowhere_else(void **state)
{
    (void)state;
    keep(ID, NULL);
    keep(OTHER, "garden");
    edit_end(&ed);
    const struct tool *here = tool_find(c, STR("probe"), STR("garden"), &e),
                      *there = tool_find(c, STR("probe"), STR("attic"), &e);
    assert_string_equal(here->id, OTHER);
    assert_string_equal(here->vault, "garden");
    assert_string_equal(there->id, ID);
    tool_release(c, here);
    tool_release(c, there);
}

static void a_switch_holds_for_all_or_for_one_vault(void **state)
{
    (void)state;
    keep(ID, NULL);
    assert_true(switch_write(&ed, ID, "garden", false, &e));
    edit_end(&ed);
    assert_null(tool_find(c, STR("probe"), STR("garden"), &e));
    assert_int_equal(e.code, ERR_DENIED);
    e = (struct err){0};
    const struct tool *t = tool_find(c, STR("probe"), STR("attic"), &e);
    assert_non_null(t);
    tool_release(c, t);
    assert_true(edit_begin(c, &ed, &e) && switch_write(&ed, ID, "garden", true, &e) &&
                switch_write(&ed, ID, NULL, false, &e));
    edit_end(&ed);
    assert_null(tool_find(c, STR("probe"), STR("attic"), &e));
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_damaged_record_is_named_and_left_out(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "{",
        "[]",
        "{\"id\":\"" OTHER "\"}",
        "{\"id\":\"" ID "\",\"manifest\":" MANIFEST
        ",\"source\":\"user\",\"enabled\":true,"
        "\"installedAt\":1,\"updatedAt\":1,\"wasmBinary\":{\"sha256\":\"" ID "\"}}",
        "{\"id\":\"" OTHER "\",\"manifest\":" MANIFEST
        ",\"source\":\"user\",\"enabled\":1,"
        "\"installedAt\":1,\"updatedAt\":1}"};
    keep(ID, NULL);
    edit_end(&ed);
    for (size_t i = 0; i < LENGTH(broken); i++) {
        assert_true(edit_begin(c, &ed, &e));
        write_text("records/" OTHER ".json", broken[i]);
        edit_end(&ed);
        assert_int_equal(listed(""), 1);
        assert_string_equal(list.tools[0]->id, ID);
        assert_non_null(strstr(list.problems, OTHER));
    }
    done_listing();
}

static void a_name_that_is_no_records_is_damage(void **state)
{
    (void)state;
    edit_end(&ed);
    static const char *const names[] = {"records/x.json", "records/" ID "@.json",
                                        "records/" ID "@..json"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        assert_true(edit_begin(c, &ed, &e));
        write_text(names[i], "{}");
        edit_end(&ed);
        assert_int_equal(listed(""), 0);
        assert_true(strlen(list.problems) > 0);
    }
    done_listing();
}

static void what_nobody_names_is_swept_away(void **state)
{
    (void)state;
    char module[90];
    (void)snprintf(module, sizeof module, "modules/%s.wasm", sha256);
    keep(ID, NULL);
    write_text("modules/" ID ".wasm", "left behind");
    write_text("modules/.cloche-1.tmp", "half");
    edit_end(&ed);
    assert_true(edit_begin(c, &ed, &e));
    assert_true(is_there(module));
    assert_false(is_there("modules/" ID ".wasm"));
    assert_false(is_there("modules/.cloche-1.tmp"));
    const struct tool t = {.id = ID};
    assert_true(record_remove(&ed, &t, &e));
    edit_end(&ed);
    assert_true(edit_begin(c, &ed, &e));
    assert_false(is_there(module));
}

/* It may be repaired, and then its module is needed. */
static void nothing_is_swept_while_a_record_cannot_be_read(void **state)
{
    (void)state;
    write_text("modules/" ID ".wasm", "whose?");
    write_text("records/" ID ".json", "{");
    edit_end(&ed);
    assert_true(edit_begin(c, &ed, &e));
    assert_true(is_there("modules/" ID ".wasm"));
}

static void a_list_of_switches_that_is_damaged_stays_as_it_is(void **state)
{
    (void)state;
    write_text("off.json", "{\"off\":");
    assert_false(switch_write(&ed, ID, NULL, false, &e));
    assert_non_null(strstr(e.msg, "is damaged, and stays as it is"));
    scoped_buf struct buf text;
    buf_init(&text, 100);
    struct err why = {0};
    assert_true(os_read_file(ed.dir, "off.json", &text, NULL, &why));
    assert_true(str_is(buf_view(&text), "{\"off\":"));
}

static void a_list_of_switches_that_is_damaged_switches_all_off(void **state)
{
    (void)state;
    keep(ID, NULL);
    edit_end(&ed);
    const struct tool *t = tool_find(c, STR("probe"), STR(""), &e);
    assert_non_null(t);
    tool_release(c, t);
    assert_true(edit_begin(c, &ed, &e));
    write_text("off.json", "{");
    edit_end(&ed);
    assert_null(tool_find(c, STR("probe"), STR(""), &e));
    assert_int_equal(e.code, ERR_DENIED);
}

static void every_change_is_seen_by_another_process(void **state)
{
    (void)state;
    edit_end(&ed);
    struct catalogue *theirs =
        catalogue_open(&(struct catalogue_options){.guest_dir = home});
    uint64_t before = catalogue_version(theirs);
    assert_true(edit_begin(c, &ed, &e));
    keep(ID, NULL);
    edit_end(&ed);
    assert_true(catalogue_version(theirs) > before);
    const struct tool *t = tool_find(theirs, STR("probe"), STR(""), &e);
    assert_non_null(t);
    tool_release(theirs, t);
    catalogue_close(theirs);
}

static void a_vaults_id_is_no_path(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", ".", "..", "a/b", "-x", "a b", "\xc3\xa4"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err why = {0};
        assert_false(vault_id_check(wrong[i], &why));
        assert_int_equal(why.code, ERR_INVALID);
    }
    assert_true(vault_id_check("a-B_9.x", &e));
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_found_again),
        T(one_for_a_vault_is_meant_there_first_and_nowhere_else),
        T(a_switch_holds_for_all_or_for_one_vault),
        T(a_damaged_record_is_named_and_left_out),
        T(a_name_that_is_no_records_is_damage),
        T(what_nobody_names_is_swept_away),
        T(nothing_is_swept_while_a_record_cannot_be_read),
        T(a_list_of_switches_that_is_damaged_stays_as_it_is),
        T(a_list_of_switches_that_is_damaged_switches_all_off),
        T(every_change_is_seen_by_another_process),
        T(a_vaults_id_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
