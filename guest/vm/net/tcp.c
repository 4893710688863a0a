/* TCP, by lwIP, which knows nothing of the host. A connection begins as a SYN that is kept until
 * the host has connected; a lone listener is then given its port, and the SYN. What lwIP's
 * callbacks tell is noted, and done when lwIP has returned, so that no connection is ended under
 * its hands.
 */
#include "vm/net/tcp.h"
#include "vm/net/dns.h"
#include "vm/net/dns_stream.h"
#include "vm/net/heap.h"
#include "vm/net/tcp_past.h"
#include "vm/net/tcp_unsent.h"
#include "vm/net/tcp_window.h"
#include "vm/net/tcp_wire.h"

#include <lwip/init.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/sys.h>
#include <lwip/tcp.h>

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };
#define TICK_NS (TCP_SLOW_INTERVAL * 1000000ull)
/* An acknowledgement waits so long for data to go with: the machine's kernel holds the second of
 * two small pieces back until it has that of the first (RFC 896). */
#define DELAY_NS 5000000ull
#define SYN_MAX 60u        /* a TCP header with options */
#define SEGMENT_MAX 61440u /* of what goes to a machine that takes segments */
#define RECEIVE_MAX 65000u /* bytes of the host at once */
#define HEAP_FULL (HEAP_BYTES - HEAP_BYTES / 4) /* then there are no new connections */
/* Behind so much, a connection gets no more than its share, and that only when nothing of it is
 * under way: what some programs do not read leaves memory for all others. */
#define HEAP_COMMON (HEAP_BYTES / 2)
#define SHARE 7680u /* with its headers, one block of 8 KiB: 2 MiB for all connections */

#define CONNECTIONS (TCP_CONNECTIONS + TCP_INBOUND)

/* The machine's own, then those to it. */
static struct connection {
    enum { FREE, CONNECTING, OPEN } state;
    struct tcp_pcb *pcb;   /* NULL: lwIP ends it by itself, or has */
    struct pbuf *waiting;  /* what the host has yet to take */
    uint32_t waiting_from; /* of its first part */
    struct window window;
    struct ip from, to;
    uint8_t syn[SYN_MAX];
    uint8_t syn_n;
    bool accepted;      /* the machine knows that it is open */
    bool readable;      /* the host may have something */
    bool starved;       /* there was no memory for it */
    bool machine_ended; /* sends no more */
    bool shut;          /* the host was told */
    bool host_ended;
    bool fin_sent;
    bool resolver; /* of the gateway: the host has none of it */
} connections[CONNECTIONS];
static uint64_t dirty[CONNECTIONS / 64]; /* a bit each: has something to do */

static struct {
    bool begun;
    struct tcp_pcb *listener;
    uint64_t ticked_ns, settled_ns;
    uint8_t chunk[RECEIVE_MAX];
} tcp;

static uint32_t id_of(const struct connection *c)
{
    uint32_t i = (uint32_t)(c - connections);
    return i < TCP_CONNECTIONS ? i : i - TCP_CONNECTIONS + VM_NET_INBOUND;
}

static struct connection *connection_of(uint32_t id)
{
    return &connections[id < VM_NET_INBOUND ? id : id - VM_NET_INBOUND + TCP_CONNECTIONS];
}

static void mark(const struct connection *c)
{
    dirty[(c - connections) / 64] |= 1ull << (c - connections) % 64;
}

unsigned net_random(void)
{
    unsigned v;
    host_entropy(&v, sizeof v);
    return v;
}

u32_t sys_now(void)
{
    return (u32_t)(host_now_ns() / 1000000);
}

/* ---- who the machine is connected to ------------------------------------------------ */

/* A socket of the host, or the gateway's resolver. */
static int32_t peer_connect(struct connection *c)
{
    uint16_t port = be16(c->syn + 2);
    c->resolver = port == DNS_PORT && plan_is_gateway(&c->to);
    if (!c->resolver)
        return host_net_connect(id_of(c), VM_NET_TCP, c->to.at, port);
    dns_stream_connect(id_of(c));
    return 0;
}

static int32_t peer_send(const struct connection *c, const uint8_t *at, uint32_t n)
{
    return c->resolver ? dns_stream_send(id_of(c), at, n)
                       : host_net_send(id_of(c), at, n);
}

