/* guest/vm/net/dns_message.h - messages of DNS (RFC 1035, EDNS of RFC 6891): questions are read,
 * answers are written. Private to net/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum dns_type {
    DNS_A = 1,
    DNS_SOA = 6,
    DNS_AAAA = 28,
    DNS_OPT = 41,
    DNS_IXFR = 251,
    DNS_AXFR = 252
};
enum dns_status {
    DNS_NO_ERROR = 0,
    DNS_BAD_FORMAT = 1,
    DNS_FAILED = 2,
    DNS_NO_NAME = 3,
    DNS_NOT_KNOWN = 4, /* an opcode other than a query */
    DNS_REFUSED = 5,
    DNS_BAD_VERSION = 16, /* of EDNS */
};
/* Why, for whoever reads EDNS (RFC 8914). */
enum dns_ede { DNS_EDE_OTHER = 0, DNS_EDE_PROHIBITED = 18, DNS_EDE_NOT_SUPPORTED = 21 };

#define DNS_NAME_MAX 256u    /* bytes of its text, with a NUL */
#define DNS_TEXT_MAX 200u    /* bytes of the text that says why */
#define DNS_ANSWER_MAX 1232u /* bytes of a message: what no way cuts up */

struct dns_question {
    uint16_t id, type;
    bool recurse, edns;
    uint32_t room;                   /* bytes for an answer, at most DNS_ANSWER_MAX */
    uint8_t bytes[DNS_NAME_MAX + 4]; /* as it was asked, for the answer */
    uint32_t bytes_n;
    char name[DNS_NAME_MAX]; /* lower case, without a dot at its end */
    uint32_t name_n;
};

struct dns_answer {
    enum dns_status status;
    uint32_t ttl_s; /* of the records, or of there being none */
    const uint8_t (*addresses)[16];
    uint32_t count;
    enum dns_ede ede; /* with a text */
    const char *text;
    uint32_t text_n; /* 0: nothing is said */
};

/* DNS_READ: it can be asked. DNS_ANSWERED: *out is the answer. DNS_NO_QUESTION: it has none, and
 * gets none. */
enum dns_reading { DNS_READ, DNS_ANSWERED, DNS_NO_QUESTION };
enum dns_reading dns_read(struct dns_question *q, const uint8_t *at, uint32_t n,
                          bool stream, struct dns_answer *out);
/* Writes at most q->room bytes to `to`; how many. What does not fit is left out, and the answer
 * says so (TC). */
uint32_t dns_write(const struct dns_question *q, const struct dns_answer *a, uint8_t *to);
/* Sets what is said beside the status. */
void dns_say(struct dns_answer *a, enum dns_ede ede, const char *text);
