/* Echoes, and what is told of what was not delivered. */
#include "vm/net/double_test.h"
#include "vm/net/echo.h"

enum { ECHO = 8, ECHO_6 = 128 };

static uint8_t echo[4000];

static void make_echo(const struct ip *to, uint32_t n)
{
    bool v6 = !ip_is_v4(to);
    struct sum s = {0};
    memset(echo, 'e', sizeof echo);
    memset(echo, 0, 8);
    echo[0] = v6 ? ECHO_6 : ECHO;
    put16(echo + 4, 77);
    if (v6)
        lan_pseudo(&s, &own_v6, to, PROTOCOL_ICMP6, n);
    sum_add(&s, echo, n);
    sum_write(&s, echo + 2);
}

static void send_echo(const struct ip *to, uint32_t n)
{
    make_echo(to, n);
    n = make(frame, to, ip_is_v4(to) ? PROTOCOL_ICMP : PROTOCOL_ICMP6, echo, n);
    lan_input(frame, n, false);
}

/* Without the host, only the gateway's own address is known to be there. */
static void only_the_gateway_answers_an_echo(void **state)
{
    (void)state;
    static const uint32_t others[] = {LAN_HOST,   LAN_V4 | 2, LAN_V4 | 0xff, 0x08080808,
                                      0x7f000001, UINT32_MAX, 0xe0000001};
    uint32_t n;
    set_up();
    host.answer = VM_NET_DENIED;
    struct ip to = ip_v4(LAN_GATEWAY);
    send_echo(&to, 64);
    uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(n, 14 + 20 + 64);
    assert_int_equal(f[34], 0);
    assert_int_equal(be32(f + 26), LAN_GATEWAY);
    assert_int_equal(be16(f + 38), 77);
    for (uint32_t i = 0; i < LENGTH(others); i++) {
        to = ip_v4(others[i]);
        send_echo(&to, 64);
        for (; (f = received(&n));) /* nothing, or that it is not allowed */
            assert_int_equal(be16(f + 34), 0x030d);
    }
}

/* A multicast address gets no answer (RFC 1122, 3.2.2); a reserved one is refused. */
static void what_is_not_allowed_is_told_unless_it_is_multicast(void **state)
{
    (void)state;
    static const struct {
        uint32_t to;
        bool told;
    } cases[] = {{0x08080808, true},  {0xdfffffff, true},    {0xe0000001, false},
                 {0xefffffff, false}, {0xf0000001, true},    {UINT32_MAX - 1, true},
                 {UINT32_MAX, false}, {LAN_V4 | 0xff, false}};
    set_up();
    host.answer = VM_NET_DENIED;
    for (uint32_t i = 0; i < LENGTH(cases); i++) {
        uint32_t n;
        struct ip to = ip_v4(cases[i].to);
        send_echo(&to, 64);
        uint8_t *f = received(&n);
        assert_int_equal(f != NULL, cases[i].told);
        if (f)
            assert_int_equal(be16(f + 34), 0x030d);
        nothing_comes();
    }
}

static void an_echo_of_another_goes_by_the_host(void **state)
{
    (void)state;
    uint32_t n;
    struct end *d = &host.ends[ECHO_FIRST];
    struct ip to = ip_v4(0x08080808);
    set_up();
    send_echo(&to, 64);
    assert_true(d->there);
    assert_int_equal(d->kind, VM_NET_ECHO);
    assert_int_equal(d->port, 0);
    assert_memory_equal(d->address, to.at, 16);
    assert_int_equal(d->got_n, 2 + 56); /* the sequence number, and the data */
    nothing_comes();
    d->has = d->got;
    d->has_n = d->got_n;
    happens(ECHO_FIRST, VM_NET_READABLE);
    lan_poll();
    uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(n, 14 + 20 + 64);
    assert_int_equal(f[34], 0);
    assert_int_equal(be32(f + 26), 0x08080808);
    assert_int_equal(be16(f + 38), 77); /* the machine's own identifier */
    assert_memory_equal(f + 42, "eeee", 4);
    send_echo(&to, 64); /* the same socket */
    assert_false(host.ends[ECHO_FIRST + 1].there);
    happens(ECHO_FIRST, VM_NET_FAILED);
    lan_poll();
    f = received(&n);
    assert_non_null(f);
    assert_int_equal(be16(f + 34), 0x0301);
    assert_int_equal(f[62], ECHO); /* what it was */
    assert_int_equal(be16(f + 66), 77);
    host.now_ns += 61ull * 1000000000;
    lan_poll();
    assert_false(d->there);
}

