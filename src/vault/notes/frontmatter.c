#include "notes/frontmatter.h"

#include <stdio.h>

/* ---- cutting ------------------------------------------------------------ */

/* The line at `from`, without its end; *next is where the next one begins. */
static struct str line_at(struct str s, size_t from, size_t *next)
{
    const char *nl = memchr(s.at + from, '\n', s.n - from);
    size_t end = nl ? (size_t)(nl - s.at) : s.n;
    *next = nl ? end + 1 : s.n;
    struct str line = {s.at + from, end - from};
    if (line.n && line.at[line.n - 1] == '\r')
        line.n--;
    return line;
}

static bool is_fence(struct str line, const char *mark)
{
    return str_starts(line, mark) &&
           str_trim((struct str){line.at + 3, line.n - 3}).n == 0;
}

static bool line_is_blank(struct str line)
{
    return str_trim(line).n == 0;
}

static size_t byte_order_mark(struct str bytes)
{
    return str_starts(bytes, "\xef\xbb\xbf") ? 3 : 0;
}

static void say_broken(struct frontmatter *f, const char *why)
{
    f->state = FRONTMATTER_BROKEN;
    (void)snprintf(f->error, sizeof f->error, "the frontmatter is not YAML: %.160s", why);
}

static void frontmatter_cut_at(struct frontmatter *f, struct str bytes, size_t at)
{
    f->head = (struct str){bytes.at, at};
    f->body = (struct str){bytes.at + at, bytes.n - at};
}

/* Finds the fences. false: there is no whole block. */
static bool frontmatter_cut(struct frontmatter *f, struct str bytes)
{
    size_t start = byte_order_mark(bytes), at;
    frontmatter_cut_at(f, bytes, start);
    f->yaml = (struct str){bytes.at + start, 0};
    if (!is_fence(line_at(bytes, start, &at), "---"))
        return false;
    size_t yaml = at;
    for (size_t next; at < bytes.n; at = next) {
        struct str line = line_at(bytes, at, &next);
        if (!is_fence(line, "---") && !is_fence(line, "..."))
            continue;
        f->yaml = (struct str){bytes.at + yaml, at - yaml};
        f->state = FRONTMATTER_GOOD;
        /* The blank line behind the head belongs to it: nobody means it as content. */
        size_t after;
        bool blank = next < bytes.n && line_is_blank(line_at(bytes, next, &after)) &&
                     bytes.at[after - 1] == '\n';
        frontmatter_cut_at(f, bytes, blank ? after : next);
        f->spaced = blank;
        return true;
    }
    say_broken(f, "its closing \"---\" is missing");
    return false;
}

bool frontmatter_read(struct str bytes, struct arena *a, struct frontmatter *out,
                      struct err *e)
{
    *out = (struct frontmatter){0};
    struct err why = {0};
    if (frontmatter_cut(out, bytes) && !yml_read(out->yaml, a, &out->yml, &why))
        say_broken(out, why.msg);
    if (out->state != FRONTMATTER_GOOD)
        out->yml = (struct yml){.all = json_read(STR("{}"), a, e)};
    return out->yml.all != NULL;
}

struct str frontmatter_skip(struct str bytes)
{
    struct frontmatter f = {0};
    (void)frontmatter_cut(&f, bytes);
    return f.body;
}

bool frontmatter_is_crlf(struct str text)
{
    bool any = false;
    for (const char *at = text.at, *end = at + text.n; at < end; at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            break;
        if (at == text.at || at[-1] != '\r')
            return false;
        any = true;
    }
    return any;
}

/* Line ends that are not CRLF already become so. */
static void put_crlf(struct buf *out, struct str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '\n' || (i > 0 && text.at[i - 1] == '\r'))
            continue;
        buf_put(out, text.at + from, i - from);
        buf_cstr(out, "\r\n");
        from = i + 1;
    }
    buf_put(out, text.at + from, text.n - from);
}

