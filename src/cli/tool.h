/* cli/tool.h - the subcommands of `cloche tool`. Private to cli. */
#pragma once
#include "catalogue/catalogue.h"

/* Each reads its own words from argv[2] on (argv[1] is its name) and answers the exit
 * code. */
int tool_run(int argc, char **argv);
int tool_permit(int argc, char **argv);

/* The engine and the tools beside the program, for one command. */
struct toolbox {
    char *guest_dir, *ahead;
    struct engine *engine;
    struct catalogue *catalogue;
};
bool toolbox_open(struct toolbox *t, struct err *e);
void toolbox_close(struct toolbox *t);