/* ---- how long packets may be --------------------------------------------------------- */

/* The message that says how long the packet might have been; what follows is its beginning. */
static const uint8_t *next_too_big(bool v6, uint32_t *mtu)
{
    struct ip from, to;
    uint32_t n, bytes;
    const uint8_t *f = received(&n);
    assert_non_null(f);
    uint32_t at = read_ip(f, n, v6 ? PROTOCOL_ICMP6 : PROTOCOL_ICMP, &from, &to, &bytes);
    assert_int_not_equal(at, 0);
    assert_int_equal(be16(f + at), v6 ? 0x0200 : 0x0304);
    *mtu = be32(f + at + 4);
    return f + at + 8;
}

static void a_packet_longer_than_the_mtu_is_told_of(void **state)
{
    (void)state;
    const struct ip to[] = {ip_v4(LAN_GATEWAY), plan_gateway_v6};
    uint32_t n, mtu;
    for (uint32_t v6 = 0; v6 < 2; v6++) {
        uint32_t head = v6 ? 40 : 20;
        set_up();
        send_echo(&to[v6], CARD_MTU - head);
        assert_non_null(received(&n));
        assert_int_equal(n, 14 + CARD_MTU);
        send_echo(&to[v6], CARD_MTU - head + 1);
        const uint8_t *quoted = next_too_big(v6, &mtu);
        assert_int_equal(mtu, CARD_MTU);
        assert_memory_equal(quoted, frame + 14, head + 8);
        send_echo(&to[v6], 3000);
        (void)next_too_big(v6, &mtu);
        send_udp(v6 ? &server_v6 : &server, 5000, 123, echo, 1400);
        nothing_comes();
        assert_int_equal(host.ends[UDP_FIRST].got_n, 1400);
    }
}

/* Where it may be cut up, it comes as that was put together. */
static void a_long_echo_comes_back_in_fragments(void **state)
{
    (void)state;
    const struct ip to = ip_v4(LAN_GATEWAY);
    struct sum s = {0};
    uint32_t n, end = 0;
    set_up();
    make_echo(&to, 3000);
    n = make(frame, &to, PROTOCOL_ICMP, echo, 3000);
    put16(frame + 20, 0); /* no DF */
    put16(frame + 24, 0);
    sum_add(&s, frame + 14, 20);
    sum_write(&s, frame + 24);
    lan_input(frame, n, false);
    for (const uint8_t *f; (f = received(&n)); end += n - 34)
        assert_int_equal((be16(f + 20) & 0x1fff) * 8u, end);
    assert_int_equal(end, 3000);
}

