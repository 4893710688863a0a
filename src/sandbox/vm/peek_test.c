#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/hello_test.h"
#include "vm/peek.h"

static void the_server_name_is_found_however_it_is_cut(void **state)
{
    (void)state;
    unsigned char bytes[2048];
    char name[PEEK_NAME];
    for (size_t step = 1; step < 200; step += 33) {
        struct str all = hello("Api.Example.org", step, bytes);
        for (size_t n = 0; n < all.n; n++)
            assert_int_equal(peek_tls((struct str){all.at, n}, name), PEEK_MORE);
        assert_int_equal(peek_tls(all, name), PEEK_FOUND);
        assert_string_equal(name, "Api.Example.org");
    }
}

static void without_a_server_name_there_is_none(void **state)
{
    (void)state;
    unsigned char bytes[2048];
    char name[PEEK_NAME];
    assert_int_equal(peek_tls(hello(NULL, 500, bytes), name), PEEK_NOTHING);
    assert_int_equal(peek_tls(STR("GET / HTTP/1.1\r\n\r\n"), name), PEEK_NOTHING);
    assert_int_equal(peek_tls(STR("\x16\x03\x01\x00\x04\x02...."), name), PEEK_NOTHING);
    assert_int_equal(peek_tls(STR("SSH-2.0-x\r\n"), name), PEEK_NOTHING);
}

/* Whatever is changed in it: it is read within its bounds. */
static void a_damaged_hello_is_no_harm(void **state)
{
    (void)state;
    unsigned char bytes[2048];
    char name[PEEK_NAME];
    struct str all = hello("example.org", 40, bytes);
    for (size_t i = 0; i < all.n; i++)
        for (unsigned v = 0; v < 256; v += 5) {
            unsigned char was = bytes[i];
            bytes[i] = (unsigned char)v;
            (void)peek_tls(all, name);
            bytes[i] = was;
        }
    assert_int_equal(peek_tls(all, name), PEEK_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_name_is_found_however_it_is_cut),
        cmocka_unit_test(without_a_server_name_there_is_none),
        cmocka_unit_test(a_damaged_hello_is_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