static int32_t peer_receive(const struct connection *c, uint8_t *at, uint32_t n)
{
    return c->resolver ? dns_stream_receive(id_of(c), at, n)
                       : host_net_receive(id_of(c), at, n);
}

static void peer_shut(const struct connection *c)
{
    if (c->resolver)
        dns_stream_shut(id_of(c));
    else
        host_net_shut(id_of(c));
}

static void peer_close(const struct connection *c, bool reset)
{
    if (c->resolver)
        dns_stream_close(id_of(c));
    else
        host_net_close(id_of(c), reset);
}

/* ---- a connection's end ------------------------------------------------------------ */

static void forget(struct connection *c)
{
    if (c->waiting)
        pbuf_free(c->waiting);
    window_end(&c->window);
    dirty[(c - connections) / 64] &= ~(1ull << (c - connections) % 64);
    *c = (struct connection){0};
}

/* lwIP goes on with it alone. */
static void detach(struct connection *c)
{
    struct tcp_pcb *p = c->pcb;
    c->pcb = NULL;
    if (!p)
        return;
    tcp_arg(p, NULL);
    tcp_recv(p, NULL);
    tcp_sent(p, NULL);
    tcp_err(p, NULL);
}

static void end(struct connection *c, bool reset)
{
    struct tcp_pcb *p = c->pcb;
    detach(c);
    if (p && reset)
        tcp_abort(p);
    peer_close(c, reset);
    forget(c);
}

/* ---- what lwIP tells --------------------------------------------------------------- */

/* The pcb is gone: the machine has reset it, or answers no more. */
static void on_error(void *arg, err_t e)
{
    struct connection *c = arg;
    (void)e;
    if (!c)
        return;
    c->pcb = NULL;
    peer_close(c, true);
    forget(c);
}

static err_t on_accept(void *arg, struct tcp_pcb *p, err_t e)
{
    struct connection *c = arg;
    (void)p;
    if (c && e == ERR_OK) {
        c->accepted = true;
        mark(c);
    }
    return ERR_OK;
}

static err_t on_receive(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t e)
{
    struct connection *c = arg;
    (void)pcb, (void)e;
    if (!c) { /* nobody is there any more */
        if (p)
            pbuf_free(p);
        return ERR_OK;
    }
    for (const struct pbuf *b = p; b; b = b->next)
        c->window.held += (uint32_t)heap_size(b);
    if (!p) {
        c->machine_ended = true;
        if (c->fin_sent)
            detach(c); /* it is in TIME_WAIT, and freed without a word */
    } else if (c->waiting)
        pbuf_cat(c->waiting, p);
    else {
        c->waiting = p;
        c->waiting_from = 0;
    }
    mark(c);
    return ERR_OK;
}

static err_t on_sent(void *arg, struct tcp_pcb *p, u16_t n)
{
    (void)p, (void)n;
    if (arg)
        mark(arg);
    return ERR_OK;
}

/* ---- between the two --------------------------------------------------------------- */

/* To the host, as much as it takes. false: it is gone. */
static bool push(struct connection *c)
{
    while (c->waiting) {
        struct pbuf *p = c->waiting;
        uint32_t n = p->len - c->waiting_from;
        const uint8_t *at = (const uint8_t *)p->payload + c->waiting_from;
        int32_t took = n ? peer_send(c, at, n) : 0;
        if (took < 0 || (uint32_t)took > n)
            return false;
        c->waiting_from += (uint32_t)took;
        if (took && c->pcb)
            window_taken(&c->window, c->pcb, (uint32_t)took);
        if ((uint32_t)took < n)
            return true;
        c->waiting = p->next;
        c->waiting_from = 0;
        if (c->waiting)
            pbuf_ref(c->waiting);
        c->window.held -= (uint32_t)heap_size(p);
        pbuf_free(p); /* and what followed it, but for the reference */
    }
    if (c->machine_ended && !c->shut) {
        c->shut = true;
        peer_shut(c);
    }
    return true;
}

/* How much may be asked of the host. */
static uint32_t room(const struct connection *c)
{
    uint32_t n = tcp_sndbuf(c->pcb), queued = tcp_sndqueuelen(c->pcb), most = RECEIVE_MAX;
    if (queued > TCP_SND_QUEUELEN - 128 || heap_used() > HEAP_BYTES - HEAP_RESERVE)
        return 0;
    /* A machine may take single bytes: each is a part of the queue. */
    uint32_t parts = (TCP_SND_QUEUELEN - 128 - queued) * c->pcb->mss;
    most = parts < most ? parts : most;
    if (heap_used() > HEAP_COMMON)
        most = queued ? 0 : most < SHARE ? most : SHARE;
    return n < most ? n : most;
}

