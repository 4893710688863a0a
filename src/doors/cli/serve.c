/* cloche mcp and cloche serve: the two ways in for agents. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "access/access.h"
#include "actions/actions.h"
#include "caller/caller.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/person.h"
#include "desk/desk.h"
#include "embed/embed.h"
#include "engine/engine.h"
#include "http/http.h"
#include "mcp/mcp.h"
#include "os/os.h"
#include "record/record.h"
#include "rest/rest.h"
#include "uri/uri.h"
#include "vm/mounts.h"

#define DRAIN_MS 6000u
#define WORKERS 24u
#define HEALTH_PATH "/healthz"
#define LOOK_MS 1000 /* between looks for tokens that are not good any more */
#define PER_SECOND_MOST 1000000
#define RUNNING_MOST 100000

/* Shared by both commands: the library, which prepares the first evaluation while the client is
 * still saying hello. */
struct service {
    const char *vaults[OPTION_REPEAT + 1], *roots[OPTION_REPEAT + 1], *listen;
    const char *mounts[OPTION_REPEAT + 1];
    /* A server's own: its names, and the origins that may connect. */
    const char *hosts[OPTION_REPEAT + 2], *origins[OPTION_REPEAT + 1], *public_url;
    const char *oauth_issuer, *oauth_vaults[OPTION_REPEAT + 1];
    const char *per_second, *running, *tls_cert, *tls_key;
    char public_host[256];
    bool require_token, behind_proxy, help;
    struct access *access;
    struct person person; /* of a server: its page */
    struct cloche *cloche;
    int stop; /* as cli_stop_signal() */
};

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
    if (s->stop < 0)
        return false;
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    scoped(cloche_options_free) struct cloche_options *o =
        cli_options(s->vaults, s->roots);
    struct vm_mount_words words;
    for (size_t i = 0; s->mounts[i]; i++)
        if (!vm_mount_read(s->mounts[i], &words, e))
            return false;
    embed_options_mounts(o, s->mounts);
    if (extras)
        embed_options_extras(o, extras->tools, extras->tool_count, &extras->readable);
    s->cloche = cloche_open(o, why);
    if (!s->cloche) {
        enum err_code code = embed_error(why)->code;
        return err_set(e, code == ERR_NOT_FOUND ? ERR_INVALID : code, "%s",
                       cloche_error_message(why));
    }
    if (extras && extras->opened)
        extras->opened(extras->arg, embed_workspaces(s->cloche));
    actions_on_alert(embed_actions(s->cloche), log_alert, NULL);
    cloche_warm(s->cloche);
    return true;
}

static void service_close(struct service *s)
{
    cloche_close(s->cloche);
    os_close(s->stop);
}

/* ---- over stdio --------------------------------------------------------- */

