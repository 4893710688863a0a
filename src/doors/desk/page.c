/* The page, over HTTP: its three files, the way in by a link, and a person's deeds.
 *
 * A client has to be a browser of this machine, on the page itself: listener and peer are
 * loopback (http_is_local), Origin is the very server, the cookie came by a link, and the
 * key is what the page was given then and keeps to itself. The cookie alone would reach
 * any other server on this machine's ports; the key alone would be any script's.
 */
#include <stdio.h>

#include "catalogue/catalogue.h"
#include "desk/internal.h"
#include "os/os.h"
#include "uri/uri.h"
#include "json/json.h"

#define COOKIE "cloche_person"
#define KEY_HEADER "X-Cloche-Key"
#define BODY_MAX ((size_t)64 << 10)
#define REFUSED_NS UINT64_C(1000000000)

EMBED(page_html, "web/page.html");
EMBED(page_css, "web/page.css");
EMBED(page_js, "build/web/page.js");

/* ---- answering --------------------------------------------------------------- */

static void page_put_headers(struct http_response *rs)
{
    static const char *const fields[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types 'none'"},
        {"X-Frame-Options", "DENY"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
        {"Cache-Control", "no-store"},
    };
    for (size_t i = 0; i < LENGTH(fields); i++)
        (void)http_set_header(rs, fields[i][0], fields[i][1]);
}

static void say_json(struct http_response *rs, int status, const char *key,
                     const char *text)
{
    buf_clear(&rs->body);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, key, text);
    json_close(&w);
    rs->status = status;
    rs->type = "application/json";
}

static void say_error(struct http_response *rs, const struct err *e)
{
    say_json(rs, err_kind(e->code)->http, "error", e->msg);
}

/* ---- who asks ----------------------------------------------------------------- */

static bool is_our_page(struct http_request *rq)
{
    struct str origin = http_header(rq, "Origin"), host = http_header(rq, "Host");
    struct str site = http_header(rq, "Sec-Fetch-Site");
    struct uri u;
    bool same =
        uri_read(origin, &u) && uri_is_web(&u) && !u.rest.n && str_eq(u.authority, host);
    return same && (!site.at || str_is(site, "same-origin"));
}

/* The value of our cookie; empty: there is none, or there are several. */
static struct str read_cookie(struct http_request *rq)
{
    struct str all = http_header(rq, "Cookie"), found = STR("");
    const char *at = all.at, *end = all.at ? all.at + all.n : NULL;
    unsigned count = 0;
    while (at && at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        struct str one = str_trim((struct str){at, (size_t)((stop ? stop : end) - at)});
        if (str_starts(one, COOKIE "=")) {
            found = (struct str){one.at + sizeof COOKIE, one.n - sizeof COOKIE};
            count++;
        }
        at = stop ? stop + 1 : end;
    }
    return count == 1 && http_header_count(rq, "Cookie") == 1 ? found : STR("");
}

static bool page_same_hash(struct str text, const unsigned char *hash)
{
    unsigned char own[CRYPTO_BLAKE2B];
    crypto_blake2b(text, own);
    return crypto_equal((struct str){(const char *)own, sizeof own},
                        (struct str){(const char *)hash, sizeof own});
}

