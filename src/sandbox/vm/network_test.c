#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/hello_test.h"
#include "vm/network.h"
#include "vm/ways.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* ---- rules, and what they were asked ------------------------------------------- */

struct asked {
    bool allows;
    enum vm_speaks speaks;
    struct vm_peer peer;
    char name[64]; /* the first of the peer's */
    struct vm_flow flow;
    unsigned flows;
};

static bool may_resolve(void *arg, const char *name, struct err *why)
{
    (void)arg;
    return !strcmp(name, "localhost") || err_set(why, ERR_DENIED, "not this name");
}

static bool may_connect(void *arg, struct vm_peer *p, struct err *why)
{
    struct asked *a = arg;
    a->peer = *p;
    (void)snprintf(p->mark, sizeof p->mark, "marked");
    p->speaks = a->speaks;
    (void)snprintf(a->name, sizeof a->name, "%s", p->name_count ? p->names[0] : "");
    return a->allows || err_set(why, ERR_DENIED, "not there");
}

static bool may_speak(void *arg, const struct vm_peer *p, const char *name,
                      struct err *why)
{
    struct asked *a = arg;
    assert_int_equal(p->speaks, a->speaks);
    return !strcmp(name, "allowed.test") || err_set(why, ERR_DENIED, "not %s", name);
}

static bool may_accept(void *arg, uint16_t port, char mark[VM_MARK], struct err *why)
{
    struct asked *a = arg;
    if (mark)
        (void)snprintf(mark, VM_MARK, "to %u", port);
    return a->allows || err_set(why, ERR_DENIED, "not in");
}

static void told(void *arg, const struct vm_flow *f)
{
    struct asked *a = arg;
    a->flow = *f;
    a->flows++;
}

struct place {
    struct asked asked;
    struct vm_network rules;
    struct accounts *accounts;
    struct account *account;
    struct network *network;
    int listener;
    uint16_t port;
    struct err e;
};

static void open_place(struct place *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    *p = (struct place){.asked.allows = true};
    p->rules = (struct vm_network){.may_resolve = may_resolve,
                                   .may_connect = may_connect,
                                   .may_speak = may_speak,
                                   .may_accept = may_accept,
                                   .tell = told,
                                   .arg = &p->asked,
                                   .connections_max = 4,
                                   .per_second = 1000,
                                   .bytes_max = 1000000};
    p->accounts = accounts_new();
    p->account = account_enter(p->accounts, STR("payer"), 0);
    p->network = network_open(&p->rules, p->account, &p->e);
    assert_non_null(p->network);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(p->listener, 8), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&a, &size), 0);
    p->port = ntohs(a.sin_port);
}

static void close_place(struct place *p)
{
    network_close(p->network);
    account_leave(p->account);
    accounts_free(p->accounts);
    close(p->listener);
}

static int32_t connect_by(struct place *p, uint32_t id, enum vm_net_kind kind,
                          const char *address, uint32_t port)
{
    uint8_t at[16];
    int32_t out = 0;
    memcpy(at, mapped, 12);
    assert_int_equal(inet_pton(AF_INET, address, at + 12), 1);
    assert_true(network_connect(p->network, id, kind, at, port, &out, &p->e));
    return out;
}

static int32_t connect_to(struct place *p, uint32_t id, const char *address,
                          uint32_t port)
{
    return connect_by(p, id, VM_NET_TCP, address, port);
}

/* Until one of these events has come for it. */
static uint32_t await_event(struct place *p, uint32_t id, uint32_t events)
{
    struct vm_net_event got[16];
    struct pollfd f = {.fd = network_fd(p->network), .events = POLLIN};
    for (int i = 0; i < 100 && poll(&f, 1, 10000) > 0; i++)
        for (uint32_t n = network_events(p->network, got, LENGTH(got)); n; n--)
            if (got[n - 1].id == id && got[n - 1].events & events)
                return got[n - 1].events;
    fail_msg("nothing happens to %u", id);
    return 0;
}

static int32_t receive(struct place *p, uint32_t id, char *to, uint32_t n)
{
    int32_t got = 0;
    assert_true(network_receive(p->network, id, to, n, &got, &p->e));
    return got;
}

#define HOST_ADDRESS "192.168.127.254"

static void bytes_go_both_ways(void **state)
{
    (void)state;
    struct place p;
    char bytes[16];
    int32_t sent = 0;
    open_place(&p);
    assert_int_equal(connect_to(&p, 7, HOST_ADDRESS, p.port), 0);
    assert_int_equal(p.asked.peer.address[12], 127); /* as it is here */
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(await_event(&p, 7, VM_NET_OPENED) & VM_NET_OPENED);
    assert_int_equal(receive(&p, 7, bytes, sizeof bytes), VM_NET_NONE);
    assert_true(network_send(p.network, 7, STR("ping"), &sent, &p.e));
    assert_int_equal(sent, 4);
    assert_int_equal(read(fd, bytes, sizeof bytes), 4);
    assert_int_equal(write(fd, "pong!", 5), 5);
    await_event(&p, 7, VM_NET_READABLE);
    assert_int_equal(receive(&p, 7, bytes, sizeof bytes), 5);
    assert_true(network_shut(p.network, 7, &p.e));
    assert_int_equal(read(fd, bytes, sizeof bytes), 0);
    close(fd);
    await_event(&p, 7, VM_NET_READABLE);
    assert_int_equal(receive(&p, 7, bytes, sizeof bytes), 0);
    assert_true(network_end(p.network, 7, false, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_ENDED);
    assert_int_equal(p.asked.flow.sent_bytes, 4);
    assert_int_equal(p.asked.flow.received_bytes, 5);
    close_place(&p);
}

/* ---- IPv6 ------------------------------------------------------------------------- */

static int32_t connect_v6(struct place *p, uint32_t id, enum vm_net_kind kind,
                          const char *address, uint32_t port)
{
    uint8_t at[16];
    int32_t out = 0;
    assert_int_equal(inet_pton(AF_INET6, address, at), 1);
    assert_true(network_connect(p->network, id, kind, at, port, &out, &p->e));
    return out;
}

/* A server at ::1, whose port is filled in. */
static int listen_v6(uint16_t *port, int type)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_true(type == SOCK_DGRAM || listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin6_port);
    return fd;
}

