/* Corner cases of the C library, for test_libc.py: prints what it answers, where there are many
 * cases a sum of them, so that two systems can be compared. What the standard leaves open is
 * not asked. */
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- sums --------------------------------------------------------------- */

static uint64_t sum;
static unsigned long added;

static void add(int64_t v)
{
    sum = (sum ^ (uint64_t)v) * 1099511628211u;
    sum ^= sum >> 29;
    added++;
}

static void add_sign(int v)
{
    add((v > 0) - (v < 0));
}

static void add_place(const void *p, const void *from)
{
    add(p ? (const char *)p - (const char *)from : -1);
}

static void add_bytes(const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add((unsigned char)b[i]);
}

static void add_double(double d)
{
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    add(isnan(d) ? 1 : bits);
}

static void say(const char *name)
{
    printf("%s: %lu, %016" PRIx64 "\n", name, added, sum);
    sum = added = 0;
}

/* ---- strings ------------------------------------------------------------ */

static char words[4000][8];
static int count;

/* All words of up to `max` of these letters. */
static void spell(const char *letters, int max)
{
    int n = (int)strlen(letters), all = 1;
    count = 0;
    for (int length = 0; length <= max; length++, all *= n)
        for (int w = 0; w < all && count < (int)LENGTH(words); w++, count++) {
            memset(words[count], 0, sizeof words[count]);
            for (int i = 0, v = w; i < length; i++, v /= n)
                words[count][i] = letters[v % n];
        }
}

typedef void pair_fn(const char *a, const char *b);

static void each_pair(const char *name, pair_fn *f)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            f(words[i], words[j]);
    say(name);
}

static void compare(const char *a, const char *b)
{
    add_sign(strcmp(a, b));
    add_sign(strcasecmp(a, b));
    for (size_t n = 0; n < 7; n++) {
        add_sign(strncmp(a, b, n));
        add_sign(strncasecmp(a, b, n));
    }
}

static void find(const char *a, const char *b)
{
    add_place(strstr(a, b), a);
    add_place(strcasestr(a, b), a);
    add_place(memmem(a, strlen(a), b, strlen(b)), a);
    add_place(strpbrk(a, b), a);
    add((int64_t)strspn(a, b));
    add((int64_t)strcspn(a, b));
}

static void copy(const char *a, const char *b)
{
    char to[32];
    for (size_t n = 0; n < 7; n++) {
        memset(to, '.', sizeof to);
        strncat(strcpy(to, a), b, n);
        add_bytes(to, 16);
        memset(to, '.', sizeof to);
        add_place(stpncpy(to, b, n), to);
        add_bytes(to, 16);
        memset(to, '.', sizeof to);
        add_place(memccpy(to, a, 'b', n), to);
        add_bytes(to, 16);
        add_place(stpcpy(to, b), to);
        add((int64_t)strnlen(a, n));
    }
}

static void split(const char *a, const char *b)
{
    char text[16], *rest;
    strcpy(text, a);
    for (char *t = strtok_r(text, b, &rest); t; t = strtok_r(NULL, b, &rest)) {
        add_place(t, text);
        add((int64_t)strlen(t));
    }
    strcpy(text, a);
    rest = text;
    for (char *t; *b && (t = strsep(&rest, b));)
        add_place(t, text);
}

static void widen(wchar_t *to, const char *from)
{
    do
        *to++ = (unsigned char)*from;
    while (*from++);
}

static void wide(const char *a8, const char *b8)
{
    wchar_t a[16], b[16], to[32], *rest;
    widen(a, a8);
    widen(b, b8);
    add_sign(wcscmp(a, b));
    add_place(wcsstr(a, b), a);
    add_place(wcspbrk(a, b), a);
    add_place(wcschr(a, b[0]), a);
    add_place(wcsrchr(a, b[0]), a);
    add((int64_t)wcsspn(a, b) + (int64_t)wcscspn(a, b));
    for (size_t n = 0; n < 6; n++) {
        add_sign(wcsncmp(a, b, n));
        add((int64_t)wcslen(wcsncat(wcscpy(to, a), b, n)));
        add((int64_t)wcsnlen(a, n));
    }
    wcscpy(to, a);
    for (wchar_t *t = wcstok(to, b, &rest); t; t = wcstok(NULL, b, &rest))
        add((int64_t)wcslen(t));
}

static void bytes(void)
{
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 256; c++) {
            const char *a = words[i];
            add_place(strchr(a, c), a);
            add_place(strrchr(a, c), a);
            add_place(strchrnul(a, c), a);
            add_place(memchr(a, c, strlen(a) + 1), a);
            add_place(memrchr(a, c, strlen(a) + 1), a);
        }
    say("bytes");
}

static void kinds(void)
{
    for (int c = -1; c < 256; c++) {
        add(!!isalnum(c) | !!isalpha(c) << 1 | !!isblank(c) << 2 | !!iscntrl(c) << 3 |
            !!isdigit(c) << 4 | !!isgraph(c) << 5 | !!islower(c) << 6 |
            !!isprint(c) << 7 | !!ispunct(c) << 8 | !!isspace(c) << 9 |
            !!isupper(c) << 10 | !!isxdigit(c) << 11);
        add(tolower(c));
        add(toupper(c));
    }
    say("kinds of characters");
}

