/* Echoes, and what is told of what was not delivered. */
#include "vm/net/double_test.h"
#include "vm/net/echo.h"

enum { ECHO = 8 };

static void send_echo(const struct ip *to, uint32_t n)
{
    static uint8_t bytes[4000];
    memset(bytes, 'e', sizeof bytes);
    memset(bytes, 0, 8);
    bytes[0] = ECHO;
    put16(bytes + 4, 77);
    struct sum s = {0};
    sum_add(&s, bytes, n);
    sum_write(&s, bytes + 2);
    uint32_t head = lan_head(frame, &own, to, PROTOCOL_ICMP, n);
    memcpy(frame, lan_gateway_mac, 6);
    memcpy(frame + 6, mac, 6);
    memcpy(frame + head, bytes, n);
    lan_input(frame, head + n, false);
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

static void a_packet_longer_than_the_mtu_is_no_packet(void **state)
{
    (void)state;
    uint32_t n;
    set_up();
    struct ip to = ip_v4(LAN_GATEWAY);
    send_echo(&to, CARD_MTU - 20);
    assert_non_null(received(&n));
    assert_int_equal(n, 14 + CARD_MTU);
    send_echo(&to, CARD_MTU - 19);
    send_echo(&to, 3000);
    nothing_comes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_gateway_answers_an_echo),
        cmocka_unit_test(an_echo_of_another_goes_by_the_host),
        cmocka_unit_test(a_packet_longer_than_the_mtu_is_no_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
