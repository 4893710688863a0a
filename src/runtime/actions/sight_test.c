/* Callers who may change notes but not read them: nothing of a note is in the answers and
 * errors of their changes, dry or not. Every call that writes is in the table below; a
 * missing one fails the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actions/actions.h"
#include "calls/calls.h"
#include "capability/home_test.h"
#include "performing/performing.h"

#define SECRET "QUINCE" /* in everything that must not be revealed */

static struct actions *actions;
static char folder[100];

static void put(const char *path, const char *text)
{
    char full[300];
    (void)snprintf(full, sizeof full, "%s/%s", folder, path);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void make_folder(const char *name)
{
    char full[300];
    (void)snprintf(full, sizeof full, "%s/%s", folder, name);
    assert_true(mkdir(full, 0700) == 0 || true);
}

static const char trash[] = ".cloche/trash/";
static char restorable[200]; /* a path in the trash */
static char revision[20];    /* of m/child */

static const struct grant all = {.principal = "all", .scopes = SCOPE_ALL};

static const char *ask(const struct grant *g, const char *name, const char *args,
                       enum err_code *code)
{
    static char text[16384];
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, sizeof text - 1);
    const struct caller who = {.name = "http token", .grant = g};
    struct work *w = work_begin(actions, &who, STR(""), "test", &e);
    if (w && work_call(w, name, str_of(args), &out, &e))
        (void)snprintf(text, sizeof text, "%s", buf_cz(&out));
    else
        (void)snprintf(text, sizeof text, "%s", e.msg);
    if (w)
        work_end(w, e.code ? &e : NULL);
    *code = e.code;
    return text;
}

/* A vault in which everything but the names known to a caller is secret. */
static void plant(void)
{
    static const char child[] = "---\ntitle: " SECRET " child\n---\nx " SECRET "\n";
    enum err_code code;
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf %s/m %s/other", folder, folder);
    assert_int_equal(system(command), 0);
    make_folder("m");
    make_folder("other");
    make_folder(".cloche");
    make_folder(".cloche/types");
    put("m/plan.md", "---\ntitle: " SECRET " title\ntags: [" SECRET "]\nstatus: " SECRET
                     "\nsubnotes:\n  - m/child\n  - m/" SECRET "-sub\n---\n# " SECRET
                     "\n\nbody " SECRET "\n\n## " SECRET
                     " heading\n\ntext\n\n## Known\n\n" SECRET " part\n");
    put("m/child.md", "---\ntitle: " SECRET "\n---\nas it is now " SECRET "\n");
    put("m/free.md", child);
    put("m/" SECRET "-sub.md", child);
    put("m/" SECRET "-linker.md",
        "# " SECRET "\n\nsee [[m/plan]] ![[a.png]] " SECRET "\n");
    put("m/a.png", SECRET);
    put("m/" SECRET ".canvas",
        "{\"nodes\":[{\"type\":\"file\",\"file\":\"m/plan.md\"}]}");
    put("m/broken.md", "---\ntitle: [" SECRET "\n---\n" SECRET "\n");
    put("m/" SECRET "-one.md", "---\ntitle: twin\n---\n" SECRET "\n");
    put("m/" SECRET "-two.md", "---\ntitle: twin\n---\n" SECRET "\n");
    put(".cloche/types/m.md",
        "# m\n\n## Purpose\n" SECRET "\n\n## Agent Instructions\n- " SECRET "\n");
    (void)ask(&all, "notes.update",
              "[{\"identifier\":\"m/child\",\"content\":\"new\",\"force\":true}]", &code);
    assert_int_equal(code, ERR_NONE);
    const char *told =
        ask(&all, "notes.history", "[{\"identifier\":\"m/child\",\"limit\":2}]", &code);
    const char *first = strstr(told, "\"revision\":"), *at = first;
    assert_non_null(first);
    if (strstr(first + 1, "\"revision\":")) /* the one before */
        at = strstr(first + 1, "\"revision\":");
    (void)snprintf(revision, sizeof revision, "%d", atoi(at + strlen("\"revision\":")));
    char trashed[400];
    (void)snprintf(trashed, sizeof trashed, "%s/%s", folder, restorable);
    if (restorable[0] && access(trashed, F_OK) == 0)
        return;
    put("m/old.md", "# " SECRET "\n");
    const char *gone =
        ask(&all, "notes.delete", "[{\"identifier\":\"m/old\",\"confirm\":true}]", &code);
    at = strstr(gone, trash);
    assert_non_null(at);
    (void)snprintf(restorable, sizeof restorable, "%.*s", (int)strcspn(at, "\""), at);
}

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (make_home() != 0)
        return -1;
    (void)snprintf(folder, sizeof folder, "%s/vault", home);
    const char *vaults[] = {folder, NULL};
    if (mkdir(folder, 0700) != 0)
        return -1;
    actions = actions_open(&(struct actions_options){.vaults = vaults}, &e);
    return actions ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    actions_close(actions);
    return drop_home();
}

