/* The table of routes, put together of the capabilities', and the way of a request through it. */
#include <stdio.h>

#include "caller/caller.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "routes/internal.h"

#define WARNING_MAX 1000u /* bytes of what a header tells */

/* ---- the rows ------------------------------------------------------------------- */

/* The earlier of two groups behind this place. */
static const struct route_group *group_nearer(const struct route_group *next,
                                              const struct route_group *const *all,
                                              unsigned order)
{
    for (const struct route_group *const *g = all; g && *g; g++)
        if ((*g)->order > order && (!next || (*g)->order < next->order))
            next = *g;
    return next;
}

const struct route_group *route_group_after(unsigned order)
{
    const struct route_group *next = group_nearer(NULL, own_routes, order);
    for (size_t i = 0; i < capability_count; i++)
        next = group_nearer(next, capability_list[i]->routes, order);
    return next;
}

const struct route *route_walk_next(struct route_walk *walk)
{
    while (!walk->group || walk->next == walk->group->count) {
        walk->group = route_group_after(walk->group ? walk->group->order : 0);
        walk->next = 0;
        if (!walk->group)
            return NULL;
    }
    return &walk->group->rows[walk->next++];
}

const char *route_schema_named(const char *name)
{
    for (const struct route_group *g = NULL; (g = route_group_after(g ? g->order : 0));)
        for (size_t i = 0; i < g->schema_count; i++)
            if (!strcmp(g->schemas[i].name, name))
                return g->schemas[i].text;
    return "";
}

size_t route_roots(const char *out[static ROUTE_ROOTS])
{
    size_t count = 0;
    for (const struct route_group *g = NULL; (g = route_group_after(g ? g->order : 0));) {
        const char *root = g->root ? g->root : "/workspaces/";
        size_t i = 0;
        while (i < count && strcmp(out[i], root) != 0)
            i++;
        must(i < ROUTE_ROOTS);
        out[i] = root;
        count += i == count;
    }
    return count;
}

/* ---- which one ----------------------------------------------------------------- */

/* HEAD is GET; that its body stays behind is the carrier's to see to. */
static struct str method_of(const struct route_request *rq)
{
    return str_is(rq->method, "HEAD") ? STR("GET") : rq->method;
}

static void list_methods(const char *pattern, struct buf *out)
{
    struct route_walk walk = {0};
    for (const struct route *r; (r = route_walk_next(&walk));)
        if (!strcmp(r->pattern, pattern))
            buf_printf(out, "%s%s", r->method,
                       str_is(str_of(r->method), "GET") ? ", HEAD, " : ", ");
    buf_cstr(out, "OPTIONS");
}

static bool wrong_method(struct route_call *c, const char *pattern, struct err *e)
{
    scoped_buf struct buf allow = buf_of(BUF_NAME);
    list_methods(pattern, &allow);
    if (!route_header(c, "Allow", buf_view(&allow), e))
        return false;
    if (str_is(c->rq->method, "OPTIONS")) {
        c->out->status = 204;
        return true;
    }
    c->refusal = 405;
    return err_set(e, ERR_INVALID, "%s does not take %.*s; it takes %s", pattern,
                   STR_ARGS(str_cut(c->rq->method, 20)), buf_cz(&allow));
}

/* Sets c->route, or answers without one: OPTIONS. */
static bool routes_find(struct route_call *c, struct err *e)
{
    const char *known = NULL;
    struct route_walk walk = {0};
    for (const struct route *r; (r = route_walk_next(&walk));) {
        if (known && strcmp(known, r->pattern) != 0)
            continue;
        if (!known && !locator_fits(c->locator, r->pattern, walk.group->several,
                                    c->values, ROUTE_VALUES, c->arena, e)) {
            if (e->code)
                return false;
            continue;
        }
        known = r->pattern;
        if (str_is(method_of(c->rq), r->method)) {
            c->route = r;
            return true;
        }
    }
    return known ? wrong_method(c, known, e)
                 : err_set(e, ERR_NOT_FOUND,
                           "there is nothing at this path; /openapi.json describes all "
                           "paths, and \"/workspaces\" lists the workspaces");
}

/* ---- is it what the route takes? -------------------------------------------------- */

static bool route_check_parameters(const struct route_call *c, struct err *e)
{
    const struct route_parameter *known = c->route->parameters;
    for (size_t i = 0; i < c->locator->parameter_count; i++) {
        const struct route_parameter *p = known;
        while (p && p->name && !str_is(c->locator->parameters[i].name, p->name))
            p++;
        if (p && p->name)
            continue;
        scoped_buf struct buf names = buf_of(BUF_LINE);
        for (p = known; p && p->name; p++)
            buf_printf(&names, "%s%s", p == known ? "" : ", ", p->name);
        return err_set(e, ERR_INVALID, "the parameter \"%.*s\" is not known here; %s%s",
                       STR_ARGS(str_cut(c->locator->parameters[i].name, 60)),
                       names.n ? "known are " : "there is none", buf_cz(&names));
    }
    return true;
}

