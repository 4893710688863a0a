/* The policy: what a file may say, what a vault may take away, what a call may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "guard/guard.h"
#include "os/os.h"
#include "json/json.h"

static const char *const calls[] = {
    "notes.get",    "notes.list",         "notes.create",    "notes.update",
    "notes.delete", "links.getBacklinks", "utils.generateId"};

static char place[HOME_SIZE], config[100], vault[100];
static struct guard *guard;
static struct ward *ward;
static struct arena *arena;

static bool is_further(struct str pattern)
{
    return str_is(pattern, "notes.save") || str_is(pattern, "tools") ||
           str_starts(pattern, "tools.");
}

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(place))
        return -1;
    (void)snprintf(config, sizeof config, "%s/cloche", place);
    (void)snprintf(vault, sizeof vault, "%s/vault", place);
    scoped_fd int dir = os_dir_make(vault, 0700, &e);
    arena = arena_new((size_t)16 << 20);
    guard = guard_open(&(struct guard_options){
        .calls = calls, .call_count = LENGTH(calls), .further = is_further});
    ward = guard_ward(guard, vault, &e);
    return ward && os_make_dirs(dir, ".cloche", &e) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    guard_close(guard);
    arena_free(arena);
    return folder_remove(place);
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void write_policy(const char *folder, const char *name, const char *text)
{
    struct err e = {0};
    scoped_fd int dir = os_dir_make(folder, 0700, &e);
    if (!os_write_file(dir, name, str_of(text), OS_REPLACE, 0600, NULL, &e))
        fail_msg("%s", e.msg);
}

static void user_says(const char *text)
{
    write_policy(config, "policy.json", text);
}

static void vault_says(const char *text)
{
    write_policy(vault, ".cloche/policy.json", text);
}

/* The policy in force; the test lets go of it. */
static const struct policy *in_force(void)
{
    struct err e = {0};
    const struct policy *p = ward_policy(ward, &e);
    if (!p)
        fail_msg("%s", e.msg);
    return p;
}
static void policy_release_at(const struct policy **p)
{
    policy_release(*p);
}
#define scoped_policy __attribute__((cleanup(policy_release_at)))

static void assert_refused(const char *says)
{
    struct err e = {0};
    scoped_policy const struct policy *p = ward_policy(ward, &e);
    assert_null(p);
    assert_int_equal(e.code, ERR_DENIED);
    if (!strstr(e.msg, says))
        fail_msg("'%s' is not in: %s", says, e.msg);
}

static bool may(const char *name, enum level level, const char *allowed, const char *call,
                enum level least, bool writes)
{
    struct err e = {0};
    struct permit p;
    struct caller who = {.name = name, .level = level};
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, &who, list, &e))
        fail_msg("%s", e.msg);
    bool saves = !strcmp(call, "notes.create") || !strcmp(call, "notes.update");
    const struct permit_need need = {.name = call,
                                     .alias = saves ? "notes.save" : NULL,
                                     .least = least,
                                     .writes = writes,
                                     .scopeless = str_starts(str_of(call), "utils."),
                                     .always = str_starts(str_of(call), "api.")};
    bool ok = permit_call(&p, &need, &e);
    assert_int_equal(ok, e.code == ERR_NONE);
    assert_true(ok || e.code == ERR_DENIED);
    permit_close(&p);
    return ok;
}

static bool may_get(const char *name)
{
    return may(name, LEVEL_FULL, NULL, "notes.get", LEVEL_ZERO, false);
}

/* ---- the files ---------------------------------------------------------- */

static void without_files_the_seeds_limits_hold(void **state)
{
    (void)state;
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 30000);
    assert_int_equal(p->levels[LEVEL_FULL].memory_mb, 256);
    assert_int_equal(p->levels[LEVEL_LIMITED].timeout_ms, 10000);
    assert_int_equal(p->levels[LEVEL_LIMITED].memory_mb, 64);
    assert_int_equal(p->levels[LEVEL_ZERO].timeout_ms, 2000);
    assert_int_equal(p->levels[LEVEL_ZERO].memory_mb, 32);
    assert_false(p->read_only || p->keep_code || p->allowed[0].given || p->webhook);
    assert_int_equal(p->network.hosts.n + p->mount_count + p->vault_roots.n, 0);
}

