/* sha256sum [FILE...]: SHA-256 (FIPS 180-4) of files, or of standard input. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sum {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

static uint32_t right(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void put_block(struct sum *s)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2};
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[i - 7] +
               (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    memcpy(v, s->state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (right(v[4], 6) ^ right(v[4], 11) ^ right(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t two = (right(v[0], 2) ^ right(v[0], 13) ^ right(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->state[i] += v[i];
}

static void put(struct sum *s, const unsigned char *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->block[s->bytes++ % 64] = in[i];
        if (s->bytes % 64 == 0)
            put_block(s);
    }
}

static void print_sum(struct sum *s, const char *name)
{
    uint64_t bits = s->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    put(s, (const unsigned char *)"\x80", 1);
    while (s->bytes % 64 != 56)
        put(s, (const unsigned char *)"", 1);
    put(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        printf("%08x", (unsigned)s->state[i]);
    printf("  %s\n", name);
}

static int sum_file(const char *name)
{
    static unsigned char part[65536];
    struct sum s = {.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
    int own = strcmp(name, "-") != 0;
    FILE *f = own ? fopen(name, "rb") : stdin;
    size_t n;
    while (f && (n = fread(part, 1, sizeof part, f)) > 0)
        put(&s, part, n);
    int ok = f && !ferror(f);
    if (!ok)
        fprintf(stderr, "sha256sum: %s: %s\n", name, strerror(errno));
    else
        print_sum(&s, name);
    if (f && own)
        fclose(f);
    return ok;
}

int main(int argc, char **argv)
{
    int ok = 1;
    if (argc < 2)
        ok = sum_file("-");
    for (int i = 1; i < argc; i++)
        ok &= sum_file(argv[i]);
    return ok ? 0 : 1;
}
