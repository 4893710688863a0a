/* Secrets, out of everything that comes back, whole or in pieces.
 *
 * The text is searched as it is, and once and twice decoded: escapes of JSON, JavaScript and
 * C, percent encoding and HTML's references, in any mixture. What is found in a decoded text
 * is cut out of the text itself: each byte knows where it came from. Base64 is found at
 * its three alignments, since a value inside of a longer text begins at any of them. The
 * cost grows with the text, not with its content.
 *
 * Of a text in pieces, the end is held back that could be the beginning of a value in any of these
 * spellings, and so is an escape that is not whole. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "crypto/crypto.h"
#include "egress/internal.h"

#define DECODINGS 2u
#define NEEDLE_MAX ((size_t)16 << 10) /* bytes of one secret's form */
#define HITS_MAX ((size_t)1 << 20)    /* places; a text of more is dropped whole */
#define WINDOW_MAX \
    ((size_t)2 << 20) /* held back of a text in pieces; the longest spelling is shorter */
#define WINDOW_EACH ((size_t)4 << 10) /* so much is searched again with each piece */
#define BASE64_SURE 4u /* characters; fewer before a line's end are mere letters */

/* A text made of another; `from` has for each byte its place in the first one, and the end. */
struct layer {
    char *at;
    uint32_t *from;
    size_t n;
};

struct hit {
    uint32_t from, to, secret;
};
struct hits {
    struct hit *at;
    size_t count, capacity;
    bool failed;
};

/* Of a text of which more will come: places in it. */
struct edge {
    size_t hold; /* from here on nothing may be passed on yet */
    size_t keep; /* from here on it has to be searched again; hold at most */
};

static void layer_done(struct layer *l)
{
    free(l->at);
    free(l->from);
    *l = (struct layer){0};
}

static bool layer_init(struct layer *l, size_t room)
{
    *l =
        (struct layer){.at = malloc(room + 1), .from = calloc(room + 1, sizeof *l->from)};
    if (l->at && l->from)
        return true;
    layer_done(l);
    return false;
}

static void layer_put(struct layer *l, char c, uint32_t from)
{
    l->at[l->n] = c;
    l->from[l->n++] = from;
}

/* ---- decoding ----------------------------------------------------------------- */

/* A number in this base at `s`, of `least` to `most` digits; how many it has, or 0. */
static size_t escape_number(struct str s, unsigned base, size_t least, size_t most,
                            uint32_t *out)
{
    size_t n = 0;
    for (*out = 0; n < s.n && n < most; n++) {
        unsigned char c = (unsigned char)s.at[n];
        unsigned digit = isdigit(c)    ? c - 0x30u
                         : isxdigit(c) ? (c | 0x20u) - 0x61u + 10u
                                       : 99u;
        if (digit >= base)
            break;
        *out = *out * base + digit;
    }
    return n >= least ? n : 0;
}

static struct str behind(struct str s, size_t n)
{
    return (struct str){s.at + n, s.n - n};
}

static bool is_at(struct str s, size_t i, char c)
{
    return i < s.n && s.at[i] == c;
}

/* The bytes of `s` that are one character in another spelling; 0: none is. */
static size_t backslash(struct str s, uint32_t *c)
{
    static const char letters[] = "nrtbf", means[] = "\n\r\t\b\f";
    size_t n;
    if (s.n < 2)
        return 0;
    if (s.at[1] == 'u' && is_at(s, 2, '{')) {
        n = escape_number(behind(s, 3), 16, 1, 8, c);
        return n && is_at(s, 3 + n, '}') ? n + 4 : 0;
    }
    if (s.at[1] == 'u' || s.at[1] == 'x') {
        size_t digits = s.at[1] == 'u' ? 4 : 2;
        n = escape_number(behind(s, 2), 16, digits, digits, c);
        return n ? n + 2 : 0;
    }
    const char *letter = memchr(letters, s.at[1], sizeof letters - 1);
    *c = (unsigned char)(letter ? means[letter - letters] : s.at[1]);
    return 2;
}

static size_t percent(struct str s, uint32_t *c)
{
    bool wide = is_at(s, 1, 'u') || is_at(s, 1, 'U');
    size_t start = wide ? 2 : 1, digits = wide ? 4 : 2;
    size_t n = s.n > start ? escape_number(behind(s, start), 16, digits, digits, c) : 0;
    return n ? n + start : 0;
}

