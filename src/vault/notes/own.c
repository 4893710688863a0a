#include "notes/own.h"

#include "notes/index.h"
#include "notes/vault.h"

static const char ignore[] =
    "# Index, history, audit and trash of Cloche belong to this computer.\n"
    "*\n!.gitignore\n!settings.json\n!policy.json\n!custom-functions.json\n"
    "!types/\n!types/*.md\n";

static bool has(int vault, const char *name)
{
    struct os_stat st;
    struct err none = {0};
    return os_stat_beneath(vault, name, &st, &none);
}

bool own_make(int vault, struct err *e)
{
    struct err none = {0};
    if (!os_make_dirs(vault, OWN_DIR, e))
        return false;
    if (!has(vault, OWN_DIR "/" INDEX_NAME) && !has(vault, OWN_DIR "/history"))
        (void)os_write_file(vault, OWN_DIR "/.gitignore", str_of(ignore), OS_CREATE, 0644,
                            NULL, &none);
    return true;
}