/* ---- the calls ------------------------------------------------------------ */

#define TAKEN "\"new_title\":\"child\"" /* a dry run that fails */
#define DRY ",\"dry_run\":true"
/* %1$s: a path in the trash; %2$s: a revision of m/child. */
static const struct {
    const char *call, *args;
} calls[] = {
    {"notes.create", "[{\"type\":\"m\",\"title\":\"plan\"}]"},
    {"notes.create", "[{\"type\":\"m\",\"title\":\"new\"" DRY "}]"},
    {"notes.create", "[{\"type\":\"m\",\"title\":\"new\",\"metadata\":{\"status\":1}}]"},
    {"notes.update",
     "[{\"identifier\":\"m/plan\",\"content\":\"x\",\"force\":true" DRY "}]"},
    {"notes.update",
     "[{\"identifier\":\"m/plan\",\"metadata\":{\"a\":1},\"force\":true" DRY "}]"},
    {"notes.update",
     "[{\"identifier\":\"m/plan\",\"markdown\":\"x\",\"force\":true" DRY "}]"},
    {"notes.update", "[{\"identifier\":\"m/plan\",\"content\":\"x\"}]"},
    {"notes.update",
     "[{\"identifier\":\"m/plan\",\"content\":\"x\",\"contentHash\":\"sha256:00\"}]"},
    {"notes.update", "[{\"identifier\":\"twin\",\"content\":\"x\",\"force\":true}]"},
    {"notes.update",
     "[{\"identifier\":\"m/broken\",\"metadata\":{\"a\":1},\"force\":true}]"},
    {"notes.update",
     "[{\"identifier\":\"m/plan\",\"metadata\":{\"a\":1},\"force\":true}]"},
    {"notes.rename",
     "[{\"identifier\":\"m/plan\",\"new_title\":\"other\",\"force\":true" DRY "}]"},
    {"notes.rename", "[{\"identifier\":\"m/plan\"," TAKEN ",\"force\":true" DRY "}]"},
    {"notes.rename", "[{\"identifier\":\"m/plan\",\"new_title\":\"x\"}]"},
    {"notes.rename",
     "[{\"identifier\":\"m/plan\",\"new_title\":\"twin\",\"force\":true}]"},
    {"notes.rename",
     "[{\"identifier\":\"m/plan\",\"new_title\":\"renamed\",\"force\":true}]"},
    {"notes.move",
     "[{\"identifier\":\"m/plan\",\"new_type\":\"other\",\"force\":true" DRY "}]"},
    {"notes.move", "[{\"identifier\":\"m/plan\",\"new_type\":\"other\",\"force\":true}]"},
    {"notes.updateSection",
     "[{\"identifier\":\"m/plan\",\"heading\":\"Known\",\"content\":"
     "\"x\",\"mode\":\"append\",\"force\":true" DRY "}]"},
    {"notes.updateSection",
     "[{\"identifier\":\"m/plan\",\"heading\":\"No\",\"content\":\"x\",\"force\":true}]"},
    {"notes.updateSection",
     "[{\"identifier\":\"m/plan\",\"heading\":\"Known\",\"content\":"
     "\"```\",\"mode\":\"prepend\",\"force\":true}]"},
    {"notes.updateSection", "[{\"identifier\":\"m/plan\",\"heading\":\"Known\",\"mode\":"
                            "\"remove\",\"force\":true}]"},
    {"notes.batch",
     "[{\"changes\":[{\"action\":\"update\",\"identifier\":\"m/plan\",\"content\":\"x\","
     "\"force\":true},{\"action\":\"rename\",\"identifier\":\"m/plan\",\"new_title\":\"y\","
     "\"force\":true}]" DRY "}]"},
    {"notes.batch",
     "[{\"changes\":[{\"action\":\"delete\",\"identifier\":\"m/plan\"}]}]"},
    {"notes.batch", "[{\"changes\":[{\"action\":\"update\",\"identifier\":\"twin\","
                    "\"content\":\"x\",\"force\":true}]}]"},
    {"notes.restore", "[{\"backup_path\":\"%1$s\"" DRY "}]"},
    {"notes.restore",
     "[{\"identifier\":\"m/child\",\"revision\":%2$s,\"force\":true" DRY "}]"},
    {"notes.restore", "[{\"identifier\":\"m/child\",\"revision\":%2$s}]"},
    {"notes.restore", "[{\"identifier\":\"m/child\",\"revision\":99,\"force\":true}]"},
    {"notes.renameHeading",
     "[{\"identifier\":\"m/plan\",\"heading\":\"Known\",\"new_heading\":\"New\",\"force\":true" DRY
     "}]"},
    {"notes.renameHeading",
     "[{\"identifier\":\"m/plan\",\"heading\":\"x\",\"new_heading\":\"New\",\"force\":true}]"},
    {"notes.renameHeading",
     "[{\"identifier\":\"m/plan\",\"heading\":\"Known\",\"new_heading\":\"New\",\"force\":true}]"},
    {"notes.daily", "[{\"create\":true" DRY "}]"},
    {"notes.daily", "[{\"create\":true}]"},
    {"attachments.move", "[{\"path\":\"m/a.png\",\"to\":\"m/b.png\"" DRY "}]"},
    {"attachments.move", "[{\"path\":\"m/a.png\",\"to\":\"m/b.png\"}]"},
    {"notes.renameTag", "[{\"tag\":\"" SECRET "\",\"new_tag\":\"x\"" DRY "}]"},
    {"notes.renameTag", "[{\"tag\":\"t\",\"new_tag\":\"x\"}]"},
    {"notes.undo", "[{\"since\":\"1h\"" DRY "}]"},
    {"notes.undo", "[{\"agent\":\"http token\"}]"},
    {"notes.undo", "[{\"call\":\"none\"}]"},
    {"notes.delete", "[{\"identifier\":\"m/plan\"}]"},
    {"notes.delete", "[{\"identifier\":\"m/plan\",\"confirm\":true" DRY "}]"},
    {"notes.delete", "[{\"identifier\":\"m/plan\",\"contentHash\":\"sha256:00\"}]"},
    {"notes.delete", "[\"twin\"]"},
    {"hierarchy.addSubnote",
     "[{\"parent_id\":\"m/plan\",\"child_id\":\"m/free\"" DRY "}]"},
    {"hierarchy.addSubnote", "[{\"parent_id\":\"m/child\",\"child_id\":\"m/plan\"}]"},
    {"hierarchy.addSubnote", "[{\"parent_id\":\"m/plan\",\"child_id\":\"twin\"}]"},
    {"hierarchy.addSubnote", "[{\"parent_id\":\"m/plan\",\"child_id\":\"m/free\"}]"},
    {"hierarchy.removeSubnote",
     "[{\"parent_id\":\"m/plan\",\"child_id\":\"m/child\"" DRY "}]"},
    {"hierarchy.removeSubnote", "[{\"parent_id\":\"m/plan\",\"child_id\":\"m/free\"}]"},
    {"hierarchy.reorder", "[{\"parent_id\":\"m/plan\",\"child_ids\":[\"m/child\"]}]"},
    {"noteTypes.create", "[{\"type_name\":\"m\",\"description\":\"x\"}]"},
    {"noteTypes.update", "[{\"type_name\":\"m\",\"description\":\"x\"}]"},
    {"noteTypes.update",
     "[{\"type_name\":\"m\",\"description\":\"x\",\"content_hash\":\"sha256:00\"}]"},
    {"noteTypes.update", "[{\"type_name\":\"none\",\"description\":\"x\"}]"},
    {"noteTypes.delete", "[{\"type_name\":\"m\"}]"},
    {"noteTypes.delete", "[{\"type_name\":\"m\",\"action\":\"migrate\",\"target_type\":"
                         "\"other\"}]"},
};

