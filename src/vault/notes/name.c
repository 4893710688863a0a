#include "notes/name.h"

#include <stdio.h>
#include <strings.h>

/* ---- paths -------------------------------------------------------------- */

bool name_is_file(struct str path)
{
    if (path.n >= PATH_MAX || memchr(path.at, '\0', path.n) || !str_is_utf8(path))
        return false;
    size_t start = 0;
    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.at[i] != '/')
            continue;
        if (i == start || i - start > NAME_MAX || path.at[start] == '.')
            return false;
        start = i + 1;
    }
    return true;
}

bool name_is_path(struct str path)
{
    return path.n >= 4 && str_ends(path, ".md") && name_is_file(path);
}

bool name_is_canvas(struct str path)
{
    return str_ends(path, ".canvas") && name_is_file(path);
}

struct str name_file(struct str path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    size_t skip = slash ? (size_t)(slash + 1 - path.at) : 0;
    return (struct str){path.at + skip, path.n - skip};
}

struct str name_stem(struct str path)
{
    struct str file = name_file(path);
    file.n -= str_ends(file, ".md") ? 3 : 0;
    return file;
}

bool name_at_root(struct str path)
{
    return !memchr(path.at, '/', path.n);
}

struct str name_type(struct str path)
{
    const char *slash = memchr(path.at, '/', path.n);
    return slash ? (struct str){path.at, (size_t)(slash - path.at)} : STR("note");
}

bool name_other_home(struct str path, char out[static PATH_MAX])
{
    const char *folder = name_at_root(path) ? "note/" : "";
    if (!*folder) {
        if (!str_starts(path, "note/"))
            return false;
        path = (struct str){path.at + 5, path.n - 5};
        if (!name_at_root(path))
            return false;
    }
    int n = snprintf(out, PATH_MAX, "%s%.*s", folder, STR_ARGS(path));
    return n > 0 && n < PATH_MAX;
}

void name_put_id(struct str path, struct buf *out)
{
    if (str_ends(path, ".canvas")) {
        buf_str(out, path);
        return;
    }
    if (name_at_root(path))
        buf_cstr(out, "note/");
    buf_put(out, path.at, path.n - (str_ends(path, ".md") ? 3 : 0));
}

/* ---- names from titles -------------------------------------------------- */

/* Not visible, or turns the reading direction: two names that look the same
 * would differ. The joiners U+200C and U+200D stay, scripts and emoji need them. */
static bool is_invisible(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x200b ||
           (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c & 0xfffe) == 0xfffe ||
           (c >= 0xfff0 && c <= 0xfffb);
}

/* Path separators, what Windows refuses, and what ends a [[link]]. */
static bool is_unsafe(uint32_t c)
{
    return c < 0x80 && strchr("/\\:*?\"<>|#^[]", (int)c) != NULL;
}

static bool is_unicode_space(uint32_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xa0 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x3000;
}

/* Bytes of the device's name at the head, which Windows takes for the device whatever
 * ending it has; 0 if there is none. */
static size_t device_name(struct str name)
{
    static const char *const whole[] = {"con", "prn", "aux", "nul"};
    const char *dot = memchr(name.at, '.', name.n);
    struct str base =
        str_trim((struct str){name.at, dot ? (size_t)(dot - name.at) : name.n});
    for (size_t i = 0; i < LENGTH(whole); i++)
        if (base.n == 3 && !strncasecmp(base.at, whole[i], 3))
            return 3;
    bool numbered = base.n == 4 && base.at[3] >= '0' && base.at[3] <= '9';
    return numbered &&
                   (!strncasecmp(base.at, "com", 3) || !strncasecmp(base.at, "lpt", 3))
               ? 4
               : 0;
}

static void trim_end(struct buf *b, size_t start)
{
    while (b->n > start && (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '.'))
        b->n--;
}

/* "com1.txt" becomes "com1_.txt". */
static bool end_device_name(struct buf *out, size_t start, size_t n)
{
    struct str name = {out->at + start, out->n - start};
    out->n = start + str_cut(name, NAME_STEM_MAX - 1).n;
    trim_end(out, start);
    if (!buf_char(out, '_'))
        return false;
    char *at = out->at + start + n;
    memmove(at + 1, at, (size_t)(out->at + out->n - 1 - at));
    *at = '_';
    return true;
}

bool name_from_title(struct str title, struct buf *out)
{
    size_t start = out->n;
    bool space = false;
    for (const char *at = title.at, *end = at + title.n; at < end;) {
        const char *from = at;
        uint32_t c = str_next_char(&at, end);
        struct str kept = {from, (size_t)(at - from)};
        if (is_unicode_space(c)) {
            space = true;
            continue;
        }
        if ((c == '/' || c == '\\') && out->n > start)
            kept = STR("-"); /* "and/or" does not become "andor" */
        else if (is_invisible(c) || is_unsafe(c) || (c == '.' && out->n == start))
            continue;
        bool joined = space && out->n > start;
        if (out->n - start + kept.n + joined > NAME_STEM_MAX)
            break;
        if (joined)
            buf_char(out, ' ');
        space = false;
        buf_str(out, kept);
    }
    trim_end(out, start);
    if (out->n == start)
        return false;
    size_t device = device_name((struct str){out->at + start, out->n - start});
    return device ? end_device_name(out, start, device) : true;
}

bool name_is_type(struct str type)
{
    if (type.n == 0 || type.n > 100 || !str_is_utf8(type))
        return false;
    scoped_buf struct buf safe = buf_of(BUF_NAME);
    return name_from_title(type, &safe) && str_eq(buf_view(&safe), type);
}

bool name_is_folder(struct str folder)
{
    if (folder.n > PATH_MAX / 2)
        return false;
    while (folder.n) {
        const char *slash = memchr(folder.at, '/', folder.n);
        size_t n = slash ? (size_t)(slash - folder.at) : folder.n;
        if (!name_is_type((struct str){folder.at, n}) || n + 1 == folder.n)
            return false;
        n += slash != NULL;
        folder = (struct str){folder.at + n, folder.n - n};
    }
    return true;
}

void name_put_title(struct str title, struct buf *out)
{
    title = str_cut(str_trim(title), NAME_TITLE_MAX);
    for (size_t i = 0; i < title.n; i++) {
        unsigned char c = (unsigned char)title.at[i];
        buf_char(out, c < ' ' || c == 0x7f ? ' ' : (char)c);
    }
}
