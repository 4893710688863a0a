#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/peek.h"

/* A ClientHello for that name (NULL: none), in records of `step` bytes. */
static struct str hello(const char *name, size_t step, unsigned char out[static 2048])
{
    unsigned char m[1024] = {1, 0, 0, 0, 3, 3};
    size_t n = 6 + 32, at = 0, h = name ? strlen(name) : 0;
    m[n++] = 0;                                    /* session */
    n += 1, m[n++] = 2, m[n++] = 0x13, m[n++] = 1; /* ciphers */
    m[n++] = 1, m[n++] = 0;                        /* compression */
    size_t extensions = 4 + 1 + (name ? 9 + h : 0);
    m[n++] = 0, m[n++] = (unsigned char)extensions;
    m[n++] = 0, m[n++] = 43, m[n++] = 0, m[n++] = 1, m[n++] = 0;
    if (name) {
        const unsigned char head[] = {0,
                                      0,
                                      0,
                                      (unsigned char)(h + 5),
                                      0,
                                      (unsigned char)(h + 3),
                                      0,
                                      0,
                                      (unsigned char)h};
        memcpy(m + n, head, sizeof head);
        memcpy(m + n + sizeof head, name, h);
        n += sizeof head + h;
    }
    m[2] = (unsigned char)((n - 4) >> 8);
    m[3] = (unsigned char)(n - 4);
    for (size_t i = 0; i < n; i += step) {
        size_t part = step < n - i ? step : n - i;
        const unsigned char head[] = {22, 3, 1, (unsigned char)(part >> 8),
                                      (unsigned char)part};
        memcpy(out + at, head, sizeof head);
        memcpy(out + at + sizeof head, m + i, part);
        at += sizeof head + part;
    }
    return (struct str){(const char *)out, at};
}

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
