/* The first line is an HTTP client's headers: version, method and name. Each other line
 * is a message, taken in one session over stdio and, with the headers, over HTTP. A
 * request gets one answer with its id; every answer is JSON-RPC 2.0 on one line. */
#include <yyjson.h> /* another reader than the one that is tried */

#include "driver.h"
#include "mcp/core.h"
#include "mcp/mcp.h"

/* ---- a backend ---------------------------------------------------------- */

#define SCHEMA "{\"type\":\"object\"}"

static const struct action actions[] = {
    {"echo", "Echo", "Answers its arguments.", SCHEMA, SCHEMA, true, false, true, false},
    {"refuse", "Refuse", "Runs, in vain.", SCHEMA, NULL, false, true, false, true},
    {"fail", "Fail", "Does not run.", SCHEMA, NULL, true, false, true, false},
    {"ask", "Ask", "Asks twice, and may take long.", SCHEMA, NULL, true, false, true,
     false},
};

#define FORM                                                                       \
    "{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" \
    "\"v\":{\"type\":\"string\"}},\"required\":[\"v\"]}}"
static const struct client_question questions[] = {
    {"one", "elicitation/create", {FORM, sizeof FORM - 1}, false, NULL},
    {"two", "roots/list", {"{}", 2}, false, NULL}};

static bool ask(const struct client *client, struct answer *out, struct err *e)
{
    const struct json *answers[2];
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    for (size_t i = 0; i < LENGTH(questions); i++)
        if (!client_ask(client, &questions[i], 1, a, &answers[i], e))
            return false;
    holds(json_is(json_get(answers[0], "action"), JSON_STRING));
    holds(json_is(json_get(answers[1], "roots"), JSON_ARRAY));
    struct err ignored = {0};
    (void)client_later(client, &ignored);
    return buf_cstr(&out->json, "{\"asked\":true}");
}

static const struct action *list(void *arg, size_t *n)
{
    (void)arg;
    *n = LENGTH(actions);
    return actions;
}

static const struct action *named(void *arg, struct str name)
{
    (void)arg;
    for (size_t i = 0; i < LENGTH(actions); i++)
        if (str_is(name, actions[i].name))
            return &actions[i];
    return NULL;
}

static bool perform(void *arg, const struct action *which, const struct json *arguments,
                    const struct caller *who, struct answer *out, struct err *e)
{
    (void)arg;
    holds(who->name);
    if (cancel_fired(who->cancel))
        return err_set(e, ERR_CANCELLED, "cancelled before it began");
    if (which == &actions[2])
        return err_set(e, ERR_NOT_FOUND, "no note 'x'");
    if (which == &actions[3])
        return ask(who->client, out, e);
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair(&w, "was", arguments);
    json_close(&w);
    out->is_error = which == &actions[1];
    return true;
}

/* ---- answers ------------------------------------------------------------ */

static bool says(yyjson_val *object, const char *key, const char *text)
{
    return yyjson_equals_str(yyjson_obj_get(object, key), text);
}

static void holds_answer(yyjson_val *v)
{
    yyjson_val *error = yyjson_obj_get(v, "error"), *id = yyjson_obj_get(v, "id");
    holds(yyjson_is_obj(v) && says(v, "jsonrpc", "2.0"));
    /* What could not be read has no id that could be said. */
    holds(id ? yyjson_is_str(id) || yyjson_is_num(id) || yyjson_is_raw(id) ||
                   yyjson_is_null(id)
             : error != NULL);
    holds(yyjson_obj_size(v) == (id ? 3u : 2u));
    if (!error) {
        holds(yyjson_is_obj(yyjson_obj_get(v, "result")));
        return;
    }
    holds(yyjson_is_int(yyjson_obj_get(error, "code")));
    holds(yyjson_get_len(yyjson_obj_get(error, "message")) > 0);
}

static yyjson_doc *parse(struct str text)
{
    return yyjson_read(text.at, text.n, YYJSON_READ_BIGNUM_AS_RAW);
}

/* Is it one request, well formed as JSON-RPC goes? */
static bool is_request(yyjson_val *v)
{
    yyjson_val *id = yyjson_obj_get(v, "id");
    return says(v, "jsonrpc", "2.0") && yyjson_is_str(yyjson_obj_get(v, "method")) &&
           (yyjson_is_str(id) || yyjson_is_int(id));
}

