/* The notes that a wrong identifier may mean.
 *
 * Looks at every note's names: a few milliseconds for tens of thousands, and only
 * after a failure; the time is bounded all the same.
 */
#include "notes/find.h"
#include "notes/name.h"
#include "os/os.h"

#define TIME_MAX_NS 50000000u

struct nearest {
    struct str name, stem; /* `stem`: what stands behind its last slash */
    struct arena *arena;
    struct str *found; /* NOTES_NEAREST of them, in the arena */
    size_t slips[NOTES_NEAREST];
    size_t count;
};

/* As many slips as a name of this length may have: a short one is soon another word. */
static size_t bearable(size_t n)
{
    return n < 6 ? 1 : n < 10 ? 2 : n < 16 ? 3 : 4;
}

static size_t slips_between(struct str a, struct str b)
{
    size_t apart = a.n < b.n ? b.n - a.n : a.n - b.n;
    return apart > bearable(a.n) ? SIZE_MAX : str_distance(a, b);
}

/* A name within the other, as "standup" in "weekly standup": some likeness. */
static bool is_part(struct str small, struct str large)
{
    return small.n >= 4 && large.n >= small.n &&
           memmem(large.at, large.n, small.at, small.n) != NULL;
}

/* SIZE_MAX: not alike. */
static size_t slips_of(const struct nearest *x, struct str id, struct str title)
{
    struct str stem = id;
    const char *slash = memrchr(id.at, '/', id.n);
    if (slash)
        stem = (struct str){slash + 1, (size_t)(id.at + id.n - slash - 1)};
    const size_t slips[] = {slips_between(x->name, id), slips_between(x->stem, stem),
                            slips_between(x->name, title)};
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < LENGTH(slips); i++)
        least = slips[i] < least ? slips[i] : least;
    if (least <= bearable(x->stem.n))
        return least;
    return is_part(x->stem, stem) || is_part(stem, x->stem) ? 5 : SIZE_MAX;
}

/* Keeps the list in order, the best first. */
static bool nearest_keep(struct nearest *x, struct str id, size_t slips, struct err *e)
{
    size_t at = x->count;
    while (at > 0 && x->slips[at - 1] > slips)
        at--;
    if (at == NOTES_NEAREST)
        return true;
    char *copy = arena_copy(x->arena, id.at, id.n, e);
    if (!copy)
        return false;
    x->count += x->count < NOTES_NEAREST;
    for (size_t i = x->count - 1; i > at; i--) {
        x->found[i] = x->found[i - 1];
        x->slips[i] = x->slips[i - 1];
    }
    x->found[at] = (struct str){copy, id.n};
    x->slips[at] = slips;
    return true;
}

static bool nearest_read(struct db *db, void *arg, struct err *e)
{
    struct nearest *x = arg;
    x->count = 0;
    uint64_t until = os_mono_ns() + TIME_MAX_NS;
    scoped(query_end) struct query *q =
        db_query(db, "SELECT " FIND_ID ", n.title FROM notes n ORDER BY n.id", e);
    while (q && query_next(q, e) && os_mono_ns() < until) {
        size_t slips = slips_of(x, query_str(q, 0), query_str(q, 1));
        if (slips != SIZE_MAX && !nearest_keep(x, query_str(q, 0), slips, e))
            return false;
    }
    return q && !e->code;
}

bool notes_nearest(struct vault *v, struct str name, struct str ids[static NOTES_NEAREST],
                   size_t *count, struct arena *a, struct err *e)
{
    const char *slash = memrchr(name.at, '/', name.n);
    size_t from = slash ? (size_t)(slash + 1 - name.at) : 0;
    struct nearest x = {
        .name = name, .stem = {name.at + from, name.n - from}, .arena = a, .found = ids};
    if (x.stem.n && !index_use(v, nearest_read, &x, e))
        return false;
    *count = x.count;
    return true;
}
