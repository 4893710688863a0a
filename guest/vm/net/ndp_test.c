/* Neighbours and routers of IPv6. */
#include "vm/net/double_test.h"

enum { ROUTER_ASKED = 133, ROUTER = 134, NEIGHBOUR_ASKED = 135, NEIGHBOUR = 136 };
static const struct ip none, all_routers = {{0xff, 2, [15] = 2}},
                             link_own = {{0xfe, 0x80, [11] = 0xff, 0xfe, 0, 0, 3}};

/* Sends a message from there, whose sum is right; the machine's card has its own address. */
static void send_icmp6(const struct ip *from, const struct ip *to, uint8_t *bytes,
                       uint32_t n)
{
    struct ip before = own_v6;
    own_v6 = *from;
    n = make(frame, to, PROTOCOL_ICMP6, bytes, n);
    own_v6 = before;
    lan_input(frame, n, false);
}

/* The next message to the machine, whose sum is right; NULL: nothing comes. */
static const uint8_t *next_icmp6(struct ip *from, struct ip *to, uint32_t *bytes)
{
    struct sum s = {0};
    uint32_t n;
    const uint8_t *f = received(&n);
    if (!f)
        return NULL;
    uint32_t at = read_ip(f, n, PROTOCOL_ICMP6, from, to, bytes);
    assert_int_not_equal(at, 0);
    assert_int_equal(f[21], 255);
    lan_pseudo(&s, from, to, PROTOCOL_ICMP6, *bytes);
    sum_add(&s, f + at, *bytes);
    assert_int_equal(sum_value(&s), 0xffff);
    assert_memory_equal(f + 6, lan_gateway_mac, 6);
    if (to->at[0] == 0xff) {
        assert_int_equal(be16(f), 0x3333);
        assert_memory_equal(f + 2, to->at + 12, 4);
    } else {
        assert_memory_equal(f, mac, 6);
    }
    return f + at;
}

static struct ip solicited_node(const struct ip *of)
{
    struct ip a = {{0xff, 2, [11] = 1, 0xff}};
    memcpy(a.at + 13, of->at + 13, 3);
    return a;
}

static void ask_for(const struct ip *from, const struct ip *target)
{
    uint8_t m[32] = {[0] = NEIGHBOUR_ASKED, [24] = 1, [25] = 1};
    struct ip to = solicited_node(target);
    memcpy(m + 8, target->at, 16);
    memcpy(m + 26, mac, 6);
    send_icmp6(from, &to, m, ip_is_none(from) ? 24 : 32);
}

static void the_gateways_addresses_are_its_cards(void **state)
{
    (void)state;
    const struct ip *const ours[] = {&plan_gateway_v6, &plan_gateway_link, &plan_host_v6};
    const uint8_t *m;
    struct ip from, to;
    uint32_t n;
    set_up();
    for (uint32_t i = 0; i < LENGTH(ours); i++) {
        ask_for(&own_v6, ours[i]);
        assert_non_null(m = next_icmp6(&from, &to, &n));
        assert_int_equal(n, 32);
        assert_int_equal(m[0], NEIGHBOUR);
        assert_int_equal(m[4], 0xe0);
        assert_memory_equal(m + 8, ours[i]->at, 16);
        assert_int_equal(be16(m + 24), 0x0201);
        assert_memory_equal(m + 26, lan_gateway_mac, 6);
        assert_true(ip_eq(&to, &own_v6) && ip_eq(&from, ours[i]));
    }
    static const struct ip others[] = {{LAN_V6(LAN_END_MACHINE)},
                                       {LAN_V6(2)},
                                       {{0xfe, 0x80, [15] = 1}},
                                       {{0x20, 1, 0xd, 0xb8, [15] = 1}}};
    for (uint32_t i = 0; i < LENGTH(others); i++)
        ask_for(&own_v6, &others[i]);
    nothing_comes();
}

