/* A request from its first line to its last byte, on the library's threads:
 * who may not come in is refused, the body is collected, the route is asked.
 */

#include "http/server.h"

/* Bytes of a body that is not wanted any more. */
#define SKIP_MAX ((size_t)128 * 1024 * 1024)
#define METHOD_MAX 32u

/* ---- looks at a request ------------------------------------------------- */

struct str http_method(const struct http_request *rq)
{
    return str_of(rq->method);
}

struct str http_path(const struct http_request *rq)
{
    return rq->target->path;
}

struct str http_target(const struct http_request *rq)
{
    return rq->target->sent;
}

struct str http_body(const struct http_request *rq)
{
    return buf_view(&rq->body);
}

struct str http_part(const struct http_request *rq, size_t i)
{
    return i < rq->target->n_parts ? rq->target->parts[i] : (struct str){0};
}

size_t http_parts(const struct http_request *rq)
{
    return rq->target->n_parts;
}

struct str http_query(const struct http_request *rq, const char *name)
{
    for (unsigned i = 0; i < rq->target->n_query; i++)
        if (str_is(rq->target->query[i].name, name))
            return rq->target->query[i].value;
    return (struct str){0};
}

const void *http_admitted(const struct http_request *rq)
{
    return rq->admitted;
}

int request_socket(const struct http_request *rq)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(rq->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

struct cancel *http_cancel(struct http_request *rq)
{
    return &rq->cancel;
}

struct cancel *http_expelled(struct http_request *rq)
{
    return &rq->expelled;
}

/* ---- refusals ----------------------------------------------------------- */

bool request_refuse(struct http_request *rq, int status, const char *why)
{
    struct http_response rs;
    response_init(&rs);
    http_refuse(rq, &rs, status, "%s", why);
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        http_set_header(&rs, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    /* Where a request is not clear, neither is where the next one begins. */
    if (status == MHD_HTTP_BAD_REQUEST)
        http_set_header(&rs, MHD_HTTP_HEADER_CONNECTION, "close");
    response_put(rq, &rs);
    /* The body read so far is no longer needed, however slowly the rest comes. */
    buf_done(&rq->body);
    fair_let_go(rq->server, rq);
    return false;
}

/* ---- looks at a whole head ---------------------------------------------- */

/* How much of the path the route has: 0, or more for the better of two. */
static size_t route_match(const struct http_route *route, struct str path)
{
    size_t n = strlen(route->path);
    if (n == 0)
        return str_is(path, "/");
    if (route->path[n - 1] != '/')
        return str_is(path, route->path) ? n + 1 : 0;
    if (n == 1 || str_starts(path, route->path))
        return n;
    return path.n == n - 1 && memcmp(path.at, route->path, path.n) == 0 ? n : 0;
}

/* Before anything is refused, because a refusal is told as its route tells them. */
static void connection_find_route(struct http_request *rq)
{
    const struct http_options *o = &rq->server->o;
    size_t best = 0;
    for (size_t i = 0; i < o->n_routes; i++) {
        size_t n = route_match(&o->routes[i], rq->target->path);
        if (n > best) {
            best = n;
            rq->route = &o->routes[i];
        }
    }
}

/* With what there is: whoever was given the server's address alone finds the rest. */
static bool request_refuse_unknown(struct http_request *rq)
{
    const struct http_options *o = &rq->server->o;
    scoped_buf struct buf text = buf_of(BUF_LINE);
    buf_cstr(&text, "there is nothing at this path; there are");
    for (size_t i = 0; i < o->n_routes; i++) {
        struct str path = str_of(o->routes[i].path);
        if (path.n > 1 && path.at[path.n - 1] == '/')
            path.n--;
        if (path.n)
            buf_printf(&text, "%s %.*s", i ? "," : "", STR_ARGS(path));
    }
    return request_refuse(rq, MHD_HTTP_NOT_FOUND, buf_cz(&text));
}

static bool request_check_path(struct http_request *rq)
{
    for (unsigned i = 0; i < rq->target->n_parts; i++)
        if (rq->target->parts[i].n == 0)
            return request_refuse(rq, MHD_HTTP_NOT_FOUND, "the path has an empty part");
    if (rq->target->slashes && !(rq->route && rq->route->slashes))
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST,
                              "the path holds an encoded slash");
    if (!rq->route)
        return request_refuse_unknown(rq);
    if (rq->route->head && str_is(http_method(rq), "HEAD"))
        rq->method = "GET";
    return true;
}

static size_t body_limit(struct http_request *rq)
{
    const struct http_route *route = rq->route;
    size_t most = rq->server->o.body_max;
    return route->body_max > most && route->takes(route->arg, rq) ? route->body_max
                                                                  : most;
}

/* Two lengths, or a length and chunks, are how requests are smuggled. */
static bool check_length(struct http_request *rq)
{
    struct str coding = http_header(rq, "Transfer-Encoding");
    if (coding.at && (!str_same(coding, STR("chunked")) ||
                      http_header_count(rq, "Transfer-Encoding") > 1))
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST,
                              "Transfer-Encoding may be chunked, once, and nothing else");
    struct str text = http_header(rq, "Content-Length");
    rq->body.ceiling = body_limit(rq);
    if (!text.at)
        return true;
    size_t length = 0;
    bool wrong = text.n == 0 || http_header_count(rq, "Content-Length") > 1 ||
                 http_header(rq, "Transfer-Encoding").at;
    for (size_t i = 0; i < text.n && !wrong; i++) {
        wrong = text.at[i] < '0' || text.at[i] > '9';
        if (length < SIZE_MAX / 16)
            length = length * 10 + (size_t)(text.at[i] - '0');
    }
    if (wrong)
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST, "the body's length is not clear");
    if (length > rq->body.ceiling)
        return request_refuse(rq, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
    /* Room at once for the usual body; a large one has to arrive first. */
    if (length && length <= 64 * 1024)
        (void)buf_room(&rq->body, length);
    return true;
}

