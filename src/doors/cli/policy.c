/* cloche policy: what is in force and why, what is wrong with it, changing it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "calls/calls.h"
#include "cli/commands.h"
#include "cli/subcommand.h"
#include "guard/guard.h"
#include "os/os.h"
#include "vaults/vaults.h"
#include "json/json.h"

#define WORDS_MAX 70
#define TEXT_MAX ((size_t)4 << 20)

struct policy_command {
    const char *vault;
    bool json, help;
    const char *words[WORDS_MAX];
    size_t count;
    struct guard *guard;
    struct ward *ward;
    struct arena *arena;
};

char *cli_vault_path(const char *given)
{
    struct err none = {0};
    if (given)
        return mem_strdup(given);
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct vaults list;
    const struct vault_entry *v =
        vaults_read(a, &list, &none) ? vaults_find(&list, list.current) : NULL;
    char *path = NULL;
    if (v)
        must(asprintf(&path, "%.*s", STR_ARGS(v->path)) >= 0);
    return path;
}

/* An id of the list is easily taken for a folder's name: commands of tokens want it. */
static void name_folder(const char *given, struct err *e)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct vaults list;
    const struct vault_entry *v =
        given && e->code == ERR_NOT_FOUND && vaults_read(a, &list, &none)
            ? vaults_find(&list, str_of(given))
            : NULL;
    struct err why = *e;
    if (!v)
        return;
    *e = (struct err){0};
    (void)err_set(e, ERR_NOT_FOUND, "%.100s; the vault with this id is in \"%.*s\"",
                  why.msg, STR_ARGS(str_cut(v->path, 100)));
}

struct guard *cli_guard(const char *vault, struct ward **ward, struct err *e)
{
    struct guard_options options = host_call_guard_options();
    scoped(free) char *path = cli_vault_path(vault);
    scoped(guard_close) struct guard *g = guard_open(&options);
    scoped_fd int dir = path ? os_dir_open(path, e) : -1;
    scoped(free) char *true_path = dir >= 0 ? os_dir_path(dir, e) : NULL;
    if (path && !true_path) {
        name_folder(vault, e);
        if (e->code == ERR_NOT_FOUND)
            e->code = ERR_INVALID; /* the call was wrong */
        return NULL;
    }
    *ward = guard_ward(g, true_path, e);
    return *ward ? take(g) : NULL;
}

/* ---- show --------------------------------------------------------------- */

static void policy_print_value(const struct json *v)
{
    scoped_buf struct buf text = buf_of(TEXT_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, v);
    cli_put(buf_view(&text));
}

static void print_problems(const struct json *found)
{
    struct json_iter it = json_iter(json_get(found, "problems"));
    while (json_next(&it))
        printf("%.*s:%lld:%lld: %.*s: %.*s\n",
               SPELT_ARGS(json_str(json_get(it.value, "file"))),
               (long long)json_int(json_get(it.value, "line"), 1),
               (long long)json_int(json_get(it.value, "column"), 1),
               SPELT_ARGS(json_str(json_get(it.value, "severity"))),
               SPELT_ARGS(json_str(json_get(it.value, "message"))));
}

static void print_shown(const struct json *shown)
{
    struct json_iter it = json_iter(json_get(shown, "values"));
    while (json_next(&it)) {
        printf("%-26.*s %-8.*s ", SPELT_ARGS(json_str(json_get(it.value, "key"))),
               SPELT_ARGS(json_str(json_get(it.value, "from"))));
        policy_print_value(json_get(it.value, "value"));
        if (json_get(it.value, "and")) {
            printf(" and, from the vault, ");
            policy_print_value(json_get(it.value, "and"));
        }
        printf("\n");
    }
    printf("\n");
    it = json_iter(json_get(shown, "files"));
    while (json_next(&it))
        printf("%-8.*s %.*s%s\n", SPELT_ARGS(json_str(json_get(it.value, "from"))),
               SPELT_ARGS(json_str(json_get(it.value, "file"))),
               json_bool(json_get(it.value, "there"), false) ? "" : " (not there)");
    print_problems(shown);
}

