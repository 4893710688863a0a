/* The formats that a text of an elicitation may be asked for in: email, uri, date,
 * date-time. Source: 2025-11-25 schema, StringSchema; RFC 3339, 3986 and 5321.
 */
#include "mcp/outlet.h"

/* `n` digits at the beginning, which are passed over; else -1. */
static int take_number(struct str *s, size_t n)
{
    int number = 0;
    if (s->n < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!char_is_digit(s->at[i]))
            return -1;
        number = 10 * number + (s->at[i] - '0');
    }
    *s = (struct str){s->at + n, s->n - n};
    return number;
}

static bool take_char(struct str *s, const char *any)
{
    if (!s->n || !s->at[0] || !strchr(any, s->at[0]))
        return false;
    *s = (struct str){s->at + 1, s->n - 1};
    return true;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct str *s)
{
    int year = take_number(s, 4);
    if (year < 0 || !take_char(s, "-"))
        return false;
    int month = take_number(s, 2);
    if (month < 1 || month > 12 || !take_char(s, "-"))
        return false;
    int day = take_number(s, 2);
    return day >= 1 && day <= days_of(year, month);
}

/* "05:16", within a day. */
static bool take_minutes(struct str *s)
{
    int hour = take_number(s, 2);
    if (hour < 0 || hour > 23 || !take_char(s, ":"))
        return false;
    int minute = take_number(s, 2);
    return minute >= 0 && minute <= 59;
}

static bool take_fraction(struct str *s)
{
    if (!take_char(s, "."))
        return true;
    size_t n = s->n;
    while (take_char(s, "0123456789"))
        continue;
    return s->n < n;
}

static bool is_date(struct str s)
{
    return take_date(&s) && !s.n;
}

static bool is_date_time(struct str s)
{
    if (!take_date(&s) || !take_char(&s, "Tt") || !take_minutes(&s) ||
        !take_char(&s, ":"))
        return false;
    int second = take_number(&s, 2);
    if (second < 0 || second > 60 || !take_fraction(&s)) /* 60: a leap second */
        return false;
    return (take_char(&s, "Zz") || (take_char(&s, "+-") && take_minutes(&s))) && !s.n;
}

/* An absolute one: a scheme, and characters that may stand in it. */
static bool is_uri(struct str s)
{
    size_t colon = 0;
    while (colon < s.n && s.at[colon] != ':')
        colon++;
    if (!s.n || !char_is_letter(s.at[0]) || colon == s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        bool common = char_is_letter(c) || char_is_digit(c);
        if (i < colon && !common && !strchr("+-.", c))
            return false;
        if (c == '%' &&
            (s.n - i < 3 || char_hex(s.at[i + 1]) < 0 || char_hex(s.at[i + 2]) < 0))
            return false;
        if (!common && (!c || !strchr("-._~:/?#[]@!$&'()*+,;=%", c)))
            return false;
    }
    return true;
}

static bool is_host(struct str s)
{
    if (s.n > 2 && s.at[0] == '[')
        return s.at[s.n - 1] == ']';
    bool edge = true; /* of a label: no dot, and no hyphen */
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (!char_is_letter(c) && !char_is_digit(c) && (signed char)c >= 0 &&
            (edge || (c != '.' && c != '-')))
            return false;
        edge = c == '.';
    }
    return !edge && s.at[s.n - 1] != '-';
}

static bool is_email(struct str s)
{
    size_t at = s.n;
    while (at > 0 && s.at[at - 1] != '@')
        at--;
    struct str local = {s.at, at ? at - 1 : 0}, host = {s.at + at, s.n - at};
    if (!local.n || local.n > 64 || !is_host(host))
        return false;
    bool quoted = local.n > 2 && local.at[0] == '"' && local.at[local.n - 1] == '"';
    for (size_t i = 0; i < local.n; i++) {
        unsigned char c = (unsigned char)local.at[i];
        if (c < ' ' || c == 127 || (!quoted && strchr(" \"(),:;<>@[\\]", c)))
            return false;
    }
    return quoted || (local.at[0] != '.' && local.at[local.n - 1] != '.');
}

bool format_fits(struct str format, struct str text, const char **such)
{
    static const struct {
        const char *name;
        bool (*fits)(struct str text);
        const char *such;
    } formats[] = {
        {"email", is_email, "an address such as ada@example.org"},
        {"uri", is_uri, "a URI such as https://example.org/"},
        {"date", is_date, "a date such as 2026-11-21"},
        {"date-time", is_date_time, "a time such as 2026-11-21T05:16:00Z"},
    };
    for (size_t i = 0; i < LENGTH(formats); i++)
        if (str_is(format, formats[i].name)) {
            *such = formats[i].such;
            return formats[i].fits(text);
        }
    return true;
}