#define HOST_V6 "fd63:6c6f:6368::fe"

static void the_loopback_has_an_address_of_ipv6(void **state)
{
    (void)state;
    static const uint8_t loopback[16] = {[15] = 1};
    struct place p;
    char bytes[16];
    int32_t sent = 0;
    uint16_t port;
    open_place(&p);
    if (!(ways_here() & LAN_WAY_V6)) { /* of a computer that has none */
        assert_int_equal(connect_v6(&p, 1, VM_NET_TCP, HOST_V6, 80), VM_NET_UNREACHABLE);
        close_place(&p);
        return;
    }
    int listener = listen_v6(&port, SOCK_STREAM), server = listen_v6(&port, SOCK_DGRAM);
    assert_int_equal(connect_v6(&p, 300, VM_NET_UDP, HOST_V6, port), 0);
    assert_true(network_send(p.network, 300, STR("time?"), &sent, &p.e));
    assert_int_equal(recv(server, bytes, sizeof bytes, 0), 5);
    close(server);
    close(listener);
    listener = listen_v6(&port, SOCK_STREAM);
    assert_int_equal(connect_v6(&p, 7, VM_NET_TCP, HOST_V6, port), 0);
    assert_memory_equal(p.asked.peer.address, loopback, 16);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 7, VM_NET_OPENED);
    assert_true(network_send(p.network, 7, STR("ping"), &sent, &p.e));
    assert_int_equal(read(fd, bytes, sizeof bytes), 4);
    assert_int_equal(write(fd, "pong!", 5), 5);
    await_event(&p, 7, VM_NET_READABLE);
    assert_int_equal(receive(&p, 7, bytes, sizeof bytes), 5);
    assert_true(network_end(p.network, 7, false, &p.e));
    assert_memory_equal(p.asked.flow.address, loopback, 16);
    assert_int_equal(p.asked.flow.received_bytes, 5);
    close(fd);
    close(listener);
    close_place(&p);
}

/* The rest of the plan's network is nobody's, whatever the rules say. */
static void neighbours_of_ipv6_are_nobody(void **state)
{
    (void)state;
    static const char *const nobody[] = {"fd63:6c6f:6368::",     "fd63:6c6f:6368::1",
                                         "fd63:6c6f:6368::2",    HOST_V6 "fe",
                                         "fd63:6c6f:6368::1:fe", "fd63:6c6f:6368::3"};
    struct place p;
    open_place(&p);
    for (size_t i = 0; i < LENGTH(nobody); i++)
        assert_int_equal(connect_v6(&p, 1, VM_NET_TCP, nobody[i], p.port),
                         VM_NET_UNREACHABLE);
    assert_int_equal(p.asked.peer.port, 0); /* they were not asked */
    p.asked.allows = false;
    assert_int_equal(connect_v6(&p, 1, VM_NET_TCP, HOST_V6, p.port), VM_NET_DENIED);
    close_place(&p);
}

static void a_way_is_one_that_leads_further(void **state)
{
    (void)state;
    static const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
    static const uint8_t loopback[16] = {[15] = 1}, link[16] = {0xfe, 0x80, [15] = 9};
    uint32_t ways = ways_here();
    assert_true(ways & LAN_WAY_V4);
    assert_true(ways & LAN_WAY_V6 || !(ways & LAN_WAY_V6_FAR));
    assert_true(ways_lead_to(v4));
    assert_int_equal(ways_lead_to(loopback), (ways & LAN_WAY_V6) != 0);
    assert_false(ways_lead_to(link)); /* of which network? */
}

static void what_the_rules_refuse_has_no_socket(void **state)
{
    (void)state;
    struct place p;
    open_place(&p);
    p.asked.allows = false;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), VM_NET_DENIED);
    assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
    assert_string_equal(p.asked.flow.why, "not there");
    assert_int_equal(connect_to(&p, 0, "192.168.127.9", p.port), VM_NET_UNREACHABLE);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, 0), VM_NET_UNREACHABLE);
    struct pollfd f = {.fd = p.listener, .events = POLLIN};
    assert_int_equal(poll(&f, 1, 0), 0);
    close_place(&p);
}

