/* Leases. */
#include "vm/net/double_test.h"

static uint8_t *ask_dhcp(uint8_t type, uint32_t wanted, uint32_t *n)
{
    uint8_t m[300] = {1, 1, 6};
    struct ip all = ip_v4(UINT32_MAX), own_before = own;
    put32(m + 4, 0x12345678);
    memcpy(m + 28, mac, 6);
    put32(m + 236, 0x63825363);
    m[240] = 53, m[241] = 1, m[242] = type;
    m[243] = 50, m[244] = 4;
    put32(m + 245, wanted);
    m[249] = 255;
    own = ip_v4(0);
    send_udp(&all, 68, 67, m, sizeof m);
    own = own_before;
    uint8_t *f = received(n);
    assert_non_null(f);
    assert_int_equal(be16(f + 36), 68);
    assert_int_equal(be32(f + 46), 0x12345678);
    return f + 42;
}

static void a_lease_is_the_machines_own_address(void **state)
{
    (void)state;
    set_up();
    uint32_t n;
    uint8_t *m = ask_dhcp(1, 0, &n);
    assert_int_equal(m[242], 2);
    assert_int_equal(be32(m + 16), LAN_MACHINE);
    m = ask_dhcp(3, LAN_MACHINE, &n);
    assert_int_equal(m[242], 5);
    assert_int_equal(be32(m + 16), LAN_MACHINE);
    m = ask_dhcp(3, 0xc0a80105, &n);
    assert_int_equal(m[242], 6);
    assert_int_equal(be32(m + 16), 0);
    m = ask_dhcp(8, 0, &n);
    assert_int_equal(m[242], 5);
    assert_int_equal(be32(m + 16), 0);
    nothing_comes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_is_the_machines_own_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
