/* Source maps, read (ECMA-426: Base64 VLQ, every number relative to the one before), and
 * columns from the unit that each side counts in to the other's. The map comes out of
 * a guest: nothing in it is taken on trust. */
#include "typescript/internal.h"

/* ---- lines and columns -------------------------------------------------- */

bool lined_init(struct lined *l, struct str text)
{
    uint32_t count = 1;
    *l = (struct lined){.text = text};
    if (text.n > INT32_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++)
        count += text.at[i] == '\n';
    l->starts = malloc(count * sizeof *l->starts);
    if (!l->starts)
        return false;
    l->starts[l->count++] = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] == '\n')
            l->starts[l->count++] = (uint32_t)i + 1;
    return true;
}

void lined_done(struct lined *l)
{
    free(l->starts);
    *l = (struct lined){0};
}

struct str lined_at(const struct lined *l, uint32_t line)
{
    if (line >= l->count)
        return STR("");
    size_t from = l->starts[line];
    size_t to = line + 1 < l->count ? l->starts[line + 1] - 1u : l->text.n;
    return (struct str){l->text.at + from, to - from};
}

/* A walk over a line's characters that counts in all three units. */
struct ruler {
    uint32_t bytes, chars, units;
};

static bool ruler_step(struct ruler *r, struct str line)
{
    if (r->bytes >= line.n)
        return false;
    const char *at = line.at + r->bytes;
    uint32_t c = str_next_char(&at, line.at + line.n);
    r->bytes = (uint32_t)(at - line.at);
    r->chars++;
    r->units += c > 0xffff ? 2 : 1;
    return true;
}

uint32_t units_of_bytes(struct str line, uint32_t bytes)
{
    struct ruler r = {0};
    while (r.bytes < bytes && ruler_step(&r, line))
        ;
    return r.units;
}

uint32_t units_of_chars(struct str line, uint32_t chars)
{
    struct ruler r = {0};
    while (r.chars < chars && ruler_step(&r, line))
        ;
    return r.units;
}

uint32_t chars_of_units(struct str line, uint32_t units)
{
    struct ruler r = {0};
    while (r.units < units && ruler_step(&r, line))
        ;
    return r.chars;
}

uint32_t bytes_of_units(struct str line, uint32_t units)
{
    struct ruler r = {0};
    while (r.units < units && ruler_step(&r, line))
        ;
    return r.bytes;
}

uint32_t chars_of_bytes(struct str line, uint32_t bytes)
{
    struct ruler r = {0};
    while (r.bytes < bytes && ruler_step(&r, line))
        ;
    return r.chars;
}

/* ---- mappings ----------------------------------------------------------- */

static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Reads a number; false: there is none, or it does not fit. */
static bool read_vlq(const char **at, const char *end, int64_t *out)
{
    uint64_t all = 0;
    for (unsigned shift = 0; *at < end && shift < 35; shift += 5) {
        int digit = base64_digit(*(*at));
        if (digit < 0)
            return false;
        (*at)++;
        all |= (uint64_t)(digit & 31) << shift;
        if (!(digit & 32)) {
            *out = all & 1 ? -(int64_t)(all >> 1) : (int64_t)(all >> 1);
            return true;
        }
    }
    return false;
}

/* The numbers of one segment: generated column, source, its line, its column, name. */
enum { COLUMN, SOURCE, FROM_LINE, FROM_COLUMN, NAME, NUMBERS };

static bool read_segment(const char **at, const char *end, int64_t now[NUMBERS],
                         size_t *count)
{
    for (*count = 0; *at < end && **at != ',' && **at != ';'; (*count)++) {
        int64_t by;
        if (*count == NUMBERS || !read_vlq(at, end, &by))
            return false;
        now[*count] += by;
        if (now[*count] < 0 || now[*count] > INT32_MAX)
            return false;
    }
    return *count == 0 || *count == 1 || *count == 4 || *count == 5;
}

static bool put_segment(struct positions *p, size_t *room, uint32_t line,
                        const int64_t now[NUMBERS])
{
    if (p->count == *room) {
        size_t more = *room ? 2 * *room : 64;
        struct segment *grown = reallocarray(p->row, more, sizeof *grown);
        if (!grown)
            return false;
        p->row = grown;
        *room = more;
    }
    struct segment s = {line, (uint32_t)now[COLUMN], (uint32_t)now[FROM_LINE],
                        (uint32_t)now[FROM_COLUMN]};
    const struct segment *last = p->count ? &p->row[p->count - 1] : NULL;
    if (last && last->line == line && last->column > s.column)
        return false; /* they are looked for by halves */
    p->row[p->count++] = s;
    return true;
}

bool positions_read(struct str mappings, struct positions *out, struct err *e)
{
    int64_t now[NUMBERS] = {0};
    uint32_t line = 0;
    size_t room = 0, count;
    const char *at = mappings.at, *end = at + mappings.n;
    *out = (struct positions){0};
    while (at < end) {
        bool fine = read_segment(&at, end, now, &count) &&
                    (count < 4 || put_segment(out, &room, line, now));
        if (!fine || line == INT32_MAX) {
            positions_done(out);
            return err_set(e, ERR_INVALID, "the source map cannot be read");
        }
        if (at < end && *at++ == ';') {
            line++;
            now[COLUMN] = 0;
        }
    }
    return true;
}

void positions_done(struct positions *p)
{
    free(p->row);
    *p = (struct positions){0};
}

const struct segment *positions_find(const struct positions *p, uint32_t line,
                                     uint32_t column)
{
    size_t from = 0, to = p->count; /* the first one behind the place */
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct segment *s = &p->row[middle];
        if (s->line < line || (s->line == line && s->column <= column))
            from = middle + 1;
        else
            to = middle;
    }
    return to ? &p->row[to - 1] : NULL;
}

bool positions_reach(const struct positions *p, uint32_t line, uint32_t column)
{
    for (size_t i = p->count; i-- > 0;) {
        const struct segment *s = &p->row[i];
        if (s->from_line > line || (s->from_line == line && s->from_column >= column))
            return true;
    }
    return false;
}
