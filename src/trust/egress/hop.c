/* A request over libcurl, which is told to do nothing by itself: no redirects, no
 * proxies, no stored credentials, and no socket before its address was looked at. */
#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "egress/internal.h"
#include "os/os.h"

#define LOOK_UP_MS 50       /* how often a wait asks whether it was called off */
#define CONNECT_MS 10000L   /* name, socket and TLS together */
#define RECEIVE_BYTES 65536 /* of curl's own buffer */
#define STREAM_LOOK_UP_MS 1000

struct line *line_open(struct err *e)
{
    struct line *l = mem_new(sizeof *l);
    l->multi = curl.multi_init();
    l->easy = curl.easy_init();
    if (l->multi && l->easy)
        return l;
    line_close(l);
    err_set(e, ERR_LIMIT, "no memory for a connection");
    return NULL;
}

void line_close(struct line *l)
{
    if (!l)
        return;
    curl.easy_cleanup(l->easy);
    curl.multi_cleanup(l->multi);
    free(l);
}

/* ---- curl's callbacks --------------------------------------------------- */

static void refuse_address(struct hop *h, const struct sockaddr *sa, const char *why)
{
    char text[INET6_ADDRSTRLEN] = "?";
    const void *at = sa->sa_family == AF_INET
                         ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
                         : (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr;
    if (sa->sa_family == AF_INET || sa->sa_family == AF_INET6)
        (void)inet_ntop(sa->sa_family, at, text, sizeof text);
    err_set(&h->refused, ERR_DENIED,
            "%s has the address %s, which is %s; nothing was sent; the person can grant "
            "private addresses in the policy: network.allowPrivate",
            h->to->host, text, why);
}

/* The last gate: what curl is about to connect to, whatever the name was. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *s)
{
    struct hop *h = arg;
    struct address a = {0};
    uint16_t port = 0;
    const struct egress_options *o = h->options;
    const char *why = NULL;
    if (purpose != CURLSOCKTYPE_IPCXN || !address_of(&s->addr, s->addrlen, &a, &port))
        why = "of no family that is known";
    else if (o->own_port && port == o->own_port && address_is_own(&a))
        why = "where this program itself listens";
    else
        why = rules_refuse_address(o->rules, EGRESS_HTTPS, &a, port);
    if (!why || !h->opened) {
        h->address = a;
        h->port = port;
    }
    if (why) {
        refuse_address(h, &s->addr, why);
        return CURL_SOCKET_BAD; /* curl goes on to the name's next address */
    }
    h->opened = true;
    return socket(s->family, s->socktype | SOCK_CLOEXEC, s->protocol);
}

static size_t take_body(char *at, size_t size, size_t n, void *arg)
{
    struct hop *h = arg;
    if (h->streams) {
        bool ok = h->taker->body(h->taker->arg, (struct str){at, size * n}, &h->why);
        h->moved_ns = os_mono_ns();
        return ok ? size * n : 0;
    }
    if (buf_put(&h->out->body, at, size * n))
        return size * n;
    err_set(&h->why, ERR_LIMIT,
            "the answer of %s has more than %zu bytes; ask for less, for example with a "
            "Range header",
            h->to->host, h->options->response_max);
    return 0;
}

/* Behind the last header of an answer that is no 1xx. */
static bool end_head(struct hop *h)
{
    const char *space =
        h->received->n ? memchr(h->received->at, ' ', h->received->n) : NULL;
    const char *end = h->received->at + h->received->n;
    h->out->status = 0;
    for (int i = 1; space && i <= 3 && space + i < end; i++)
        h->out->status = 10 * h->out->status + (space[i] - '0');
    if (h->out->status < 200)
        return true;
    h->head_over = true;
    h->moved_ns = os_mono_ns();
    return h->taker->head(h->taker->arg, &h->streams, &h->why);
}

static size_t take_header(char *at, size_t size, size_t n, void *arg)
{
    struct hop *h = arg;
    size_t length = size * n;
    h->header_bytes += length;
    if (h->header_bytes > h->options->headers_max) {
        err_set(&h->why, ERR_LIMIT, "the answer of %s has more than %zu bytes of headers",
                h->to->host, h->options->headers_max);
        return 0;
    }
    if (h->streams) /* a trailer */
        return length;
    /* A status line begins another answer: what stood there was a 1xx. */
    if (length > 5 && !strncasecmp(at, "HTTP/", 5))
        buf_clear(h->received);
    buf_put(h->received, at, length);
    if (h->taker && !h->head_over && length <= 2 && !end_head(h))
        return 0;
    return length;
}

