/* vm/sockets.h - the sockets of a machine's network, for network.c (which opens and ends them, and
 * tells of events) and moving.c (which moves their bytes). Private to these. Threads: the machine's,
 * but for `inbound`. */
#pragma once
#include "vm/follow.h"
#include "vm/inbound.h"
#include "vm/led.h"
#include "vm/network.h"

struct lookup;

#define SECOND ((uint64_t)1000000000)
#define HOLD_NS ((uint64_t)10000000) /* between two looks while the rate is used up */

struct socket {
    enum { UNUSED, CONNECTING, STREAM, DATAGRAMS, LOOKUP } state;
    uint32_t id; /* VM_NET_IDS: none */
    int fd;
    struct lookup *lookup;
    char *name; /* that is looked up, or was connected to */
    bool refused;
    char why[sizeof((struct err){0}.msg)];
    struct vm_flow flow;
    bool proxied;          /* leads to the rules' proxy, which tells of it itself */
    bool over;             /* by us: flow.end says why. It moves nothing more */
    enum vm_speaks speaks; /* TLS: until the server is named */
    struct follow request; /* of HTTP */
    struct buf first;      /* kept back: a name is missing in it, or it is */
    bool cleared;          /* to be sent, before anything else */
    bool shut;             /* the machine sends no more: behind `first` */
    uint32_t held;         /* events that wait until the rate allows more */
    uint64_t moved_ns;     /* the last byte, either way */
    uint32_t mtu;          /* of its way, as the machine was told; 0: it was not */
};

struct network {
    const struct vm_network *rules;
    struct account *account;
    int epoll, tell, timer;
    struct socket *sockets[VM_NET_IDS]; /* NULL: unused */
    struct led_table led;
    struct inbound inbound;
    unsigned lookups, open;
    uint64_t reviewed_ns;        /* when all that is open was looked at */
    bool ticks;                  /* the timer runs */
    uint64_t may_move, moved_ns; /* bytes that the rate allowed then */
    uint64_t second_ns;
    unsigned in_second; /* connections begun since then */
};

/* The socket of that number, if it is `used`. NULL and ERR_GUEST: it breaks a rule. */
struct socket *network_socket(struct network *n, uint32_t id, bool used, struct err *e);
/* Have the payer's machines moved all bytes that they may? */
bool network_is_spent(const struct network *n);
void network_say_spent(const struct network *n, struct vm_flow *f);
/* The timer is to tell of events then. */
void network_tick(struct network *n, uint64_t after_ns);
/* Ends one that may not stay: the machine gets an event, asks, and is told that it is gone. */
bool socket_cut(struct socket *s, enum vm_flow_end end);
/* Sends what was held back, before anything else. false: its peer is gone. */
bool socket_flush(struct network *n, struct socket *s);
