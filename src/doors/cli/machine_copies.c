/* cloche vm snapshot, restore, fork and snapshots: a person's saved machines, and a look at
 * those of all callers. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "os/os.h"
#include "vm/copies.h"

#define PAYER STR("person")
#define IMAGE "image"
#define WORDS_MAX 4096

static const struct vm_shelf shelf = {.payer = {"person", 6}, .label = "terminal"};

/* ---- for a machine of the terminal ------------------------------------------------- */

char *machine_copies_path(void)
{
    struct err none = {0};
    char *path = NULL;
    scoped(free) char *state = NULL;
    scoped_fd int fd = os_state_dir(&state, &none);
    if (fd >= 0)
        must(asprintf(&path, "%s/machines", state) > 0);
    return path;
}

bool machine_copy_from(struct vms *all, const struct machine_words *w,
                       struct vm_options *o, struct err *e)
{
    struct err why = {0};
    if (w->from && !strcmp(w->from, IMAGE))
        return true;
    const char *name = w->from ? w->from : "default";
    struct vm_copy *c = vm_saved_open(all, PAYER, VM_SAVED_SNAPSHOT, str_of(name), &why);
    if (!c && !w->from && why.code == ERR_NOT_FOUND)
        return true;
    if (!c && !w->from)
        return err_set(e, why.code, "%.330s; --from image begins without it", why.msg);
    if (!c)
        return err_pass(e, &why);
    if (!w->from && o->ram_mb && o->ram_mb != vm_copy_ram_mb(c)) {
        vm_copy_drop(c); /* of another size */
        return true;
    }
    o->from = c;
    return true;
}

struct vm *machine_copy_kept(struct vms *all, const char *name, struct vm_options *o,
                             struct err *e)
{
    o->shelf = &shelf;
    o->budget.payer = PAYER;
    return vm_find_kept(all, STR("terminal"), str_of(name), true, o, e);
}

bool machine_copy_save(struct vms *all, struct vm *m, const char *name, struct err *e)
{
    scoped(vm_copy_drop) struct vm_copy *c = vm_copy(m, e);
    return c && vm_save(all, &shelf, VM_SAVED_SNAPSHOT, str_of(name), c, NULL, e);
}

/* ---- commands ------------------------------------------------------------------------ */