/* Would some of a body that stands behind no block be taken for a head? */
static bool looks_like_head(struct str body)
{
    struct frontmatter f = {0};
    return frontmatter_cut(&f, body) || byte_order_mark(body);
}

void frontmatter_join(struct str head, struct str body, bool crlf, struct buf *out)
{
    struct frontmatter f = {0};
    const char *eol = crlf ? "\r\n" : "\n";
    buf_str(out, head);
    bool block = frontmatter_cut(&f, head);
    if (!block && looks_like_head(body))
        buf_printf(out, "---%s---%s", eol, eol);
    if (block && body.n) {
        if (!str_ends(head, "\n"))
            buf_cstr(out, eol);
        /* Else the body's own blank line would be read as the head's. */
        size_t next;
        bool blank = line_is_blank(line_at(body, 0, &next)) && body.at[next - 1] == '\n';
        if (blank && !f.spaced)
            buf_cstr(out, eol);
    }
    if (crlf)
        put_crlf(out, body);
    else
        buf_str(out, body);
}

/* ---- editing ------------------------------------------------------------ */

struct edit {
    const struct frontmatter *f;
    const struct frontmatter_change *changes;
    size_t count;
    const char *eol;
    struct buf *out;
    const size_t *lines; /* where the YAML's lines begin */
    size_t line_count;
};

static const struct frontmatter_change *change_of(const struct edit *d, struct str key)
{
    for (size_t i = 0; i < d->count; i++)
        if (str_eq(d->changes[i].key, key))
            return &d->changes[i];
    return NULL;
}

static bool removes(const struct frontmatter_change *c)
{
    return json_is(c->value, JSON_NULL) || json_is(c->value, JSON_ABSENT);
}

static struct str yaml_line(const struct edit *d, size_t i)
{
    return (struct str){d->f->yaml.at + d->lines[i], d->lines[i + 1] - d->lines[i]};
}

/* A blank line, or a comment that stands no deeper than the keys: it belongs to
 * what follows, or to nobody. */
static bool is_between_keys(const struct edit *d, size_t i)
{
    struct str line = yaml_line(d, i);
    size_t column = 0;
    while (column < line.n && line.at[column] == ' ')
        column++;
    return line_is_blank(line) || (line.at[column] == '#' && column <= d->f->yml.column);
}

/* The line after the last one of key `k` and its value. */
static size_t end_of_key(const struct edit *d, size_t k)
{
    const struct yml *y = &d->f->yml;
    size_t end = k + 1 < y->key_count ? y->keys[k + 1].line : d->line_count;
    while (end > y->keys[k].stop && is_between_keys(d, end - 1))
        end--;
    return end;
}

static void frontmatter_put_lines(const struct edit *d, size_t from, size_t to)
{
    buf_put(d->out, d->f->yaml.at + d->lines[from], d->lines[to] - d->lines[from]);
}

/* Key by key: lines that no change names are copied. */
static void put_changed_lines(const struct edit *d)
{
    const struct yml *y = &d->f->yml;
    size_t done = 0; /* lines */
    for (size_t k = 0; k < y->key_count; k++) {
        const struct frontmatter_change *c = change_of(d, y->keys[k].name);
        /* A key that is null already is still there, to be removed. */
        if (!c || (!removes(c) && json_equal(c->value, json_get_str(y->all, c->key))))
            continue;
        frontmatter_put_lines(d, done, y->keys[k].line);
        if (!removes(c))
            yml_put_pair(d->out, y->column, d->eol, c->key, c->value);
        done = end_of_key(d, k);
    }
    frontmatter_put_lines(d, done, d->line_count);
}

/* All anew, where keys share lines. */
static void frontmatter_put_all(const struct edit *d)
{
    struct json_iter it = json_iter(d->f->yml.all);
    while (json_next(&it)) {
        const struct frontmatter_change *c = change_of(d, it.key);
        if (!c || !removes(c))
            yml_put_pair(d->out, 0, d->eol, it.key, c ? c->value : it.value);
    }
}

