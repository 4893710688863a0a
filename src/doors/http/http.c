/* The server as a whole: options, listening, start and end. */
#include "http/http.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "http/server.h"
#include "os/os.h"

#define TURN_NS 100000u /* the shortest there is */
#define WORKER_STACK ((size_t)4 * 1024 * 1024)
/* Holds a request's line and headers, then pieces of its body. */
#define CONNECTION_MEMORY ((size_t)16 * 1024)
/* How long the last answers may take to leave. */
#define FLUSH_MS 1000u
/* Descriptors that all else may need: vaults, databases, what calls open. */
#define OTHER_FILES 512u
#define STREAMS_MAX 16384u
/* TLS 1.2 and 1.3, as the library thinks fit. */
#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define SPARE_CONNECTIONS 64u

static void library_log(void *cls, const char *fmt, va_list ap)
{
    (void)cls;
    char text[400];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    log_line(LOG_DEBUG, "http: %.*s", (int)str_trim(str_of(text)).n, text);
}

static unsigned cpus(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 32 ? 32 : (unsigned)n;
}

/* Descriptors that this process may have, once the limit is raised as far as it goes. */
static unsigned raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    struct rlimit higher = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &higher) == 0)
        limit = higher;
    return limit.rlim_cur > UINT_MAX ? UINT_MAX : (unsigned)limit.rlim_cur;
}

/* Streams may have three quarters of what is left by connections and OTHER_FILES. */
static unsigned streams_allowed(unsigned descriptors, unsigned connections)
{
    unsigned taken = connections + OTHER_FILES;
    unsigned left = descriptors > taken ? (descriptors - taken) / 4 * 3 : 0;
    return left < 64 ? 64 : left > STREAMS_MAX ? STREAMS_MAX : left;
}

static void put_defaults(struct http_options *o)
{
    unsigned descriptors = raise_descriptors();
    if (!o->workers)
        o->workers = cpus() > 2 ? 4 * cpus() : 8; /* calls also wait, for the host */
    if (o->worker_stack < WORKER_STACK)
        o->worker_stack = WORKER_STACK;
    if (!o->queue_max)
        o->queue_max = 256;
    if (!o->body_max)
        o->body_max = (size_t)16 * 1024 * 1024;
    if (!o->bodies_max)
        o->bodies_max = (size_t)64 * 1024 * 1024;
    if (!o->connections_max)
        o->connections_max = 1024;
    if (!o->idle_s)
        o->idle_s = 120;
    if (!o->streams_max)
        o->streams_max = streams_allowed(descriptors, o->connections_max);
}

/* ---- listening ---------------------------------------------------------- */

static bool bind_to(int fd, struct endpoint *ep, struct err *e)
{
    int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const struct sockaddr *sa = (const struct sockaddr *)&ep->address;
    if (bind(fd, sa, ep->size) < 0 || listen(fd, 511) < 0)
        return err_set(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_IO,
                       "cannot listen on %s:%u: %m", ep->host, ep->port);

    struct sockaddr_storage real = {0};
    socklen_t size = sizeof real;
    if (getsockname(fd, (struct sockaddr *)&real, &size) < 0)
        return err_set(e, ERR_IO, "cannot determine the port: %m");
    endpoint_set_port(ep, ntohs(real.ss_family == AF_INET6
                                    ? ((struct sockaddr_in6 *)&real)->sin6_port
                                    : ((struct sockaddr_in *)&real)->sin_port));
    return true;
}

/* Malformed requests are refused, and neither redirected nor guessed at. Before 1.0 all
 * that strictness adds is that a request without Host is refused, and answered twice;
 * head.c and caller.c are stricter. */
#if MHD_VERSION >= 0x01000000
#define STRICT_REQUESTS MHD_OPTION_CLIENT_DISCIPLINE_LVL
#define STRICTNESS 1
#else
#define STRICT_REQUESTS MHD_OPTION_STRICT_FOR_CLIENT
#define STRICTNESS 0
#endif

/* The library takes the descriptor over only if it starts. */
static struct MHD_Daemon *start_library(struct http_server *s, int fd)
{
    /* A thread sends some 80,000 small answers a second: more threads only help where
     * there are processors to spare. */
    unsigned threads = cpus() > 4 ? cpus() / 4 : 0;
    /* Some more than we keep: the newest makes room, which the library must see first. */
    unsigned connections = s->o.connections_max + SPARE_CONNECTIONS;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)library_log, NULL},
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)connection_target, s},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)connection_done, s},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)link_changed, s},
        {MHD_OPTION_THREAD_POOL_SIZE, threads, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, s->o.idle_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
        {STRICT_REQUESTS, STRICTNESS, NULL},
        {MHD_OPTION_END, 0, NULL},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)tls_retrieve},
        {MHD_OPTION_END, 0, NULL},
    };
    /* Turbo: a connection that is let go is closed, and not shut down before, which
     * would take a stream's socket from it. */
    unsigned flags = MHD_USE_TURBO;
    if (s->tls) {
        options[LENGTH(options) - 3] =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)PRIORITIES};
        flags = MHD_USE_TLS;
    }
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                                MHD_USE_ERROR_LOG | flags,
                            0, NULL, NULL, connection_request, s, MHD_OPTION_ARRAY,
                            options, MHD_OPTION_END);
}

