/* The type checker of a checkout, built when a person first uses what it does. */
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "services/services.h"

/* Its program stands beside the build's folder that the guests are in. */
void cli_build_checker(void)
{
    struct err none = {0};
    scoped(free) char *guests = services_guest_dir(&none);
    char script[4096];
    pid_t child;
    if (!guests || (size_t)snprintf(script, sizeof script, "%s/../../dev/checker-later",
                                    guests) >= sizeof script)
        return;
    posix_spawn_file_actions_t files;
    char *argv[] = {script, NULL};
    if (access(script, X_OK) != 0 || posix_spawn_file_actions_init(&files) != 0)
        return;
    /* Standard output is the answer's. */
    if (posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO) == 0 &&
        posix_spawn(&child, script, &files, NULL, argv, environ) == 0)
        (void)waitpid(child, NULL, 0);
    posix_spawn_file_actions_destroy(&files);
}
