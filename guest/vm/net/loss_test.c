/* Transfers over a way that loses, repeats, swaps, damages, cuts and lengthens frames, in both
 * directions: whatever arrives is right, and all of it does. */
#include "vm/net/double_test.h"
#include "vm/net/heap.h"

#define BULK 120000u
#define FRAME_MAX 70000u
#define AGAIN_NS 300000000ull

enum fault {
    LOSS = 1 << 0,
    REPEAT = 1 << 1,
    SWAP = 1 << 2,
    DAMAGE = 1 << 3,
    CUT = 1 << 4,
    EXCESS = 1 << 5, /* more bytes behind the packet */
    ALL = 63
};

/* ---- the way ------------------------------------------------------------------------ */

static struct {
    unsigned faults;
    uint32_t percent;
} way;

struct direction {
    void (*arrive)(uint8_t *frame, uint32_t n);
    uint8_t held[FRAME_MAX], now[FRAME_MAX], copy[FRAME_MAX];
    uint32_t held_n;
};

static bool fails(enum fault f)
{
    return way.faults & f && chance(100) < way.percent;
}

static void arrive(struct direction *d, const uint8_t *f, uint32_t n)
{
    memcpy(d->copy, f, n); /* whoever gets it may change it */
    d->arrive(d->copy, n);
}

static void carry(struct direction *d, const uint8_t *f, uint32_t n)
{
    if (fails(LOSS))
        return;
    memcpy(d->now, f, n);
    if (fails(DAMAGE))
        d->now[chance(n)] ^= (uint8_t)(1 + chance(255));
    if (fails(CUT))
        n = chance(n + 1);
    if (fails(EXCESS)) {
        uint32_t more = 1 + chance(1500);
        memset(d->now + n, (int)chance(256), more);
        n += more;
    }
    if (!d->held_n && n && fails(SWAP)) {
        memcpy(d->held, d->now, n);
        d->held_n = n;
        return;
    }
    arrive(d, d->now, n);
    if (fails(REPEAT))
        arrive(d, d->now, n);
    uint32_t late = d->held_n;
    d->held_n = 0;
    if (late)
        arrive(d, d->held, late);
}

/* ---- the machine -------------------------------------------------------------------- */

static uint8_t up[BULK], down[BULK], came[BULK];

/* Sends all of `up` from what is acknowledged on, again after a while; takes what comes in
 * order. */
static struct {
    uint32_t base, acked, sent, got; /* numbers of bytes */
    uint64_t again_ns;
    bool begun, fin_came, reset;
} peer;

static void take(uint8_t *f, uint32_t n)
{
    struct segment s;
    if (memcmp(f, mac, n < 6 ? n : 6) != 0 || !read_segment(f, n, &s))
        return;
    peer.reset |= (s.flags & RST) != 0;
    if (s.flags & SYN && !peer.begun) {
        peer.begun = true;
        peer.base = s.seq + 1;
    }
    uint32_t acked = s.ack - 1001, at = s.seq - peer.base;
    if (s.flags & ACK && acked <= BULK + 1 && acked > peer.acked) {
        peer.acked = acked;
        peer.again_ns = host.now_ns + AGAIN_NS;
    }
    if (at < peer.got && at + s.n > peer.got && at + s.n <= BULK) {
        s.data += peer.got - at;
        s.n -= peer.got - at;
        at = peer.got;
    }
    if (at == peer.got && s.n) {
        assert_true(peer.got + s.n <= BULK);
        memcpy(came + peer.got, s.data, s.n);
        peer.got += s.n;
        at += s.n;
    }
    if (s.flags & FIN && at == peer.got)
        peer.fin_came = true;
}

static void input(uint8_t *f, uint32_t n)
{
    lan_input(f, n, false);
}

static struct direction out = {.arrive = input}, in = {.arrive = take};

static void send_peer(uint32_t seq, uint8_t flags, uint32_t n)
{
    struct segment s = {.from_port = 40000,
                        .to_port = 80,
                        .window = 60000,
                        .seq = seq,
                        .flags = flags,
                        .data = up + (seq - 1001),
                        .n = n};
    if (flags & ACK)
        s.ack = peer.base + peer.got + peer.fin_came;
    carry(&out, frame, make_segment(frame, &s));
}

