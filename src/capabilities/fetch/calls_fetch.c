/* The host call fetch, under the policy of the vault in which the evaluation works.
 * fetch.js is its side in the guest. */
#include <stdio.h>

#include "caller/caller.h"
#include "calls/calls.h"
#include "crypto/crypto.h"
#include "egress/egress.h"
#include "evaluation/evaluation.h"
#include "fetch/fetch.api.h"
#include "fetch/fetch.h"
#include "performing/performing.h"
#include "place/place.h"
#include "policy/policy.h"
#include "record/record.h"
#include "script/script.h"
#include "json/json.h"

#define BODY_MAX ((size_t)8 << 20) /* egress has a lower limit, and reports it */

EMBED(fetch_js, "src/capabilities/fetch/fetch.js");

/* ---- the policy's rules ------------------------------------------------- */

/* The connections of one place; created at its first request. */
struct network {
    struct network *next;
    const struct place *place;
    struct egress_rules *rules;
    struct egress *session;
};

/* ---- sessions ----------------------------------------------------------- */

static bool network_check(const struct place *place, struct err *e)
{
    const struct permit *p = &place->permit;
    const struct network_policy *network = policy_values(p->policy, &network_policy);
    if (p->level != LEVEL_FULL)
        return err_set(e, ERR_DENIED, "enableNetwork is not allowed at the level '%s'",
                       level_name(p->level));
    if (!network->hosts.n && !network->allow_private.n)
        return err_set(
            e, ERR_DENIED,
            "enableNetwork: the policy allows no host; a person can allow one: "
            "cloche policy set network.hosts api.example.org");
    return true;
}

/* For the audit trail: each host that a request went to, also refused or by a
 * redirect. */
static void record_host(void *arg, const struct egress_hop *hop)
{
    const struct network *n = arg;
    char host[300];
    bool usual = hop->port == (strcmp(hop->scheme, "https") ? 80 : 443);
    (void)snprintf(host, sizeof host, usual ? "%s" : "%s:%u", hop->host, hop->port);
    account_host(n->place->part, host);
}

static struct egress *session_of(struct evaluation *v, const struct place *place,
                                 struct err *e)
{
    struct network *n = *evaluation_part(v, &fetch_capability);
    while (n && n->place != place)
        n = n->next;
    if (n)
        return n->session;
    struct egress_rules *rules =
        network_rules(policy_values(place->permit.policy, &network_policy), NULL, e);
    if (!rules)
        return NULL;
    n = mem_new(sizeof *n);
    *n = (struct network){
        .next = *evaluation_part(v, &fetch_capability), .place = place, .rules = rules};
    n->session = egress_open(
        &(struct egress_options){.rules = rules,
                                 .own_port = atomic_load(&v->actions->own_port),
                                 .cancel = &v->stopping,
                                 .loop = capability_own(v->actions, &fetch_capability),
                                 .tell = record_host,
                                 .tell_arg = n});
    *evaluation_part(v, &fetch_capability) = n;
    return n->session;
}

/* The session of the current place. */
static struct egress *session_here(struct evaluation *v, struct err *e)
{
    pthread_mutex_lock(&v->lock);
    struct egress *g = session_of(v, v->here, e);
    pthread_mutex_unlock(&v->lock);
    return g;
}

static void network_close(struct evaluation *v)
{
    for (struct network *n = *evaluation_part(v, &fetch_capability), *next; n; n = next) {
        next = n->next;
        egress_close(n->session);
        egress_rules_free(n->rules);
        free(n);
    }
}

/* ---- the call ----------------------------------------------------------- */

/* A request from its object, its headers in `headers` and its body in `body`. */
static bool read_request(const struct json *o, struct egress_request *q,
                         struct egress_header *headers, struct buf *body, struct err *e)
{
    struct str redirect = json_str(json_get(o, "redirect"));
    *q = (struct egress_request){.method = json_str(json_get(o, "method")),
                                 .url = json_str(json_get(o, "url")),
                                 .headers = headers,
                                 .redirect = str_is(redirect, "manual")  ? EGRESS_MANUAL
                                             : str_is(redirect, "error") ? EGRESS_ERROR
                                                                         : EGRESS_FOLLOW,
                                 .id = (uint32_t)json_int(json_get(o, "id"), 0)};
    const struct json *list = json_get(o, "headers");
    if (json_length(list) > EGRESS_HEADERS_MAX)
        return err_set(e, ERR_LIMIT, "%zu headers; at most %u are accepted",
                       json_length(list), EGRESS_HEADERS_MAX);
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        headers[q->header_count++] = (struct egress_header){
            json_str(json_at(it.value, 0)), json_str(json_at(it.value, 1))};
    const struct json *text = json_get(o, "body");
    q->has_body = text != NULL;
    if (text && !crypto_base64_read(json_str(text), body, e))
        return err_wrap(e, "fetch: the body");
    q->body = buf_view(body);
    return true;
}

