/* cli/cli.h - the command line: options, wiring, start and stop. */
#pragma once
#include "actions/actions.h"
#include "workspaces/workspaces.h"

/* Offers of `cloche mcp` and `cloche serve` besides their own: of an embedder, or
 * of a test. Borrowed until cli_run() returns. */
struct cli_extras {
    const struct action_extra *tools;
    size_t tool_count;
    struct workspaces_options readable; /* resources and prompts */
    /* Told when they are open, before the first call; may be NULL. Good until the last. */
    void (*opened)(void *arg, struct workspaces *w);
    void *arg;
};

/* Runs `cloche` with these words. `extras` may be NULL. Answers the exit code: 0 done,
 * 1 the work failed, 2 the call was wrong. */
int cli_run(int argc, char **argv, const struct cli_extras *extras);
