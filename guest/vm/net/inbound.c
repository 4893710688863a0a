/* The machine sees this computer's own address, host.cloche.internal, as the peer of these
 * connections. A port at which nobody listens is reset by its kernel, and so for the host. */
#include "vm/net/inbound.h"
#include "vm/net/lan.h"
#include "vm/net/tcp.h"

#include <lwip/tcp.h>

static err_t on_connected(void *arg, struct tcp_pcb *p, err_t e)
{
    (void)p, (void)e; /* ERR_OK: a failure is told by tcp_err() */
    if (arg)
        tcp_joined(arg);
    return ERR_OK;
}

static ip_addr_t address_v4(uint32_t a)
{
    return (ip_addr_t)IPADDR4_INIT(lwip_htonl(a));
}

static struct tcp_pcb *pcb_new(void)
{
    ip_addr_t from = address_v4(LAN_HOST);
    struct tcp_pcb *p = tcp_new_ip_type(IPADDR_TYPE_V4);
    if (p && tcp_bind(p, &from, 0) != ERR_OK) {
        tcp_abort(p);
        return NULL;
    }
    return p;
}

/* It has been taken up as far as that goes; false: the host's end is to be closed. */
static bool begin(uint32_t id, uint16_t port)
{
    ip_addr_t to = address_v4(LAN_MACHINE);
    struct tcp_pcb *p = pcb_new();
    struct connection *c = p ? tcp_join(id, p) : NULL;
    if (!c) {
        if (p)
            tcp_abort(p);
        return false;
    }
    if (tcp_connect(p, &to, port, on_connected) != ERR_OK)
        tcp_abort(p); /* which closes it, by tcp_err() */
    return true;
}

void inbound_event(uint32_t id, uint32_t events)
{
    if (events & VM_NET_ACCEPTED && !begin(id, (uint16_t)(events >> 16)))
        host_net_close(id, true);
    tcp_event(id, events & UINT16_MAX);
}