/* ---- numbers ------------------------------------------------------------ */

static void whole_text(const char *text, int base)
{
    char *end = NULL;
    wchar_t text32[64], *end32;
    widen(text32, text);
    errno = 0;
    int64_t v = strtoll(text, &end, base);
    printf("%" PRId64 " %d%s", v, (int)(end - text), errno == ERANGE ? "!" : "");
    errno = 0;
    uint64_t u = strtoull(text, &end, base);
    printf(" %" PRIu64 " %d%s", u, (int)(end - text), errno == ERANGE ? "!" : "");
    (void)strtol(text, &end, base); /* its size differs between systems */
    printf(" %d", (int)(end - text));
    (void)strtoul(text, &end, base);
    printf(" %d", (int)(end - text));
    printf(" %d", strtoimax(text, &end, base) == v);
    printf(" %d", (int)(end - text));
    printf(" %d", strtoumax(text, &end, base) == u);
    printf(" %d", wcstoll(text32, &end32, base) == v);
    printf(" %d;", (int)(end32 - text32));
}

static void whole_texts(void)
{
    static const char *const texts[] = {"",
                                        "-",
                                        "+",
                                        " -",
                                        "--1",
                                        "- 1",
                                        "+-3",
                                        "0",
                                        "-0",
                                        "0x",
                                        "0x ",
                                        "0xg",
                                        "0x1g",
                                        "-0x1f",
                                        "+0X1F",
                                        "0x-1",
                                        "0x0x1",
                                        "00x1",
                                        "08",
                                        "010",
                                        "  -077x",
                                        "  \t\n\v\f\r12",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "-9223372036854775809",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "-18446744073709551615",
                                        "-18446744073709551616",
                                        "99999999999999999999999999",
                                        "7fffffffffffffff",
                                        "ffffffffffffffff",
                                        "1_000",
                                        "1e5",
                                        "1 2",
                                        "z",
                                        "zz",
                                        "Z9",
                                        "\x80"
                                        "1",
                                        "1\x80"};
    static const int bases[] = {0, 2, 8, 10, 16, 35, 36};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        printf("strtol %zu:", i);
        for (size_t b = 0; b < LENGTH(bases); b++)
            whole_text(texts[i], bases[b]);
        printf("\n");
    }
    static const char *const small[] = {"", "-", "+", " 12x", "-7", "+7", "--7", "007"};
    for (size_t i = 0; i < LENGTH(small); i++)
        printf("%d %ld %lld;", atoi(small[i]), atol(small[i]), atoll(small[i]));
    printf("\n");
}

static void real_texts(void)
{
    static const char *const texts[] = {
        "",
        "-",
        ".",
        "-.",
        "0",
        "-0",
        "1",
        "1.",
        ".5",
        "-.5e",
        "1e",
        "1e+",
        "1e+1",
        "1E-1",
        "0x",
        "0x.",
        "0x.8",
        "0x1p",
        "0x1p4",
        "0x1.8p-3",
        "0x1.fffffffffffff8p0",
        "0x1.fffffffffffff7p0",
        "0x0p0",
        "0x1p-1075",
        "0x1.8p-1075",
        "0x1p1024",
        "inf",
        "-INFINITY",
        "infi",
        "nan",
        "1e308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e309",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "9007199254740993",
        "9007199254740992.99999999999999999999999999",
        "9007199254740993.0000000000000000000000001",
        "123456789012345678901234567890",
        "0.1",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "6.02214076e23",
        "5e-324",
        "1e-400",
        "1 2",
        "1,5",
        "  12.5x",
        "1e-2147483650",
        "1e2147483650",
        "0.000000000000000000000000000000000000000000000000000000000001"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        char *end, *end_of_float;
        errno = 0;
        double d = strtod(texts[i], &end);
        bool over = errno == ERANGE && isinf(d) && !strchr(texts[i], 'x');
        float f = strtof(texts[i], &end_of_float);
        int64_t bits;
        memcpy(&bits, &d, sizeof bits);
        printf("strtod %zu: %" PRIx64 " %d%s", i, isnan(d) ? 0 : bits,
               (int)(end - texts[i]), over ? "!" : "");
        printf(" %.9g %d\n", isnan(f) ? 0.0 : (double)f, (int)(end_of_float - texts[i]));
    }
}

