/* cloche tool: the command-line tools, and what a person does with them. */
#include "cli/tool.h"

#include <stdio.h>

#include "actions/actions.h"
#include "cli/commands.h"
#include "cli/subcommand.h"

static const struct subcommand subcommands[] = {
    {"run", "[OPTIONS] NAME [ARGS...]", "run a tool as a program", tool_run},
    {"permit", "NAME always|ask|never|usual", "may agents run it?", tool_permit},
    {"list", "[--vault ID] [--json]", "all tools, built in and installed", tool_listed},
    {"show", "NAME [--json]", "one tool, with its parameters", tool_shown},
    {"install", "ZIP [--update] [--vault ID]", "install a tool from a ZIP",
     tool_installed},
    {"update", "ZIP [--vault ID]", "replace an installed tool", tool_updated},
    {"remove", "NAME [--vault ID]", "take an installed tool away", tool_removed},
    {"enable", "NAME [--vault ID]", "let agents see a tool again", tool_enabled},
    {"disable", "NAME [--vault ID]", "hide a tool from agents", tool_disabled},
    {"check", "MANIFEST.json | ZIP", "look for what is wrong, install nothing",
     tool_checked},
    {"propose", "ZIP", "let a person decide whether it is installed", tool_proposed},
    {"sign", "ZIP --key FILE", "put your signature into a ZIP", tool_signed},
    {"trust", "add NAME KEY | list | remove NAME", "whose signatures count", tool_trusts},
};

int command_tool(int argc, char **argv)
{
    static const struct subcommands all = {
        .of = "tool",
        .about = "Command-line tools in Wasm: each sees the files it is given, and "
                 "nothing else.",
        .note = "",
        .rows = subcommands,
        .count = LENGTH(subcommands),
    };
    return subcommands_run(&all, argc, argv);
}

bool toolbox_open(struct toolbox *t, struct err *e)
{
    *t = (struct toolbox){.guest_dir = actions_guest_dir(e)};
    if (!t->guest_dir)
        return false;
    must(asprintf(&t->ahead, "%s/ahead", t->guest_dir) > 0);
    t->engine = engine_open(&(struct engine_options){.ahead = t->ahead}, e);
    if (!t->engine)
        return false;
    t->catalogue = catalogue_open(
        &(struct catalogue_options){.guest_dir = t->guest_dir, .engine = t->engine});
    return true;
}

void toolbox_close(struct toolbox *t)
{
    catalogue_close(t->catalogue);
    engine_close(t->engine);
    free(t->ahead);
    free(t->guest_dir);
    *t = (struct toolbox){0};
}
