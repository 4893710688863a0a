/* Machines set their clock when they resume; whoever asks again later, after this computer slept,
 * gets the time without a server of the Internet. */
#include "vm/net/ntp.h"
#include "vm/host.h"
#include "vm/net/udp.h"

enum { BYTES = 48, CLIENT = 3, SERVER = 4, VERSION_FIRST = 1, VERSION_LAST = 4 };
enum { AT_REFERENCE = 16, AT_ORIGIN = 24, AT_RECEIVED = 32, AT_SENT = 40 };
enum { STRATUM = 2, PRECISION = -10 }; /* 2 to that power, in seconds: a millisecond */
#define SECONDS_TO_1970 2208988800ull  /* since 1900 */

static void put_time(uint8_t *at, uint64_t wall_ns)
{
    uint64_t part = ((wall_ns % 1000000000u) << 32) / 1000000000u;
    put32(at, (uint32_t)(wall_ns / 1000000000u + SECONDS_TO_1970));
    put32(at + 4, (uint32_t)part);
}

void ntp_query(const struct packet *p, const uint8_t *at, uint32_t n)
{
    uint8_t version = n < BYTES ? 0 : at[0] >> 3 & 7;
    if (version < VERSION_FIRST || version > VERSION_LAST || (at[0] & 7) != CLIENT)
        return;
    uint64_t now = host_wall_ns();
    uint8_t bytes[8 + BYTES] = {0}, *m = bytes + 8;
    m[0] = (uint8_t)(version << 3 | SERVER);
    m[1] = STRATUM;
    m[2] = at[2]; /* how often it asks */
    m[3] = (uint8_t)PRECISION;
    put32(m + 12, LAN_GATEWAY); /* whom it has the time from: itself */
    put_time(m + AT_REFERENCE, now);
    __builtin_memcpy(m + AT_ORIGIN, at + AT_SENT, 8);
    put_time(m + AT_RECEIVED, now);
    put_time(m + AT_SENT, now);
    (void)udp_send(&p->to, NTP_PORT, &p->from, be16(p->at), m, BYTES);
}
