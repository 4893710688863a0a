/* Datagrams. */
#include "vm/net/double_test.h"

static void a_datagram_has_a_socket_until_silence(void **state)
{
    (void)state;
    set_up();
    uint32_t n;
    send_udp(&server, 5000, 123, "time?", 5);
    assert_true(host.ends[UDP_FIRST].there);
    assert_int_equal(host.ends[UDP_FIRST].kind, VM_NET_UDP);
    assert_memory_equal(host.ends[UDP_FIRST].got, "time?", 5);
    host.ends[UDP_FIRST].has = (const uint8_t *)"noon";
    host.ends[UDP_FIRST].has_n = 4;
    happens(UDP_FIRST, VM_NET_READABLE);
    uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(be16(f + 34), 123);
    assert_int_equal(be16(f + 36), 5000);
    assert_memory_equal(f + 42, "noon", 4);
    assert_true(udp_due_ns() > host.now_ns && udp_due_ns() != UINT64_MAX);
    wait_ms(59000);
    assert_true(host.ends[UDP_FIRST].there);
    wait_ms(2000);
    assert_false(host.ends[UDP_FIRST].there);
    assert_true(udp_due_ns() == UINT64_MAX);
    host.answer = VM_NET_DENIED;
    send_udp(&server, 5000, 123, "time?", 5);
    f = received(&n);
    assert_non_null(f);
    assert_int_equal(be16(f + 34), 0x030d);
}

static void a_port_that_nobody_has_is_told(void **state)
{
    (void)state;
    set_up();
    uint32_t n;
    send_udp(&server, 5000, 123, "time?", 5);
    happens(UDP_FIRST, VM_NET_FAILED);
    uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(f[23], PROTOCOL_ICMP);
    assert_int_equal(be32(f + 30), LAN_MACHINE);
    assert_int_equal(be16(f + 34), 0x0303); /* port unreachable */
    assert_int_equal(f[42 + 9], PROTOCOL_UDP);
    assert_int_equal(be32(f + 42 + 12), LAN_MACHINE);
    assert_memory_equal(f + 42 + 16, server.at + 12, 4);
    assert_int_equal(be16(f + 62), 5000);
    assert_int_equal(be16(f + 64), 123);
    nothing_comes();
    assert_true(host.ends[UDP_FIRST].there); /* it may have it later */
    send_udp(&server, 5000, 123, "time?", 5);
    assert_int_equal(host.ends[UDP_FIRST].got_n, 10);
    happens(UDP_FIRST + 1, VM_NET_FAILED); /* of none that there is */
    nothing_comes();
}

/* The way beyond the host is narrower than the machine's. */
static void what_is_too_long_for_the_way_is_told(void **state)
{
    (void)state;
    static const uint8_t bytes[1400];
    const struct ip *const to[] = {&server, &server_v6};
    struct end *d = &host.ends[UDP_FIRST];
    struct ip from, back;
    uint32_t n, got;
    for (uint32_t v6 = 0; v6 < 2; v6++) {
        set_up();
        send_udp(to[v6], 5000, 443, bytes, 1300);
        assert_int_equal(d->got_n, 1300);
        happens(UDP_FIRST, VM_NET_NARROW | 1300u << 16);
        for (int again = 0; again < 2; again++) {
            const uint8_t *f = received(&n);
            assert_non_null(f);
            uint32_t at =
                read_ip(f, n, v6 ? PROTOCOL_ICMP6 : PROTOCOL_ICMP, &from, &back, &got);
            assert_int_not_equal(at, 0);
            assert_int_equal(be16(f + at), v6 ? 0x0200 : 0x0304);
            assert_int_equal(be32(f + at + 4), 1300);
            assert_int_equal(be16(f + at + 8 + (v6 ? 40 : 20)), 5000);
            assert_int_equal(be16(f + at + 10 + (v6 ? 40 : 20)), 443);
            nothing_comes();
            if (!again) /* known now */
                send_udp(to[v6], 5000, 443, bytes, 1300);
        }
        assert_int_equal(d->got_n, 1300);
        send_udp(to[v6], 5000, 443, bytes, 1300 - 28 - 20 * v6);
        assert_int_equal(d->got_n, 2600 - 28 - 20 * v6);
    }
    set_up();
    send_udp(&server, 5000, 443, "", 0);
    happens(UDP_FIRST, VM_NET_NARROW | 1300u << 16);
    nothing_comes();                                     /* nothing was too long */
    n = make(frame, &server, PROTOCOL_UDP, bytes, 1308); /* one that may be cut up */
    put16(frame + 34, 5000);
    put16(frame + 36, 443);
    put16(frame + 38, 1308);
    put16(frame + 40, 0);
    put16(frame + 20, 0);
    put16(frame + 24, 0);
    struct sum s = {0};
    sum_add(&s, frame + 14, 20);
    sum_write(&s, frame + 24);
    lan_input(frame, n, false);
    nothing_comes();
    assert_int_equal(d->got_n, 1300);
}

/* ---- fragments ----------------------------------------------------------------------- */

#define LARGE 4000u
static uint8_t large[8 + LARGE];

/* A datagram with its header and a whole sum, as one that is cut up. */
static void make_large(void)
{
    struct sum s = {0};
    put16(large, 5000);
    put16(large + 2, 123);
    put16(large + 4, sizeof large);
    put16(large + 6, 0);
    for (uint32_t i = 8; i < sizeof large; i++)
        large[i] = (uint8_t)(i * 11 + (i >> 8));
    lan_pseudo(&s, &own, &server, PROTOCOL_UDP, sizeof large);
    sum_add(&s, large, sizeof large);
    sum_write(&s, large + 6);
}

