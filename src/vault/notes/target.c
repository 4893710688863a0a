#include "notes/target.h"

#include <limits.h>

struct str target_folder(struct str path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return (struct str){path.at, slash ? (size_t)(slash - path.at) : 0};
}

/* The next component, without its slash; "" at the end. */
static struct str component(struct str path, size_t at)
{
    const char *slash = at < path.n ? memchr(path.at + at, '/', path.n - at) : NULL;
    size_t end = slash ? (size_t)(slash - path.at) : path.n;
    return (struct str){path.at + at, at < end ? end - at : 0};
}

static void put_relative(struct str from, struct str to, struct buf *out)
{
    struct str folder = target_folder(from);
    size_t at = 0;
    for (;;) {
        struct str a = component(folder, at), b = component(to, at);
        bool last = at + b.n >= to.n; /* the file itself is no folder */
        if (!a.n || last || !str_eq(a, b))
            break;
        at += a.n + 1;
    }
    for (size_t i = at; i < folder.n; i += component(folder, i).n + 1)
        buf_cstr(out, "../");
    buf_put(out, to.at + at, to.n - at);
}

static bool is_escaped(unsigned char c, const struct target_style *s)
{
    if (s->wiki)
        return false;
    if (s->angle)
        return c == '<' || c == '>' || c == '\\' || c == '%' || c == '#' || c == '?' ||
               c < ' ';
    return c <= ' ' || c == 0x7f || (c >= 0x80 && s->all) ||
           strchr("()<>\\%#?\"'[]`*_", (char)c) != NULL;
}

void target_escape(struct str s, const struct target_style *style, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        bool mild = c && strchr("_'*", (char)c) && !style->all;
        if (is_escaped(c, style) && !mild)
            buf_printf(out, "%%%02X", c);
        else
            buf_char(out, (char)c);
    }
}

struct target_style target_style_of(const struct link *l, struct str bytes)
{
    struct str t = l->target;
    for (size_t i = 0; i < t.n; i++)
        if (t.at[i] == '#' || t.at[i] == '?')
            t.n = i;
    bool high = false;
    for (size_t i = 0; i + 2 < t.n; i++)
        high = high || (t.at[i] == '%' && strchr("89abcdefABCDEF", t.at[i + 1]));
    return (struct target_style){
        .wiki = l->kind == LINK_WIKI,
        .angle = t.at > bytes.at && t.at[-1] == '<' && l->kind == LINK_MARKDOWN,
        .all = high,
        .rooted = t.n && t.at[0] == '/',
        .dotted = str_starts(t, "./"),
        .ending = str_ends(t, ".md"),
    };
}

void target_put(const struct target_style *s, struct str from, struct str to,
                struct buf *out)
{
    scoped_buf struct buf path = buf_of(3 * PATH_MAX);
    if (s->rooted)
        buf_char(&path, '/');
    if (s->rooted)
        buf_str(&path, to);
    else
        put_relative(from, to, &path);
    if (!s->ending && str_ends(buf_view(&path), ".md"))
        path.n -= 3;
    bool dots = str_starts(buf_view(&path), "../");
    if (s->dotted && !dots)
        buf_cstr(out, "./");
    target_escape(buf_view(&path), s, out);
}