static void nobody_there_is_a_failure(void **state)
{
    (void)state;
    struct place p;
    open_place(&p);
    close(p.listener);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    await_event(&p, 0, VM_NET_FAILED);
    assert_true(network_end(p.network, 0, false, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_FAILED);
    p.listener = -1;
    close_place(&p);
}

/* A port of UDP that is in use and takes nothing: it speaks with another. */
static int deaf_port(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin_port);
    a.sin_port = htons(9);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void a_datagram_that_nobody_takes_is_told(void **state)
{
    (void)state;
    struct place p;
    int32_t sent = 0;
    char bytes[16];
    uint16_t port;
    open_place(&p);
    int fd = deaf_port(&port);
    assert_int_equal(connect_by(&p, 300, VM_NET_UDP, HOST_ADDRESS, port), 0);
    assert_true(network_send(p.network, 300, STR("time?"), &sent, &p.e));
    assert_int_equal(sent, 5);
    await_event(&p, 300, VM_NET_FAILED);
    assert_int_equal(receive(&p, 300, bytes, sizeof bytes), VM_NET_NONE);
    assert_true(network_send(p.network, 300, STR("again"), &sent, &p.e));
    assert_int_equal(sent, 5);
    await_event(&p, 300, VM_NET_FAILED);
    assert_true(network_end(p.network, 300, false, &p.e));
    close(fd);
    close_place(&p);
}

/* Of what a way takes, that is: as much as the machine's own frames, or less. */
static void a_narrow_way_is_told(void **state)
{
    (void)state;
    struct place p;
    uint16_t port;
    int mtu = 0;
    socklen_t size = sizeof mtu;
    open_place(&p);
    int fd = deaf_port(&port);
    assert_int_equal(getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size), 0);
    assert_int_equal(connect_by(&p, 300, VM_NET_UDP, HOST_ADDRESS, port), 0);
    uint32_t events = await_event(&p, 300, VM_NET_WRITABLE);
    assert_int_equal(events >> 16, mtu < 1500 ? mtu : 0);
    assert_int_equal((events & VM_NET_NARROW) != 0, mtu < 1500);
    close(fd);
    close_place(&p);
}

