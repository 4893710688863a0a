#include "notes/anchors.h"

#include "notes/blocks.h"
#include "notes/fold.h"

#define HEADING_MAX 2000u /* bytes of a heading that are compared */

void anchors_done(struct anchors *a)
{
    for (size_t i = 0; i < a->notes.count; i++) {
        map_done(&a->of[i].headings);
        map_done(&a->of[i].blocks);
    }
    map_done(&a->notes);
    free(a->of);
    query_end(a->body);
    arena_free(a->arena);
    *a = (struct anchors){0};
}

/* ---- names ----------------------------------------------------------------- */

/* "%20" is a space, in Markdown's links. */
static void put_decoded(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        int high = s.at[i] == '%' && i + 2 < s.n ? char_hex(s.at[i + 1]) : -1;
        int low = high >= 0 ? char_hex(s.at[i + 2]) : -1;
        if (low >= 0)
            i += 2;
        buf_char(out, low >= 0 ? (char)(high * 16 + low) : s.at[i]);
    }
}

/* Letters and digits alone, in one case. */
static struct str heading_key(struct str s, struct buf *out)
{
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    struct str f = fold_key(str_cut(s, HEADING_MAX), &folded);
    buf_clear(out);
    for (size_t i = 0; i < f.n; i++)
        if ((unsigned char)f.at[i] >= 0x80 || char_is_letter(f.at[i]) ||
            char_is_digit(f.at[i]))
            buf_char(out, f.at[i]);
    return buf_view(out);
}

bool anchor_is(struct str fragment, struct str heading)
{
    scoped_buf struct buf a = buf_of(FOLD_KEY_MAX), b = buf_of(FOLD_KEY_MAX),
                          decoded = buf_of(FOLD_KEY_MAX);
    put_decoded(fragment, &decoded);
    return str_eq(heading_key(buf_view(&decoded), &a), heading_key(heading, &b));
}

static bool keep_key(struct anchors *a, struct map *m, struct str key, struct err *e)
{
    if (!key.n || map_find(m, key) != MAP_NONE)
        return true;
    const char *copy = arena_copy(a->arena, key.at, key.n, e);
    return copy && map_add(m, (struct str){copy, key.n}, e) != MAP_NONE;
}

/* ---- a note's -------------------------------------------------------------- */

struct reading_anchors {
    struct anchors *a;
    struct anchors_of *of;
    struct buf key;
    struct err *e;
};

static bool is_block_sign(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '-';
}

/* "^id" at the end of the line, behind a space or alone. */
static bool keep_block(struct reading_anchors *r, struct str line)
{
    line = str_trim(line);
    size_t i = line.n;
    while (i > 0 && is_block_sign(line.at[i - 1]))
        i--;
    if (i == 0 || i == line.n || line.at[i - 1] != '^')
        return true;
    bool alone = i == 1 || line.at[i - 2] == ' ' || line.at[i - 2] == '\t';
    struct str id = {line.at + i, line.n - i};
    buf_clear(&r->key);
    fold_put(id, &r->key);
    return !alone || keep_key(r->a, &r->of->blocks, buf_view(&r->key), r->e);
}

static bool take_anchors(void *arg, const struct block *b)
{
    struct reading_anchors *r = arg;
    bool heading = b->kind == BLOCK_HEADING, ok = true;
    if (!heading && b->kind != BLOCK_PARAGRAPH)
        return true;
    if (heading)
        ok = keep_key(r->a, &r->of->headings, heading_key(b->text, &r->key), r->e);
    for (size_t i = 0; ok && i < b->text.n;) {
        const char *end = memchr(b->text.at + i, '\n', b->text.n - i);
        size_t n = end ? (size_t)(end - b->text.at) - i : b->text.n - i;
        ok = keep_block(r, (struct str){b->text.at + i, n});
        i += n + 1;
    }
    return ok;
}

static struct anchors_of *anchors_read(struct anchors *a, struct db *db, int64_t note,
                                       struct err *e)
{
    size_t number = map_find_int(&a->notes, note);
    if (number != MAP_NONE)
        return &a->of[number];
    a->arena = a->arena ? a->arena : arena_new(ARENA_VAULT);
    if (!array_fit(a->of, a->capacity, a->notes.count, e) ||
        (number = map_add_int(&a->notes, note, e)) == MAP_NONE)
        return NULL;
    a->of[number] = (struct anchors_of){0};
    if (!a->body &&
        !(a->body = db_query(db, "SELECT body FROM texts WHERE rowid = ?", e)))
        return NULL;
    query_again(a->body);
    query_bind_int(a->body, 1, note);
    struct reading_anchors r = {.a = a, .of = &a->of[number], .e = e};
    buf_init(&r.key, FOLD_KEY_MAX);
    if (query_next(a->body, e))
        blocks_scan(query_str(a->body, 0), take_anchors, &r);
    buf_done(&r.key);
    query_again(a->body);
    return e->code ? NULL : &a->of[number];
}

/* ---- asking ---------------------------------------------------------------- */

static bool has_heading(const struct anchors_of *of, struct str name)
{
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    if (map_find(&of->headings, heading_key(name, &key)) != MAP_NONE || !key.n)
        return true;
    /* "#notes-1": the second heading of that name. */
    size_t n = name.n;
    while (n > 0 && char_is_digit(name.at[n - 1]))
        n--;
    return n > 1 && n < name.n && name.at[n - 1] == '-' &&
           map_find(&of->headings, heading_key((struct str){name.at, n - 1}, &key)) !=
               MAP_NONE;
}

enum anchor_outcome anchors_find(struct anchors *a, struct db *db, int64_t note,
                                 struct str fragment, struct err *e)
{
    scoped_buf struct buf decoded = buf_of(FOLD_KEY_MAX), key = buf_of(FOLD_KEY_MAX);
    const struct anchors_of *of = anchors_read(a, db, note, e);
    if (!of)
        return ANCHOR_FOUND;
    put_decoded(str_cut(fragment, HEADING_MAX), &decoded);
    struct str name = buf_view(&decoded);
    for (size_t i = 0; i < name.n;) {
        const char *end = memchr(name.at + i, '#', name.n - i);
        size_t n = end ? (size_t)(end - name.at) - i : name.n - i;
        struct str part = str_trim((struct str){name.at + i, n});
        i += n + 1;
        if (str_starts(part, "^")) {
            fold_put((struct str){part.at + 1, part.n - 1}, &key);
            return map_find(&of->blocks, buf_view(&key)) != MAP_NONE ? ANCHOR_FOUND
                                                                     : ANCHOR_NO_BLOCK;
        }
        if (part.n && !has_heading(of, part))
            return ANCHOR_NO_HEADING;
    }
    return ANCHOR_FOUND;
}
