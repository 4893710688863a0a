/* Names by which links and lists of subnotes call notes; hosts of URLs; other files. */
#include "notes/linkname.h"

#include <strings.h>

/* ---- names -------------------------------------------------------------- */

/* "project/Plan.md" and "project/Plan" are one name. Without a folder the ending says
 * that a file is meant, and no title. */
static void cut_ending(struct buf *b)
{
    if (str_ends(buf_view(b), ".md") && memchr(b->at, '/', b->n))
        b->n -= 3;
}

static bool is_relative(struct str target)
{
    return str_starts(target, "./") || str_starts(target, "../") ||
           str_starts(target, "/");
}

void link_name(const struct link *l, struct str from, struct buf *text, struct buf *other)
{
    buf_clear(text);
    buf_clear(other);
    bool relative = is_relative(l->target);
    bool as_file = l->kind == LINK_MARKDOWN || relative;
    if (!as_file || !markdown_resolve(l->target, from, text)) {
        buf_clear(text); /* leads out of the vault: nobody's name */
        buf_str(text, l->target);
    }
    bool escaped = l->kind == LINK_MARKDOWN || memchr(l->target.at, '%', l->target.n);
    if (!relative && escaped && !markdown_resolve(l->target, STR(""), other))
        buf_clear(other);
    cut_ending(text);
    cut_ending(other);
    if (str_eq(buf_view(text), buf_view(other)))
        buf_clear(other);
}

/* An entry is an identifier, which may stand in [[...]] as other programs want it. */
static struct str entry_name(struct str entry)
{
    entry = str_trim(entry);
    if (str_starts(entry, "[[") && str_ends(entry, "]]") && entry.n > 4) {
        entry = (struct str){entry.at + 2, entry.n - 4};
        for (size_t i = 0; i < entry.n; i++)
            if (entry.at[i] == '|' || entry.at[i] == '#')
                entry.n = i;
    }
    return str_trim(entry);
}

bool subnote_name(const struct json *v, struct buf *out)
{
    size_t from = out->n;
    if (json_is(v, JSON_STRING))
        buf_str(out, entry_name(json_str(v)));
    else if (json_is_int(v))
        buf_printf(out, "%lld", (long long)json_int(v, 0));
    cut_ending(out);
    return out->n > from && !out->failed;
}

/* ---- addresses ---------------------------------------------------------- */

void link_put_domain(struct str host, struct buf *out)
{
    while (host.n && host.at[host.n - 1] == '.')
        host.n--;
    while (host.n) {
        const char *dot = memrchr(host.at, '.', host.n);
        struct str label = host;
        if (dot)
            label = (struct str){dot + 1, (size_t)(host.at + host.n - dot - 1)};
        for (size_t i = 0; i < label.n; i++)
            buf_char(out, char_lower(label.at[i]));
        host.n = dot ? (size_t)(dot - host.at) : 0;
        if (dot)
            buf_char(out, '.');
    }
}

void link_put_host(struct str url, struct buf *out)
{
    const char *start = memmem(url.at, url.n, "//", 2);
    if (!start)
        return;
    const char *end = url.at + url.n;
    start += 2;
    for (const char *c = start; c < end; c++)
        if (strchr("/?#\\", *c) && *c)
            end = c;
    const char *at = memrchr(start, '@', (size_t)(end - start));
    start = at ? at + 1 : start;
    const char *port = memrchr(start, ':', (size_t)(end - start));
    if (port && !memchr(port, ']', (size_t)(end - port)))
        end = port;
    link_put_domain((struct str){start, (size_t)(end - start)}, out);
}

/* ---- other files -------------------------------------------------------- */

/* The letters and digits behind the last dot of the target; few, and not all digits. */
static struct str ending_of(struct str target)
{
    size_t n = 0, digits = 0;
    for (; n < target.n; n++) {
        char c = target.at[target.n - 1 - n];
        bool digit = char_is_digit(c);
        if (!digit && !char_is_letter(c))
            break;
        digits += digit;
    }
    bool ends =
        n && n <= 8 && n > digits && n < target.n && target.at[target.n - 1 - n] == '.';
    return ends ? (struct str){target.at + target.n - n, n} : STR("");
}

/* In [[...]] a dot may belong to a title
 * ("Node.js"): only what people embed counts there. */
bool link_is_file(enum link_kind kind, struct str name)
{
    static const char *const embedded[] = {
        "png", "jpg", "jpeg", "gif", "svg",  "webp", "bmp",  "avif", "heic",   "pdf",
        "mp3", "wav", "m4a",  "ogg", "flac", "mp4",  "mov",  "mkv",  "webm",   "zip",
        "csv", "txt", "html", "doc", "docx", "xls",  "xlsx", "pptx", "canvas", "base",
    };
    struct str ending = ending_of(name);
    if (!ending.n || str_is(ending, "md"))
        return false;
    for (size_t i = 0; i < LENGTH(embedded); i++)
        if (strlen(embedded[i]) == ending.n &&
            !strncasecmp(embedded[i], ending.at, ending.n))
            return true;
    return kind == LINK_MARKDOWN;
}
