#include "notes/canvas.h"

#include "json/json.h"

#define CARD_DEPTH 3 /* an object in the array "nodes" of the object */

enum field { FIELD_TYPE, FIELD_FILE, FIELD_SUBPATH, FIELD_TEXT, FIELD_URL, FIELD_BACK };
#define FIELDS 6u
static const char *const field_names[FIELDS] = {
    "type", "file", "subpath", "text", "url", "background",
};

struct cards {
    struct str s;
    struct arena *arena;
    void (*each)(void *arg, const struct canvas_link *l);
    void *arg;
    struct err *e;
    size_t depth;
    bool in_nodes;             /* the array of depth 2 is "nodes" */
    bool is_card;              /* an object of it is being read */
    struct str key;            /* the last one */
    struct str values[FIELDS]; /* of the card, without quotes, as they are written */
};

/* ---- strings ------------------------------------------------------------ */

/* A string without its escapes, behind a byte; and where each of its bytes is written. */
struct canvas_text {
    struct str text;
    const char *from;
    const uint32_t *places; /* of each byte of the text, from `from` on; NULL: the same */
};

static unsigned hex4(const char *s)
{
    unsigned n = 0;
    for (size_t i = 0; i < 4; i++)
        n = n * 16 + (unsigned)char_hex(s[i]);
    return n;
}

static size_t put_utf8(char *out, unsigned c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(heads[n] | c);
    return n;
}

/* One escape, which is JSON's: bytes that it has, and those that it stands for. */
static size_t canvas_unescape(const char *s, char out[4], size_t *n)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *known = strchr(from, s[1]);
    *n = 1;
    if (s[1] != 'u') {
        out[0] = known && s[1] ? to[known - from] : s[1];
        return 2;
    }
    unsigned c = hex4(s + 2);
    bool pair = c >= 0xd800 && c < 0xdc00; /* strict JSON: the other half follows */
    if (pair)
        c = 0x10000 + ((c - 0xd800) << 10) + (hex4(s + 8) - 0xdc00);
    *n = put_utf8(out, c);
    return pair ? 12 : 6;
}

static bool canvas_decode(struct cards *c, struct str raw, struct canvas_text *out)
{
    *out = (struct canvas_text){.text = raw, .from = raw.at};
    if (!raw.n || !memchr(raw.at, '\\', raw.n))
        return true;
    char *text = arena_get(c->arena, raw.n + 2, c->e);
    uint32_t *places =
        text ? arena_get(c->arena, (raw.n + 1) * sizeof *places, c->e) : NULL;
    if (!places)
        return false;
    size_t n = 0;
    text++[0] = ' ';
    for (size_t i = 0; i < raw.n;) {
        char bytes[4] = {raw.at[i]};
        size_t count = 1;
        size_t length =
            raw.at[i] == '\\' ? canvas_unescape(raw.at + i, bytes, &count) : 1;
        for (size_t k = 0; k < count; k++) {
            text[n] = bytes[k];
            places[n++] = (uint32_t)i;
        }
        i += length;
    }
    places[n] = (uint32_t)raw.n;
    *out = (struct canvas_text){{text, n}, raw.at, places};
    return true;
}

static size_t place_of(const struct canvas_text *t, const char *at)
{
    size_t i = (size_t)(at - t->text.at);
    return t->places ? t->places[i] : i;
}

/* ---- cards -------------------------------------------------------------- */

static void tell_file(struct cards *c, struct str raw, struct str subpath)
{
    struct canvas_text file, heading;
    if (!canvas_decode(c, raw, &file) || !canvas_decode(c, subpath, &heading))
        return;
    struct canvas_link l = {.link = {.target = file.text,
                                     .label = file.text,
                                     .fragment = heading.text,
                                     .kind = LINK_WIKI},
                            .at = (size_t)(raw.at - c->s.at),
                            .length = raw.n,
                            .node = true};
    if (str_starts(l.link.fragment, "#"))
        l.link.fragment = (struct str){heading.text.at + 1, heading.text.n - 1};
    if (l.link.fragment.n && !heading.places)
        l.fragment_at = (size_t)(l.link.fragment.at - c->s.at);
    if (file.text.n)
        c->each(c->arg, &l);
}

static void tell_address(struct cards *c, struct str raw)
{
    struct canvas_text url;
    if (!raw.n || !canvas_decode(c, raw, &url))
        return;
    struct canvas_link l = {
        .link = {.target = url.text, .label = url.text, .kind = LINK_EXTERNAL},
        .at = (size_t)(raw.at - c->s.at),
        .length = raw.n};
    c->each(c->arg, &l);
}

