/* The resolver at the gateway, by datagrams and on connections. */
#include "vm/net/double_test.h"

enum { A = 1, SOA = 6, MX = 15, TXT = 16, AAAA = 28, OPT = 41, HTTPS = 65 };

/* ---- questions --------------------------------------------------------------------- */

/* The question for a name; its bytes. */
static uint32_t ask_name(uint8_t *at, const char *name, uint16_t type)
{
    memset(at, 0, 12);
    put16(at, 0xabcd);
    at[2] = 1;
    at[5] = 1;
    uint32_t n = 12;
    for (const char *end; *name; name = *end ? end + 1 : end) {
        end = strchrnul(name, '.');
        at[n++] = (uint8_t)(end - name);
        memcpy(at + n, name, (size_t)(end - name));
        n += (uint32_t)(end - name);
    }
    at[n++] = 0;
    put16(at + n, type);
    put16(at + n + 2, 1);
    return n + 4;
}

/* Adds EDNS' record. */
static uint32_t add_edns(uint8_t *at, uint32_t n, uint32_t room, uint8_t version,
                         bool dnssec)
{
    memset(at + n, 0, 11);
    put16(at + n + 1, OPT);
    put16(at + n + 3, room);
    at[n + 6] = version;
    at[n + 7] = dnssec ? 0x80 : 0;
    at[11]++;
    return n + 11;
}

/* What an answer says. */
struct reply {
    bool truncated, edns;
    uint32_t status, answers, n;
    uint32_t ttl;   /* of its last answer, or of SOA */
    uint32_t soa;   /* SOA's last number; 0: there is none */
    uint32_t ede;   /* UINT32_MAX: there is none */
    char text[300]; /* of EDE */
    uint8_t at[1500];
    uint8_t last[16]; /* bytes of the last answer */
    uint32_t last_n;
};

static uint32_t skip_name(const struct reply *r, uint32_t i)
{
    while (i < r->n && r->at[i] && r->at[i] < 0xc0)
        i += 1u + r->at[i];
    assert_true(i < r->n);
    return i + (r->at[i] ? 2 : 1);
}

static void read_opt(struct reply *r, uint32_t i, uint32_t n)
{
    r->edns = true;
    r->status |= (uint32_t)r->at[i + 4] << 4;
    assert_int_equal(be16(r->at + i + 2), 1232);
    assert_int_equal(r->at[i + 5], 0);
    if (!n)
        return;
    assert_int_equal(be16(r->at + i + 10), 15);
    assert_int_equal(be16(r->at + i + 12), n - 4);
    r->ede = be16(r->at + i + 14);
    memcpy(r->text, r->at + i + 16, n - 6);
}

static void read_record(struct reply *r, uint32_t i, uint32_t type, uint32_t n)
{
    if (type == OPT) {
        read_opt(r, i, n);
        return;
    }
    r->ttl = be32(r->at + i + 4);
    if (type == SOA)
        r->soa = be32(r->at + i + 10 + n - 4);
    else {
        assert_true(n <= 16);
        memcpy(r->last, r->at + i + 10, n);
        r->last_n = n;
    }
}

/* Each record of it has to end where the message does. */
static struct reply read_reply(const uint8_t *at, uint32_t n)
{
    struct reply r = {.n = n, .ede = UINT32_MAX};
    assert_in_range(n, 12, sizeof r.at);
    memcpy(r.at, at, n);
    assert_int_equal(be16(at), 0xabcd);
    assert_true(at[2] & 0x80);
    r.truncated = at[2] & 2;
    r.status = at[3] & 15;
    r.answers = be16(at + 6);
    uint32_t i = 12, records = r.answers + 0u + be16(at + 8) + be16(at + 10);
    for (uint32_t q = be16(at + 4); q; q--)
        i = skip_name(&r, i) + 4;
    for (; records; records--) {
        i = skip_name(&r, i);
        assert_true(i + 10 <= n && i + 10 + be16(at + i + 8) <= n);
        read_record(&r, i, be16(at + i), be16(at + i + 8));
        i += 10u + be16(at + i + 8);
    }
    assert_int_equal(i, n);
    return r;
}

static struct ip gateway;