/* Duplicate address detection: who wants an address for itself asks from nowhere. */
static void an_address_that_is_taken_is_told(void **state)
{
    (void)state;
    const uint8_t *m;
    struct ip from, to;
    uint32_t n;
    set_up();
    ask_for(&none, &own_v6);
    ask_for(&none, &link_own);
    nothing_comes();
    ask_for(&none, &plan_gateway_v6);
    assert_non_null(m = next_icmp6(&from, &to, &n));
    assert_int_equal(m[0], NEIGHBOUR);
    assert_int_equal(m[4], 0xa0); /* nobody is named who asked */
    assert_memory_equal(m + 8, plan_gateway_v6.at, 16);
    assert_true(ip_eq(&to, &plan_all_nodes));
    nothing_comes();
}

static void what_no_neighbour_sends_is_dropped(void **state)
{
    (void)state;
    set_up();
    uint8_t m[40] = {[0] = NEIGHBOUR_ASKED};
    struct ip to = solicited_node(&plan_gateway_v6), other = solicited_node(&own_v6);
    memcpy(m + 8, plan_gateway_v6.at, 16);
    send_icmp6(&own_v6, &to, m, 16); /* cut off */
    m[24] = 1;
    send_icmp6(&own_v6, &to, m, 32); /* an option of no bytes */
    m[25] = 2;
    send_icmp6(&own_v6, &to, m, 32); /* and one beyond the end */
    m[25] = 1;
    send_icmp6(&none, &to, m, 32);    /* from nowhere, with an address to answer to */
    send_icmp6(&none, &other, m, 24); /* to others */
    send_icmp6(&own_v6, &other, m, 24);
    send_icmp6(&none, &plan_gateway_v6, m, 24);
    send_icmp6(&plan_gateway_link, &to, m, 24); /* as the gateway itself */
    send_icmp6(&plan_host_v6, &to, m, 24);
    send_icmp6(&server_v6, &to, m, 24);
    m[1] = 1;
    send_icmp6(&own_v6, &to, m, 24);
    m[1] = 0;
    uint32_t n = make(frame, &to, PROTOCOL_ICMP6, m, 24);
    frame[21] = 254; /* over a router */
    lan_input(frame, n, false);
    n = make(frame, &to, PROTOCOL_ICMP6, m, 24);
    frame[n - 1] ^= 1; /* damaged */
    lan_input(frame, n, false);
    m[0] = NEIGHBOUR;
    send_icmp6(&own_v6, &plan_all_nodes, m, 24);
    m[0] = ROUTER;
    send_icmp6(&link_own, &plan_all_nodes, m, 24);
    nothing_comes();
    m[0] = NEIGHBOUR_ASKED;
    send_icmp6(&own_v6, &to, m, 24);
    assert_int_equal(card.count, 1);
}

/* Its options; how many. */
static uint32_t read_router(const uint8_t *m, uint32_t n, uint32_t *life_s)
{
    uint32_t count = 0;
    assert_int_equal(m[0], ROUTER);
    assert_int_equal(m[4], 64);
    assert_int_equal(m[5], 0);
    *life_s = be16(m + 6);
    for (uint32_t i = 16; i < n; i += m[i + 1] * 8u, count++) {
        const uint8_t *o = m + i;
        assert_int_not_equal(o[1], 0);
        assert_in_range(i + o[1] * 8u, i, n);
        if (o[0] == 1) {
            assert_memory_equal(o + 2, lan_gateway_mac, 6);
        } else if (o[0] == 3) {
            assert_int_equal(o[2], 64);
            assert_int_equal(o[3], 0xc0);
            assert_int_equal(be32(o + 4), UINT32_MAX);
            assert_memory_equal(o + 16, plan_gateway_v6.at, 8);
            assert_int_equal(be32(o + 24), 0);
        } else if (o[0] == 5) {
            assert_int_equal(be32(o + 4), CARD_MTU);
        } else if (o[0] == 25) {
            assert_int_equal(o[1], 3);
            assert_memory_equal(o + 8, plan_gateway_v6.at, 16);
        } else {
            assert_int_equal(o[0], 31);
            assert_memory_equal(o + 8, "\6cloche\10internal", 17);
        }
    }
    return count;
}

