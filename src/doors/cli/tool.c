/* cloche tool: the command-line tools, and what a person does with them. */
#include "cli/tool.h"

#include <stdio.h>
#include <unistd.h>

#include "actions/actions.h"
#include "catalogue/catalogue.h"
#include "cli/commands.h"
#include "cli/subcommand.h"
#include "engine/engine.h"
#include "services/services.h"
#include "vaults/vaults.h"

static const struct subcommand subcommands[] = {
    {"run", "[OPTIONS] NAME [ARGS...]", "run a tool as a program", tool_run},
    {"permit", "NAME always|ask|never|usual", "whether agents may run it", tool_permit},
    {"list", "[--vault ID] [--json]", "all tools, built in and installed", tool_listed},
    {"show", "NAME [--json]", "one tool, with its parameters", tool_shown},
    {"install", "ZIP [--update] [--vault ID]", "install a tool from a ZIP", tool_kept},
    {"update", "ZIP [--vault ID]", "replace an installed tool", tool_kept},
    {"remove", "NAME [--vault ID]", "remove an installed tool", tool_kept},
    {"enable", "NAME [--vault ID]", "let agents see a tool again", tool_kept},
    {"disable", "NAME [--vault ID]", "hide a tool from agents", tool_kept},
    {"check", "MANIFEST.json | ZIP", "check a package, install nothing", tool_kept},
    {"propose", "ZIP", "ask a person to install it", tool_kept},
    {"sign", "ZIP --key FILE", "sign a ZIP", tool_signed},
    {"trust", "add NAME KEY | list | remove NAME", "whose signatures count", tool_trusts},
};

int command_tool(int argc, char **argv)
{
    static const struct subcommands all = {
        .of = "tool",
        .about = "Command-line tools in WebAssembly: each sees only the files that it "
                 "is given.",
        .note = "",
        .rows = subcommands,
        .count = LENGTH(subcommands),
    };
    return subcommands_run(&all, argc, argv);
}

/* On a terminal one line that changes; elsewhere a line now and then. */
static bool tell_compiling(void *arg, const char *tool, unsigned seconds, bool simply)
{
    (void)arg;
    const char *how = simply ? " without optimisation" : "";
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rcloche: compiling %.64s%s: %u s \r", tool, how, seconds);
    else if (seconds % 10 == 2)
        fprintf(stderr, "cloche: compiling %.64s%s: %u s\n", tool, how, seconds);
    return true;
}

const struct tool_watch tool_progress = {tell_compiling, NULL};

bool toolbox_open(struct toolbox *t, struct err *e)
{
    *t = (struct toolbox){.guest_dir = services_guest_dir(e)};
    if (!t->guest_dir)
        return false;
    must(asprintf(&t->ahead, "%s/ahead", t->guest_dir) > 0);
    t->engine = engine_open(&(struct engine_options){.ahead = t->ahead}, e);
    if (!t->engine)
        return false;
    t->catalogue = catalogue_open(&(struct catalogue_options){
        .guest_dir = t->guest_dir, .engine = t->engine, .taken = actions_name_taken});
    return true;
}

static bool is_registered(const char *vault, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct vaults list = {0};
    return vaults_read(a, &list, e) && vaults_find(&list, str_of(vault));
}

bool tool_vault_known(struct toolbox *t, const char *vault, bool unregistered,
                      struct err *e)
{
    if (!vault || !vault_id_check(vault, e) || unregistered)
        return !e->code;
    struct tool_list l = {0};
    bool known = is_registered(vault, e) ||
                 (!e->code && tool_list(t->catalogue, TOOL_EVERY_VAULT, &l, e));
    if (l.tools) {
        known = false;
        for (size_t i = 0; i < l.count; i++)
            known |= l.tools[i]->vault && !strcmp(l.tools[i]->vault, vault);
    }
    tool_list_release(t->catalogue, &l);
    return known || err_set(e, ERR_INVALID,
                            "no registered vault has the id '%.64s'; 'cloche vault list' "
                            "shows them. For a folder that '--vault DIR' is given, whose "
                            "id is its name, add --unregistered",
                            vault);
}

void toolbox_close(struct toolbox *t)
{
    catalogue_close(t->catalogue);
    engine_close(t->engine);
    free(t->ahead);
    free(t->guest_dir);
    *t = (struct toolbox){0};
}
