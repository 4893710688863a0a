/* cloche connect: this server in the settings of an MCP client. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/options.h"
#include "connect/connect.h"
#include "os/os.h"

#define TRY_MS 60000u
#define SETTINGS_MAX ((size_t)16 << 20)

struct joining {
    const char *vault, *name, *file, *words[1];
    bool print, remove, yes, help;
    const struct connect_client *client;
    char *program, *folder; /* absolute */
    char *path;             /* of the settings, with no link at its end */
    int dir;                /* that it is in; -1: not there */
    const char *base;       /* its name in there; the path's */
    const char *argv[5];
    struct buf before, after;
    bool is_there; /* the file */
    struct os_stat st;
};

static void joining_done(struct joining *j)
{
    free(j->program);
    free(j->folder);
    free(j->path);
    os_close(j->dir);
    buf_done(&j->before);
    buf_done(&j->after);
}

/* ---- what is to be started ---------------------------------------------------- */

static bool is_entry_name(const char *name)
{
    return str_is_name(str_of(name), "-_", 64);
}

static bool own_program(struct joining *j, struct err *e)
{
    j->program = realpath("/proc/self/exe", NULL);
    if (!j->program)
        return err_set(e, ERR_IO, "this program's own path cannot be read: %m");
    if (j->vault) {
        int dir = os_dir_open(j->vault, e);
        j->folder = dir >= 0 ? os_dir_path(dir, e) : NULL;
        os_close(dir);
        if (!j->folder)
            return false;
    }
    const char *const words[] = {j->program, "mcp", j->folder ? "--vault" : NULL,
                                 j->folder, NULL};
    memcpy(j->argv, words, sizeof words);
    return true;
}

static struct connect_server server_of(const struct joining *j)
{
    return (struct connect_server){.name = j->name, .words = j->argv};
}

/* ---- the file ------------------------------------------------------------------ */

/* Where it is. A link is followed: some keep their settings elsewhere. */
static bool find_settings(struct joining *j, struct err *e)
{
    char *path = j->file ? strdup(j->file) : connect_path(j->client, e);
    if (!path)
        return false;
    j->path = realpath(path, NULL);
    j->is_there = j->path != NULL;
    bool ok = j->is_there || errno == ENOENT || errno == ENOTDIR ||
              err_set(e, ERR_IO, "%s cannot be read: %m", path);
    if (j->is_there)
        free(path);
    else
        j->path = path;
    const char *slash = strrchr(j->path, '/');
    j->base = slash ? slash + 1 : j->path;
    return ok;
}

/* The folder that it is in, made where `make`. */
static bool open_folder(struct joining *j, bool make, struct err *e)
{
    char *path = strdup(j->path);
    const char *folder = dirname(path);
    j->dir = make ? os_dir_make(folder, 0700, e) : os_dir_open(folder, e);
    free(path);
    return j->dir >= 0;
}

/* Its text; one that is not there is empty. */
static bool read_settings(struct joining *j, struct err *e)
{
    return find_settings(j, e) &&
           (!j->is_there || (open_folder(j, false, e) &&
                             os_read_file(j->dir, j->base, &j->before, &j->st, e)));
}

static bool is_now(const struct joining *j, bool *there, struct err *e)
{
    return connect_has(j->client, buf_view(&j->before), j->name, there, e);
}

static bool edit(struct joining *j, struct err *e)
{
    struct connect_server s = server_of(j);
    bool ok = j->remove
                  ? connect_remove(j->client, buf_view(&j->before), j->name, &j->after, e)
                  : connect_set(j->client, buf_view(&j->before), &s, &j->after, e);
    return ok || err_wrap(e, "%s", j->path);
}

/* "settings.json.2026-11-23T08-30-00.123Z.bak". It may hold secrets. */
static bool keep_copy(const struct joining *j, struct buf *name, struct err *e)
{
    char now[25];
    date_format(os_real_ms(), now);
    for (char *c = now; *c; c++)
        if (*c == ':')
            *c = '-';
    buf_printf(name, "%s.%s.bak", j->base, now);
    return buf_check(name, "the name", e) &&
           os_write_file(j->dir, buf_cz(name), buf_view(&j->before), OS_CREATE, 0600,
                         NULL, e);
}

static bool write_settings(struct joining *j, struct err *e)
{
    scoped_buf struct buf copy = buf_of(BUF_LINE);
    if (j->is_there ? !keep_copy(j, &copy, e) : !open_folder(j, true, e))
        return false;
    bool ok = j->is_there
                  ? os_replace_file(j->dir, j->base, buf_view(&j->after), &j->st, NULL, e)
                  : os_write_file(j->dir, j->base, buf_view(&j->after), OS_CREATE, 0600,
                                  NULL, e);
    if (ok && j->is_there)
        printf("written; the file as it was: %.*s\n", SPELT_ARGS(buf_view(&copy)));
    else if (ok)
        printf("written\n");
    return ok;
}

/* ---- talking ------------------------------------------------------------------- */