static bool choose_type(struct route_call *c, struct err *e)
{
    unsigned json = media_wanted(c->rq->accept, "application/json"), markdown = 0,
             events = 0;
    if (c->route->flags & ROUTE_MARKDOWN_OUT)
        markdown = media_wanted(c->rq->accept, "text/markdown");
    if (c->route->flags & ROUTE_BYTES_OUT)
        json = media_wanted(c->rq->accept, "application/octet-stream");
    if (c->route->flags & ROUTE_EVENTS)
        events = media_wanted(c->rq->accept, "text/event-stream");
    c->wants_markdown = markdown > json;
    c->out->events = events > json;
    if (json || markdown || events)
        return true;
    c->refusal = 406;
    return err_set(
        e, ERR_INVALID, "no representation matches Accept; available: %s",
        c->route->flags & ROUTE_MARKDOWN_OUT ? "application/json and text/markdown"
        : c->route->flags & ROUTE_EVENTS     ? "application/json and text/event-stream"
        : c->route->flags & ROUTE_BYTES_OUT  ? "application/octet-stream"
                                             : "application/json");
}

static bool is_json(struct str type)
{
    return !type.n || media_is(type, "application/json") ||
           media_is(type, "application/merge-patch+json");
}

static bool read_body(struct route_call *c, struct err *e)
{
    const struct route *r = c->route;
    if (!r->body && !(r->flags & ROUTE_BYTES_IN))
        return true;
    if (r->flags & ROUTE_BYTES_IN) {
        c->markdown = c->rq->body.at ? c->rq->body : STR("");
        return true;
    }
    bool markdown =
        (r->flags & ROUTE_MARKDOWN_IN) && media_is(c->rq->type, "text/markdown");
    if (!markdown && !is_json(c->rq->type)) {
        c->refusal = 415;
        return err_set(e, ERR_INVALID,
                       "unsupported media type \"%.*s\"; supported: application/json%s",
                       STR_ARGS(str_cut(c->rq->type, 60)),
                       r->flags & ROUTE_MARKDOWN_IN ? " and text/markdown" : "");
    }
    if (markdown) {
        c->markdown = c->rq->body.at ? c->rq->body : STR("");
        return str_is_utf8(c->markdown) ||
               err_set(e, ERR_INVALID, "the body is not UTF-8");
    }
    const struct json *schema =
        json_read(str_of(route_schema_named(r->body)), c->arena, e);
    c->body = schema ? json_read(c->rq->body, c->arena, e) : NULL;
    if (!c->body)
        return err_wrap(e, "body");
    return json_schema_check(schema, c->body, "body", e);
}

/* ---- answering --------------------------------------------------------------------- */

/* The entity tag of lists and the like is a hash of the answer. */
static bool answer_etag(struct route_call *c, struct err *e)
{
    for (unsigned i = 0; i < c->out->field_count; i++)
        if (!strcmp(c->out->fields[i].name, "ETag"))
            return true;
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&c->out->body), hash);
    return route_etag(c, (struct str){hash, 32}, e);
}

static void answer_unchanged(struct route_call *c)
{
    const char *tag = "";
    for (unsigned i = 0; i < c->out->field_count; i++)
        if (!strcmp(c->out->fields[i].name, "ETag"))
            tag = c->out->fields[i].value;
    struct str bare = {tag + 1, strlen(tag) - 2};
    if (!c->rq->if_none_match.n || !route_names_tag(c->rq->if_none_match, bare, true))
        return;
    buf_clear(&c->out->body);
    c->out->status = 304;
    c->out->type = NULL;
}

/* Warning: 299 - "no note has the type 'projct'; there are: ...", as far as a header holds
 * it: in ASCII, cut, without quotes. */
static void answer_warning(struct route_call *c)
{
    struct err none = {0};
    scoped_buf struct buf told;
    scoped_buf struct buf text;
    buf_init(&told, BUF_TEXT);
    buf_init(&text, ROUTE_FIELD_SIZE);
    if (c->work)
        work_notices(c->work, &told);
    if (!told.n)
        return;
    struct str cut = str_cut(buf_view(&told), WARNING_MAX);
    buf_cstr(&text, "299 - \"");
    for (size_t i = 0; i < cut.n; i++) {
        bool plain = cut.at[i] >= ' ' && cut.at[i] <= '~';
        buf_char(&text, !plain                                  ? '?'
                        : cut.at[i] == '"' || cut.at[i] == '\\' ? '\''
                                                                : cut.at[i]);
    }
    buf_char(&text, '"');
    (void)route_header(c, "Warning", buf_view(&text), &none);
}

static bool route_perform(struct route_call *c, struct err *e)
{
    c->out->status = c->route->status ? c->route->status : 200;
    c->out->type = "application/json";
    bool ok = c->route->run(c, e) && buf_check(&c->out->body, "the answer", e);
    if (ok)
        answer_warning(c);
    if (!ok || !str_is(method_of(c->rq), "GET") || c->out->status != 200)
        return ok;
    if ((c->route->flags & ROUTE_MARKDOWN_OUT) &&
        !route_header(c, "Vary", STR("Accept"), e))
        return false;
    if (!answer_etag(c, e))
        return false;
    answer_unchanged(c);
    return true;
}