static bool changes_nothing(const struct edit *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct frontmatter_change *c = &d->changes[i];
        const struct json *now = json_get_str(d->f->yml.all, c->key);
        if (removes(c) ? now != NULL : !now || !json_equal(c->value, now))
            return false;
    }
    return true;
}

/* Whatever the layout was: the result must say what was asked for, and nothing
 * else may have changed. */
static bool edit_verify(const struct edit *d, struct str yaml, struct arena *a,
                        struct err *e)
{
    struct yml now;
    struct err why = {0};
    bool ok = yml_read(yaml, a, &now, &why);
    size_t expected = 0;
    struct json_iter it = json_iter(d->f->yml.all);
    while (ok && json_next(&it)) {
        if (change_of(d, it.key))
            continue;
        expected++;
        ok = json_equal(it.value, json_get_str(now.all, it.key));
    }
    for (size_t i = 0; ok && i < d->count; i++) {
        if (removes(&d->changes[i]))
            continue;
        expected++;
        ok = json_equal(d->changes[i].value, json_get_str(now.all, d->changes[i].key));
    }
    if (ok && json_length(now.all) == expected)
        return true;
    return err_set(e, ERR_INVALID,
                   "the metadata was not changed: this note's "
                   "frontmatter is laid out so that single keys cannot be replaced "
                   "safely (%.100s); edit the file by hand",
                   why.code ? why.msg : "anchors or an unusual layout");
}

bool frontmatter_edit(const struct frontmatter *f,
                      const struct frontmatter_change *changes, size_t count,
                      struct arena *a, struct buf *out, struct err *e)
{
    struct edit d = {.f = f, .changes = changes, .count = count, .out = out};
    if (changes_nothing(&d))
        return buf_str(out, f->head) || buf_check(out, "the note", e);
    if (f->state == FRONTMATTER_BROKEN)
        return err_set(e, ERR_INVALID,
                       "the metadata cannot be changed, because %s; repair the file "
                       "by hand (its content can be updated)",
                       f->error);

    bool none = f->state == FRONTMATTER_NONE;
    size_t start = none ? f->head.n : (size_t)(f->yaml.at - f->head.at);
    struct str after = {f->yaml.at + f->yaml.n, none ? 0 : f->head.n - start - f->yaml.n};
    d.eol = frontmatter_is_crlf(none ? f->body : f->head) ? "\r\n" : "\n";
    d.lines = yml_lines(f->yaml, a, &d.line_count, e);
    if (!d.lines)
        return false;

    buf_put(out, f->head.at, start);
    if (none)
        buf_printf(out, "---%s", d.eol);
    size_t yaml = out->n;
    if (f->yml.by_lines)
        put_changed_lines(&d);
    else
        frontmatter_put_all(&d);
    for (size_t i = 0; i < count; i++)
        if (!json_get_str(f->yml.all, changes[i].key) && !removes(&changes[i]))
            yml_put_pair(out, f->yml.by_lines ? f->yml.column : 0, d.eol, changes[i].key,
                         changes[i].value);
    /* YAML knows line ends behind which a fence would be none. */
    if (out->n > yaml && out->at[out->n - 1] != '\n')
        buf_cstr(out, d.eol);
    if (!buf_check(out, "the note", e) ||
        !edit_verify(&d, (struct str){out->at + yaml, out->n - yaml}, a, e))
        return false;
    if (none)
        buf_printf(out, "---%s%s", d.eol, d.eol);
    else
        buf_str(out, after);
    return buf_check(out, "the note", e);
}

const struct json *frontmatter_text(struct str text, struct arena *a, struct err *e)
{
    scoped_buf struct buf b = buf_of(6 * text.n + 2);
    struct json_writer w = json_writer(&b);
    json_put_str(&w, text);
    return buf_check(&b, "a text", e) ? json_read(buf_view(&b), a, e) : NULL;
}