static void fragments_of_ipv6_are_put_together(void **state)
{
    (void)state;
    static uint8_t joined[3000];
    uint32_t n, end = 0, id = 0;
    set_up();
    make_echo(&plan_gateway_v6, sizeof joined);
    for (uint32_t at = 0; at < sizeof joined; at += 1448) {
        uint8_t part[8 + 1448] = {PROTOCOL_ICMP6};
        uint32_t left = (uint32_t)sizeof joined - at, here = left < 1448 ? left : 1448;
        put16(part + 2, at | (at + here < sizeof joined));
        put32(part + 4, 0x12345678);
        memcpy(part + 8, echo + at, here);
        uint32_t head =
            lan_head(frame, &own_v6, &plan_gateway_v6, PROTOCOL_FRAGMENT, 8 + here);
        memcpy(frame, lan_gateway_mac, 6);
        memcpy(frame + 6, mac, 6);
        memcpy(frame + head, part, 8 + here);
        lan_input(frame, head + 8 + here, true);
    }
    for (const uint8_t *f; (f = received(&n)); end += n - 62) {
        assert_int_equal(f[20], PROTOCOL_FRAGMENT);
        assert_int_equal(f[54], PROTOCOL_ICMP6);
        assert_int_equal(be16(f + 56) & 0xfff8, end);
        assert_true(n <= 14 + CARD_MTU);
        assert_true(!end || be32(f + 58) == id);
        id = be32(f + 58);
        assert_true(end + n - 62 <= sizeof joined);
        memcpy(joined + end, f + 62, n - 62);
    }
    assert_int_equal(end, sizeof joined);
    assert_int_equal(joined[0], 129);
    struct sum s = {0};
    lan_pseudo(&s, &plan_gateway_v6, &own_v6, PROTOCOL_ICMP6, sizeof joined);
    sum_add(&s, joined, sizeof joined);
    assert_int_equal(sum_value(&s), 0xffff);
    assert_memory_equal(joined + 8, echo + 8, sizeof joined - 8);
}

/* A fragment of IPv6 with those bytes of the echo. */
static void send_part(uint32_t id, uint32_t at, uint32_t n, bool more)
{
    static uint8_t part[8 + 1448];
    memset(part, 0, 8);
    part[0] = PROTOCOL_ICMP6;
    put16(part + 2, at | more);
    put32(part + 4, id);
    memcpy(part + 8, echo + at, n);
    n = make(frame, &plan_gateway_v6, PROTOCOL_FRAGMENT, part, 8 + n);
    memcpy(frame + 54, part, 8); /* where make() wrote a sum */
    lan_input(frame, n, true);
}

static void fragments_of_ipv6_that_overlap_are_refused(void **state)
{
    (void)state;
    set_up();
    make_echo(&plan_gateway_v6, 2000);
    send_part(1, 0, 1000, true);
    send_part(1, 992, 16, true);
    send_part(1, 1000, 1000, false);
    send_part(2, 0, 1001, true); /* no whole units */
    send_part(2, 1000, 1000, false);
    send_part(3, 1000, 1000, false); /* of different ones */
    send_part(4, 0, 1000, true);
    nothing_comes();
    send_part(3, 0, 1000, true);
    assert_int_equal(card.count, 2);
}

/* What is behind the machine takes less: all packets to it are shorter, for a while. */
static void what_is_too_long_for_the_machine_is_sent_shorter(void **state)
{
    (void)state;
    static uint8_t bytes[1400];
    uint32_t n, count = 0;
    set_up();
    send_udp(&server, 5000, 123, "?", 1);
    host.ends[UDP_FIRST].has = bytes;
    host.ends[UDP_FIRST].has_n = sizeof bytes;
    happens(UDP_FIRST, VM_NET_READABLE);
    const uint8_t *f = received(&n);
    assert_int_equal(n, 14 + 20 + 8 + sizeof bytes);
    uint8_t m[8 + 28] = {3, 4, [7] = 0};
    struct sum s = {0};
    put16(m + 6, 800);
    memcpy(m + 8, f + 14, 28);
    sum_add(&s, m, sizeof m);
    sum_write(&s, m + 2);
    n = make(frame, &server, PROTOCOL_ICMP, m, sizeof m);
    lan_input(frame, n, false);
    nothing_comes();
    host.ends[UDP_FIRST].has_at = 0;
    happens(UDP_FIRST, VM_NET_READABLE);
    for (; (f = received(&n)); count++)
        assert_true(n <= 14 + 800);
    assert_int_equal(count, 2);
    wait_ms(601000); /* and then it is tried again */
    send_udp(&server, 5000, 123, "?", 1);
    host.ends[UDP_FIRST].has_n = sizeof bytes;
    host.ends[UDP_FIRST].has_at = 0;
    happens(UDP_FIRST, VM_NET_READABLE);
    assert_non_null(received(&n));
    assert_int_equal(n, 14 + 20 + 8 + sizeof bytes);
    nothing_comes();
}

