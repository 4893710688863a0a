/* cloche vm cp: files and folders between this computer and a saved machine. The machine is
 * started for it, runs cp, and is saved again if the copy went into it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "vm/copies.h"
#include "vm/mounts.h"

#define PLACE "/mnt/cloche-cp" /* in the machine, while it copies */
#define PATH_MAX_BYTES 4096u

/* NAME:/PATH, or a path of this computer (no name). */
struct end {
    char name[VM_NAME_MAX + 1];
    const char *path;
};

struct cp {
    struct end from, to;
    struct vm_saved saved; /* the machine */
    struct machine_box box;
    struct vm *machine;
};

/* ---- words ------------------------------------------------------------------------ */

static struct end end_of(const char *word)
{
    struct err none = {0};
    struct end out = {.path = word};
    size_t n = strcspn(word, ":");
    if (word[n] == ':' && word[n + 1] == '/' && n <= VM_NAME_MAX &&
        vm_saved_check_name((struct str){word, n}, &none)) {
        (void)snprintf(out.name, sizeof out.name, "%.*s", (int)n, word);
        out.path = word + n + 1;
    }
    return out;
}

static bool read_ends(struct cp *c, const char *const words[2], size_t given,
                      struct err *e)
{
    if (given == 2) {
        c->from = end_of(words[0]);
        c->to = end_of(words[1]);
    }
    return (given == 2 && !*c->from.name != !*c->to.name) ||
           err_set(e, ERR_INVALID,
                   "cloche vm cp takes SOURCE and TARGET, and one of them is a saved "
                   "machine's: NAME:/PATH");
}

/* The part behind the last slash that has one before its end. */
static struct str base_name(const char *path)
{
    struct str s = str_of(path);
    while (s.n > 1 && s.at[s.n - 1] == '/')
        s.n--;
    const char *slash = s.n ? memrchr(s.at, '/', s.n) : NULL;
    return slash && slash + 1 < s.at + s.n
               ? (struct str){slash + 1, (size_t)(s.at + s.n - slash - 1)}
               : s;
}

/* ---- the machine -------------------------------------------------------------------- */

/* Of a kept machine and a snapshot with one name, the kept machine. */
static bool find_saved(struct cp *c, const char *caller, struct err *e)
{
    const char *name = *c->from.name ? c->from.name : c->to.name;
    if (machine_saved_find(c->box.all, name, caller, &c->saved, e))
        return true;
    return err_wrap(e, "%s", name);
}

/* What is read only is not saved again, so that it may run elsewhere meanwhile. */
static bool start_saved(struct cp *c, struct err *e)
{
    struct vms *all = c->box.all;
    struct vm_options o = {.cpu_ns = UINT64_MAX};
    struct vm_shelf shelf = {.payer = str_of(c->saved.payer), .label = c->saved.label};
    struct str name = str_of(c->saved.name);
    if (*c->to.name && c->saved.kind == VM_SAVED_KEPT) {
        o.shelf = &shelf;
        o.budget.payer = shelf.payer;
        c->machine = vm_find_kept(all, STR("terminal"), name, false, &o, e);
        return c->machine != NULL;
    }
    scoped(vm_copy_drop) struct vm_copy *copy =
        vm_saved_open(all, shelf.payer, c->saved.kind, name, e);
    o.from = copy;
    o.ram_mb = copy ? vm_copy_ram_mb(copy) : 0;
    c->machine = copy ? vm_start(all, STR("terminal"), &o, e) : NULL;
    return c->machine != NULL;
}

static bool save_again(struct cp *c, struct err *e)
{
    if (*vm_kept_name(c->machine))
        return vm_freeze(c->machine, e);
    struct vm_shelf shelf = {.payer = str_of(c->saved.payer), .label = c->saved.label};
    scoped(vm_copy_drop) struct vm_copy *copy = vm_copy(c->machine, e);
    return copy && vm_save(c->box.all, &shelf, c->saved.kind, str_of(c->saved.name), copy,
                           NULL, e);
}