static void every_key_of_the_users_file_arrives(void **state)
{
    (void)state;
    user_says(
        "{\"level\":\"limited\",\"callers\":{\"http\":\"zero\"},\"readOnly\":true,"
        "\"allowedAPIs\":[\"notes\"],\"deniedAPIs\":[\"notes.delete\"],"
        "\"levels\":{\"limited\":{\"timeout\":5,\"memoryLimit\":16}},"
        "\"limits\":{\"total\":700,\"hostCalls\":9},\"fileSystem\":false,"
        "\"mounts\":[{\"guest\":\"/d\",\"host\":\"/srv\",\"mode\":\"rw\"}],"
        "\"network\":{\"hosts\":[\"*.example.org\"],\"allowPrivate\":[\"10.0.0.1:80\"],"
        "\"secrets\":{\"K\":{\"env\":\"E\",\"hosts\":[\"a.example.org\"],\"header\":\"X\"}}},"
        "\"vaultRoots\":[\"/home/v\"],\"lint\":\"refuse\",\"cache\":false,"
        "\"keepCode\":true,\"sessions\":{\"max\":2,\"megabytes\":3,\"idleMinutes\":4},"
        "\"audit\":{\"required\":false,\"rotateMegabytes\":5},"
        "\"alerts\":{\"deletes\":{\"count\":6,\"seconds\":7,\"pause\":true}},"
        "\"webhook\":\"https://example.org/hook\"}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_LIMITED);
    assert_int_equal(p->ways[WAY_HTTP], LEVEL_ZERO);
    assert_int_equal(p->ways[WAY_STDIO], LEVEL_FULL);
    assert_true(p->read_only && p->keep_code && !p->file_system && !p->cache);
    assert_string_equal(p->allowed[0].at[0], "notes");
    assert_string_equal(p->denied.at[0], "notes.delete");
    assert_int_equal(p->levels[LEVEL_LIMITED].timeout_ms, 5);
    assert_int_equal(p->levels[LEVEL_LIMITED].memory_mb, 16);
    assert_int_equal(p->total_ms, 700);
    assert_int_equal(p->host_calls, 9);
    assert_int_equal(p->mount_count, 1);
    assert_string_equal(p->mounts[0].guest, "/d");
    assert_string_equal(p->mounts[0].host, "/srv");
    assert_true(p->mounts[0].writable);
    assert_string_equal(p->network.hosts.at[0], "*.example.org");
    assert_string_equal(p->network.allow_private.at[0], "10.0.0.1:80");
    assert_int_equal(p->network.secret_count, 1);
    assert_string_equal(p->network.secrets[0].name, "K");
    assert_string_equal(p->network.secrets[0].env, "E");
    assert_string_equal(p->network.secrets[0].header, "X");
    assert_null(p->network.secrets[0].value);
    assert_string_equal(p->network.secrets[0].hosts.at[0], "a.example.org");
    assert_string_equal(p->vault_roots.at[0], "/home/v");
    assert_int_equal(p->lint, POLICY_LINT_REFUSE);
    assert_int_equal(p->sessions.max, 2);
    assert_int_equal(p->sessions.megabytes, 3);
    assert_int_equal(p->sessions.idle_minutes, 4);
    assert_false(p->audit.required);
    assert_int_equal(p->audit.rotate_megabytes, 5);
    assert_int_equal(p->alerts[ALERT_DELETES].count, 6);
    assert_int_equal(p->alerts[ALERT_DELETES].seconds, 7);
    assert_true(p->alerts[ALERT_DELETES].pause);
    assert_string_equal(p->webhook, "https://example.org/hook");
}

static void a_changed_file_holds_for_the_next_call(void **state)
{
    (void)state;
    assert_true(may_get("stdio"));
    user_says("{\"deniedAPIs\":[\"notes.get\"]}");
    assert_false(may_get("stdio"));
    user_says("{}");
    assert_true(may_get("stdio"));
    vault_says("{\"allowedAPIs\":[]}");
    assert_false(may_get("stdio"));
    vault_says("{}");
    assert_true(may_get("stdio"));
}

static void a_policy_in_use_outlives_its_file(void **state)
{
    (void)state;
    user_says("{\"vaultRoots\":[\"/one\"]}");
    scoped_policy const struct policy *before = in_force();
    user_says("{\"vaultRoots\":[\"/two\"]}");
    scoped_policy const struct policy *after = in_force();
    assert_string_equal(before->vault_roots.at[0], "/one");
    assert_string_equal(after->vault_roots.at[0], "/two");
    assert_string_not_equal(before->digest, after->digest);
}

static void what_does_not_parse_refuses_with_file_and_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "policy.json:1:1"},
        {"{\n \"level\": }", "policy.json:2:11"},
        {"[]", "is array; an object"},
        {"{\"leve\":\"zero\"}", "there is no key 'leve'; did you mean 'level'?"},
        {"{\"level\":\"root\"}", "full, limited, zero are accepted"},
        {"{\n\"levels\":{\"full\":{\n  \"timeout\":0}}}", "policy.json:3:13"},
        {"{\"levels\":5}", "levels is number; an object is accepted"},
        {"{\"levels\":{\"full\":{\"timeouts\":1}}}", "levels.full.timeouts"},
        {"{\"allowedAPIs\":[\"notes.gett\"]}", "did you mean 'notes.get'?"},
        {"{\"allowedAPIs\":\"notes\"}", "a list is accepted"},
        {"{\"readOnly\":1}", "true or false"},
        {"{\"readOnly\":null}", "true or false"},
        {"{\"network\":{\"hosts\":[\"a b\"]}}", "entry 1"},
        {"{\"network\":{\"hosts\":[\"ok.org\",\"http://x/y\"]}}", "entry 2"},
        {"{\"network\":{\"hosts\":[\"a*.org\"]}}", "entry 1"},
        {"{\"network\":{\"secrets\":{\"A\":{\"value\":\"x\"}}}}", "needs hosts"},
        {"{\"network\":{\"secrets\":{\"A\":{\"hosts\":[\"x\"]}}}}", "exactly one of"},
        {"{\"mounts\":[{\"guest\":\"/a\"}]}", "host"},
        {"{\"mounts\":[{\"guest\":\"/a/../..\",\"host\":\"/b\"}]}", "guest"},
        {"{\"vaultRoots\":[\"relative\"]}", "an absolute path"},
        {"{\"webhook\":\"file:///etc/passwd\"}", "https://"},
        {"{\"level\":\"full\",\"level\":\"zero\"}", "policy.json"},
        {"{\"levels.full.timeout\":5}", "there is no key"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        user_says(cases[i].text);
        assert_refused(cases[i].says);
        if (*cases[i].text != '{')
            continue;
        user_says("{}");
        vault_says(cases[i].text);
        if (!strstr(cases[i].text, "gett")) /* see below */
            assert_refused(".cloche/policy.json");
        vault_says("{}");
    }
    policy_release(in_force());
}

