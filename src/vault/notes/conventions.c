#include "notes/conventions.h"

#include <fcntl.h>

#include "notes/moment.h"
#include "notes/name.h"
#include "os/os.h"
#include "json/json.h"

#define CONVENTIONS_FILE_MAX ((size_t)1 << 20)

struct reading_conventions {
    int dir;
    struct arena *arena;
    struct conventions *out;
};

static bool read_bytes(const struct reading_conventions *r, const char *path,
                       struct buf *out)
{
    struct err none = {0};
    scoped_fd int fd =
        os_open_beneath(r->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &none);
    return fd >= 0 && os_read_fd(fd, out, &none) && str_is_utf8(buf_view(out));
}

static struct str keep_text(const struct reading_conventions *r, struct str s)
{
    struct err full = {0};
    const char *copy = arena_copy(r->arena, s.at, s.n, &full);
    return copy ? (struct str){copy, s.n} : STR("");
}

/* "/Daily/" as a folder; empty where it is none. */
static struct str keep_folder(const struct reading_conventions *r, struct str s)
{
    while (str_starts(s, "/"))
        s.at++, s.n--;
    while (str_ends(s, "/"))
        s.n--;
    return name_is_folder(s) ? keep_text(r, s) : STR("");
}

static void ignore(const struct reading_conventions *r, struct str beginning)
{
    struct conventions *c = r->out;
    while (str_starts(beginning, "/"))
        beginning.at++, beginning.n--;
    if (beginning.n && c->ignored_count < CONVENTIONS_IGNORED_MAX)
        c->ignored[c->ignored_count++] = keep_text(r, beginning);
}

/* ---- Obsidian ------------------------------------------------------------ */

static const struct json *read_object(const struct reading_conventions *r,
                                      const char *path, struct buf *bytes)
{
    struct err none = {0};
    return read_bytes(r, path, bytes) ? json_read(buf_view(bytes), r->arena, &none)
                                      : NULL;
}

static void read_app(const struct reading_conventions *r)
{
    scoped_buf struct buf bytes = buf_of(CONVENTIONS_FILE_MAX);
    const struct json *app = read_object(r, ".obsidian/app.json", &bytes);
    struct str place = json_str(json_get(app, "newFileLocation"));
    if (!json_is(app, JSON_OBJECT))
        return;
    r->out->has_new_folder = true;
    if (str_is(place, "folder"))
        r->out->new_folder = keep_folder(r, json_str(json_get(app, "newFileFolderPath")));
    struct json_iter it = json_iter(json_get(app, "userIgnoreFilters"));
    while (json_is(json_get(app, "userIgnoreFilters"), JSON_ARRAY) && json_next(&it)) {
        struct str filter = json_str(it.value);
        /* Between slashes it is a regular expression, which is not looked at. */
        if (!(str_starts(filter, "/") && str_ends(filter, "/") && filter.n > 1))
            ignore(r, filter);
    }
}

static bool read_obsidian_daily(const struct reading_conventions *r)
{
    scoped_buf struct buf bytes = buf_of(CONVENTIONS_FILE_MAX);
    const struct json *daily = read_object(r, ".obsidian/daily-notes.json", &bytes);
    struct conventions *c = r->out;
    if (!json_is(daily, JSON_OBJECT))
        return false;
    struct str format = json_str(json_get(daily, "format")),
               model = json_str(json_get(daily, "template"));
    c->daily_folder = keep_folder(r, json_str(json_get(daily, "folder")));
    if (format.n)
        c->daily_format = keep_text(r, format);
    if (str_ends(model, ".md"))
        model.n -= 3;
    c->daily_template = keep_folder(r, model);
    return true;
}

/* ---- Logseq -------------------------------------------------------------- */

/* The string or the array of strings behind a key of EDN: `:key "value"`, `:key ["a" "b"]`. */
static void each_edn(struct str text, const char *key,
                     void (*each)(const struct reading_conventions *r, struct str s),
                     const struct reading_conventions *r)
{
    size_t n = strlen(key);
    bool comment = false, string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (c == '\n')
            comment = false;
        else if (c == ';' && !string)
            comment = true;
        else if (c == '"' && !comment && (i == 0 || text.at[i - 1] != '\\'))
            string = !string;
        struct str rest = {text.at + i, text.n - i};
        if (comment || string || !str_starts(rest, key) || rest.n <= n ||
            !strchr(" \t\r\n[", rest.at[n]))
            continue;
        bool list = false;
        for (size_t k = n; k < rest.n; k++) {
            list = list || rest.at[k] == '[';
            if (rest.at[k] == '"') {
                const char *end = memchr(rest.at + k + 1, '"', rest.n - k - 1);
                if (!end)
                    return;
                each(r, (struct str){rest.at + k + 1, (size_t)(end - rest.at) - k - 1});
                k = (size_t)(end - rest.at);
                if (!list)
                    return;
            } else if (!strchr(" \t\r\n[,", rest.at[k])) {
                return;
            }
        }
        return;
    }
}

static void take_journals(const struct reading_conventions *r, struct str s)
{
    r->out->daily_folder = keep_folder(r, s);
}

static void take_pages(const struct reading_conventions *r, struct str s)
{
    r->out->new_folder = keep_folder(r, s);
}

static void take_journal_format(const struct reading_conventions *r, struct str s)
{
    scoped_buf struct buf format = buf_of(BUF_LINE);
    moment_from_java(s, &format);
    if (format.n && !format.failed)
        r->out->daily_format = keep_text(r, buf_view(&format));
}

static void take_journal_title(const struct reading_conventions *r, struct str s)
{
    scoped_buf struct buf format = buf_of(BUF_LINE);
    moment_from_java(s, &format);
    if (format.n && !format.failed)
        r->out->journal_title = keep_text(r, buf_view(&format));
}

