/* cloche vm: what changed in overlays is shown, kept, or written to their folders. */
#include <stdio.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "guard/guard.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "vm/mounts.h"
#include "writeback/writeback.h"
#include "json/json.h"

static const char *const signs[] = {"+", "~", "-"};

bool machine_changes_word(const char *word, struct err *e)
{
    return !strcmp(word, "show") || !strcmp(word, "keep") || !strcmp(word, "apply") ||
           err_set(e, ERR_INVALID,
                   "--changes is '%.40s'; show, keep or apply is accepted", word);
}

static void print_changes(FILE *to, const struct writeback *w)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct vfs_change *c = &w->changes[i];
        scoped_buf struct buf path = buf_of(BUF_PAGE);
        str_spell(c->path, &path);
        fprintf(to, "%s %s%s\n", signs[c->what], buf_cz(&path),
                c->type == VFS_FOLDER ? "/" : "");
    }
}

/* ---- the record ------------------------------------------------------------------ */

static bool record(const struct writeback *w, const char *host, struct err *e)
{
    struct ward *ward = NULL;
    struct ward_event told;
    size_t counts[3] = {0};
    scoped(guard_close) struct guard *guard = cli_guard(NULL, &ward, e);
    if (guard && !ward)
        ward = guard_ward(guard, NULL, e);
    if (!guard || !ward)
        return false;
    for (size_t i = 0; i < w->count; i++)
        counts[w->changes[i].what]++;
    ward_event_begin(&told, "vm apply");
    json_pair_cstr(&told.out, "caller", "terminal");
    json_pair_str(&told.out, "folder", str_cut(str_of(host), 1000));
    json_pair_int(&told.out, "created", (int64_t)counts[VFS_MADE]);
    json_pair_int(&told.out, "changed", (int64_t)counts[VFS_CHANGED]);
    json_pair_int(&told.out, "deleted", (int64_t)counts[VFS_REMOVED]);
    return ward_event_end(&told, ward, NULL, true, e);
}

/* What cannot be recorded is written all the same: it is the person's own. */
static bool write_and_record(const struct writeback *w, const char *host, struct err *e)
{
    struct err why = {0};
    if (!writeback_write(w, e))
        return false;
    if (!record(w, host, &why))
        fprintf(stderr, "cloche: the changes are written, but not recorded: %s\n",
                why.msg);
    return true;
}

/* ---- when the command has ended ------------------------------------------------------ */

static bool end_one(const struct vm_mount_words *m, const struct writeback *w,
                    const char *what, int exit, struct err *e)
{
    char id[WRITEBACK_ID];
    scoped(free) char *host = os_dir_path(w->dir, e);
    if (!host)
        return false;
    if (!w->count) {
        fprintf(stderr, "cloche: nothing changed in %s\n", m->place);
        return true;
    }
    if (!strcmp(what, "apply") && !exit) {
        if (!write_and_record(w, host, e))
            return false;
        fprintf(stderr, "cloche: %zu changes in %s are written to %s\n", w->count,
                m->place, host);
        return true;
    }
    if (!strcmp(what, "keep")) {
        if (!writeback_keep(w, host, m->place, id, e))
            return false;
        fprintf(stderr,
                "cloche: %zu changes in %s are kept; to write them: cloche vm apply %s\n",
                w->count, m->place, id);
        return true;
    }
    print_changes(stderr, w);
    if (exit && !strcmp(what, "apply"))
        fprintf(stderr, "cloche: the command failed, so that nothing was written to %s\n",
                host);
    return true;
}

static bool end_mount(struct vm *m, const char *text, const char *what, int exit,
                      struct err *e)
{
    struct vm_mount_words words;
    struct writeback w = {.dots = true};
    if (!vm_mount_read(text, &words, e))
        return false;
    if (!words.overlay)
        return true;
    w.links = words.links;
    scoped(vfs_free) struct vfs *tree = vm_unmount(m, words.place);
    scoped_fd int dir = os_dir_open(words.host, e);
    if (!tree || dir < 0)
        return err_set(e, ERR_IO, "the overlay at %.200s is gone", words.place);
    w.dir = dir;
    w.since_ns = vfs_overlay_since(tree, MACHINE_MOUNT_AT);
    int failed = vfs_changes(tree, MACHINE_MOUNT_AT, &w.changes, &w.count);
    return failed ? err_set(e, ERR_LIMIT, "what changed in %.200s is too much: %s",
                            words.place, strerror(failed))
                  : end_one(&words, &w, what, exit, e);
}

