/* Myers' greedy algorithm between the common head and tail of the texts.
 * Source: E. Myers, An O(ND) Difference Algorithm and Its Variations, 1986. */
#include "base/base.h"

#define CONTEXT 3
#define EDITS_MAX 400      /* differing lines that are searched for; its square is kept */
#define LINES_MAX 2000000u /* of one text; more are one block */

struct text {
    struct str *lines; /* with their ends */
    size_t count;
};

/* The fate of each line of the old text, and the lines added before it. */
struct diff {
    struct text old, now;
    size_t head, tail; /* lines that both have, at the ends */
    bool *gone;        /* old lines that are not in the new text */
    bool *made;        /* new lines that are not in the old one */
    struct arena *arena;
};

static bool text_split(struct str s, struct arena *a, struct text *out)
{
    struct err full = {0};
    size_t count = 0;
    for (size_t i = 0; i < s.n; count++) {
        const char *end = memchr(s.at + i, '\n', s.n - i);
        i = end ? (size_t)(end + 1 - s.at) : s.n;
    }
    out->lines = arena_get(a, (count + 1) * sizeof *out->lines, &full);
    if (!out->lines || count > LINES_MAX)
        return false;
    for (size_t i = 0; i < s.n;) {
        const char *end = memchr(s.at + i, '\n', s.n - i);
        size_t n = (end ? (size_t)(end + 1 - s.at) : s.n) - i;
        out->lines[out->count++] = (struct str){s.at + i, n};
        i += n;
    }
    return true;
}

static void trim_common(struct diff *d)
{
    size_t least = d->old.count < d->now.count ? d->old.count : d->now.count;
    while (d->head < least && str_eq(d->old.lines[d->head], d->now.lines[d->head]))
        d->head++;
    while (d->tail < least - d->head && str_eq(d->old.lines[d->old.count - 1 - d->tail],
                                               d->now.lines[d->now.count - 1 - d->tail]))
        d->tail++;
}

/* ---- the search ---------------------------------------------------------- */

struct search {
    const struct str *a, *b;
    int64_t n, m;
    /* For each number of edits d, how far each diagonal -d .. d reaches in `a`. */
    int32_t *reach[EDITS_MAX + 1];
};

static int64_t reach_of(const struct search *s, int64_t d, int64_t k)
{
    return k < -d || k > d ? -1 : s->reach[d][k + d];
}

/* From which diagonal the d-th edit comes to diagonal k: does it insert? */
static bool inserts(const struct search *s, int64_t d, int64_t k)
{
    return k == -d || (k != d && reach_of(s, d - 1, k - 1) < reach_of(s, d - 1, k + 1));
}

/* The number of edits, or -1 when there are too many. */
static int64_t run_search(struct search *s, struct arena *arena)
{
    struct err full = {0};
    for (int64_t d = 0; d <= EDITS_MAX; d++) {
        s->reach[d] = arena_get(arena, (size_t)(2 * d + 1) * sizeof(int32_t), &full);
        if (!s->reach[d])
            return -1;
        for (int64_t k = -d; k <= d; k += 2) {
            int64_t x = 0;
            if (d)
                x = inserts(s, d, k) ? reach_of(s, d - 1, k + 1)
                                     : reach_of(s, d - 1, k - 1) + 1;
            while (x < s->n && x - k < s->m && x >= 0 && x - k >= 0 &&
                   str_eq(s->a[x], s->b[x - k]))
                x++;
            s->reach[d][k + d] = (int32_t)x;
            if (x >= s->n && x - k >= s->m)
                return d;
        }
    }
    return -1;
}

static void walk_back(struct search *s, int64_t edits, bool *gone, bool *made)
{
    int64_t k = s->n - s->m;
    for (int64_t d = edits; d > 0; d--) {
        bool insert = inserts(s, d, k);
        k += insert ? 1 : -1;
        int64_t x = reach_of(s, d - 1, k);
        if (insert)
            made[x - k] = true;
        else
            gone[x] = true;
    }
}