/* From the host, as much as there is room for. false: it is gone, or memory is. */
static bool pull(struct connection *c)
{
    bool wrote = false;
    c->starved = false;
    while (c->readable && !c->host_ended) {
        uint32_t most = room(c);
        if (most < WIRE_SEGMENT_LEAST) {
            c->starved = !tcp_sndqueuelen(c->pcb);
            break;
        }
        int32_t n = peer_receive(c, tcp.chunk, most);
        if (n == VM_NET_NONE)
            c->readable = false;
        else if (n < 0 || (uint32_t)n > most)
            return false;
        else if (n == 0)
            c->host_ended = true;
        else if (tcp_write(c->pcb, tcp.chunk, (u16_t)n, TCP_WRITE_FLAG_COPY) != ERR_OK)
            return false;
        wrote |= n > 0;
    }
    if (wrote)
        tcp_output(c->pcb);
    return true;
}

/* After all that the host sent. Without memory now, it is tried again with the next tick. */
static void say_end(struct connection *c)
{
    if (tcp_shutdown(c->pcb, 0, 1) != ERR_OK)
        return;
    c->fin_sent = true;
    if (c->machine_ended)
        detach(c);
}

static void work(struct connection *c)
{
    if (c->state != OPEN)
        return;
    bool taken = push(c);
    if (taken && c->pcb)
        window_tell(&c->window, c->pcb);
    if (!taken || (c->pcb && c->accepted && !pull(c))) {
        end(c, true);
        return;
    }
    if (c->host_ended && !c->fin_sent && c->pcb)
        say_end(c);
    if (c->fin_sent && c->shut)
        end(c, false);
}

/* ---- beginning --------------------------------------------------------------------- */

static bool is_of(const struct tcp_pcb *p, const struct packet *q)
{
    struct ip local = wire_ip(&p->local_ip), remote = wire_ip(&p->remote_ip);
    return p->remote_port == be16(q->at) && p->local_port == be16(q->at + 2) &&
           ip_eq(&local, &q->to) && ip_eq(&remote, &q->from);
}

static struct tcp_pcb *find_active(const struct packet *q)
{
    for (struct tcp_pcb *p = tcp_active_pcbs; p; p = p->next)
        if (is_of(p, q))
            return p;
    return NULL;
}

static bool is_known(const struct packet *q)
{
    if (find_active(q))
        return true;
    for (struct tcp_pcb *p = tcp_tw_pcbs; p; p = p->next)
        if (is_of(p, q)) {
            if (!TCP_SEQ_GT(be32(q->at + 4), p->rcv_nxt))
                return true; /* a late one of before */
            tcp_abort(p);
            break;
        }
    return false;
}

/* Of those that wait for the host. NULL: none. */
static struct connection *find_asked(const struct packet *q)
{
    for (uint32_t i = 0; i < TCP_CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->state == CONNECTING && ip_eq(&c->from, &q->from) &&
            ip_eq(&c->to, &q->to) && __builtin_memcmp(c->syn, q->at, 4) == 0)
            return c;
    }
    return NULL;
}

static struct connection *find_free(void)
{
    for (uint32_t i = 0; i < TCP_CONNECTIONS; i++)
        if (connections[i].state == FREE)
            return &connections[i];
    return NULL;
}

/* The first packet of a connection. */
static void connect(const struct packet *q)
{
    uint32_t n = (q->at[12] >> 4) * 4u;
    if (n < 20 || n > q->n || find_asked(q))
        return;
    struct connection *c = heap_used() > HEAP_FULL ? NULL : find_free();
    int32_t done = VM_NET_FULL;
    if (c) {
        c->from = q->from;
        c->to = q->to;
        __builtin_memcpy(c->syn, q->at, n);
        c->syn_n = (uint8_t)n;
        c->state = CONNECTING;
        done = peer_connect(c);
    }
    if (done >= 0)
        return;
    if (c)
        forget(c);
    if (done == VM_NET_UNREACHABLE)
        icmp_unreachable(q, UNREACHABLE_HOST);
    else if (done == VM_NET_DENIED)
        icmp_unreachable(q, UNREACHABLE_PROHIBITED);
    else
        wire_refuse(&q->from, &q->to, q->at);
}