/* HTML's names of ASCII; browsers read the first four without their end, too. */
/* clang-format off */
#define REFERENCES(X) \
    X("amp", '&') X("lt", '<') X("gt", '>') X("quot", '"') X("apos", '\'') \
    X("sol", '/') X("bsol", '\\') X("plus", '+') X("equals", '=') X("num", '#') \
    X("excl", '!') X("dollar", '$') X("percnt", '%') X("lpar", '(') X("rpar", ')') \
    X("ast", '*') X("comma", ',') X("period", '.') X("colon", ':') X("semi", ';') \
    X("quest", '?') X("commat", '@') X("lsqb", '[') X("lbrack", '[') X("rsqb", ']') \
    X("rbrack", ']') X("Hat", '^') X("lowbar", '_') X("grave", '`') X("lcub", '{') \
    X("lbrace", '{') X("rcub", '}') X("rbrace", '}') X("vert", '|') X("verbar", '|')
/* clang-format on */
#define REFERENCE_NAME(name, means) name,
#define REFERENCE_ROW(name, means) {name, means},

static size_t reference(struct str s, uint32_t *c)
{
    static const struct {
        const char *name;
        char means;
    } names[] = {REFERENCES(REFERENCE_ROW)};
    if (is_at(s, 1, '#')) {
        bool hex = is_at(s, 2, 'x') || is_at(s, 2, 'X');
        size_t start = hex ? 3 : 2, n = 0;
        if (s.n > start)
            n = escape_number(behind(s, start), hex ? 16 : 10, 1, 8, c);
        return n ? start + n + is_at(s, start + n, ';') : 0;
    }
    for (size_t i = 0; i < LENGTH(names); i++) {
        size_t n = strlen(names[i].name);
        if (s.n <= n || memcmp(s.at + 1, names[i].name, n) != 0)
            continue;
        *c = (unsigned char)names[i].means;
        if (is_at(s, n + 1, ';'))
            return n + 2;
        if (i < 4)
            return n + 1;
    }
    return 0;
}

/* Could its digits, from `start` on, go on behind the end of `s`? */
static bool number_goes_on(struct str s, size_t start, unsigned base, size_t most,
                           bool ended)
{
    uint32_t c;
    if (s.n <= start)
        return true;
    size_t n = escape_number(behind(s, start), base, 1, most, &c);
    return start + n == s.n && (n < most || ended);
}

/* `s` begins with what may be an escape: could more bytes make another one of it? */
static bool is_open(struct str s)
{
    static const char *const names[] = {REFERENCES(REFERENCE_NAME)};
    char first = s.at[0], second = s.n > 1 ? s.at[1] : 0;
    bool letter = second == 'u' || second == 'x';
    if (first != '\\' && first != '%' && first != '&')
        return false;
    if (s.n == 1)
        return true;
    if (first == '\\' && second == 'u' && is_at(s, 2, '{'))
        return number_goes_on(s, 3, 16, 8, true);
    if (first == '\\')
        return letter && number_goes_on(s, 2, 16, second == 'u' ? 4 : 2, false);
    if (first == '%' && (second == 'u' || second == 'U'))
        return number_goes_on(s, 2, 16, 4, false);
    if (first == '%')
        return number_goes_on(s, 1, 16, 2, false);
    if (second == '#' && (is_at(s, 2, 'x') || is_at(s, 2, 'X')))
        return number_goes_on(s, 3, 16, 8, true);
    if (second == '#')
        return number_goes_on(s, 2, 10, 8, true);
    for (size_t i = 0; i < LENGTH(names); i++)
        if (s.n - 1 <= strlen(names[i]) && !memcmp(s.at + 1, names[i], s.n - 1))
            return true;
    return false;
}

