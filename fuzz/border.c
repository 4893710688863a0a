/* The network of a machine whose host answers anything: the machine's own memory stays whole, and
 * it asks for nothing that a host would end it for. The input: net.h. */
#include "net.h"

int32_t host_net_connect(uint32_t id, enum vm_net_kind kind, const void *address,
                         uint32_t port)
{
    (void)address, (void)port;
    int32_t a = (int32_t)next_answer(4);
    holds_socket(id, false);
    if (a >= 0)
        socket_opens(id, (uint8_t)kind);
    return a;
}

int32_t host_net_send(uint32_t id, const void *at, uint32_t n)
{
    (void)at;
    holds_socket(id, true);
    holds(n <= HOST_BYTES_MAX);
    return has_answers() ? (int32_t)next_answer(4) : (int32_t)n;
}

int32_t host_net_receive(uint32_t id, void *at, uint32_t n)
{
    holds_socket(id, true);
    holds(n <= HOST_BYTES_MAX);
    if (!has_answers())
        return VM_NET_NONE;
    int32_t a = (int32_t)next_answer(4);
    memset(at, 0, n);
    if (id >= DNS_FIRST && id < VM_NET_INBOUND)
        next_bytes(at,
                   n < sizeof(struct vm_net_answer) ? n : sizeof(struct vm_net_answer));
    return a;
}

int32_t host_net_resolve(uint32_t id, const void *name, uint32_t n, uint32_t type)
{
    (void)name, (void)n, (void)type;
    int32_t a = (int32_t)next_answer(4);
    holds_socket(id, false);
    if (a >= 0)
        socket_opens(id, VM_NET_UDP);
    return a;
}

/* What is accepted is there, and is accepted once. */
static void accept_once(struct vm_net_event *v)
{
    if (!(v->events & VM_NET_ACCEPTED))
        return;
    if (v->id < VM_NET_INBOUND || v->id >= VM_NET_IDS || world.there[v->id])
        v->events &= ~(uint32_t)VM_NET_ACCEPTED;
    else
        socket_opens(v->id, VM_NET_TCP);
}

/* Of any socket, any number of times, and more than there is room for. */
uint32_t host_net_events(struct vm_net_event *at, uint32_t n)
{
    uint32_t count = world.event_count < n ? world.event_count : n;
    memcpy(at, world.events, count * sizeof *at);
    world.event_count = 0;
    if (!has_answers() || next_answer(1) & 7)
        return count;
    for (count = 0; count < n && has_answers(); count++) {
        at[count] = (struct vm_net_event){next_answer(2), next_answer(1)};
        accept_once(&at[count]);
    }
    return has_answers() ? next_answer(4) : count;
}