static bool read_logseq(const struct reading_conventions *r)
{
    scoped_buf struct buf bytes = buf_of(CONVENTIONS_FILE_MAX);
    struct conventions *c = r->out;
    if (!read_bytes(r, "logseq/config.edn", &bytes))
        return false;
    struct str text = buf_view(&bytes);
    c->logseq = true;
    c->journal_title = STR("MMM Do, YYYY");
    ignore(r, STR("logseq/"));
    c->daily_folder = STR("journals");
    c->daily_format = STR("YYYY_MM_DD");
    c->has_new_folder = true;
    c->new_folder = STR("pages");
    each_edn(text, ":journals-directory", take_journals, r);
    each_edn(text, ":pages-directory", take_pages, r);
    each_edn(text, ":journal/file-name-format", take_journal_format, r);
    each_edn(text, ":journal/page-title-format", take_journal_title, r);
    each_edn(text, ":hidden", ignore, r);
    return true;
}

/* ---- Foam ---------------------------------------------------------------- */

static struct str foam_text(const struct json *all, const char *key)
{
    return json_str(json_get(all, key));
}

static void read_foam(const struct reading_conventions *r)
{
    scoped_buf struct buf bytes = buf_of(CONVENTIONS_FILE_MAX);
    const struct json *all = read_object(r, ".vscode/settings.json", &bytes);
    struct os_stat st;
    struct err none = {0};
    struct str folder = foam_text(all, "foam.openDailyNote.directory"),
               format = foam_text(all, "foam.openDailyNote.filenameFormat");
    bool foam = folder.n || format.n || os_stat_beneath(r->dir, ".foam", &st, &none);
    if (!foam)
        return;
    r->out->daily_folder = keep_folder(r, folder.n ? folder : STR("journals"));
    if (format.n && !str_is(format, "isoDate")) {
        scoped_buf struct buf moment = buf_of(BUF_LINE);
        /* "mmmm" is a month there, too; of time nothing belongs in the name of a day. */
        for (size_t i = 0; i < format.n; i++)
            buf_char(&moment, format.at[i] == 'm'   ? 'M'
                              : format.at[i] == 'y' ? 'Y'
                              : format.at[i] == 'd' ? 'D'
                                                    : format.at[i]);
        r->out->daily_format = keep_text(r, buf_view(&moment));
    }
}

/* ---- all of them --------------------------------------------------------- */

void conventions_read(int dir, struct arena *a, struct conventions *out)
{
    const struct reading_conventions r = {dir, a, out};
    struct os_stat st;
    struct err none = {0};
    *out = (struct conventions){.daily_format = STR("YYYY-MM-DD"),
                                .new_folder = STR(""),
                                .daily_folder = STR(""),
                                .daily_template = STR("")};
    if (os_stat_beneath(dir, ".obsidian", &st, &none) && st.is_dir) {
        read_app(&r);
        if (!read_obsidian_daily(&r))
            (void)read_logseq(&r);
    } else if (!read_logseq(&r)) {
        read_foam(&r);
    }
}

/* "2026_12_01" in the folder of journals, which is the usual format. */
static bool put_journal(const struct conventions *c, struct str path, struct buf *out)
{
    struct str stem = name_stem(path), folder = c->daily_folder;
    struct err none = {0};
    struct tm day;
    char text[10];
    if (stem.n != sizeof text || !str_is(c->daily_format, "YYYY_MM_DD") ||
        path.n != folder.n + 1 + stem.n + 3 || memcmp(path.at, folder.at, folder.n) != 0)
        return false;
    memcpy(text, stem.at, sizeof text);
    text[4] = text[7] = '-';
    return stem.at[4] == '_' && stem.at[7] == '_' &&
           moment_read_day((struct str){text, sizeof text}, &day) &&
           moment_put(c->journal_title, &day, out, &none);
}

void conventions_title(const struct conventions *c, struct str path, struct buf *out)
{
    struct str s = name_stem(path);
    size_t before = out->n;
    if (put_journal(c, path, out))
        return;
    out->n = before;
    for (size_t i = 0; i < s.n; i++) {
        int high = s.at[i] == '%' && i + 2 < s.n ? char_hex(s.at[i + 1]) : -1;
        int low = high >= 0 ? char_hex(s.at[i + 2]) : -1;
        bool three = str_starts((struct str){s.at + i, s.n - i}, "___");
        if (three)
            buf_char(out, '/');
        else if (low >= 0 && (high || low))
            buf_char(out, (char)(high * 16 + low));
        else
            buf_char(out, s.at[i]);
        i += three || (low >= 0 && (high || low)) ? 2 : 0;
    }
    if (!str_is_utf8((struct str){out->at + before, out->n - before})) {
        out->n = before;
        buf_str(out, s);
    }
}

void conventions_stem(struct str title, struct buf *out)
{
    for (size_t i = 0; i < title.n; i++)
        if (title.at[i] == '/')
            buf_cstr(out, "___");
        else if (strchr(":*?\"<>|#\\%", title.at[i]) && title.at[i])
            buf_printf(out, "%%%02X", (unsigned char)title.at[i]);
        else
            buf_char(out, title.at[i]);
}

bool conventions_ignore(const struct conventions *c, struct str path)
{
    for (size_t i = 0; i < c->ignored_count; i++) {
        struct str s = c->ignored[i];
        if (path.n >= s.n && !memcmp(path.at, s.at, s.n) &&
            (path.n == s.n || str_ends(s, "/") || path.at[s.n] == '/' ||
             (path.n == s.n + 3 && str_ends(path, ".md"))))
            return true;
    }
    return false;
}
