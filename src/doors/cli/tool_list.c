/* cloche tool list and cloche tool show. What a manifest says is a stranger's: it is shown
 * with nothing in it that could move a terminal's cursor. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/tool.h"
#include "guard/guard.h"
#include "programs/programs.h"
#include "json/json.h"

#define LIST_BYTES ((size_t)64 << 20)

struct list_command {
    const char *words[1], *vault[2];
    bool json, help, unregistered;
};

/* The policy for an agent's run of a tool, and its text. */
struct standing {
    const struct policy *policy; /* NULL: cannot be read */
};

static bool asks_for_files(const struct standing *s, const struct tool *t)
{
    return s->policy && tool_standing(s->policy, t).asks_for_files;
}

static const char *permission_of(const struct standing *s, const struct tool *t)
{
    if (!s->policy)
        return "unknown";
    struct tool_standing is = tool_standing(s->policy, t);
    return permission_name(is.is_disabled || is.lacks_signature ? PERMISSION_NEVER
                                                                : is.permission);
}

static void tool_put_time(struct json_writer *w, const char *key, int64_t ms)
{
    json_key(w, key);
    if (ms)
        json_put_int(w, ms);
    else
        json_put_null(w);
}

static void tool_put_text(struct json_writer *w, const char *key, const char *text)
{
    json_key(w, key);
    if (text)
        json_put_cstr(w, text);
    else
        json_put_null(w);
}

static void tool_put_row(struct json_writer *w, const struct standing *s,
                         const struct tool *t, bool whole)
{
    json_open_object(w);
    json_pair_cstr(w, "id", t->id);
    json_pair_cstr(w, "name", t->name);
    json_pair_cstr(w, "version", t->version);
    tool_put_text(w, "license", t->license);
    json_pair_cstr(w, "category", t->category);
    json_pair_cstr(w, "source", t->builtin ? "builtin" : "user");
    json_pair_cstr(w, "permission", permission_of(s, t));
    json_pair_bool(w, "asksForFiles", asks_for_files(s, t));
    json_pair_bool(w, "enabled", t->enabled);
    tool_put_text(w, "vault", t->vault);
    tool_put_text(w, "signer", t->signer);
    json_pair_cstr(w, "fileAccess", tool_access_name(t->execution.access));
    tool_put_time(w, "installedAt", t->installed_ms);
    tool_put_time(w, "updatedAt", t->updated_ms);
    json_pair_cstr(w, "runtime", t->command ? TOOL_RUNTIME_MACHINE : TOOL_RUNTIME_MODULE);
    json_pair_cstr(w, "sha256", t->sha256);
    if (whole)
        json_pair(w, "manifest", t->manifest);
    else
        json_pair_cstr(w, "description", t->description);
    json_close(w);
}

/* At most `max` bytes, and blanks up to `width`. */
static void print_cell(const char *text, int width, size_t max)
{
    scoped_buf struct buf plain = buf_of(4 * max + 64);
    str_spell(str_cut(str_of(text), max), &plain);
    printf("%-*s ", width, buf_cz(&plain));
}

static void tool_print_row(const struct standing *s, const struct tool *t)
{
    print_cell(t->name, 15, TOOL_NAME_MAX);
    print_cell(t->version, 12, 24);
    print_cell(t->license ? t->license : "-", 20, 40);
    print_cell(t->category, 12, 24);
    print_cell(t->builtin ? "builtin" : "user", 7, 8);
    print_cell(asks_for_files(s, t) ? "for files" : permission_of(s, t), 9, 9);
    printf("%s", t->enabled ? "enabled" : "disabled");
    if (t->command)
        printf(", in a Linux machine");
    if (t->vault)
        printf(", for the vault %.*s", SPELT_ARGS(str_of(t->vault)));
    if (t->signer)
        printf(", signed by %.*s", SPELT_ARGS(str_of(t->signer)));
    printf("\n");
}

static void print_list(const struct list_command *c, const struct standing *s,
                       const struct tool_list *l)
{
    scoped_buf struct buf text = buf_of(LIST_BYTES);
    struct json_writer w = json_writer(&text);
    if (!c->json && l->count)
        printf("%-15s %-12s %-20s %-12s %-7s %-9s %s\n", "NAME", "VERSION", "LICENSE",
               "CATEGORY", "SOURCE", "AGENTS", "STATE");
    json_open_array(&w);
    for (size_t i = 0; i < l->count; i++) {
        if (c->json)
            tool_put_row(&w, s, l->tools[i], false);
        else
            tool_print_row(s, l->tools[i]);
    }
    json_close(&w);
    if (c->json)
        cli_put_line(buf_view(&text));
}

/* The tools of the vault that is given, else those of every vault. */
static bool tools_listed(const struct list_command *c, struct toolbox *box,
                         struct str *vault, struct tool_list *l, struct err *e)
{
    *vault = c->vault[0] ? str_of(c->vault[0]) : TOOL_EVERY_VAULT;
    return tool_vault_known(box, c->vault[0], c->unregistered, e) &&
           tool_list(box->catalogue, *vault, l, e);
}

static bool tools_print(const struct list_command *c, struct toolbox *box,
                        const struct standing *s, struct err *e)
{
    struct str vault;
    struct tool_list l;
    if (!tools_listed(c, box, &vault, &l, e))
        return false;
    print_list(c, s, &l);
    struct buf problems = {.at = (char *)(uintptr_t)l.problems, .n = strlen(l.problems)};
    tool_print_notes("cloche: ", &problems);
    tool_list_release(box->catalogue, &l);
    return true;
}

/* ---- show ---------------------------------------------------------------- */