static void a_policy_that_is_no_plain_file_refuses(void **state)
{
    (void)state;
    char path[200];
    user_says("{}");
    (void)snprintf(path, sizeof path, "%s/.cloche/policy.json", vault);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_refused(".cloche/policy.json");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused("no regular file");
    assert_int_equal(unlink(path), 0);
    policy_release(in_force());
    scoped_buf struct buf long_text;
    buf_init(&long_text, 1 << 20);
    for (int i = 0; i < 300 << 10; i++)
        buf_char(&long_text, ' ');
    user_says(buf_cz(&long_text));
    assert_refused("policy.json");
}

/* ---- a vault takes away ------------------------------------------------- */

static void a_vault_lowers_what_the_user_gives(void **state)
{
    (void)state;
    user_says("{\"network\":{\"hosts\":[\"*.example.org\",\"a.net\",\"b.net\"]},"
              "\"deniedAPIs\":[\"notes.delete\"],\"keepCode\":true,"
              "\"mounts\":[{\"guest\":\"/a\",\"host\":\"/x\",\"mode\":\"rw\"},"
              "{\"guest\":\"/b\",\"host\":\"/y\",\"mode\":\"rw\"}]}");
    vault_says(
        "{\"level\":\"limited\",\"readOnly\":true,\"levels\":{\"full\":{\"timeout\":10}},"
        "\"network\":{\"hosts\":[\"api.example.org\",\"b.net\"]},"
        "\"deniedAPIs\":[\"links\"],\"keepCode\":false,\"lint\":\"refuse\","
        "\"mounts\":[{\"guest\":\"/a\",\"host\":\"/etc\",\"mode\":\"ro\"}]}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_LIMITED);
    assert_true(p->read_only);
    assert_false(p->keep_code);
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 10);
    assert_int_equal(p->network.hosts.n, 2);
    assert_string_equal(p->network.hosts.at[0], "api.example.org");
    assert_string_equal(p->network.hosts.at[1], "b.net");
    assert_int_equal(p->denied.n, 2);
    assert_int_equal(p->lint, POLICY_LINT_REFUSE);
    assert_int_equal(p->mount_count, 1);
    assert_string_equal(p->mounts[0].host, "/x");
    assert_false(p->mounts[0].writable);
}

