/* A host without a network, for a machine that runs as a program of this computer: nothing can be
 * connected to, no name resolves, no socket exists. */
#include "vm/host.h"

/* There are no files: what is asked is not implemented. */
uint32_t host_files(const void *at, uint32_t n, void *to, uint32_t room)
{
    uint32_t head[4] = {16, (uint32_t)-38}; /* length, ENOSYS, number of the request */
    if (n < 40 || room < sizeof head)
        return 0;
    __builtin_memcpy(head + 2, (const uint8_t *)at + 8, 8);
    __builtin_memcpy(to, head, sizeof head);
    return sizeof head;
}

int32_t host_net_connect(uint32_t id, enum vm_net_kind kind, const void *address,
                         uint32_t port)
{
    (void)id, (void)kind, (void)address, (void)port;
    return VM_NET_UNREACHABLE;
}

int32_t host_net_send(uint32_t id, const void *at, uint32_t n)
{
    (void)id, (void)at, (void)n;
    return VM_NET_GONE;
}

int32_t host_net_receive(uint32_t id, void *at, uint32_t n)
{
    (void)id, (void)at, (void)n;
    return VM_NET_GONE;
}

void host_net_shut(uint32_t id)
{
    (void)id;
}

void host_net_close(uint32_t id, bool reset)
{
    (void)id, (void)reset;
}

int32_t host_net_resolve(uint32_t id, const void *name, uint32_t n, uint32_t type)
{
    (void)id, (void)name, (void)n, (void)type;
    return VM_NET_UNREACHABLE;
}

uint32_t host_net_events(struct vm_net_event *at, uint32_t n)
{
    (void)at, (void)n;
    return 0;
}