static bool agrees(const struct joining *j, struct err *e)
{
    char line[16];
    if (j->yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return err_set(e, ERR_INVALID, "nothing was written; --yes makes this change");
    printf("Write this? [y/N] ");
    (void)fflush(stdout);
    return (fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y')) ||
           err_set(e, ERR_CANCELLED, "nothing was written");
}

static void print_change(const struct joining *j)
{
    scoped_buf struct buf diff = buf_of(BUF_LIST);
    (void)diff_put(buf_view(&j->before), buf_view(&j->after), BUF_TEXT, &diff);
    printf("%.*s%s\n", SPELT_ARGS(str_of(j->path)), j->is_there ? "" : " (new)");
    ask_print_diff(buf_view(&diff));
}

static bool try_it(const struct joining *j, struct err *e)
{
    struct connect_server s = server_of(j);
    struct connect_answer a;
    if (!connect_try(&s, TRY_MS, &a, e))
        return err_wrap(e, "started as %s would", j->client->title);
    printf("started as %s would: %s %s answers, with %zu tools\n", j->client->title,
           a.name, a.version, a.tools);
    if (j->client->note)
        printf("%s: %s\n", j->client->title, j->client->note);
    return true;
}

static bool change(struct joining *j, struct err *e)
{
    bool there;
    if (!read_settings(j, e))
        return false;
    if (!is_now(j, &there, e))
        return err_wrap(e, "%s", j->path);
    if (j->remove && !there) {
        printf("%.*s has no entry '%s'\n", SPELT_ARGS(str_of(j->path)), j->name);
        return true;
    }
    if (!edit(j, e))
        return false;
    if (str_eq(buf_view(&j->before), buf_view(&j->after)))
        printf("%.*s has this entry already\n", SPELT_ARGS(str_of(j->path)));
    else {
        print_change(j);
        if (!agrees(j, e) || !write_settings(j, e))
            return false;
    }
    return j->remove || try_it(j, e);
}

/* The entry alone, in a file of its own. */
static bool print_entry(struct joining *j, struct err *e)
{
    struct connect_server s = server_of(j);
    if (!connect_set(j->client, STR(""), &s, &j->after, e))
        return false;
    cli_put(buf_view(&j->after));
    return true;
}

/* A line for each client: is it there, and connected? */
static bool print_clients(const struct joining *j, struct err *e)
{
    size_t count;
    const struct connect_client *all = connect_clients(&count);
    for (size_t i = 0; i < count; i++) {
        struct joining one = {.client = &all[i], .name = j->name, .dir = -1};
        struct err why = {0};
        bool there = false;
        buf_init(&one.before, SETTINGS_MAX);
        buf_init(&one.after, SETTINGS_MAX);
        bool ok = read_settings(&one, &why) && is_now(&one, &there, &why);
        if (!one.path) {
            *e = why;
            return false;
        }
        printf("%-15s %-15s %-13s %.*s\n", all[i].id, all[i].title,
               !ok            ? "unreadable"
               : there        ? "connected"
               : one.is_there ? "not connected"
                              : "no settings",
               SPELT_ARGS(str_of(one.path)));
        joining_done(&one);
    }
    return true;
}

static bool connect_run(struct joining *j, struct err *e)
{
    j->name = j->name ? j->name : "cloche";
    if (!is_entry_name(j->name))
        return err_set(e, ERR_INVALID,
                       "--name: '%.40s' has more than letters, digits, '-' and '_'",
                       j->name);
    if (!j->words[0])
        return print_clients(j, e);
    j->client = connect_find(j->words[0], e);
    if (!j->client || !own_program(j, e))
        return false;
    return j->print ? print_entry(j, e) : change(j, e);
}

int command_connect(int argc, char **argv)
{
    struct joining j = {.dir = -1};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", &j.vault, "DIR",
                     "the folder of notes, instead of the registered vaults"),
        OPTION_VALUE("--name", &j.name, "NAME",
                     "of the entry; cloche where none is given"),
        OPTION_VALUE("--file", &j.file, "FILE", "the settings, as of one project"),
        OPTION_FLAG("--print", &j.print, "print the entry, and write nothing"),
        OPTION_FLAG("--remove", &j.remove, "remove the entry"),
        OPTION_FLAG("--yes", &j.yes, "do not ask before the file is written"),
        OPTION_FLAG("--help", &j.help, "print this"),
    };
    struct option_use use = {
        .usage =
            "cloche connect [CLIENT] [OPTIONS]\n\n"
            "Puts this server into the settings of an MCP client: shows the change, writes it\n"
            "beside a copy of the file as it was, starts the server as the client would and\n"
            "says whether it answers. Without CLIENT: the clients that are known.",
        OPTION_ROWS(rows, &j.help),
        OPTION_WORDS(j.words),
    };
    int exit = EXIT_DONE;
    struct err e = {0};
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    buf_init(&j.before, SETTINGS_MAX);
    buf_init(&j.after, SETTINGS_MAX);
    if (!connect_run(&j, &e))
        exit = cli_fail(&e);
    joining_done(&j);
    return exit;
}
