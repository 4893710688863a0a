/* vm/network.h - the host's end of a machine's network: what its emulator imports (guest/vm/host.h),
 * as sockets of this computer. Where these may lead is decided by a struct vm_network.
 *
 * Private to the room vm. Threads: one at a time, but network_fd().
 */
#pragma once
#include "abi/vm.h"
#include "base/base.h"
#include "vm/account.h"
#include "vm/vm.h"

struct network;
/* Both outlive it; what is moved is put to the account. NULL and ERR_BUSY: no descriptor is to be
 * had. */
struct network *network_open(const struct vm_network *rules, struct account *account,
                             struct err *e);
void network_close(struct network *n); /* NULL is fine */
/* As vm_expose(), vm_unexpose(), and the ports of struct vm_info. Threads: safe. */
bool network_expose(struct network *n, struct vm_port *p, struct err *e);
bool network_unexpose(struct network *n, uint16_t port);
size_t network_ports(struct network *n, struct vm_port out[static VM_PORTS_MAX]);
SCOPED(network, network_close);

/* For poll(): readable where network_events() has something. */
int network_fd(const struct network *n);

/* As guest/vm/host.h says. false and ERR_GUEST: it broke a rule. */
bool network_connect(struct network *n, uint32_t id, uint32_t kind, const void *address,
                     uint32_t port, int32_t *out, struct err *e);
bool network_resolve(struct network *n, uint32_t id, struct str name, uint32_t type,
                     int32_t *out, struct err *e);
bool network_send(struct network *n, uint32_t id, struct str bytes, int32_t *out,
                  struct err *e);
bool network_receive(struct network *n, uint32_t id, void *at, uint32_t room,
                     int32_t *out, struct err *e);
bool network_shut(struct network *n, uint32_t id, struct err *e);
bool network_end(struct network *n, uint32_t id, bool reset, struct err *e);
uint32_t network_events(struct network *n, struct vm_net_event *at, uint32_t room);
