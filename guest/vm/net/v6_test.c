/* Connections, datagrams and names over IPv6. */
#include "vm/net/double_test.h"

enum { TYPE_AAAA = 28 };

static struct segment of_v6(struct segment s)
{
    s.to = &server_v6;
    return s;
}

/* As open_connection(). */
static uint32_t open_v6(void)
{
    send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
    nothing_comes();
    happens(0, VM_NET_OPENED | VM_NET_READABLE);
    struct segment s = next_segment();
    assert_int_equal(s.flags, SYN | ACK);
    assert_int_equal(s.ack, 1001);
    send_segment(of_v6((struct segment){.seq = 1001, .ack = s.seq + 1, .flags = ACK}));
    return s.seq + 1;
}

static void a_connection_goes_both_ways(void **state)
{
    (void)state;
    set_up();
    host.ends[0].has = (const uint8_t *)"hello";
    host.ends[0].has_n = 5;
    uint32_t seq = open_v6();
    assert_memory_equal(host.ends[0].address, server_v6.at, 16);
    struct segment s = next_segment();
    assert_int_equal(s.n, 5);
    assert_memory_equal(s.data, "hello", 5);
    send_segment(of_v6((struct segment){.seq = 1001,
                                        .ack = seq + 5,
                                        .flags = ACK | PSH,
                                        .data = (const uint8_t *)"GET",
                                        .n = 3}));
    assert_int_equal(host.ends[0].got_n, 3);
    assert_memory_equal(host.ends[0].got, "GET", 3);
    send_segment(
        of_v6((struct segment){.seq = 1004, .ack = seq + 5, .flags = ACK | FIN}));
    assert_true(host.ends[0].shut);
    host.ends[0].ends = true;
    happens(0, VM_NET_READABLE);
    while (!(s.flags & FIN))
        s = next_segment();
    assert_int_equal(s.ack, 1005);
    assert_false(host.ends[0].there);
}

/* Frames that stand for several, and single ones, are no longer than IPv6 leaves room for. */
static void many_bytes_come_in_segments(void **state)
{
    (void)state;
    static uint8_t bytes[200000];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 9));
    for (int segments = 0; segments < 2; segments++) {
        set_up();
        card.segments = segments;
        host.ends[0].has = bytes;
        host.ends[0].has_n = sizeof bytes;
        uint32_t first = open_v6(), got = 0, longest = 0;
        while (got < sizeof bytes) {
            if (!card.count)
                wait_ms(250);
            struct segment s = next_segment();
            if (s.seq - first != got) /* sent again */
                continue;
            assert_memory_equal(s.data, bytes + got, s.n);
            longest = s.n > longest ? s.n : longest;
            got += s.n;
            send_segment(
                of_v6((struct segment){.seq = 1001, .ack = first + got, .flags = ACK}));
        }
        assert_in_range(longest, segments ? 10000 : 500, segments ? 61440 : 1440);
    }
}

static void what_cannot_be_connected_is_told(void **state)
{
    (void)state;
    static const struct {
        int32_t answer;
        uint16_t told;
    } kinds[] = {{VM_NET_DENIED, 0x0101}, {VM_NET_UNREACHABLE, 0x0103}};
    struct ip from, to;
    uint32_t n, at, bytes;
    set_up();
    for (uint32_t i = 0; i < LENGTH(kinds); i++) {
        host.answer = kinds[i].answer;
        send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
        const uint8_t *f = received(&n);
        assert_non_null(f);
        at = read_ip(f, n, PROTOCOL_ICMP6, &from, &to, &bytes);
        assert_int_equal(at, 54);
        assert_int_equal(be16(f + at), kinds[i].told);
        assert_true(ip_eq(&to, &own_v6));
        assert_memory_equal(f + at + 8 + 24, server_v6.at, 16); /* what it was about */
        assert_int_equal(be16(f + at + 8 + 40), 40000);
    }
    host.answer = VM_NET_FULL;
    send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
    assert_int_equal(next_segment().flags, RST | ACK);
    host.answer = 0;
    send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
    happens(0, VM_NET_FAILED);
    assert_int_equal(next_segment().flags, RST | ACK);
    nothing_comes();
}

