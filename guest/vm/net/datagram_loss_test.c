/* Datagrams, names and leases over a way that loses, repeats, swaps, damages, cuts and lengthens
 * frames: what arrives is right, and who asks again gets an answer. */
#include "vm/net/double_test.h"
#include "vm/net/heap.h"

enum fault {
    LOSS = 1 << 0,
    REPEAT = 1 << 1,
    SWAP = 1 << 2,
    DAMAGE = 1 << 3,
    CUT = 1 << 4,
    EXCESS = 1 << 5, /* more bytes behind the packet */
    ALL = 63
};

/* ---- the way to the gateway ----------------------------------------------------------- */

static struct {
    unsigned faults;
    uint32_t percent, held_n;
    uint8_t held[CARD_FRAME_MAX], copy[CARD_FRAME_MAX];
} way;

static bool fails(enum fault f)
{
    return way.faults & f && chance(100) < way.percent;
}

static void arrive(const uint8_t *f, uint32_t n)
{
    memcpy(way.copy, f, n); /* whoever gets it may change it */
    lan_input(way.copy, n, false);
}

/* The frame `frame`, with room behind it. */
static void carry(uint32_t n)
{
    if (fails(LOSS))
        return;
    if (fails(DAMAGE))
        frame[chance(n)] ^= (uint8_t)(1 + chance(255));
    if (fails(CUT))
        n = chance(n + 1);
    if (fails(EXCESS)) {
        uint32_t more = 1 + chance(1500);
        memset(frame + n, (int)chance(256), more);
        n += more;
    }
    if (!way.held_n && n && fails(SWAP)) {
        memcpy(way.held, frame, n);
        way.held_n = n;
        return;
    }
    arrive(frame, n);
    if (fails(REPEAT))
        arrive(frame, n);
    uint32_t late = way.held_n;
    way.held_n = 0;
    if (late)
        arrive(way.held, late);
}

static void begin(uint64_t seed, unsigned faults, uint32_t percent)
{
    set_up();
    host.chance = seed;
    way.faults = faults;
    way.percent = percent;
    way.held_n = 0;
}

/* For each kind of fault alone and all of them, at 1 to 20 %, with three seeds each. */
static void each_way(void (*run)(void))
{
    static const uint32_t percents[] = {1, 5, 10, 20};
    for (unsigned f = 1; f <= ALL + 1; f <<= 1)
        for (uint32_t i = 0; i < LENGTH(percents); i++)
            for (uint64_t seed = 1; seed <= 3; seed++) {
                begin(seed, f > ALL ? ALL : f, percents[i]);
                run();
            }
}

/* ---- datagrams ------------------------------------------------------------------------ */

#define SIZE 1000u
#define COUNT 300u
#define HEAD 42u

static void make_text(uint8_t *at, uint32_t number)
{
    put32(at, number);
    for (uint32_t i = 4; i < SIZE; i++)
        at[i] = (uint8_t)(number * 31 + i * 7 + (i >> 8));
}

/* A frame whose sums are wrong is no longer the datagram that was sent. Whatever socket it came to
 * has whole ones of SIZE only. */
static void check_got(uint32_t *arrived)
{
    static uint8_t text[SIZE];
    for (uint32_t id = UDP_FIRST; id < UDP_FIRST + UDP_FLOWS; id++) {
        struct end *d = &host.ends[id];
        assert_int_equal(d->got_n % SIZE, 0);
        for (uint32_t at = 0; at < d->got_n; at += SIZE, ++*arrived) {
            uint32_t number = be32(d->got + at);
            assert_in_range(number, 0, COUNT - 1);
            make_text(text, number);
            assert_memory_equal(d->got + at, text, SIZE);
        }
        d->got_n = 0;
    }
}

static void send_datagrams(void)
{
    static uint8_t datagram[8 + SIZE];
    uint32_t arrived = 0, lost = 0;
    put16(datagram, 5000);
    put16(datagram + 2, 123);
    put16(datagram + 4, sizeof datagram);
    for (uint32_t i = 0; i < COUNT; i++) {
        make_text(datagram + 8, i);
        put16(datagram + 6, 0);
        carry(make(frame, &server, PROTOCOL_UDP, datagram, sizeof datagram));
        check_got(&arrived);
        wait_ms(20);
    }
    uint32_t n;
    while (received(&n)) /* of ICMP, about what came cut */
        lost++;
    assert_true(arrived >= COUNT / 4);
    if (way.faults == REPEAT)
        assert_in_range(arrived, COUNT, 2 * COUNT);
}

static void a_datagram_arrives_as_it_was_or_not_at_all(void **state)
{
    (void)state;
    each_way(send_datagrams);
}

/* ---- names ---------------------------------------------------------------------------- */

static uint32_t make_question(uint8_t *at, uint16_t id)
{
    static const uint8_t name[] = "\7example\3org\0\0\1\0\1";
    memset(at, 0, 12);
    put16(at, id);
    at[2] = 1;
    at[5] = 1;
    memcpy(at + 12, name, sizeof name - 1);
    return 12 + (uint32_t)sizeof name - 1;
}

/* A whole answer to this question; a damaged one may have an answer of its own, such as FORMERR. */
static bool is_answer(const uint8_t *f, uint32_t n, uint16_t id)
{
    if (n < HEAD + 12 || f[23] != PROTOCOL_UDP || be16(f + HEAD) != id ||
        (f[HEAD + 3] & 15) || be16(f + HEAD + 6) != 1)
        return false;
    uint8_t question[40];
    uint32_t q = make_question(question, id);
    if (n < HEAD + q + 16 || memcmp(f + HEAD + 12, question + 12, q - 12) != 0)
        return false;
    assert_memory_equal(f + n - 4, "\300\0\2\7", 4);
    return true;
}

static void ask_until_answered(void)
{
    host.told.count = 1;
    memcpy(host.told.addresses[0], "\0\0\0\0\0\0\0\0\0\0\377\377\300\0\2\7", 16);
    for (uint16_t id = 1; id <= 30; id++) {
        bool answered = false;
        for (uint32_t tries = 0; !answered && tries < 200; tries++) {
            uint8_t datagram[8 + 64];
            uint32_t n = make_question(datagram + 8, id);
            struct ip gateway = ip_v4(LAN_GATEWAY);
            put16(datagram, 5353);
            put16(datagram + 2, 53);
            put16(datagram + 4, 8 + n);
            put16(datagram + 6, 0);
            carry(make(frame, &gateway, PROTOCOL_UDP, datagram, 8 + n));
            lan_poll();
            for (const uint8_t *f; (f = received(&n));)
                answered |= is_answer(f, n, id);
            wait_ms(100);
        }
        assert_true(answered);
    }
}

static void who_asks_again_gets_an_answer(void **state)
{
    (void)state;
    each_way(ask_until_answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_arrives_as_it_was_or_not_at_all),
        cmocka_unit_test(who_asks_again_gets_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
