/* cloche tool install, update, remove, enable, disable and check: what only a person
 * does, and what the trail tells of. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "approvals/approvals.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/tool.h"
#include "desk/desk.h"
#include "guard/guard.h"
#include "os/os.h"
#include "json/json.h"

#define PROPOSAL_KEEP_MS ((int64_t)24 * 3600 * 1000)

struct install_command {
    const char *name, *words[1], *vault[2];
    bool update, help, unregistered;
    struct toolbox *box;
    struct tool_notes *notes;
};

/* ---- what the commands share --------------------------------------------- */

bool tool_read_file(const char *path, const char *what, struct buf *out, struct err *e)
{
    bool own = strcmp(path, "-") != 0;
    scoped_fd int fd =
        own ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : dup(STDIN_FILENO);
    struct os_stat st;
    if (fd < 0)
        return err_set(e, ERR_NOT_FOUND, "cannot open %.200s: %m", path);
    if (own && (!os_stat_fd(fd, &st, e) ||
                (!st.is_file && !err_set(e, ERR_INVALID, "%.200s is not a file", path))))
        return false;
    if (own && st.size > out->ceiling)
        return err_set(e, ERR_LIMIT, "%s exceeds maximum size of %zu MB", what,
                       out->ceiling >> 20);
    struct err why = {0};
    if (os_read_fd(fd, out, &why))
        return true;
    return why.code == ERR_LIMIT
               ? err_set(e, ERR_LIMIT, "%s exceeds maximum size of %zu MB", what,
                         out->ceiling >> 20)
               : err_set(e, why.code, "%.200s: %s", path, why.msg);
}

bool tool_record(const char *event, const struct tool *t, const char *vault,
                 const char *sha256, struct err *e)
{
    struct ward *ward;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    ward = g ? guard_ward(g, NULL, e) : NULL;
    if (!ward)
        return false;
    return desk_record_tool(ward, event, t, vault, sha256, "terminal", e);
}

void tool_print_notes(const char *head, const struct buf *lines)
{
    struct str rest = buf_view(lines);
    while (rest.n) {
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.at) : rest.n;
        scoped_buf struct buf plain = buf_of(8 * n + 64);
        str_spell((struct str){rest.at, n}, &plain);
        fprintf(stderr, "%s%s\n", head, buf_cz(&plain));
        n += end != NULL;
        rest = (struct str){rest.at + n, rest.n - n};
    }
}

/* Several errors of a manifest are told a line each, besides the one sentence. */
static void print_notes(const struct tool_notes *notes)
{
    tool_print_notes("cloche: warning: ", &notes->warnings);
    if (notes->error_count > 1)
        tool_print_notes("  ", &notes->errors);
}

/* ---- install and update -------------------------------------------------- */

static void tell_signature(const struct tool_package *p)
{
    const char *key = tool_package_key(p);
    if (key[0] && !tool_package_tool(p)->signer)
        fprintf(stderr,
                "cloche: warning: it is signed by %s, a key that is not trusted; 'cloche "
                "tool trust add NAME %s' trusts it\n",
                key, key);
}

static bool install_run(const struct install_command *c, struct err *e)
{
    enum tool_replace replace = !strcmp(c->name, "update") ? TOOL_MUST_REPLACE
                                : c->update                ? TOOL_MAY_REPLACE
                                                           : TOOL_NEW;
    struct ward *ward;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    ward = g ? guard_ward(g, NULL, e) : NULL;
    scoped_buf struct buf zip = buf_of(TOOL_ZIP_MAX);
    if (!ward || !tool_read_file(c->words[0], "ZIP file", &zip, e))
        return false;
    scoped(tool_package_close) struct tool_package *p =
        tool_package_open(c->box->catalogue, buf_view(&zip), c->notes, e);
    if (!p)
        return false;
    const struct tool *t = tool_package_tool(p);
    tell_signature(p);
    if (!desk_install(ward, c->box->catalogue, p, c->vault[0], replace, &tool_progress,
                      "terminal", e))
        return false;
    scoped_buf struct buf version = buf_of(BUF_PAGE);
    str_spell(str_of(t->version), &version);
    printf("%s %s\n", t->name, buf_cz(&version));
    return true;
}

/* ---- propose ---------------------------------------------------------------- */

static bool propose(const struct install_command *c, struct err *e)
{
    scoped_buf struct buf zip, shown;
    buf_init(&zip, TOOL_ZIP_MAX);
    buf_init(&shown, APPROVAL_SHOWN_MAX);
    if (!tool_read_file(c->words[0], "ZIP file", &zip, e))
        return false;
    scoped(tool_package_close) struct tool_package *p =
        tool_package_open(c->box->catalogue, buf_view(&zip), c->notes, e);
    scoped(approvals_close) struct approvals *a = p ? approvals_open(e) : NULL;
    if (!a)
        return false;
    struct json_writer w = json_writer(&shown);
    tool_proposal_shown(c->box->catalogue, p, &w);
    const char *name = tool_package_tool(p)->name;
    struct approval_request request = {.kind = "install",
                                       .caller = "terminal",
                                       .asker = "terminal",
                                       .digest = tool_package_sha256(p),
                                       .tools = &name,
                                       .tool_count = 1,
                                       .shown = buf_view(&shown),
                                       .keep_ms = PROPOSAL_KEEP_MS};
    struct approval_decision decision;
    if (!buf_check(&shown, "what is shown of it", e) ||
        !tool_propose(p, buf_view(&zip), e) ||
        !approvals_ask(a, &request, &(struct approval_wait){0}, &decision, e))
        return false;
    printf("%s\n", decision.id);
    fprintf(stderr,
            "cloche: nothing is installed yet: a person decides with 'cloche approvals "
            "allow %s'\n",
            decision.id);
    return true;
}

