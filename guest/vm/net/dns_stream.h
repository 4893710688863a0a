/* guest/vm/net/dns_stream.h - DNS on connections (RFC 7766), which tcp.c ends here and not at the
 * host. Each call is as that of guest/vm/host.h; events come by tcp_event(). Private to net/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

void dns_stream_begin(void); /* there are none */
/* VM_NET_OPENED comes before it returns. Of too many the one that was silent for longest is
 * reset. */
void dns_stream_connect(uint32_t id);
int32_t dns_stream_send(uint32_t id, const uint8_t *at, uint32_t n);
int32_t dns_stream_receive(uint32_t id, uint8_t *at, uint32_t n);
void dns_stream_shut(uint32_t id);
void dns_stream_close(uint32_t id);

/* dns.c: an answer for the stream at a place, if it is that one still. */
void dns_stream_reply(uint32_t place, uint32_t generation, const uint8_t *at, uint32_t n);
