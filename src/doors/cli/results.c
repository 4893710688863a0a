/* A result that was too large for the answer of `cloche eval`: whole, in a file of the
 * user's cache. The last few stay. */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "os/os.h"
#include "json/json.h"

#define FOLDER "results"
#define FILES_MAX 20u
#define PATH_SIZE 80u

struct oldest {
    char name[PATH_SIZE];
    int64_t mtime_ns;
    size_t count;
};

static bool result_check_age(void *arg, const char *name, const struct os_stat *st,
                             struct err *e)
{
    (void)e;
    struct oldest *o = arg;
    if (!st->is_file || strlen(name) >= sizeof o->name)
        return true;
    if (o->count++ == 0 || st->mtime_ns < o->mtime_ns) {
        (void)snprintf(o->name, sizeof o->name, "%s", name);
        o->mtime_ns = st->mtime_ns;
    }
    return true;
}

/* Makes room for one more; what cannot be removed is in nobody's way. */
static void results_remove_old(int cache)
{
    struct err none = {0};
    for (unsigned i = 0; i < FILES_MAX; i++) {
        struct oldest o = {.count = 0};
        if (!os_walk_from(cache, FOLDER, result_check_age, &o, &none) ||
            o.count < FILES_MAX || !os_remove_file(cache, o.name, &none))
            return;
    }
}

static bool write_file(struct str text, struct err *e)
{
    scoped(free) char *path = NULL;
    scoped_fd int cache = os_cache_dir(&path, e);
    if (cache < 0 || !os_make_dirs(cache, FOLDER, e))
        return false;
    results_remove_old(cache);
    char name[PATH_SIZE];
    (void)snprintf(name, sizeof name, FOLDER "/%lld-%d.json", (long long)os_real_ms(),
                   (int)getpid());
    if (!os_write_file(cache, name, text, OS_CREATE, 0600, NULL, e))
        return false;
    fprintf(stderr, "cloche: the whole result is in %s/%s\n", path, name);
    return true;
}

void cli_keep_result(struct cloche *c, struct cloche_caller *who, struct str answer)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_VAULT);
    const struct json *root = json_read(answer, arena, &e);
    const struct json *uri = json_get(json_get(root, "errorDetails"), "resource");
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_text_free) struct cloche_text *contents = cloche_text_new();
    if (!uri)
        return;
    if (cloche_read(c, who, json_cstr(uri), contents, why)) {
        (void)cli_fail_library(why);
        return;
    }
    struct str all = {cloche_text_at(contents), cloche_text_size(contents)};
    const struct json *one = json_at(json_read(all, arena, &e), 0);
    if (!one || !write_file(json_str(json_get(one, "text")), &e))
        (void)cli_fail(&e);
}