/* ---- setting it up ------------------------------------------------------ */

static struct curl_slist *add_line(struct curl_slist *list, const char *line)
{
    struct curl_slist *longer = curl.slist_append(list, line);
    must(longer != NULL);
    return longer;
}

/* Curl leaves a header without a value out, unless it ends in ';'. */
static struct curl_slist *list_headers(const struct hop *h)
{
    struct curl_slist *list = add_line(NULL, "Expect:");
    if (!has_header(h->lines, "Content-Type"))
        list = add_line(list, "Content-Type:");
    scoped_buf struct buf line = buf_of(h->lines->n + 2);
    struct str rest = buf_view(h->lines);
    while (rest.n) {
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.at) : rest.n;
        struct str one = str_trim((struct str){rest.at, n});
        buf_clear(&line);
        if (str_ends(one, ":"))
            one.n--, buf_str(&line, one), buf_char(&line, ';');
        else
            buf_str(&line, one);
        list = add_line(list, buf_cz(&line));
        explicit_bzero(line.at, line.n);
        rest.at += n + (end != NULL);
        rest.n -= n + (end != NULL);
    }
    return list;
}

static void list_free(struct curl_slist *list)
{
    for (struct curl_slist *l = list; l; l = l->next)
        explicit_bzero(l->data, strlen(l->data));
    curl.slist_free_all(list);
}

static void set_safety(CURL *c)
{
    curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(c, CURLOPT_PROXY, "");
    curl.easy_setopt(c, CURLOPT_NOPROXY, "*");
    curl.easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl.easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
    curl.easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
    curl.easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl.easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl.easy_setopt(c, CURLOPT_HTTP09_ALLOWED, 0L);
    curl.easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl.easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    /* A resolver that hangs is left behind, not waited for. */
    curl.easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
}

static void set_callbacks(CURL *c, struct hop *h)
{
    curl.easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl.easy_setopt(c, CURLOPT_OPENSOCKETDATA, h);
    curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl.easy_setopt(c, CURLOPT_WRITEDATA, h);
    curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl.easy_setopt(c, CURLOPT_HEADERDATA, h);
    curl.easy_setopt(c, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
}

static void set_request(CURL *c, const struct hop *h, struct curl_slist *headers)
{
    curl.easy_setopt(c, CURLOPT_CURLU, h->to->url);
    curl.easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    if (h->has_body) {
        curl.easy_setopt(c, CURLOPT_POST, 1L);
        curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)h->body.n);
        curl.easy_setopt(c, CURLOPT_POSTFIELDS, h->body.at);
    } else if (!strcmp(h->method, "HEAD")) {
        curl.easy_setopt(c, CURLOPT_NOBODY, 1L);
    }
    curl.easy_setopt(c, CURLOPT_CUSTOMREQUEST, h->method);
}

/* ---- running ------------------------------------------------------------ */

static bool hop_explain(struct hop *h, CURLcode code, const char *detail, struct err *e)
{
    const char *host = h->to->host;
    if (h->why.code)
        return err_set(e, h->why.code, "%s", h->why.msg);
    if (h->refused.code && !h->opened)
        return err_set(e, h->refused.code, "%s", h->refused.msg);
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(e, ERR_TIMEOUT,
                       "%s gave no whole answer within the time of a fetch", host);
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(e, ERR_IO, "the name %s cannot be resolved", host);
    case CURLE_OUT_OF_MEMORY:
        return err_set(e, ERR_LIMIT, "no memory for the answer of %s", host);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return err_set(e, ERR_INVALID, "the URL of %s cannot be fetched", host);
    case CURLE_PEER_FAILED_VERIFICATION:
        return err_set(e, ERR_IO, "the certificate of %s is not to be trusted: %.120s",
                       host, detail[0] ? detail : curl.easy_strerror(code));
    default:
        return err_set(e, ERR_IO, "the request to %s failed: %.160s", host,
                       detail[0] ? detail : curl.easy_strerror(code));
    }
}