static void datagrams_go_both_ways(void **state)
{
    (void)state;
    struct ip from, to;
    uint32_t n, bytes;
    set_up();
    send_udp(&server_v6, 5000, 123, "time?", 5);
    assert_memory_equal(host.ends[UDP_FIRST].address, server_v6.at, 16);
    assert_memory_equal(host.ends[UDP_FIRST].got, "time?", 5);
    host.ends[UDP_FIRST].has = (const uint8_t *)"noon";
    host.ends[UDP_FIRST].has_n = 4;
    happens(UDP_FIRST, VM_NET_READABLE);
    const uint8_t *f = received(&n);
    assert_non_null(f);
    uint32_t at = read_ip(f, n, PROTOCOL_UDP, &from, &to, &bytes);
    assert_int_equal(at, 54);
    assert_int_equal(bytes, 12);
    assert_int_not_equal(be16(f + at + 6), 0);
    assert_memory_equal(f + at + 8, "noon", 4);
    assert_true(ip_eq(&from, &server_v6) && ip_eq(&to, &own_v6));
    send_udp(&plan_all_nodes, 5000, 123, "all", 3);
    nothing_comes();
    assert_false(host.ends[UDP_FIRST + 1].there);
    /* Without a sum there is none (RFC 8200, 8.1). */
    uint8_t datagram[9] = {0x13, 0x88, 0, 123, 0, 9, 0, 0, 'x'};
    n = make(frame, &server_v6, PROTOCOL_UDP, datagram, sizeof datagram);
    put16(frame + 54 + 6, 0);
    lan_input(frame, n, false);
    assert_int_equal(host.ends[UDP_FIRST].got_n, 5);
}

static uint32_t make_question(uint8_t *m, const char *name, uint16_t type)
{
    uint8_t *to = m + 12;
    memset(m, 0, 12);
    put16(m, 0x4242);
    m[2] = 1;
    m[5] = 1;
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, ".");
        *to++ = (uint8_t)n;
        memcpy(to, at, n);
        to += n;
        at += n + (at[n] == '.');
    }
    *to++ = 0;
    put16(to, type);
    put16(to + 2, 1);
    return (uint32_t)(to + 4 - m);
}

/* The answer's records; the address of the first. */
static uint32_t ask_name(const struct ip *resolver, const char *name, uint16_t type,
                         struct ip *first)
{
    uint8_t m[300];
    struct ip from, to;
    uint32_t n = make_question(m, name, type), asked = n, bytes;
    send_udp(resolver, 5353, 53, m, n);
    lan_poll();
    const uint8_t *f = received(&n);
    assert_non_null(f);
    uint32_t at = read_ip(f, n, PROTOCOL_UDP, &from, &to, &bytes);
    assert_int_not_equal(at, 0);
    assert_true(ip_eq(&from, resolver));
    const uint8_t *a = f + at + 8;
    assert_int_equal(be16(a), 0x4242);
    assert_int_equal(a[3] & 15, 0);
    if (be16(a + 6) && type == TYPE_AAAA)
        memcpy(first->at, a + asked + 12, 16);
    return be16(a + 6);
}

static void the_resolver_answers_over_ipv6(void **state)
{
    (void)state;
    struct ip a;
    set_up();
    host.told = (struct vm_net_answer){.count = 1, .ttl_s = 60};
    memcpy(host.told.addresses[0], server_v6.at, 16);
    assert_int_equal(ask_name(&plan_gateway_v6, "six.example", TYPE_AAAA, &a), 1);
    assert_true(ip_eq(&a, &server_v6));
    assert_int_equal(host.asked_type, TYPE_AAAA);
    assert_int_equal(ask_name(&plan_gateway_link, "six.example", TYPE_AAAA, &a), 1);
    assert_int_equal(host.asks, 1);
    send_udp(&plan_gateway_v6, 5353, 67, "no DHCP", 7);
    assert_int_equal(card.count, 1); /* nobody is at that port */
}