static bool policy_print(void *command, struct err *e)
{
    struct policy_command *c = command;
    scoped_buf struct buf out = buf_of(TEXT_MAX);
    if (!ward_show(c->ward, &out, e))
        return false;
    if (c->json)
        cli_put_line(buf_view(&out));
    else
        print_shown(json_read(buf_view(&out), c->arena, e));
    return true;
}

/* ---- check -------------------------------------------------------------- */

static bool read_file(const char *file, struct buf *out, struct err *e)
{
    bool from_stdin = !strcmp(file, "-");
    scoped_fd int fd = from_stdin ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_INVALID, "cannot open the file %.200s: %m", file);
    return buf_cstr(out, "") &&
           (os_read_fd(fd, out, e) ||
            err_wrap(e, "%.200s", from_stdin ? "standard input" : file));
}

static bool policy_check(void *command, struct err *e)
{
    struct policy_command *c = command;
    scoped_buf struct buf text, out;
    buf_init(&text, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    const char *file = c->count > 1 ? c->words[1] : NULL;
    bool done =
        file ? read_file(file, &text, e) &&
                   guard_check(c->guard, file, buf_view(&text), c->vault != NULL, &out, e)
             : ward_check(c->ward, &out, e);
    const struct json *found = done ? json_read(buf_view(&out), c->arena, e) : NULL;
    if (!found)
        return false;
    bool ok = json_bool(json_get(found, "ok"), false);
    if (c->json)
        cli_put_line(buf_view(&out));
    else
        print_problems(found);
    if (!c->json && ok)
        printf("the policy can be used\n");
    return ok || err_set(e, ERR_DENIED, "%s",
                         file ? "this cannot be used as a policy"
                              : "the policy cannot be used; until it is mended, every "
                                "call is refused");
}

/* ---- set, unset, schema ------------------------------------------------- */

static bool set(void *command, struct err *e)
{
    struct policy_command *c = command;
    return ward_set(c->ward, c->vault != NULL, c->words[1], c->words + 2, c->count - 2,
                    "terminal", e);
}

static bool schema(void *command, struct err *e)
{
    const struct policy_command *c = command;
    scoped_buf struct buf out = buf_of(TEXT_MAX);
    return guard_schema(c->guard, &out, e) && printf("%s", buf_cz(&out)) >= 0;
}

static const struct verb verbs[] = {
    {.name = "show", .run = policy_print},
    {.name = "check", .takes = "a FILE or nothing", .most = 1, .run = policy_check},
    {.name = "set",
     .takes = "a KEY and its VALUE",
     .least = 2,
     .most = WORDS_MAX - 1,
     .run = set},
    {.name = "unset", .takes = "a KEY", .least = 1, .most = 1, .run = set},
    {.name = "schema", .run = schema},
};

int command_policy(int argc, char **argv)
{
    struct policy_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", &c.vault, "DIR",
                     "also apply a vault's policy; set and unset change that one"),
        OPTION_FLAG("--json", &c.json, "print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche policy (show | check [FILE] | set KEY VALUE... | unset KEY | "
                 "schema) [OPTIONS]\n\nShows what callers may do (docs/policy.md): the "
                 "values in force and their origin;\nchecks the files, or FILE; changes "
                 "keys of your policy.",
        OPTION_ROWS(rows, &c.help),
        .words = c.words,
        .max = WORDS_MAX,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    c.count = use.given;
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    c.arena = arena;
    scoped(guard_close) struct guard *guard = cli_guard(c.vault, &c.ward, &e);
    c.guard = guard;
    bool ok = guard && verbs_run("policy", verbs, LENGTH(verbs), &use, &c, &e);
    return ok ? EXIT_DONE : cli_fail(&e);
}
