/* Many connections at once, whose peers take nothing or too slowly: what one has under way is not
 * taken from the others. */
#include "vm/net/double_test.h"
#include "vm/net/heap.h"

#define LINES 256u
#define PORT_FIRST 10000u
#define SCALE 6u /* of the gateway's windows */
#define LOAD_MAX ((uint32_t)3 << 20)

/* The machine's side of a connection. */
static struct line {
    bool open, reset;
    bool deaf;                 /* what comes is not read */
    uint32_t seq, acked, edge; /* of bytes that were sent, from 0 on */
    uint32_t base, got;        /* of those that came */
} lines[LINES];
static uint8_t load[LOAD_MAX];

static void take_frames(void)
{
    struct segment s;
    uint32_t n;
    for (const uint8_t *f; (f = received(&n));) {
        if (!read_segment(f, n, &s))
            continue;
        struct line *l = &lines[s.to_port - PORT_FIRST];
        l->reset |= (s.flags & RST) != 0;
        if (s.flags & SYN)
            l->base = s.seq + 1;
        l->acked = s.ack - 1001;
        l->edge = l->acked + (s.flags & SYN ? s.window : (uint32_t)s.window << SCALE);
        if (s.n && !l->deaf && s.seq - l->base == l->got) {
            assert_memory_equal(s.data, load + l->got, s.n);
            l->got += s.n;
        }
    }
}

static void say(uint32_t i, uint8_t flags, uint32_t at, uint32_t n)
{
    static const uint8_t scale[4] = {1, 3, 3, 0};
    struct line *l = &lines[i];
    send_segment((struct segment){.from_port = (uint16_t)(PORT_FIRST + i),
                                  .seq = flags & SYN ? 1000 : 1001 + at,
                                  .ack = flags & SYN ? 0 : l->base + l->got,
                                  .flags = flags,
                                  .data = load + at,
                                  .n = n,
                                  .options = scale,
                                  .options_n = flags & SYN ? sizeof scale : 0});
    take_frames();
}

/* Connections are numbered as their sockets are. */
static void open_line(uint32_t i, uint32_t takes)
{
    host.ends[i].takes = takes;
    lines[i] = (struct line){.open = true};
    say(i, SYN, 0, 0);
    happens(i, VM_NET_OPENED | VM_NET_READABLE);
    take_frames();
    assert_false(lines[i].reset);
    say(i, ACK, 0, 0);
}

/* Sends in segments of n bytes what the window allows, but no more than `most`; false: nothing. */
static bool send_some(uint32_t i, uint32_t n, uint32_t most)
{
    struct line *l = &lines[i];
    bool sent = false;
    while (l->seq < most && l->seq < l->edge) {
        uint32_t part =
            most - l->seq < l->edge - l->seq ? most - l->seq : l->edge - l->seq;
        part = part < n ? part : n;
        say(i, ACK | PSH, l->seq, part);
        l->seq += part;
        sent = true;
    }
    return sent;
}

/* Again from what is acknowledged on, with time passing, until all has been. */
static void send_all(uint32_t i, uint32_t n, uint32_t most)
{
    struct line *l = &lines[i];
    for (uint32_t round = 0; l->acked < most; round++) {
        if (round > 10000)
            fail_msg("connection %u: %u of %u bytes are acknowledged", i, l->acked, most);
        l->seq = l->acked;
        send_some(i, n, most);
        wait_ms(250);
        take_frames();
    }
}

static void start(void)
{
    set_up();
    memset(lines, 0, sizeof lines);
    for (uint32_t i = 0; i < sizeof load; i++)
        load[i] = (uint8_t)(i * 7 + (i >> 8) * 3 + (i >> 16));
}

/* The host has all of it at once, and the machine acknowledges each segment. */
static void download(uint32_t i, uint32_t bytes)
{
    struct line *l = &lines[i];
    uint32_t before = l->got;
    host.ends[i].has = load;
    host.ends[i].has_n = before + bytes;
    happens(i, VM_NET_READABLE);
    take_frames();
    for (uint32_t round = 0; l->got < before + bytes; round++) {
        if (round > 10000 || l->reset)
            fail_msg("%u of %u bytes have come", l->got - before, bytes);
        say(i, ACK, l->seq, 0);
        if (round % 10 == 9)
            wait_ms(250);
        take_frames();
    }
}

/* ---- tests --------------------------------------------------------------------------- */

static void uploads_to_who_takes_nothing_leave_a_download_alone(void **state)
{
    (void)state;
    start();
    for (uint32_t i = 0; i < 200; i++)
        open_line(i, 0);
    open_line(200, UINT32_MAX);
    for (uint32_t i = 0; i < 200; i++)
        assert_true(send_some(i, 1400, 100000));
    download(200, 2000000);
    for (uint32_t i = 0; i < 200; i++) { /* each had its first window at least */
        assert_false(lines[i].reset);
        assert_true(lines[i].acked >= 5000);
        host.ends[i].takes = UINT32_MAX;
        happens(i, VM_NET_WRITABLE);
        take_frames();
    }
    for (uint32_t i = 0; i < 200; i++) {
        send_all(i, 1400, 100000);
        assert_int_equal(host.ends[i].got_n, 100000);
        assert_memory_equal(host.ends[i].got, load, 100000);
    }
}

