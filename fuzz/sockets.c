/* The host's end of a machine's network, as an emulator may call it: what breaks a rule is found
 * out, all else has one of the results that guest/vm/host.h names, and nothing is connected to but
 * what the rules allow, which is one port of this computer. The input is a row of calls, each a
 * byte and its arguments; numbers have 2 bytes, the lower one first:
 *
 *   0 id kind1 place1 port   connect: place 0 is the port that is allowed, 1 to 3 are others,
 *                            4 is followed by 16 bytes of address
 *   1 id type1 n1 NAME       resolve
 *   2 id n BYTES             send
 *   3 id n                   receive
 *   4 id                     shut
 *   5 id reset1              end
 *   6 n1                     events
 *   7 n1 BYTES               the server accepts a connection, and says this
 *   8 speaks1                what connections have to speak from now on
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "driver.h"
#include "vm/network.h"

enum { ROOM = 70000, CONNECTIONS = 4 };

struct fuzzed {
    struct network *network;
    bool there[VM_NET_IDS];
    int listener;
    uint16_t port;
    enum vm_speaks speaks;
    bool broken;
    struct str in;
};

static bool may_resolve(void *arg, const char *name, struct err *why)
{
    (void)arg, (void)name;
    return err_set(why, ERR_DENIED, "no names");
}

static bool may_connect(void *arg, struct vm_peer *p, struct err *why)
{
    static const uint8_t loopback[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
    const struct fuzzed *f = arg;
    holds(p->port != 0 || p->kind == VM_NET_ECHO);
    p->speaks = f->speaks;
    if (!memcmp(p->address, loopback, sizeof loopback) && p->port == f->port)
        return true;
    return err_set(why, ERR_DENIED, "not there");
}

static bool may_speak(void *arg, const struct vm_peer *p, const char *name,
                      struct err *why)
{
    (void)arg, (void)p;
    return !strcmp(name, "allowed.test") || err_set(why, ERR_DENIED, "not this name");
}

static uint32_t number(struct fuzzed *f, unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes && f->in.n; i++, f->in.at++, f->in.n--)
        v |= (uint32_t)(uint8_t)*f->in.at << 8 * i;
    return v;
}

static struct str bytes(struct fuzzed *f, size_t n)
{
    struct str out = {f->in.at, n < f->in.n ? n : f->in.n};
    f->in.at += out.n;
    f->in.n -= out.n;
    return out;
}

/* A call returned `done`, on a socket that had to be there or not. */
static bool is_right(struct fuzzed *f, bool done, bool could_be, const struct err *e)
{
    if (!done) {
        holds(e->code == ERR_GUEST);
        f->broken = true; /* the machine is ended */
    }
    holds(could_be || !done);
    return done;
}

static bool is_there(const struct fuzzed *f, uint32_t id, bool there)
{
    return id < VM_NET_IDS && f->there[id] == there;
}

static void call_connect(struct fuzzed *f, uint32_t id)
{
    static const char *const places[] = {"192.168.127.254", "127.0.0.1", "192.168.127.1",
                                         "169.254.169.254"};
    uint8_t address[16] = {[10] = 0xff, 0xff};
    struct err e = {0};
    int32_t out = 1;
    uint32_t kind = number(f, 1), place = number(f, 1) % 5, port = number(f, 2);
    if (place < 4)
        holds(inet_pton(AF_INET, places[place], address + 12) == 1);
    else {
        struct str given = bytes(f, sizeof address);
        memcpy(address, given.at, given.n);
    }
    port = place == 0 ? f->port : port;
    bool could_be =
        is_there(f, id, false) && (kind <= VM_NET_UDP || (kind == VM_NET_ECHO && !port));
    if (!is_right(f, network_connect(f->network, id, kind, address, port, &out, &e),
                  could_be, &e))
        return;
    holds(out <= 0 && out >= VM_NET_UNREACHABLE);
    f->there[id] = out == 0;
}

