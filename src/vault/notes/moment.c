#include "notes/moment.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

static void put_nth(int n, struct buf *out)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool teen = n % 100 > 10 && n % 100 < 14;
    buf_printf(out, "%d%s", n, teen || n % 10 > 3 ? "th" : ends[n % 10]);
}

static int hour12(const struct tm *t)
{
    return t->tm_hour % 12 ? t->tm_hour % 12 : 12;
}

/* By strftime, which has the weeks of ISO 8601. */
static int number_by(const struct tm *t, const char *format)
{
    char text[20];
    return strftime(text, sizeof text, format, t) ? atoi(text) : 0;
}

/* The week that holds a day, where weeks begin on Sunday and the first one has January 1. */
static int sunday_week(const struct tm *t, int *year)
{
    struct tm saturday = *t;
    saturday.tm_mday += 6 - t->tm_wday;
    saturday.tm_hour = 12;
    saturday.tm_isdst = -1;
    (void)mktime(&saturday);
    *year = saturday.tm_year + 1900;
    return saturday.tm_yday / 7 + 1;
}

static bool put_zone(const struct tm *t, const char *colon, struct buf *out)
{
    long minutes = t->tm_gmtoff / 60, size = minutes < 0 ? -minutes : minutes;
    return buf_printf(out, "%c%02ld%s%02ld", minutes < 0 ? '-' : '+', size / 60, colon,
                      size % 60);
}

static bool put_number(struct str token, int n, struct buf *out)
{
    return buf_printf(out, "%0*d", token.n > 1 ? (int)token.n : 1, n);
}

static bool put_day_token(struct str k, const struct tm *t, struct buf *out)
{
    if (str_is(k, "D") || str_is(k, "DD"))
        return put_number(k, t->tm_mday, out);
    if (str_is(k, "Do"))
        put_nth(t->tm_mday, out);
    else if (str_is(k, "DDD"))
        buf_printf(out, "%d", t->tm_yday + 1);
    else if (str_is(k, "DDDD"))
        buf_printf(out, "%03d", t->tm_yday + 1);
    else if (str_is(k, "DDDo"))
        put_nth(t->tm_yday + 1, out);
    else if (str_is(k, "d") || str_is(k, "e"))
        buf_printf(out, "%d", t->tm_wday);
    else if (str_is(k, "do"))
        put_nth(t->tm_wday, out);
    else if (str_is(k, "E"))
        buf_printf(out, "%d", t->tm_wday ? t->tm_wday : 7);
    else if (str_is(k, "dd") || str_is(k, "ddd"))
        buf_printf(out, "%.*s", (int)k.n, days[t->tm_wday]);
    else if (str_is(k, "dddd"))
        buf_cstr(out, days[t->tm_wday]);
    else
        return false;
    return true;
}

static bool put_year_token(struct str k, const struct tm *t, struct buf *out)
{
    int year = t->tm_year + 1900, other = 0, week = 0;
    if (k.at[0] == 'G')
        year = number_by(t, "%G");
    else if (k.at[0] == 'W')
        week = number_by(t, "%V");
    else if (k.at[0] == 'g' || k.at[0] == 'w')
        week = sunday_week(t, &other);
    if (k.at[0] == 'g')
        year = other;
    if (str_is(k, "Y"))
        return buf_printf(out, "%d", year);
    if (str_is(k, "YYYY") || str_is(k, "GGGG") || str_is(k, "gggg"))
        return buf_printf(out, "%04d", year);
    if (str_is(k, "YY") || str_is(k, "GG") || str_is(k, "gg"))
        return buf_printf(out, "%02d", year % 100);
    if (str_is(k, "Q"))
        return buf_printf(out, "%d", t->tm_mon / 3 + 1);
    if (str_is(k, "W") || str_is(k, "WW") || str_is(k, "w") || str_is(k, "ww"))
        return put_number(k, week, out);
    if (str_is(k, "Qo"))
        put_nth(t->tm_mon / 3 + 1, out);
    else if (str_is(k, "Wo") || str_is(k, "wo"))
        put_nth(week, out);
    else
        return false;
    return true;
}

