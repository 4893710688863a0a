/* cloche tool permit: may agents run a tool, and are you asked before? */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/tool.h"
#include "desk/desk.h"
#include "guard/guard.h"

/* A name that there is no tool of may be installed later, or misspelt. */
static void warn_of_unknown(const char *name)
{
    struct err e = {0};
    struct toolbox box;
    if (toolbox_open(&box, &e)) {
        const struct tool *t = tool_find(box.catalogue, str_of(name), STR(""), &e);
        if (!t && e.code == ERR_NOT_FOUND)
            fprintf(stderr, "cloche: kept, but %.*s\n", SPELT_ARGS(str_of(e.msg)));
        tool_release(box.catalogue, t);
    }
    toolbox_close(&box);
}

int tool_permit(int argc, char **argv)
{
    const char *vault = NULL, *words[2] = {0};
    bool help = false;
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", &vault, "DIR",
                     "in this vault's policy, which can only restrict"),
        OPTION_FLAG("--help", &help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche tool permit NAME always|ask|never|usual [OPTIONS]\n\n"
            "May agents run it? usual: as if nothing had been said, which is always\n"
            "for built-in tools in calls that show them no files of the vault, and ask\n"
            "for all others.",
        OPTION_ROWS(rows, &help),
        OPTION_WORDS(words),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    enum permission p = PERMISSION_USUAL;
    bool ok = use.given == 2 &&
              (!strcmp(words[1], "usual") || permission_named(str_of(words[1]), &p));
    if (!ok)
        err_set(&e, ERR_INVALID,
                "'cloche tool permit' is followed by the name of a tool and always, ask, "
                "never or usual");
    struct ward *ward = NULL;
    scoped(guard_close) struct guard *g = ok ? cli_guard(vault, &ward, &e) : NULL;
    if (!g || !desk_permit(ward, vault != NULL, words[0], p, "terminal", &e))
        return cli_fail(&e);
    printf("%s: %s\n", words[0], permission_name(p));
    warn_of_unknown(words[0]);
    return EXIT_DONE;
}
