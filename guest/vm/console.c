/* Virtio's console (section 5.3) with two ports. Its state is small: for each port, the
 * events to send, whether the guest has it open, and how much of its first waiting buffer
 * the host has taken. */
#include "vm/host.h"
#include "vm/kinds.h"

enum { PORT_TERMINAL, PORT_CONTROL, PORTS };
/* Queues: receive and transmit of port 0, of control messages, of port 1. */
enum { CONTROL_RX = 2, CONTROL_TX = 3, QUEUES = 6 };
enum { FEATURE_SIZE = 0, FEATURE_MULTIPORT = 1 };

enum event {
    DEVICE_READY = 0,
    DEVICE_ADD = 1,
    PORT_READY = 3,
    CONSOLE_PORT = 4,
    RESIZE = 5,
    PORT_OPEN = 6,
    PORT_NAME = 7,
};
/* Bytes of one buffer to send: far more than any kernel uses. */
#define SEND_MAX (256u << 10)
#define MESSAGE 8u /* bytes: port 4, event 2, value 2 */

static struct {
    struct virtio device;
    uint16_t rows, columns;
    struct port {
        uint32_t to_tell; /* a bit an event */
        bool is_open;     /* by the guest */
        uint64_t taken;   /* bytes of its first waiting buffer */
    } ports[PORTS];
} console;

static const uint32_t rx_of[PORTS] = {0, 4}, tx_of[PORTS] = {1, 5};
static const enum vm_channel channel_of[PORTS] = {VM_CONSOLE, VM_CONTROL};

/* ---- events ------------------------------------------------------------------------ */

/* Composes the message; returns its bytes. */
static uint32_t compose(uint32_t port, enum event e, uint8_t *at)
{
    static const char name[] = VM_PORT_NAME;
    virtio_put(at, 4, port);
    virtio_put(at + 4, 2, e);
    virtio_put(at + 6, 2, 1);
    if (e == PORT_NAME) {
        __builtin_memcpy(at + MESSAGE, name, sizeof name - 1);
        return MESSAGE + sizeof name - 1;
    }
    if (e != RESIZE)
        return MESSAGE;
    virtio_put(at + MESSAGE, 2, console.columns);
    virtio_put(at + MESSAGE + 2, 2, console.rows);
    return MESSAGE + 4;
}

/* In the order of the event numbers: a port is added before other events on it. */
static void tell(struct virtio *v)
{
    struct chain c;
    uint8_t message[MESSAGE + sizeof VM_PORT_NAME];
    for (uint32_t i = 0; i < PORTS; i++)
        while (console.ports[i].to_tell && virtio_front(v, CONTROL_RX, &c)) {
            enum event e = (enum event)__builtin_ctz(console.ports[i].to_tell);
            console.ports[i].to_tell &= ~(1u << e);
            chain_write(&c, message, compose(i, e, message));
            virtio_give(v, CONTROL_RX, &c);
        }
}

static void hear(uint32_t port, uint32_t event, bool value)
{
    if (event == DEVICE_READY && value)
        for (uint32_t i = 0; i < PORTS; i++)
            console.ports[i].to_tell |= 1u << DEVICE_ADD;
    if (port >= PORTS)
        return;
    struct port *p = &console.ports[port];
    if (event == PORT_READY && value)
        p->to_tell |= port == PORT_TERMINAL
                          ? 1u << CONSOLE_PORT | 1u << RESIZE | 1u << PORT_OPEN
                          : 1u << PORT_NAME | 1u << PORT_OPEN;
    if (event == PORT_OPEN)
        p->is_open = value;
}

static void listen(struct virtio *v)
{
    struct chain c;
    uint8_t m[MESSAGE];
    while (virtio_front(v, CONTROL_TX, &c)) {
        if (chain_read(&c, m, MESSAGE) == MESSAGE)
            hear((uint32_t)virtio_get(m, 4), (uint32_t)virtio_get(m + 4, 2),
                 virtio_get(m + 6, 2));
        virtio_give(v, CONTROL_TX, &c);
    }
    tell(v);
}

/* ---- bytes ------------------------------------------------------------------------- */

/* false: the host takes no more of this chain now. */
static bool send_chain(struct port *p, enum vm_channel channel, struct chain *c)
{
    chain_skip(c, p->taken);
    while (c->to_read) {
        uint32_t n = HOST_BYTES_MAX;
        const uint8_t *at = chain_next_read(c, &n);
        uint32_t took = host_write(channel, at, n);
        p->taken += took;
        if (took < n)
            return false;
    }
    p->taken = 0;
    return true;
}

static void send(struct virtio *v, uint32_t port)
{
    struct chain c;
    while (virtio_front(v, tx_of[port], &c)) {
        if (c.to_read > SEND_MAX) {
            virtio_break(v);
            return;
        }
        if (!send_chain(&console.ports[port], channel_of[port], &c))
            return;
        virtio_give(v, tx_of[port], &c);
    }
}

static void receive(struct virtio *v, uint32_t port)
{
    /* The kernel drops input for a port that nobody has open. */
    if (port == PORT_CONTROL && !console.ports[port].is_open)
        return;
    struct chain c;
    while (virtio_front(v, rx_of[port], &c)) {
        uint8_t bytes[4096];
        uint64_t room = c.to_write < sizeof bytes ? c.to_write : sizeof bytes;
        uint32_t n = room ? host_read(channel_of[port], bytes, (uint32_t)room) : 0;
        if (!n && room)
            return;
        chain_write(&c, bytes, n);
        virtio_give(v, rx_of[port], &c);
    }
}

/* ---- the device -------------------------------------------------------------------- */

static void notify(struct virtio *v, uint32_t q)
{
    if (q == CONTROL_RX)
        tell(v);
    else if (q == CONTROL_TX)
        listen(v);
    for (uint32_t i = 0; i < PORTS; i++) {
        if (q == tx_of[i])
            send(v, i);
        if (q == rx_of[i])
            receive(v, i);
    }
}

static void poll(struct virtio *v)
{
    tell(v);
    for (uint32_t i = 0; i < PORTS; i++) {
        send(v, i);
        receive(v, i);
    }
}

static void reset(struct virtio *v)
{
    (void)v;
    __builtin_memset(console.ports, 0, sizeof console.ports);
}

static void show_size(void)
{
    virtio_put(console.device.config, 2, console.columns);
    virtio_put(console.device.config + 2, 2, console.rows);
}

void console_init(uint32_t place)
{
    static const struct virtio_kind kind = {
        .number = 3,
        .queues = QUEUES,
        .features = 1u << FEATURE_SIZE | 1u << FEATURE_MULTIPORT,
        .notify = notify,
        .poll = poll,
        .reset = reset,
    };
    virtio_add(&console.device, &kind, place);
    reset(&console.device);
    console.rows = 24;
    console.columns = 80;
    show_size();
    virtio_put(console.device.config + 4, 4, PORTS);
}

void console_resize(uint16_t rows, uint16_t columns)
{
    console.rows = rows;
    console.columns = columns;
    show_size();
    virtio_reconfigured(&console.device);
    console.ports[PORT_TERMINAL].to_tell |= 1u << RESIZE;
}
