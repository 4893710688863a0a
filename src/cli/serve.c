/* cloche mcp and cloche serve: the two ways in for agents. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "actions/actions.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "http/http.h"
#include "mcp/mcp.h"
#include "os/os.h"
#include "workspaces/workspaces.h"

#define DRAIN_MS 6000u
#define WORKERS 24u

/* What both need: a vault, the actions over it, and a thread that prepares the
 * first evaluation while the client is still saying hello. */
struct service {
    const char *vaults[OPTION_REPEAT + 1], *roots[OPTION_REPEAT + 1], *listen;
    bool help;
    struct actions *actions;
    struct workspaces *workspaces;
    struct mcp *mcp;
    int stop; /* readable at SIGINT or SIGTERM */
    pthread_t warming;
    bool is_warming;
};

static void *warm(void *arg)
{
    actions_warm(arg);
    return NULL;
}

static void log_alert(void *arg, const struct alert *alert)
{
    (void)arg;
    log_line(LOG_WARN, "alert: %s: %s%s", alert->caller, alert->message,
             alert->paused ? "; it is paused: cloche callers resume" : "");
}

static bool service_open(struct service *s, const struct cli_extras *extras,
                         struct err *e)
{
    s->stop = cli_stop_signal(e);
    struct actions_options options = {.vaults = s->vaults, .vault_roots = s->roots};
    if (extras) {
        options.extra = extras->tools;
        options.extra_count = extras->tool_count;
    }
    if (s->stop < 0 || !(s->actions = actions_open(&options, e)) ||
        !(s->workspaces =
              workspaces_open(s->actions, extras ? &extras->readable : NULL, e)) ||
        !(s->mcp = mcp_open(s->actions, s->workspaces, e)))
        return false;
    if (extras && extras->opened)
        extras->opened(extras->arg, s->workspaces);
    actions_on_alert(s->actions, log_alert, NULL);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    s->is_warming = pthread_create(&s->warming, &attr, warm, s->actions) == 0;
    pthread_attr_destroy(&attr);
    return true;
}

static void service_close(struct service *s)
{
    if (s->is_warming)
        pthread_join(s->warming, NULL);
    mcp_close(s->mcp);
    workspaces_close(s->workspaces);
    actions_close(s->actions);
    os_close(s->stop);
}

/* ---- over stdio --------------------------------------------------------- */

int command_mcp(int argc, char **argv, const struct cli_extras *extras)
{
    struct service s = {.stop = -1};
    const struct option_row rows[] = {
        {"--vault", s.vaults, NULL, "DIR...", VAULT_HELP},
        {"--vault-root", s.roots, NULL, "DIR...", ROOT_HELP},
        {"--help", NULL, &s.help, NULL, "this list"},
    };
    struct option_use use = {
        .usage =
            "cloche mcp [OPTIONS]\n\nServes one MCP client over standard input and output.",
        .rows = rows,
        .count = LENGTH(rows),
        .help = &s.help,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    struct mcp_stdio_options how = {
        .has_stop = true, .thread_stack = ENGINE_THREAD_STACK, .drain_ms = DRAIN_MS};
    bool ok = service_open(&s, extras, &e);
    how.stop = s.stop;
    ok = ok && mcp_serve_stdio(s.mcp, &how, &e);
    service_close(&s);
    return ok ? EXIT_DONE : cli_fail(&e);
}

/* ---- over HTTP ---------------------------------------------------------- */

/* On a connection's thread: some thousand counters are told in well under a
 * millisecond. */
static bool tell_metrics(void *arg, struct http_request *rq, struct http_response *rs,
                         void **work)
{
    struct err e = {0};
    (void)work;
    if (!str_is(http_method(rq), "GET")) {
        http_say(rs, 405, "GET tells the metrics");
        http_set_header(rs, "Allow", "GET");
    } else if (actions_metrics(arg, &rs->body, &e)) {
        rs->type = "text/plain; version=0.0.4; charset=utf-8";
    } else {
        http_say(rs, 500, "%s", e.msg);
    }
    return true;
}

static bool serve(struct service *s, struct err *e)
{
    struct http_route routes[] = {
        mcp_route(s->mcp),
        {.path = "/metrics", .arg = s->actions, .begin = tell_metrics},
    };
    struct http_options options = {.listen = s->listen ? s->listen : "127.0.0.1:7878",
                                   .routes = routes,
                                   .n_routes = LENGTH(routes),
                                   /* Many, because code may sleep, or wait for a
                                    * search; beyond the processors they cost a
                                    * stack each, and no more. */
                                   .workers = WORKERS,
                                   .worker_stack = ENGINE_THREAD_STACK};
    struct http_server *server = http_open(&options, e);
    if (!server)
        return false;
    const char *port = strrchr(http_url(server), ':');
    actions_listens(s->actions, (uint16_t)strtoul(port + 1, NULL, 10));
    /* Scripts wait for this line. */
    printf("%s\n", http_url(server));
    fflush(stdout);
    char signal_info[128];
    while (read(s->stop, signal_info, sizeof signal_info) < 0)
        ;
    http_close(server, DRAIN_MS);
    return true;
}

int command_serve(int argc, char **argv, const struct cli_extras *extras)
{
    struct service s = {.stop = -1};
    const struct option_row rows[] = {
        {"--vault", s.vaults, NULL, "DIR...", VAULT_HELP},
        {"--vault-root", s.roots, NULL, "DIR...", ROOT_HELP},
        {"--listen", &s.listen, NULL, "ADDRESS:PORT",
         "a loopback address (127.0.0.1:7878); port 0: any"},
        {"--help", NULL, &s.help, NULL, "this list"},
    };
    struct option_use use = {
        .usage =
            "cloche serve [OPTIONS]\n\nServes MCP at /mcp and counters at /metrics; prints its address when it is ready; "
            "ends at SIGTERM.",
        .rows = rows,
        .count = LENGTH(rows),
        .help = &s.help,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    bool ok = service_open(&s, extras, &e) && serve(&s, &e);
    service_close(&s);
    return ok ? EXIT_DONE : cli_fail(&e);
}