static void print_pair(const char *key, const char *text)
{
    scoped_buf struct buf plain = buf_of(BUF_TEXT);
    str_spell(str_of(text), &plain);
    printf("%-12s %s\n", key, buf_cz(&plain));
}

static void print_choices(const struct json *choices, struct buf *out)
{
    struct json_iter it = json_iter(choices);
    for (bool first = true; json_next(&it); first = false) {
        struct json_writer w = json_writer(out);
        buf_cstr(out, first ? "; " : ", ");
        json_put(&w, it.value);
    }
}

static void print_parameter(const struct tool_parameter *p)
{
    scoped_buf struct buf line = buf_of(BUF_TEXT);
    buf_printf(&line, "%s (%s%s", p->name, tool_type_name(p->type),
               p->required ? ", required" : "");
    print_choices(p->choices, &line);
    buf_printf(&line, ") %s", p->description);
    print_pair("", buf_cz(&line));
}

/* In a Linux machine: how it begins there. */
static void print_command(const struct tool *t)
{
    scoped_buf struct buf text = buf_of(LIST_BYTES);
    if (!t->command)
        return;
    tool_put_command(t, &text);
    print_pair("command", buf_cz(&text));
}

static void print_tool(const struct standing *s, const struct tool *t)
{
    char number[32];
    print_pair("name", t->name);
    print_pair("version", t->version);
    print_pair("description", t->description);
    print_pair("category", t->category);
    print_pair("license", t->license ? t->license : "not said");
    print_pair("author", t->author ? t->author : "not said");
    print_pair("homepage", t->homepage ? t->homepage : "not said");
    print_pair("source", t->builtin ? "builtin" : "user");
    print_pair("vault", t->vault ? t->vault : "all");
    print_pair("signer", t->signer ? t->signer : "a key that is not trusted");
    print_pair("state", t->enabled ? "enabled" : "disabled");
    print_pair("agents", permission_of(s, t));
    print_pair("runtime", t->command ? TOOL_RUNTIME_MACHINE : TOOL_RUNTIME_MODULE);
    print_command(t);
    print_pair("fileAccess", tool_access_name(t->execution.access));
    (void)snprintf(number, sizeof number, "%llu bytes",
                   (unsigned long long)t->execution.memory_bytes);
    print_pair("memoryLimit", number);
    (void)snprintf(number, sizeof number, "%u ms", t->execution.timeout_ms);
    print_pair("timeout", number);
    print_pair("sha256", t->sha256);
    print_pair("returns", t->returns);
    print_pair("parameters", t->parameter_count ? "" : "none");
    for (size_t i = 0; i < t->parameter_count; i++)
        print_parameter(&t->parameters[i]);
}

/* Also a disabled one, and one of some vault. */
static const struct tool *list_find_tool(const struct tool_list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->tools[i]->name, name))
            return l->tools[i];
    return NULL;
}

static bool tool_show(const struct list_command *c, struct toolbox *box,
                      const struct standing *s, struct err *e)
{
    struct str vault;
    struct tool_list l;
    if (!tools_listed(c, box, &vault, &l, e))
        return false;
    const struct tool *t = list_find_tool(&l, c->words[0]);
    if (t && c->json) {
        scoped_buf struct buf text = buf_of(LIST_BYTES);
        struct json_writer w = json_writer(&text);
        tool_put_row(&w, s, t, true);
        cli_put_line(buf_view(&text));
    } else if (t) {
        print_tool(s, t);
    } else { /* which says what is near */
        tool_release(box->catalogue,
                     tool_find(box->catalogue, str_of(c->words[0]), vault, e));
    }
    tool_list_release(box->catalogue, &l);
    return t != NULL;
}

/* ---- the commands --------------------------------------------------------- */

typedef bool work_fn(const struct list_command *c, struct toolbox *box,
                     const struct standing *s, struct err *e);

static int toolbox_use(const struct list_command *c, work_fn *fn)
{
    struct err e = {0}, none = {0};
    scoped_toolbox struct toolbox box = {0};
    struct ward *ward = NULL;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, &none);
    struct standing s = {.policy = g ? ward_policy(ward, &none) : NULL};
    bool ok = toolbox_open(&box, &e) && fn(c, &box, &s, &e);
    policy_release(s.policy);
    if (none.code)
        (void)cli_fail(&none);
    return ok ? EXIT_DONE : cli_fail(&e);
}

int tool_listed(int argc, char **argv)
{
    struct list_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", c.vault, "ID", "as this vault's calls see them"),
        {.name = "--unregistered", .flag = &c.unregistered, .help = UNREGISTERED_HELP},
        OPTION_FLAG("--json", &c.json, "print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche tool list [OPTIONS]\n\nAll command-line tools: version, license, "
            "category, where each comes from,\nand what an agent may do with it.",
        OPTION_ROWS(rows, &c.help),
    };
    int exit;
    return options_begin(&use, argc, argv, &exit) ? toolbox_use(&c, tools_print) : exit;
}

int tool_shown(int argc, char **argv)
{
    struct list_command c = {0};
    struct err e = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", c.vault, "ID", "as this vault's calls see it"),
        {.name = "--unregistered", .flag = &c.unregistered, .help = UNREGISTERED_HELP},
        OPTION_FLAG("--json", &c.json, "print JSON, with the manifest"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage = "cloche tool show NAME [OPTIONS]\n\nOne tool, with its parameters.",
        OPTION_ROWS(rows, &c.help),
        .words = c.words,
        .max = 1,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    if (use.given)
        return toolbox_use(&c, tool_show);
    err_set(&e, ERR_INVALID, "cloche tool show is followed by a tool's name");
    return cli_fail(&e);
}