struct card_text {
    struct cards *cards;
    struct canvas_text text;
};

static void tell_text_link(void *arg, const struct link *link)
{
    struct card_text *t = arg;
    const struct canvas_text *text = &t->text;
    size_t from = place_of(text, link->target.at);
    size_t to = place_of(text, link->target.at + link->target.n);
    struct canvas_link l = {.link = *link,
                            .at = (size_t)(text->from - t->cards->s.at) + from,
                            .length = to - from};
    l.link.line = 0;
    struct str f = link->fragment;
    size_t first = f.n ? place_of(text, f.at) : 0, last = first;
    if (f.n)
        last = place_of(text, f.at + f.n);
    if (f.n && last - first == f.n) /* written as it is */
        l.fragment_at = (size_t)(text->from - t->cards->s.at) + first;
    t->cards->each(t->cards->arg, &l);
}

static void tell_card(struct cards *c)
{
    struct str type = c->values[FIELD_TYPE];
    struct card_text text = {.cards = c};
    if (str_is(type, "file"))
        tell_file(c, c->values[FIELD_FILE], c->values[FIELD_SUBPATH]);
    else if (str_is(type, "group"))
        tell_file(c, c->values[FIELD_BACK], STR(""));
    else if (str_is(type, "link"))
        tell_address(c, c->values[FIELD_URL]);
    else if (str_is(type, "text") && canvas_decode(c, c->values[FIELD_TEXT], &text.text))
        markdown_targets(text.text.text, tell_text_link, &text);
}

/* ---- the file ----------------------------------------------------------- */

static void canvas_open(struct cards *c, char sign)
{
    c->depth++;
    if (c->depth == 2)
        c->in_nodes = sign == '[' && str_is(c->key, "nodes");
    if (c->depth == CARD_DEPTH && c->in_nodes && sign == '{') {
        c->is_card = true;
        memset(c->values, 0, sizeof c->values);
    }
}

static void canvas_close(struct cards *c)
{
    if (c->depth == CARD_DEPTH && c->is_card) {
        c->is_card = false;
        tell_card(c);
    }
    if (c->depth-- == 2)
        c->in_nodes = false;
}

static void take_value(struct cards *c, struct str value)
{
    for (size_t i = 0; c->is_card && c->depth == CARD_DEPTH && i < FIELDS; i++)
        if (str_is(c->key, field_names[i]))
            c->values[i] = value;
}

/* The string at `i`, which is closed: a key or a value. Where it ends. */
static size_t take_string(struct cards *c, size_t i)
{
    size_t from = i + 1, to = from;
    while (c->s.at[to] != '"')
        to += c->s.at[to] == '\\' ? 2 : 1;
    struct str string = {c->s.at + from, to - from};
    size_t next = to + 1;
    while (next < c->s.n && strchr(" \t\r\n", c->s.at[next]) && c->s.at[next])
        next++;
    if (next < c->s.n && c->s.at[next] == ':')
        c->key = string;
    else
        take_value(c, string);
    return to + 1;
}

bool canvas_links(struct str bytes, struct arena *a,
                  void (*each)(void *arg, const struct canvas_link *l), void *arg,
                  struct err *e)
{
    struct cards c = {.s = bytes, .arena = a, .each = each, .arg = arg, .e = e};
    struct err none = {0};
    scoped(arena_free) struct arena *reading = arena_new(ARENA_VAULT);
    /* From here on it is known to be JSON, in which no string is left open. */
    if (!json_is(json_read(bytes, reading, &none), JSON_OBJECT))
        return true;
    for (size_t i = 0; i < bytes.n && !e->code;) {
        char sign = bytes.at[i];
        if (sign == '"') {
            i = take_string(&c, i);
            continue;
        }
        if (sign == '{' || sign == '[')
            canvas_open(&c, sign);
        else if (sign == '}' || sign == ']')
            canvas_close(&c);
        i++;
    }
    return e->code == ERR_NONE;
}

bool canvas_counts(const struct link *l)
{
    return !l->image || l->kind != LINK_EXTERNAL;
}

void canvas_put(struct buf *out, struct str target)
{
    scoped_buf struct buf quoted = buf_of(BUF_FILE);
    struct json_writer w = json_writer(&quoted);
    json_put_str(&w, target);
    struct str s = buf_view(&quoted);
    if (s.n >= 2)
        buf_put(out, s.at + 1, s.n - 2);
}