/* A page may send a body of no type to any server without asking; one that says what it
 * holds, only where that server lets it. */
static bool request_check_type(struct http_request *rq)
{
    struct str length = http_header(rq, "Content-Length");
    bool empty = !http_header(rq, "Transfer-Encoding").at &&
                 (!length.at || strspn(length.at, "0") >= length.n);
    return empty || http_header(rq, "Content-Type").n ||
           request_refuse(rq, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                          "a body needs Content-Type, such as application/json");
}

static enum MHD_Result keep_field(void *cls, enum MHD_ValueKind kind, const char *key,
                                  size_t key_size, const char *value, size_t value_size)
{
    (void)kind;
    struct http_request *rq = cls;
    if (rq->n_fields == FIELDS_MAX) {
        rq->n_fields++; /* seen by the guard as one too many */
        return MHD_NO;
    }
    struct str v = {value ? value : "", value ? value_size : 0};
    if (!head_is_token((struct str){key, key_size}) || !head_is_value(v))
        rq->bad_field = true;
    rq->fields[rq->n_fields++] = (struct field){{key, key_size}, str_trim(v)};
    return MHD_YES;
}

static bool screen(struct http_request *rq)
{
    struct http_server *s = rq->server;
    (void)MHD_get_connection_values_n(rq->connection, MHD_HEADER_KIND, keep_field, rq);
    if (rq->n_fields > FIELDS_MAX) {
        rq->n_fields = 0;
        return request_refuse(rq, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                              "too many header fields");
    }
    if (!head_is_token(str_of(rq->method)) || strlen(rq->method) > METHOD_MAX ||
        rq->bad_version)
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST,
                              "the first line must be METHOD TARGET HTTP/1.1");
    const char *fault = head_fault(rq);
    if (fault)
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST, fault);
    if (rq->bad_target)
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST, rq->bad_target);
    connection_find_route(rq);
    if (!caller_check(rq))
        return false;
    if (atomic_load(&s->stopping))
        return request_refuse(rq, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is stopping");
    return request_check_path(rq) && check_length(rq) && request_check_type(rq);
}

/* ---- the body ----------------------------------------------------------- */