/* Data for which there is no memory is left out, so that what is acknowledged is heard still. How
 * many bytes are to be looked at. */
static uint32_t without_excess(const struct packet *q)
{
    uint32_t head = (q->at[12] >> 4) * 4u;
    if (head < 20 || head >= q->n)
        return q->n;
    const struct tcp_pcb *p = find_active(q);
    const struct connection *c = p ? p->callback_arg : NULL;
    if (!c || window_has_room(&c->window, p, be32(q->at + 4), q->n - head))
        return q->n;
    q->at[13] &= (uint8_t)~FIN;
    return head;
}

void tcp_packet(const struct packet *q)
{
    bool first = (q->at[13] & (SYN | ACK | RST)) == SYN;
    struct connection *asked = q->at[13] & RST ? find_asked(q) : NULL;
    if (first && !is_known(q))
        connect(q);
    else if (!(q->at[13] & (SYN | ACK | RST)) && find_active(q))
        return; /* lwIP would take its data; RFC 9293, 3.10.7.4 */
    else if (asked && be32(q->at + 4) == be32(asked->syn + 4) + 1)
        end(asked, true);
    else
        wire_give(&q->from, &q->to, q->at, without_excess(q));
}

/* Is it the oldest that the machine has not acknowledged? Those behind it follow. */
static bool is_oldest(const struct tcp_pcb *p, const uint8_t *segment)
{
    return p->unacked && lwip_ntohl(p->unacked->tcphdr->seqno) == be32(segment + 4);
}

/* What is sent again is cut up by the card's driver, or as fragments (tcp_wire.c). */
void tcp_too_big(const struct ip *from, const struct ip *to, const uint8_t *segment)
{
    uint8_t reply[4] = {segment[2], segment[3], segment[0], segment[1]};
    struct packet q = {.from = *to, .to = *from, .at = reply};
    struct tcp_pcb *p = tcp.begun ? find_active(&q) : NULL;
    uint32_t most = wire_segment(!ip_is_v4(to));
    if (!p || !is_oldest(p, segment))
        return;
    if (!card_takes_segments(!ip_is_v4(to)) && p->mss > most)
        p->mss = (u16_t)most;
    unsent_merge(p);
    tcp_rexmit_rto(p);
}

static void attach(struct connection *c, struct tcp_pcb *p)
{
    c->pcb = p;
    c->state = OPEN;
    c->readable = true;
    tcp_arg(p, c);
    tcp_recv(p, on_receive);
    tcp_sent(p, on_sent);
    tcp_err(p, on_error);
    tcp_nagle_disable(p);
}

static void widen(struct connection *c, bool v6)
{
    if (!card_takes_segments(v6))
        return;
    c->pcb->mss = SEGMENT_MAX;
    c->pcb->cwnd = 10 * SEGMENT_MAX;
}

/* The host has connected: the listener takes the SYN. */
static void open(struct connection *c)
{
    struct tcp_pcb *before = tcp_active_pcbs;
    struct tcp_pcb_listen *l = (struct tcp_pcb_listen *)tcp.listener;
    uint8_t flags = c->syn[13];
    c->syn[13] = SYN; /* with a FIN, or as ECN has it, it would be another question */
    l->local_port = be16(c->syn + 2);
    wire_give(&c->from, &c->to, c->syn, c->syn_n);
    l->local_port = 0;
    c->syn[13] = flags;
    if (!tcp_active_pcbs || tcp_active_pcbs == before) {
        end(c, true);
        return;
    }
    attach(c, tcp_active_pcbs);
    window_begin(&c->window, c->pcb);
    widen(c, !ip_is_v4(&c->to));
}

struct connection *tcp_join(uint32_t id, struct tcp_pcb *p)
{
    struct connection *c = connection_of(id);
    if (c->state != FREE || heap_used() > HEAP_FULL)
        return NULL;
    attach(c, p);
    return c;
}

void tcp_joined(struct connection *c)
{
    window_begin(&c->window, c->pcb);
    widen(c, false);
    c->accepted = true;
    mark(c);
}

static void lose(struct connection *c, bool refused)
{
    if (refused)
        wire_refuse(&c->from, &c->to, c->syn);
    else
        icmp_unreachable_later(&c->from, &c->to, PROTOCOL_TCP, c->syn, c->syn_n,
                               UNREACHABLE_HOST);
    end(c, false);
}