/* A read-only scope sends no request that could change anything. */
static bool check_reading(const struct evaluation *v, struct str method, struct err *e)
{
    bool reads =
        str_is(method, "GET") || str_is(method, "HEAD") || str_is(method, "OPTIONS");
    if (reads || !v->here->permit.read_only)
        return true;
    return err_set(
        e, ERR_DENIED,
        "a %.*s request could change something, and the policy is readOnly; GET, "
        "HEAD and OPTIONS are accepted; nothing was sent",
        STR_ARGS(str_cut(method, 32)));
}

static bool put_response(const struct egress_response *r, struct json_writer *out,
                         struct err *e)
{
    scoped_buf struct buf body;
    buf_init(&body, 2 * BODY_MAX);
    if (r->body.n && !crypto_base64(r->body.at, r->body.n, &body))
        return err_set(e, ERR_LIMIT, "the response exceeds the size limit");
    json_open_object(out);
    json_pair_int(out, "status", r->status);
    json_pair_str(out, "statusText", buf_view(&r->status_text));
    json_pair_str(out, "url", buf_view(&r->url));
    json_pair_bool(out, "redirected", r->redirected);
    json_pair_raw(out, "headers", buf_view(&r->headers));
    json_pair_str(out, "body", buf_view(&body));
    json_close(out);
    return true;
}

/* Whether it is a cancellation, which is answered at once. */
static bool is_abort(struct egress *session, const struct json *o)
{
    const struct json *id = json_get(o, "abort");
    if (id)
        egress_abort(session, (uint32_t)json_int(id, 0));
    return id != NULL;
}

static bool call_fetch(struct calling *x, struct json_writer *out, struct err *e)
{
    const struct json *o = call_options(x->args, "fetch", e);
    struct egress *session = o ? session_here(x->v, e) : NULL;
    if (!session)
        return false;
    if (is_abort(session, o))
        return true;
    struct egress_request q;
    struct egress_header headers[EGRESS_HEADERS_MAX];
    struct egress_response r;
    scoped_buf struct buf body;
    buf_init(&body, BODY_MAX);
    if (!read_request(o, &q, headers, &body, e) || !check_reading(x->v, q.method, e))
        return false;
    egress_response_init(&r);
    bool ok = egress_fetch(session, &q, &r, e) && put_response(&r, out, e);
    egress_response_done(&r);
    return ok;
}

/* ---- without a thread --------------------------------------------------- */

struct fetching {
    struct egress_header headers[EGRESS_HEADERS_MAX];
    struct egress_response response;
    struct buf body; /* the request's */
    struct egress_trip *trip;
};

static void fetching_free(struct fetching *f)
{
    buf_done(&f->body);
    egress_response_done(&f->response);
    free(f);
}

static void fetch_wake(void *task)
{
    script_wake(task);
}

static bool fetch_look(struct calling *x, struct buf *out, struct err *e)
{
    struct fetching *f = x->state;
    if (!calling_over(x) && !egress_look(f->trip)) {
        calling_wait(x, fetch_look, SCRIPT_WAIT_HEAVY, UINT64_MAX);
        return false;
    }
    struct json_writer w = json_writer(out);
    bool ok = egress_end(f->trip, e) && put_response(&f->response, &w, e);
    fetching_free(f);
    return ok;
}

static bool begin_fetch(struct calling *x, struct buf *out, struct err *e)
{
    const struct json *o = call_options(x->args, "fetch", e);
    struct egress *session = o ? session_here(x->v, e) : NULL;
    if (!session || is_abort(session, o))
        return session != NULL;
    struct egress_request q;
    struct fetching *f = mem_new(sizeof *f);
    buf_init(&f->body, BODY_MAX);
    egress_response_init(&f->response);
    if (read_request(o, &q, f->headers, &f->body, e) && check_reading(x->v, q.method, e))
        f->trip = egress_begin(session, &q, &f->response, fetch_wake, x->task, e);
    if (!f->trip) {
        fetching_free(f);
        return false;
    }
    calling_leave_vault(x);
    x->state = f;
    return fetch_look(x, out, e);
}