/* `more` will come: it ends before an escape that is not whole. */
static bool layer_decode(struct str s, const uint32_t *from, bool more, struct layer *out)
{
    size_t i = 0;
    if (!layer_init(out, s.n))
        return false;
    while (i < s.n) {
        struct str rest = behind(s, i);
        uint32_t c = (unsigned char)s.at[i];
        if (more && is_open(rest))
            break;
        size_t n = s.at[i] == '\\'  ? backslash(rest, &c)
                   : s.at[i] == '%' ? percent(rest, &c)
                   : s.at[i] == '&' ? reference(rest, &c)
                                    : 0;
        /* Values are ASCII: what is more is only not to be one of its characters. */
        layer_put(out, n == 0 ? s.at[i] : (char)(c < 0x80 ? c : 0xff),
                  from ? from[i] : (uint32_t)i);
        i += n ? n : 1;
    }
    out->from[out->n] = from ? from[i] : (uint32_t)i;
    return true;
}

/* Maps to one alphabet of base64, without line ends; or small letters alone. */
static bool layer_fold(struct str s, const uint32_t *from, bool base64, struct layer *out)
{
    if (!layer_init(out, s.n))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (base64 && (c == '\r' || c == '\n'))
            continue;
        if (base64)
            c = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
        else
            c = (char)tolower((unsigned char)c);
        layer_put(out, c, from ? from[i] : (uint32_t)i);
    }
    out->from[out->n] = from ? from[s.n] : (uint32_t)s.n;
    return true;
}

/* ---- finding -------------------------------------------------------------------- */

static void add_hit(struct hits *h, uint32_t from, uint32_t to, size_t secret)
{
    if (h->count == h->capacity) {
        size_t more = h->capacity ? 2 * h->capacity : 16;
        struct hit *grown =
            more <= HITS_MAX ? reallocarray(h->at, more, sizeof *grown) : NULL;
        if (!grown) {
            h->failed = true;
            return;
        }
        h->at = grown;
        h->capacity = more;
    }
    h->at[h->count++] = (struct hit){from, to, (uint32_t)secret};
}

/* The place of the longest end of `in`, of at most so many bytes, that `what` begins with. in.n:
 * there is none. */
static size_t end_of(struct str in, struct str what, size_t most)
{
    for (size_t at = in.n > most ? in.n - most : 0; at < in.n; at++) {
        const char *first = memchr(in.at + at, what.at[0], in.n - at);
        if (!first)
            break;
        at = (size_t)(first - in.at);
        if (!memcmp(first, what.at, in.n - at))
            return at;
    }
    return in.n;
}

static void edge_at(struct edge *g, size_t place, bool holds)
{
    g->keep = place < g->keep ? place : g->keep;
    if (holds)
        g->hold = place < g->hold ? place : g->hold;
}

static bool is_base64(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("+/", c));
}

/* Where could the end of a layer be the beginning of `what`? Of base64 (`wider`), also all of it, and
 * the character before it. A line that ends in a letter or two is passed on, so that lines come when
 * they are written: what follows is found all the same. */
static void find_edge(struct str in, const uint32_t *from, struct str what, bool wider,
                      bool line_ended, struct edge *g)
{
    size_t at = g && what.n ? end_of(in, what, wider ? what.n : what.n - 1) : in.n;
    size_t n = in.n - at;
    if (!g || !in.n)
        return;
    if (wider && at && is_base64(in.at[at - 1]))
        at--;
    if (at < in.n)
        edge_at(g, from ? from[at] : at, !wider || !line_ended || n >= BASE64_SURE);
}

/* `wider`: one more byte on both sides holds a part of the value, too. */
static void hits_find(struct str in, const uint32_t *from, struct str what, bool wider,
                      size_t secret, struct hits *h)
{
    struct str rest = in;
    for (const char *at;
         what.n && !h->failed && (at = memmem(rest.at, rest.n, what.at, what.n));) {
        size_t first = (size_t)(at - in.at), end = first + what.n;
        rest = behind(in, end);
        if (wider && first && is_base64(in.at[first - 1]))
            first--;
        if (wider && end < in.n && (is_base64(in.at[end]) || in.at[end] == '='))
            end++;
        add_hit(h, from ? from[first] : (uint32_t)first, from ? from[end] : (uint32_t)end,
                secret);
    }
}

