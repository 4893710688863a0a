/* An answer that comes in pieces, out of which a secret is taken. The input: a byte, which says how the
 * text behind it is cut up (0: into single bytes). Whatever comes, nothing that could be found is
 * passed on; where the whole text holds no secret, it is passed on as it is. The two exceptions of
 * sieve_put() (letters of base64 at the end of a line, and how many marks stand for values that
 * overlap) leave nothing to find either. */
#include "driver.h"
#include "egress/internal.h"

static struct secret secret = {.name = "KEY"};
static const struct egress_rules rules = {.secrets = &secret, .secret_count = 1};

/* Deterministic, and uneven. */
static size_t next_piece(uint8_t seed, size_t at)
{
    return seed ? 1 + (seed * (at + 7u) * 2654435761u >> 24) % (seed % 32 + 1u) : 1;
}

static void in_pieces(const struct keys *k, struct str text, uint8_t seed,
                      struct buf *out)
{
    struct sieve s;
    size_t passed = 0;
    sieve_init(&s, k);
    do {
        size_t n = next_piece(seed, passed);
        n = n < text.n - passed ? n : text.n - passed;
        size_t before = out->n;
        holds(
            sieve_put(&s, (struct str){text.at + passed, n}, passed + n == text.n, out));
        holds(out->n >= before && s.sent <= s.window.n);
        passed += n;
    } while (passed < text.n);
    holds(s.sent == s.window.n); /* all has been passed on */
    sieve_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char value[] = "s3cr<t/\"+&1234";
    struct err why = {0};
    struct buf held;
    scoped_buf struct buf whole, pieces, again;
    if (size < 2 || size > 1024)
        return 0;
    struct str text = {(const char *)data + 1, size - 1};
    buf_init(&held, 4096);
    buf_init(&whole, 1 << 20);
    buf_init(&pieces, 1 << 20);
    buf_init(&again, 1 << 20);
    buf_cstr(&held, value);
    const struct keys keys = {&rules, &held, &why};
    buf_str(&whole, text);
    holds(keys_scrub(&keys, &whole));
    in_pieces(&keys, text, data[0], &pieces);
    buf_str(&again, buf_view(&pieces));
    holds(keys_scrub(&keys, &again));
    holds(str_eq(buf_view(&again), buf_view(&pieces)));
    if (str_eq(buf_view(&whole), text))
        holds(str_eq(buf_view(&pieces), text));
    buf_done(&held);
    return 0;
}