static void send_some(void)
{
    if (host.now_ns >= peer.again_ns) {
        peer.sent = peer.acked;
        peer.again_ns = host.now_ns + AGAIN_NS;
        if (!peer.begun)
            send_peer(1000, SYN, 0);
    }
    if (!peer.begun)
        return;
    uint32_t most = peer.acked + 20000;
    for (uint32_t n; peer.sent <= BULK && peer.sent < most; peer.sent += n) {
        n = BULK - peer.sent < 1400 ? BULK - peer.sent : 1400;
        bool last = n == 0;
        send_peer(1001 + peer.sent, last ? ACK | FIN : ACK, n);
        n += last;
    }
    send_peer(1001 + peer.sent, ACK, 0);
}

/* ---- transfers ---------------------------------------------------------------------- */

static void begin(uint64_t seed, unsigned faults, uint32_t percent, bool segments)
{
    set_up();
    host.chance = seed;
    for (uint32_t i = 0; i < BULK; i++) {
        up[i] = (uint8_t)chance(256);
        down[i] = (uint8_t)chance(256);
    }
    host.ends[0].has = down;
    host.ends[0].has_n = BULK;
    host.ends[0].ends = true;
    host.ends[0].takes = 5000;
    memset(&peer, 0, sizeof peer);
    memset(came, 0, sizeof came);
    out.held_n = in.held_n = 0;
    way.faults = faults;
    way.percent = percent;
    card.segments = segments;
}

static bool is_done(void)
{
    return peer.acked == BULK + 1 && peer.fin_came && !host.ends[0].there;
}

static void step(bool *opened)
{
    uint32_t n;
    send_some();
    if (host.ends[0].there && !*opened) {
        *opened = true;
        happens(0, VM_NET_OPENED | VM_NET_READABLE);
    }
    if (host.ends[0].there)
        happens(0, VM_NET_WRITABLE);
    for (const uint8_t *f; (f = received(&n));)
        carry(&in, f, n);
    wait_ms(20);
}

static void transfer(uint64_t seed, unsigned faults, uint32_t percent, bool segments)
{
    bool opened = false;
    begin(seed, faults, percent, segments);
    for (uint32_t round = 0; round < 100000 && !is_done() && !peer.reset; round++)
        step(&opened);
    if (!is_done() || peer.reset)
        fail_msg("seed %u, faults %x at %u %%: %u bytes up (%u said), %u down%s",
                 (unsigned)seed, faults, percent, host.ends[0].got_n, peer.acked,
                 peer.got, peer.reset ? ", reset" : "");
    assert_int_equal(host.ends[0].got_n, BULK);
    assert_int_equal(peer.got, BULK);
    assert_memory_equal(host.ends[0].got, up, BULK);
    assert_memory_equal(came, down, BULK);
    assert_false(host.ends[0].reset);
    way.faults = 0; /* and nothing stays behind */
    for (uint32_t i = 0; i < 500; i++)
        step(&opened);
    assert_true(tcp_due_ns() == UINT64_MAX);
}

static void run(unsigned faults, bool segments)
{
    static const uint32_t percents[] = {1, 5, 10, 20};
    uint32_t most = faults == ALL ? 10 : 20; /* of all together a third does not arrive */
    for (uint32_t i = 0; i < LENGTH(percents) && percents[i] <= most; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            transfer(seed, faults, percents[i], segments);
}

#define WAY(name, faults, segments) \
    static void name(void **state)  \
    {                               \
        (void)state;                \
        run(faults, segments);      \
    }

WAY(frames_are_lost, LOSS, false)
WAY(frames_come_twice, REPEAT, false)
WAY(frames_come_in_another_order, SWAP, false)
WAY(frames_are_damaged, DAMAGE, false)
WAY(frames_are_cut, CUT, false)
WAY(frames_are_too_long, EXCESS, false)
WAY(all_of_these, ALL, false)
WAY(frames_that_stand_for_several_are_lost, LOSS | REPEAT | SWAP, true)
WAY(all_of_these_with_frames_that_stand_for_several, ALL, true)

static void memory_is_given_back(void **state)
{
    (void)state;
    set_up();
    size_t before = heap_used();
    for (uint64_t seed = 10; seed < 20; seed++)
        transfer(seed, ALL, 10, false);
    assert_int_equal(heap_used(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_lost),
        cmocka_unit_test(frames_come_twice),
        cmocka_unit_test(frames_come_in_another_order),
        cmocka_unit_test(frames_are_damaged),
        cmocka_unit_test(frames_are_cut),
        cmocka_unit_test(frames_are_too_long),
        cmocka_unit_test(all_of_these),
        cmocka_unit_test(frames_that_stand_for_several_are_lost),
        cmocka_unit_test(all_of_these_with_frames_that_stand_for_several),
        cmocka_unit_test(memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
