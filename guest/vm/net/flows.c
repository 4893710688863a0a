#include "vm/net/flows.h"
#include "vm/host.h"

#define SILENCE_NS (60ull * 1000000000)

void flows_begin(struct flows *s)
{
    __builtin_memset(s->at, 0, s->count * sizeof *s->at);
    s->open_count = 0;
}

uint32_t flow_id(const struct flows *s, const struct flow *f)
{
    return s->first_id + (uint32_t)(f - s->at);
}

void flow_close(struct flows *s, struct flow *f)
{
    host_net_close(flow_id(s, f), false);
    *f = (struct flow){0};
    s->open_count--;
}

static struct flow *find(const struct flows *s, const struct flow *like)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct flow *f = &s->at[i];
        if (f->open && f->from_port == like->from_port && f->to_port == like->to_port &&
            ip_eq(&f->from, &like->from) && ip_eq(&f->to, &like->to))
            return f;
    }
    return 0;
}

static struct flow *place(struct flows *s)
{
    struct flow *oldest = &s->at[0];
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->at[i].open)
            return &s->at[i];
        if (s->at[i].used_ns < oldest->used_ns)
            oldest = &s->at[i];
    }
    flow_close(s, oldest);
    return oldest;
}

struct flow *flow_of(struct flows *s, const struct packet *p, enum vm_net_kind kind,
                     uint16_t from_port, uint16_t to_port)
{
    struct flow new = {.open = true,
                       .from = p->from,
                       .to = p->to,
                       .from_port = from_port,
                       .to_port = to_port};
    struct flow *f = find(s, &new);
    if (!f) {
        f = place(s);
        int32_t done = host_net_connect(flow_id(s, f), kind, p->to.at,
                                        kind == VM_NET_ECHO ? 0 : to_port);
        if (done < 0) {
            icmp_unreachable(p, done == VM_NET_UNREACHABLE ? UNREACHABLE_HOST
                                                           : UNREACHABLE_PROHIBITED);
            return 0;
        }
        *f = new;
        s->open_count++;
    }
    f->used_ns = host_now_ns();
    return f;
}

int32_t flow_receive(struct flows *s, struct flow *f, void *at, uint32_t n)
{
    int32_t got = host_net_receive(flow_id(s, f), at, n);
    if (got > 0 && (uint32_t)got > n)
        got = VM_NET_GONE; /* a host that breaks its word */
    if (got >= 0) {
        f->used_ns = host_now_ns();
        return got;
    }
    f->readable = false;
    if (got != VM_NET_NONE)
        flow_close(s, f);
    return got;
}

void flows_work(struct flows *s, void (*hand_on)(struct flow *f))
{
    uint64_t now = s->open_count ? host_now_ns() : 0;
    for (uint32_t i = 0; s->open_count && i < s->count; i++) {
        struct flow *f = &s->at[i];
        if (f->readable)
            hand_on(f);
        if (f->open && now > f->used_ns && now - f->used_ns > SILENCE_NS)
            flow_close(s, f);
    }
}

uint64_t flows_due_ns(const struct flows *s)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t i = 0; s->open_count && i < s->count; i++)
        if (s->at[i].open && s->at[i].used_ns + SILENCE_NS < due)
            due = s->at[i].used_ns + SILENCE_NS + 1;
    return due;
}