/* The same command with these words in the place of the name, argv[2]. */
static int run_with(int (*run)(int, char **), const char *option, const char *usage,
                    int argc, char **argv)
{
    static char *words[WORDS_MAX];
    struct err e = {0};
    bool help = false;
    int exit;
    const struct option_row rows[] = {OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {.usage = usage, OPTION_ROWS(rows, &help)};
    bool asks = argc == 3 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h") ||
                              options_describes(argc, argv));
    if (asks && !options_begin(&use, argc, argv, &exit))
        return exit;
    if (argc < 3 || argv[2][0] == '-' || argc + 1 >= WORDS_MAX) {
        err_set(&e, ERR_INVALID, "the snapshot's name comes first; see cloche vm --help");
        return cli_fail(&e);
    }
    int n = 0;
    words[n++] = argv[0];
    words[n++] = argv[1];
    words[n++] = (char *)(uintptr_t)option;
    words[n++] = argv[2];
    for (int i = 3; i < argc; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    return run(n, words);
}

int machine_snapshot(int argc, char **argv)
{
    return run_with(
        machine_exec, "--save",
        "cloche vm snapshot NAME [OPTIONS] -- COMMAND [WORDS...]\n\nRuns a "
        "command in a machine and saves the machine under NAME, if the command "
        "ends\nwith 0. The other options are those of cloche vm exec.",
        argc, argv);
}

int machine_restore(int argc, char **argv)
{
    bool command = false;
    for (int i = 3; i < argc; i++)
        command |= !strcmp(argv[i], "--");
    return run_with(
        command ? machine_exec : machine_shell, "--from",
        "cloche vm restore NAME [OPTIONS] [-- COMMAND [WORDS...]]\n\nRuns a "
        "command, or a terminal, in a machine that begins as NAME was saved. The "
        "other\noptions are those of cloche vm exec.",
        argc, argv);
}

/* Copies a snapshot under another name. */
int machine_fork(int argc, char **argv)
{
    struct err e = {0};
    const char *names[2];
    bool help = false;
    int exit;
    const struct option_row rows[] = {OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {.usage = "cloche vm fork NAME NEW\n\nCopies a snapshot of "
                                      "yours, so that each can go its own way.",
                             OPTION_ROWS(rows, &help),
                             OPTION_WORDS(names)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    if (use.given != 2) {
        err_set(&e, ERR_INVALID, "cloche vm fork takes NAME and NEW");
        return cli_fail(&e);
    }
    struct machine_box box = {0};
    scoped(vm_copy_drop) struct vm_copy *c =
        machine_box_begin(&box, &e)
            ? vm_saved_open(box.all, PAYER, VM_SAVED_SNAPSHOT, str_of(names[0]), &e)
            : NULL;
    bool ok =
        c && vm_save(box.all, &shelf, VM_SAVED_SNAPSHOT, str_of(names[1]), c, NULL, &e);
    vm_copy_drop(take(c));
    machine_box_close(&box);
    return ok ? 0 : cli_fail(&e);
}

/* ---- the list -------------------------------------------------------------------------- */

static void print_one(void *arg, const struct vm_saved *s)
{
    bool *any = arg;
    char made[32];
    if (!*any)
        printf("%-20s %-9s %-16s %-9s %8s %6s  %s\n", "NAME", "KIND", "OF", "CALLER",
               "MB", "RAM", "MADE");
    *any = true;
    date_format(s->made_ms, made);
    printf("%-20s %-9s %-16.16s %-9.8s %8.1f %6u  %s\n", s->name,
           vm_saved_kind_name(s->kind), *s->label ? s->label : "(damaged)", s->payer,
           (double)s->bytes / 1048576, s->ram_mb, *s->label ? made : "-");
}

/* The whole of a payer's name, whose beginning a person gives. */
struct choice {
    const char *begins;
    char payer[VM_OWNER_MAX + 1];
    unsigned count;
};

static void choose(void *arg, const struct vm_saved *s)
{
    struct choice *c = arg;
    if (strncmp(s->payer, c->begins, strlen(c->begins)) != 0 ||
        !strcmp(s->payer, c->payer))
        return;
    c->count++;
    (void)snprintf(c->payer, sizeof c->payer, "%s", s->payer);
}

/* The caller whose name begins so; NULL: the terminal. */
static bool choose_caller(struct vms *all, const char *caller, struct choice *c,
                          struct err *e)
{
    *c = (struct choice){.begins = caller ? caller : "person"};
    return vm_saved_list(all, STR(""), choose, c, e) &&
           (c->count == 1 ||
            err_set(e, c->count ? ERR_INVALID : ERR_NOT_FOUND,
                    "%s has saved machines; cloche vm snapshots lists the callers",
                    c->count ? "more than one such caller" : "no such caller"));
}

struct find {
    const char *name;
    struct vm_saved *out;
    bool any;
};

static void find_one(void *arg, const struct vm_saved *s)
{
    struct find *f = arg;
    if (strcmp(s->name, f->name) != 0 || (f->any && s->kind != VM_SAVED_KEPT))
        return;
    *f->out = *s;
    f->any = true;
}

bool machine_saved_find(struct vms *all, const char *name, const char *caller,
                        struct vm_saved *out, struct err *e)
{
    struct choice c;
    struct find f = {.name = name, .out = out};
    return choose_caller(all, caller, &c, e) &&
           vm_saved_list(all, str_of(c.payer), find_one, &f, e) &&
           (f.any || err_set(e, ERR_NOT_FOUND,
                             "no machine is saved under that name; cloche vm snapshots "
                             "lists them"));
}

static bool remove_one(struct vms *all, const char *name, const char *caller,
                       struct err *e)
{
    struct choice c;
    struct err why = {0};
    if (!choose_caller(all, caller, &c, e))
        return false;
    if (vm_saved_remove(all, str_of(c.payer), VM_SAVED_SNAPSHOT, str_of(name), &why))
        return true;
    if (why.code != ERR_NOT_FOUND)
        return err_pass(e, &why);
    return vm_saved_remove(all, str_of(c.payer), VM_SAVED_KEPT, str_of(name), e);
}

int machine_snapshots(int argc, char **argv)
{
    struct err e = {0};
    const char *name = NULL, *caller = NULL;
    bool help = false, any = false;
    int exit;
    const struct option_row rows[] = {
        OPTION_VALUE("--delete", &name, "NAME", "removes it"),
        OPTION_VALUE("--caller", &caller, "BEGINNING",
                     "of the caller whose it is, instead of the terminal"),
        OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {
        .usage =
            "cloche vm snapshots [--delete NAME [--caller BEGINNING]]\n\nLists saved "
            "machines of all callers: snapshots, and machines that are kept.",
        OPTION_ROWS(rows, &help)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    scoped(free) char *path = machine_copies_path();
    scoped(vms_close) struct vms *all = vms_open(&(struct vms_options){.copies = path});
    bool ok = name ? remove_one(all, name, caller, &e)
                   : vm_saved_list(all, STR(""), print_one, &any, &e);
    if (ok && !name && !any)
        printf("no machine is saved\n");
    return ok ? 0 : cli_fail(&e);
}