static bool diff_compare(struct diff *d)
{
    struct err full = {0};
    d->gone = arena_get(d->arena, d->old.count + 1, &full);
    d->made = arena_get(d->arena, d->now.count + 1, &full);
    struct search *s = arena_get(d->arena, sizeof *s, &full);
    if (!d->gone || !d->made || !s)
        return false;
    trim_common(d);
    s->a = d->old.lines + d->head;
    s->b = d->now.lines + d->head;
    s->n = (int64_t)(d->old.count - d->head - d->tail);
    s->m = (int64_t)(d->now.count - d->head - d->tail);
    int64_t edits = run_search(s, d->arena);
    if (edits >= 0) {
        walk_back(s, edits, d->gone + d->head, d->made + d->head);
    } else {
        memset(d->gone + d->head, true, (size_t)s->n);
        memset(d->made + d->head, true, (size_t)s->m);
    }
    return true;
}

/* ---- writing it down ----------------------------------------------------- */

static void put_line(struct buf *out, char sign, struct str line)
{
    buf_char(out, sign);
    buf_str(out, line);
    if (!line.n || line.at[line.n - 1] != '\n')
        buf_cstr(out, "\n\\ No newline at end of file\n");
}

struct place {
    size_t i, j; /* lines of the old and of the new text */
};

static bool differs_at(const struct diff *d, struct place p)
{
    return (p.i < d->old.count && d->gone[p.i]) || (p.j < d->now.count && d->made[p.j]);
}

static bool is_end(const struct diff *d, struct place p)
{
    return p.i >= d->old.count && p.j >= d->now.count;
}

static struct place step_over(const struct diff *d, struct place p)
{
    bool gone = p.i < d->old.count && d->gone[p.i];
    bool made = !gone && p.j < d->now.count && d->made[p.j];
    return (struct place){p.i + !made, p.j + !gone};
}

/* Behind the hunk that begins at `p`: up to CONTEXT equal lines after the last
 * difference, and further where the next is near. */
static struct place hunk_end(const struct diff *d, struct place p)
{
    size_t equal = 0;
    struct place end = p;
    for (; !is_end(d, p) && equal <= 2 * CONTEXT; p = step_over(d, p)) {
        bool differs = differs_at(d, p);
        equal = differs ? 0 : equal + 1;
        if (equal <= CONTEXT)
            end = step_over(d, p);
    }
    return end;
}

static void put_hunk(const struct diff *d, struct place p, struct place end,
                     struct buf *out)
{
    size_t old = end.i - p.i, now = end.j - p.j;
    buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", p.i + (old > 0), old, p.j + (now > 0),
               now);
    while (p.i < end.i || p.j < end.j) {
        struct place next = step_over(d, p);
        if (next.j == p.j)
            put_line(out, '-', d->old.lines[p.i]);
        else if (next.i == p.i)
            put_line(out, '+', d->now.lines[p.j]);
        else
            put_line(out, ' ', d->old.lines[p.i]);
        p = next;
    }
}

static bool diff_cut(struct buf *out, size_t from, size_t max)
{
    if (!out->failed && out->n - from <= max)
        return true;
    out->failed = false;
    size_t end = from + (out->n - from < max ? out->n - from : max);
    while (end > from && out->at[end - 1] != '\n')
        end--;
    out->n = end;
    return false;
}

static bool put_hunks(const struct diff *d, size_t max, struct buf *out)
{
    size_t from = out->n;
    struct place before[CONTEXT] = {0}; /* the last equal lines, as a ring */
    size_t seen = 0;
    for (struct place p = {0}; !is_end(d, p);) {
        if (!differs_at(d, p)) {
            before[seen++ % CONTEXT] = p;
            p = step_over(d, p);
            continue;
        }
        struct place start = seen == 0        ? p
                             : seen < CONTEXT ? before[0]
                                              : before[seen % CONTEXT];
        struct place end = hunk_end(d, start);
        /* A single line may be larger than `max`. */
        put_hunk(d, start, end, out);
        if (!diff_cut(out, from, max))
            return false;
        p = end;
        seen = 0;
    }
    return true;
}

bool diff_put(struct str old, struct str now, size_t max, struct buf *out)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    struct diff d = {.arena = a};
    return text_split(old, a, &d.old) && text_split(now, a, &d.now) && diff_compare(&d) &&
           put_hunks(&d, max, out);
}
