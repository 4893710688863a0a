/* The page, over HTTP: its routes, and what each answers. */
#include <stdio.h>

#include "desk/internal.h"
#include "os/os.h"
#include "rest/rest.h"

#define BODY_MAX ((size_t)64 << 10)
#define MARK_MAX 40u /* bytes of a page's own name */
#define LOOK_MS 150u /* between looks for what is new, while a page is open */
#define INSTALL DESK_PATH "/install"

/* ---- requests -------------------------------------------------------------------- */

/* Handles a POST with a small JSON object. */
static void do_post(struct desk *d, struct http_request *rq, struct str name,
                    struct str seat, struct http_response *rs)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(16 * BODY_MAX);
    struct str body = http_body(rq);
    const struct json *said =
        body.n <= BODY_MAX && has_content_type(rq, "application/json")
            ? json_read(body, arena, &e)
            : NULL;
    if (!json_is(said, JSON_OBJECT))
        say_json(rs, 400, "error", "a small JSON object is accepted");
    else if (str_is(name, "enter"))
        entry_enter(d, said, seat, rs);
    else
        deed_do(d, rq, name, said, seat, rs);
}

static void page_listen(struct desk *d, struct http_request *rq, struct str seat,
                        struct http_response *rs)
{
    scoped_buf struct buf hello = buf_of(BUF_LINE);
    struct json_writer w = json_writer(&hello);
    json_open_object(&w);
    json_pair_cstr(&w, "version", CLOCHE_VERSION);
    json_close(&w);
    if (d->events)
        (void)events_join(d->events, rq, rs, seat, buf_view(&hello));
    else
        say_json(rs, 503, "error", "there is no stream of events");
}

static const struct tell_row {
    const char *name;
    desk_tell_fn *tell;
} told[] = {{"today", tell_today},
            {"approvals", tell_approvals},
            {"activity", tell_activity},
            {"call", tell_call},
            {"verified", tell_verified},
            {"tools", tell_tools},
            {"setup", tell_setup},
            {"health", tell_health},
            {"declarations", tell_declarations},
            {"policy", tell_policy},
            {"may", tell_may},
            {"tokens", tell_tokens},
            {"performance", tell_performance}};

static const struct tell_row *told_named(struct str name)
{
    for (size_t i = 0; i < LENGTH(told); i++)
        if (str_is(name, told[i].name))
            return &told[i];
    return NULL;
}

/* Answers of REST, with a person's right; a name that is the page's own, too, is REST's with more
 * parts behind it. */
static bool is_rest_path(struct http_request *rq, struct str name)
{
    return rest_begins(name) && (!told_named(name) || http_parts(rq) > 2);
}

static void page_tell(struct desk *d, struct http_request *rq, struct str name,
                      struct str seat, struct http_response *rs)
{
    struct err e = {0};
    const struct tell_row *row = told_named(name);
    if (str_is(name, "events")) {
        page_listen(d, rq, seat, rs);
    } else {
        rs->type = "application/json";
        if (!row->tell(d, rq, rs, &e))
            say_error(rs, &e);
    }
}

/* Who tries what an agent may do asks at the agent's level. false: there is none of that
 * name. */
static bool takes_level(struct http_request *rq, struct caller *who)
{
    char name[16];
    struct str given = http_header(rq, "X-Cloche-Level");
    if (!given.at)
        return true;
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(str_cut(given, sizeof name)));
    return level_named(name, &who->level);
}

/* Which page it is, and whether it runs code by itself, for the record. */
struct marked {
    struct trace trace;
    char text[sizeof "page=" + MARK_MAX];
};

static bool is_mark(struct str s)
{
    bool ok = s.n > 0 && s.n <= MARK_MAX;
    for (size_t i = 0; ok && i < s.n; i++)
        ok = s.at[i] == '-' || (s.at[i] >= '0' && s.at[i] <= '9') ||
             (s.at[i] >= 'a' && s.at[i] <= 'z');
    return ok;
}

static void take_mark(struct http_request *rq, struct marked *m, struct caller *who)
{
    struct str mark = http_header(rq, "X-Cloche-Page");
    *m = (struct marked){0};
    if (str_is(http_header(rq, "X-Cloche-Look"), "page"))
        m->trace.baggage = STR(LOOK_BAGGAGE);
    else if (is_mark(mark)) {
        (void)snprintf(m->text, sizeof m->text, "page=%.*s", STR_ARGS(mark));
        m->trace.baggage = str_of(m->text);
    }
    if (m->trace.baggage.n)
        who->trace = &m->trace;
}