/* The characters of base64 that the value alone decides, with `before` bytes before it. */
static void base64_inside(struct str value, size_t before, struct buf *out)
{
    static const size_t skipped[] = {0, 2, 3};
    scoped_buf struct buf whole, text;
    buf_init(&whole, NEEDLE_MAX);
    buf_init(&text, 2 * NEEDLE_MAX);
    buf_put(&whole, "\0\0", before);
    buf_str(&whole, value);
    crypto_base64url(whole.at, whole.n, &text);
    size_t end = whole.n * 8 / 6;
    for (size_t i = skipped[before]; i < end && i < text.n; i++)
        buf_char(out, (char)(text.at[i] == '-'   ? '+'
                             : text.at[i] == '_' ? '/'
                                                 : text.at[i]));
    explicit_bzero(whole.at, whole.n);
    explicit_bzero(text.at, text.n);
}

static void hex(struct str value, struct buf *out)
{
    for (size_t i = 0; i < value.n; i++)
        buf_printf(out, "%02x", (unsigned char)value.at[i]);
}

/* A text that is searched, as it is or decoded. */
struct searched {
    struct str in;
    const uint32_t *from;
    struct hits *hits;
    struct edge *edge; /* NULL: it is whole */
};

static void look_for(const struct searched *s, struct str what, size_t secret)
{
    hits_find(s->in, s->from, what, false, secret, s->hits);
    find_edge(s->in, s->from, what, false, false, s->edge);
}

/* All that is looked for in one layer. */
static void search(const struct keys *k, const struct searched *s, unsigned decodings)
{
    struct str in = s->in;
    struct hits *h = s->hits;
    bool line_ended = in.n && strchr("\r\n", in.at[in.n - 1]);
    struct layer letters = {0}, small = {0};
    h->failed |= !layer_fold(in, s->from, true, &letters) ||
                 !layer_fold(in, s->from, false, &small);
    struct searched smalls = {{small.at, small.n}, small.from, h, s->edge};
    scoped_buf struct buf form = buf_of(2 * NEEDLE_MAX);
    must(buf_room(&form, 2 * NEEDLE_MAX) != NULL);
    for (size_t i = 0; !h->failed && i < k->rules->secret_count; i++) {
        struct str value = buf_view(&k->values[i]);
        if (!value.n)
            continue;
        look_for(s, value, i);
        struct layer read = {0};
        struct str seen = value; /* as it would be read in this layer */
        for (unsigned d = 0; d < decodings; d++) {
            struct layer next;
            h->failed |= !layer_decode(seen, NULL, false, &next);
            layer_done(&read);
            read = next;
            seen = (struct str){read.at, read.n};
        }
        if (decodings && !str_eq(seen, value))
            look_for(s, seen, i);
        layer_done(&read);
        if (memchr(value.at, ' ', value.n)) { /* as forms have it */
            buf_clear(&form);
            for (size_t c = 0; c < value.n; c++)
                buf_char(&form, (char)(value.at[c] == ' ' ? '+' : value.at[c]));
            look_for(s, buf_view(&form), i);
        }
        for (size_t before = 0; before < 3; before++) {
            buf_clear(&form);
            base64_inside(value, before, &form);
            hits_find((struct str){letters.at, letters.n}, letters.from, buf_view(&form),
                      true, i, h);
            find_edge((struct str){letters.at, letters.n}, letters.from, buf_view(&form),
                      true, line_ended, s->edge);
        }
        buf_clear(&form);
        hex(value, &form);
        look_for(&smalls, buf_view(&form), i);
    }
    explicit_bzero(form.at, form.capacity);
    layer_done(&letters);
    layer_done(&small);
}

/* To a place at which decoding may begin anew. */
static void keep_whole(struct edge *g, const struct layer *deepest)
{
    size_t low = 0, high = deepest->n;
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (deepest->from[middle] <= g->keep)
            low = middle;
        else
            high = middle - 1;
    }
    edge_at(g, deepest->from[low], false);
}

/* `g`, if there is one, tells what may be passed on. */
static void search_all(const struct keys *k, struct str text, struct hits *h,
                       struct edge *g)
{
    struct layer now = {0};
    search(k, &(struct searched){text, NULL, h, g}, 0);
    for (unsigned d = 1; d <= DECODINGS && !h->failed; d++) {
        struct layer next;
        struct str of = d == 1 ? text : (struct str){now.at, now.n};
        h->failed |= !layer_decode(of, now.from, g != NULL, &next);
        layer_done(&now);
        if (h->failed)
            return;
        now = next;
        if (g)
            edge_at(g, now.from[now.n], true);
        if (now.n == of.n) /* nothing was spelt otherwise */
            break;
        search(k, &(struct searched){{now.at, now.n}, now.from, h, g}, d);
    }
    if (g && !h->failed)
        keep_whole(g, &now);
    layer_done(&now);
}