int machine_changes_end(struct vm *m, const struct machine_words *w, int exit)
{
    int code = exit;
    for (size_t i = 0; w->changes && w->mounts[i]; i++) {
        struct err e = {0};
        if (!end_mount(m, w->mounts[i], w->changes, exit, &e)) {
            (void)cli_fail(&e);
            code = code ? code : MACHINE_EXIT_FAILED;
        }
    }
    return code;
}

/* ---- kept ones ------------------------------------------------------------------------- */

static bool print_kept(void *any, const char *id)
{
    struct err e = {0};
    char when[40];
    scoped_writeback_kept struct writeback_kept k;
    *(bool *)any = true;
    if (!writeback_kept_open(id, &k, &e)) {
        printf("%s  %s\n", id, e.msg);
        return true;
    }
    time_t made = (time_t)(k.made_ms / 1000);
    struct tm t;
    (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M", localtime_r(&made, &t));
    printf("%s  %s  %4zu  %.*s  %s\n", k.id, when, k.what.count,
           SPELT_ARGS(str_of(k.place)), k.host);
    return true;
}

static bool list_kept(struct err *e)
{
    bool any = false;
    if (!writeback_kept_list(print_kept, &any, e))
        return false;
    if (!any)
        printf("no changes are kept\n");
    return true;
}

static bool show_kept(const char *id, struct err *e)
{
    scoped_writeback_kept struct writeback_kept k;
    if (!writeback_kept_open(id, &k, e))
        return false;
    print_changes(stdout, &k.what);
    return true;
}

int machine_changes(int argc, char **argv)
{
    struct err e = {0};
    bool help = false, remove = false;
    int exit;
    const char *words[1];
    const struct option_row rows[] = {
        OPTION_FLAG("--remove", &remove, "forget the changes of ID"),
        OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {
        .usage =
            "cloche vm changes [ID [--remove]]\n\nLists changes of overlays that are "
            "kept (cloche vm exec --changes keep), or those\nof one: + made, ~ "
            "changed, - removed.",
        OPTION_WORDS(words),
        OPTION_ROWS(rows, &help)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    const char *id = use.given ? words[0] : NULL;
    if (remove && !id)
        err_set(&e, ERR_INVALID, "--remove needs the ID of the changes");
    bool ok = !e.code && (!id      ? list_kept(&e)
                          : remove ? writeback_kept_remove(id, &e)
                                   : show_kept(id, &e));
    return ok ? 0 : cli_fail(&e);
}

static void print_conflict(void *arg, struct str path)
{
    (void)arg;
    printf("! %.*s\n", SPELT_ARGS(path));
}

static bool apply_kept(const char *id, bool dry, struct err *e)
{
    scoped_writeback_kept struct writeback_kept k;
    if (!writeback_kept_open(id, &k, e) || !writeback_kept_folder(&k, e))
        return false;
    if (dry) {
        print_changes(stdout, &k.what);
        return writeback_check(&k.what, print_conflict, NULL, e);
    }
    if (!write_and_record(&k.what, k.host, e))
        return false;
    printf("%zu changes are written to %s\n", k.what.count, k.host);
    return writeback_kept_remove(id, e);
}

int machine_apply(int argc, char **argv)
{
    struct err e = {0};
    bool help = false, dry = false;
    int exit;
    const char *words[1];
    const struct option_row rows[] = {
        OPTION_FLAG("--dry-run", &dry,
                    "only show what would be written, and conflicts (!)"),
        OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {
        .usage =
            "cloche vm apply ID [--dry-run]\n\nWrites kept changes of an overlay to its "
            "folder: all, or none where one of\nthe files was changed meanwhile.",
        OPTION_WORDS(words),
        OPTION_ROWS(rows, &help)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    const char *id = use.given ? words[0] : NULL;
    if (!id)
        err_set(&e, ERR_INVALID,
                "give the ID of the changes; cloche vm changes lists them");
    return !e.code && apply_kept(id, dry, &e) ? 0 : cli_fail(&e);
}