/* A person's deeds and what he sees; the request is of this machine. */
static void desk_answer(struct desk *d, struct http_request *rq, struct http_response *rs)
{
    struct str name = http_part(rq, 1), method = http_method(rq);
    if (!name.at)
        name = STR("");
    bool gets = str_is(method, "GET"), posts = str_is(method, "POST"),
         rest = is_rest_path(rq, name);
    if (gets && !rest && !str_is(name, "events") && !told_named(name)) {
        if (name.n)
            http_say(rs, 404, "there is no such file");
        else
            (void)asset_tell(rq, STR("index.html"), rs);
        return;
    }
    if (!rest && ((!gets && !posts) || http_parts(rq) > 2)) {
        say_json(rs, 405, "error", "GET and POST are accepted");
        return;
    }
    /* Browsers name the page in what it sends, but for what it gets. */
    if ((!gets || http_header(rq, "Origin").at) && !entry_is_page(rq)) {
        say_json(rs, 403, "error", "only the page itself may ask this");
        return;
    }
    struct str seat = entry_seat(d, rq);
    struct caller who = desk_person(rq);
    struct marked marked;
    take_mark(rq, &marked, &who);
    if (posts && str_is(name, "enter"))
        do_post(d, rq, name, seat, rs);
    else if (!seat.n || !entry_has_key(d, rq, seat))
        say_json(rs, 401, "error",
                 "the way in is a link: 'cloche approvals link' makes one");
    else if (!takes_level(rq, &who))
        say_json(rs, 400, "error", "X-Cloche-Level: full, limited or zero is accepted");
    else if (rest)
        rest_answer(d->o.actions, rq, &who, DESK_PATH, rs);
    else if (gets)
        page_tell(d, rq, name, seat, rs);
    else if (str_is(name, "install"))
        deed_install(d, rq, rs);
    else
        do_post(d, rq, name, seat, rs);
}

static void desk_work(void *arg, struct http_request *rq, void *none,
                      struct http_response *rs)
{
    (void)none;
    if (http_is_local(rq))
        desk_answer(arg, rq, rs);
    else
        say_json(
            rs, 403, "error",
            "this page is for browsers of the account that the server runs under, on "
            "its machine");
    page_put_headers(rs);
}

/* In the page's own words, too, where the server has refused it before. */
static void desk_refused(void *none, const struct http_request *rq, const char *why,
                         struct http_response *rs)
{
    (void)none, (void)rq;
    say_json(rs, rs->status, "error", why);
}

/* ---- views ------------------------------------------------------------------------ */

/* The same document for all of them: its script knows which view an address is. */
static void page_show(void *none, struct http_request *rq, void *work,
                      struct http_response *rs)
{
    (void)none, (void)work;
    if (!str_is(http_method(rq), "GET")) {
        http_say(rs, 405, "GET shows the page");
        (void)http_set_header(rs, "Allow", "GET, HEAD");
    } else if (str_is(http_part(rq, 0), "assets")) {
        struct str path = http_path(rq);
        if (!asset_tell(rq, (struct str){path.at + 1, path.n - 1}, rs))
            http_say(rs, 404, "there is no such file");
    } else if (!http_is_local(rq)) {
        http_say(rs, 403,
                 "this page is for browsers of the account that the server runs under, "
                 "on its machine");
    } else {
        (void)asset_tell(rq, STR("index.html"), rs);
    }
    page_put_headers(rs);
}

const char *const desk_paths[] = {
    (DESK_PATH "/"), "/assets/",      "/review/",  "/activity/", "/toolbox/",
    "/notes/",       "/run/",         "/connect/", "/health/",   "/settings/",
    "/functions/",   "/performance/", "/machine/", NULL};
_Static_assert(LENGTH(desk_paths) + 1 == DESK_ROUTES, "these, / and installing");

/* A tool's ZIP may be larger than any other body, of who has a key of the page. Whether its
 * seat is still good is asked when all is there. */
static bool takes_zip(void *arg, struct http_request *rq)
{
    return http_is_local(rq) && entry_has_key(arg, rq, entry_cookie(rq));
}

size_t desk_routes(struct desk *d, struct http_route out[static DESK_ROUTES])
{
    size_t n = 0;
    out[n++] = (struct http_route){.path = "", .head = true, .work = page_show};
    out[n++] = (struct http_route){.path = desk_paths[0],
                                   .arg = d,
                                   .head = true,
                                   .slashes = true,
                                   .work = desk_work,
                                   .refused = desk_refused};
    for (size_t i = 1; desk_paths[i]; i++)
        out[n++] =
            (struct http_route){.path = desk_paths[i], .head = true, .work = page_show};
    out[n++] = (struct http_route){.path = INSTALL,
                                   .arg = d,
                                   .body_max = TOOL_ZIP_MAX,
                                   .takes = takes_zip,
                                   .work = desk_work,
                                   .refused = desk_refused};
    return n;
}

/* ---- opening --------------------------------------------------------------------- */

struct desk *desk_open(const struct desk_options *o, struct err *e)
{
    int links = links_open(e);
    if (links < 0)
        return NULL;
    struct desk *d = mem_new(sizeof *d);
    d->o = *o;
    d->links = links;
    os_random(d->secret, sizeof d->secret);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->health_lock, NULL);
    buf_init(&d->health, BUF_FILE);
    d->watch = watch_new(d);
    d->performance = performance_new();
    d->events = events_open(watch_look, d->watch, LOOK_MS, e);
    if (!d->events) {
        desk_close(d);
        return NULL;
    }
    return d;
}

void desk_listens(struct desk *d, const char *url)
{
    (void)snprintf(d->url, sizeof d->url, "%s", url);
    links_serve(d->links, url);
}

void desk_close(struct desk *d)
{
    if (!d)
        return;
    events_close(d->events);
    watch_free(d->watch);
    performance_free(d->performance);
    links_unserve(d->links, d->url);
    os_close(d->links);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->health_lock);
    buf_done(&d->health);
    free(d);
}