static void start(void)
{
    set_up();
    gateway = ip_v4(LAN_GATEWAY);
}

static struct reply next_reply(uint16_t port)
{
    uint32_t n = 0;
    const uint8_t *f = received(&n);
    assert_non_null(f);
    assert_int_equal(be16(f + 34), 53);
    assert_int_equal(be16(f + 36), port);
    return read_reply(f + 42, n - 42);
}

static struct reply resolve(const char *name, uint16_t type, bool edns)
{
    uint8_t q[512];
    uint32_t n = ask_name(q, name, type);
    n = edns ? add_edns(q, n, 4096, 0, false) : n;
    send_udp(&gateway, 5353, 53, q, n);
    lan_poll();
    return next_reply(5353);
}

static void tell_addresses(uint32_t count, uint32_t ttl)
{
    host.told = (struct vm_net_answer){.ttl_s = ttl, .count = count};
    for (uint32_t i = 0; i < count; i++)
        memcpy(host.told.addresses[i], ip_v4(0x01020304 + i).at, 16);
}

/* ---- answers ----------------------------------------------------------------------- */

static void a_name_is_asked_once_and_its_ttl_counts_down(void **state)
{
    (void)state;
    start();
    tell_addresses(2, 60);
    for (int i = 0; i < 3; i++) {
        struct reply r = resolve("WWW.Example.org", A, i & 1);
        assert_int_equal(r.status, 0);
        assert_int_equal(r.answers, 2);
        assert_memory_equal(r.at + 13, "WWW", 3); /* as it was asked */
        assert_int_equal(be32(r.last), 0x01020305);
        assert_int_equal(r.ttl, 60 - 20 * i);
        wait_ms(20000);
    }
    assert_string_equal(host.asked, "www.example.org");
    assert_int_equal(host.asks, 1);
    assert_int_equal(resolve("www.example.org", A, false).ttl, 60);
    assert_int_equal(host.asks, 2);
}

static void a_refused_name_says_why(void **state)
{
    (void)state;
    start();
    host.told = (struct vm_net_answer){.status = 5};
    strcpy(host.why, "not in network.hosts");
    struct reply r = resolve("evil.test", A, true);
    assert_int_equal(r.status, 5);
    assert_int_equal(r.ede, 18);
    assert_string_equal(r.text, "not in network.hosts");
    r = resolve("evil.test", A, false);
    assert_int_equal(r.status, 5);
    assert_false(r.edns);
    assert_int_equal(host.asks, 2); /* it may have been allowed meanwhile */
    r = resolve("evil.test", MX, true);
    assert_int_equal(r.status, 5);
    assert_string_equal(r.text, "not in network.hosts");
    host.answer = VM_NET_DENIED;
    r = resolve("example.org", A, true);
    assert_int_equal(r.status, 5);
    assert_int_equal(r.ede, 18);
}

static void no_such_name_is_another_answer_than_no_such_record(void **state)
{
    (void)state;
    start();
    host.told = (struct vm_net_answer){.status = 3, .ttl_s = 60};
    struct reply r = resolve("nobody.example.org", A, true);
    assert_int_equal(r.status, 3);
    assert_int_equal(r.soa, 60);
    wait_ms(15000);
    r = resolve("nobody.example.org", AAAA, false); /* of no type is there anything */
    assert_int_equal(r.status, 3);
    assert_int_equal(r.ttl, 45);
    assert_int_equal(r.soa, 45);
    assert_int_equal(host.asks, 1);
    host.told = (struct vm_net_answer){.ttl_s = 60};
    r = resolve("v4.example.org", AAAA, true);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.answers, 0);
    assert_int_equal(r.soa, 60);
    tell_addresses(1, 60);
    r = resolve("v4.example.org", A, true);
    assert_int_equal(r.answers, 1);
    assert_int_equal(r.soa, 0);
    assert_int_equal(resolve("v4.example.org", AAAA, true).answers, 0);
    assert_int_equal(host.asks, 3);
    host.told = (struct vm_net_answer){.status = 2, .ttl_s = 60};
    r = resolve("broken.example.org", A, true);
    assert_int_equal(r.status, 2);
    assert_int_equal(r.soa, 0);
    resolve("broken.example.org", A, true);
    assert_int_equal(host.asks, 4);
    wait_ms(5000); /* a failure is soon tried again */
    resolve("broken.example.org", A, true);
    assert_int_equal(host.asks, 5);
}

