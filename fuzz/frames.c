/* Frames of a machine to its network, which has a host that keeps its rules. Whatever comes, the
 * host is asked for nothing that it would end the machine for, each frame that goes back is whole,
 * and all memory is free again when the network begins anew. The input: net.h. */
#include "net.h"

int32_t host_net_connect(uint32_t id, enum vm_net_kind kind, const void *address,
                         uint32_t port)
{
    uint8_t copy[16];
    uint32_t a = next_answer(1);
    holds_socket(id, false);
    holds(id < DNS_FIRST && port <= UINT16_MAX && kind <= VM_NET_ECHO);
    holds(kind == VM_NET_ECHO ? !port : true);
    memcpy(copy, address, sizeof copy);
    if (a % 8 >= 5)
        return VM_NET_DENIED - (int32_t)(a % 8 - 5);
    socket_opens(id, (uint8_t)kind);
    if (kind == VM_NET_TCP)
        happens(id, a % 8 == 3   ? VM_NET_FAILED
                    : a % 8 == 4 ? VM_NET_LOST
                                 : VM_NET_OPENED | VM_NET_READABLE);
    return 0;
}

int32_t host_net_send(uint32_t id, const void *at, uint32_t n)
{
    uint32_t a = next_answer(1);
    holds_socket(id, true);
    holds(n <= HOST_BYTES_MAX && !world.shut[id]);
    char *copy = malloc(n + 1);
    must(copy != NULL);
    memcpy(copy, at, n);
    free(copy);
    if (a == 255)
        return VM_NET_GONE;
    return (int32_t)(world.kind[id] == VM_NET_TCP && a ? n * a / 255 : n);
}

static int32_t answer(void *at, uint32_t n)
{
    struct vm_net_answer a = {.status = next_answer(1) % 6, .ttl_s = next_answer(4)};
    a.count = next_answer(1) % (VM_NET_ADDRESSES + 1);
    a.text_n = next_answer(1) % 150;
    holds(n >= sizeof a + a.text_n);
    memcpy(at, &a, sizeof a);
    memset((char *)at + sizeof a, 'w', a.text_n);
    return (int32_t)(sizeof a + a.text_n);
}

int32_t host_net_receive(uint32_t id, void *at, uint32_t n)
{
    uint32_t a = next_answer(1);
    holds_socket(id, true);
    holds(n <= HOST_BYTES_MAX);
    memset(at, 0, n);
    if (id >= DNS_FIRST && id < VM_NET_INBOUND)
        return answer(at, n);
    if (a == 254 && world.kind[id] == VM_NET_TCP)
        return 0;
    if (a == 255)
        return VM_NET_GONE;
    return !a ? VM_NET_NONE : n < a * 300 ? (int32_t)n : (int32_t)(a * 300);
}

int32_t host_net_resolve(uint32_t id, const void *name, uint32_t n, uint32_t type)
{
    uint32_t a = next_answer(1);
    holds_socket(id, false);
    holds(id >= DNS_FIRST && id < VM_NET_INBOUND && n < 256 && !memchr(name, 0, n) &&
          (type == 1 || type == 28));
    if (a % 8 >= 5)
        return VM_NET_DENIED - (int32_t)(a % 8 - 5);
    socket_opens(id, VM_NET_UDP);
    happens(id, VM_NET_READABLE);
    return 0;
}

uint32_t host_net_events(struct vm_net_event *at, uint32_t n)
{
    uint32_t count = world.event_count < n ? world.event_count : n, kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (world.events[i].id < VM_NET_IDS && world.there[world.events[i].id])
            at[kept++] = world.events[i];
    world.event_count = 0;
    return kept;
}