void tcp_event(uint32_t id, uint32_t events)
{
    struct connection *c = connection_of(id);
    if (c->state == CONNECTING && events & (VM_NET_FAILED | VM_NET_LOST))
        lose(c, events & VM_NET_FAILED);
    else if (c->state == CONNECTING && events & VM_NET_OPENED)
        open(c);
    if (c->state != OPEN)
        return;
    c->readable |= (events & VM_NET_READABLE) != 0;
    mark(c);
}

/* ---- as time goes by --------------------------------------------------------------- */

void tcp_resume_sending(void)
{
    past_work();
    for (struct tcp_pcb *p = tcp.begun ? tcp_active_pcbs : NULL; p; p = p->next)
        if (p->unsent || p->flags & TF_ACK_NOW)
            tcp_output(p);
}

/* Does time mean anything to it? */
static bool is_busy(const struct tcp_pcb *p)
{
    return (p->state != ESTABLISHED && p->state != CLOSE_WAIT) || p->unsent ||
           p->unacked || p->ooseq || p->persist_backoff || p->flags & TF_ACK_NOW;
}

/* Is something put off that is soon to be done? */
static bool delays(void)
{
    for (struct tcp_pcb *p = tcp.begun ? tcp_active_pcbs : NULL; p; p = p->next)
        if (p->refused_data || p->flags & (TF_ACK_DELAY | TF_CLOSEPEND))
            return true;
    return false;
}

static bool ticks(void)
{
    if (!tcp.begun)
        return false;
    for (struct tcp_pcb *p = tcp_active_pcbs; p; p = p->next)
        if (is_busy(p))
            return true;
    for (uint32_t i = 0; i < CONNECTIONS; i++)
        if (connections[i].starved ||
            (connections[i].host_ended && !connections[i].fin_sent))
            return true;
    return tcp_tw_pcbs;
}

static void settle(uint64_t now)
{
    bool any = delays();
    if (any && now - tcp.settled_ns < DELAY_NS)
        return;
    if (any)
        tcp_fasttmr();
    tcp.settled_ns = now;
}

static void slow_tick(void)
{
    for (struct tcp_pcb *p = tcp_active_pcbs; p; p = p->next)
        unsent_tick(p);
    tcp_slowtmr();
}

static void tick(void)
{
    uint64_t now = host_now_ns();
    settle(now);
    if (!ticks()) {
        tcp.ticked_ns = now;
        return;
    }
    if (now - tcp.ticked_ns < TICK_NS)
        return;
    for (; now - tcp.ticked_ns >= TICK_NS && ticks(); tcp.ticked_ns += TICK_NS)
        slow_tick();
    for (uint32_t i = 0; i < CONNECTIONS; i++)
        if (connections[i].state == OPEN)
            mark(&connections[i]);
}

void tcp_work(void)
{
    tick();
    for (uint32_t i = 0; i < CONNECTIONS / 64; i++)
        while (dirty[i]) {
            uint32_t bit = (uint32_t)__builtin_ctzll(dirty[i]);
            dirty[i] &= dirty[i] - 1;
            work(&connections[64 * i + bit]);
        }
}

uint64_t tcp_due_ns(void)
{
    uint64_t slow = ticks() ? tcp.ticked_ns + TICK_NS : UINT64_MAX;
    uint64_t soon = delays() ? tcp.settled_ns + DELAY_NS : UINT64_MAX;
    return soon < slow ? soon : slow;
}

/* ---- the whole --------------------------------------------------------------------- */

static void begin_first(void)
{
    heap_init();
    lwip_init();
    wire_begin();
    struct tcp_pcb *p = tcp_new_ip_type(IPADDR_TYPE_ANY);
    tcp_bind(p, IP_ANY_TYPE, 1);
    tcp.listener = tcp_listen(p);
    tcp_accept(tcp.listener, on_accept);
    ((struct tcp_pcb_listen *)tcp.listener)->local_port = 0;
    tcp.begun = true;
}

void tcp_begin(void)
{
    if (!tcp.begun)
        begin_first();
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        detach(&connections[i]);
        forget(&connections[i]);
    }
    past_begin();
    past_work();
    tcp.ticked_ns = tcp.settled_ns = host_now_ns();
}