/* `out` is what came of the message; `unwanted`: it was cancelled before it ran. */
static void check_answer(struct str message, const struct reply *r, bool http,
                         bool unwanted)
{
    struct str out = buf_view(r->out);
    yyjson_doc *asked = parse(message), *answer = parse(out);
    yyjson_val *q = yyjson_doc_get_root(asked), *a = yyjson_doc_get_root(answer);
    holds(!r->out->failed && !memchr(out.at, '\n', out.n));
    holds((answer != NULL) == (out.n > 0));
    if (http)
        holds(out.n ? r->status == 200 || r->status == 400 || r->status == 404
                    : r->status == 202 || r->attached || unwanted);
    size_t i, n;
    yyjson_val *one;
    if (yyjson_is_arr(a)) {
        holds(yyjson_is_arr(q) && yyjson_arr_size(a) >= 1 &&
              yyjson_arr_size(a) <= yyjson_arr_size(q));
        yyjson_arr_foreach(a, i, n, one) holds_answer(one);
    } else if (a) {
        holds_answer(a);
    }
    /* What is no message at all, to us or to both, is answered without its id. */
    if (yyjson_is_obj(a) && is_request(q)) {
        yyjson_val *id = yyjson_obj_get(a, "id");
        yyjson_val *code = yyjson_obj_get(yyjson_obj_get(a, "error"), "code");
        holds(!id || yyjson_is_null(id) ? yyjson_get_int(code) == RPC_PARSE
                                        : yyjson_equals(id, yyjson_obj_get(q, "id")));
    }
    holds(a || (asked && !is_request(q)) || unwanted || r->attached);
    yyjson_doc_free(answer);
    yyjson_doc_free(asked);
}

/* ---- who listens -------------------------------------------------------- */

static bool hear(void *arg, struct str message)
{
    (void)arg;
    yyjson_doc *doc = parse(message);
    yyjson_val *v = yyjson_doc_get_root(doc);
    holds(says(v, "jsonrpc", "2.0") && (yyjson_is_str(yyjson_obj_get(v, "method")) ||
                                        yyjson_is_obj(yyjson_obj_get(v, "result"))));
    yyjson_doc_free(doc);
    return true;
}

static void attach(void *arg, struct listener *l, struct str first)
{
    const struct sink sink = {.say = hear, .arg = arg};
    (void)hear(arg, first);
    listener_start(l, &sink, NULL);
}

static bool hear_changes(void *arg, workspaces_change_fn *fn, void *fn_arg, struct err *e)
{
    (void)arg;
    (void)e;
    const struct workspaces_change all = {.what = CHANGED_ALL, .uri = {"", 0}};
    fn(fn_arg, &all);
    return true;
}

static void unhear_changes(void *arg, workspaces_change_fn *fn, void *fn_arg)
{
    (void)arg;
    (void)fn;
    (void)fn_arg;
}

static bool follow(void *arg, const struct caller *who, struct str uri,
                   struct buf *canonical, struct err *e)
{
    (void)arg;
    holds(who->name);
    return uri.n ? buf_str(canonical, uri) : err_set(e, ERR_NOT_FOUND, "no resource ''");
}

/* ---- messages ----------------------------------------------------------- */

#define WAITING_MAX 4 /* calls that wait before they run, so that they can be cancelled */

struct peer {
    struct mcp *m;
    struct session session;
    struct envelope env;
    struct buf out;
    struct {
        struct str message;
        struct call *call;
    } waiting[WAITING_MAX];
    size_t count;
};

static void run_waiting(struct peer *c)
{
    const struct front front = {.who = "fuzz", .attach = attach};
    for (size_t i = 0; i < c->count; i++) {
        bool unwanted = c->waiting[i].call->unwanted;
        struct reply r = {.out = &c->out};
        buf_clear(&c->out);
        call_run(c->waiting[i].call, &front, &r);
        check_answer(c->waiting[i].message, &r, c->env.http, unwanted);
    }
    c->count = 0;
}

static void send(struct peer *c, struct str message)
{
    struct reply r = {.out = &c->out};
    buf_clear(&c->out);
    struct call *call = take_message(c->m, message, &c->env, &r);
    if (!call) {
        check_answer(message, &r, c->env.http, false);
        return;
    }
    holds(c->out.n == 0);
    c->waiting[c->count].message = message;
    c->waiting[c->count++].call = call;
    if (c->count == WAITING_MAX)
        run_waiting(c);
}

static struct str next_word(struct str *line)
{
    const char *end = memchr(line->at, ' ', line->n);
    struct str word = {line->at, end ? (size_t)(end - line->at) : line->n};
    size_t used = word.n + (end != NULL);
    line->at += used;
    line->n -= used;
    return word.n ? word : (struct str){0};
}

static void serve(struct mcp *m, struct str headers, struct str messages, bool http)
{
    struct peer c = {.m = m, .session = {.there = true}};
    c.env = (struct envelope){.http = http, .session = &c.session, .events = true};
    if (http) {
        c.env.version = next_word(&headers);
        c.env.method = next_word(&headers);
        c.env.name = next_word(&headers);
        c.env.repeated = str_is(headers, "twice");
        c.env.lost_session = str_is(headers, "lost");
    }
    buf_init(&c.out, (size_t)4 << 20);
    while (messages.n) {
        struct str line = str_trim(next_part(&messages));
        if (line.n || http)
            send(&c, line);
    }
    run_waiting(&c);
    buf_done(&c.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str messages = {(const char *)data, size};
    struct str headers = next_part(&messages);
    const struct backend b = {
        .list = list,
        .named = named,
        .call = perform,
        .library = {.hear = hear_changes, .unhear = unhear_changes, .follow = follow}};
    struct err e = {0};
    struct mcp *m = mcp_open_on(&b, &e);
    holds(m != NULL);
    serve(m, headers, messages, false);
    serve(m, headers, messages, true);
    mcp_close(m);
    return 0;
}