/* ---- rows --------------------------------------------------------------- */

/* Shared types that signatures name. */
static const struct api_type types[] = {
    FETCH_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "fetch", .sync = true, /* to cancel: does not queue behind slow calls */
          .slow = true, .wrap = fetch_js, .feature = FEATURE_NETWORK,
          .shared = true), /* its classes are the same for all vaults */
     .signature = FETCH_SIGNATURE,
     .summary =
         "sends an HTTP request; only with enableNetwork, to hosts that the policy allows",
     .call = call_fetch, .level = LEVEL_FULL, .begin = begin_fetch,
     .details =
         "As in browsers and Node.js, with Headers, Request and Response. {{secret:NAME}} in a header's value is replaced with the policy's secret when the request is sent. At most 100 requests in an evaluation, 30 s each, bodies of 4 MiB sent and 8 MiB received.",
     .errors =
         "PermissionDenied: the policy does not allow the host, or its address is "
         "private. InvalidInput: URL, method or headers. Timeout. LimitExceeded. IoError: "
         "the network, or a certificate.",
     .example = "const response = await fetch('https://api.example.org/items', {headers: "
                "{Authorization: 'Bearer {{secret:API}}'}});\n"
                "if (!response.ok) throw new Error(`status ${response.status}`);\n"
                "return await response.json();",
     .words =
         "http https request get post url download web internet api rest axios network"},
};
/* Declarations besides fetch. */
static const char world[] =
    "/** This, the two below and fetch are there with enableNetwork only. */\n"
    "declare class Headers {\n"
    "  constructor(init?: Headers | [string, string][] | {[name: string]: string});\n"
    "  append(name: string, value: string): void; set(name: string, value: string): void;\n"
    "  delete(name: string): void; has(name: string): boolean;\n"
    "  get(name: string): string | null; getSetCookie(): string[];\n"
    "  keys(): IterableIterator<string>; values(): IterableIterator<string>;\n"
    "  entries(): IterableIterator<[string, string]>;\n"
    "  [Symbol.iterator](): IterableIterator<[string, string]>;\n"
    "  forEach(run: (value: string, name: string, headers: Headers) => void): void;\n"
    "}\n"
    "declare class Request {\n"
    "  constructor(input: string | URL | Request, init?: RequestOptions);\n"
    "  readonly url: string; readonly method: string; readonly headers: Headers;\n"
    "  readonly redirect: string; readonly signal: AbortSignal; readonly bodyUsed: boolean;\n"
    "  text(): Promise<string>; json(): Promise<any>; bytes(): Promise<Uint8Array>;\n"
    "  arrayBuffer(): Promise<ArrayBuffer>; clone(): Request;\n"
    "}\n"
    "declare class Response {\n"
    "  constructor(body?: RequestOptions['body'], init?: {status?: number; statusText?: string; headers?: RequestOptions['headers']});\n"
    "  static json(data: any, init?: {status?: number; headers?: RequestOptions['headers']}): Response;\n"
    "  static error(): Response; static redirect(url: string | URL, status?: number): Response;\n"
    "  readonly status: number; readonly ok: boolean; readonly statusText: string; readonly url: string;\n"
    "  readonly headers: Headers; readonly redirected: boolean; readonly type: string; readonly bodyUsed: boolean;\n"
    "  text(): Promise<string>; json(): Promise<any>; bytes(): Promise<Uint8Array>;\n"
    "  arrayBuffer(): Promise<ArrayBuffer>; clone(): Response;\n"
    "}\n";

static const char *const programs[] = {"curl", "wget", "http", "fetch", NULL};
static const struct feature feature = {
    .bit = FEATURE_NETWORK,
    .option = "enableNetwork",
    .missing =
        "The network is available only with enableNetwork, to hosts that the person's policy names.",
    .programs = programs,
    .world = world,
    .check = network_check};
static const struct host_call_group fetch_calls = {TABLE(rows), TYPES(types),
                                                   .order = 100, .feature = &feature};

/* One loop drives all fetches. */
static void *open_loop(struct actions *a)
{
    (void)a;
    return egress_loop_new();
}

static void close_loop(void *own)
{
    egress_loop_free(own);
}

const struct capability fetch_capability = {.calls = CALLS(&fetch_calls),
                                            .open = open_loop,
                                            .close = close_loop,
                                            .end = network_close,
                                            .policies = POLICIES(&network_policy)};