/* Of a name that exists only what is known is said; of another it is said that it does not. */
static void other_types_are_said_to_be_empty(void **state)
{
    (void)state;
    static const uint16_t types[] = {MX, TXT, HTTPS, 255};
    start();
    tell_addresses(1, 60);
    for (uint32_t i = 0; i < LENGTH(types); i++) {
        struct reply r = resolve("example.org", types[i], true);
        assert_int_equal(r.status, 0);
        assert_int_equal(r.answers, 0);
        assert_true(r.soa);
        assert_int_equal(r.ede, 21);
        assert_int_equal(host.asked_type, A);
    }
    assert_int_equal(host.asks, 1);
    host.told = (struct vm_net_answer){.status = 3, .ttl_s = 60};
    assert_int_equal(resolve("nobody.example.org", MX, true).status, 3);
    assert_int_equal(resolve("example.org", 252, true).status, 5); /* the whole zone */
    assert_int_equal(host.asks, 2);
}

static void what_is_too_long_is_cut_and_says_so(void **state)
{
    (void)state;
    uint8_t q[512];
    uint32_t n;
    start();
    host.told = (struct vm_net_answer){.ttl_s = 60, .count = 16};
    for (uint32_t i = 0; i < 16; i++)
        host.told.addresses[i][0] = 0x20, host.told.addresses[i][15] = (uint8_t)i;
    static const char name[] =
        "a-name-of-some-length.and-a-zone-of-some-length.example.org";
    struct reply r = resolve(name, AAAA, false);
    assert_true(r.truncated);
    assert_in_range(r.answers, 1, 15);
    assert_in_range(r.n, 512 - 28, 512);
    r = resolve(name, AAAA, true);
    assert_false(r.truncated);
    assert_int_equal(r.answers, 16);
    static const uint32_t rooms[] = {0, 511, 512, 600, 1232, 65535};
    for (uint32_t i = 0; i < LENGTH(rooms); i++) {
        n = add_edns(q, ask_name(q, name, AAAA), rooms[i], 0, true);
        send_udp(&gateway, 5353, 53, q, n);
        r = next_reply(5353);
        assert_int_equal(r.truncated, rooms[i] < 600);
        assert_true(r.n <= (rooms[i] > 512 ? rooms[i] : 512));
    }
}

static void edns_is_read_as_it_has_to_be(void **state)
{
    (void)state;
    uint8_t q[512];
    start();
    tell_addresses(1, 60);
    uint32_t n = add_edns(q, ask_name(q, "example.org", A), 4096, 1, true);
    send_udp(&gateway, 5353, 53, q, n);
    assert_int_equal(next_reply(5353).status, 16); /* of another version */
    n = add_edns(q, ask_name(q, "example.org", A), 4096, 0, true);
    n = add_edns(q, n, 4096, 0, true);
    send_udp(&gateway, 5353, 53, q, n);
    assert_int_equal(next_reply(5353).status, 1); /* two of them */
    /* behind another record, whose name is compressed */
    n = ask_name(q, "example.org", A);
    static const uint8_t other[] = {0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, 0, 2, 'h', 'i'};
    memcpy(q + n, other, sizeof other);
    q[11]++;
    n = add_edns(q, n + sizeof other, 4096, 0, true);
    for (uint32_t cut = n - 1; cut > n - 11 - sizeof other; cut--) {
        send_udp(&gateway, 5353, 53, q, cut);
        assert_int_equal(next_reply(5353).status, 1);
    }
    send_udp(&gateway, 5353, 53, q, n);
    lan_poll();
    struct reply r = next_reply(5353);
    assert_int_equal(r.answers, 1);
    assert_true(r.edns);
}