static void a_reset_is_one_outside(void **state)
{
    (void)state;
    struct place p;
    char byte;
    open_place(&p);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    assert_true(network_end(p.network, 0, true, &p.e));
    assert_int_equal(read(fd, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    close_place(&p);
}

static void there_are_limits(void **state)
{
    (void)state;
    struct place p;
    open_place(&p);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(connect_to(&p, i, HOST_ADDRESS, p.port), 0);
    assert_int_equal(connect_to(&p, 4, HOST_ADDRESS, p.port), VM_NET_FULL);
    assert_int_equal(p.asked.flow.end, VM_FLOW_LIMIT);
    assert_string_equal(p.asked.flow.why,
                        "4 connections are open, and no more may be at once");
    assert_true(network_end(p.network, 0, false, &p.e));
    assert_int_equal(connect_to(&p, 4, HOST_ADDRESS, p.port), 0);
    p.rules.per_second = 0;
    assert_true(network_end(p.network, 1, false, &p.e));
    assert_int_equal(connect_to(&p, 5, HOST_ADDRESS, p.port), VM_NET_FULL);
    assert_non_null(strstr(p.asked.flow.why, "within a second"));
    close_place(&p);
}

static void so_many_bytes_and_no_more(void **state)
{
    (void)state;
    static char bytes[100000];
    struct place p;
    int32_t sent = 0;
    open_place(&p);
    p.rules.bytes_max = 150000;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    uint64_t all = 0;
    for (int i = 0; i < 1000 && sent >= 0; i++) {
        struct str some = {bytes, sizeof bytes};
        assert_true(network_send(p.network, 0, some, &sent, &p.e));
        all += sent > 0 ? (uint64_t)sent : 0;
        while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
        }
    }
    assert_int_equal(sent, VM_NET_GONE);
    assert_in_range(all, 150000, 250000);
    assert_int_equal(connect_to(&p, 1, HOST_ADDRESS, p.port), VM_NET_FULL);
    assert_true(network_end(p.network, 0, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_LIMIT);
    assert_non_null(strstr(p.asked.flow.why, "150000 bytes"));
    close(fd);
    close_place(&p);
}

static void a_name_that_led_there_is_told(void **state)
{
    (void)state;
    struct place p;
    struct {
        struct vm_net_answer a;
        char text[100];
    } got = {0};
    int32_t out = 0;
    open_place(&p);
    assert_true(network_resolve(p.network, 400, STR("localhost"), 1, &out, &p.e));
    assert_int_equal(out, 0);
    await_event(&p, 400, VM_NET_READABLE);
    assert_int_equal(receive(&p, 400, (char *)&got, sizeof got), sizeof got.a);
    assert_int_equal(got.a.status, 0);
    assert_true(got.a.count > 0 && got.a.addresses[0][12] == 127);
    assert_true(network_end(p.network, 400, false, &p.e));
    assert_int_equal(connect_to(&p, 0, "127.0.0.1", p.port), 0);
    assert_string_equal(p.asked.name, "localhost");
    assert_true(network_resolve(p.network, 401, STR("other.test"), 28, &out, &p.e));
    await_event(&p, 401, VM_NET_READABLE);
    assert_true(receive(&p, 401, (char *)&got, sizeof got) > (int32_t)sizeof got.a);
    assert_int_equal(got.a.status, 5);
    assert_memory_equal(got.text, "not this name", 13);
    close_place(&p);
}

/* Until all of it has been sent; the other end takes what comes. */
static uint64_t send_all(struct place *p, int fd, size_t n)
{
    static char bytes[100000], taken[100000];
    uint64_t all = 0;
    int32_t sent = 0;
    while (all < n && sent >= 0) {
        struct str some = {bytes, sizeof bytes};
        assert_true(network_send(p->network, 0, some, &sent, &p->e));
        all += sent > 0 ? (uint64_t)sent : 0;
        while (recv(fd, taken, sizeof taken, MSG_DONTWAIT) > 0) {
        }
        if (sent < (int32_t)sizeof bytes)
            await_event(p, 0, VM_NET_WRITABLE);
    }
    return all;
}

static void a_rate_holds_both_ways(void **state)
{
    (void)state;
    static char bytes[300000];
    struct place p;
    open_place(&p);
    p.rules.rate_max = 2000000;
    p.rules.bytes_max = UINT64_MAX;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    uint64_t began = os_mono_ns();
    assert_true(send_all(&p, fd, 500000) >= 500000);
    assert_true(write(fd, bytes, sizeof bytes) > 0);
    close(fd);
    for (int32_t got = 1; got != 0;)
        if ((got = receive(&p, 0, bytes, sizeof bytes)) == VM_NET_NONE)
            await_event(&p, 0, VM_NET_READABLE);
    /* Less the burst of a twentieth of a second. */
    uint64_t moved = account_bytes(p.account, os_mono_ns());
    assert_true(moved >= 500000);
    assert_true(os_mono_ns() - began >= (moved - 100000) * 500);
    close_place(&p);
}

static void what_the_rules_do_not_allow_any_more_is_cut(void **state)
{
    (void)state;
    struct place p;
    char byte;
    open_place(&p);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    await_event(&p, 0, VM_NET_OPENED);
    p.asked.allows = false;
    while (!p.asked.peer.again)
        await_event(&p, 0, VM_NET_READABLE);
    assert_int_equal(receive(&p, 0, &byte, 1), VM_NET_GONE);
    assert_true(network_end(p.network, 0, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
    assert_string_equal(p.asked.flow.why, "not there");
    assert_string_equal(p.asked.flow.mark, "marked");
    close_place(&p);
}

static void what_nothing_goes_through_is_ended(void **state)
{
    (void)state;
    struct place p;
    char byte;
    open_place(&p);
    p.rules.idle_ns = 1000000;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    await_event(&p, 0, VM_NET_OPENED);
    await_event(&p, 0, VM_NET_READABLE);
    assert_int_equal(receive(&p, 0, &byte, 1), VM_NET_GONE);
    assert_true(network_end(p.network, 0, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_IDLE);
    close_place(&p);
}

static void of_udp_silence_has_its_own_measure(void **state)
{
    (void)state;
    struct place p;
    char byte;
    open_place(&p);
    p.rules.idle_udp_ns = 1000000;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    await_event(&p, 0, VM_NET_OPENED);
    assert_int_equal(connect_by(&p, 1, VM_NET_UDP, HOST_ADDRESS, p.port), 0);
    await_event(&p, 1, VM_NET_READABLE);
    assert_int_equal(receive(&p, 1, &byte, 1), VM_NET_GONE);
    assert_true(network_end(p.network, 1, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_IDLE);
    assert_int_equal(receive(&p, 0, &byte, 1), VM_NET_NONE); /* TCP stays */
    close_place(&p);
}

static int32_t send_text(struct place *p, const char *text)
{
    int32_t sent = 0;
    assert_true(network_send(p->network, 0, str_of(text), &sent, &p->e));
    return sent;
}

static void nothing_is_said_to_a_server_before_it_is_named(void **state)
{
    (void)state;
    struct place p;
    char bytes[100];
    open_place(&p);
    p.asked.speaks = VM_SPEAKS_HTTP;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    assert_int_equal(send_text(&p, "GET / HTTP/1.1\r\nHost: allo"), 26);
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), -1);
    assert_int_equal(send_text(&p, "wed.test\r\n\r\n"), 12);
    assert_true(network_shut(p.network, 0, &p.e));
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_WAITALL), 38);
    assert_memory_equal(bytes, "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n", 38);
    close(fd);
    close_place(&p);
}

static void a_server_of_another_name_hears_nothing(void **state)
{
    (void)state;
    static const char *const all[] = {"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
                                      "SSH-2.0-x\r\n"};
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct place p;
        char bytes[100];
        open_place(&p);
        p.asked.speaks = VM_SPEAKS_HTTP;
        assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
        int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
        await_event(&p, 0, VM_NET_OPENED);
        assert_int_equal(send_text(&p, all[i]), VM_NET_GONE);
        assert_int_equal(receive(&p, 0, bytes, sizeof bytes), VM_NET_GONE);
        assert_true(network_end(p.network, 0, true, &p.e));
        assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
        assert_string_not_equal(p.asked.flow.why, "");
        assert_true(recv(fd, bytes, sizeof bytes, 0) <= 0);
        close(fd);
        close_place(&p);
    }
}

/* Of TLS: with another server name, without one, with two protocols' beginnings; and each cut into
 * single bytes. A server of an allowed name hears all of it, byte for byte. */
static void a_server_name_of_tls_is_heard_however_it_is_cut(void **state)
{
    (void)state;
    unsigned char bytes[2048];
    char got[2048];
    static const struct {
        const char *name;
        bool may;
    } rows[] = {{"allowed.test", true},
                {"other.test", false},
                {NULL, false},
                {"allowed.test.other.test", false},
                {"", false}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t step = 1; step < 200; step += 60) {
            struct place p;
            int32_t sent = 0;
            struct str all = hello(rows[i].name, step, bytes);
            open_place(&p);
            p.asked.speaks = VM_SPEAKS_TLS;
            assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
            int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
            await_event(&p, 0, VM_NET_OPENED);
            for (size_t at = 0; at < all.n && sent >= 0; at++) {
                assert_int_equal(recv(fd, got, sizeof got, MSG_DONTWAIT | MSG_PEEK), -1);
                struct str one = {all.at + at, 1};
                assert_true(network_send(p.network, 0, one, &sent, &p.e));
            }
            assert_int_equal(sent, rows[i].may ? 1 : VM_NET_GONE);
            if (rows[i].may) {
                assert_int_equal(recv(fd, got, all.n, MSG_WAITALL), all.n);
                assert_memory_equal(got, all.at, all.n);
            }
            assert_true(network_end(p.network, 0, !rows[i].may, &p.e));
            assert_int_equal(p.asked.flow.end,
                             rows[i].may ? VM_FLOW_ENDED : VM_FLOW_REFUSED);
            assert_int_equal(p.asked.flow.sent_bytes, rows[i].may ? all.n : 0);
            close(fd);
            close_place(&p);
        }
}

/* On one connection, also one that was named already. */
static void each_request_has_to_name_its_server(void **state)
{
    (void)state;
#define POST_HEAD "POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 50000\r\n\r\n"
#define GET_ONE "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
    static char body[50000], taken[200000];
    static const char *const last[] = {"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
                                       "GET http://other.test/ HTTP/1.1\r\n\r\n",
                                       "CONNECT other.test:443 HTTP/1.1\r\nHost: "
                                       "allowed.test\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: "
                                       "other.test\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: allowed.test\r\nHost: "
                                       "allowed.test\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: "
                                       "h2c\r\n\r\n"};
    for (size_t i = 0; i < LENGTH(last); i++) {
        struct place p;
        int32_t sent = 0;
        open_place(&p);
        p.asked.speaks = VM_SPEAKS_HTTP;
        assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
        int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
        await_event(&p, 0, VM_NET_OPENED);
        memset(body, 'b', sizeof body);
        assert_int_equal(send_text(&p, POST_HEAD), strlen(POST_HEAD));
        size_t want = strlen(POST_HEAD) + sizeof body;
        for (size_t at = 0; at < sizeof body; at += (size_t)sent) {
            struct str rest = {body + at, sizeof body - at};
            assert_true(network_send(p.network, 0, rest, &sent, &p.e));
            assert_true(sent > 0);
        }
        assert_int_equal(send_text(&p, GET_ONE GET_ONE), 2 * strlen(GET_ONE));
        want += 2 * strlen(GET_ONE);
        assert_int_equal(recv(fd, taken, want, MSG_WAITALL), want);
        assert_memory_equal(taken + want - strlen(GET_ONE), GET_ONE, strlen(GET_ONE));
        assert_int_equal(send_text(&p, last[i]), VM_NET_GONE);
        assert_true(network_end(p.network, 0, true, &p.e));
        assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
        assert_string_not_equal(p.asked.flow.why, "");
        assert_int_equal(p.asked.flow.sent_bytes, want);
        assert_true(recv(fd, taken, sizeof taken, 0) <= 0);
        close(fd);
        close_place(&p);
    }
}

#define UPGRADE_ONE \
    "GET / HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nab"

/* A connection whose first request asks for another protocol; the other end of it. */
static int ask_upgrade(struct place *p)
{
    char heard[200];
    open_place(p);
    p->asked.speaks = VM_SPEAKS_HTTP;
    assert_int_equal(connect_to(p, 0, HOST_ADDRESS, p->port), 0);
    int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(p, 0, VM_NET_OPENED);
    /* What comes behind it at once is not taken yet. */
    assert_int_equal(send_text(p, UPGRADE_ONE "\x81\x01x"), strlen(UPGRADE_ONE));
    assert_int_equal(send_text(p, "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n"), 0);
    assert_int_equal(recv(fd, heard, sizeof heard, MSG_DONTWAIT), strlen(UPGRADE_ONE));
    return fd;
}

static void server_says(struct place *p, int fd, const char *text)
{
    char bytes[200];
    assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
    for (size_t at = 0; at < strlen(text);) {
        int32_t n = receive(p, 0, bytes + at, sizeof bytes - (uint32_t)at);
        assert_true(n > 0 || n == VM_NET_NONE);
        at += n > 0 ? (size_t)n : 0;
    }
}

static void behind_a_101_another_protocol_passes(void **state)
{
    (void)state;
    static const char other[] = "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n";
    struct place p;
    char heard[100];
    int fd = ask_upgrade(&p);
    server_says(&p, fd, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(send_text(&p, other), 0);
    server_says(&p, fd, "HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x01y");
    await_event(&p, 0, VM_NET_WRITABLE);
    assert_int_equal(send_text(&p, "\x81\x01x"), 3);
    assert_int_equal(send_text(&p, other), strlen(other));
    assert_int_equal(recv(fd, heard, 3 + strlen(other), MSG_WAITALL), 3 + strlen(other));
    assert_memory_equal(heard, "\x81\x01x", 3);
    assert_true(network_end(p.network, 0, false, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_ENDED);
    assert_true(p.asked.flow.upgraded);
    close(fd);
    close_place(&p);
}

static void without_a_101_requests_are_checked_as_before(void **state)
{
    (void)state;
    static const char *const last[] = {
        "\x81\x01x\r\n", "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\n\r\n"};
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 426 Upgrade Required\r\nX: HTTP/1.1 101 \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nHTTP/1.1 101 Yes\r\n\r\n1234"};
    for (size_t i = 0; i < LENGTH(last) * LENGTH(answers); i++) {
        struct place p;
        char heard[100];
        int fd = ask_upgrade(&p);
        server_says(&p, fd, answers[i / LENGTH(last)]);
        await_event(&p, 0, VM_NET_WRITABLE);
        assert_int_equal(send_text(&p, GET_ONE), strlen(GET_ONE));
        assert_int_equal(recv(fd, heard, sizeof heard, 0), strlen(GET_ONE));
        assert_int_equal(send_text(&p, last[i % LENGTH(last)]), VM_NET_GONE);
        assert_true(network_end(p.network, 0, true, &p.e));
        assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
        assert_false(p.asked.flow.upgraded);
        assert_true(recv(fd, heard, sizeof heard, 0) <= 0);
        close(fd);
        close_place(&p);
    }
}

static void who_ends_before_a_name_is_cut(void **state)
{
    (void)state;
    struct place p;
    char byte;
    open_place(&p);
    p.asked.speaks = VM_SPEAKS_HTTP;
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    int fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    assert_int_equal(send_text(&p, "GET / HT"), 8);
    assert_true(network_shut(p.network, 0, &p.e));
    await_event(&p, 0, VM_NET_READABLE);
    assert_int_equal(receive(&p, 0, &byte, 1), VM_NET_GONE);
    assert_true(network_end(p.network, 0, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
    close(fd);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    fd = accept4(p.listener, NULL, NULL, SOCK_CLOEXEC);
    await_event(&p, 0, VM_NET_OPENED);
    assert_true(network_shut(p.network, 0, &p.e)); /* of nothing: the server hears it */
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
    close_place(&p);
}

/* Those of one payer have their limits together. */
static void machines_of_a_payer_share_what_they_may(void **state)
{
    (void)state;
    struct place p;
    struct err e = {0};
    int32_t out = 0;
    uint8_t at[16];
    open_place(&p);
    struct network *other = network_open(&p.rules, p.account, &e);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(connect_to(&p, i, HOST_ADDRESS, p.port), 0);
    memcpy(at, mapped, 12);
    assert_int_equal(inet_pton(AF_INET, HOST_ADDRESS, at + 12), 1);
    assert_true(network_connect(other, 0, VM_NET_TCP, at, p.port, &out, &e));
    assert_int_equal(out, VM_NET_FULL);
    network_close(take(p.network));
    assert_true(network_connect(other, 0, VM_NET_TCP, at, p.port, &out, &e));
    assert_int_equal(out, 0);
    network_close(other);
    close_place(&p);
}

/* ---- exposed ports ---------------------------------------------------------------- */

/* Connects to an exposed port. */
static int visit(const struct vm_port *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port->host_port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, port->address, &a.sin_addr), 1);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

static void who_connects_to_an_exposed_port_is_told_to_the_machine(void **state)
{
    (void)state;
    struct place p;
    struct vm_port port = {.port = 8080}, list[VM_PORTS_MAX];
    char text[8] = "";
    int32_t out;
    open_place(&p);
    assert_true(network_expose(p.network, &port, &p.e));
    assert_memory_equal(port.address, "127.", 4);
    assert_string_not_equal(port.address, "127.0.0.1");
    assert_int_not_equal(port.host_port, 0);
    assert_int_equal(network_ports(p.network, list), 1);
    int fd = visit(&port);
    uint32_t got = await_event(&p, VM_NET_INBOUND, VM_NET_ACCEPTED);
    assert_int_equal(got >> 16, 8080);
    assert_int_equal(send(fd, "hello", 5, 0), 5);
    await_event(&p, VM_NET_INBOUND, VM_NET_READABLE);
    assert_int_equal(receive(&p, VM_NET_INBOUND, text, sizeof text), 5);
    assert_true(network_send(p.network, VM_NET_INBOUND, STR("page"), &out, &p.e));
    assert_int_equal(recv(fd, text, 4, MSG_WAITALL), 4);
    assert_memory_equal(text, "page", 4);
    assert_true(network_end(p.network, VM_NET_INBOUND, false, &p.e));
    assert_int_equal(recv(fd, text, 1, 0), 0);
    close(fd);
    assert_true(p.asked.flow.inbound);
    assert_string_equal(p.asked.flow.mark, "to 8080");
    assert_int_equal(p.asked.flow.port, 8080);
    assert_int_equal(p.asked.flow.sent_bytes, 4);
    assert_int_equal(p.asked.flow.received_bytes, 5);
    close_place(&p);
    assert_int_equal(visit(&port), -1); /* closed with the machine */
}

static bool is_reset(int fd)
{
    char c;
    struct timeval most = {.tv_sec = 100};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    bool reset = recv(fd, &c, 1, 0) < 0 && errno == ECONNRESET;
    close(fd);
    return reset;
}

static void serve_events(struct place *p)
{
    struct vm_net_event got[16];
    struct pollfd f = {.fd = network_fd(p->network), .events = POLLIN};
    assert_int_equal(poll(&f, 1, 100000), 1);
    (void)network_events(p->network, got, LENGTH(got));
}

static void who_may_not_be_let_in_is_reset(void **state)
{
    (void)state;
    struct place p;
    struct vm_port port = {.port = 80};
    open_place(&p);
    assert_true(network_expose(p.network, &port, &p.e));
    p.asked.allows = false;
    int fd = visit(&port);
    serve_events(&p);
    assert_true(is_reset(fd));
    assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
    assert_string_equal(p.asked.flow.why, "not in");
    p.asked.allows = true;
    p.rules.connections_max = 1;
    int first = visit(&port);
    await_event(&p, VM_NET_INBOUND, VM_NET_ACCEPTED);
    fd = visit(&port);
    serve_events(&p);
    assert_true(is_reset(fd));
    assert_int_equal(p.asked.flow.end, VM_FLOW_LIMIT);
    p.asked.allows = false; /* it is asked again each second */
    await_event(&p, VM_NET_INBOUND, VM_NET_READABLE | VM_NET_WRITABLE);
    int32_t out = 0;
    while (out != VM_NET_GONE) {
        assert_true(network_send(p.network, VM_NET_INBOUND, STR("x"), &out, &p.e));
        if (out != VM_NET_GONE)
            serve_events(&p);
    }
    assert_true(network_end(p.network, VM_NET_INBOUND, true, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_REFUSED);
    close(first);
    close_place(&p);
}

static void ports_are_exposed_on_loopback_once_and_within_limits(void **state)
{
    (void)state;
    struct place p;
    static const char *const strangers[] = {"0.0.0.0", "192.168.1.1", "::1",
                                            "localhost."};
    open_place(&p);
    for (size_t i = 0; i < LENGTH(strangers); i++) {
        struct vm_port port = {.port = 80};
        struct err e = {0};
        (void)snprintf(port.address, sizeof port.address, "%s", strangers[i]);
        assert_false(network_expose(p.network, &port, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
    struct vm_port port = {.port = 1};
    assert_true(network_expose(p.network, &port, &p.e));
    struct vm_port same = {.port = 1}, taken = port;
    struct err e = {0}, busy = {0}, full = {0};
    assert_false(network_expose(p.network, &same, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    taken.port = 2;
    assert_false(network_expose(p.network, &taken, &busy));
    assert_int_equal(busy.code, ERR_BUSY);
    for (uint16_t i = 2; i <= VM_PORTS_MAX; i++)
        assert_true(network_expose(p.network, &(struct vm_port){.port = i}, &p.e));
    assert_false(network_expose(p.network, &(struct vm_port){.port = 99}, &full));
    assert_int_equal(full.code, ERR_LIMIT);
    assert_true(network_unexpose(p.network, 1));
    assert_false(network_unexpose(p.network, 1));
    assert_int_equal(visit(&port), -1);
    assert_true(network_expose(p.network, &(struct vm_port){.port = 99}, &p.e));
    close_place(&p);
}

static int listener_at(int family, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons(port)};
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                              .sin6_port = htons(port)};
    bool v6 = family == AF_INET6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, v6 ? (struct sockaddr *)&a6 : (struct sockaddr *)&a,
             v6 ? sizeof a6 : sizeof a) == 0 &&
        listen(fd, 1) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void answers_for_which_there_was_no_room_come_next(void **state)
{
    (void)state;
    struct place p;
    struct vm_net_event at[4];
    int32_t out;
    open_place(&p);
    for (uint32_t id = 0; id < 6; id++)
        assert_true(network_resolve(p.network, id, STR("other.test"), 1, &out, &p.e));
    assert_int_equal(network_events(p.network, at, 4), 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(network_end(p.network, at[i].id, false, &p.e));
    assert_int_equal(network_events(p.network, at, 4), 2);
    close_place(&p);
}

/* Both addresses, or neither; where there is no IPv6, the one. */
static void localhost_is_both_of_its_addresses(void **state)
{
    (void)state;
    struct place p;
    struct err e = {0};
    open_place(&p);
    struct vm_port port = {.port = 1, .address = "localhost"};
    assert_true(network_expose(p.network, &port, &p.e));
    bool v6 = listener_at(AF_INET6, port.host_port) < 0;
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                              .sin6_port = htons(port.host_port)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !(ways_here() & LAN_WAY_V6))
        v6 = false;
    else {
        struct vm_net_event at[4];
        assert_true(v6);
        assert_int_equal(connect(fd, (struct sockaddr *)&a6, sizeof a6), 0);
        assert_int_equal(network_events(p.network, at, 4), 1);
        assert_true(at[0].events & VM_NET_ACCEPTED);
        assert_true(network_end(p.network, at[0].id, false, &p.e));
        (void)close(fd);
    }
    assert_true(network_unexpose(p.network, 1));
    fd = listener_at(AF_INET, port.host_port);
    assert_true(fd >= 0); /* both are free again */
    (void)close(fd);
    fd = v6 ? listener_at(AF_INET6, port.host_port) : -1;
    assert_false(v6 && network_expose(p.network, &port, &e));
    assert_int_equal(e.code, v6 ? ERR_BUSY : ERR_NONE);
    int other = listener_at(AF_INET, port.host_port);
    assert_true(other >= 0); /* the other one is not listened on either */
    (void)close(other);
    if (v6)
        (void)close(fd);
    close_place(&p);
}

/* A network of its own, in which programs may ping. */
static bool is_alone(void)
{
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int range = open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);
    bool ok = ioctl(fd, SIOCSIFFLAGS, &up) == 0 && write(range, "0 2147483647", 12) == 12;
    close(fd);
    close(range);
    return ok;
}

/* Last, since the network stays. */
static void an_echo_goes_where_the_kernel_lets_it(void **state)
{
    (void)state;
    struct place p;
    int32_t out = 0;
    char bytes[64];
    open_place(&p);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
    close(fd);
    if (fd < 0) {
        assert_int_equal(connect_by(&p, 370, VM_NET_ECHO, HOST_ADDRESS, 0),
                         VM_NET_DENIED);
        assert_int_equal(p.asked.flow.end, VM_FLOW_FAILED);
        assert_non_null(strstr(p.asked.flow.why, "ping_group_range"));
    }
    p.asked.allows = false;
    assert_int_equal(connect_by(&p, 370, VM_NET_ECHO, HOST_ADDRESS, 0), VM_NET_DENIED);
    assert_int_equal(p.asked.peer.kind, VM_NET_ECHO);
    close_place(&p);
    if (!is_alone())
        skip();
    open_place(&p);
    assert_int_equal(connect_by(&p, 370, VM_NET_ECHO, HOST_ADDRESS, 0), 0);
    assert_true(network_send(p.network, 370, STR("hello"), &out, &p.e));
    assert_int_equal(out, 7);
    await_event(&p, 370, VM_NET_READABLE);
    assert_int_equal(receive(&p, 370, bytes, sizeof bytes), 7);
    assert_memory_equal(bytes, "hello", 7);
    assert_int_equal(receive(&p, 370, bytes, sizeof bytes), VM_NET_NONE);
    assert_true(network_end(p.network, 370, false, &p.e));
    assert_int_equal(p.asked.flow.end, VM_FLOW_ENDED);
    assert_true(p.asked.flow.received_bytes >= 7);
    close_place(&p);
}

static void an_emulator_that_breaks_rules_is_found_out(void **state)
{
    (void)state;
    struct place p;
    int32_t out;
    uint8_t at[16] = {0};
    open_place(&p);
    assert_int_equal(connect_to(&p, 0, HOST_ADDRESS, p.port), 0);
    assert_false(network_connect(p.network, 0, VM_NET_TCP, at, 80, &out, &p.e));
    assert_int_equal(p.e.code, ERR_GUEST);
    struct err e = {0};
    assert_false(network_connect(p.network, VM_NET_IDS, VM_NET_TCP, at, 80, &out, &e));
    assert_false(
        network_connect(p.network, VM_NET_INBOUND, VM_NET_TCP, at, 80, &out, &e));
    assert_false(network_connect(p.network, 1, 3, at, 80, &out, &e));
    assert_false(network_connect(p.network, 1, VM_NET_ECHO, at, 80, &out, &e));
    assert_false(network_connect(p.network, 1, VM_NET_TCP, at, 65536, &out, &e));
    assert_false(network_send(p.network, 1, STR("x"), &out, &e));
    assert_false(network_receive(p.network, UINT32_MAX, at, 1, &out, &e));
    assert_false(network_shut(p.network, 1, &e));
    assert_false(network_end(p.network, 1, true, &e));
    assert_false(network_resolve(p.network, 1, (struct str){"a\0b", 3}, 1, &out, &e));
    assert_false(network_resolve(p.network, 1, STR("a"), 16, &out, &e));
    assert_int_equal(e.code, ERR_GUEST);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(the_loopback_has_an_address_of_ipv6),
        cmocka_unit_test(neighbours_of_ipv6_are_nobody),
        cmocka_unit_test(a_way_is_one_that_leads_further),
        cmocka_unit_test(what_the_rules_refuse_has_no_socket),
        cmocka_unit_test(nobody_there_is_a_failure),
        cmocka_unit_test(a_datagram_that_nobody_takes_is_told),
        cmocka_unit_test(a_narrow_way_is_told),
        cmocka_unit_test(a_reset_is_one_outside),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(so_many_bytes_and_no_more),
        cmocka_unit_test(a_name_that_led_there_is_told),
        cmocka_unit_test(a_rate_holds_both_ways),
        cmocka_unit_test(what_the_rules_do_not_allow_any_more_is_cut),
        cmocka_unit_test(what_nothing_goes_through_is_ended),
        cmocka_unit_test(of_udp_silence_has_its_own_measure),
        cmocka_unit_test(nothing_is_said_to_a_server_before_it_is_named),
        cmocka_unit_test(a_server_of_another_name_hears_nothing),
        cmocka_unit_test(a_server_name_of_tls_is_heard_however_it_is_cut),
        cmocka_unit_test(each_request_has_to_name_its_server),
        cmocka_unit_test(behind_a_101_another_protocol_passes),
        cmocka_unit_test(without_a_101_requests_are_checked_as_before),
        cmocka_unit_test(who_ends_before_a_name_is_cut),
        cmocka_unit_test(machines_of_a_payer_share_what_they_may),
        cmocka_unit_test(who_connects_to_an_exposed_port_is_told_to_the_machine),
        cmocka_unit_test(who_may_not_be_let_in_is_reset),
        cmocka_unit_test(ports_are_exposed_on_loopback_once_and_within_limits),
        cmocka_unit_test(answers_for_which_there_was_no_room_come_next),
        cmocka_unit_test(localhost_is_both_of_its_addresses),
        cmocka_unit_test(an_emulator_that_breaks_rules_is_found_out),
        cmocka_unit_test(an_echo_goes_where_the_kernel_lets_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