/* Runs a text of bash with these words as $1, $2 ... */
static bool run_script(struct cp *c, const char *script, const struct str *words,
                       size_t count, struct str input, struct err *e)
{
    scoped_buf struct buf command;
    struct vm_result r = {0};
    buf_init(&command, VM_COMMAND_MAX);
    buf_cstr(&command, "exec -- bash -c");
    vm_put_word(&command, str_of(script));
    vm_put_word(&command, STR("cp"));
    for (size_t i = 0; i < count; i++)
        vm_put_word(&command, words[i]);
    struct vm_exec x = {.command = buf_view(&command),
                        .apart = true,
                        .timeout_ns = UINT64_MAX,
                        .input = input};
    bool ran = buf_check(&command, "the command", e) && vm_exec(c->machine, &x, &r, e);
    if (ran && r.exit_code)
        ran = err_set(e, ERR_IO, "%.*s (in the machine)",
                      STR_ARGS(str_cut(str_trim(buf_view(&r.stderr_bytes)), 300)));
    vm_result_done(&r);
    return ran;
}

static bool mount_folder(struct cp *c, const char *host, bool writable, struct err *e)
{
    scoped(free) char *text = NULL;
    must(asprintf(&text, "%s:" PLACE "%s", host, writable ? ":rw:links" : ":ro") > 0);
    const char *const mounts[] = {text, NULL};
    return machine_mount(c->machine, mounts, e);
}

static void unmount_folder(struct cp *c)
{
    struct err none = {0};
    vfs_free(vm_unmount(c->machine, PLACE));
    (void)run_script(c, "rmdir " PLACE " 2>/dev/null; :", NULL, 0, (struct str){0},
                     &none);
}

/* ---- into it -------------------------------------------------------------------------- */

/* $1: where, $2: the name of what is copied. A folder that is there, or a slash at the end, means
 * within. Sets `to`. */
#define WHERE                                       \
    "to=$1; case $to in */) mkdir -p -- \"$to\";; " \
    "esac; [ -d \"$to\" ] && to=${to%/}/$2; mkdir -p -- \"$(dirname -- \"$to\")\" || exit; "

static bool copy_file_in(struct cp *c, int fd, const struct stat *about, struct err *e)
{
    char mode[8];
    size_t n = (size_t)about->st_size;
    void *at = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (at == MAP_FAILED)
        return err_set(e, ERR_IO, "%.300s: %m", c->from.path);
    (void)snprintf(mode, sizeof mode, "%o", about->st_mode & 0777);
    const struct str words[] = {str_of(c->to.path), base_name(c->from.path),
                                str_of(mode)};
    bool ok = run_script(c,
                         WHERE "cat >\"$to.part\" && chmod -- \"$3\" \"$to.part\" && mv "
                               "-fT -- \"$to.part\" \"$to\"",
                         words, LENGTH(words), (struct str){n ? at : "", n}, e);
    if (n)
        (void)munmap(at, n);
    return ok;
}

static bool copy_in(struct cp *c, struct err *e)
{
    struct stat about;
    scoped_fd int fd = open(c->from.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &about) < 0)
        return err_set(e, ERR_NOT_FOUND, "%.300s: %m", c->from.path);
    if (S_ISREG(about.st_mode))
        return copy_file_in(c, fd, &about, e);
    if (!S_ISDIR(about.st_mode))
        return err_set(e, ERR_INVALID, "%.300s is neither a file nor a folder",
                       c->from.path);
    scoped(free) char *host = os_dir_path(fd, e);
    const struct str words[] = {str_of(c->to.path), base_name(host ? host : "")};
    if (!host || !mount_folder(c, host, false, e))
        return false;
    bool ok = run_script(c,
                         WHERE "[ -e \"$to\" ] || mkdir -- \"$to\" && cp -R --preserve="
                               "mode,timestamps,links -- " PLACE "/. \"$to/\"",
                         words, LENGTH(words), (struct str){0}, e);
    unmount_folder(c);
    return ok;
}

