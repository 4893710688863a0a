/* The way in to the page: a link, then a cookie and a key.
 *
 * A client has to be a browser of this machine, on the page itself: listener and peer are
 * loopback (http_is_local), Origin is the very server, the cookie came by a link, and the
 * key is what the page was given then and keeps to itself. The cookie alone would reach
 * any other server on this machine's ports; the key alone would be any script's.
 */
#include <stdio.h>

#include "desk/internal.h"
#include "os/os.h"
#include "uri/uri.h"

#define COOKIE "cloche_person"
#define KEY_HEADER "X-Cloche-Key"
#define REFUSED_NS UINT64_C(1000000000)

/* ---- who asks ----------------------------------------------------------------- */

bool entry_is_page(struct http_request *rq)
{
    struct str origin = http_header(rq, "Origin"), host = http_header(rq, "Host");
    struct str site = http_header(rq, "Sec-Fetch-Site");
    struct uri u;
    bool same =
        uri_read(origin, &u) && uri_is_web(&u) && !u.rest.n && str_eq(u.authority, host);
    return same && (!site.at || str_is(site, "same-origin"));
}

/* The value of our cookie; empty: there is none, or there are several. */
struct str entry_cookie(struct http_request *rq)
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

/* The cookie of who has a seat; empty: he has none. */
struct str entry_seat(struct desk *d, struct http_request *rq)
{
    struct str cookie = entry_cookie(rq);
    return seats_have(d->links, cookie) ? cookie : STR("");
}

/* Is the key the one that goes with it? */
bool entry_has_key(struct desk *d, struct http_request *rq, struct str cookie)
{
    char key[CRYPTO_HASH_HEX];
    seats_key(d, cookie, key);
    struct str given = http_header(rq, KEY_HEADER);
    return given.at && crypto_equal(given, str_of(key));
}

/* ---- coming in, and leaving ---------------------------------------------------- */

static void entry_record(struct desk *d, const char *event)
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
static void entry_record_refusal(struct desk *d)
{
    uint64_t now_ns = os_mono_ns(), before = atomic_load(&d->refused_ns);
    if ((!before || now_ns - before >= REFUSED_NS) &&
        atomic_compare_exchange_strong(&d->refused_ns, &before, now_ns))
        entry_record(d, "page refused");
}

static void tell_key(struct desk *d, struct str cookie, struct http_response *rs)
{
    char key[CRYPTO_HASH_HEX];
    seats_key(d, cookie, key);
    say_json(rs, 200, "key", key);
}

/* By a link, or once more by the cookie of who came by one. */
void entry_enter(struct desk *d, const struct json *said, struct str seat,
                 struct http_response *rs)
{
    char cookie[CRYPTO_TOKEN], field[200];
    struct err e = {0};
    if (!json_get(said, "link") && seat.n) {
        tell_key(d, seat, rs);
        return;
    }
    if (!json_get(said, "link")) {
        say_json(rs, 401, "error",
                 "the way in is a link: 'cloche approvals link' makes one");
        return;
    }
    if (!links_take(d->links, json_str(json_get(said, "link")))) {
        entry_record_refusal(d);
        say_json(rs, 403, "error",
                 "this link was used, or is over: 'cloche approvals link' makes another");
        return;
    }
    if (!seats_take(d->links, cookie, &e)) {
        say_error(rs, &e);
        return;
    }
    (void)snprintf(field, sizeof field,
                   COOKIE "=%s; Path=" DESK_PATH "; Max-Age=%u; HttpOnly; "
                          "SameSite=Strict%s",
                   cookie, DESK_SEAT_S, !strncmp(d->url, "https:", 6) ? "; Secure" : "");
    (void)http_set_header(rs, "Set-Cookie", field);
    entry_record(d, "page opened");
    tell_key(d, str_of(cookie), rs);
}

void entry_leave(struct desk *d, struct str seat, struct http_response *rs)
{
    seats_leave(d->links, seat);
    if (d->events)
        events_leave(d->events, seat);
    (void)http_set_header(rs, "Set-Cookie",
                          COOKIE "=; Path=" DESK_PATH "; Max-Age=0; HttpOnly; "
                                 "SameSite=Strict");
    say_json(rs, 200, "done", "left");
}
