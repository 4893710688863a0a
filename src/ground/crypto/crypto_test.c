/* Hashes against published vectors; tokens and comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "crypto/crypto.h"

static void sha256_gives_the_published_digests(void **state)
{
    (void)state;
    char hex[CRYPTO_SHA256_HEX];
    crypto_sha256_hex(STR(""), hex);
    assert_string_equal(
        hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    crypto_sha256_hex(STR("abc"), hex);
    assert_string_equal(
        hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void blake2b_256_gives_the_known_digest(void **state)
{
    (void)state;
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(STR("abc"), hex);
    assert_string_equal(
        hex, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    unsigned char raw[CRYPTO_BLAKE2B];
    crypto_blake2b(STR("abc"), raw);
    assert_int_equal(raw[0], 0xbd);
    assert_int_equal(raw[31], 0x19);
}

static void hmac_gives_the_published_tag(void **state)
{
    (void)state;
    /* RFC 4231, case 2, whose short key is padded with zeros as HMAC does. */
    unsigned char key[CRYPTO_KEY] = "Jefe", raw[CRYPTO_KEY];
    char whole[CRYPTO_SHA256_HEX], parts[CRYPTO_SHA256_HEX];
    crypto_hmac_hex(key, STR("what do ya want "), STR("for nothing?"), parts, raw);
    crypto_hmac_hex(key, STR("what do ya want for nothing?"), STR(""), whole, NULL);
    assert_string_equal(
        whole, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    assert_string_equal(parts, whole);
    assert_int_equal(raw[0], 0x5b);
}

static void tokens_are_url_safe_and_never_alike(void **state)
{
    (void)state;
    char one[CRYPTO_TOKEN], two[CRYPTO_TOKEN];
    crypto_token(one);
    crypto_token(two);
    assert_string_not_equal(one, two);
    assert_int_equal(strlen(one), 43);
    assert_int_equal(strspn(one, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789-_"),
                     43);
}

static void base64url_has_no_padding(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 100);
    assert_true(crypto_base64url("\xfb\xff\xfe", 3, &b));
    buf_char(&b, ' ');
    assert_true(crypto_base64url("f", 1, &b));
    assert_true(crypto_base64url("", 0, &b));
    assert_string_equal(buf_cz(&b), "-__- Zg");
    scoped_buf struct buf small;
    buf_init(&small, 3);
    assert_false(crypto_base64url("abc", 3, &small));
}

static void no_byte_beyond_ascii_is_a_digit(void **state)
{
    (void)state;
    for (unsigned c = 0x80; c <= 0xff; c++) {
        const char text[] = {'A', (char)c, 'A', 'A'};
        scoped_buf struct buf bytes;
        struct err e = {0};
        buf_init(&bytes, 100);
        assert_false(crypto_base64url_read((struct str){text, 4}, &bytes, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_false(crypto_base64_read((struct str){text, 4}, &bytes, &e));
    }
}

static void base64_goes_both_ways_and_is_strict(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    scoped_buf struct buf bytes;
    struct err e = {0};
    buf_init(&text, 100);
    buf_init(&bytes, 100);
    assert_true(crypto_base64("\xfb\xff\x00z", 4, &text));
    assert_string_equal(buf_cz(&text), "+/8Aeg==");
    assert_true(crypto_base64_read(buf_view(&text), &bytes, &e));
    assert_int_equal(bytes.n, 4);
    assert_memory_equal(bytes.at, "\xfb\xff\x00z", 4);
    assert_true(crypto_base64_read(STR(""), &bytes, &e));
    assert_int_equal(bytes.n, 4);
    static const char *const wrong[] = {
        "a", "ab", "ab=", "a*==", "+/8Aeg= =", "+_8Aeg=="};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        e = (struct err){0};
        assert_false(crypto_base64_read(str_of(wrong[i]), &bytes, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void base64url_is_read_back_and_is_strict(void **state)
{
    (void)state;
    scoped_buf struct buf bytes;
    buf_init(&bytes, 100);
    struct err e = {0};
    assert_true(crypto_base64url_read(STR("-__-"), &bytes, &e));
    assert_memory_equal(bytes.at, "\xfb\xff\xfe", 3);
    static const char *const wrong[] = {"a", "Zg==", "+/8A", "a*aa", "-__- "};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        e = (struct err){0};
        assert_false(crypto_base64url_read(str_of(wrong[i]), &bytes, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void what_is_sealed_opens_only_as_it_was(void **state)
{
    (void)state;
    unsigned char key[CRYPTO_KEY] = {1}, other[CRYPTO_KEY] = {2};
    scoped_buf struct buf sealed;
    scoped_buf struct buf plain;
    buf_init(&sealed, 200);
    buf_init(&plain, 200);
    assert_true(crypto_seal(key, STR("to whom"), STR("what"), &sealed));
    assert_int_equal(sealed.n, 4 + CRYPTO_SEAL_EXTRA);
    assert_true(crypto_unseal(key, STR("to whom"), buf_view(&sealed), &plain));
    assert_string_equal(buf_cz(&plain), "what");
    assert_false(crypto_unseal(other, STR("to whom"), buf_view(&sealed), &plain));
    assert_false(crypto_unseal(key, STR("to who"), buf_view(&sealed), &plain));
    for (size_t i = 0; i < sealed.n; i++) {
        sealed.at[i] = (char)(sealed.at[i] ^ 1);
        assert_false(crypto_unseal(key, STR("to whom"), buf_view(&sealed), &plain));
        sealed.at[i] = (char)(sealed.at[i] ^ 1);
        assert_false(
            crypto_unseal(key, STR("to whom"), (struct str){sealed.at, i}, &plain));
    }
    assert_int_equal(plain.n, 4);
}

static void nothing_can_be_sealed_too(void **state)
{
    (void)state;
    unsigned char key[CRYPTO_KEY] = {1};
    scoped_buf struct buf sealed;
    scoped_buf struct buf again;
    scoped_buf struct buf plain;
    buf_init(&sealed, 200);
    buf_init(&again, 200);
    buf_init(&plain, 200);
    assert_true(crypto_seal(key, STR(""), STR(""), &sealed));
    assert_true(crypto_seal(key, STR(""), STR(""), &again));
    assert_false(str_eq(buf_view(&sealed), buf_view(&again)));
    assert_true(crypto_unseal(key, STR(""), buf_view(&sealed), &plain));
    assert_int_equal(plain.n, 0);
    scoped_buf struct buf small;
    buf_init(&small, CRYPTO_SEAL_EXTRA);
    assert_false(crypto_seal(key, STR(""), STR("x"), &small));
}

static void comparison_tells_equal_from_different(void **state)
{
    (void)state;
    assert_true(crypto_equal(STR("secret"), STR("secret")));
    assert_false(crypto_equal(STR("secret"), STR("secreT")));
    assert_false(crypto_equal(STR("secret"), STR("secre")));
    assert_true(crypto_equal(STR(""), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_digests),
        cmocka_unit_test(blake2b_256_gives_the_known_digest),
        cmocka_unit_test(hmac_gives_the_published_tag),
        cmocka_unit_test(tokens_are_url_safe_and_never_alike),
        cmocka_unit_test(base64url_has_no_padding),
        cmocka_unit_test(no_byte_beyond_ascii_is_a_digit),
        cmocka_unit_test(base64_goes_both_ways_and_is_strict),
        cmocka_unit_test(base64url_is_read_back_and_is_strict),
        cmocka_unit_test(what_is_sealed_opens_only_as_it_was),
        cmocka_unit_test(nothing_can_be_sealed_too),
        cmocka_unit_test(comparison_tells_equal_from_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