static void own_names_have_addresses_of_the_ways_that_there_are(void **state)
{
    (void)state;
    struct ip a, gateway = ip_v4(LAN_GATEWAY);
    set_up();
    assert_int_equal(ask_name(&gateway, "host6.cloche.internal", TYPE_AAAA, &a), 1);
    assert_true(ip_eq(&a, &plan_host_v6));
    assert_int_equal(ask_name(&gateway, "host6.cloche.internal", 1, &a), 0);
    assert_int_equal(ask_name(&gateway, "host.cloche.internal", TYPE_AAAA, &a), 0);
    assert_int_equal(ask_name(&gateway, "gateway.cloche.internal", TYPE_AAAA, &a), 1);
    assert_true(ip_eq(&a, &plan_gateway_v6));
    lan_switch(LAN_WAY_V4, mac);
    assert_int_equal(ask_name(&gateway, "host6.cloche.internal", TYPE_AAAA, &a), 0);
    assert_int_equal(ask_name(&gateway, "gateway.cloche.internal", TYPE_AAAA, &a), 0);
    assert_int_equal(host.asks, 0);
}

/* The host is asked for none of these, whatever its rules would say. */
static void spellings_of_others_are_no_packets(void **state)
{
    (void)state;
    static const struct ip from[] = {{LAN_V6(LAN_END_GATEWAY)},
                                     {LAN_V6(LAN_END_HOST)},
                                     {LAN_GATEWAY_LINK},
                                     {{[15] = 1}},
                                     {{0}},
                                     {{0xff, 2, [15] = 1}},
                                     {{0x20, 1, [15] = 1}},
                                     {{0xfd, [15] = 1}},
                                     {{[10] = 0xff, 0xff, 192, 168, 127, 3}}};
    static const struct ip mapped = {{[10] = 0xff, 0xff, 127, 0, 0, 1}};
    struct ip before;
    set_up();
    before = own_v6;
    for (uint32_t i = 0; i < LENGTH(from); i++) {
        own_v6 = from[i];
        send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
        send_udp(&server_v6, 5000, 123, "x", 1);
    }
    own_v6 = before;
    /* A mapped address in a header of IPv6. */
    uint8_t segment[20] = {0x9c, 0x40, 0, 80, [12] = 0x50, [13] = SYN};
    uint32_t n = make(frame, &server_v6, PROTOCOL_TCP, segment, 20);
    memcpy(frame + 38, mapped.at, 16);
    lan_input(frame, n, true);
    /* A routing header, options, and a packet in a packet. */
    static const uint8_t headers[] = {43, 0, 60, 41, 4, 50, 51, 135, 139};
    for (uint32_t i = 0; i < LENGTH(headers); i++) {
        n = make(frame, &server_v6, PROTOCOL_TCP, segment, 20);
        memmove(frame + 62, frame + 54, n - 54);
        memset(frame + 54, 0, 8);
        frame[54] = PROTOCOL_TCP;
        frame[20] = headers[i];
        put16(frame + 18, n - 54 + 8);
        lan_input(frame, n + 8, true);
    }
    for (uint32_t i = 0; i < VM_NET_IDS; i++)
        assert_false(host.ends[i].there);
    nothing_comes();
    send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
    assert_true(host.ends[0].there);
}

static void without_ipv6_nothing_of_it_is_taken(void **state)
{
    (void)state;
    set_up();
    lan_switch(LAN_WAY_V4, mac);
    send_segment(of_v6((struct segment){.seq = 1000, .flags = SYN}));
    send_udp(&server_v6, 5000, 123, "x", 1);
    nothing_comes();
    assert_false(host.ends[0].there || host.ends[UDP_FIRST].there);
}

static void connections_of_the_past_are_reset(void **state)
{
    (void)state;
    set_up();
    uint32_t seq = open_v6();
    host.ends[0].there = false; /* another process' */
    lan_switch(LAN_WAY_V4 | LAN_WAY_V6, mac);
    struct segment s = next_segment();
    assert_int_equal(s.flags & RST, RST);
    assert_int_equal(s.seq, seq);
    nothing_comes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_goes_both_ways),
        cmocka_unit_test(many_bytes_come_in_segments),
        cmocka_unit_test(what_cannot_be_connected_is_told),
        cmocka_unit_test(datagrams_go_both_ways),
        cmocka_unit_test(the_resolver_answers_over_ipv6),
        cmocka_unit_test(own_names_have_addresses_of_the_ways_that_there_are),
        cmocka_unit_test(spellings_of_others_are_no_packets),
        cmocka_unit_test(without_ipv6_nothing_of_it_is_taken),
        cmocka_unit_test(connections_of_the_past_are_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
