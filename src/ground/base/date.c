/* Dates as people and programs write them (ISO 8601, RFC 3339). */
#include <time.h>

#include "base/base.h"

/* Reads exactly `digits` digits. */
static bool date_number(struct str *s, unsigned digits, int *out)
{
    if (s->n < digits)
        return false;
    *out = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (s->at[i] < '0' || s->at[i] > '9')
            return false;
        *out = *out * 10 + (s->at[i] - '0');
    }
    s->at += digits;
    s->n -= digits;
    return true;
}

static bool date_sign(struct str *s, const char *accepted, char *which)
{
    if (s->n == 0 || !s->at[0] || !strchr(accepted, s->at[0]))
        return false;
    *which = s->at[0];
    s->at++;
    s->n--;
    return true;
}

static bool clock_time(struct str *s, struct tm *t, int *milli)
{
    char which;
    if (!date_number(s, 2, &t->tm_hour) || !date_sign(s, ":", &which) ||
        !date_number(s, 2, &t->tm_min))
        return false;
    if (!date_sign(s, ":", &which))
        return true;
    if (!date_number(s, 2, &t->tm_sec))
        return false;
    if (!date_sign(s, ".,", &which))
        return true;
    int scale = 100, digit, digits = 0;
    for (; date_number(s, 1, &digit); digits++, scale /= 10)
        *milli += digit * scale;
    return digits > 0;
}

static bool zone(struct str *s, int *minutes)
{
    char which;
    *minutes = 0;
    *s = str_trim(*s);
    if (s->n == 0 || date_sign(s, "Zz", &which))
        return true;
    int h, m = 0;
    if (!date_sign(s, "+-", &which) || !date_number(s, 2, &h))
        return false;
    char colon;
    (void)date_sign(s, ":", &colon);
    if (s->n && !date_number(s, 2, &m))
        return false;
    *minutes = (h * 60 + m) * (which == '-' ? -1 : 1);
    return h <= 23 && m <= 59;
}

bool date_read(struct str text, int64_t *ms)
{
    struct str s = str_trim(text);
    struct tm t = {.tm_mday = 1};
    int milli = 0, minutes = 0;
    char which;
    if (!date_number(&s, 4, &t.tm_year) || !date_sign(&s, "-", &which) ||
        !date_number(&s, 2, &t.tm_mon) || !date_sign(&s, "-", &which) ||
        !date_number(&s, 2, &t.tm_mday))
        return false;
    if (date_sign(&s, "Tt ", &which) &&
        (!clock_time(&s, &t, &milli) || !zone(&s, &minutes)))
        return false;
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (s.n || t.tm_mon < 1 || t.tm_mon > 12 || t.tm_mday < 1 ||
        t.tm_mday > days[t.tm_mon - 1] || t.tm_hour > 24 || t.tm_min > 59 ||
        t.tm_sec > 60)
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    *ms = ((int64_t)timegm(&t) - minutes * 60) * 1000 + milli;
    return true;
}

/* Over the zeros that end at `last`. */
static void put_digits(char *last, int n)
{
    for (; n; n /= 10)
        *last-- = (char)('0' + n % 10);
}

void date_format(int64_t ms, char out[static 25])
{
    time_t seconds = (time_t)(ms / 1000);
    int rest = (int)(ms % 1000);
    if (rest < 0) {
        rest += 1000;
        seconds--;
    }
    struct tm t;
    if (!gmtime_r(&seconds, &t) || t.tm_year < -1900 || t.tm_year > 8099) {
        memcpy(out, "1970-01-01T00:00:00.000Z", 25);
        return;
    }
    memcpy(out, "0000-00-00T00:00:00.000Z", 25);
    put_digits(out + 3, t.tm_year + 1900);
    put_digits(out + 6, t.tm_mon + 1);
    put_digits(out + 9, t.tm_mday);
    put_digits(out + 12, t.tm_hour);
    put_digits(out + 15, t.tm_min);
    put_digits(out + 18, t.tm_sec);
    put_digits(out + 22, rest);
}
