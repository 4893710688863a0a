/* Leases, and the gateway's clock. */
#include "vm/net/double_test.h"

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK_TYPE, NAK, RELEASE, INFORM };

struct ask {
    uint8_t type;
    uint32_t wanted, server; /* 0: not said */
    uint32_t ciaddr;         /* 0: it has none yet, and sends from 0.0.0.0 to all */
    const char *client;      /* NULL: not said */
    const uint8_t *chaddr;   /* NULL: its card's */
    bool cut;                /* the last option has no end */
};

static uint8_t *put_word(uint8_t *to, uint8_t option, uint32_t v)
{
    if (!v)
        return to;
    to[0] = option, to[1] = 4;
    put32(to + 2, v);
    return to + 6;
}

static void send_ask(struct ask a)
{
    uint8_t m[600] = {1, 1, 6}, *to = m + 240;
    struct ip server_ip = ip_v4(a.ciaddr ? LAN_GATEWAY : UINT32_MAX);
    struct ip before = own;
    put32(m + 4, 0x12345678);
    put32(m + 12, a.ciaddr);
    memcpy(m + 28, a.chaddr ? a.chaddr : mac, 6);
    put32(m + 236, 0x63825363);
    to[0] = 53, to[1] = 1, to[2] = a.type;
    to += 3;
    *to++ = 0; /* a pad */
    to = put_word(to, 50, a.wanted);
    to = put_word(to, 54, a.server);
    if (a.client) {
        to[0] = 61, to[1] = (uint8_t)strlen(a.client);
        memcpy(to + 2, a.client, to[1]);
        to += 2 + to[1];
    }
    *to++ = a.cut ? 50 : 255;
    own = ip_v4(a.ciaddr);
    uint32_t n = (uint32_t)(to - m);
    send_udp(&server_ip, 68, 67, m, n < 300 && !a.cut ? 300 : n);
    own = before;
}

/* The answer, and to whom it goes; NULL: there is none. */
static uint8_t *next_answer(uint32_t *to)
{
    uint32_t n;
    uint8_t *f = received(&n);
    if (!f)
        return NULL;
    *to = be32(f + 30);
    assert_int_equal(be32(f + 26), LAN_GATEWAY);
    assert_int_equal(be16(f + 34), 67);
    assert_int_equal(be16(f + 36), 68);
    assert_int_equal(be32(f + 46), 0x12345678);
    assert_true(n >= 42 + 300);
    assert_memory_equal(
        f, *to == UINT32_MAX ? (const uint8_t *)"\xff\xff\xff\xff\xff\xff" : mac, 6);
    return f + 42;
}

/* An option's value; its bytes are *n. NULL: it is not there. */
static const uint8_t *option(const uint8_t *m, uint8_t wanted, uint32_t *n)
{
    for (const uint8_t *at = m + 240; *at != 255; at += *at ? 2 + at[1] : 1)
        if (*at == wanted) {
            *n = at[1];
            return at + 2;
        }
    return NULL;
}

static void is_answer(uint8_t type, uint32_t yiaddr, uint32_t to)
{
    uint32_t n, sent_to;
    const uint8_t *m = next_answer(&sent_to);
    assert_non_null(m);
    assert_int_equal(option(m, 53, &n)[0], type);
    assert_int_equal(be32(option(m, 54, &n)), LAN_GATEWAY);
    assert_int_equal(be32(m + 16), yiaddr);
    assert_int_equal(sent_to, to);
    assert_int_equal(option(m, 51, &n) != NULL, yiaddr != 0);
    assert_int_equal(option(m, 1, &n) != NULL, type != NAK);
    nothing_comes();
}

static void a_lease_has_all_that_a_machine_needs(void **state)
{
    (void)state;
    static const struct {
        uint8_t option;
        uint32_t value;
    } words[] = {{1, 0xffffff00},    {3, LAN_GATEWAY},  {6, LAN_GATEWAY},
                 {28, LAN_V4 | 255}, {42, LAN_GATEWAY}, {51, 86400},
                 {54, LAN_GATEWAY},  {58, 43200},       {59, 75600}};
    set_up();
    uint32_t n, to;
    send_ask((struct ask){.type = DISCOVER, .client = "\1\2\3machine"});
    const uint8_t *m = next_answer(&to);
    assert_non_null(m);
    assert_int_equal(option(m, 53, &n)[0], OFFER);
    assert_int_equal(be32(m + 16), LAN_MACHINE);
    for (uint32_t i = 0; i < LENGTH(words); i++) {
        const uint8_t *at = option(m, words[i].option, &n);
        assert_non_null(at);
        assert_int_equal(n, 4);
        assert_int_equal(be32(at), words[i].value);
    }
    assert_memory_equal(option(m, 12, &n), "cloche", 6);
    assert_memory_equal(option(m, 15, &n), "cloche.internal", 15);
    assert_int_equal(be16(option(m, 26, &n)), CARD_MTU);
    assert_memory_equal(option(m, 61, &n), "\1\2\3machine", 10);
    assert_int_equal(n, 10);
    char longest[256];
    memset(longest, 'c', 255);
    longest[255] = 0;
    send_ask((struct ask){.type = DISCOVER, .client = longest});
    assert_non_null(m = next_answer(&to));
    assert_memory_equal(option(m, 61, &n), longest, 255);
}

