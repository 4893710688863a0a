/* cli/cli.h - the command line: options, wiring, start and stop. */
#pragma once

/* Runs `cloche` with these words. Answers the exit code: 0 done, 1 the work
 * failed, 2 the call was wrong. */
int cli_run(int argc, char **argv);