/* The seat of who asks; -1: he has none. */
static int find_seat(struct desk *d, struct http_request *rq)
{
    struct str cookie = read_cookie(rq), key = http_header(rq, KEY_HEADER);
    if (!cookie.n || !key.at)
        return -1;
    int found = -1;
    uint64_t now = os_mono_ns();
    pthread_mutex_lock(&d->lock);
    for (unsigned i = 0; i < DESK_SEATS_MAX; i++) {
        const struct seat *s = &d->seats[i];
        if (s->until_ns > now && page_same_hash(cookie, s->cookie) &&
            page_same_hash(key, s->key))
            found = (int)i;
    }
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* ---- coming in, and leaving ---------------------------------------------------- */

static void take_seat(struct desk *d, struct str cookie, struct str key)
{
    pthread_mutex_lock(&d->lock);
    struct seat *s = &d->seats[0];
    for (unsigned i = 1; i < DESK_SEATS_MAX; i++)
        if (d->seats[i].until_ns < s->until_ns)
            s = &d->seats[i];
    crypto_blake2b(cookie, s->cookie);
    crypto_blake2b(key, s->key);
    s->until_ns = os_mono_ns() + DESK_SEAT_S * (uint64_t)1000000000;
    pthread_mutex_unlock(&d->lock);
}

static void desk_record(struct desk *d, const char *event)
{
    struct err none = {0};
    struct ward_event told;
    struct ward *ward = guard_ward(d->o.guard, NULL, &none);
    if (!ward)
        return;
    ward_event_begin(&told, event);
    json_pair_cstr(&told.out, "caller", "page");
    (void)ward_event_end(&told, ward, NULL, true, &none);
}

/* At most one a second: a client that reaches the page without a link fills no disk. */
static void page_record_refusal(struct desk *d)
{
    uint64_t now_ns = os_mono_ns(), before = atomic_load(&d->refused_ns);
    if ((!before || now_ns - before >= REFUSED_NS) &&
        atomic_compare_exchange_strong(&d->refused_ns, &before, now_ns))
        desk_record(d, "page refused");
}

static void enter(struct desk *d, const struct json *said, struct http_response *rs)
{
    char cookie[CRYPTO_TOKEN], key[CRYPTO_TOKEN], field[200];
    if (!links_take(d->links, json_str(json_get(said, "link")))) {
        page_record_refusal(d);
        say_json(rs, 403, "error",
                 "this link was used, or is over: 'cloche approvals link' makes another");
        return;
    }
    crypto_token(cookie);
    crypto_token(key);
    take_seat(d, str_of(cookie), str_of(key));
    (void)snprintf(field, sizeof field,
                   COOKIE "=%s; Path=" DESK_PATH "; Max-Age=%u; HttpOnly; "
                          "SameSite=Strict%s",
                   cookie, DESK_SEAT_S, !strncmp(d->url, "https:", 6) ? "; Secure" : "");
    (void)http_set_header(rs, "Set-Cookie", field);
    desk_record(d, "page opened");
    say_json(rs, 200, "key", key);
}

static void leave(struct desk *d, int seat, struct http_response *rs)
{
    pthread_mutex_lock(&d->lock);
    d->seats[seat] = (struct seat){0};
    pthread_mutex_unlock(&d->lock);
    (void)http_set_header(rs, "Set-Cookie",
                          COOKIE "=; Path=" DESK_PATH "; Max-Age=0; HttpOnly; "
                                 "SameSite=Strict");
    say_json(rs, 200, "done", "left");
}

/* ---- deeds ---------------------------------------------------------------------- */

bool desk_compiling(void *arg, const char *tool, unsigned seconds, bool simply)
{
    struct desk *d = arg;
    pthread_mutex_lock(&d->lock);
    (void)snprintf(d->compiling.tool, sizeof d->compiling.tool, "%s", tool);
    d->compiling.seconds = seconds;
    d->compiling.simply = simply;
    pthread_mutex_unlock(&d->lock);
    return true;
}

static bool page_decide(struct desk *d, const struct json *said, struct err *e)
{
    const struct json *allow = json_get(said, "allow");
    struct str remember = json_str(json_get(said, "remember"));
    enum approval_memory memory = APPROVAL_CALL;
    if (!json_is(allow, JSON_BOOL) ||
        (remember.n && !approval_memory_named(remember, &memory)))
        return err_set(e, ERR_INVALID,
                       "{id, allow: true | false, remember?: call | session | always} is "
                       "accepted");
    const struct tool_watch watch = {desk_compiling, d};
    bool done = desk_decide(d->o.guard, d->o.approvals, d->o.catalogue, &watch,
                            json_str(json_get(said, "id")), json_bool(allow, false),
                            memory, "page", e);
    (void)desk_compiling(d, "", 0, false);
    return done;
}

/* Reads a tool's name as a C string; NULL and *e. */
static const char *tool_named(const struct json *said, struct err *e)
{
    struct str tool = json_str(json_get(said, "tool"));
    if (tool.n && !memchr(tool.at, 0, tool.n))
        return tool.at;
    err_set(e, ERR_INVALID, "tool must be the name of one");
    return NULL;
}

static bool permit(struct desk *d, const struct json *said, struct err *e)
{
    enum permission p = PERMISSION_USUAL;
    struct str word = json_str(json_get(said, "permission"));
    if (!permission_named(word, &p) && !str_is(word, "usual"))
        return err_set(e, ERR_INVALID,
                       "{tool, permission: always | ask | never | usual} is accepted");
    const char *tool = tool_named(said, e);
    struct ward *w = tool ? guard_ward(d->o.guard, NULL, e) : NULL;
    return w && desk_permit(w, false, tool, p, "page", e);
}

/* For all vaults; what is installed for one alone is the terminal's. */
static bool page_switch_tool(struct desk *d, const struct json *said, struct err *e)
{
    const struct json *on = json_get(said, "enabled");
    if (!json_is(on, JSON_BOOL))
        return err_set(e, ERR_INVALID, "{tool, enabled: true | false} is accepted");
    const char *tool = tool_named(said, e);
    struct ward *w = tool ? guard_ward(d->o.guard, NULL, e) : NULL;
    return w &&
           desk_switch(w, d->o.catalogue, tool, NULL, json_bool(on, false), "page", e);
}

static const struct deed_row {
    const char *name;
    bool (*run)(struct desk *d, const struct json *said, struct err *e);
} deeds[] = {{"decide", page_decide}, {"permit", permit}, {"switch", page_switch_tool}};

static void do_deed(struct desk *d, struct str name, const struct json *said, int seat,
                    struct http_response *rs)
{
    struct err e = {0};
    if (str_is(name, "leave")) {
        leave(d, seat, rs);
        return;
    }
    for (size_t i = 0; i < LENGTH(deeds); i++) {
        if (!str_is(name, deeds[i].name))
            continue;
        if (deeds[i].run(d, said, &e))
            say_json(rs, 200, "done", deeds[i].name);
        else
            say_error(rs, &e);
        return;
    }
    say_json(rs, 404, "error", "there is no such deed");
}

static bool has_type(struct http_request *rq, const char *type)
{
    return str_starts(http_header(rq, "Content-Type"), type);
}

/* ---- installing -------------------------------------------------------------- */

/* An array of lines, each of which may be a stranger's words. */
static void page_put_lines(struct json_writer *w, const char *key,
                           const struct buf *lines)
{
    struct str rest = buf_view(lines);
    json_key(w, key);
    json_open_array(w);
    while (rest.n) {
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.at) : rest.n;
        scoped_buf struct buf spelt = buf_of(8 * n + 64);
        str_spell((struct str){rest.at, n}, &spelt);
        json_put_str(w, buf_view(&spelt));
        n += end != NULL;
        rest = (struct str){rest.at + n, rest.n - n};
    }
    json_close(w);
}