static void a_lease_is_the_machines_own_address(void **state)
{
    (void)state;
    set_up();
    send_ask((struct ask){.type = DISCOVER});
    is_answer(OFFER, LAN_MACHINE, UINT32_MAX);
    send_ask((struct ask){.type = DISCOVER, .wanted = 0xc0a80105});
    is_answer(OFFER, LAN_MACHINE, UINT32_MAX);
    send_ask((struct ask){.type = REQUEST, .wanted = LAN_MACHINE, .server = LAN_GATEWAY});
    is_answer(ACK_TYPE, LAN_MACHINE, UINT32_MAX);
    send_ask((struct ask){.type = REQUEST, .wanted = LAN_MACHINE}); /* as after a start */
    is_answer(ACK_TYPE, LAN_MACHINE, UINT32_MAX);
}

static void a_lease_is_renewed(void **state)
{
    (void)state;
    set_up();
    for (int i = 0; i < 3; i++) {
        send_ask((struct ask){.type = REQUEST, .ciaddr = LAN_MACHINE});
        is_answer(ACK_TYPE, LAN_MACHINE, LAN_MACHINE);
    }
}

static void an_address_of_another_network_is_refused(void **state)
{
    (void)state;
    set_up();
    send_ask((struct ask){.type = REQUEST, .wanted = 0xc0a80105});
    is_answer(NAK, 0, UINT32_MAX);
    send_ask((struct ask){.type = REQUEST, .wanted = LAN_GATEWAY, .server = LAN_GATEWAY});
    is_answer(NAK, 0, UINT32_MAX);
}

static void a_machine_that_has_an_address_is_informed(void **state)
{
    (void)state;
    set_up();
    send_ask((struct ask){.type = INFORM, .ciaddr = LAN_MACHINE});
    is_answer(ACK_TYPE, 0, LAN_MACHINE);
    send_ask((struct ask){.type = RELEASE, .ciaddr = LAN_MACHINE, .server = LAN_GATEWAY});
    send_ask((struct ask){.type = DECLINE, .wanted = LAN_MACHINE, .server = LAN_GATEWAY});
    nothing_comes();
    send_ask((struct ask){.type = DISCOVER});
    is_answer(OFFER, LAN_MACHINE, UINT32_MAX);
}

static void what_is_for_others_or_broken_has_no_answer(void **state)
{
    (void)state;
    static const uint8_t other[6] = {2, 0, 0, 0, 0, 9};
    set_up();
    send_ask((struct ask){.type = REQUEST, .wanted = LAN_MACHINE, .server = 0xc0a80101});
    send_ask((struct ask){.type = DISCOVER, .chaddr = other});
    send_ask((struct ask){.type = OFFER});
    send_ask((struct ask){.type = ACK_TYPE});
    send_ask((struct ask){.type = 0});
    send_ask((struct ask){.type = 200});
    nothing_comes();
    send_ask((struct ask){.type = DISCOVER, .cut = true});
    is_answer(OFFER, LAN_MACHINE, UINT32_MAX); /* what is whole of it is read */
}

/* ---- time -------------------------------------------------------------------------- */

static void the_gateway_tells_the_time(void **state)
{
    (void)state;
    const struct ip places[] = {ip_v4(LAN_GATEWAY), plan_gateway_v6};
    uint8_t m[48] = {4 << 3 | 3, [2] = 6, [40] = 0xab, [47] = 0xcd};
    struct ip from, to;
    uint32_t n, bytes;
    set_up();
    host.wall_ns = 1700000000500000000u;
    for (uint32_t i = 0; i < LENGTH(places); i++) {
        send_udp(&places[i], 40000, 123, m, sizeof m);
        const uint8_t *f = received(&n);
        assert_non_null(f);
        uint32_t at = read_ip(f, n, PROTOCOL_UDP, &from, &to, &bytes);
        assert_int_equal(bytes, 8 + 48);
        assert_true(ip_eq(&from, &places[i]));
        const uint8_t *a = f + at + 8;
        assert_int_equal(a[0], 4 << 3 | 4);
        assert_in_range(a[1], 1, 15);
        assert_memory_equal(a + 24, m + 40, 8);
        assert_int_equal(be32(a + 40), 1700000000u + 2208988800u);
        assert_int_equal(be32(a + 44), 0x80000000u);
    }
    send_udp(&places[0], 40000, 123, m, 47);
    m[0] = 4 << 3 | 4; /* a server's */
    send_udp(&places[0], 40000, 123, m, sizeof m);
    m[0] = 7 << 3 | 3;
    send_udp(&places[0], 40000, 123, m, sizeof m);
    nothing_comes();
    assert_false(host.ends[UDP_FIRST].there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_has_all_that_a_machine_needs),
        cmocka_unit_test(a_lease_is_the_machines_own_address),
        cmocka_unit_test(a_lease_is_renewed),
        cmocka_unit_test(an_address_of_another_network_is_refused),
        cmocka_unit_test(a_machine_that_has_an_address_is_informed),
        cmocka_unit_test(what_is_for_others_or_broken_has_no_answer),
        cmocka_unit_test(the_gateway_tells_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
