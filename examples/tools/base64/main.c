/* base64 MODE INPUT: encodes text as base64, or decodes it (RFC 4648, section 4). */
#include <stdio.h>
#include <string.h>

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(const unsigned char *in, size_t n)
{
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned group = (unsigned)in[i] << 16;
        group |= left > 1 ? (unsigned)in[i + 1] << 8 : 0;
        group |= left > 2 ? in[i + 2] : 0;
        putchar(digits[group >> 18]);
        putchar(digits[group >> 12 & 63]);
        putchar(left > 1 ? digits[group >> 6 & 63] : '=');
        putchar(left > 2 ? digits[group & 63] : '=');
    }
    putchar('\n');
}

/* Four digits, of which the last two may be '='; 0: they are none. */
static int decode_group(const char *in, int last)
{
    unsigned group = 0;
    int padding = last ? (in[3] == '=') + (in[2] == '=' && in[3] == '=') : 0;
    for (int i = 0; i < 4; i++) {
        const char *digit = i < 4 - padding ? memchr(digits, in[i], 64) : digits;
        if (!digit)
            return 0;
        group = group << 6 | (unsigned)(digit - digits);
    }
    for (int i = 0; i < 3 - padding; i++)
        putchar((int)(group >> (16 - 8 * i) & 255));
    return 1;
}

static int decode(const char *in, size_t n)
{
    int ok = n % 4 == 0;
    for (size_t i = 0; ok && i < n; i += 4)
        ok = decode_group(in + i, i + 4 == n);
    if (!ok)
        fprintf(stderr, "base64: the input is not base64\n");
    else
        putchar('\n');
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    int encodes = argc == 3 && !strcmp(argv[1], "encode");
    if (argc != 3 || (!encodes && strcmp(argv[1], "decode"))) {
        fprintf(stderr, "usage: base64 encode|decode INPUT\n");
        return 2;
    }
    if (!encodes)
        return decode(argv[2], strlen(argv[2]));
    encode((const unsigned char *)argv[2], strlen(argv[2]));
    return 0;
}