static void a_vault_grants_nothing(void **state)
{
    (void)state;
    user_says(
        "{\"level\":\"zero\",\"readOnly\":true,\"allowedAPIs\":[\"notes.get\"],"
        "\"levels\":{\"full\":{\"timeout\":100}},\"cache\":false,\"fileSystem\":false,"
        "\"network\":{\"hosts\":[\"a.example.org\"]}}");
    vault_says(
        "{\"level\":\"full\",\"readOnly\":false,\"allowedAPIs\":[\"*\"],\"deniedAPIs\":[],"
        "\"levels\":{\"full\":{\"timeout\":30000}},\"cache\":true,\"fileSystem\":true,"
        "\"network\":{\"hosts\":[\"*.example.org\",\"evil.net\",\"*\"],"
        "\"allowPrivate\":[\"127.0.0.1:80\"],"
        "\"secrets\":{\"K\":{\"env\":\"HOME\",\"hosts\":[\"evil.net\"]}}},"
        "\"mounts\":[{\"guest\":\"/e\",\"host\":\"/etc\",\"mode\":\"rw\"}],"
        "\"vaultRoots\":[\"/\"],\"keepCode\":true,\"webhook\":\"https://evil.net\","
        "\"audit\":{\"required\":false},\"alerts\":{\"denials\":{\"count\":0}}}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_ZERO);
    assert_true(p->read_only && !p->cache && !p->file_system && !p->keep_code);
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 100);
    assert_true(p->audit.required && !p->webhook && !p->mount_count);
    assert_int_equal(p->network.secret_count + p->network.allow_private.n, 0);
    assert_int_equal(p->vault_roots.n, 0);
    assert_int_equal(p->alerts[ALERT_DENIALS].count, 20);
    for (size_t i = 0; i < p->network.hosts.n; i++)
        assert_string_equal(p->network.hosts.at[i], "a.example.org");
    assert_true(may_get("stdio"));
    assert_false(may("stdio", LEVEL_FULL, NULL, "notes.list", LEVEL_ZERO, false));
}

static void an_unknown_call_in_a_vaults_lists_is_passed_over(void **state)
{
    (void)state;
    vault_says("{\"deniedAPIs\":[\"tomorrow.call\",\"notes.get\"]}");
    assert_false(may_get("stdio"));
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.list", LEVEL_ZERO, false));
}

/* ---- one call ----------------------------------------------------------- */

