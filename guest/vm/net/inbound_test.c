/* Connections of the host to a port of the machine. */
#include "vm/net/double_test.h"

/* The host has accepted a connection to port 8080; the SYN that the machine gets for it. */
static struct segment accept_one(uint32_t id)
{
    set_up();
    server = ip_v4(LAN_HOST);
    host.ends[id].there = true;
    host.ends[id].kind = VM_NET_TCP;
    happens(id, VM_NET_ACCEPTED | VM_NET_READABLE | 8080 << 16);
    struct segment s = next_segment();
    assert_int_equal(s.flags, SYN);
    assert_int_equal(s.to_port, 8080);
    nothing_comes();
    return s;
}

static void a_connection_of_the_host_reaches_a_port_of_the_machine(void **state)
{
    (void)state;
    for (uint32_t id = VM_NET_INBOUND; id < VM_NET_IDS; id += TCP_INBOUND - 1) {
        struct segment syn = accept_one(id), reply = {.from_port = 8080};
        static const uint8_t request[] = "GET /";
        host.ends[id].has = request;
        host.ends[id].has_n = 5;
        reply.to_port = syn.from_port;
        reply.seq = 7000;
        reply.ack = syn.seq + 1;
        reply.flags = SYN | ACK;
        send_segment(reply);
        struct segment s = next_segment();
        if (!s.n)
            s = next_segment();
        assert_int_equal(s.n, 5);
        assert_memory_equal(s.data, "GET /", 5);
        reply.seq = 7001;
        reply.ack = s.seq + 5;
        reply.flags = ACK | FIN;
        reply.data = (const uint8_t *)"page";
        reply.n = 4;
        send_segment(reply);
        assert_memory_equal(host.ends[id].got, "page", 4);
        assert_true(host.ends[id].shut);
        host.ends[id].ends = true;
        happens(id, VM_NET_READABLE);
        assert_false(host.ends[id].there);
        assert_false(host.ends[id].reset);
    }
}

static void a_port_at_which_nobody_listens_is_a_reset_for_the_host(void **state)
{
    (void)state;
    struct segment syn = accept_one(VM_NET_INBOUND + 5);
    send_segment((struct segment){.from_port = 8080,
                                  .to_port = syn.from_port,
                                  .ack = syn.seq + 1,
                                  .flags = RST | ACK});
    assert_false(host.ends[VM_NET_INBOUND + 5].there);
    assert_true(host.ends[VM_NET_INBOUND + 5].reset);
    assert_true(tcp_due_ns() == UINT64_MAX);
    accept_one(VM_NET_INBOUND + 5); /* its number is free again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_of_the_host_reaches_a_port_of_the_machine),
        cmocka_unit_test(a_port_at_which_nobody_listens_is_a_reset_for_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
