/* Cloche with the fixtures of the conformance suite: for tests alone. */
#include "cli/cli.h"
#include "conformance/conformance.h"

int main(int argc, char **argv)
{
    struct cli_extras extras = {0};
    extras.tools = conformance_tools(&extras.tool_count);
    return cli_run(argc, argv, &extras);
}