static void the_lowest_level_of_all_holds(void **state)
{
    (void)state;
    user_says("{\"callers\":{\"http\":\"limited\"}}");
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
    assert_false(
        may("http 127.0.0.1", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
    assert_true(
        may("http 127.0.0.1", LEVEL_FULL, NULL, "notes.create", LEVEL_LIMITED, true));
    assert_false(
        may("http 127.0.0.1", LEVEL_ZERO, NULL, "notes.create", LEVEL_LIMITED, true));
    assert_true(may("https", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
}

static void a_call_may_only_narrow(void **state)
{
    (void)state;
    user_says("{\"allowedAPIs\":[\"notes\"]}");
    assert_true(
        may("stdio", LEVEL_FULL, "[\"notes.get\"]", "notes.get", LEVEL_ZERO, false));
    assert_false(
        may("stdio", LEVEL_FULL, "[\"notes.get\"]", "notes.list", LEVEL_ZERO, false));
    assert_false(
        may("stdio", LEVEL_FULL, "[\"*\"]", "links.getBacklinks", LEVEL_FULL, false));
    assert_false(may("stdio", LEVEL_FULL, "[]", "notes.get", LEVEL_ZERO, false));
    assert_true(may("stdio", LEVEL_FULL, "[\"notes.save\"]", "notes.update",
                    LEVEL_LIMITED, true));
}

static void a_read_only_scope_refuses_every_write(void **state)
{
    (void)state;
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.update", LEVEL_LIMITED, true));
    /* At the level zero nothing writes, whatever its row says. */
    assert_false(may("stdio", LEVEL_ZERO, NULL, "notes.update", LEVEL_ZERO, true));
    vault_says("{\"readOnly\":true}");
    assert_false(may("stdio", LEVEL_FULL, NULL, "notes.update", LEVEL_LIMITED, true));
    assert_true(may_get("stdio"));
}

static void an_unknown_name_in_allowedAPIs_is_told_the_nearest(void **state)
{
    (void)state;
    struct err e = {0};
    struct permit p;
    struct caller who = {.name = "stdio"};
    const struct json *list = json_read(STR("[\"notes.serch\"]"), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    list = json_read(STR("[\"note.get\"]"), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_non_null(strstr(e.msg, "did you mean 'notes.get'?"));
    scoped_buf struct buf many;
    buf_init(&many, 1 << 16);
    for (unsigned i = 0; i <= PERMIT_WISH_MAX; i++)
        buf_printf(&many, "%s\"notes\"", i ? "," : "[");
    buf_cstr(&many, "]");
    e = (struct err){0};
    list = json_read(buf_view(&many), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_non_null(strstr(e.msg, "257 names"));
}

/* ---- command-line tools --------------------------------------------------- */

/* "always", "ask", or why not. */
static const char *tool_word(const struct caller *who, const struct permit_tool *tool,
                             const char *allowed)
{
    static struct err e;
    struct permit p;
    enum permission word;
    e = (struct err){0};
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, who, list, &e))
        return e.msg;
    bool ok = permit_tool(&p, tool, &word, &e);
    permit_close(&p);
    if (ok)
        return permission_name(word);
    assert_int_equal(e.code, ERR_DENIED);
    assert_int_equal(strncmp(e.msg, "Permission denied", 17), 0);
    return e.msg;
}

static const struct caller agent = {.name = "stdio", .level = LEVEL_FULL};
static const struct permit_tool jq = {.name = "jq", .builtin = true};
static const struct permit_tool grep = {.name = "grep", .builtin = true, .reads = true};
static const struct permit_tool mine = {.name = "my-tool"};

static void a_built_in_tool_without_files_runs_and_all_others_are_asked_for(void **state)
{
    (void)state;
    assert_string_equal(tool_word(&agent, &jq, NULL), "always");
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
    assert_string_equal(tool_word(&agent, &mine, NULL), "ask");
}

static void the_users_word_on_a_tool_goes_before_his_default(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"always\",\"jq\":\"never\"},"
              "\"default\":\"ask\"}}");
    assert_string_equal(tool_word(&agent, &grep, NULL), "always");
    assert_string_equal(tool_word(&agent, &mine, NULL), "ask");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "'cloche tool permit'"));
    user_says("{\"tools\":{\"default\":\"always\"}}");
    assert_string_equal(tool_word(&agent, &mine, NULL), "always");
}

static void a_vaults_word_on_a_tool_only_takes_away(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"ask\"}}}");
    vault_says("{\"tools\":{\"permissions\":{\"grep\":\"always\",\"jq\":\"ask\","
               "\"my-tool\":\"never\"},\"elicitAlways\":true,\"askSeconds\":3000,"
               "\"exposure\":\"all\",\"listed\":[\"jq\"]}}");
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
    assert_string_equal(tool_word(&agent, &jq, NULL), "ask");
    assert_non_null(strstr(tool_word(&agent, &mine, NULL), "vault's policy"));
    scoped_policy const struct policy *p = in_force();
    assert_false(p->tools.elicit_always);
    assert_int_equal(p->tools.ask_seconds, 120);
    assert_int_equal(p->tools.exposure, EXPOSE_SEARCH);
    assert_string_equal(p->tools.listed.at[0], "jq");
    vault_says("{\"tools\":{\"default\":\"never\"}}");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "Permission denied"));
    vault_says("{\"tools\":{\"default\":\"usual\",\"askSeconds\":5}}");
    assert_string_equal(tool_word(&agent, &jq, NULL), "always");
}

