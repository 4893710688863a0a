/* Versions: three numbers, which may be of any length, and what precedes a release. */
#include "catalogue/semver.h"

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.at[i]))
            return false;
    return s.n > 0;
}

/* Cuts off the text before that character, and the character; all, where it is not
 * there. */
static struct str cut_at(struct str *rest, char at)
{
    const char *end = rest->n ? memchr(rest->at, at, rest->n) : NULL;
    struct str part = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
    size_t taken = part.n + (end != NULL);
    *rest = (struct str){rest->at + taken, rest->n - taken};
    return part;
}

struct parts {
    struct str core, before, build; /* "1.2.3", "rc.1", "7" */
    bool has_before, has_build;
};

static struct parts parts_of(struct str s)
{
    struct parts p = {0};
    p.has_build = s.n && memchr(s.at, '+', s.n);
    p.before = cut_at(&s, '+');
    p.build = s;
    p.has_before = p.before.n && memchr(p.before.at, '-', p.before.n);
    p.core = cut_at(&p.before, '-');
    return p;
}

/* Words of letters, digits and '-' between dots; `numbers`: without a 0 in front. */
static bool are_words(struct str s, bool numbers)
{
    for (bool more = true; more;) {
        more = s.n && memchr(s.at, '.', s.n);
        struct str word = cut_at(&s, '.');
        for (size_t i = 0; i < word.n; i++) {
            char c = word.at[i], lower = (char)(c | 32);
            if (!char_is_digit(c) && c != '-' && (lower < 'a' || lower > 'z'))
                return false;
        }
        if (!word.n || (numbers && is_number(word) && word.n > 1 && word.at[0] == '0'))
            return false;
    }
    return true;
}

bool semver_is(struct str text)
{
    struct parts p = parts_of(text);
    struct str rest = p.core;
    size_t dots = 0;
    for (size_t i = 0; i < rest.n; i++)
        dots += rest.at[i] == '.';
    for (int i = 0; i < 3; i++) {
        struct str number = cut_at(&rest, '.');
        if (!is_number(number) || (number.n > 1 && number.at[0] == '0'))
            return false;
    }
    return dots == 2 && (!p.has_before || are_words(p.before, true)) &&
           (!p.has_build || are_words(p.build, false));
}

/* Numbers by their value, before words; words by their bytes. */
static int compare_words(struct str a, struct str b)
{
    bool numbers = is_number(a) && is_number(b);
    if (is_number(a) != is_number(b))
        return is_number(a) ? -1 : 1;
    if (numbers && a.n != b.n)
        return a.n < b.n ? -1 : 1;
    return str_cmp(a, b);
}

static int compare_lists(struct str a, struct str b)
{
    while (a.n && b.n) {
        int order = compare_words(cut_at(&a, '.'), cut_at(&b, '.'));
        if (order)
            return order;
    }
    return a.n ? 1 : b.n ? -1 : 0;
}

int semver_compare(struct str a, struct str b)
{
    struct parts x = parts_of(a), y = parts_of(b);
    int order = compare_lists(x.core, y.core);
    if (order)
        return order;
    if (x.has_before != y.has_before)
        return x.has_before ? -1 : 1;
    return compare_lists(x.before, y.before);
}
