/* Access tokens of an issuer: parsing, claims, the issuer's keys, and where they are
 * found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "access/oauth.h"

#define NOW_MS INT64_C(1700000000000)

struct fixture {
    struct arena *arena;
    struct buf text;
    struct err e;
};

static int begin(void **state)
{
    struct fixture *f = mem_new(sizeof *f);
    f->arena = arena_new(JWT_MEMORY);
    buf_init(&f->text, (size_t)1 << 20);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    arena_free(f->arena);
    buf_done(&f->text);
    free(f);
    return 0;
}

/* ---- tokens ------------------------------------------------------------- */

#define HEADER "{\"alg\":\"RS256\",\"typ\":\"at+jwt\",\"kid\":\"k\"}"

static bool read_parts(struct fixture *f, const char *header, const char *body,
                       struct jwt *out)
{
    f->e = (struct err){0};
    buf_clear(&f->text);
    crypto_base64url(header, strlen(header), &f->text);
    buf_char(&f->text, '.');
    crypto_base64url(body, strlen(body), &f->text);
    buf_cstr(&f->text, ".c2ln");
    return jwt_read(buf_view(&f->text), f->arena, out, &f->e);
}

static bool read_text(struct fixture *f, const char *text)
{
    struct jwt t;
    f->e = (struct err){0};
    return jwt_read(str_of(text), f->arena, &t, &f->e);
}

static void a_token_is_read_in_its_parts(void **state)
{
    struct jwt t;
    assert_true(read_parts(*state, HEADER, "{\"sub\":\"ada\"}", &t));
    assert_int_equal(t.alg, JWT_RS256);
    assert_true(str_is(t.kid, "k") && str_is(t.signature, "sig"));
    assert_true(str_is(json_str(json_get(t.body, "sub")), "ada"));
    struct fixture *f = *state;
    assert_int_equal(t.signed_part.n, f->text.n - 5);
}

static void what_has_not_three_parts_is_no_token(void **state)
{
    struct fixture *f = *state;
    static const char *const wrong[] = {"",     ".",    "..",   "a",       "a.b",
                                        "a.b.", ".b.c", "a..c", "a.b.c.d", "cloche_0123"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_false(jwt_is_like(str_of(wrong[i])));
        assert_false(read_text(f, wrong[i]));
        assert_int_equal(f->e.code, ERR_INVALID);
    }
    assert_true(jwt_is_like(STR("a.b.c")));
}

static void base64url_has_one_form(void **state)
{
    struct fixture *f = *state;
    struct jwt t;
    assert_true(read_parts(f, HEADER, "{}", &t)); /* "e30" */
    buf_cz(&f->text);
    scoped_buf struct buf changed;
    buf_init(&changed, 4096);
    static const char *const others[] = {"e31", "e30=", "e30 ", "e3", "e3+", "e30\n"};
    const char *at = strstr(f->text.at, ".e30.");
    for (size_t i = 0; i < LENGTH(others); i++) {
        buf_clear(&changed);
        buf_put(&changed, f->text.at, (size_t)(at - f->text.at));
        buf_printf(&changed, ".%s.c2ln", others[i]);
        assert_false(read_text(f, buf_cz(&changed)));
    }
}

static void an_unsigned_or_odd_header_is_refused(void **state)
{
    struct jwt t;
    static const char *const wrong[] = {
        "{}",
        "[]",
        "{\"alg\":\"none\",\"typ\":\"JWT\"}",
        "{\"alg\":\"NONE\",\"typ\":\"JWT\"}",
        "{\"alg\":\"HS256\",\"typ\":\"JWT\"}",
        "{\"alg\":\"rs256\",\"typ\":\"JWT\"}",
        "{\"alg\":null,\"typ\":\"JWT\"}",
        "{\"alg\":\"RS256\"}",
        "{\"alg\":\"RS256\",\"typ\":\"id+jwt\"}",
        "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"crit\":[]}",
        "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"cty\":\"JWT\"}",
        "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":null}",
        "{\"alg\":\"RS256\",\"alg\":\"none\",\"typ\":\"JWT\"}",
        "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"x\":{\"a\":1,\"a\":1}}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (read_parts(*state, wrong[i], "{}", &t))
            fail_msg("%s", wrong[i]);
}

static void a_token_beyond_its_size_is_refused(void **state)
{
    struct fixture *f = *state;
    char *text = mem_new(JWT_MAX + 2);
    memset(text, 'A', JWT_MAX + 1);
    text[1] = text[3] = '.';
    assert_false(read_text(f, text));
    assert_int_equal(f->e.code, ERR_LIMIT);
    text[JWT_MAX] = '\0';
    assert_false(read_text(f, text));
    assert_int_equal(f->e.code, ERR_INVALID);
    free(text);
}

