/* Connections of TCP, segment by segment. */
#include "vm/net/double_test.h"

static void a_connection_is_there_when_the_host_has_it(void **state)
{
    (void)state;
    set_up();
    static const uint8_t reply[] = "hello";
    host.ends[0].has = reply;
    host.ends[0].has_n = 5;
    uint32_t seq = open_connection();
    assert_memory_equal(host.ends[0].address, server.at, 16);
    assert_int_equal(host.ends[0].port, 80);
    struct segment s = next_segment();
    assert_int_equal(s.n, 5);
    assert_memory_equal(s.data, "hello", 5);
    send_segment((struct segment){.seq = 1001,
                                  .ack = seq + 5,
                                  .flags = ACK | PSH,
                                  .data = (const uint8_t *)"GET",
                                  .n = 3});
    assert_int_equal(host.ends[0].got_n, 3);
    assert_memory_equal(host.ends[0].got, "GET", 3);
}

/* Data takes the acknowledgement along; without any it goes alone, soon. */
static void a_small_piece_is_acknowledged_soon(void **state)
{
    (void)state;
    static const uint8_t answer[] = "ok";
    set_up();
    uint32_t seq = open_connection();
    struct segment piece = {
        .seq = 1001, .ack = seq, .flags = ACK, .data = (const uint8_t *)"a", .n = 1};
    send_segment(piece);
    nothing_comes();
    uint64_t due = tcp_due_ns();
    assert_in_range(due, host.now_ns + 1, host.now_ns + 10000000);
    host.now_ns = due;
    lan_poll();
    struct segment s = next_segment();
    assert_int_equal(s.ack, 1002);
    assert_int_equal(s.n, 0);
    assert_true(tcp_due_ns() == UINT64_MAX);
    piece.seq++;
    send_segment(piece);
    host.ends[0].has = answer;
    host.ends[0].has_n = 2;
    happens(0, VM_NET_READABLE);
    s = next_segment();
    assert_int_equal(s.ack, 1003);
    assert_int_equal(s.n, 2);
    wait_ms(100);
    nothing_comes();
}

static void each_side_ends_by_itself(void **state)
{
    (void)state;
    set_up();
    uint32_t seq = open_connection();
    send_segment((struct segment){.seq = 1001, .ack = seq, .flags = ACK | FIN});
    assert_true(host.ends[0].shut);
    assert_true(host.ends[0].there);
    struct segment s = next_segment();
    assert_int_equal(s.ack, 1002);
    static const uint8_t late[] = "late";
    host.ends[0].has = late;
    host.ends[0].has_n = 4;
    host.ends[0].ends = true;
    happens(0, VM_NET_READABLE);
    s = next_segment();
    assert_int_equal(s.n, 4);
    bool fin = s.flags & FIN;
    if (!fin)
        fin = next_segment().flags & FIN;
    assert_true(fin);
    assert_false(host.ends[0].there);
    assert_false(host.ends[0].reset);
    send_segment((struct segment){.seq = 1002, .ack = seq + 5, .flags = ACK});
    nothing_comes();
    assert_true(tcp_due_ns() == UINT64_MAX);
}

static void what_cannot_be_connected_is_told(void **state)
{
    (void)state;
    uint32_t n;
    set_up();
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    happens(0, VM_NET_FAILED);
    struct segment s = next_segment();
    assert_int_equal(s.flags, RST | ACK);
    assert_int_equal(s.ack, 1001);
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    happens(0, VM_NET_LOST);
    uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(f[23], PROTOCOL_ICMP);
    assert_int_equal(be16(f + 34), 0x0301); /* host unreachable */
    assert_int_equal(be16(f + 62), 40000);
    assert_int_equal(host.closes, 2);
    host.answer = VM_NET_DENIED;
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    f = received(&n);
    assert_non_null(f);
    assert_int_equal(be16(f + 34), 0x030d); /* administratively prohibited */
    host.answer = VM_NET_FULL;
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    assert_int_equal(next_segment().flags, RST | ACK);
    nothing_comes();
    assert_int_equal(host.closes, 2); /* of these two there is nothing */
}