static void a_tool_has_to_pass_every_list(void **state)
{
    (void)state;
    assert_string_equal(tool_word(&agent, &jq, "[\"tools\"]"), "always");
    assert_string_equal(tool_word(&agent, &jq, "[\"tools.jq\"]"), "always");
    assert_non_null(strstr(tool_word(&agent, &grep, "[\"tools.jq\"]"), "allowedAPIs"));
    assert_non_null(strstr(tool_word(&agent, &jq, "[\"notes\"]"), "allowedAPIs"));
    user_says("{\"deniedAPIs\":[\"tools.jq\"],\"tools\":{\"disabled\":[\"grep\"],"
              "\"requireSignature\":true}}");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "deniedAPIs"));
    assert_non_null(strstr(tool_word(&agent, &grep, NULL), "tools.disabled"));
    assert_non_null(strstr(tool_word(&agent, &mine, NULL), "requireSignature"));
    struct permit_tool is_signed = mine;
    is_signed.is_signed = true;
    assert_string_equal(tool_word(&agent, &is_signed, NULL), "ask");
    struct caller limited = {.name = "stdio", .level = LEVEL_LIMITED};
    assert_non_null(strstr(tool_word(&limited, &is_signed, NULL), "level 'limited'"));
}

static void a_person_at_the_terminal_is_not_asked_but_may_be_refused(void **state)
{
    (void)state;
    struct caller person = {.name = "terminal", .level = LEVEL_FULL};
    assert_string_equal(tool_word(&person, &grep, NULL), "always");
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"never\"}}}");
    assert_non_null(strstr(tool_word(&person, &grep, NULL), "'never'"));
}

static void one_tools_permission_is_set_and_taken_back(void **state)
{
    (void)state;
    struct err e = {0};
    const char *always = "always", *sometimes = "sometimes";
    if (!ward_set(ward, false, "tools.permissions.grep", &always, 1, "terminal", &e))
        fail_msg("%s", e.msg);
    assert_string_equal(tool_word(&agent, &grep, NULL), "always");
    assert_false(
        ward_set(ward, false, "tools.permissions.grep", &sometimes, 1, "terminal", &e));
    assert_non_null(strstr(e.msg, "always, ask, never are accepted"));
    e = (struct err){0};
    assert_false(
        ward_set(ward, false, "tools.permissions.A b", &always, 1, "terminal", &e));
    e = (struct err){0};
    assert_true(ward_set(ward, false, "tools.permissions.grep", NULL, 0, "terminal", &e));
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
}

static void a_permission_that_cannot_be_meant_refuses_every_call(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"allways\"}}}");
    assert_refused("a permission of grep that is 'allways'");
    user_says("{\"tools\":{\"permissions\":{\"Grep it\":\"ask\"}}}");
    assert_refused("has 'Grep it'");
    user_says("{\"tools\":{\"listed\":[\"../jq\"]}}");
    assert_refused("has '../jq'");
    user_says("{\"tools\":{\"askSeconds\":0}}");
    assert_refused("1 to 3600");
}

