/* The notes of a change, and which of them is where: found by path, since a change may
 * have many and each of its steps asks. */
#include "notes/entry.h"

#include "notes/linktext.h"
#include "notes/name.h"

static struct place *known_place(const struct change *c, const char *path)
{
    size_t number = map_find(&c->paths, str_of(path));
    return number == MAP_NONE ? NULL : &c->places[number];
}

struct place *entry_place(struct change *c, const char *path, size_t *number,
                          struct err *e)
{
    size_t at = map_find(&c->paths, str_of(path));
    if (at == MAP_NONE) {
        const char *copy = arena_copy(c->arena, path, strlen(path), e);
        if (!copy || !array_fit(c->places, c->place_capacity, c->paths.count, e) ||
            (at = map_add(&c->paths, str_of(copy), e)) == MAP_NONE)
            return NULL;
        c->places[at] = (struct place){0};
    }
    if (number)
        *number = at;
    return &c->places[at];
}

struct entry *entry_at(const struct change *c, const char *path)
{
    const struct place *p = known_place(c, path);
    return p ? p->here : NULL;
}

bool entry_has_left(const struct change *c, const char *path)
{
    const struct place *p = known_place(c, path);
    return p && p->came && strcmp(p->came->to, path) != 0;
}

bool entry_move(struct change *c, struct entry *n, const char *to, bool removed,
                struct err *e)
{
    size_t number;
    struct place *p = entry_place(c, to, &number, e);
    if (!p)
        return false;
    if (n->to && c->places[n->to_at].here == n)
        c->places[n->to_at].here = NULL;
    linktext_close(n->links); /* what its links call others hangs on the path */
    n->to = c->paths.texts[number].at;
    n->to_at = number;
    n->removed = removed;
    if (!removed)
        p->here = n;
    return true;
}

static bool list_entry(struct change *c, struct entry *n, struct err *e)
{
    if (c->count == CHANGE_NOTES_MAX)
        return err_set(e, ERR_LIMIT,
                       "one change may touch at most %u notes; nothing was written",
                       CHANGE_NOTES_MAX);
    if (!array_fit(c->entries, c->capacity, c->count, e))
        return false;
    c->entries[c->count++] = n;
    return true;
}

struct entry *entry_add(struct change *c, const char *from, const char *to, struct err *e)
{
    struct entry *n = arena_get(c->arena, sizeof *n, e);
    struct place *p = n ? entry_place(c, from, &n->from_at, e) : NULL;
    if (!p || !list_entry(c, n, e))
        return NULL;
    n->from = c->paths.texts[n->from_at].at;
    if (*from)
        p->came = n;
    n->known = name_is_path(str_of(from)) ? n->from : NULL;
    return entry_move(c, n, to, false, e) ? n : NULL;
}

/* ---- what it holds ------------------------------------------------------- */

const struct note *entry_parse(struct change *c, struct entry *n, struct err *e)
{
    if (n->note)
        return n->note;
    struct note *note = arena_get(c->arena, sizeof *note, e);
    if (!note || !note_parse(c->v, str_of(n->to), n->now, &n->st, c->arena, note, e))
        return NULL;
    return n->note = note;
}

bool entry_set(struct change *c, struct entry *n, struct str bytes, struct err *e)
{
    if (bytes.n > NOTE_SIZE_MAX)
        return err_set(
            e, ERR_LIMIT,
            "\"%.200s\" would be %zu bytes; notes may have at most %u. Nothing was "
            "written",
            n->to, bytes.n, NOTE_SIZE_MAX);
    c->bytes += bytes.n;
    if (c->bytes > CHANGE_BYTES_MAX)
        return err_set(e, ERR_LIMIT,
                       "one change may write at most %zu bytes; nothing was written",
                       CHANGE_BYTES_MAX);
    const char *copy = arena_copy(c->arena, bytes.at, bytes.n, e);
    if (!copy)
        return false;
    linktext_close(n->links);
    n->note = NULL;
    n->now = (struct str){copy, bytes.n};
    note_hash(bytes, n->new_hash);
    return true;
}

void entry_touch(struct change *c, struct entry *n)
{
    if (!n->order)
        n->order = ++c->order;
}

static bool is_nothing(const struct entry *n)
{
    return !n->order || (!strcmp(n->from, n->to) && !strcmp(n->old_hash, n->new_hash));
}

static int by_order(const void *a, const void *b)
{
    const struct entry *const *x = a, *const *y = b;
    return ((*x)->order > (*y)->order) - ((*x)->order < (*y)->order);
}

/* Sorts the entries in the order in which they are carried out. */
size_t change_sort(struct change *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (!is_nothing(c->entries[i]))
            c->entries[count++] = c->entries[i];
    c->count = count;
    if (count)
        qsort(c->entries, count, sizeof(struct entry *), by_order);
    return count;
}