static void who_asks_again_is_asked_for_once(void **state)
{
    (void)state;
    set_up();
    for (int i = 0; i < 5; i++)
        send_segment((struct segment){.seq = 1000, .flags = SYN});
    assert_false(host.ends[1].there);
    open_connection();
}

static void a_reset_is_passed_on(void **state)
{
    (void)state;
    set_up();
    uint32_t seq = open_connection();
    send_segment((struct segment){.seq = 1001, .ack = seq, .flags = RST});
    assert_false(host.ends[0].there);
    assert_true(host.ends[0].reset);
    nothing_comes();
}

static void a_host_that_takes_nothing_closes_the_window(void **state)
{
    (void)state;
    static uint8_t bytes[1400];
    set_up();
    host.ends[0].takes = 0;
    uint32_t seq = open_connection(), sent = 0;
    uint32_t end = 0;
    for (int i = 0; i < 2000; i++) {
        struct segment s;
        uint32_t n;
        memset(bytes, i, sizeof bytes);
        send_segment((struct segment){.seq = 1001 + sent,
                                      .ack = seq,
                                      .flags = ACK,
                                      .data = bytes,
                                      .n = sizeof bytes});
        sent += sizeof bytes;
        for (const uint8_t *f; (f = received(&n));)
            if (read_segment(f, n, &s))
                end = s.ack - 1001 + s.window;
        if (end && sent > end)
            break;
    }
    assert_in_range(end, 5000, 65535 + 1400);
    assert_int_equal(host.ends[0].got_n, 0);
    host.ends[0].takes = UINT32_MAX;
    happens(0, VM_NET_WRITABLE);
    assert_in_range(host.ends[0].got_n, end - 1400, sent);
    for (uint32_t i = 0; i < host.ends[0].got_n; i++)
        assert_int_equal(host.ends[0].got[i], (uint8_t)(i / 1400));
}

static void a_card_without_room_loses_nothing(void **state)
{
    (void)state;
    set_up();
    static const uint8_t reply[] = "after a while";
    uint32_t seq = open_connection();
    card.full = true;
    host.ends[0].has = reply;
    host.ends[0].has_n = 13;
    happens(0, VM_NET_READABLE);
    nothing_comes();
    card.full = false;
    lan_room();
    struct segment s = next_segment();
    assert_int_equal(s.seq, seq);
    assert_int_equal(s.n, 13);
}

static void connections_of_the_past_are_reset(void **state)
{
    (void)state;
    set_up();
    uint32_t seq = open_connection();
    host.ends[0].there = false; /* another process' */
    lan_switch(LAN_WAY_V4, mac);
    struct segment s = next_segment();
    assert_int_equal(s.flags & RST, RST);
    send_segment((struct segment){
        .seq = 1001, .ack = seq, .flags = ACK, .n = 3, .data = (const uint8_t *)"abc"});
    assert_int_equal(next_segment().flags & RST, RST);
    assert_int_equal(host.closes, 0);
    assert_true(tcp_due_ns() == UINT64_MAX);
}

/* As a machine does that goes on from a copy: its card is still the one of before. */
static void who_has_no_network_any_more_is_told_by_its_own_card(void **state)
{
    (void)state;
    set_up();
    (void)open_connection();
    host.ends[0].there = false;
    lan_switch(0, lan.mac);
    uint32_t n;
    const uint8_t *f = received(&n);
    assert_non_null(f);
    assert_memory_equal(f, mac, 6);
    assert_memory_equal(lan.mac, mac, 6);
}

/* Opens that many, from ports 40000 on, as the host's first sockets. */
static void open_many(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint16_t port = (uint16_t)(40000 + i);
        send_segment((struct segment){.seq = 1000, .flags = SYN, .from_port = port});
        happens(i, VM_NET_OPENED | VM_NET_READABLE);
        struct segment s = next_segment();
        send_segment((struct segment){
            .seq = 1001, .ack = s.seq + 1, .flags = ACK, .from_port = port});
    }
}

