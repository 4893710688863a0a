#include "notes/frontlinks.h"

#include "notes/linkname.h"
#include "notes/ymltext.h"

#define INNER_MAX 1000u /* bytes between [[ and ]], as in a note's text */

struct scan {
    const struct frontmatter *f;
    struct arena *arena;
    void (*each)(void *arg, const struct frontlink *l);
    void *arg;
    size_t count;
    size_t skip_from, skip_to; /* offsets of the list of subnotes */
    struct ymltext text;
    struct err *e;
};

/* The bytes of the key for subnotes and its value. false: its lines are shared with others. */
static bool find_subnotes(struct scan *s)
{
    const struct yml *y = &s->f->yml;
    size_t count;
    if (!json_get(y->all, SUBNOTES_KEY))
        return true;
    size_t *lines = yml_lines(s->f->yaml, s->arena, &count, s->e);
    if (!lines || !y->by_lines)
        return false;
    for (size_t k = 0; k < y->key_count; k++) {
        if (!str_is(y->keys[k].name, SUBNOTES_KEY))
            continue;
        size_t end = k + 1 < y->key_count ? y->keys[k + 1].line : count;
        s->skip_from = lines[y->keys[k].line];
        s->skip_to = lines[end];
    }
    return true;
}

/* Undoes the escapes of a quoted scalar. false: there are some that no name has. */
static bool decode(struct str raw, char quote, struct buf *out)
{
    for (size_t i = 0; i < raw.n; i++) {
        if (quote == '\'' && raw.at[i] == '\'')
            i++; /* '' is ' */
        else if (quote == '"' && raw.at[i] == '\\' &&
                 (++i == raw.n || !strchr("\"\\/", raw.at[i])))
            return false;
        if (i < raw.n)
            buf_char(out, raw.at[i]);
    }
    return true;
}

static bool has_escape(struct str raw, char quote)
{
    return quote != YMLTEXT_PLAIN && memchr(raw.at, quote == '"' ? '\\' : '\'', raw.n);
}

/* A copy of the text without its escapes, behind a '['. Empty: it is no name. */
static struct str decoded(struct scan *s, struct str raw, char quote)
{
    if (!has_escape(raw, quote))
        return raw;
    scoped_buf struct buf b = buf_of(INNER_MAX + 1);
    buf_char(&b, '[');
    bool fine = decode(raw, quote, &b);
    const char *copy = fine ? arena_copy(s->arena, b.at, b.n, s->e) : NULL;
    return copy ? (struct str){copy + 1, b.n - 1} : STR("");
}

/* `inner` stands between the brackets. */
static void frontlink_found(struct scan *s, struct str inner)
{
    char quote = s->text.quote;
    if (quote == YMLTEXT_PLAIN && inner.n > 2 &&
        (inner.at[0] == '"' || inner.at[0] == '\'') &&
        inner.at[inner.n - 1] == inner.at[0]) {
        quote = inner.at[0];
        inner = (struct str){inner.at + 1, inner.n - 2};
    } else if (quote == YMLTEXT_PLAIN && memchr(inner.at, ',', inner.n)) {
        return; /* a list of values in a list */
    }
    struct str target = inner, label = inner;
    const char *bar = memchr(inner.at, '|', inner.n);
    if (bar) {
        target.n = (size_t)(bar - inner.at);
        label = (struct str){bar + 1, inner.n - target.n - 1};
    }
    struct str fragment = STR("");
    const char *heading = memchr(target.at, '#', target.n);
    if (heading) {
        fragment =
            (struct str){heading + 1, (size_t)(target.at + target.n - heading - 1)};
        target.n -= fragment.n + 1;
    }
    target = str_trim(target);
    struct frontlink l = {.at = target.at, .length = target.n, .quote = quote};
    l.link = (struct link){.target = decoded(s, target, quote),
                           .label = decoded(s, label, quote),
                           .fragment = decoded(s, str_trim(fragment), quote),
                           .kind = LINK_WIKI};
    if (l.link.target.n && !s->e->code && s->count++ < FRONTLINKS_MAX)
        s->each(s->arg, &l);
}

/* The link at `i`, where "[[" stands; 0: none, else where it ends. */
static size_t frontlink_at(struct scan *s, struct str y, size_t i)
{
    size_t from = i + 2, to = from;
    while (to < y.n && to - from < INNER_MAX && !strchr("\n\r[]", y.at[to]))
        to++;
    if (to == from || to + 1 >= y.n || y.at[to] != ']' || y.at[to + 1] != ']')
        return 0;
    if (i < s->skip_from || i >= s->skip_to)
        frontlink_found(s, (struct str){y.at + from, to - from});
    return to + 2;
}

bool frontlinks_may(const struct frontmatter *f)
{
    return f->state == FRONTMATTER_GOOD && memmem(f->yaml.at, f->yaml.n, "[[", 2);
}

bool frontlinks_read(const struct frontmatter *f, struct arena *a,
                     void (*each)(void *arg, const struct frontlink *l), void *arg,
                     struct err *e)
{
    struct scan s = {.f = f, .arena = a, .each = each, .arg = arg, .e = e};
    struct str y = f->yaml;
    s.text = (struct ymltext){.text = y, .quote = YMLTEXT_PLAIN};
    if (!frontlinks_may(f))
        return true;
    if (!find_subnotes(&s))
        return e->code == ERR_NONE;
    for (bool more = y.n > 0; more && !e->code;) {
        size_t i = s.text.at, end = 0;
        if (y.at[i] == '[' && i + 1 < y.n && y.at[i + 1] == '[')
            end = frontlink_at(&s, y, i);
        if (end)
            s.text.at = end;
        more = end ? end < y.n : ymltext_next(&s.text);
    }
    return e->code == ERR_NONE;
}