/* ---- claims ------------------------------------------------------------- */

static bool read_claims(struct fixture *f, const char *body, struct jwt_claims *out)
{
    static const char *const usual[] = {"usual"};
    const struct jwt_wish wish = {.issuer = STR("https://i"),
                                  .resource = STR("https://r"),
                                  .vaults = {usual, 1, true}};
    struct jwt t;
    assert_true(read_parts(f, HEADER, body, &t));
    return jwt_claims_read(&t, &wish, NOW_MS, f->arena, out, &f->e);
}

#define CLAIMS "{\"iss\":\"https://i\",\"aud\":\"https://r/mcp\",\"exp\":1700000001,"

static void claims_say_what_is_granted(void **state)
{
    struct jwt_claims c;
    assert_true(read_claims(
        *state, CLAIMS "\"sub\":\"ada\",\"scope\":\"read cloche:audit x\"}", &c));
    assert_string_equal(c.principal, "oauth ada");
    assert_int_equal(c.scopes, SCOPE_READ | SCOPE_AUDIT);
    assert_int_equal(c.level, LEVEL_FULL);
    assert_true(c.expires_ms == INT64_C(1700000001000));
    assert_true(c.vaults.given && c.vaults.n == 1 && !strcmp(c.vaults.at[0], "usual"));
    assert_true(read_claims(*state,
                            CLAIMS "\"sub\":\"ada\",\"cloche_level\":\"zero\","
                                   "\"cloche_vaults\":[\"a\",\"b\"]}",
                            &c));
    assert_int_equal(c.level, LEVEL_ZERO);
    assert_true(c.scopes == 0 && c.vaults.given && c.vaults.n == 2 &&
                !strcmp(c.vaults.at[1], "b"));
}

static void not_before_is_forgiven_a_minute_and_no_more(void **state)
{
    struct jwt_claims c;
    assert_true(read_claims(*state, CLAIMS "\"sub\":\"ada\",\"nbf\":1700000060}", &c));
    assert_false(read_claims(*state, CLAIMS "\"sub\":\"ada\",\"nbf\":1700000061}", &c));
}

static void what_is_for_others_is_refused(void **state)
{
    struct jwt_claims c;
    static const char *const wrong[] = {"\"https://r/mcp/x\"",
                                        "\"https://rr/mcp\"",
                                        "\"https://r.else/mcp\"",
                                        "\"HTTPS://r/mcp\"",
                                        "[]",
                                        "[\"https://r\",null]",
                                        "\"\"",
                                        "{}",
                                        "\"https://\""};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char body[200];
        (void)snprintf(
            body, sizeof body,
            "{\"iss\":\"https://i\",\"sub\":\"a\",\"exp\":1700000001,\"aud\":%s}",
            wrong[i]);
        if (read_claims(*state, body, &c))
            fail_msg("%s", wrong[i]);
    }
}

static void principal_of(struct fixture *f, const char *sub, size_t n,
                         char out[static PRINCIPAL_MAX])
{
    scoped_buf struct buf body;
    struct jwt_claims c;
    buf_init(&body, 4096);
    struct json_writer w = json_writer(&body);
    json_open_object(&w);
    json_pair_cstr(&w, "iss", "https://i");
    json_pair_cstr(&w, "aud", "https://r");
    json_pair_int(&w, "exp", 1700000001);
    json_pair_str(&w, "sub", (struct str){sub, n});
    json_close(&w);
    assert_true(read_claims(f, buf_cz(&body), &c));
    memcpy(out, c.principal, PRINCIPAL_MAX);
}