/* Is it to go on? */
static bool goes_on(struct hop *h)
{
    if (h->stopped(h->stopped_arg))
        return err_set(&h->why, ERR_CANCELLED, "the request to %s was called off",
                       h->to->host);
    uint64_t now = os_mono_ns(), silence = h->options->silence_ms;
    if (h->streams && now - h->moved_ns > silence * 1000000)
        return err_set(&h->why, ERR_TIMEOUT, "%s sent nothing for %llu seconds",
                       h->to->host, (unsigned long long)(silence / 1000));
    if (!h->streams && now >= h->until_ns)
        return err_set(&h->why, ERR_TIMEOUT,
                       "%s gave no whole answer within the time of a fetch", h->to->host);
    return !h->taker || h->taker->goes_on(h->taker->arg, &h->why);
}

/* Until it is done, called off or too late. */
static CURLcode drive(struct hop *h, struct line *l)
{
    int running = 1, left;
    while (running) {
        if (!goes_on(h))
            return CURLE_ABORTED_BY_CALLBACK;
        if (curl.multi_perform(l->multi, &running) != CURLM_OK)
            return CURLE_OUT_OF_MEMORY;
        struct curl_waitfd hung = {.fd = h->taker ? h->taker->fd : -1};
        if (running)
            (void)curl.multi_poll(l->multi, &hung, h->taker != NULL,
                                  h->streams ? STREAM_LOOK_UP_MS : LOOK_UP_MS, NULL);
    }
    const CURLMsg *m = curl.multi_info_read(l->multi, &left);
    return m ? m->data.result : CURLE_OUT_OF_MEMORY;
}

static void count_bytes(struct hop *h, CURL *c)
{
    curl_off_t up = 0, down = 0;
    long request = 0;
    curl.easy_getinfo(c, CURLINFO_SIZE_UPLOAD_T, &up);
    curl.easy_getinfo(c, CURLINFO_SIZE_DOWNLOAD_T, &down);
    curl.easy_getinfo(c, CURLINFO_REQUEST_SIZE, &request);
    h->sent_bytes = (uint64_t)up + (uint64_t)request;
    h->received_bytes = (uint64_t)down + h->header_bytes;
}

/* A connection that was refused, or that broke off, is not kept. */
bool hop_begin(struct hop *h, struct line *l)
{
    h->line = l;
    h->headers = list_headers(h);
    h->resolve = NULL;
    h->began_ns = os_mono_ns();
    h->code = CURLE_OUT_OF_MEMORY;
    curl.easy_reset(l->easy);
    set_safety(l->easy);
    set_callbacks(l->easy, h);
    set_request(l->easy, h, h->headers);
    h->detail[0] = '\0';
    curl.easy_setopt(l->easy, CURLOPT_ERRORBUFFER, h->detail);
    uint64_t now = os_mono_ns();
    long left_ms = h->until_ns > now ? (long)((h->until_ns - now) / 1000000u) + 1 : 1;
    curl.easy_setopt(l->easy, CURLOPT_TIMEOUT_MS, h->taker ? 0L : left_ms);
    curl.easy_setopt(l->easy, CURLOPT_CONNECTTIMEOUT_MS,
                     left_ms < CONNECT_MS ? left_ms : CONNECT_MS);
    for (const char *const *r = h->options->resolve; r && *r; r++)
        h->resolve = add_line(h->resolve, *r);
    curl.easy_setopt(l->easy, CURLOPT_RESOLVE, h->resolve);
    return curl.multi_add_handle(l->multi, l->easy) == CURLM_OK;
}

void hop_end(struct hop *h)
{
    struct line *l = h->line;
    long status = 0;
    curl.multi_remove_handle(l->multi, l->easy);
    curl.easy_getinfo(l->easy, CURLINFO_RESPONSE_CODE, &status);
    h->out->status = (int)status;
    count_bytes(h, l->easy);
    curl.easy_reset(l->easy);
    list_free(h->headers);
    curl.slist_free_all(h->resolve);
}

bool hop_outcome(struct hop *h, struct err *e)
{
    return h->code == CURLE_OK || hop_explain(h, h->code, h->detail, e);
}

bool hop_run(struct hop *h, struct line *l, struct err *e)
{
    if (hop_begin(h, l))
        h->code = drive(h, l);
    hop_end(h);
    return hop_outcome(h, e);
}