static void odd_questions_reach_nobody(void **state)
{
    (void)state;
    start();
    uint8_t q[512];
    uint32_t n, size = ask_name(q, "exa\x01mple.org", A);
    for (uint32_t cut = 0; cut <= size; cut++)
        send_udp(&gateway, 5353, 53, q, cut);
    for (uint8_t *f; (f = received(&n));)
        assert_int_equal(f[45] & 15, n - 42 < 17 ? 1 : n - 42 == size ? 5 : 1);
    q[12] = 0xc0; /* a pointer */
    send_udp(&gateway, 5353, 53, q, size);
    assert_int_equal(next_reply(5353).status, 1);
    size = ask_name(q, "example.org", A);
    q[5] = 2;
    send_udp(&gateway, 5353, 53, q, size);
    assert_int_equal(next_reply(5353).status, 1);
    q[5] = 1;
    q[2] = 0x29; /* an update */
    send_udp(&gateway, 5353, 53, q, size);
    assert_int_equal(next_reply(5353).status, 4);
    q[2] = 0x81; /* an answer */
    send_udp(&gateway, 5353, 53, q, size);
    q[2] = 1;
    q[size - 1] = 3; /* of another class */
    send_udp(&gateway, 5353, 53, q, size);
    assert_int_equal(next_reply(5353).status, 5);
    nothing_comes();
    assert_int_equal(host.asks, 0);
}

static void the_gateways_own_names_need_no_host(void **state)
{
    (void)state;
    start();
    assert_int_equal(be32(resolve("host.cloche.internal", A, false).last), LAN_HOST);
    assert_int_equal(be32(resolve("GATEWAY.cloche.internal", A, false).last),
                     LAN_GATEWAY);
    struct reply r = resolve("host.cloche.internal", AAAA, false);
    assert_int_equal(r.status, 0);
    assert_int_equal(r.answers, 0);
    assert_int_equal(resolve("other.cloche.internal", A, false).status, 3);
    r = resolve("1.127.168.192.in-addr.arpa", 12, true);
    assert_int_equal(r.status, 5);
    assert_int_equal(r.ede, 21);
    assert_int_equal(resolve("", A, false).status, 0);
    assert_int_equal(host.asks, 0);
}

/* ---- many at once ------------------------------------------------------------------ */

static void send_question(uint16_t port, const char *name, uint16_t type)
{
    uint8_t q[512];
    uint32_t n = ask_name(q, name, type);
    send_udp(&gateway, port, 53, q, n);
}

static void who_asks_for_the_same_shares_one_answer(void **state)
{
    (void)state;
    start();
    tell_addresses(1, 60);
    host.waits = true;
    for (uint16_t i = 0; i < 5; i++)
        send_question((uint16_t)(6000 + i), "example.org", i < 4 ? A : MX);
    send_question(6000, "example.org", A); /* again */
    nothing_comes();
    assert_int_equal(host.asks, 1);
    happens(DNS_FIRST, VM_NET_READABLE);
    for (uint16_t i = 0; i < 5; i++)
        assert_int_equal(next_reply((uint16_t)(6000 + i)).answers, i < 4);
    nothing_comes();
    assert_int_equal(host.closes, 1);
}

/* As in a machine that goes on from a copy. */
static void questions_of_the_past_are_answered_and_may_be_asked_again(void **state)
{
    (void)state;
    start();
    host.waits = true;
    for (uint16_t i = 0; i < 3; i++)
        send_question((uint16_t)(6000 + i), i ? "one.test" : "example.org", A);
    nothing_comes();
    for (uint32_t i = 0; i < VM_NET_IDS; i++)
        host.ends[i].there = false; /* another process' */
    lan_switch(0, lan.mac);
    for (uint16_t i = 0; i < 3; i++)
        assert_int_equal(next_reply((uint16_t)(6000 + i)).status, 2);
    nothing_comes();
    assert_int_equal(host.closes, 0);
    lan_switch(LAN_WAY_V4, mac);
    nothing_comes();
    tell_addresses(1, 60);
    send_question(6000, "example.org", A);
    happens(DNS_FIRST, VM_NET_READABLE);
    assert_int_equal(next_reply(6000).answers, 1);
}