static void none_of_the_past_is_left_to_hang(void **state)
{
    (void)state;
    bool reset[200] = {false};
    set_up();
    open_many(LENGTH(reset));
    nothing_comes();
    for (uint32_t i = 0; i < VM_NET_IDS; i++)
        host.ends[i].there = false;
    card.full = true;
    lan_switch(LAN_WAY_V4, mac);
    nothing_comes();
    /* One of now is none of them. */
    card.full = false;
    send_segment((struct segment){.seq = 7000, .flags = SYN, .from_port = 30000});
    happens(0, VM_NET_OPENED | VM_NET_READABLE);
    assert_int_equal(next_segment().flags, SYN | ACK);
    lan_room();
    for (uint32_t i = 0; i < LENGTH(reset); i++) {
        struct segment s = next_segment();
        assert_int_equal(s.flags & RST, RST);
        assert_in_range(s.to_port, 40000, 40199);
        assert_false(reset[s.to_port - 40000]);
        reset[s.to_port - 40000] = true;
    }
    nothing_comes();
    assert_true(host.ends[0].there);
    assert_int_equal(host.closes, 0);
}

/* The machine has no network any more: programs are told before the link is down. */
static void a_network_that_ends_resets_what_is_open(void **state)
{
    (void)state;
    set_up();
    uint32_t seq = open_connection();
    host.ends[0].there = false;
    lan_switch(0, mac);
    struct segment s = next_segment();
    assert_int_equal(s.flags & RST, RST);
    assert_int_equal(s.seq, seq);
    nothing_comes();
    assert_true(lan_due_ns() == UINT64_MAX);
    lan_switch(LAN_WAY_V4, mac);
    nothing_comes();
}

/* Its SYN is sent again, as long as the machine waits for an answer. */
static void what_was_being_connected_is_connected_anew(void **state)
{
    (void)state;
    set_up();
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    host.ends[0].there = false;
    lan_switch(LAN_WAY_V4, mac);
    nothing_comes();
    open_connection();
}

static void the_new_machines_card_has_its_own_address(void **state)
{
    (void)state;
    static const uint8_t other[6] = {2, 0, 0, 0, 0, 9};
    uint32_t n;
    set_up();
    open_connection();
    host.ends[0].there = false;
    lan_switch(0, mac); /* as a machine is resumed: its driver has the old one still */
    const uint8_t *f = received(&n);
    assert_non_null(f);
    assert_memory_equal(f, mac, 6);
    lan_switch(LAN_WAY_V4, other);
    send_segment((struct segment){.seq = 5000, .flags = SYN, .from_port = 30000});
    assert_false(host.ends[0].there); /* from the old one */
    n = make_segment(frame, &(struct segment){.seq = 5000, .flags = SYN});
    memcpy(frame + 6, other, 6);
    lan_input(frame, n, false);
    assert_true(host.ends[0].there);
    happens(0, VM_NET_FAILED);
    assert_non_null(f = received(&n));
    assert_memory_equal(f, other, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_there_when_the_host_has_it),
        cmocka_unit_test(a_small_piece_is_acknowledged_soon),
        cmocka_unit_test(each_side_ends_by_itself),
        cmocka_unit_test(what_cannot_be_connected_is_told),
        cmocka_unit_test(who_asks_again_is_asked_for_once),
        cmocka_unit_test(a_reset_is_passed_on),
        cmocka_unit_test(a_host_that_takes_nothing_closes_the_window),
        cmocka_unit_test(a_card_without_room_loses_nothing),
        cmocka_unit_test(connections_of_the_past_are_reset),
        cmocka_unit_test(who_has_no_network_any_more_is_told_by_its_own_card),
        cmocka_unit_test(none_of_the_past_is_left_to_hang),
        cmocka_unit_test(a_network_that_ends_resets_what_is_open),
        cmocka_unit_test(what_was_being_connected_is_connected_anew),
        cmocka_unit_test(the_new_machines_card_has_its_own_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
