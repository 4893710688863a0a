/* vm/inbound.h - the exposed ports of a machine: sockets that listen on a loopback address of this
 * computer. Private to the room vm. Threads: safe, but for init and done. */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "vm/vm.h"

struct inbound {
    int epoll; /* hears of connections, listener i as `first_id` - i */
    uint32_t first_id;
    pthread_mutex_t lock; /* guards what follows; nothing is called with it held */
    struct vm_port ports[VM_PORTS_MAX];
    int fds[VM_PORTS_MAX];   /* -1: unused */
    int fds_6[VM_PORTS_MAX]; /* at [::1], of "localhost"; -1: there is none */
    char address[VM_PORT_ADDRESS];
};
void inbound_init(struct inbound *i, int epoll, uint32_t first_id);
void inbound_done(struct inbound *i);
/* As vm_expose(), vm_unexpose(), and the ports of struct vm_info. */
bool inbound_listen(struct inbound *i, struct vm_port *p, struct err *e);
bool inbound_close(struct inbound *i, uint16_t port);
size_t inbound_list(struct inbound *i, struct vm_port out[static VM_PORTS_MAX]);
bool inbound_is_id(const struct inbound *i, uint32_t id);
/* A new connection to the listener with that id, and the machine's port. -1: there is none. */
int inbound_accept(struct inbound *i, uint32_t id, uint16_t *port);
