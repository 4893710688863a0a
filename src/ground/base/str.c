#include "base/base.h"

struct str str_of(const char *s)
{
    return s ? (struct str){s, strlen(s)} : (struct str){"", 0};
}

bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

bool str_is(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}

bool str_same(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.at, b.at, a.n) == 0);
}

bool str_is_one_of(struct str a, const char *const *list)
{
    while (*list && !str_is(a, *list))
        list++;
    return *list != NULL;
}

bool str_is_name(struct str s, const char *marks, size_t most)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i], lower = (char)(c | 0x20);
        bool letter = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || !c || !strchr(marks, c)))
            return false;
    }
    return s.n > 0 && s.n <= most;
}

bool str_starts(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.at, prefix, n) == 0;
}

bool str_ends(struct str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.n >= n && memcmp(s.at + s.n - n, suffix, n) == 0;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.at, b.at, n) : 0;
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool char_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool char_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int char_hex(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char char_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool char_is_word(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '$' || c & 0x80;
}

bool str_holds(struct str all, struct str part)
{
    for (size_t i = 0; part.n && i + part.n <= all.n; i++)
        if (strncasecmp(all.at + i, part.at, part.n) == 0)
            return true;
    return !part.n;
}

bool str_is_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.at[i]) && !(s.at[i] >= 'a' && s.at[i] <= 'f'))
            return false;
    return true;
}

void hex_write(const void *bytes, size_t n, char *out)
{
    for (const unsigned char *b = bytes; n; b++, n--) {
        *out++ = "0123456789abcdef"[*b >> 4];
        *out++ = "0123456789abcdef"[*b & 15];
    }
    *out = '\0';
}

struct str str_trim(struct str s)
{
    while (s.n && char_is_space(s.at[0]))
        s.at++, s.n--;
    while (s.n && char_is_space(s.at[s.n - 1]))
        s.n--;
    return s;
}

char *str_cz(struct str s, struct arena *a, struct err *e)
{
    if (s.n && memchr(s.at, '\0', s.n)) {
        err_set(e, ERR_INVALID, "text with a NUL byte where none may be");
        return NULL;
    }
    return arena_copy(a, s.at, s.n, e);
}

/* Bytes of the character at `p`, or 0 when it is not valid UTF-8. */
static size_t char_length(const unsigned char *p, size_t left)
{
    unsigned char c = p[0];
    if (c < 0x80)
        return 1;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c == 0xe0 && p[1] < 0xa0) || (c == 0xf0 && p[1] < 0x90);
    bool surrogate = c == 0xed && p[1] > 0x9f;
    bool beyond = c == 0xf4 && p[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : n;
}

bool str_is_utf8(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.at;
    for (size_t i = 0; i < s.n;) {
        /* Eight plain bytes at a time: most text is. */
        uint64_t eight;
        if (s.n - i >= 8 &&
            (memcpy(&eight, p + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        size_t n = char_length(p + i, s.n - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

struct str str_cut(struct str s, size_t max)
{
    size_t n = s.n < max ? s.n : max;
    /* Step back over at most three continuation bytes to a start byte, and
     * keep the last character only when all of it is there. */
    size_t start = n;
    while (start > 0 && n - start < 4 && ((unsigned char)s.at[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && (unsigned char)s.at[start - 1] >= 0xc0) {
        size_t at = start - 1;
        size_t whole = char_length((const unsigned char *)s.at + at, s.n - at);
        n = whole && at + whole <= n ? at + whole : at;
    } else if (start != n) {
        n = start;
    }
    return (struct str){s.at, n};
}

struct str str_cut_list(struct str s, size_t max)
{
    size_t end = s.n;
    for (size_t i = 0; s.n > max && i <= max; i++)
        if (i == 0 || (s.at[i] == ',' && i + 1 < s.n && s.at[i + 1] == ' '))
            end = i;
    return (struct str){s.at, end};
}

uint32_t str_next_char(const char **at, const char *end)
{
    const unsigned char *p = (const unsigned char *)*at;
    size_t n = char_length(p, (size_t)(end - *at));
    if (n == 0) {
        (*at)++;
        return 0xfffd;
    }
    *at += n;
    switch (n) {
    case 1:
        return p[0];
    case 2:
        return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    case 3:
        return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    default:
        return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 |
               (p[3] & 0x3fu);
    }
}

static bool same_letter(char a, char b)
{
    return a == b || ((a ^ b) == 0x20 && (((a | 0x20) >= 'a') && (a | 0x20) <= 'z'));
}

size_t str_distance(struct str a, struct str b)
{
    enum { MOST = 64 };
    /* Row i of the table depends on the two before it alone. */
    size_t rows[3][MOST + 1];
    a.n = a.n < MOST ? a.n : MOST;
    b.n = b.n < MOST ? b.n : MOST;
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t best = last[j - 1] + !same_letter(a.at[i - 1], b.at[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && same_letter(a.at[i - 1], b.at[j - 2]) &&
                same_letter(a.at[i - 2], b.at[j - 1]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a.n % 3][b.n];
}

const char *str_nearest(struct str wrong, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t least = (wrong.n < 4 ? 1u : wrong.n < 8 ? 2u : 3u) + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = str_distance(wrong, str_of(names[i]));
        if (d < least && d < strlen(names[i])) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

const char *str_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}