/* A byte takes up as much memory as a hundred. */
static void single_bytes_leave_a_download_alone(void **state)
{
    (void)state;
    start();
    for (uint32_t i = 0; i < 200; i++)
        open_line(i, 0);
    open_line(200, UINT32_MAX);
    for (uint32_t i = 0; i < 200; i++)
        send_some(i, 1, 3000);
    download(200, 1000000);
    for (uint32_t i = 0; i < 200; i += 20) {
        host.ends[i].takes = UINT32_MAX;
        happens(i, VM_NET_WRITABLE);
        send_all(i, 1, 3000);
        assert_memory_equal(host.ends[i].got, load, 3000);
    }
    assert_int_equal(host.ends[0].got_n, 3000);
}

static void segments_out_of_order_leave_a_download_alone(void **state)
{
    (void)state;
    start();
    for (uint32_t i = 0; i < 200; i++)
        open_line(i, UINT32_MAX);
    open_line(200, UINT32_MAX);
    for (uint32_t i = 0; i < 200; i++)
        for (uint32_t at = 2; at < 5000; at += 2) /* the first byte never comes */
            say(i, ACK, at, 1);
    assert_true(heap_used() < HEAP_BYTES / 2);
    download(200, 1000000);
    for (uint32_t i = 0; i < 200; i += 20) {
        send_all(i, 1000, 10000);
        assert_int_equal(host.ends[i].got_n, 10000);
        assert_memory_equal(host.ends[i].got, load, 10000);
    }
}

static uint32_t window_of(uint32_t i)
{
    return lines[i].edge - lines[i].acked;
}

static void a_window_grows_while_the_host_takes_what_comes(void **state)
{
    (void)state;
    start();
    open_line(0, UINT32_MAX);
    assert_in_range(window_of(0), 5000, 16384);
    send_all(0, 1400, LOAD_MAX);
    assert_true(window_of(0) > 500000);
    assert_memory_equal(host.ends[0].got, load, LOAD_MAX);
    /* there is some left for others, less for each */
    for (uint32_t i = 1; i < 20; i++) {
        open_line(i, UINT32_MAX);
        send_all(i, 1400, LOAD_MAX / 2);
    }
    assert_true(window_of(1) > 200000);
    assert_true(window_of(19) > 5000);
    say(0, RST, lines[0].seq, 0); /* and what ends gives its part back */
    open_line(0, UINT32_MAX);
    send_all(0, 1400, LOAD_MAX);
    assert_true(window_of(0) > 200000);
}

/* The largest windows there are, full, and nobody takes anything. */
static void full_windows_leave_a_download_alone(void **state)
{
    (void)state;
    start();
    for (uint32_t i = 0; i < 250; i++) {
        open_line(i, UINT32_MAX);
        send_all(i, 1400, i < 20 ? LOAD_MAX / 2 : 20000);
    }
    open_line(250, UINT32_MAX);
    for (uint32_t i = 0; i < 250; i++) {
        host.ends[i].takes = 0;
        send_some(i, i & 1 ? 1400 : 100, LOAD_MAX);
    }
    assert_true(heap_used() < HEAP_BYTES - HEAP_RESERVE);
    download(250, 2000000);
    for (uint32_t i = 0; i < 250; i++) {
        host.ends[i].takes = UINT32_MAX;
        happens(i, VM_NET_WRITABLE);
        take_frames();
    }
    for (uint32_t i = 0; i < 250; i += 10) {
        uint32_t end = lines[i].acked + 30000;
        send_all(i, 1400, end);
        assert_int_equal(host.ends[i].got_n, end);
        assert_memory_equal(host.ends[i].got, load, end);
        assert_false(lines[i].reset);
    }
}

/* The machine's programs read one of them alone. */
static void what_some_do_not_read_keeps_nothing_from_others(void **state)
{
    (void)state;
    start();
    card.segments = true;
    for (uint32_t i = 0; i < 20; i++)
        open_line(i, UINT32_MAX);
    for (uint32_t i = 0; i < 20; i++) {
        host.ends[i].has = load;
        host.ends[i].has_n = LOAD_MAX;
        happens(i, VM_NET_READABLE);
        take_frames();
    }
    struct line *l = &lines[19];
    for (uint32_t round = 0; round < 1000 && l->got < LOAD_MAX; round++) {
        for (uint32_t before = UINT32_MAX; before != l->got;) {
            before = l->got;
            say(19, ACK, 0, 0);
        }
        wait_ms(250);
        take_frames();
    }
    assert_int_equal(l->got, LOAD_MAX);
}

/* Nobody reads anything, neither the machine nor the host, on 240 connections; 10 go on. */
static void both_directions_full_leave_some_for_others(void **state)
{
    (void)state;
    start();
    for (uint32_t i = 0; i < 250; i++)
        open_line(i, i < 240 ? 0 : UINT32_MAX);
    for (uint32_t i = 0; i < 240; i++) {
        lines[i].deaf = true;
        host.ends[i].has = load;
        host.ends[i].has_n = LOAD_MAX;
        happens(i, VM_NET_READABLE);
        take_frames();
        send_some(i, i & 1 ? 1400 : 10, LOAD_MAX);
    }
    for (uint32_t i = 240; i < 250; i++) {
        send_all(i, 1400, 200000);
        assert_int_equal(host.ends[i].got_n, 200000);
        download(i, 200000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uploads_to_who_takes_nothing_leave_a_download_alone),
        cmocka_unit_test(single_bytes_leave_a_download_alone),
        cmocka_unit_test(segments_out_of_order_leave_a_download_alone),
        cmocka_unit_test(a_window_grows_while_the_host_takes_what_comes),
        cmocka_unit_test(full_windows_leave_a_download_alone),
        cmocka_unit_test(what_some_do_not_read_keeps_nothing_from_others),
        cmocka_unit_test(both_directions_full_leave_some_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