int command_mcp(int argc, char **argv, const struct cli_extras *extras)
{
    struct service s = {.stop = -1};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", s.vaults, "DIR...", VAULT_HELP),
        OPTION_VALUE("--vault-root", s.roots, "DIR...", ROOT_HELP),
        OPTION_VALUE("--mount", s.mounts, "HOST:/GUEST...",
                     "a folder that Linux machines may mount, besides the policy's; with "
                     ":ro, :overlay, :links; may be repeated"),
        OPTION_FLAG("--help", &s.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche mcp [OPTIONS]\n\nServes one MCP client over standard input and output.",
        OPTION_ROWS(rows, &s.help),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    scoped(cloche_error_free) struct cloche_error *why = cloche_error_new();
    exit = EXIT_DONE;
    if (!service_open(&s, extras, &e))
        exit = cli_fail(&e);
    else if (cloche_serve_mcp(s.cloche, STDIN_FILENO, STDOUT_FILENO, s.stop, why))
        exit = cli_fail_library(why);
    service_close(&s);
    return exit;
}

/* ---- over HTTP ---------------------------------------------------------- */

/* They tell of everybody's calls: for the person, and for tokens that may read the audit
 * of all vaults. */
static bool may_read_metrics(const struct http_request *rq, struct http_response *rs)
{
    const struct grant *g = http_admitted(rq);
    if (!g || (g->scopes & SCOPE_AUDIT && !g->vaults.given))
        return true;
    char challenge[CHALLENGE_MAX];
    grant_challenge(g, SCOPE_AUDIT, challenge);
    http_refuse(rq, rs, 403,
                "the metrics need a token with the scope 'audit' that is for all vaults");
    http_set_header(rs, "WWW-Authenticate", challenge);
    return false;
}

/* For balancers and supervisors: that it answers says it all. */
static bool tell_health(void *none, struct http_request *rq, struct http_response *rs,
                        void **work)
{
    (void)none, (void)work;
    if (str_is(http_method(rq), "GET")) {
        http_say(rs, 200, "ok");
    } else {
        http_say(rs, 405, "GET says whether the server runs");
        http_set_header(rs, "Allow", "GET, HEAD");
    }
    return true;
}

/* On a connection's thread: some thousand counters are told in well under a
 * millisecond. */
static bool tell_metrics(void *arg, struct http_request *rq, struct http_response *rs,
                         void **work)
{
    struct err e = {0};
    (void)work;
    if (!str_is(http_method(rq), "GET")) {
        http_say(rs, 405, "GET returns the metrics");
        http_set_header(rs, "Allow", "GET");
    } else if (!may_read_metrics(rq, rs)) {
        return true;
    } else if (telemetry_metrics(arg, &rs->body, &e)) {
        rs->type = "text/plain; version=0.0.4; charset=utf-8";
    } else {
        http_say(rs, 500, "%s", e.msg);
    }
    return true;
}

/* Until it is told to stop; meanwhile what revoked tokens still have open is ended. */
static void serve_on(const struct service *s, struct http_server *server, struct mcp *mcp)
{
    struct pollfd stop = {.fd = s->stop, .events = POLLIN};
    while (poll(&stop, 1, LOOK_MS) <= 0)
        if (access_changed(s->access)) {
            http_expel(server);
            mcp_expel(mcp, access_stands, s->access);
        }
}

/* The name in the address by which clients know us is one that may stand in Host. */
static bool read_public_url(struct service *s, struct err *e)
{
    if (!s->public_url)
        return true;
    struct uri u;
    if (!uri_read(str_of(s->public_url), &u) || !str_is(u.scheme, "https") ||
        (u.rest.n && u.rest.at[0] != '/'))
        return err_set(e, ERR_INVALID,
                       "--public-url '%.100s' is invalid; https://HOST, with a port "
                       "and a path if needed, is accepted",
                       s->public_url);
    if (u.authority.n >= sizeof s->public_host)
        return err_set(e, ERR_INVALID,
                       "--public-url has a name of %zu bytes; 255 are "
                       "accepted",
                       u.authority.n);
    (void)snprintf(s->public_host, sizeof s->public_host, "%.*s", STR_ARGS(u.authority));
    size_t count = 0;
    while (s->hosts[count])
        count++;
    s->hosts[count] = s->public_host;
    return true;
}

/* A name that cannot stand in Host or Origin would refuse everybody silently. */
static bool service_check_names(const struct service *s, struct err *e)
{
    for (const char *const *name = s->hosts; *name; name++)
        if (!**name || strpbrk(*name, "/*?#@, "))
            return err_set(e, ERR_INVALID,
                           "--allow-host '%.100s' is not a valid name; one as it "
                           "stands in Host, such as notes.example.org, is accepted",
                           *name);
    for (const char *const *origin = s->origins; *origin; origin++) {
        struct uri u;
        if (!uri_read(str_of(*origin), &u) || u.rest.n || strpbrk(*origin, "*, "))
            return err_set(e, ERR_INVALID,
                           "--allow-origin '%.100s' is none; https://HOST, with a port "
                           "where it is needed and without a path, is accepted",
                           *origin);
    }
    return true;
}

/* Clients ask the issuer for tokens for the URL that they know us by. */
static bool read_oauth(const struct service *s, struct access_oauth *out, struct err *e)
{
    size_t n = 0;
    bool all = false;
    while (s->oauth_vaults[n])
        all |= !strcmp(s->oauth_vaults[n++], "*");
    if (!s->oauth_issuer && n)
        return err_set(e, ERR_INVALID, "--oauth-vault goes with --oauth-issuer");
    /* A socket in the file system has no URL that a token could be for. */
    bool near = !s->listen || !strncmp(s->listen, "127.", 4) ||
                !strncmp(s->listen, "[::1]", 5) || !strncmp(s->listen, "localhost", 9);
    if (s->oauth_issuer && !s->public_url && (!near || s->behind_proxy))
        return err_set(e, ERR_INVALID,
                       "--oauth-issuer needs --public-url where others come in");
    *out = (struct access_oauth){.issuer = s->oauth_issuer,
                                 .public_url = s->public_url,
                                 .vaults = {s->oauth_vaults, all ? 0 : n, !all}};
    return true;
}

static void serve_record_refusal(void *arg, const char *caller, const char *why)
{
    const struct service *s = arg;
    actions_refused(embed_actions(s->cloche), caller, why);
}

static bool open_access(struct service *s, struct err *e)
{
    long long per_second = 0, running = 0;
    if (!s->tls_cert != !s->tls_key)
        return err_set(e, ERR_INVALID,
                       "--tls-cert and --tls-key go together; %s is missing",
                       s->tls_cert ? "the key" : "the certificate");
    if (!service_check_names(s, e) || !read_public_url(s, e) ||
        (s->per_second && !options_number("--caller-rate", s->per_second, 1,
                                          PER_SECOND_MOST, &per_second, e)) ||
        (s->running &&
         !options_number("--caller-running", s->running, 1, RUNNING_MOST, &running, e)))
        return false;
    struct access_options options = {.required = s->require_token,
                                     .per_second = (unsigned)per_second,
                                     .running = (unsigned)running,
                                     .refused = serve_record_refusal,
                                     .persons_paths = desk_paths,
                                     .public_path = HEALTH_PATH,
                                     .arg = s};
    if (!read_oauth(s, &options.oauth, e))
        return false;
    s->access = access_open(&options, e);
    return s->access != NULL;
}

/* Then programs of this machine need a token, too, which nobody expects. */
static void warn_of_accounts(const struct service *s, const char *url)
{
    struct err e = {0};
    if (!s->require_token && !s->behind_proxy && strncmp(url, "unix:", 5) != 0 &&
        !http_tells_accounts(&e))
        log_line(LOG_WARN,
                 "%s: programs of this machine need a token, or a socket "
                 "(--listen unix:/PATH)%s",
                 e.msg, ERR_ORIGIN(&e));
}

static bool service_run(struct service *s, struct err *e)
{
    struct actions *actions = embed_actions(s->cloche);
    struct mcp *mcp = embed_mcp(s->cloche, e);
    if (!mcp)
        return false;
    struct http_route routes[3 + REST_ROUTES + ACCESS_ROUTES + DESK_ROUTES] = {
        mcp_route(mcp),
        {.path = "/metrics", .arg = actions, .begin = tell_metrics},
        {.path = HEALTH_PATH, .head = true, .begin = tell_health}};
    size_t count = 3 + rest_routes(actions, routes + 3);
    count += access_routes(s->access, routes + count);
    if (s->person.desk)
        count += desk_routes(s->person.desk, routes + count);
    struct http_options options = {.listen = s->listen ? s->listen : "127.0.0.1:7878",
                                   .routes = routes,
                                   .n_routes = count,
                                   .admit = access_admit,
                                   .release = access_release,
                                   .stays = access_stands,
                                   .share = access_share,
                                   .admit_arg = s->access,
                                   .allowed_hosts = s->hosts,
                                   .allowed_origins = s->origins,
                                   .behind_proxy = s->behind_proxy,
                                   .tls_cert = s->tls_cert,
                                   .tls_key = s->tls_key,
                                   /* Many, because code may sleep, or wait for a
                                    * search; beyond the processors they cost a
                                    * stack each, and no more. */
                                   .workers = WORKERS,
                                   .worker_stack = ENGINE_THREAD_STACK};
    struct http_server *server = http_open(&options, e);
    if (!server && e->code == ERR_DENIED && !s->tls_cert && !s->behind_proxy) {
        e->code = ERR_INVALID;
        return err_wrap(e, "--tls-cert and --tls-key, or --behind-proxy, are needed");
    }
    if (!server)
        return false;
    const char *port = strrchr(http_url(server), ':');
    actions_listens(actions, (uint16_t)strtoul(port + 1, NULL, 10));
    access_listens(s->access, http_url(server));
    /* Scripts wait for this line. */
    printf("%s\n", http_url(server));
    fflush(stdout);
    person_greet(&s->person, http_url(server));
    warn_of_accounts(s, http_url(server));
    serve_on(s, server, mcp);
    http_close(server, DRAIN_MS);
    return true;
}

int command_serve(int argc, char **argv, const struct cli_extras *extras)
{
    struct service s = {.stop = -1};
    const struct option_row rows[] = {
        OPTION_VALUE("--vault", s.vaults, "DIR...", VAULT_HELP),
        OPTION_VALUE("--vault-root", s.roots, "DIR...", ROOT_HELP),
        OPTION_VALUE(
            "--listen", &s.listen, "ADDRESS:PORT",
            "where (127.0.0.1:7878); port 0: any; for other machines with TLS, or a proxy; "
            "or unix:/PATH, a socket for this account alone"),
        OPTION_VALUE("--tls-cert", &s.tls_cert, "FILE",
                     "speak TLS: the certificate, with those that signed it (PEM)"),
        OPTION_VALUE("--tls-key", &s.tls_key, "FILE", "and its key"),
        OPTION_FLAG("--require-token", &s.require_token,
                    "ask programs of this machine for a token, too"),
        OPTION_FLAG("--behind-proxy", &s.behind_proxy,
                    "all requests come through your proxy, which has TLS and reports the "
                    "client's address"),
        OPTION_VALUE("--public-url", &s.public_url, "URL", "how clients reach the proxy"),
        OPTION_VALUE("--oauth-issuer", &s.oauth_issuer, "URL",
                     "also accept tokens (JWT) of this OAuth issuer"),
        OPTION_VALUE(
            "--oauth-vault", s.oauth_vaults, "ID...",
            "the vaults of its tokens that name none; '*': all; may be repeated"),
        OPTION_VALUE("--allow-host", s.hosts, "NAME...",
                     "another name in Host; may be repeated"),
        OPTION_VALUE("--allow-origin", s.origins, "URL...",
                     "pages of this origin may call; may be repeated"),
        OPTION_VALUE("--caller-rate", &s.per_second, "N",
                     "requests a second of one token (100)"),
        OPTION_VALUE("--caller-running", &s.running, "N",
                     "requests and streams of one token at a time (128)"),
        OPTION_FLAG("--help", &s.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche serve [OPTIONS]\n\n"
            "Serves MCP at /mcp, REST at /workspaces (described at /openapi.json) and\n"
            "counters at /metrics; prints its address when it is ready, and a link to the\n"
            "page on which you decide what waits; ends at SIGTERM.",
        OPTION_ROWS(rows, &s.help),
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    bool ok = open_access(&s, &e) && service_open(&s, extras, &e);
    if (ok) {
        person_open(&s.person, s.cloche);
        ok = service_run(&s, &e);
        person_close(&s.person);
    }
    service_close(&s);
    access_close(s.access);
    return ok ? EXIT_DONE : cli_fail(&e);
}