/* Bytes of it, as a fragment that says where it lies. */
static void send_part(uint16_t id, uint32_t at, uint32_t from, uint32_t n, bool more)
{
    struct sum s = {0};
    uint32_t head = lan_head(frame, &own, &server, PROTOCOL_UDP, n);
    memcpy(frame, lan_gateway_mac, 6);
    memcpy(frame + 6, mac, 6);
    put16(frame + 18, id);
    put16(frame + 20, (more ? 0x2000u : 0u) | at / 8);
    put16(frame + 24, 0);
    sum_add(&s, frame + 14, 20);
    sum_write(&s, frame + 24);
    memcpy(frame + head, large + from, n);
    lan_input(frame, head + n, false);
}

static void send_fragment(uint16_t id, uint32_t from, uint32_t to)
{
    send_part(id, from, from, to - from, to < sizeof large);
}

static void came_whole(bool did)
{
    struct end *d = &host.ends[UDP_FIRST];
    assert_int_equal(d->got_n, did ? LARGE : 0);
    if (did)
        assert_memory_equal(d->got, large + 8, LARGE);
    d->got_n = 0;
}

static void a_large_datagram_comes_in_fragments(void **state)
{
    (void)state;
    set_up();
    make_large();
    send_fragment(1, 0, 1480);
    send_fragment(1, 1480, 2960);
    came_whole(false);
    send_fragment(1, 2960, sizeof large);
    came_whole(true);
    send_fragment(2, 2960, sizeof large); /* in any order, */
    send_fragment(3, 1480, 2960);         /* several at once */
    send_fragment(2, 0, 1480);
    send_fragment(3, 2960, sizeof large);
    send_fragment(2, 1480, 2960);
    came_whole(true);
    send_fragment(3, 0, 1480);
    came_whole(true);
    send_fragment(4, 0, 1480);
    send_fragment(4, 1480, 2960);
    wait_ms(31000); /* what is missing for long is not waited for */
    send_fragment(4, 2960, sizeof large);
    came_whole(false);
    nothing_comes();
}

static void fragments_that_overlap_are_refused(void **state)
{
    (void)state;
    set_up();
    make_large();
    send_udp(&server, 5000, 123, "", 0);
    send_fragment(1, 0, 1480);
    send_fragment(1, 1472, 2952); /* by a unit */
    send_fragment(1, 1480, 2960);
    send_fragment(1, 2960, sizeof large);
    came_whole(false);
    send_fragment(2, 0, 1480); /* the header again */
    send_fragment(2, 0, 1480);
    send_fragment(2, 1480, 2960);
    send_fragment(2, 2960, sizeof large);
    came_whole(false);
    send_fragment(3, 0, 1480); /* two ends */
    send_part(3, 1480, 1480, 80, false);
    send_fragment(3, 2960, sizeof large);
    send_fragment(3, 1480, 2960);
    came_whole(false);
    send_part(4, 3200, 8, 8, true); /* beyond the end: as many bytes as there should be */
    send_part(4, 8, 8, 8, false);
    came_whole(false);
    send_part(5, 65528, 0, 8, false); /* beyond what a packet may be */
    send_part(5, 0, 0, 1476, true);   /* no whole units */
    send_fragment(6, 0, 1480);
    large[1500] ^= 1; /* and its sum is of the whole */
    send_fragment(6, 1480, 2960);
    send_fragment(6, 2960, sizeof large);
    came_whole(false);
    nothing_comes();
}

static void a_large_datagram_reaches_the_machine_in_fragments(void **state)
{
    (void)state;
    set_up();
    make_large();
    static uint8_t joined[8 + LARGE];
    uint32_t n, id = 0, end = 0;
    send_udp(&server, 5000, 123, "?", 1);
    host.ends[UDP_FIRST].has = large + 8;
    host.ends[UDP_FIRST].has_n = LARGE;
    happens(UDP_FIRST, VM_NET_READABLE);
    for (uint8_t *f; (f = received(&n));) {
        struct sum s = {0};
        uint32_t at = (be16(f + 20) & 0x1fff) * 8u;
        sum_add(&s, f + 14, 20);
        assert_int_equal(sum_value(&s), 0xffff);
        assert_int_equal(at, end);
        assert_true(!end || be16(f + 18) == id);
        id = be16(f + 18);
        end += n - 34;
        assert_true(end <= sizeof joined);
        assert_int_equal(be16(f + 20) >> 13, end < sizeof joined);
        memcpy(joined + at, f + 34, n - 34);
    }
    assert_int_equal(end, sizeof joined);
    assert_memory_equal(joined + 8, large + 8, LARGE);
    struct sum s = {0};
    lan_pseudo(&s, &server, &own, PROTOCOL_UDP, sizeof joined);
    sum_add(&s, joined, sizeof joined);
    assert_int_equal(sum_value(&s), 0xffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_has_a_socket_until_silence),
        cmocka_unit_test(a_port_that_nobody_has_is_told),
        cmocka_unit_test(what_is_too_long_for_the_way_is_told),
        cmocka_unit_test(a_large_datagram_comes_in_fragments),
        cmocka_unit_test(fragments_that_overlap_are_refused),
        cmocka_unit_test(a_large_datagram_reaches_the_machine_in_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
