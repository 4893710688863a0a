/* guest/vm/net/flows.h - what the machine speaks with by single packets, each with a socket of the
 * host until it is silent for a while. Private to net/.
 */
#pragma once
#include "abi/vm.h"
#include "vm/net/lan.h"

struct flow {
    bool open, readable;
    struct ip from, to;          /* of what the machine sends */
    uint16_t from_port, to_port; /* or what its protocol has in their place */
    uint16_t
        last; /* sent: of an echo the sequence number; of UDP the length of the packet, if that
                    * may not be cut up */
    uint32_t mtu; /* of the way beyond the host; 0: as long as any */
    uint64_t used_ns;
};

/* One protocol's. */
struct flows {
    struct flow *at;
    uint32_t count;
    uint32_t first_id; /* the host's numbers of their sockets */
    uint32_t open_count;
};

void flows_begin(struct flows *s); /* there are none, and the host has none */
uint32_t flow_id(const struct flows *s, const struct flow *f);
/* The one of these ends, which is used now; or a new one, if the host connects it, for which the one
 * that was silent for longest makes place. NULL: the machine was told why there is none. */
struct flow *flow_of(struct flows *s, const struct packet *p, enum vm_net_kind kind,
                     uint16_t from_port, uint16_t to_port);
void flow_close(struct flows *s, struct flow *f);
/* Ends those that were silent; of the others calls `hand_on` for those that are readable. */
void flows_work(struct flows *s, void (*hand_on)(struct flow *f));
/* What the host has for the machine, at most n bytes. < 0: nothing more now, or ever. */
int32_t flow_receive(struct flows *s, struct flow *f, void *at, uint32_t n);
uint64_t flows_due_ns(const struct flows *s); /* UINT64_MAX: never */