static void who_asks_for_a_router_learns_the_network(void **state)
{
    (void)state;
    uint8_t ask[16] = {[0] = ROUTER_ASKED, [8] = 1, [9] = 1};
    const uint8_t *m;
    struct ip from, to;
    uint32_t n, life_s;
    set_up();
    send_icmp6(&link_own, &all_routers, ask, 16);
    assert_non_null(m = next_icmp6(&from, &to, &n));
    assert_int_equal(read_router(m, n, &life_s), 5);
    assert_int_equal(life_s, 5400);
    assert_true(ip_eq(&from, &plan_gateway_link) && ip_eq(&to, &link_own));
    send_icmp6(&none, &all_routers, ask, 8);
    assert_non_null(m = next_icmp6(&from, &to, &n));
    assert_true(ip_eq(&to, &plan_all_nodes));
    send_icmp6(&none, &all_routers, ask, 16);
    nothing_comes();
    lan_switch(LAN_WAY_V4 | LAN_WAY_V6, mac); /* this computer's own ports alone */
    send_icmp6(&link_own, &all_routers, ask, 16);
    assert_non_null(m = next_icmp6(&from, &to, &n));
    assert_int_equal(read_router(m, n, &life_s), 5);
    assert_int_equal(life_s, 0);
    lan_switch(LAN_WAY_V4, mac);
    send_icmp6(&link_own, &all_routers, ask, 16);
    ask_for(&own_v6, &plan_gateway_v6);
    nothing_comes();
}

static void who_asked_once_is_told_again(void **state)
{
    (void)state;
    uint8_t ask[8] = {[0] = ROUTER_ASKED};
    const uint8_t *m;
    struct ip from, to;
    uint32_t n, life_s;
    set_up();
    assert_true(lan_due_ns() == UINT64_MAX);
    send_icmp6(&link_own, &all_routers, ask, 8);
    assert_non_null(next_icmp6(&from, &to, &n));
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t due_ns = lan_due_ns();
        assert_true(due_ns > host.now_ns && due_ns - host.now_ns < 5400ull * 1000000000);
        host.now_ns = due_ns;
        lan_poll();
        assert_non_null(m = next_icmp6(&from, &to, &n));
        assert_int_equal(read_router(m, n, &life_s), 5);
        assert_true(ip_eq(&to, &plan_all_nodes));
        nothing_comes();
    }
}

static void send_echo(const struct ip *from, const struct ip *to)
{
    uint8_t m[64] = {[0] = 128, [4] = 0, 77, 0, 1, 'e'};
    send_icmp6(from, to, m, sizeof m);
}

static void only_the_gateway_answers_an_echo(void **state)
{
    (void)state;
    const struct ip *const ours[] = {&plan_gateway_v6, &plan_gateway_link};
    static const struct ip others[] = {{LAN_V6(LAN_END_HOST)},
                                       {LAN_V6(2)},
                                       {{0x20, 1, 0x48, 0x60, [15] = 0x88}},
                                       {{[15] = 1}},
                                       {{0xfd, 0, 0xe, 0xc2, [14] = 2, 0x54}}};
    const uint8_t *m;
    struct ip from, to;
    uint32_t n;
    set_up();
    for (uint32_t i = 0; i < LENGTH(ours); i++) {
        send_echo(&own_v6, ours[i]);
        assert_non_null(m = next_icmp6(&from, &to, &n));
        assert_int_equal(n, 64);
        assert_int_equal(m[0], 129);
        assert_int_equal(be16(m + 4), 77);
        assert_int_equal(m[8], 'e');
        assert_true(ip_eq(&from, ours[i]) && ip_eq(&to, &own_v6));
    }
    host.answer = VM_NET_DENIED;
    for (uint32_t i = 0; i < LENGTH(others); i++) {
        send_echo(&own_v6, &others[i]);
        assert_non_null(m = next_icmp6(&from, &to, &n));
        assert_int_equal(be16(m), 0x0101); /* administratively prohibited */
    }
    send_echo(&own_v6, &plan_all_nodes);
    send_echo(&none, &plan_gateway_v6);
    send_echo(&none, &server_v6);
    nothing_comes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gateways_addresses_are_its_cards),
        cmocka_unit_test(an_address_that_is_taken_is_told),
        cmocka_unit_test(what_no_neighbour_sends_is_dropped),
        cmocka_unit_test(who_asks_for_a_router_learns_the_network),
        cmocka_unit_test(who_asked_once_is_told_again),
        cmocka_unit_test(only_the_gateway_answers_an_echo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
