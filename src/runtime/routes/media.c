/* Media types: what a body is, and what its reader wants. RFC 9110, sections 8.3, 12.5. */

#include "routes/internal.h"

static struct str next_part(struct str *rest, char end)
{
    return str_trim(locator_next(rest, end));
}

bool media_is(struct str field, const char *type)
{
    return str_same(next_part(&field, ';'), str_of(type));
}

/* "0.85" as 850; what is no weight counts as 1000, as if it were not there. */
static unsigned read_weight(struct str s)
{
    if (!s.n || (s.at[0] != '0' && s.at[0] != '1'))
        return 1000;
    unsigned weight = s.at[0] == '1' ? 1000 : 0;
    for (size_t i = 2, unit = 100; weight < 1000 && i < s.n && i < 5; i++, unit /= 10)
        if (char_is_digit(s.at[i]))
            weight += (unsigned)((size_t)(s.at[i] - '0') * unit);
    return weight;
}

static unsigned weight_of(struct str parameters)
{
    while (parameters.n) {
        struct str value = next_part(&parameters, ';');
        struct str name = next_part(&value, '=');
        if (str_same(name, STR("q")))
            return read_weight(value);
    }
    return 1000;
}

/* How exactly a range means the type: 0 not at all, 3 by its full name. */
static unsigned media_fit(struct str range, const char *type)
{
    size_t family = (size_t)(strchr(type, '/') - type);
    if (str_same(range, str_of(type)))
        return 3;
    if (range.n == family + 2 && str_ends(range, "/*") &&
        str_same((struct str){range.at, family}, (struct str){type, family}))
        return 2;
    return str_is(range, "*/*");
}

unsigned media_wanted(struct str accept, const char *type)
{
    unsigned best = 0, wanted = 0;
    if (!str_trim(accept).n)
        return 1000;
    while (accept.n) {
        struct str range = next_part(&accept, ',');
        unsigned exact = media_fit(next_part(&range, ';'), type);
        if (exact > best || (exact && exact == best && weight_of(range) > wanted)) {
            best = exact;
            wanted = weight_of(range);
        }
    }
    return wanted;
}