/* The host does eight at once, say: the others wait for these. */
static void who_asks_for_more_than_the_host_does_at_once_waits(void **state)
{
    (void)state;
    char name[40];
    start();
    tell_addresses(1, 60);
    host.waits = true;
    for (uint16_t i = 0; i < 20; i++) {
        host.answer = i < 8 ? 0 : VM_NET_FULL;
        (void)snprintf(name, sizeof name, "host%u.example.org", i);
        send_question((uint16_t)(6000 + i), name, A);
    }
    nothing_comes();
    host.answer = 0;
    for (uint16_t i = 0; i < 20; i++) {
        happens(DNS_FIRST + i, VM_NET_READABLE);
        assert_int_equal(next_reply((uint16_t)(6000 + i)).answers, 1);
    }
    assert_int_equal(host.asks, 20);
    host.answer = VM_NET_FULL; /* and asks for nothing that would end */
    send_question(7000, "other.example.org", A);
    assert_int_equal(next_reply(7000).status, 2);
}

/* ---- on a connection ---------------------------------------------------------------- */

struct stream {
    uint16_t port;
    uint32_t seq, ack;
    uint32_t got_n;
    bool fin, rst;
    uint8_t got[4096];
};

static void take_stream(struct stream *s)
{
    struct segment t;
    uint32_t n;
    for (const uint8_t *f; (f = received(&n));) {
        if (!read_segment(f, n, &t) || t.to_port != s->port)
            continue;
        s->rst |= (t.flags & RST) != 0;
        if (t.seq != s->ack)
            continue;
        assert_true(s->got_n + t.n <= sizeof s->got);
        memcpy(s->got + s->got_n, t.data, t.n);
        s->got_n += t.n;
        s->ack += t.n;
        if (t.flags & FIN) {
            s->fin = true;
            s->ack++;
        }
    }
}

static void say(struct stream *s, uint8_t flags, const uint8_t *at, uint32_t n)
{
    send_segment((struct segment){.to = &gateway,
                                  .from_port = s->port,
                                  .to_port = 53,
                                  .seq = s->seq,
                                  .ack = s->ack,
                                  .flags = flags,
                                  .data = at,
                                  .n = n});
    s->seq += n + (flags & (SYN | FIN) ? 1 : 0);
    lan_poll();
    take_stream(s);
}

static struct stream open_stream(uint16_t port)
{
    struct stream s = {.port = port, .seq = 1000};
    send_segment((struct segment){
        .to = &gateway, .from_port = port, .to_port = 53, .seq = 1000, .flags = SYN});
    struct segment t = next_segment();
    assert_int_equal(t.flags, SYN | ACK);
    s.seq = 1001;
    s.ack = t.seq + 1;
    say(&s, ACK, NULL, 0);
    return s;
}

static uint32_t ask_framed(uint8_t *at, const char *name, uint16_t type)
{
    uint32_t n = ask_name(at + 2, name, type);
    put16(at, n);
    return 2 + n;
}

/* Takes the first of what came. */
static struct reply take_reply(struct stream *s)
{
    assert_true(s->got_n >= 2 && s->got_n >= 2u + be16(s->got));
    uint32_t n = be16(s->got);
    struct reply r = read_reply(s->got + 2, n);
    s->got_n -= 2 + n;
    memmove(s->got, s->got + 2 + n, s->got_n);
    return r;
}

static void a_connection_carries_questions(void **state)
{
    (void)state;
    uint8_t q[1024];
    start();
    host.told = (struct vm_net_answer){.ttl_s = 60, .count = 16};
    struct stream s = open_stream(7000);
    uint32_t n = ask_framed(q, "example.org", AAAA);
    say(&s, ACK, q, n);
    struct reply r = take_reply(&s);
    assert_int_equal(r.answers, 16);
    assert_false(r.truncated);
    assert_int_equal(host.asks, 1);
    for (uint32_t i = 0; i < n; i++) /* byte by byte */
        say(&s, ACK, q + i, 1);
    assert_int_equal(take_reply(&s).answers, 16);
    uint32_t more = ask_framed(q + n, "host.cloche.internal", A);
    say(&s, ACK, q, n + more); /* two at once */
    assert_int_equal(take_reply(&s).answers, 16);
    assert_int_equal(take_reply(&s).answers, 1);
    assert_int_equal(s.got_n, 0);
    host.waits = true; /* the machine ends first, and has its answer still */
    n = ask_framed(q, "later.example.org", AAAA);
    say(&s, ACK | FIN, q, n);
    assert_false(s.fin);
    happens(DNS_FIRST, VM_NET_READABLE);
    say(&s, ACK, NULL, 0);
    assert_int_equal(take_reply(&s).answers, 16);
    assert_true(s.fin);
    assert_false(s.rst);
    assert_int_equal(host.ends[0].there, false); /* the host had none of it */
}

