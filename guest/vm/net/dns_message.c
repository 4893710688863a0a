/* DNS' messages. Names are those that hosts have: letters, digits, '-' and '_'. */
#include "vm/net/dns_message.h"
#include "vm/net/lan.h"

enum { HEAD = 12, CLASS_IN = 1, OPTION_EDE = 15 };
enum {
    FLAG_ANSWER = 0x8000,
    FLAG_TRUNCATED = 0x0200,
    FLAG_RECURSE = 0x0100,
    FLAG_MAY_RECURSE = 0x0080
};
#define WIRE_NAME_MAX 255u
#define PLAIN_MAX 512u /* of an answer by UDP to who knows no EDNS */
#define OPT_BYTES 11u

/* ---- questions --------------------------------------------------------------------- */

void dns_say(struct dns_answer *a, enum dns_ede ede, const char *text)
{
    a->ede = ede;
    a->text = text;
    a->text_n = (uint32_t)__builtin_strlen(text);
}

static bool is_plain(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
}

/* Labels without compression. How many bytes they take; 0: it is no name. */
static uint32_t read_name(struct dns_question *q, const uint8_t *at, uint32_t n,
                          bool *plain)
{
    uint32_t i = 0, out = 0;
    *plain = true;
    while (i < n && at[i]) {
        uint32_t label = at[i++];
        if (label > 63 || label >= n - i || i + label >= WIRE_NAME_MAX)
            return 0;
        if (out)
            q->name[out++] = '.';
        for (; label; label--, i++) {
            uint8_t c = at[i];
            *plain &= is_plain(c);
            q->name[out++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        }
    }
    q->name_n = out;
    return i < n ? i + 1 : 0;
}

/* Behind a name, which may be compressed; 0: it has no end. */
static uint32_t skip_name(const uint8_t *at, uint32_t n, uint32_t i)
{
    while (i < n && at[i] && at[i] < 0xc0)
        i += 1u + at[i];
    return i >= n ? 0 : i + (at[i] ? 2 : 1);
}

/* EDNS' record lies among those behind the question. `version`: of EDNS, if it is there. */
static bool read_edns(struct dns_question *q, const uint8_t *at, uint32_t n, uint32_t i,
                      uint8_t *version)
{
    uint32_t records = 0u + be16(at + 6) + be16(at + 8) + be16(at + 10);
    for (; records; records--) {
        uint32_t from = i;
        i = skip_name(at, n, i);
        if (!i || i > n || n - i < 10 || be16(at + i + 8) > n - i - 10)
            return false;
        if (be16(at + i) == DNS_OPT) {
            if (q->edns || at[from]) /* a second one, or not at the root */
                return false;
            q->edns = true;
            q->room = be16(at + i + 2);
            *version = at[i + 5];
        }
        i += 10u + be16(at + i + 8);
    }
    return true;
}

static enum dns_reading ready(struct dns_answer *out, enum dns_status s)
{
    *out = (struct dns_answer){.status = s};
    return DNS_ANSWERED;
}

enum dns_reading dns_read(struct dns_question *q, const uint8_t *at, uint32_t n,
                          bool stream, struct dns_answer *out)
{
    bool plain;
    uint8_t version = 0;
    *q = (struct dns_question){.room = stream ? DNS_ANSWER_MAX : PLAIN_MAX};
    if (n < HEAD || be16(at + 2) & FLAG_ANSWER)
        return DNS_NO_QUESTION;
    q->id = be16(at);
    q->recurse = be16(at + 2) & FLAG_RECURSE;
    if (be16(at + 2) >> 11 & 15)
        return ready(out, DNS_NOT_KNOWN);
    uint32_t name = be16(at + 4) == 1 ? read_name(q, at + HEAD, n - HEAD, &plain) : 0;
    if (!name || n - HEAD - name < 4)
        return ready(out, DNS_BAD_FORMAT);
    q->bytes_n = name + 4;
    __builtin_memcpy(q->bytes, at + HEAD, q->bytes_n);
    q->type = be16(at + HEAD + name);
    bool whole = read_edns(q, at, n, HEAD + q->bytes_n, &version);
    if (stream || q->room > DNS_ANSWER_MAX)
        q->room = DNS_ANSWER_MAX;
    if (q->room < PLAIN_MAX)
        q->room = PLAIN_MAX;
    if (!whole)
        return ready(out, DNS_BAD_FORMAT);
    if (version)
        return ready(out, DNS_BAD_VERSION);
    if (plain && be16(at + HEAD + name + 2) == CLASS_IN && q->type != DNS_AXFR &&
        q->type != DNS_IXFR)
        return DNS_READ;
    (void)ready(out, DNS_REFUSED);
    dns_say(out, DNS_EDE_NOT_SUPPORTED,
            plain ? "only records of hosts in the Internet's class are answered"
                  : "a host's name has only letters, digits, '-' and '_'");
    return DNS_ANSWERED;
}

/* ---- answers ----------------------------------------------------------------------- */

static uint8_t *put_record(uint8_t *to, const uint8_t address[16], uint16_t type,
                           uint32_t ttl)
{
    uint32_t n = type == DNS_A ? 4 : 16;
    put16(to, 0xc000 | HEAD); /* the name of the question */
    put16(to + 2, type);
    put16(to + 4, CLASS_IN);
    put32(to + 6, ttl);
    put16(to + 10, n);
    __builtin_memcpy(to + 12, address + 16 - n, n);
    return to + 12 + n;
}

/* Serial, refresh, retry, expire, minimum: the last is how long there being nothing is kept. */
static const uint8_t soa_names[] = "\7gateway\6cloche\10internal\0\6nobody\7invalid";
#define SOA_BYTES (11u + sizeof soa_names + 20u)

/* Where nothing is, the zone is not known either: the root is above each. */
static uint8_t *put_soa(uint8_t *to, uint32_t ttl)
{
    static const uint32_t numbers[] = {1, 3600, 600, 86400};
    *to++ = 0;
    put16(to, DNS_SOA);
    put16(to + 2, CLASS_IN);
    put32(to + 4, ttl);
    put16(to + 8, sizeof soa_names + 20);
    __builtin_memcpy(to + 10, soa_names, sizeof soa_names);
    to += 10 + sizeof soa_names;
    for (uint32_t i = 0; i < 4; i++, to += 4)
        put32(to, numbers[i]);
    put32(to, ttl);
    return to + 4;
}

static uint8_t *put_opt(uint8_t *to, enum dns_status s, const struct dns_answer *a,
                        uint32_t text_n)
{
    __builtin_memset(to, 0, OPT_BYTES);
    put16(to + 1, DNS_OPT);
    put16(to + 3, DNS_ANSWER_MAX);
    to[5] = (uint8_t)(s >> 4);
    if (!text_n)
        return to + OPT_BYTES;
    put16(to + 9, 6 + text_n);
    put16(to + 11, OPTION_EDE);
    put16(to + 13, 2 + text_n);
    put16(to + 15, a->ede);
    __builtin_memcpy(to + 17, a->text, text_n);
    return to + OPT_BYTES + 6 + text_n;
}

uint32_t dns_write(const struct dns_question *q, const struct dns_answer *a, uint8_t *to)
{
    uint8_t *m = to;
    uint32_t flags = FLAG_ANSWER | FLAG_MAY_RECURSE | (q->recurse ? FLAG_RECURSE : 0);
    uint32_t text_n = a->text_n < DNS_TEXT_MAX ? a->text_n : DNS_TEXT_MAX, count = 0;
    uint32_t record = q->type == DNS_A ? 16 : 28;
    __builtin_memset(m, 0, HEAD);
    put16(m, q->id);
    put16(m + 4, q->bytes_n ? 1 : 0);
    to += HEAD;
    __builtin_memcpy(to, q->bytes, q->bytes_n);
    to += q->bytes_n;
    uint32_t opt = q->edns ? OPT_BYTES + (text_n ? 6 + text_n : 0) : 0;
    if (opt > OPT_BYTES && (uint32_t)(to - m) + SOA_BYTES + opt > q->room) {
        opt = OPT_BYTES; /* the reason is the first to go */
        text_n = 0;
    }
    for (; count < a->count; count++) {
        if ((uint32_t)(to - m) + record + opt > q->room) {
            flags |= FLAG_TRUNCATED;
            break;
        }
        to = put_record(to, a->addresses[count], q->type, a->ttl_s);
    }
    put16(m + 6, count);
    if (!a->count && (a->status == DNS_NO_ERROR || a->status == DNS_NO_NAME)) {
        put16(m + 8, 1);
        to = put_soa(to, a->ttl_s);
    }
    if (q->edns) {
        put16(m + 10, 1);
        to = put_opt(to, a->status, a, text_n);
    }
    put16(m + 2, flags | (a->status & 15));
    return (uint32_t)(to - m);
}
