/* Options of a SYN as no kernel writes them, numbers that wrap, and bytes that are sent twice and
 * differ: what arrives is right, in segments that the machine said it takes. */
#include "vm/net/double_test.h"

#define DOWN 20000u
static uint8_t down[DOWN];

static void set_up_down(void)
{
    set_up();
    for (uint32_t i = 0; i < DOWN; i++)
        down[i] = (uint8_t)(i * 5 + (i >> 8));
    host.ends[0].has = down;
    host.ends[0].has_n = DOWN;
}

/* A SYN with these options; the gateway's first number, or 0: it does not answer. */
static uint32_t open_with(const uint8_t *options, uint32_t n)
{
    send_segment(
        (struct segment){.seq = 1000, .flags = SYN, .options = options, .options_n = n});
    if (!host.ends[0].there)
        return 0;
    happens(0, VM_NET_OPENED | VM_NET_READABLE);
    struct segment s = next_segment();
    if (!(s.flags & SYN))
        return 0;
    assert_int_equal(s.flags, SYN | ACK);
    assert_int_equal(s.ack, 1001);
    send_segment((struct segment){.seq = 1001, .ack = s.seq + 1, .flags = ACK});
    return s.seq + 1;
}

/* Takes all that the host has; the longest segment. */
static uint32_t take_down(uint32_t base)
{
    uint32_t got = 0, longest = 0;
    for (uint32_t i = 0; i < 100000 && got < DOWN; i++) {
        uint32_t n;
        const uint8_t *f = received(&n);
        struct segment s;
        if (!f) {
            send_segment((struct segment){.seq = 1001, .ack = base + got, .flags = ACK});
            wait_ms(250);
            continue;
        }
        assert_true(read_segment(f, n, &s));
        assert_false(s.flags & RST);
        if (s.seq != base + got)
            continue;
        assert_memory_equal(s.data, down + got, s.n);
        got += s.n;
        longest = s.n > longest ? s.n : longest;
    }
    assert_int_equal(got, DOWN);
    return longest;
}

static void segments_are_as_long_as_the_machine_takes(void **state)
{
    (void)state;
    static const struct {
        uint16_t told, longest;
    } sizes[] = {{1460, 1460}, {536, 536}, {100, 100}, {1, 1}, {0, 1460}, {65535, 1460}};
    for (uint32_t i = 0; i < LENGTH(sizes); i++) {
        set_up_down();
        uint8_t option[4] = {2, 4, (uint8_t)(sizes[i].told >> 8), (uint8_t)sizes[i].told};
        uint32_t base = open_with(option, 4);
        assert_true(base);
        assert_int_equal(take_down(base), sizes[i].longest);
    }
}

static void options_without_a_sense_harm_nothing(void **state)
{
    (void)state;
    static const uint8_t odd[][8] = {
        {2, 0, 5, 180},               /* without a length */
        {2, 1, 5, 180},               /* shorter than itself */
        {2, 200, 5, 180},             /* longer than the header */
        {2, 3, 5, 2, 4, 5, 180, 0},   /* of another length */
        {1, 1, 1, 2},                 /* cut off behind its kind */
        {3, 3, 255, 0},               /* a scale beyond 14 */
        {8, 10, 0, 0, 0, 0, 0, 0},    /* cut off */
        {4, 2, 5, 10, 0, 0, 0, 0},    /* a selective acknowledgement beside a SYN */
        {254, 4, 0, 0, 255, 2, 0, 0}, /* unknown */
        {0, 2, 4, 255},               /* behind the last */
    };
    for (uint32_t i = 0; i < LENGTH(odd); i++) {
        set_up_down();
        uint32_t base = open_with(odd[i], sizeof odd[i]);
        if (base)
            take_down(base);
        else
            assert_false(host.ends[0].there);
    }
}

static void any_options_harm_nothing(void **state)
{
    (void)state;
    uint32_t opened = 0;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        uint8_t options[40];
        set_up_down();
        host.chance = seed;
        uint32_t n = 4 * chance(11);
        for (uint32_t i = 0; i < n; i++)
            options[i] = (uint8_t)chance(chance(2) ? 11 : 256);
        uint32_t base = open_with(options, n);
        if (base) {
            take_down(base);
            opened++;
        }
    }
    assert_in_range(opened, 1, 500);
}

/* ---- numbers that wrap --------------------------------------------------------------- */

static void the_machines_numbers_wrap(void **state)
{
    (void)state;
    set_up();
    send_segment((struct segment){.seq = UINT32_MAX - 99, .flags = SYN});
    happens(0, VM_NET_OPENED);
    struct segment s = next_segment();
    assert_int_equal(s.ack, UINT32_MAX - 98);
    uint32_t at = s.ack, base = s.seq + 1;
    send_segment((struct segment){.seq = at, .ack = base, .flags = ACK});
    for (uint32_t i = 0; i < 5; i++, at += 61)
        send_segment((struct segment){
            .seq = at, .ack = base, .flags = ACK, .data = down, .n = 61});
    send_segment((struct segment){.seq = at, .ack = base, .flags = ACK | FIN});
    assert_int_equal(host.ends[0].got_n, 305);
    assert_true(host.ends[0].shut);
    wait_ms(1000);
    uint32_t n;
    const uint8_t *f;
    while ((f = received(&n)))
        assert_true(read_segment(f, n, &s));
    assert_int_equal(s.ack, at + 1);
    assert_in_range(s.ack, 200, 300);
}

/* A seed with which the gateway's first number is one of the last 10,000. */
static uint64_t seed_of_a_late_number(void)
{
    for (uint64_t seed = 1;; seed++) {
        uint32_t first;
        host.chance = seed;
        host_entropy(&first, sizeof first);
        if (first > UINT32_MAX - 10000)
            return seed;
    }
}

static void the_gateways_numbers_wrap(void **state)
{
    (void)state;
    uint64_t seed = seed_of_a_late_number();
    set_up_down();
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    host.chance = seed;
    happens(0, VM_NET_OPENED | VM_NET_READABLE);
    struct segment s = next_segment();
    assert_in_range(s.seq, UINT32_MAX - 10000, UINT32_MAX);
    send_segment((struct segment){.seq = 1001, .ack = s.seq + 1, .flags = ACK});
    take_down(s.seq + 1);
}

/* ---- bytes that differ ---------------------------------------------------------------- */

static void bytes_that_come_again_do_not_change_what_was_taken(void **state)
{
    (void)state;
    static uint8_t one[200], other[200];
    memset(one, 'a', sizeof one);
    memset(other, 'b', sizeof other);
    set_up();
    uint32_t base = open_connection();
    send_segment(
        (struct segment){.seq = 1001, .ack = base, .flags = ACK, .data = one, .n = 100});
    send_segment((struct segment){
        .seq = 1001, .ack = base, .flags = ACK, .data = other, .n = 200});
    assert_int_equal(host.ends[0].got_n, 200);
    assert_memory_equal(host.ends[0].got, one, 100);
    assert_memory_equal(host.ends[0].got + 100, other, 100);
    wait_ms(1000);
    assert_int_equal(next_segment().ack, 1201);
    uint32_t n;
    while (received(&n))
        continue;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_as_long_as_the_machine_takes),
        cmocka_unit_test(options_without_a_sense_harm_nothing),
        cmocka_unit_test(any_options_harm_nothing),
        cmocka_unit_test(the_machines_numbers_wrap),
        cmocka_unit_test(the_gateways_numbers_wrap),
        cmocka_unit_test(bytes_that_come_again_do_not_change_what_was_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