/* ---- taking out ------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to < y->to) - (x->to > y->to);
}

/* Appends the text between two places, without what was found. */
static void put_clean(const struct keys *k, const struct hits *h, struct str text,
                      size_t from, size_t to, struct buf *out)
{
    size_t at = from;
    for (size_t i = 0; i < h->count && h->at[i].from < to; i++) {
        const struct hit *x = &h->at[i];
        size_t begins = x->from > from ? x->from : from;
        if (x->to > from && begins >= at) {
            buf_put(out, text.at + at, begins - at);
            buf_printf(out, "[secret:%s]", k->rules->secrets[x->secret].name);
        }
        at = x->to > at ? x->to : at;
    }
    if (at < to)
        buf_put(out, text.at + at, to - at);
}

static bool cut_out(const struct keys *k, const struct hits *h, struct buf *text)
{
    struct buf clean;
    buf_init(&clean, text->ceiling);
    put_clean(k, h, buf_view(text), 0, text->n, &clean);
    bool ok = !clean.failed;
    buf_done(text);
    *text = clean;
    return ok;
}

bool keys_any(const struct keys *k)
{
    size_t any = 0;
    for (size_t i = 0; k->rules && i < k->rules->secret_count; i++)
        any += k->values[i].n;
    return any > 0;
}

static void sort_hits(struct hits *h)
{
    if (h->count)
        qsort(h->at, h->count, sizeof *h->at, by_place);
}

bool keys_scrub(const struct keys *k, struct buf *text)
{
    if (!keys_any(k) || !text->n)
        return true;
    struct hits h = {0};
    search_all(k, buf_view(text), &h, NULL);
    sort_hits(&h);
    bool ok = !h.failed && (!h.count || cut_out(k, &h, text));
    if (h.failed)
        buf_clear(text); /* what could not be searched is not shown */
    free(h.at);
    return ok;
}

void keys_scrub_error(const struct keys *k, struct err *e)
{
    scoped_buf struct buf text = buf_of(2 * sizeof e->msg);
    buf_cstr(&text, e->msg);
    (void)keys_scrub(k, &text);
    (void)snprintf(e->msg, sizeof e->msg, "%.*s",
                   STR_ARGS(str_cut(buf_view(&text), sizeof e->msg - 1)));
}

/* ---- in pieces -------------------------------------------------------------------- */

void sieve_init(struct sieve *s, const struct keys *k)
{
    *s = (struct sieve){.keys = keys_any(k) ? k : NULL};
    buf_init(&s->window, WINDOW_MAX);
}

void sieve_done(struct sieve *s)
{
    buf_done(&s->window);
}

/* What was found is passed on as a whole. */
static void hold_whole(struct edge *g, const struct hits *h)
{
    for (size_t i = h->count; i--;)
        if (h->at[i].from < g->hold && h->at[i].to > g->hold)
            edge_at(g, h->at[i].from, true);
}

bool sieve_put(struct sieve *s, struct str piece, bool last, struct buf *out)
{
    struct hits h = {0};
    if (!s->keys)
        return buf_str(out, piece);
    if (!buf_str(&s->window, piece))
        return false;
    s->fresh += piece.n;
    /* Much was held back: it is searched again when there is as much more to search. */
    if (!last && s->window.n - s->fresh > WINDOW_EACH && s->fresh < s->window.n / 4)
        return true;
    struct edge g = {s->window.n, s->window.n};
    search_all(s->keys, buf_view(&s->window), &h, last ? NULL : &g);
    sort_hits(&h);
    hold_whole(&g, &h);
    size_t to = g.hold > s->sent ? g.hold : s->sent;
    if (!h.failed)
        put_clean(s->keys, &h, buf_view(&s->window), s->sent, to, out);
    free(h.at);
    if (g.keep && s->window.n)
        memmove(s->window.at, s->window.at + g.keep, s->window.n - g.keep);
    s->window.n -= g.keep;
    s->sent = to - g.keep;
    s->fresh = 0;
    return !h.failed && !out->failed;
}