static void body_collect(struct http_request *rq, const char *at, size_t n)
{
    struct http_server *s = rq->server;
    if (!buf_put(&rq->body, at, n)) {
        request_refuse(rq, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
        return;
    }
    size_t grown = rq->body.capacity - rq->body_held;
    if (grown && !fair_hold(s, rq, grown))
        request_refuse(rq, MHD_HTTP_SERVICE_UNAVAILABLE,
                       "too many large requests at a time: try again");
}

/* ---- answering ---------------------------------------------------------- */

static enum MHD_Result send_answer(struct http_request *rq)
{
    enum MHD_Result r = MHD_queue_response(rq->connection, rq->status, rq->answer);
    MHD_destroy_response(rq->answer);
    rq->answer = NULL;
    return r;
}

/* All of the request is there. */
static enum MHD_Result dispatch(struct http_request *rq)
{
    struct http_server *s = rq->server;
    const struct http_route *route = rq->route;
    rq->stage = STAGE_WHOLE;
    if (s->o.stays && !s->o.stays(s->o.admit_arg, rq->admitted)) {
        request_refuse(rq, MHD_HTTP_UNAUTHORIZED,
                       "the credential of this request is no longer valid; nothing "
                       "was done");
        return send_answer(rq);
    }
    if (route->begin) {
        struct http_response rs;
        response_init(&rs);
        if (route->begin(route->arg, rq, &rs, &rq->work)) {
            if (response_put(rq, &rs))
                return send_answer(rq);
            return MHD_NO; /* a stream has it */
        }
        response_done(&rs);
    }
    MHD_suspend_connection(rq->connection);
    rq->at_worker = true;
    if (pool_put(s, rq))
        return MHD_YES;
    if (rq->work && route->drop)
        route->drop(route->arg, take(rq->work));
    request_refuse(rq, MHD_HTTP_SERVICE_UNAVAILABLE, "all workers are busy: try again");
    MHD_resume_connection(rq->connection);
    return MHD_YES;
}

/* Before the body: with no answer yet, or where the client waits for leave to
 * send a body that nobody wants. Other refusals read what was sent first, so
 * that the connection lives on and the answer is not lost with it. */
static enum MHD_Result request_begin(struct http_request *rq)
{
    if (screen(rq)) {
        rq->stage = STAGE_BODY;
        return MHD_YES;
    }
    if (rq->stage == STAGE_LEFT)
        return MHD_NO;
    if (rq->status == MHD_HTTP_CONTENT_TOO_LARGE || http_header(rq, "Expect").at)
        return send_answer(rq);
    return MHD_YES;
}

enum MHD_Result connection_request(void *cls, struct MHD_Connection *c, const char *url,
                                   const char *method, const char *version,
                                   const char *upload, size_t *upload_size,
                                   void **con_cls)
{
    (void)cls;
    (void)url;
    struct http_request *rq = *con_cls;
    if (rq->stage == STAGE_LEFT)
        return MHD_NO;
    if (rq->stage == STAGE_NEW) {
        rq->connection = c;
        link_head(rq);
        rq->method = method;
        rq->version = version;
        rq->old_version = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
        rq->bad_version = !rq->old_version && strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
        return request_begin(rq);
    }
    link_body(rq, *upload_size);
    if (*upload_size == 0)
        link_whole(rq);
    if (*upload_size == 0)
        return rq->stage == STAGE_ANSWERED ? send_answer(rq) : dispatch(rq);

    if (rq->stage == STAGE_BODY) {
        body_collect(rq, upload, *upload_size);
        if (rq->stage == STAGE_LEFT)
            return MHD_NO;
    } else {
        /* Skipping costs little, and only at the end can the library answer; but
         * one that sends without end is cut off. */
        rq->skipped += *upload_size;
        if (rq->skipped > SKIP_MAX)
            return MHD_NO;
    }
    *upload_size = 0;
    return MHD_YES;
}

/* A request line has one blank before its target. libmicrohttpd refuses two from 1.0 on;
 * what came before skips them, and its buffer still tells. */
static bool has_two_blanks(const char *uri)
{
    return MHD_VERSION < 0x01000000 && *uri && uri[-1] == ' ';
}

void *connection_target(void *cls, const char *uri, struct MHD_Connection *c)
{
    struct http_server *s = cls;
    struct http_request *rq = mem_new(sizeof *rq);
    rq->server = s;
    rq->connection = c;
    if (has_two_blanks(uri))
        rq->bad_target = "it follows two spaces";
    else
        rq->target = target_parse(uri, &rq->bad_target);
    cancel_init(&rq->cancel);
    cancel_init(&rq->expelled);
    buf_init(&rq->body, s->o.body_max);
    atomic_fetch_add(&s->requests, 1);
    return rq;
}

/* ---- its end ------------------------------------------------------------ */

static void request_free(struct http_request *rq)
{
    struct http_server *s = rq->server;
    if (rq->admitted && !rq->streamed)
        s->o.release(s->o.admit_arg, rq->admitted);
    buf_done(&rq->body);
    fair_let_go(s, rq);
    free(rq->copies);
    free(rq->target);
    free(rq);
    atomic_fetch_sub(&s->requests, 1);
}

void request_done(struct http_request *rq)
{
    if (!rq->detached || atomic_fetch_sub(&rq->holders, 1) == 1)
        request_free(rq);
}

void connection_done(void *cls, struct MHD_Connection *c, void **con_cls,
                     enum MHD_RequestTerminationCode why)
{
    struct http_request *rq = *con_cls;
    (void)cls;
    (void)c;
    (void)why;
    if (!rq)
        return;
    *con_cls = NULL;
    if (rq->answer)
        MHD_destroy_response(take(rq->answer));
    link_rest(rq);
    request_done(rq);
}

static struct str copy_to(char **to, struct str s)
{
    struct str copy = {*to, s.n};
    memcpy(*to, s.at, s.n);
    (*to)[s.n] = 0;
    *to += s.n + 1;
    return copy;
}

void request_detach(struct http_request *rq)
{
    size_t n = strlen(rq->method) + 1;
    for (unsigned i = 0; i < rq->n_fields; i++)
        n += rq->fields[i].name.n + rq->fields[i].value.n + 2;
    char *to = rq->copies = mem_new(n); /* bounded by what the library takes in */
    rq->method = copy_to(&to, str_of(rq->method)).at;
    for (unsigned i = 0; i < rq->n_fields; i++) {
        rq->fields[i].name = copy_to(&to, rq->fields[i].name);
        rq->fields[i].value = copy_to(&to, rq->fields[i].value);
    }
    (void)http_peer(rq);
    rq->whence = http_whence(rq);
    atomic_store(&rq->holders, 2);
    pool_detach(rq->server, rq);
    MHD_resume_connection(rq->connection);
}
