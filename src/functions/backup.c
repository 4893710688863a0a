/* `.cloche/backups/`: the last files, as they were before they were changed. */
#include <errno.h>
#include <stdio.h>

#include "functions/internal.h"

#define PREFIX "custom-functions-"
#define LISTED_MAX 1000u /* names that are looked at */

struct names {
    char at[LISTED_MAX][FUNCTION_BACKUP_NAME];
    size_t n;
};

static bool is_backup(struct str name)
{
    return str_starts(name, PREFIX) && str_ends(name, ".json") &&
           name.n < FUNCTION_BACKUP_NAME;
}

static bool add_name(void *arg, const char *path, const struct os_stat *st, struct err *e)
{
    (void)e;
    struct names *names = arg;
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (st->is_file && is_backup(str_of(name)) && names->n < LISTED_MAX)
        memcpy(names->at[names->n++], name, strlen(name) + 1);
    return true;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a);
}

static void list(struct functions *f, struct names *names)
{
    struct err none = {0};
    names->n = 0;
    (void)os_walk_from(f->own, BACKUP_DIR, add_name, names, &none);
    qsort(names->at, names->n, sizeof names->at[0], newest_first);
}

static void prune(struct functions *f)
{
    struct names *names = mem_new(sizeof *names);
    list(f, names);
    for (size_t i = FUNCTION_BACKUPS; i < names->n; i++) {
        char path[FUNCTION_BACKUP_NAME + sizeof BACKUP_DIR + 1];
        (void)snprintf(path, sizeof path, BACKUP_DIR "/%s", names->at[i]);
        struct err none = {0};
        (void)os_drop(f->own, path, &none);
    }
    free(names);
}

/* "custom-functions-2026-11-21T18-05-01.123Z.json": sorts by time, and is a name on
 * every file system. */
static void name_of(int64_t ms, char out[static FUNCTION_BACKUP_NAME])
{
    char utc[25];
    os_format_utc(ms, utc);
    for (char *at = utc; *at; at++)
        if (*at == ':')
            *at = '-';
    (void)snprintf(out, FUNCTION_BACKUP_NAME, PREFIX "%s.json", utc);
}

bool backup_put(struct functions *f, struct str text, char *name, struct err *e)
{
    char own[FUNCTION_BACKUP_NAME], path[FUNCTION_BACKUP_NAME + sizeof BACKUP_DIR + 1];
    if (!os_make_dirs(f->own, BACKUP_DIR, e))
        return false;
    int64_t ms = os_real_ms();
    for (int i = 0; i < 100; i++) {
        name_of(ms + i, own);
        (void)snprintf(path, sizeof path, BACKUP_DIR "/%s", own);
        if (!os_stamp(f->own, path).inode)
            break;
    }
    /* Not waited for: what it holds is still in the file, and a file that a crash has
     * damaged is seen to be damaged. */
    if (!os_write_file(f->own, path, text, OS_SOON, 0600, NULL, e))
        return err_wrap(e, "cannot put a backup aside; nothing was changed");
    if (name)
        memcpy(name, own, sizeof own);
    prune(f);
    return true;
}
