/* Cloche with the fixtures of the conformance suite: for tests alone. */
#include "cli/cli.h"
#include "conformance/conformance.h"

static void workspaces_keep(void *arg, struct workspaces *w)
{
    struct workspaces **open = arg;
    *open = w;
}

int main(int argc, char **argv)
{
    struct action_extra tools[CONFORMANCE_TOOLS_MAX];
    struct workspaces *open = NULL;
    struct cli_extras extras = {.tools = tools,
                                .tool_count = conformance_tools(tools, &open),
                                .readable = conformance_readable(),
                                .opened = workspaces_keep,
                                .arg = &open};
    return cli_run(argc, argv, &extras);
}