static void subjects_that_differ_are_told_apart_in_print(void **state)
{
    static const char *const subjects[] = {
        "a",
        "A",
        "a b",
        "a_b",
        "a\nb",
        "~",
        "a~b",
        "\xc3\xa9",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"};
    char all[LENGTH(subjects)][PRINCIPAL_MAX];
    for (size_t i = 0; i < LENGTH(subjects); i++) {
        principal_of(*state, subjects[i], strlen(subjects[i]), all[i]);
        assert_true(str_starts(str_of(all[i]), "oauth "));
        for (const char *c = all[i]; *c; c++)
            assert_in_range(*c, ' ', '~');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(all[i], all[k]);
    }
}

/* ---- keys --------------------------------------------------------------- */

#define P256_KEY                                             \
    "\"kty\":\"EC\",\"crv\":\"P-256\","                      \
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"," \
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\""
#define ED_KEY                             \
    "\"kty\":\"OKP\",\"crv\":\"Ed25519\"," \
    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""

/* RFC 7515, appendix A.3, and RFC 8037, appendix A.4. */
static const char p256_text[] =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
static const char p256_signature[] =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djx"
    "La8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
static const char ed_text[] = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
static const char ed_signature[] =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGj"
    "g5BhVsPt9g7sVvpAr_MuM0KAg";

static enum jwks_found check(struct fixture *f, const char *set, enum jwt_alg alg,
                             const char *kid, bool spoilt)
{
    bool is_ed = alg == JWT_EDDSA;
    struct jwks_mark mark;
    f->e = (struct err){0};
    buf_clear(&f->text);
    assert_true(crypto_base64url_read(str_of(is_ed ? ed_signature : p256_signature),
                                      &f->text, &f->e));
    f->text.at[5] = (char)(f->text.at[5] ^ spoilt);
    struct jwks *keys = jwks_read(str_of(set), &f->e);
    if (!keys)
        fail_msg("%s", f->e.msg);
    const struct jwt t = {.alg = alg,
                          .kid = kid ? str_of(kid) : (struct str){0},
                          .signed_part = str_of(is_ed ? ed_text : p256_text),
                          .signature = buf_view(&f->text)};
    enum jwks_found found = jwks_verify(keys, &t, &mark);
    assert_true(found != JWKS_GOOD || jwks_has(keys, &mark));
    jwks_release(keys);
    return found;
}

static void the_signatures_of_the_standards_are_good(void **state)
{
    static const char set[] = "{\"keys\":[{" P256_KEY "},{" ED_KEY "}]}";
    assert_int_equal(check(*state, set, JWT_ES256, NULL, false), JWKS_GOOD);
    assert_int_equal(check(*state, set, JWT_EDDSA, NULL, false), JWKS_GOOD);
    assert_int_equal(check(*state, set, JWT_ES256, NULL, true), JWKS_FORGED);
    assert_int_equal(check(*state, set, JWT_EDDSA, NULL, true), JWKS_FORGED);
}

static void a_key_is_found_by_its_name_alone(void **state)
{
    static const char set[] =
        "{\"keys\":[{" P256_KEY ",\"kid\":\"a\"},{" ED_KEY ",\"kid\":\"b\"},{" ED_KEY
        ",\"kid\":\"twice\"},{" P256_KEY ",\"kid\":\"twice\"}]}";
    assert_int_equal(check(*state, set, JWT_ES256, "a", false), JWKS_GOOD);
    assert_int_equal(check(*state, set, JWT_EDDSA, "b", false), JWKS_GOOD);
    assert_int_equal(check(*state, set, JWT_EDDSA, "a", false), JWKS_FORGED);
    assert_int_equal(check(*state, set, JWT_ES256, "twice", false), JWKS_FORGED);
    assert_int_equal(check(*state, set, JWT_ES256, "c", false), JWKS_UNKNOWN);
    assert_int_equal(check(*state, set, JWT_ES256, NULL, false), JWKS_FORGED);
    assert_int_equal(check(*state, "{\"keys\":[]}", JWT_ES256, NULL, false),
                     JWKS_UNKNOWN);
}

static void keys_for_other_ends_are_passed_over(void **state)
{
    static const char *const others[] = {
        "{\"keys\":[{" P256_KEY ",\"use\":\"enc\"}]}",
        "{\"keys\":[{" P256_KEY ",\"key_ops\":[\"sign\"]}]}",
        "{\"keys\":[{" P256_KEY ",\"alg\":\"ES384\"}]}",
        "{\"keys\":[{" P256_KEY ",\"kid\":1}]}",
        "{\"keys\":[null,1,[],{}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
        "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AAAA\",\"e\":\"AQAB\"}]}",
    };
    for (size_t i = 0; i < LENGTH(others); i++)
        assert_int_equal(check(*state, others[i], JWT_ES256, NULL, false), JWKS_UNKNOWN);
}

static void what_is_no_set_or_too_much_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const wrong[] = {
        "", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[]", "{\"keys\":[],\"keys\":[]}"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        f->e = (struct err){0};
        assert_null(jwks_read(str_of(wrong[i]), &f->e));
        assert_int_equal(f->e.code, ERR_INVALID);
    }
    for (unsigned n = JWKS_KEYS; n <= JWKS_KEYS + 1; n++) {
        f->e = (struct err){0};
        buf_clear(&f->text);
        for (unsigned i = 0; i < n; i++)
            buf_printf(&f->text, "%s{%s}", i ? "," : "{\"keys\":[", ED_KEY);
        buf_cstr(&f->text, "]}");
        struct jwks *s = jwks_read(buf_view(&f->text), &f->e);
        assert_int_equal(jwks_count(s), n == JWKS_KEYS ? JWKS_KEYS : 0);
        assert_true(s || f->e.code == ERR_LIMIT);
        jwks_release(s);
    }
    f->e = (struct err){0};
    buf_clear(&f->text);
    memset(buf_room(&f->text, JWKS_MAX + 1), ' ', JWKS_MAX + 1);
    assert_null(jwks_read((struct str){f->text.at, JWKS_MAX + 1}, &f->e));
    assert_int_equal(f->e.code, ERR_LIMIT);
}

/* ---- the issuer --------------------------------------------------------- */

static void metadata_is_looked_for_where_the_standards_say(void **state)
{
    (void)state;
    char at[ISSUER_PLACES][ISSUER_MAX + 64];
    assert_int_equal(issuer_places("https://i:8443/", at), 2);
    assert_string_equal(at[0], "https://i:8443/.well-known/oauth-authorization-server");
    assert_string_equal(at[1], "https://i:8443/.well-known/openid-configuration");
    assert_int_equal(issuer_places("https://i/a/b", at), 3);
    assert_string_equal(at[0], "https://i/.well-known/oauth-authorization-server/a/b");
    assert_string_equal(at[1], "https://i/.well-known/openid-configuration/a/b");
    assert_string_equal(at[2], "https://i/a/b/.well-known/openid-configuration");
}

static void an_issuer_has_https_or_is_on_this_machine(void **state)
{
    (void)state;
    static const char *const good[] = {"https://i", "https://i:1/p", "http://127.0.0.1",
                                       "http://localhost:80/x", "http://[::1]:9"};
    static const char *const wrong[] = {
        "",           "https://",          "http://i",          "http://127.0.0.1.i/",
        "https://i?", "https://i#",        "https://u@i",       "https://i/\"",
        "https://i ", "http://localhosts", "https://\xc3\xa9/", "ftp://localhost"};
    for (size_t i = 0; i < LENGTH(good); i++) {
        struct err e = {0};
        if (!issuer_check(good[i], &e))
            fail_msg("%s: %s", good[i], e.msg);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err e = {0};
        if (issuer_check(wrong[i], &e))
            fail_msg("%s", wrong[i]);
    }
}

static const char *keys_url(struct fixture *f, const char *issuer, const char *metadata)
{
    f->e = (struct err){0};
    return issuer_keys_url(issuer, str_of(metadata), f->arena, &f->e);
}

static void only_the_issuers_own_metadata_names_its_keys(void **state)
{
    static const char metadata[] =
        "{\"issuer\":\"https://i\",\"jwks_uri\":\"https://k/s\"}",
                      plain[] =
                          "{\"issuer\":\"https://i\",\"jwks_uri\":\"http://127.0.0.1/\"}",
                      local[] =
                          "{\"issuer\":\"http://[::1]\",\"jwks_uri\":\"http://[::1]/k\"}";
    assert_string_equal(keys_url(*state, "https://i", metadata), "https://k/s");
    assert_null(keys_url(*state, "https://i/", metadata));
    assert_null(keys_url(*state, "https://I", metadata));
    assert_null(keys_url(*state, "https://i", plain));
    assert_string_equal(keys_url(*state, "http://[::1]", local), "http://[::1]/k");
    assert_null(keys_url(*state, "http://[::1]",
                         "{\"issuer\":\"http://[::1]\","
                         "\"jwks_uri\":\"http://127.0.0.1:1@elsewhere/k\"}"));
    assert_null(keys_url(*state, "https://i", "[]"));
    assert_null(keys_url(*state, "https://i", "{\"issuer\":\"https://i\"}"));
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_token_is_read_in_its_parts),
        WITH(what_has_not_three_parts_is_no_token),
        WITH(base64url_has_one_form),
        WITH(an_unsigned_or_odd_header_is_refused),
        WITH(a_token_beyond_its_size_is_refused),
        WITH(claims_say_what_is_granted),
        WITH(not_before_is_forgiven_a_minute_and_no_more),
        WITH(what_is_for_others_is_refused),
        WITH(subjects_that_differ_are_told_apart_in_print),
        WITH(the_signatures_of_the_standards_are_good),
        WITH(a_key_is_found_by_its_name_alone),
        WITH(keys_for_other_ends_are_passed_over),
        WITH(what_is_no_set_or_too_much_is_refused),
        WITH(metadata_is_looked_for_where_the_standards_say),
        WITH(an_issuer_has_https_or_is_on_this_machine),
        WITH(only_the_issuers_own_metadata_names_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
