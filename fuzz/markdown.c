/* Whatever the text: links are pieces of it, in order, on the lines that they name, and
 * lead nowhere above the vault. The first line is the path of the note, or another link. */
#include "driver.h"
#include <ctype.h>

#include "notes/linkname.h"
#include "notes/name.h"

struct seen {
    struct str text, from;
    const char *counted; /* the line ends before it are in `line` */
    size_t line, count;
};

static bool is_utf8_where(struct str part, struct str whole)
{
    return !str_is_utf8(whole) || str_is_utf8(part);
}

/* No way up, no name that is empty. */
static void holds_path(struct str path)
{
    for (size_t i = 0; path.n && i <= path.n;) {
        const char *end = memchr(path.at + i, '/', path.n - i);
        struct str name = {path.at + i, end ? (size_t)(end - path.at) - i : path.n - i};
        holds(name.n > 0 && !str_is(name, ".") && !str_is(name, ".."));
        i += name.n + 1;
    }
}

static void check_target(const struct seen *s, struct str target)
{
    scoped_buf struct buf path;
    buf_init(&path, (size_t)1 << 20);
    buf_cstr(&path, "before");
    if (!markdown_resolve(target, s->from, &path))
        return;
    holds(str_starts(buf_view(&path), "before"));
    holds_path((struct str){path.at + 6, path.n - 6});
}

/* What it calls its note, or where it leads outside. */
static void check_name(const struct seen *s, const struct link *l)
{
    scoped_buf struct buf text, other, host;
    buf_init(&text, (size_t)1 << 20);
    buf_init(&other, (size_t)1 << 20);
    buf_init(&host, (size_t)1 << 20);
    link_put_host(l->target, &host);
    for (size_t i = 0; i < host.n; i++)
        holds(!host.at[i] ||
              (!strchr("/?#@", host.at[i]) && !isupper((unsigned char)host.at[i])));
    holds(host.n == 0 || host.at[0] != '.');
    link_name(l, s->from, &text, &other);
    (void)link_is_file(l->kind, buf_view(&text));
    holds(!other.n || !str_eq(buf_view(&text), buf_view(&other)));
}

static void see(void *arg, const struct link *l)
{
    struct seen *s = arg;
    holds(++s->count <= LINKS_MAX);
    holds(l->target.n > 0 && is_inside(l->target, s->text));
    holds(is_inside(l->label, s->text));
    holds(is_utf8_where(l->target, s->text) && is_utf8_where(l->label, s->text));
    holds(!memchr(l->target.at, '\n', l->target.n));
    holds(link_kind_name(l->kind) != NULL);

    /* Targets follow each other, but for those in the label of another. */
    size_t line = 1;
    for (const char *at = s->text.at; at < l->target.at; at++)
        line += *at == '\n' || (*at == '\r' && at[1] != '\n');
    holds(l->line >= s->line && l->line <= line);
    holds(l->kind != LINK_WIKI || l->line == line);
    holds(l->kind != LINK_WIKI || !memchr(l->target.at, ']', l->target.n));
    s->line = l->line;
    if (l->kind == LINK_MARKDOWN)
        check_target(s, l->target);
    check_name(s, l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen s = {.text = {(const char *)data, size}, .line = 1};
    struct str first = next_part(&s.text);
    s.from = name_is_path(first) ? first : STR("a/b.md");
    markdown_links(s.text, see, &s);
    check_target(&s, first);

    struct str title = markdown_title(s.text);
    holds(is_inside(title, s.text) && is_utf8_where(title, s.text));
    holds(str_eq(title, str_trim(title)));
    return 0;
}