/* ---- out of it --------------------------------------------------------------------------- */

/* The machine writes into a folder that is new, beside the target, and into nothing else. */
static bool copy_out_to(struct cp *c, const char *folder, const char *target,
                        struct err *e)
{
    scoped(free) char *item = NULL;
    const struct str words[] = {str_of(c->from.path)};
    if (!mount_folder(c, folder, true, e))
        return false;
    bool ok = run_script(c,
                         "cp -RT --preserve=mode,timestamps -- \"$1\" " PLACE
                         "/item || { rm -rf " PLACE "/item; exit 1; }",
                         words, LENGTH(words), (struct str){0}, e);
    unmount_folder(c);
    must(asprintf(&item, "%s/item", folder) > 0);
    if (ok && rename(item, target) < 0) {
        const struct str there[] = {str_of("item")};
        ok = err_set(e, ERR_CONFLICT, "%.300s: %m", target);
        struct err none = {0};
        if (mount_folder(c, folder, true, &none))
            (void)run_script(c, "rm -rf " PLACE "/\"$1\"", there, 1, (struct str){0},
                             &none);
        unmount_folder(c);
    }
    return ok;
}

static bool copy_out(struct cp *c, struct err *e)
{
    struct stat about;
    char target[PATH_MAX_BYTES], folder[PATH_MAX_BYTES];
    struct str base = base_name(c->from.path);
    const char *to = c->to.path;
    bool within = stat(to, &about) == 0 && S_ISDIR(about.st_mode);
    const char *slash = strrchr(to, '/');
    int n = within ? snprintf(target, sizeof target, "%s/%.*s", to, STR_ARGS(base))
                   : snprintf(target, sizeof target, "%s", to);
    int m = within  ? snprintf(folder, sizeof folder, "%s/.cloche-cp-XXXXXX", to)
            : slash ? snprintf(folder, sizeof folder, "%.*s/.cloche-cp-XXXXXX",
                               (int)(slash - to), to)
                    : snprintf(folder, sizeof folder, "./.cloche-cp-XXXXXX");
    if (n >= (int)sizeof target || m >= (int)sizeof folder)
        return err_set(e, ERR_LIMIT, "the path is too long");
    if (!mkdtemp(folder))
        return err_set(e, ERR_IO, "%.300s: %m", folder);
    bool ok = copy_out_to(c, folder, target, e);
    (void)rmdir(folder);
    return ok;
}

/* ---- the command -------------------------------------------------------------------------- */

static bool copy(struct cp *c, const char *caller, struct err *e)
{
    if (!machine_box_begin(&c->box, e) || !find_saved(c, caller, e) || !start_saved(c, e))
        return false;
    return *c->from.name ? copy_out(c, e) : copy_in(c, e) && save_again(c, e);
}

int machine_cp(int argc, char **argv)
{
    struct err e = {0};
    const char *words[2] = {0}, *caller = NULL;
    bool help = false;
    int exit;
    const struct option_row rows[] = {
        OPTION_VALUE("--caller", &caller, "BEGINNING",
                     "of the caller whose machine it is, instead of the terminal"),
        OPTION_FLAG("--help", &help, "this list")};
    struct option_use use = {
        .usage =
            "cloche vm cp [--caller BEGINNING] SOURCE NAME:/PATH\n"
            "       cloche vm cp [--caller BEGINNING] NAME:/PATH TARGET\n\n"
            "Copies a file or folder into a saved machine, which is then saved again, "
            "or out of\none. NAME is a machine that is kept, or a snapshot.",
        OPTION_ROWS(rows, &help),
        OPTION_WORDS(words)};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct cp c = {0};
    bool ok = read_ends(&c, words, (size_t)use.given, &e) && copy(&c, caller, &e);
    if (c.machine)
        vm_stop(c.machine); /* what failed is not saved */
    vm_release(c.machine);
    machine_box_close(&c.box);
    return ok ? 0 : cli_fail(&e);
}