static bool put_time_token(struct str k, const struct tm *t, struct buf *out)
{
    static const char clock[] = "HhkmsA";
    int numbers[] = {t->tm_hour, hour12(t), t->tm_hour ? t->tm_hour : 24, t->tm_min,
                     t->tm_sec};
    const char *at = strchr(clock, k.at[0]);
    if (at && *at != 'A' && k.n <= 2)
        return put_number(k, numbers[at - clock], out);
    if (str_is(k, "A") || str_is(k, "a"))
        return buf_cstr(out, t->tm_hour < 12 ? (*k.at == 'A' ? "AM" : "am")
                                             : (*k.at == 'A' ? "PM" : "pm"));
    if (str_is(k, "Z") || str_is(k, "ZZ"))
        return put_zone(t, k.n == 1 ? ":" : "", out);
    if (str_is(k, "T"))
        return buf_char(out, 'T');
    return k.at[0] == 'S' && k.n <= 3 && buf_printf(out, "%0*d", (int)k.n, 0);
}

static bool put_token(struct str k, const struct tm *t, struct buf *out)
{
    if (str_is(k, "M") || str_is(k, "MM"))
        return put_number(k, t->tm_mon + 1, out);
    if (str_is(k, "MMM") || str_is(k, "MMMM"))
        return buf_printf(out, "%.*s", k.n == 3 ? 3 : 20, months[t->tm_mon]);
    if (str_is(k, "Mo")) {
        put_nth(t->tm_mon + 1, out);
        return true;
    }
    return put_day_token(k, t, out) || put_year_token(k, t, out) ||
           put_time_token(k, t, out);
}

/* The letters at `i` that belong together. */
static struct str token_at(struct str s, size_t i)
{
    size_t n = 1;
    while (i + n < s.n && s.at[i + n] == s.at[i])
        n++;
    bool ordinal = i + n < s.n && s.at[i + n] == 'o' && strchr("DMQWwd", s.at[i]) &&
                   (n == 1 || (n == 3 && s.at[i] == 'D'));
    return (struct str){s.at + i, n + ordinal};
}

bool moment_put(struct str pattern, const struct tm *t, struct buf *out, struct err *e)
{
    for (size_t i = 0; i < pattern.n;) {
        const char *at = pattern.at + i,
                   *end = *at == '[' ? memchr(at, ']', pattern.n - i) : NULL;
        if (end) {
            buf_put(out, at + 1, (size_t)(end - at) - 1);
            i += (size_t)(end - at) + 1;
        } else if (!char_is_letter(*at)) {
            buf_char(out, *at);
            i++;
        } else {
            struct str token = token_at(pattern, i);
            if (!put_token(token, t, out))
                return err_set(e, ERR_INVALID,
                               "the date format \"%.*s\" has \"%.*s\", which is unknown; "
                               "text stands in [brackets]",
                               STR_ARGS(str_cut(pattern, 80)),
                               STR_ARGS(str_cut(token, 20)));
            i += token.n;
        }
    }
    return buf_check(out, "the date", e);
}

void moment_from_java(struct str pattern, struct buf *out)
{
    for (size_t i = 0; i < pattern.n;) {
        const char *at = pattern.at + i,
                   *end = *at == '\'' ? memchr(at + 1, '\'', pattern.n - i - 1) : NULL;
        if (end) {
            buf_printf(out, "[%.*s]", (int)(end - at - 1), at + 1);
            i += (size_t)(end - at) + 1;
            continue;
        }
        struct str token = token_at(pattern, i);
        bool weekday = *at == 'E';
        for (size_t k = 0; k < token.n; k++)
            buf_char(out, *at == 'y'                         ? 'Y'
                          : *at == 'd' && token.at[k] == 'd' ? 'D'
                          : weekday                          ? 'd'
                                                             : token.at[k]);
        if (weekday && token.n < 3)
            buf_put(out, "ddd", 3 - token.n);
        i += token.n;
    }
}

bool moment_read_day(struct str text, struct tm *out)
{
    int64_t ms;
    char day[11] = "";
    if (text.n != 10 || !date_read(text, &ms))
        return false;
    memcpy(day, text.at, text.n); /* which need not end with a NUL */
    *out = (struct tm){.tm_year = atoi(day) - 1900,
                       .tm_mon = atoi(day + 5) - 1,
                       .tm_mday = atoi(day + 8),
                       .tm_hour = 12, /* on which no clock is put forward or back */
                       .tm_isdst = -1};
    return mktime(out) != (time_t)-1;
}