/* Within the workspace that the path names. */
static bool route_work(struct route_call *c, struct err *e)
{
    if (c->route->flags & (ROUTE_NO_WORKSPACE | ROUTE_NO_WORK))
        return route_perform(c, e);
    c->work = work_begin(c->actions, c->who, c->values[0], c->route->what, e);
    if (!c->work)
        return false;
    bool ok = route_perform(c, e);
    work_end(c->work, ok ? NULL : e);
    return ok;
}

static bool route_answer_call(struct route_call *c, struct err *e)
{
    if (!locator_read(c->rq->target, c->locator, c->arena, e) || !routes_find(c, e))
        return false;
    if (!c->route)
        return true;
    if (c->who->within && (c->route->flags & ROUTE_OUTSIDE))
        return err_set(e, ERR_DENIED, "%s is not for code in the sandbox",
                       c->route->what);
    return route_check_parameters(c, e) && choose_type(c, e) && read_body(c, e) &&
           route_work(c, e);
}

/* The scopes that a credential needs for it. */
static unsigned route_scope(const struct route *r)
{
    return r->scope                    ? r->scope
           : r->flags & ROUTE_OUTSIDE  ? SCOPE_EVALUATE
           : !strcmp(r->method, "GET") ? SCOPE_READ
                                       : SCOPE_WRITE;
}

/* A credential that is not enough: the refusal says what would be. */
static void route_challenge(struct route_call *c)
{
    const struct grant *g = c->who->grant;
    if (!g || !c->route || (g->scopes & route_scope(c->route)))
        return;
    struct err none = {0};
    char text[CHALLENGE_MAX];
    grant_challenge(g, route_scope(c->route), text);
    (void)route_header(c, "WWW-Authenticate", str_of(text), &none);
}

/* A refusal keeps only the header Allow. */
static void route_refuse(struct route_call *c, const struct err *why)
{
    struct route_answer *out = c->out;
    unsigned kept = 0;
    for (unsigned i = 0; i < out->field_count; i++)
        if (!strcmp(out->fields[i].name, "Allow"))
            out->fields[kept++] = out->fields[i];
    out->field_count = kept;
    if (why->code == ERR_DENIED)
        route_challenge(c);
    routes_problem(out, c->refusal ? c->refusal : err_kind(why->code)->http, why,
                   c->rq->target);
}

bool routes_request(struct actions *a, const struct route_request *rq,
                    const struct caller *who, struct route_answer *out)
{
    struct err e = {0};
    struct locator locator;
    scoped(arena_free) struct arena *arena = arena_new(ROUTE_ARENA);
    struct route_call c = {.actions = a,
                           .rq = rq,
                           .who = who,
                           .arena = arena,
                           .locator = &locator,
                           .out = out};
    out->status = 200;
    out->field_count = 0;
    out->events = false;
    if (route_answer_call(&c, &e)) {
        if (out->status == 403) /* code was refused, in the shape of its answers */
            route_challenge(&c);
        return out->status < 400;
    }
    route_refuse(&c, &e);
    return false;
}

bool routes_show(struct work *work, const char *operation, struct buf *out, struct err *e)
{
    const struct evaluation *v = work_evaluation(work);
    struct locator locator = {0};
    struct route_answer answer = {.body = *out};
    const struct route_request rq = {0};
    scoped(arena_free) struct arena *arena = arena_new(ROUTE_ARENA);
    struct route_call c = {.actions = v->actions,
                           .rq = &rq,
                           .who = v->who,
                           .arena = arena,
                           .locator = &locator,
                           .work = work,
                           .out = &answer};
    struct route_walk walk = {0};
    while ((c.route = route_walk_next(&walk)) &&
           strcmp(c.route->operation, operation) != 0)
        ;
    must(c.route);
    bool ok = c.route->run(&c, e);
    *out = answer.body;
    return ok;
}

/* ---- requests that code makes: host.call(method, path, body) of run_script ---------- */

/* The path between the brackets of Link, which names no other relation. */
static void put_next(const struct route_answer *out, struct buf *next)
{
    for (unsigned i = 0; i < out->field_count; i++) {
        if (strcmp(out->fields[i].name, "Link") != 0)
            continue;
        const char *path = out->fields[i].value + 1;
        buf_put(next, path, strcspn(path, ">"));
    }
}

bool routes_by_code(void *arg, const struct action_request *asked,
                    struct action_reply *reply, struct err *e)
{
    struct route_request rq = {
        .method = asked->method, .target = asked->path, .body = asked->body};
    struct route_answer out = {.body = reply->body};
    (void)routes_request(arg, &rq, asked->who, &out);
    reply->body = out.body;
    reply->status = out.status;
    reply->is_json = true;
    put_next(&out, &reply->next);
    return buf_check(&reply->next, "the path of the next page", e);
}