/* ---- remove, enable, disable --------------------------------------------- */

static bool remove_tool(const struct install_command *c, struct err *e)
{
    const struct tool named = {.name = c->words[0], .version = ""};
    return tool_remove(c->box->catalogue, c->words[0], c->vault[0], e) &&
           tool_record("tool remove", &named, c->vault[0], NULL, e);
}

static bool install_switch_tool(const struct install_command *c, struct err *e)
{
    bool on = !strcmp(c->name, "enable");
    const struct tool named = {.name = c->words[0], .version = ""};
    return tool_switch(c->box->catalogue, c->words[0], c->vault[0], on, e) &&
           tool_record(on ? "tool enable" : "tool disable", &named, c->vault[0], NULL, e);
}

/* ---- check ---------------------------------------------------------------- */

static bool install_check(const struct install_command *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(TOOL_ZIP_MAX);
    if (!tool_read_file(c->words[0], "ZIP file", &text, e))
        return false;
    if (!str_starts(buf_view(&text), "PK"))
        return tool_manifest_check(buf_view(&text), c->notes, e);
    scoped(tool_package_close) struct tool_package *p =
        tool_package_open(c->box->catalogue, buf_view(&text), c->notes, e);
    if (!p)
        return false;
    tell_signature(p);
    return true;
}

/* ---- the commands ---------------------------------------------------------- */

static const struct tool_deed {
    const char *name, *usage, *needs; /* "a ZIP": what stands behind it */
    bool has_update, has_vault;
    bool (*run)(const struct install_command *c, struct err *e);
} deeds[] = {
    {.name = "install",
     .usage =
         "cloche tool install ZIP [OPTIONS]\n\nInstalls a tool of your own: a ZIP with a "
         "manifest.json and a .wasm, or with a\nmanifest.json that names a command of the "
         "Linux machine (docs/tools.md). '-' reads\nit from standard input.",
     .needs = "a ZIP",
     .has_update = true,
     .has_vault = true,
     .run = install_run},
    {.name = "update",
     .usage =
         "cloche tool update ZIP [OPTIONS]\n\nReplaces an installed tool; your settings for it stay.",
     .needs = "a ZIP",
     .has_vault = true,
     .run = install_run},
    {.name = "remove",
     .usage = "cloche tool remove NAME [OPTIONS]\n\nTakes an installed tool away.",
     .needs = "a tool's name",
     .has_vault = true,
     .run = remove_tool},
    {.name = "enable",
     .usage = "cloche tool enable NAME [OPTIONS]\n\nLets agents see a tool again.",
     .needs = "a tool's name",
     .has_vault = true,
     .run = install_switch_tool},
    {.name = "disable",
     .usage =
         "cloche tool disable NAME [OPTIONS]\n\nHides a tool, built in or installed, from "
         "agents.",
     .needs = "a tool's name",
     .has_vault = true,
     .run = install_switch_tool},
    {.name = "check",
     .usage =
         "cloche tool check MANIFEST.json | ZIP\n\nTells all that is wrong with a manifest or "
         "a package. Installs nothing.",
     .needs = "a manifest.json or a ZIP",
     .run = install_check},
    {.name = "propose",
     .usage =
         "cloche tool propose ZIP\n\nChecks a tool's ZIP and lets a person decide ('cloche "
         "approvals') whether it is\ninstalled. Good for a day.",
     .needs = "a ZIP",
     .run = propose},
};

static bool deed_begin(const struct tool_deed *d, struct install_command *c, int argc,
                       char **argv, int *exit)
{
    struct option_row rows[5];
    size_t n = 0;
    struct err e = {0};
    if (d->has_update)
        rows[n++] = (struct option_row){
            "--update", NULL, &c->update, NULL,
            "replace an installed tool, or take a built-in one's place"};
    if (d->has_vault) {
        rows[n++] = (struct option_row)OPTION_VALUE("--vault", c->vault, "ID",
                                                    "for this vault alone");
        rows[n++] = (struct option_row){"--unregistered", NULL, &c->unregistered, NULL,
                                        UNREGISTERED_HELP};
    }
    rows[n++] = (struct option_row)OPTION_FLAG("--help", &c->help, "this list");
    struct option_use use = {.usage = d->usage,
                             .rows = rows,
                             .count = n,
                             .help = &c->help,
                             .words = c->words,
                             .max = 1};
    if (!options_begin(&use, argc, argv, exit))
        return false;
    if (use.given)
        return true;
    err_set(&e, ERR_INVALID, "cloche tool %s is followed by %s", d->name, d->needs);
    *exit = cli_fail(&e);
    return false;
}

int tool_kept(int argc, char **argv)
{
    const struct tool_deed *d = deeds;
    while (strcmp(d->name, argv[1]) != 0)
        must(++d < deeds + LENGTH(deeds));
    int exit;
    struct err e = {0};
    struct tool_notes notes;
    scoped_toolbox struct toolbox box = {0};
    struct install_command c = {.name = d->name, .box = &box, .notes = &notes};
    if (!deed_begin(d, &c, argc, argv, &exit))
        return exit;
    tool_notes_init(&notes);
    bool ok = toolbox_open(&box, &e) &&
              tool_vault_known(&box, c.vault[0], c.unregistered, &e) && d->run(&c, &e);
    print_notes(&notes);
    tool_notes_done(&notes);
    return ok ? EXIT_DONE : cli_fail(&e);
}