/* {tool?: {name, version}, warnings: [...], error?, errors?: [...], key?}: `key` of who
 * signed it and is not trusted. */
static void tell_package(const struct tool_package *p, const struct tool_notes *notes,
                         const struct err *e, struct buf *out)
{
    struct json_writer w = json_writer(out);
    const struct tool *t = p ? tool_package_tool(p) : NULL;
    json_open_object(&w);
    if (t) {
        json_key(&w, "tool");
        json_open_object(&w);
        json_pair_cstr(&w, "name", t->name);
        put_spelt(&w, "version", str_of(t->version));
        json_close(&w);
    }
    if (t && !t->signer && tool_package_key(p)[0])
        json_pair_cstr(&w, "key", tool_package_key(p));
    page_put_lines(&w, "warnings", &notes->warnings);
    if (e->code) {
        put_spelt(&w, "error", str_of(e->msg));
        page_put_lines(&w, "errors", &notes->errors);
    }
    json_close(&w);
}

/* The body is a ZIP. `?replace=yes`: also in the place of a tool of that name. */
static void page_install(struct desk *d, struct http_request *rq,
                         struct http_response *rs)
{
    struct err e = {0};
    struct tool_notes notes;
    bool may = str_is(http_query(rq, "replace"), "yes");
    tool_notes_init(&notes);
    if (!has_type(rq, "application/zip"))
        err_set(&e, ERR_INVALID, "a ZIP (application/zip) is accepted");
    struct ward *w = e.code ? NULL : guard_ward(d->o.guard, NULL, &e);
    scoped(tool_package_close) struct tool_package *p =
        w ? tool_package_open(d->o.catalogue, http_body(rq), &notes, &e) : NULL;
    const struct tool_watch watch = {desk_compiling, d};
    if (p)
        (void)desk_install(w, d->o.catalogue, p, NULL, may ? TOOL_MAY_REPLACE : TOOL_NEW,
                           &watch, "page", &e);
    (void)desk_compiling(d, "", 0, false);
    tell_package(p, &notes, &e, &rs->body);
    tool_notes_done(&notes);
    rs->type = "application/json";
    rs->status = e.code ? err_kind(e.code)->http : 200;
}