/* The machine says that a segment of IPv4 was too long. */
static void say_too_big(const struct segment *s, uint16_t mtu)
{
    uint8_t m[8 + 28] = {3, 4};
    struct ip from = server;
    put16(m + 6, mtu);
    m[8] = 0x45;
    m[8 + 9] = PROTOCOL_TCP;
    put32(m + 8 + 12, ip_to_v4(&from));
    put32(m + 8 + 16, ip_to_v4(&own));
    put16(m + 28, s->from_port);
    put16(m + 30, s->to_port);
    put32(m + 32, s->seq);
    uint32_t n = make(frame, &server, PROTOCOL_ICMP, m, sizeof m);
    lan_input(frame, n, false);
}

static void a_segment_that_is_too_long_is_sent_again(void **state)
{
    (void)state;
    static uint8_t bytes[30000];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 13 + (i >> 8));
    for (int segments = 0; segments < 2; segments++) {
        static uint8_t got[sizeof bytes];
        uint32_t n, have = 0, parts = 0;
        set_up();
        card.segments = segments;
        uint32_t seq = open_connection();
        host.ends[0].has = bytes;
        host.ends[0].has_n = sizeof bytes;
        happens(0, VM_NET_READABLE);
        struct segment s = next_segment(), first = s;
        while (card.count)
            (void)received(&n);
        say_too_big(&first, 1000);
        assert_true(card.count > 0); /* at once, not by its timer */
        for (int quiet = 0; have < sizeof bytes && quiet < 100; quiet++) {
            for (uint8_t *f; (f = received(&n)); parts++) {
                uint32_t more = be16(f + 20) & 0x3fff;
                assert_true(segments || n <= 14 + 1000);
                if (more) { /* what was made before: by fragments */
                    static uint8_t whole[CARD_FRAME_MAX];
                    uint32_t at = (more & 0x1fff) * 8;
                    memcpy(whole + 34 + at, f + 34, n - 34);
                    memcpy(whole, at ? whole : f, at ? 0 : 34);
                    if (more & 0x2000)
                        continue;
                    put16(whole + 16, 20 + at + n - 34);
                    put16(whole + 20, 0x4000);
                    put16(whole + 24, 0);
                    struct sum sum = {0};
                    sum_add(&sum, whole + 14, 20);
                    sum_write(&sum, whole + 24);
                    n += at;
                    f = whole;
                }
                if (!read_segment(f, n, &s) || s.seq - seq != have)
                    continue;
                memcpy(got + have, s.data, s.n);
                have += s.n;
            }
            send_segment((struct segment){.seq = 1001, .ack = seq + have, .flags = ACK});
            wait_ms(card.count ? 0 : 250);
        }
        assert_int_equal(have, sizeof bytes);
        assert_memory_equal(got, bytes, sizeof bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_gateway_answers_an_echo),
        cmocka_unit_test(a_packet_longer_than_the_mtu_is_told_of),
        cmocka_unit_test(a_long_echo_comes_back_in_fragments),
        cmocka_unit_test(fragments_of_ipv6_are_put_together),
        cmocka_unit_test(fragments_of_ipv6_that_overlap_are_refused),
        cmocka_unit_test(what_is_too_long_for_the_machine_is_sent_shorter),
        cmocka_unit_test(a_segment_that_is_too_long_is_sent_again),
        cmocka_unit_test(what_is_not_allowed_is_told_unless_it_is_multicast),
        cmocka_unit_test(an_echo_of_another_goes_by_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
