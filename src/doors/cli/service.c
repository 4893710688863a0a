/* cloche service: `cloche serve` as a service of the person's systemd. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/subcommand.h"
#include "os/os.h"

extern char **environ;

#define UNIT "cloche.service"

struct unit {
    const char *vaults[OPTION_REPEAT + 1], *listen;
    bool print, help;
};

/* ---- the unit ---------------------------------------------------------------- */

/* A word of ExecStart=, as systemd.service(5) and systemd.unit(5) want it. */
static void put_word(struct buf *out, const char *word)
{
    buf_char(out, '"');
    for (const char *c = word; *c; c++) {
        if (*c == '"' || *c == '\\')
            buf_char(out, '\\');
        if (*c == '%' || *c == '$')
            buf_char(out, *c);
        buf_char(out, *c);
    }
    buf_char(out, '"');
}

static bool put_path(struct buf *out, const char *path, struct err *e)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return err_set(e, ERR_INVALID, "%.200s: %m", path);
    for (const char *c = real; *c; c++)
        if ((unsigned char)*c < ' ')
            return err_set(e, ERR_INVALID, "a unit cannot name the folder %.200s", path);
    put_word(out, real);
    return true;
}

static bool put_command(const struct unit *u, struct buf *out, struct err *e)
{
    if (!put_path(out, "/proc/self/exe", e))
        return false;
    buf_cstr(out, " serve");
    for (size_t i = 0; u->vaults[i]; i++) {
        buf_cstr(out, " --vault ");
        if (!put_path(out, u->vaults[i], e))
            return false;
    }
    if (u->listen) {
        buf_cstr(out, " --listen ");
        put_word(out, u->listen);
    }
    return true;
}

/* Restarts it where it fails, and gives its calls the time that `cloche serve` takes to end. */
static bool put_unit(const struct unit *u, struct buf *out, struct err *e)
{
    buf_cstr(out, "[Unit]\nDescription=Cloche: notes for agents, sandboxed\n\n"
                  "[Service]\nExecStart=");
    if (!put_command(u, out, e))
        return false;
    buf_cstr(out, "\nRestart=on-failure\nRestartSec=2\nTimeoutStopSec=20\n"
                  "NoNewPrivileges=true\n\n[Install]\nWantedBy=default.target\n");
    return buf_check(out, "the unit", e);
}

/* ---- systemd ----------------------------------------------------------------- */

static bool systemctl(const char *verb, const char *option, const char *name,
                      struct err *e)
{
    pid_t child;
    int status;
    const char *argv[6] = {"systemctl", "--user", verb};
    size_t n = 3;
    if (option)
        argv[n++] = option;
    if (name)
        argv[n++] = name;
    int failed =
        posix_spawnp(&child, "systemctl", NULL, NULL, (char *const *)argv, environ);
    if (failed)
        return err_set(e, ERR_IO,
                       "systemctl cannot be run (%s): cloche service needs systemd; "
                       "without it start cloche serve as this system starts programs",
                       strerror(failed));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(e, ERR_IO, "systemctl: %m");
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           err_set(e, ERR_IO, "systemctl --user %s failed", verb);
}

/* Its folder, opened; made where it is not there. */
static int unit_folder(bool make, struct err *e)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[PATH_MAX];
    int n =
        config && *config == '/'
            ? snprintf(path, sizeof path, "%s/systemd/user", config)
            : snprintf(path, sizeof path, "%s/.config/systemd/user", home ? home : "");
    scoped_fd int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (n <= 1 || n >= PATH_MAX || root < 0 || path[0] != '/') {
        err_set(e, ERR_IO, "there is no HOME for the unit's file");
        return -1;
    }
    if (make && !os_make_dirs(root, path + 1, e))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_set(e, ERR_NOT_FOUND, "the service is not installed");
    return fd;
}

/* ---- the verbs --------------------------------------------------------------- */

static bool service_install(void *command, struct err *e)
{
    struct unit *u = command;
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    if (!put_unit(u, &text, e))
        return false;
    if (u->print) {
        cli_put(buf_view(&text));
        return true;
    }
    scoped_fd int folder = unit_folder(true, e);
    if (folder < 0 ||
        !os_write_file(folder, UNIT, buf_view(&text), OS_REPLACE, 0644, NULL, e) ||
        !systemctl("daemon-reload", NULL, NULL, e) ||
        !systemctl("enable", NULL, UNIT, e) || !systemctl("restart", NULL, UNIT, e))
        return false;
    printf(
        "cloche serve runs, and starts with your session; its log: journalctl --user -u "
        "cloche\nTo have it run without a session: loginctl enable-linger\n");
    return true;
}

static bool service_status(void *command, struct err *e)
{
    (void)command;
    scoped_fd int folder = unit_folder(false, e);
    if (folder < 0)
        return false;
    if (faccessat(folder, UNIT, F_OK, 0) != 0)
        return err_set(e, ERR_NOT_FOUND, "the service is not installed");
    return systemctl("status", "--no-pager", UNIT, e);
}

static bool service_remove(void *command, struct err *e)
{
    (void)command;
    struct err ignored = {0};
    scoped_fd int folder = unit_folder(false, e);
    if (folder < 0)
        return false;
    if (faccessat(folder, UNIT, F_OK, 0) != 0)
        return err_set(e, ERR_NOT_FOUND, "the service is not installed");
    (void)systemctl("disable", "--now", UNIT, &ignored);
    if (unlinkat(folder, UNIT, 0) != 0)
        return err_set(e, ERR_IO, "cannot remove the unit: %m");
    if (!systemctl("daemon-reload", NULL, NULL, e))
        return false;
    printf("removed\n");
    return true;
}

int command_service(int argc, char **argv)
{
    struct unit u = {0};
    static const struct verb verbs[] = {
        {.name = "status", .run = service_status},
        {.name = "install",
         .only = "--vault, --listen and --print",
         .run = service_install},
        {.name = "remove", .run = service_remove},
    };
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", u.vaults, "DIR...", VAULT_HELP),
        OPTION_VALUE("--listen", &u.listen, "ADDRESS:PORT", "as of cloche serve"),
        OPTION_FLAG("--print", &u.print, "install: print the unit, and write nothing"),
        OPTION_FLAG("--help", &u.help, "this list"),
    };
    const char *words[1];
    struct option_use use = {
        .usage =
            "cloche service (install | status | remove) [OPTIONS]\n\nRuns cloche serve "
            "as a user service of systemd: it starts with your session, and again\n"
            "when it fails. Installing it again changes its options.",
        OPTION_ROWS(rows, &u.help),
        OPTION_WORDS(words),
    };
    return verbs_command("service", verbs, LENGTH(verbs), &use, &u, argc, argv);
}
