/* Secrets, out of everything that comes back.
 *
 * The text is searched as it is, and once and twice decoded: escapes of JSON, JavaScript and
 * C, percent encoding and HTML's references, in any mixture. What is found in a decoded text
 * is cut out of the text itself: each byte knows where it came from. Base64 is found at
 * its three alignments, since a value inside of a longer text begins at any of them. The
 * cost grows with the text, not with its content. */
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "crypto/crypto.h"
#include "egress/internal.h"

#define DECODINGS 2u
#define NEEDLE_MAX ((size_t)16 << 10) /* bytes of one secret's form */
#define HITS_MAX ((size_t)1 << 20)    /* places; a text of more is dropped whole */

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

static size_t reference(struct str s, uint32_t *c)
{
    static const struct {
        const char *name;
        char means;
    } names[] = {
        {"amp", '&'},    {"lt", '<'},     {"gt", '>'},     {"quot", '"'},
        {"apos", '\''},  {"sol", '/'},    {"bsol", '\\'},  {"plus", '+'},
        {"equals", '='}, {"num", '#'},    {"excl", '!'},   {"dollar", '$'},
        {"percnt", '%'}, {"lpar", '('},   {"rpar", ')'},   {"ast", '*'},
        {"comma", ','},  {"period", '.'}, {"colon", ':'},  {"semi", ';'},
        {"quest", '?'},  {"commat", '@'}, {"lsqb", '['},   {"lbrack", '['},
        {"rsqb", ']'},   {"rbrack", ']'}, {"Hat", '^'},    {"lowbar", '_'},
        {"grave", '`'},  {"lcub", '{'},   {"lbrace", '{'}, {"rcub", '}'},
        {"rbrace", '}'}, {"vert", '|'},   {"verbar", '|'},
    };
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
        if (i < 4) /* browsers do without its end */
            return n + 1;
    }
    return 0;
}

static bool layer_decode(struct str s, const uint32_t *from, struct layer *out)
{
    if (!layer_init(out, s.n))
        return false;
    for (size_t i = 0; i < s.n;) {
        struct str rest = behind(s, i);
        uint32_t c = (unsigned char)s.at[i];
        size_t n = s.at[i] == '\\'  ? backslash(rest, &c)
                   : s.at[i] == '%' ? percent(rest, &c)
                   : s.at[i] == '&' ? reference(rest, &c)
                                    : 0;
        /* Values are ASCII: what is more is only not to be one of its characters. */
        layer_put(out, n == 0 ? s.at[i] : (char)(c < 0x80 ? c : 0xff),
                  from ? from[i] : (uint32_t)i);
        i += n ? n : 1;
    }
    out->from[out->n] = from ? from[s.n] : (uint32_t)s.n;
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

/* `wider`: one more byte on both sides holds a part of the value, too. */
static void hits_find(struct str in, const uint32_t *from, struct str what, bool wider,
                      size_t secret, struct hits *h)
{
    struct str rest = in;
    for (const char *at;
         what.n && !h->failed && (at = memmem(rest.at, rest.n, what.at, what.n));) {
        size_t first = (size_t)(at - in.at), end = first + what.n;
        rest = behind(in, end);
        if (wider && first &&
            (isalnum((unsigned char)in.at[first - 1]) || strchr("+/", in.at[first - 1])))
            first--;
        if (wider && end < in.n &&
            (isalnum((unsigned char)in.at[end]) || strchr("+/=", in.at[end])))
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

/* All that is looked for in one layer. */
static void search(const struct keys *k, struct str in, const uint32_t *from,
                   unsigned decodings, struct hits *h)
{
    struct layer letters = {0}, small = {0};
    h->failed |=
        !layer_fold(in, from, true, &letters) || !layer_fold(in, from, false, &small);
    scoped_buf struct buf form = buf_of(2 * NEEDLE_MAX);
    must(buf_room(&form, 2 * NEEDLE_MAX) != NULL);
    for (size_t i = 0; !h->failed && i < k->rules->secret_count; i++) {
        struct str value = buf_view(&k->values[i]);
        if (!value.n)
            continue;
        hits_find(in, from, value, false, i, h);
        struct layer read = {0};
        struct str seen = value; /* as it would be read in this layer */
        for (unsigned d = 0; d < decodings; d++) {
            struct layer next;
            h->failed |= !layer_decode(seen, NULL, &next);
            layer_done(&read);
            read = next;
            seen = (struct str){read.at, read.n};
        }
        if (decodings && !str_eq(seen, value))
            hits_find(in, from, seen, false, i, h);
        layer_done(&read);
        if (memchr(value.at, ' ', value.n)) { /* as forms have it */
            buf_clear(&form);
            for (size_t c = 0; c < value.n; c++)
                buf_char(&form, (char)(value.at[c] == ' ' ? '+' : value.at[c]));
            hits_find(in, from, buf_view(&form), false, i, h);
        }
        for (size_t before = 0; before < 3; before++) {
            buf_clear(&form);
            base64_inside(value, before, &form);
            hits_find((struct str){letters.at, letters.n}, letters.from, buf_view(&form),
                      true, i, h);
        }
        buf_clear(&form);
        hex(value, &form);
        hits_find((struct str){small.at, small.n}, small.from, buf_view(&form), false, i,
                  h);
    }
    explicit_bzero(form.at, form.capacity);
    layer_done(&letters);
    layer_done(&small);
}

static void search_all(const struct keys *k, struct str text, struct hits *h)
{
    struct layer now = {0};
    search(k, text, NULL, 0, h);
    for (unsigned d = 1; d <= DECODINGS && !h->failed; d++) {
        struct layer next;
        struct str of = d == 1 ? text : (struct str){now.at, now.n};
        h->failed |= !layer_decode(of, now.from, &next);
        layer_done(&now);
        if (h->failed)
            return;
        now = next;
        if (now.n == of.n) /* nothing was spelt otherwise */
            break;
        search(k, (struct str){now.at, now.n}, now.from, d, h);
    }
    layer_done(&now);
}

/* ---- taking out ------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to < y->to) - (x->to > y->to);
}

static bool cut_out(const struct keys *k, const struct hits *h, struct buf *text)
{
    struct buf clean;
    buf_init(&clean, text->ceiling);
    size_t at = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct hit *x = &h->at[i];
        if (x->from >= at) {
            buf_put(&clean, text->at + at, x->from - at);
            buf_printf(&clean, "[secret:%s]", k->rules->secrets[x->secret].name);
        }
        at = x->to > at ? x->to : at;
    }
    buf_put(&clean, text->at + at, text->n - at);
    bool ok = !clean.failed;
    buf_done(text);
    *text = clean;
    return ok;
}

bool keys_scrub(const struct keys *k, struct buf *text)
{
    size_t any = 0;
    for (size_t i = 0; k->rules && i < k->rules->secret_count; i++)
        any += k->values[i].n;
    if (!any || !text->n)
        return true;
    struct hits h = {0};
    search_all(k, buf_view(text), &h);
    if (h.count)
        qsort(h.at, h.count, sizeof *h.at, by_place);
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