static void printed(void)
{
    static const double numbers[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     1.5,
                                     2.5,
                                     0.1,
                                     1e-5,
                                     123456,
                                     1234567,
                                     1e15,
                                     1e16,
                                     1e17,
                                     123456789.123456789,
                                     5e-324,
                                     2.2250738585072014e-308,
                                     1.7976931348623157e308,
                                     3.141592653589793,
                                     1e21,
                                     1e22,
                                     1e23,
                                     9.5,
                                     99.95,
                                     999.5,
                                     0.00009999995,
                                     9.9999995,
                                     INFINITY,
                                     -INFINITY};
    static const char *const formats[] = {
        "%g",   "%.0g",    "%.1g",     "%.3g",  "%.17g", "%#g",   "%G",
        "%f",   "%.0f",    "%.1f",     "%.3f",  "%.20f", "%#.0f", "%e",
        "%.0e", "%.1e",    "%.16e",    "%.25e", "%#.0e", "%E",    "%+g",
        "% g",  "%020.5f", "%-20.5e|", "%+.3E"};
    for (size_t f = 0; f < LENGTH(formats); f++)
        for (size_t i = 0; i < LENGTH(numbers); i++) {
            char text[400];
            int n = snprintf(text, sizeof text, formats[f], numbers[i]);
            printf("%s %d %.60s%s\n", formats[f], n, text, n > 60 ? text + n - 20 : "");
        }
    static const char *const whole[] = {"%d",    "%5d",   "%-5d|", "%05d", "%+d", "% d",
                                        "%.3d",  "%8.3d", "%.0d",  "%x",   "%#x", "%#o",
                                        "%#08x", "%X",    "%hhd",  "%hd",  "%u"};
    static const int values[] = {0,   1,   -1,    42,         -42,
                                 255, 256, 65535, 2147483647, -2147483647 - 1};
    for (size_t f = 0; f < LENGTH(whole); f++)
        for (size_t i = 0; i < LENGTH(values); i++) {
            char text[64], cut[4];
            int n = snprintf(text, sizeof text, whole[f], values[i]);
            printf("%s %d %s", whole[f], n, text);
            printf(" %d %s\n", snprintf(cut, sizeof cut, whole[f], values[i]), cut);
        }
    printf("%.3s|%5s|%-5s|%.*s|%*d|%c|%%|%lld|%zu|%jd|%.10Lg\n", "abcdef", "ab", "c", 2,
           "xyz", -6, 7, 'A', -5LL, (size_t)7, (intmax_t)9, 0.1L * 3);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void whole(void)
{
    for (int v = -70000; v < 70000; v += 7) {
        volatile int at = v;
        div_t d = div(at, 13);
        lldiv_t l = lldiv(at * 1000003LL, -17);
        imaxdiv_t m = imaxdiv(at, -9);
        add(ffs(at) + 100 * ffsl(at));
        add(abs(at) + labs(at) + llabs(at) + imaxabs(at));
        add(d.quot + d.rem + l.quot + l.rem + m.quot + m.rem);
    }
    say("whole");
    for (int n = 0; n < 300; n++) {
        int a[300];
        unsigned seed = (unsigned)n * 7919u;
        for (int i = 0; i < n; i++) {
            seed = seed * 1103515245u + 12345u;
            a[i] = (int)(seed >> 16) % (n % 3 ? 50 : 5);
        }
        qsort(a, (size_t)n, sizeof *a, by_value);
        for (int i = 0; i < n; i++)
            add(a[i]);
        for (int v = 0; v < 50; v += 7)
            add(bsearch(&v, a, (size_t)n, sizeof *a, by_value) != NULL);
    }
    say("sort");
}

/* Those whose result is exact. */
static void exact(double x, int k)
{
    double of_whole;
    int power;
    add_double(floor(x) + ceil(x) / 3);
    add_double(trunc(x));
    add_double(round(x));
    add_double(rint(x));
    add_double(nearbyint(x));
    add_double(frexp(x, &power));
    add(power);
    add_double(modf(x, &of_whole));
    add_double(of_whole);
    add_double(fmod(x, 3.7));
    add_double(fmod(3e10, x));
    add_double(remainder(x, 1.1));
    add_double(scalbn(x, k - 20));
    add_double(logb(x));
    add_double(nextafter(x, 0));
    add_double(fdim(x, 2));
    add_double(sqrt(fabs(x)));
    add_double(fma(x, x, -1));
    add_double((double)fmodf((float)x, 1.3f));
    add_double((double)roundf((float)x));
    add_double((double)sqrtf(fabsf((float)x)));
    add_double((double)(long double)(fmodl(fabs(x) < 1e18 ? (long double)x : 1, 7)));
}

static void exact_all(void)
{
    uint64_t seed = 1;
    for (int exponent = 0; exponent < 2047; exponent++)
        for (int k = 0; k < 40; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t bits =
                seed >> 12 | (uint64_t)exponent << 52 | (uint64_t)(k & 1) << 63;
            double x;
            memcpy(&x, &bits, sizeof x);
            exact(x, k);
        }
    say("exact");
}

int main(void)
{
    for (int fd = 0; fd < 3; fd++)
        printf("%d: %s\n", fd,
               (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? "reads" : "writes");
    spell("ab", 5);
    each_pair("find", find);
    each_pair("copy", copy);
    each_pair("wide", wide);
    bytes();
    spell("aB ", 4);
    each_pair("compare", compare);
    each_pair("split", split);
    kinds();
    whole();
    whole_texts();
    real_texts();
    printed();
    exact_all();
    srand48(7);
    for (int i = 0; i < 20; i++) {
        double d = drand48();
        long l = lrand48(), m = mrand48();
        printf("%.17g %ld %ld\n", d, l, m);
    }
    return 0;
}
