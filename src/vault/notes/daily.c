/* notes.daily: the note of a day, where the vault's own program has it. */
#include <stdio.h>

#include "notes/moment.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/write.h"

struct daily {
    struct vault *v;
    struct tm day;
    char path[PATH_MAX];
    struct buf name; /* the format, filled in: it may have folders */
    struct str title, folder;
};

/* ---- which day ------------------------------------------------------------- */

/* In the time zone of the person: TZ, or the computer's. */
static bool read_day(struct vault *v, struct str text, struct tm *out, struct err *e)
{
    static const char *const words[] = {"yesterday", "today", "tomorrow"};
    time_t now = (time_t)(vault_now(v) / 1000);
    if (moment_read_day(text, out))
        return true;
    for (int i = 0; i < 3; i++) {
        if (!str_is(text.n ? text : STR("today"), words[i]))
            continue;
        if (!localtime_r(&now, out))
            break;
        out->tm_mday += i - 1;
        out->tm_isdst = -1;
        if (i != 1)
            out->tm_hour = 12;
        return mktime(out) != (time_t)-1;
    }
    return err_set(
        e, ERR_INVALID,
        "notes.daily: date is a day, as '2026-12-01', or 'yesterday', 'today' or "
        "'tomorrow'");
}

/* ---- where it is ----------------------------------------------------------- */

static bool place(struct daily *d, struct err *e)
{
    const struct conventions *own = &d->v->settings.own;
    scoped_buf struct buf stem = buf_of(BUF_LINE);
    if (own->daily_folder.n)
        buf_printf(&d->name, "%.*s/", STR_ARGS(own->daily_folder));
    if (!moment_put(own->daily_format, &d->day, &d->name, e))
        return false;
    struct str all = buf_view(&d->name);
    d->title = name_file(all);
    d->folder = (struct str){all.at, all.n - d->title.n};
    d->folder.n -= d->folder.n > 0;
    if (!name_from_title(d->title, &stem) || !name_is_folder(d->folder))
        return err_set(e, ERR_INVALID,
                       "the format of daily notes, \"%.*s\", gives \"%.*s\", which is no "
                       "path of a note",
                       STR_ARGS(str_cut(own->daily_format, 80)),
                       STR_ARGS(str_cut(all, 80)));
    int n = snprintf(d->path, sizeof d->path, "%.*s%s%s.md", STR_ARGS(d->folder),
                     d->folder.n ? "/" : "", buf_cz(&stem));
    return (n > 0 && (size_t)n < sizeof d->path && name_is_path(str_of(d->path))) ||
           err_set(e, ERR_INVALID, "the path of the daily note would be too long");
}

/* ---- what a new one holds --------------------------------------------------- */

/* "{{date:dddd}}", "{{title}}", "{{time}}" at `i`: bytes of it; 0: none of these. */
static size_t put_field(const struct daily *d, struct str s, size_t i, struct buf *out,
                        struct err *e)
{
    const char *end = memmem(s.at + i, s.n - i, "}}", 2);
    if (!end || !str_starts((struct str){s.at + i, s.n - i}, "{{"))
        return 0;
    struct str field = {s.at + i + 2, (size_t)(end - s.at) - i - 2};
    const char *colon = memchr(field.at, ':', field.n);
    struct str name = field, format = STR("");
    if (colon) {
        name.n = (size_t)(colon - field.at);
        format = (struct str){colon + 1, field.n - name.n - 1};
    }
    name = str_trim(name);
    if (str_is(name, "title"))
        buf_str(out, d->title);
    else if (str_is(name, "date"))
        (void)moment_put(format.n ? format : STR("YYYY-MM-DD"), &d->day, out, e);
    else if (str_is(name, "time"))
        (void)moment_put(format.n ? format : STR("HH:mm"), &d->day, out, e);
    else
        return 0;
    return field.n + 4;
}

static bool put_template(const struct daily *d, struct str text, struct buf *out,
                         struct err *e)
{
    for (size_t i = 0; i < text.n && !e->code;) {
        size_t n = text.at[i] == '{' ? put_field(d, text, i, out, e) : 0;
        if (!n)
            buf_char(out, text.at[i]);
        i += n ? n : 1;
    }
    return !e->code && buf_check(out, "the daily note", e);
}

/* *found false: there is no template. */
static bool read_template(const struct daily *d, struct buf *out, bool *found,
                          struct err *e)
{
    struct str model = d->v->settings.own.daily_template;
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    char path[PATH_MAX];
    struct os_stat st;
    *found = false;
    int n = snprintf(path, sizeof path, "%.*s.md", STR_ARGS(model));
    if (!model.n || n >= PATH_MAX || !name_is_path(str_of(path)))
        return true;
    return vault_read(d->v, path, &bytes, &st, found, e) &&
           (!*found || put_template(d, buf_view(&bytes), out, e));
}

static const struct json *creation_of(const struct daily *d, bool dry_run,
                                      struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(NOTE_SIZE_MAX),
                          all = buf_of((size_t)NOTE_SIZE_MAX * 3);
    bool found;
    if (!read_template(d, &text, &found, e))
        return NULL;
    struct json_writer w = json_writer(&all);
    json_open_object(&w);
    json_pair_str(&w, "title", d->title);
    json_pair_str(&w, "folder", d->folder);
    json_pair_str(&w, found ? "markdown" : "content", buf_view(&text));
    json_pair_bool(&w, "dry_run", dry_run);
    json_close(&w);
    return buf_check(&all, "the daily note", e) ? json_read(buf_view(&all), a, e) : NULL;
}

/* ---- the call ---------------------------------------------------------------- */

static void put_answer(const struct daily *d, bool there, bool created,
                       struct json_writer *out)
{
    char date[20];
    (void)strftime(date, sizeof date, "%Y-%m-%d", &d->day);
    json_open_object(out);
    write_pair_id(d->v, out, "id", str_of(d->path));
    json_pair_cstr(out, "path", d->path);
    json_pair_str(out, "title", d->title);
    json_pair_cstr(out, "date", date);
    json_pair_bool(out, "exists", there || created);
    json_pair_bool(out, "created", created);
    json_close(out);
}

static bool create_daily(struct daily *d, bool dry_run, struct json_writer *out,
                         struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    scoped_buf struct buf answer = buf_of(NOTE_SIZE_MAX * 2);
    struct json_writer w = json_writer(&answer);
    const struct json *o =
        vault_permits(d->v, "notes.create", e) ? creation_of(d, dry_run, a, e) : NULL;
    if (!o || !notes_create(d->v, o, dry_run ? out : &w, e))
        return false;
    if (!dry_run)
        put_answer(d, false, true, out);
    return true;
}

bool notes_daily(struct vault *v, const struct json *o, struct json_writer *out,
                 struct err *e)
{
    struct daily d = {.v = v};
    struct str date = STR("");
    bool create = false, dry_run = false;
    bool given = o && !json_is(o, JSON_NULL);
    if (given && (!options_check(o, "notes.daily", NOTES_DAILY_KEYS, e) ||
                  !options_str(o, "date", NULL, &date, e) ||
                  !options_bool(o, "create", &create, e) ||
                  !options_bool(o, "dry_run", &dry_run, e)))
        return false;
    buf_init(&d.name, PATH_MAX);
    bool ok = read_day(v, date, &d.day, e) && place(&d, e);
    bool there = ok && vault_has(v, str_of(d.path));
    if (ok && create && !there)
        ok = create_daily(&d, dry_run, out, e);
    else if (ok)
        put_answer(&d, there, false, out);
    buf_done(&d.name);
    return ok;
}