static void set_policy(const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/cloche", home);
    assert_true(mkdir(path, 0700) == 0 || true);
    (void)snprintf(path, sizeof path, "%s/cloche/policy.json", home);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Each change is reverted before the next. */
static void nothing_is_told_to(const struct grant *g, const char *policy)
{
    for (size_t i = 0; i < LENGTH(calls); i++) {
        char args[600];
        enum err_code code;
        set_policy("{}");
        plant();
        set_policy(policy);
        (void)snprintf(args, sizeof args, calls[i].args, restorable, revision);
        const char *answer = ask(g, calls[i].call, args, &code);
        if (strstr(answer, SECRET))
            fail_msg("%s %s tells: %s", calls[i].call, args, answer);
        if (strstr(args, "dry_run") && !strstr(args, TAKEN) &&
            !strstr(answer, "\"hidden\""))
            fail_msg("%s %s does not say what is hidden: %s", calls[i].call, args,
                     answer);
        if (code == ERR_DENIED || code == ERR_GUEST)
            fail_msg("%s %s was not tried: %s", calls[i].call, args, answer);
    }
}

static void who_may_only_write_learns_nothing_of_a_note(void **state)
{
    (void)state;
    const struct grant writer = {.principal = "writer",
                                 .scopes = SCOPE_WRITE | SCOPE_EVALUATE};
    nothing_is_told_to(&writer, "{}");
}

static void who_is_denied_to_read_learns_nothing_of_a_note(void **state)
{
    (void)state;
    nothing_is_told_to(&all, "{\"deniedAPIs\": [\"notes.get\", \"noteTypes.get\"]}");
}

static void who_is_allowed_only_to_write_learns_nothing_of_a_note(void **state)
{
    (void)state;
    nothing_is_told_to(
        &all,
        "{\"allowedAPIs\": [\"notes.create\", \"notes.update\", \"notes.rename\", "
        "\"notes.move\", \"notes.updateSection\", \"notes.batch\", "
        "\"notes.restore\", \"notes.renameTag\", \"attachments.move\", \"notes.daily\", \"notes.renameHeading\", \"notes.undo\", \"notes.delete\", \"hierarchy\", "
        "\"noteTypes.create\", \"noteTypes.update\", \"noteTypes.delete\"]}");
}

static void who_may_not_read_notes_is_told_no_field_of_theirs(void **state)
{
    (void)state;
    enum err_code code;
    set_policy("{}");
    plant();
    const char *told = ask(&all, "noteTypes.list", "[{\"fields\":true}]", &code);
    assert_int_equal(code, ERR_NONE);
    assert_non_null(strstr(told, "\"name\":\"" SECRET " heading\""));
    set_policy("{\"deniedAPIs\": [\"notes.get\"]}");
    told = ask(&all, "noteTypes.list", "[{\"fields\":true}]", &code);
    assert_int_equal(code, ERR_NONE);
    assert_null(strstr(told, "\"fields\""));
    assert_non_null(strstr(told, "\"hidden\":\"needs notes.get\""));
}

static void who_may_read_is_shown_what_would_change(void **state)
{
    (void)state;
    enum err_code code;
    set_policy("{}");
    plant();
    for (size_t i = 0; i < LENGTH(calls); i++)
        if (strstr(calls[i].args, "\"m/plan\"") && strstr(calls[i].args, "dry_run")) {
            const char *answer = ask(&all, calls[i].call, calls[i].args, &code);
            if (code == ERR_NONE && !strstr(answer, SECRET))
                fail_msg("%s %s hides: %s", calls[i].call, calls[i].args, answer);
        }
}

static void the_table_has_every_call_that_writes_notes(void **state)
{
    (void)state;
    size_t count;
    const struct host_call *const *rows = host_call_all(&count);
    for (size_t i = 0; i < count; i++) {
        const char *name = rows[i]->row.name;
        bool elsewhere = !strncmp(name, "vaults.", 7) || !strncmp(name, "tools.", 6) ||
                         !strncmp(name, "fs.", 3);
        size_t k = 0;
        while (k < LENGTH(calls) && strcmp(calls[k].call, name) != 0)
            k++;
        if (rows[i]->row.writes && !elsewhere && k == LENGTH(calls))
            fail_msg("%s writes, and nobody looked at what it tells", name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_may_only_write_learns_nothing_of_a_note),
        cmocka_unit_test(who_is_denied_to_read_learns_nothing_of_a_note),
        cmocka_unit_test(who_is_allowed_only_to_write_learns_nothing_of_a_note),
        cmocka_unit_test(who_may_not_read_notes_is_told_no_field_of_theirs),
        cmocka_unit_test(who_may_read_is_shown_what_would_change),
        cmocka_unit_test(the_table_has_every_call_that_writes_notes),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
