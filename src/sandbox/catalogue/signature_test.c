/* Signatures: what was signed and has not changed since is its signer's; nothing else. */
#include "catalogue/signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "crypto/crypto.h"

#define FILES 3

static const unsigned char secret[32] = "a secret that is only a test's.",
                           other[32] = "another";
static struct package_file files[FILES + 1];
static struct package package;
static char key[TOOL_KEY_TEXT];
static struct err e;

static void name_file(size_t i, const char *name, const char *text)
{
    files[i].name = str_of(name);
    crypto_sha256_hex(str_of(text), files[i].sha256);
}

static int begin(void **state)
{
    (void)state;
    name_file(0, "tool.wasm", "bytes");
    name_file(1, "manifest.json", "{}");
    name_file(2, "README", "read me");
    package = (struct package){.files = files, .count = FILES};
    buf_init(&package.signature, SIGNATURE_MAX);
    e = (struct err){0};
    return signature_make(&package, secret, &package.signature, &e) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    buf_done(&package.signature);
    return 0;
}

static void assert_refused(enum err_code code, const char *says)
{
    assert_false(signature_check(&package, key, &e));
    assert_string_equal(key, "");
    if (e.code != code || !strstr(e.msg, says))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

/* The signature's text with one piece of it changed. */
static void change(const char *from, const char *to)
{
    scoped_buf struct buf text;
    buf_init(&text, SIGNATURE_MAX);
    const char *all = buf_cz(&package.signature), *at = strstr(all, from);
    assert_non_null(at);
    buf_put(&text, all, (size_t)(at - all));
    buf_cstr(&text, to);
    buf_cstr(&text, at + strlen(from));
    package.signature.n = 0;
    buf_str(&package.signature, buf_view(&text));
}

static void a_key_is_read_as_it_is_written(void **state)
{
    (void)state;
    unsigned char public[CRYPTO_SIGN_PUBLIC], again[CRYPTO_SIGN_PUBLIC];
    crypto_sign_public(secret, public);
    signature_key_text(public, key);
    assert_int_equal(strlen(key), TOOL_KEY_TEXT - 1);
    assert_true(signature_key_read(str_of(key), again, &e));
    assert_memory_equal(public, again, sizeof public);
    static const char *const wrong[] = {"", "ed25519:", "ed25519:AAAA", "rsa:x"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err why = {0};
        assert_false(signature_key_read(str_of(wrong[i]), again, &why));
        assert_int_equal(why.code, ERR_INVALID);
    }
}

static void what_was_signed_is_its_signers(void **state)
{
    (void)state;
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    char signer[TOOL_KEY_TEXT];
    crypto_sign_public(secret, public);
    signature_key_text(public, signer);
    assert_true(signature_check(&package, key, &e));
    assert_string_equal(key, signer);
    /* In whichever order the ZIP has them, and the signature itself among them. */
    struct package_file first = files[0];
    files[0] = files[2];
    files[2] = first;
    name_file(FILES, SIGNATURE_FILE, "not signed by itself");
    package.count = FILES + 1;
    assert_true(signature_check(&package, key, &e));
    assert_string_equal(key, signer);
}

static void who_signs_nothing_is_nobody(void **state)
{
    (void)state;
    package.signature.n = 0;
    assert_true(signature_check(&package, key, &e));
    assert_string_equal(key, "");
}

static void a_changed_file_is_told_with_both_hashes(void **state)
{
    (void)state;
    char signed_one[CRYPTO_SHA256_HEX];
    memcpy(signed_one, files[1].sha256, sizeof signed_one);
    name_file(1, "manifest.json", "{ }");
    assert_refused(ERR_DENIED, "the SHA-256 of 'manifest.json' is ");
    assert_non_null(strstr(e.msg, files[1].sha256));
    assert_non_null(strstr(e.msg, signed_one));
}

static void a_file_more_or_less_is_a_change(void **state)
{
    (void)state;
    name_file(FILES, "extra", "");
    package.count = FILES + 1;
    assert_refused(ERR_DENIED, "'extra'");
    e = (struct err){0};
    package.count = FILES - 1;
    assert_refused(ERR_DENIED, "'README' is of nothing, it is not there");
}

static void a_list_that_was_changed_with_the_files_is_seen(void **state)
{
    (void)state;
    char signed_one[CRYPTO_SHA256_HEX];
    memcpy(signed_one, files[1].sha256, sizeof signed_one);
    name_file(1, "manifest.json", "{ }");
    change(signed_one, files[1].sha256);
    assert_refused(ERR_DENIED, "is not what the key ed25519:");
}

static void anothers_key_does_not_take_it_over(void **state)
{
    (void)state;
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    char mine[TOOL_KEY_TEXT], theirs[TOOL_KEY_TEXT];
    crypto_sign_public(secret, public);
    signature_key_text(public, mine);
    crypto_sign_public(other, public);
    signature_key_text(public, theirs);
    change(mine, theirs);
    assert_refused(ERR_DENIED, "is not what the key");
}

static void what_is_no_signature_is_not_overlooked(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"\"version\":1", "\"version\":2"},
                                          {"\"ed25519\"", "\"none\""},
                                          {"\"key\":\"ed25519:", "\"key\":\"ed25519:A"},
                                          {"\"signature\":\"", "\"signature\":\"AA"},
                                          {"\"files\":{", "\"files\":[{"},
                                          {"{\"version\"", "[{\"version\""}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        end(NULL);
        assert_int_equal(begin(NULL), 0);
        change(rows[i][0], rows[i][1]);
        assert_refused(ERR_INVALID, "sign it again, or leave it out");
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_key_is_read_as_it_is_written),
        T(what_was_signed_is_its_signers),
        T(who_signs_nothing_is_nobody),
        T(a_changed_file_is_told_with_both_hashes),
        T(a_file_more_or_less_is_a_change),
        T(a_list_that_was_changed_with_the_files_is_seen),
        T(anothers_key_does_not_take_it_over),
        T(what_is_no_signature_is_not_overlooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