static void what_is_no_question_ends_the_connection(void **state)
{
    (void)state;
    static const uint8_t empty[] = {0, 0}, huge[] = {0xff, 0xff},
                         answer[] = {0, 12, 1, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    start();
    struct stream s = open_stream(7000);
    say(&s, ACK, empty, sizeof empty);
    assert_true(s.rst);
    s = open_stream(7001);
    say(&s, ACK, huge, sizeof huge);
    assert_true(s.rst);
    s = open_stream(7002);
    say(&s, ACK, answer, sizeof answer);
    assert_true(s.rst);
    assert_int_equal(host.asks, 0);
}

/* Who asks and reads nothing is not heard any more. */
static void questions_wait_for_room_for_their_answers(void **state)
{
    (void)state;
    uint8_t q[1024];
    start();
    host.told = (struct vm_net_answer){.ttl_s = 60, .count = 16};
    host.waits = true;
    struct stream s = open_stream(7000);
    char name[40];
    for (uint32_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "host%u.example.org", i);
        say(&s, ACK, q, ask_framed(q, name, AAAA));
    }
    assert_in_range(host.asks, 2, 10);
    for (uint32_t i = 0, done = 0; i < 1000 && done < 40; i++) {
        for (uint32_t id = DNS_FIRST; id < VM_NET_INBOUND; id++)
            if (host.ends[id].there)
                happens(id, VM_NET_READABLE);
        say(&s, ACK, NULL, 0);
        while (s.got_n >= 2 && s.got_n >= 2u + be16(s.got)) {
            assert_int_equal(take_reply(&s).answers, 16);
            done++;
        }
    }
    assert_int_equal(host.asks, 40);
    assert_false(s.rst);
}

static void of_too_many_connections_the_oldest_ends(void **state)
{
    (void)state;
    uint8_t q[512];
    struct stream s[9];
    start();
    tell_addresses(1, 60);
    host.waits = true;
    for (uint16_t i = 0; i < 9; i++) {
        host.now_ns++;
        if (i == 8)
            say(&s[0], ACK, q, ask_framed(q, "example.org", A));
        host.now_ns++;
        s[i] = open_stream((uint16_t)(7000 + i));
    }
    say(&s[1], ACK, q, 0);
    say(&s[1], ACK, q, 1);
    assert_true(s[1].rst);
    say(&s[8], ACK, q, ask_framed(q, "host.cloche.internal", A));
    assert_int_equal(take_reply(&s[8]).answers, 1);
    say(&s[0], RST, NULL, 0); /* an answer for who is gone */
    happens(DNS_FIRST, VM_NET_READABLE);
    nothing_comes();
    say(&s[2], ACK, q, ask_framed(q, "example.org", A));
    assert_int_equal(take_reply(&s[2]).answers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_asked_once_and_its_ttl_counts_down),
        cmocka_unit_test(a_refused_name_says_why),
        cmocka_unit_test(no_such_name_is_another_answer_than_no_such_record),
        cmocka_unit_test(other_types_are_said_to_be_empty),
        cmocka_unit_test(what_is_too_long_is_cut_and_says_so),
        cmocka_unit_test(edns_is_read_as_it_has_to_be),
        cmocka_unit_test(odd_questions_reach_nobody),
        cmocka_unit_test(the_gateways_own_names_need_no_host),
        cmocka_unit_test(who_asks_for_the_same_shares_one_answer),
        cmocka_unit_test(questions_of_the_past_are_answered_and_may_be_asked_again),
        cmocka_unit_test(who_asks_for_more_than_the_host_does_at_once_waits),
        cmocka_unit_test(a_connection_carries_questions),
        cmocka_unit_test(what_is_no_question_ends_the_connection),
        cmocka_unit_test(questions_wait_for_room_for_their_answers),
        cmocka_unit_test(of_too_many_connections_the_oldest_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