/* ---- requests -------------------------------------------------------------------- */

static void tell_file(struct str name, struct http_response *rs)
{
    static const struct {
        const char *name, *type, *at, *end;
    } files[] = {{"", "text/html; charset=utf-8", page_html, page_html_end},
                 {"page.css", "text/css; charset=utf-8", page_css, page_css_end},
                 {"page.js", "text/javascript; charset=utf-8", page_js, page_js_end}};
    for (size_t i = 0; i < LENGTH(files); i++)
        if (str_is(name, files[i].name)) {
            buf_put(&rs->body, files[i].at, (size_t)(files[i].end - files[i].at));
            rs->type = files[i].type;
            return;
        }
    http_say(rs, 404, "there is no such file");
}

static void page_send_state(struct desk *d, struct http_request *rq,
                            struct http_response *rs)
{
    char now[24];
    struct err e = {0};
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)desk_state(d));
    struct str known = http_query(rq, "known");
    if (known.at && str_is(known, now)) {
        rs->status = 204;
        return;
    }
    rs->type = "application/json";
    if (!desk_put_state(d, &rs->body, &e))
        say_error(rs, &e);
}

/* Handles a POST with a small JSON object. */
static void do_post(struct desk *d, struct http_request *rq, struct str name, int seat,
                    struct http_response *rs)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(16 * BODY_MAX);
    struct str body = http_body(rq);
    const struct json *said = body.n <= BODY_MAX && has_type(rq, "application/json")
                                  ? json_read(body, arena, &e)
                                  : NULL;
    if (!json_is(said, JSON_OBJECT))
        say_json(rs, 400, "error", "a small JSON object is accepted");
    else if (str_is(name, "enter"))
        enter(d, said, rs);
    else
        do_deed(d, name, said, seat, rs);
}

/* A person's deeds and what he sees; the request is of this machine. */
static void desk_answer(struct desk *d, struct http_request *rq, struct http_response *rs)
{
    struct str name = http_part(rq, 1), method = http_method(rq);
    if (!name.at)
        name = STR("");
    bool gets = str_is(method, "GET"), posts = str_is(method, "POST");
    if (gets && !str_is(name, "state")) {
        tell_file(name, rs);
        return;
    }
    if ((!gets && !posts) || http_parts(rq) > 2) {
        say_json(rs, 405, "error", "GET and POST are accepted");
        return;
    }
    /* Browsers name the page in what it sends, but for what it gets. */
    if ((posts || http_header(rq, "Origin").at) && !is_our_page(rq)) {
        say_json(rs, 403, "error", "only the page itself may ask this");
        return;
    }
    int seat = find_seat(d, rq);
    if (posts && str_is(name, "enter"))
        do_post(d, rq, name, seat, rs);
    else if (seat < 0)
        say_json(rs, 401, "error",
                 "the way in is a link: 'cloche approvals link' makes one");
    else if (gets)
        page_send_state(d, rq, rs);
    else if (str_is(name, "install"))
        page_install(d, rq, rs);
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

static bool lead(void *none, struct http_request *rq, struct http_response *rs,
                 void **work)
{
    (void)none, (void)work;
    if (!str_is(http_method(rq), "GET")) {
        http_say(rs, 405, "GET leads to the page");
        (void)http_set_header(rs, "Allow", "GET, HEAD");
        return true;
    }
    http_say(rs, 303, "the page is at " DESK_PATH);
    (void)http_set_header(rs, "Location", DESK_PATH);
    return true;
}

struct http_route desk_root_route(void)
{
    return (struct http_route){.path = "", .head = true, .begin = lead};
}

struct http_route desk_route(struct desk *d)
{
    return (struct http_route){.path = DESK_PATH "/",
                               .arg = d,
                               .head = true,
                               .work = desk_work,
                               .refused = desk_refused};
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
    pthread_mutex_init(&d->lock, NULL);
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
    links_unserve(d->links, d->url);
    os_close(d->links);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
