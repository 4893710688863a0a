/* cloche edit and open: a note in the person's own programs. */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask.h"
#include "os/os.h"
#include "uri/uri.h"

extern char **environ;

/* ---- other programs -------------------------------------------------------- */

/* Runs it and waits; `command` is words of a shell, as in EDITOR="code --wait". */
static bool run_program(const char *command, const char *argument, struct err *e)
{
    pid_t child;
    int status;
    scoped_buf struct buf script = buf_of(BUF_TEXT);
    if (!buf_printf(&script, "%s \"$@\"", command))
        return buf_check(&script, "the command", e);
    const char *const argv[] = {"sh", "-c", buf_cz(&script), command, argument, NULL};
    int failed = posix_spawn(&child, "/bin/sh", NULL, NULL, (char *const *)argv, environ);
    if (failed)
        return err_set(e, ERR_IO, "cannot run /bin/sh: %s", strerror(failed));
    if (waitpid(child, &status, 0) < 0)
        return err_set(e, ERR_IO, "%s: %m", command);
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           err_set(e, ERR_IO, "%s failed; nothing was written", command);
}

static const char *editor(void)
{
    const char *names[] = {getenv("VISUAL"), getenv("EDITOR"), "vi"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (names[i] && *names[i])
            return names[i];
    return "vi";
}

/* ---- edit ------------------------------------------------------------------ */

struct draft {
    char folder[64], path[PATH_MAX];
};

static bool write_draft(struct draft *d, const struct json *note, struct err *e)
{
    struct str text = json_str(json_get(note, "markdown"));
    struct str name = json_str(json_get(note, "path"));
    for (size_t i = name.n; i-- > 0;)
        if (name.at[i] == '/')
            name = (struct str){name.at + i + 1, name.n - i - 1};
    (void)snprintf(d->folder, sizeof d->folder, "/tmp/cloche-edit-XXXXXX");
    if (!mkdtemp(d->folder))
        return err_set(e, ERR_IO, "cannot make a folder in /tmp: %m");
    (void)snprintf(d->path, sizeof d->path, "%s/%.*s", d->folder, STR_ARGS(name));
    scoped_fd int folder = open(d->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return os_write_file(folder, strrchr(d->path, '/') + 1, text, OS_CREATE, 0600, NULL,
                         e);
}

static bool read_draft(const struct draft *d, struct buf *out, struct err *e)
{
    scoped_fd int fd = open(d->path, O_RDONLY | O_CLOEXEC);
    return (fd >= 0 && os_read_fd(fd, out, e)) ||
           err_set(e, ERR_IO, "cannot read %s", d->path);
}

static void drop_draft(const struct draft *d)
{
    (void)unlink(d->path);
    (void)rmdir(d->folder);
}

/* The note as it was before the editor; what is written is refused where it is another. */
static bool save_draft(struct asking *a, const struct json *note, struct str text,
                       struct err *e)
{
    scoped_buf struct buf context = buf_of(ASK_TEXT_MAX * 2);
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_key(&w, "o");
    json_open_object(&w);
    json_pair_str(&w, "identifier", json_str(json_get(note, "id")));
    json_pair_str(&w, "markdown", text);
    json_pair_str(&w, "contentHash", json_str(json_get(note, "content_hash")));
    json_close(&w);
    json_close(&w);
    return buf_check(&context, "the note", e) &&
           asking_evaluate(a, "return await notes.update(o)", buf_cz(&context), e);
}

static bool edit_note(void *command, struct err *e)
{
    struct asking *a = command;
    struct draft draft;
    scoped_buf struct buf path = buf_of(BUF_TEXT), text = buf_of(ASK_TEXT_MAX);
    if (!asking_put_note(a, &path, "", e) || !buf_check(&path, "the request", e) ||
        !asking_ask(a, "GET", buf_cz(&path), NULL, e))
        return false;
    const struct json *note = a->answer;
    if (!write_draft(&draft, note, e))
        return false;
    bool ok = run_program(editor(), draft.path, e) && read_draft(&draft, &text, e);
    bool changed = ok && !str_eq(buf_view(&text), json_str(json_get(note, "markdown")));
    if (changed && !save_draft(a, note, buf_view(&text), e))
        return err_wrap(e, "your text is kept in %s", draft.path);
    drop_draft(&draft);
    if (ok)
        printf("%.*s %s\n", SPELT_ARGS(json_str(json_get(note, "id"))),
               changed ? "changed" : "unchanged");
    return ok;
}

/* ---- open ------------------------------------------------------------------ */

static bool is_obsidian(const char *vault)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/.obsidian", vault);
    return n > 0 && n < PATH_MAX && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool open_note(void *command, struct err *e)
{
    struct asking *a = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT), target = buf_of(BUF_TEXT);
    char *vault = cli_vault_path(a->vault), real[PATH_MAX];
    bool found = vault && realpath(vault, real);
    free(vault);
    if (!found)
        return err_set(e, ERR_INVALID, "give the vault: --vault DIR");
    if (!asking_put_note(a, &path, "", e) || !buf_check(&path, "the request", e) ||
        !asking_ask(a, "GET", buf_cz(&path), NULL, e))
        return false;
    scoped_buf struct buf file = buf_of(PATH_MAX);
    buf_printf(&file, "%s/%.*s", real, STR_ARGS(json_str(json_get(a->answer, "path"))));
    if (is_obsidian(real)) {
        buf_cstr(&target, "obsidian://open?path=");
        uri_escape(buf_view(&file), &target);
    } else {
        buf_str(&target, buf_view(&file));
    }
    const char *opener = getenv("CLOCHE_OPENER");
    if (!buf_check(&target, "the path", e) || !buf_check(&file, "the path", e))
        return false;
    return run_program(opener && *opener ? opener : "xdg-open", buf_cz(&target), e) ||
           err_wrap(e, "%s", buf_cz(&file));
}

/* ---- the commands ---------------------------------------------------------- */

int command_edit(int argc, char **argv)
{
    struct asking a = {0};
    const struct option_row rows[] = {ASK_VAULT(a), ASK_HELP(a)};
    struct option_use use = {
        .usage =
            "cloche edit NOTE [OPTIONS]\n\nOpens a note's file in $VISUAL, $EDITOR or "
            "vi, and writes it back. Where the note changed meanwhile, it stays, and "
            "your text is kept in a file.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&a, &use, edit_note, &a, argc, argv);
}

int command_open(int argc, char **argv)
{
    struct asking a = {0};
    const struct option_row rows[] = {ASK_VAULT(a), ASK_HELP(a)};
    struct option_use use = {
        .usage =
            "cloche open NOTE [OPTIONS]\n\nOpens a note in Obsidian, where the vault is "
            "one of Obsidian's, else in the system's program for its file: by "
            "xdg-open, or by the command in CLOCHE_OPENER.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&a, &use, open_note, &a, argc, argv);
}
