/* Who may sit at the desk: browsers that came by a link, each by a cookie. What lies in the
 * folder is the cookie's hash, in a file's name, so a seat outlasts the server and holds at
 * all servers of the user.
 *
 * The key that the page sends besides is made of the cookie and a secret of this process: a
 * page asks for it once, with the cookie and from its own origin. */
#include <stdio.h>

#include "desk/internal.h"
#include "os/os.h"

#define SEAT ".seat"

typedef char seat_name[CRYPTO_HASH_HEX + sizeof SEAT];

static void seat_file(struct str cookie, seat_name out)
{
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(cookie, hex);
    (void)snprintf(out, sizeof(seat_name), "%s" SEAT, hex);
}

struct room {
    int dir;
    int64_t now_ms, first_ms;
    unsigned count;
    seat_name first; /* that ends before all others */
};

static bool seat_look(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    struct room *r = arg;
    struct err none = {0};
    (void)e;
    if (!st->is_file || !str_ends(str_of(name), SEAT) || strlen(name) >= sizeof r->first)
        return true;
    int64_t end = links_end(r->dir, name);
    if (end < r->now_ms) {
        (void)os_drop(r->dir, name, &none);
        return true;
    }
    r->count++;
    if (!r->first_ms || end < r->first_ms) {
        r->first_ms = end;
        (void)snprintf(r->first, sizeof r->first, "%s", name);
    }
    return true;
}

bool seats_take(int dir, char cookie[static CRYPTO_TOKEN], struct err *e)
{
    struct err none = {0};
    struct room r = {.dir = dir, .now_ms = os_real_ms()};
    seat_name name;
    char end[32];
    if (!os_walk(dir, seat_look, &r, e))
        return false;
    if (r.count >= DESK_SEATS_MAX)
        (void)os_drop(dir, r.first, &none);
    crypto_token(cookie);
    seat_file(str_of(cookie), name);
    (void)snprintf(end, sizeof end, "%lld",
                   (long long)(r.now_ms + (int64_t)DESK_SEAT_S * 1000));
    return os_write_file(dir, name, str_of(end), OS_CREATE, 0600, NULL, e);
}

bool seats_have(int dir, struct str cookie)
{
    seat_name name;
    if (cookie.n != CRYPTO_TOKEN - 1)
        return false;
    seat_file(cookie, name);
    return links_end(dir, name) > os_real_ms();
}

void seats_leave(int dir, struct str cookie)
{
    struct err none = {0};
    seat_name name;
    seat_file(cookie, name);
    (void)os_drop(dir, name, &none);
}

void seats_key(const struct desk *d, struct str cookie, char out[static CRYPTO_HASH_HEX])
{
    crypto_hmac_hex(d->secret, STR("cloche page "), cookie, out, NULL);
}