static void call_resolve(struct fuzzed *f, uint32_t id)
{
    struct err e = {0};
    int32_t out = 1;
    uint32_t type = number(f, 1);
    struct str name = bytes(f, number(f, 1));
    if (!is_right(f, network_resolve(f->network, id, name, type, &out, &e),
                  is_there(f, id, false), &e))
        return;
    holds((type == 1 || type == 28) && !memchr(name.at, 0, name.n));
    holds(out <= 0 && out >= VM_NET_UNREACHABLE);
    f->there[id] = out == 0;
}

static void call_send(struct fuzzed *f, uint32_t id)
{
    struct err e = {0};
    int32_t out = INT32_MAX;
    struct str what = bytes(f, number(f, 2));
    if (is_right(f, network_send(f->network, id, what, &out, &e), is_there(f, id, true),
                 &e))
        holds(out == VM_NET_GONE || (out >= 0 && (size_t)out <= what.n));
}

static void call_receive(struct fuzzed *f, uint32_t id)
{
    struct err e = {0};
    int32_t out = INT32_MAX;
    uint32_t n = number(f, 2);
    char *exact = malloc(n + 1);
    must(exact != NULL);
    if (is_right(f, network_receive(f->network, id, exact, n, &out, &e),
                 is_there(f, id, true), &e))
        holds(out >= VM_NET_GONE && (out < 0 || (uint32_t)out <= n));
    free(exact);
}

static void call_events(struct fuzzed *f)
{
    struct vm_net_event got[256];
    uint32_t room = number(f, 1), n = network_events(f->network, got, room);
    holds(n <= room);
    for (uint32_t i = 0; i < n; i++)
        holds(is_there(f, got[i].id, true) && got[i].events);
}

static void call_end(struct fuzzed *f, uint32_t id)
{
    struct err e = {0};
    if (is_right(f, network_end(f->network, id, number(f, 1) & 1, &e),
                 is_there(f, id, true), &e))
        f->there[id] = false;
}

static void server_says(struct fuzzed *f)
{
    struct str what = bytes(f, number(f, 1));
    int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    ssize_t done = send(fd, what.at, what.n, MSG_NOSIGNAL);
    (void)done;
    (void)close(fd);
}

static void call(struct fuzzed *f)
{
    struct err e = {0};
    uint32_t which = number(f, 1) % 9, id = which < 6 ? number(f, 2) : 0;
    if (which == 0)
        call_connect(f, id);
    else if (which == 1)
        call_resolve(f, id);
    else if (which == 2)
        call_send(f, id);
    else if (which == 3)
        call_receive(f, id);
    else if (which == 4)
        (void)is_right(f, network_shut(f->network, id, &e), is_there(f, id, true), &e);
    else if (which == 5)
        call_end(f, id);
    else if (which == 6)
        call_events(f);
    else if (which == 7)
        server_says(f);
    else
        f->speaks = (enum vm_speaks)(number(f, 1) % (VM_SPEAKS_HTTP + 1));
}

static void listen_here(struct fuzzed *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(f->listener >= 0 && bind(f->listener, (struct sockaddr *)&a, size) == 0 &&
         listen(f->listener, 2 * CONNECTIONS) == 0 &&
         getsockname(f->listener, (struct sockaddr *)&a, &size) == 0);
    f->port = ntohs(a.sin_port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct fuzzed f = {.in = {(const char *)data, size}, .speaks = VM_SPEAKS_ANYTHING};
    struct vm_network rules = {.may_resolve = may_resolve,
                               .may_connect = may_connect,
                               .may_speak = may_speak,
                               .arg = &f,
                               .connections_max = CONNECTIONS,
                               .per_second = 1000,
                               .bytes_max = 100000};
    struct accounts *accounts = accounts_new();
    struct account *account = account_enter(accounts, STR("payer"), 0);
    listen_here(&f);
    f.network = network_open(&rules, account, &e);
    must(f.network != NULL);
    while (f.in.n && !f.broken)
        call(&f);
    network_close(f.network);
    account_leave(account);
    accounts_free(accounts);
    (void)close(f.listener);
    return 0;
}