/* ---- Linux machines ---------------------------------------------------------- */

/* "always", "ask", or what it is refused with. */
static const char *machine_word(const struct caller *who, const char *allowed)
{
    static struct err e;
    e = (struct err){0};
    struct permit p;
    enum permission word;
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, who, list, &e))
        fail_msg("%s", e.msg);
    bool ok = permit_machine(&p, "vm.exec", &word, &e);
    permit_close(&p);
    return ok ? permission_name(word) : e.msg;
}

static void a_machine_may_be_used_until_somebody_says_otherwise(void **state)
{
    (void)state;
    struct caller limited = {.name = "stdio", .level = LEVEL_LIMITED};
    struct caller person = {.name = "terminal", .level = LEVEL_FULL};
    assert_string_equal(machine_word(&agent, NULL), "always");
    assert_non_null(strstr(machine_word(&limited, NULL), "level 'limited'"));
    assert_non_null(strstr(machine_word(&agent, "[\"notes\"]"), "allowedAPIs"));
    user_says("{\"vm\":{\"permission\":\"ask\"}}");
    assert_string_equal(machine_word(&agent, NULL), "ask");
    assert_string_equal(machine_word(&person, NULL), "always");
    user_says("{\"vm\":{\"permission\":\"never\"}}");
    assert_non_null(strstr(machine_word(&agent, NULL), "cloche policy set"));
    assert_non_null(strstr(machine_word(&person, NULL), "'never'"));
    user_says("{\"deniedAPIs\":[\"notes\"],\"readOnly\":true}");
    assert_string_equal(machine_word(&agent, NULL), "always");
}

static void a_vaults_word_on_the_machine_only_takes_away(void **state)
{
    (void)state;
    user_says("{\"vm\":{\"permission\":\"ask\",\"ramMB\":256,\"machines\":3}}");
    vault_says("{\"vm\":{\"permission\":\"always\",\"ramMB\":1024,\"machines\":1,"
               "\"cpuSeconds\":9,\"idleMinutes\":3}}");
    assert_string_equal(machine_word(&agent, NULL), "ask");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->vm.ram_mb, 256);
    assert_int_equal(p->vm.machines, 1);
    assert_int_equal(p->vm.cpu_seconds, 9);
    assert_int_equal(p->vm.timeout_ms, 600000);
    assert_int_equal(p->vm.idle_minutes, 3);
    vault_says("{\"vm\":{\"permission\":\"never\"}}");
    assert_non_null(strstr(machine_word(&agent, NULL), "vault's policy"));
    user_says("{\"vm\":{\"ramMB\":32}}");
    assert_refused("64 to 1024");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_files_the_seeds_limits_hold),
        test(every_key_of_the_users_file_arrives),
        test(a_changed_file_holds_for_the_next_call),
        test(a_policy_in_use_outlives_its_file),
        test(what_does_not_parse_refuses_with_file_and_place),
        test(a_policy_that_is_no_plain_file_refuses),
        test(a_vault_lowers_what_the_user_gives),
        test(a_vault_grants_nothing),
        test(an_unknown_call_in_a_vaults_lists_is_passed_over),
        test(the_lowest_level_of_all_holds),
        test(a_call_may_only_narrow),
        test(a_read_only_scope_refuses_every_write),
        test(an_unknown_name_in_allowedAPIs_is_told_the_nearest),
        test(a_built_in_tool_without_files_runs_and_all_others_are_asked_for),
        test(the_users_word_on_a_tool_goes_before_his_default),
        test(a_vaults_word_on_a_tool_only_takes_away),
        test(a_tool_has_to_pass_every_list),
        test(a_person_at_the_terminal_is_not_asked_but_may_be_refused),
        test(one_tools_permission_is_set_and_taken_back),
        test(a_permission_that_cannot_be_meant_refuses_every_call),
        test(a_machine_may_be_used_until_somebody_says_otherwise),
        test(a_vaults_word_on_the_machine_only_takes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