static bool start_listening(struct http_server *s, struct err *e)
{
    int family = s->self.address.ss_family;
    bool local = endpoint_is_unix(&s->self);
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot make a socket: %m");
    if (local ? local_bind(&s->local, fd, s->self.path, e) : bind_to(fd, &s->self, e)) {
        if (local)
            (void)snprintf(s->url, sizeof s->url, "unix:%s", s->self.path);
        else
            (void)snprintf(s->url, sizeof s->url, "http%s://%s:%u", s->tls ? "s" : "",
                           s->self.host, s->self.port);
        s->daemon = start_library(s, fd);
        if (s->daemon)
            return true;
        err_set(e, ERR_IO, "cannot start the HTTP server: %m");
    }
    close(fd);
    return false;
}

static bool open_tls(struct http_server *s, struct err *e)
{
    const struct http_options *o = &s->o;
    if (!o->tls_cert && !o->tls_key)
        return true;
    if (!o->tls_cert || !o->tls_key)
        return err_set(e, ERR_INVALID,
                       "TLS needs both a certificate and its key, as PEM files");
    s->tls = tls_open(o->tls_cert, o->tls_key, e);
    return s->tls != NULL;
}

/* Other machines come in by a credential alone, which nobody on the way may read. */
static bool may_listen(const struct http_server *s, struct err *e)
{
    const struct http_options *o = &s->o;
    if (endpoint_is_unix(&s->self) && s->tls)
        return err_set(
            e, ERR_INVALID,
            "cannot listen on '%.80s' with TLS: nothing of it leaves this machine",
            o->listen);
    if (endpoint_is_unix(&s->self) || endpoint_is_loopback(&s->self.address) ||
        (o->admit && (s->tls || o->behind_proxy)))
        return true;
    return err_set(
        e, ERR_DENIED,
        "cannot listen on '%.80s': other machines need tokens, and TLS (a certificate "
        "and its key) or a proxy declared with --behind-proxy; 127.0.0.1, [::1] and "
        "localhost need neither",
        o->listen);
}

struct http_server *http_open(const struct http_options *o, struct err *e)
{
    struct http_server *s = mem_new(sizeof *s);
    s->o = *o;
    put_defaults(&s->o);
    os_brief_mutex(&s->lock);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->quiet, NULL);
    s->watcher.epoll = s->watcher.wake = -1;
    os_brief_mutex(&s->links.lock);
    streams_init(s);

    /* For the threads that are begun here: where others are busy, an answer would wait
     * for a whole turn of theirs at each step from thread to thread. */
    uint64_t turn = os_thread_turn(TURN_NS);
    accounts_init(&s->accounts);
    s->local.dir = -1;
    bool ok = endpoint_parse(&s->self, o->listen, e) && open_tls(s, e) &&
              may_listen(s, e) && pool_start(s, e) && watch_start(s, e) &&
              start_listening(s, e);
    (void)os_thread_turn(turn);
    if (ok)
        return s;
    http_close(s, 0);
    return NULL;
}

bool http_tells_accounts(struct err *e)
{
    struct accounts a;
    accounts_init(&a);
    bool ok = accounts_work(&a, e);
    accounts_done(&a);
    return ok;
}

const char *http_url(const struct http_server *s)
{
    return s->url;
}

void http_expel(struct http_server *s)
{
    if (!s->o.stays)
        return;
    pool_expel(s, s->o.stays, s->o.admit_arg);
    streams_expel(s);
}

/* ---- the end ------------------------------------------------------------ */

/* Responses that were made still have to leave; a client that does not read may not hold
 * us up. */
static void server_flush(struct http_server *s)
{
    uint64_t until = os_in_ms(FLUSH_MS);
    while (atomic_load(&s->requests) && os_mono_ns() < until) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
}

static void stop_daemon(struct http_server *s, unsigned drain_ms)
{
    /* The library's thread may still look at the socket: it is shut now, and
     * closed when that thread is gone. */
    int listener = MHD_quiesce_daemon(s->daemon);
    if (listener >= 0)
        (void)shutdown(listener, SHUT_RDWR);
    atomic_store(&s->stopping, true);
    (void)pool_wait(s, os_in_ms(drain_ms));
    /* Nothing may be suspended when the library is told to stop. */
    pool_end(s);
    do {
        for (size_t i = 0; i < s->o.n_routes; i++)
            if (s->o.routes[i].stop)
                s->o.routes[i].stop(s->o.routes[i].arg);
        pool_cancel_all(s);
    } while (!pool_wait(s, os_in_ms(100)));
    streams_end(s);
    server_flush(s);
    MHD_stop_daemon(s->daemon);
    if (listener >= 0)
        close(listener);
}

void http_close(struct http_server *s, unsigned drain_ms)
{
    if (!s)
        return;
    if (s->daemon)
        stop_daemon(s, drain_ms);
    pool_end(s);
    pool_join(s);
    watch_stop(s);
    streams_close(s);
    tls_close(s->tls);
    local_remove(&s->local);
    accounts_done(&s->accounts);
    pthread_cond_destroy(&s->quiet);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->links.lock);
    free(s);
}
