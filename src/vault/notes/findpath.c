/* The shortest way between two notes, over links and the hierarchy, in any direction.
 *
 * Two searches, one from each end, go on level by level, the one with fewer notes to
 * look at first, until they meet. Of several shortest ways the same is found each time:
 * a level is gone through in the order of paths, the first to reach a note counts, and
 * of the notes where the searches meet the first by its path. */
#include "notes/linked.h"
#include "notes/notes.api.h"

#define DEPTH_MAX RELATIONSHIPS_FIND_PATH_MAX_DEPTH_MOST

/* A search: notes by their numbers in `met`, the outermost level last. */
struct search {
    struct map met;
    uint32_t *before; /* the number of the note that it was reached from */
    size_t capacity;
    size_t level; /* where the outermost level begins */
};

static void search_done(struct search *s)
{
    map_done(&s->met);
    free(s->before);
}

static bool reach(struct search *s, int64_t note, size_t before, struct err *e)
{
    size_t count = s->met.count, at = map_add_int(&s->met, note, e);
    if (at == MAP_NONE || at < count)
        return at != MAP_NONE;
    if (!array_fit(s->before, s->capacity, at, e))
        return false;
    s->before[at] = (uint32_t)before;
    return true;
}

struct place {
    size_t number;
    const char *path;
};

static int place_by_path(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->path, ((const struct place *)b)->path);
}

/* Takes the outermost level one step further. */
static bool go_on(struct search *s, struct graph *g, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    scoped_neighbours struct neighbours around = {0};
    size_t first = s->level, count = s->met.count - first;
    struct place *level = arena_get(a, count * sizeof *level, e);
    for (size_t i = 0; i < count && !e->code; i++)
        level[i] = (struct place){first + i, graph_path(g, s->met.ints[first + i], a, e)};
    if (e->code)
        return false;
    qsort(level, count, sizeof *level, place_by_path);
    s->level = s->met.count;
    for (size_t i = 0; i < count; i++) {
        if (!graph_around(g, s->met.ints[level[i].number], &around, e))
            return false;
        for (size_t k = 0; k < around.count; k++)
            if (!reach(s, around.all[k].note, level[i].number, e))
                return false;
    }
    return true;
}

/* The note where both have arrived; 0: there is none yet. */
static int64_t meeting(const struct search *outer, const struct search *other,
                       struct graph *g, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    int64_t best = 0;
    const char *best_path = NULL;
    for (size_t i = outer->level; i < outer->met.count; i++) {
        int64_t note = outer->met.ints[i];
        if (map_find_int(&other->met, note) == MAP_NONE)
            continue;
        const char *path = graph_path(g, note, a, e);
        if (!path)
            return 0;
        if (!best || strcmp(path, best_path) < 0) {
            best = note;
            best_path = path;
        }
    }
    return best;
}

struct route {
    char end[PATH_MAX];
    int64_t max_depth;
};

/* The way from `start` to where the searches met, and on to `end`. */
static size_t searches_join(const struct search *start, const struct search *end,
                            int64_t met, int64_t way[static 2 * DEPTH_MAX + 2])
{
    size_t n = 0;
    for (size_t at = map_find_int(&start->met, met);; at = start->before[at]) {
        way[n++] = start->met.ints[at];
        if (!at)
            break;
    }
    for (size_t i = 0; i < n / 2; i++) {
        int64_t other = way[i];
        way[i] = way[n - 1 - i];
        way[n - 1 - i] = other;
    }
    for (size_t at = map_find_int(&end->met, met); at;) {
        at = end->before[at];
        way[n++] = end->met.ints[at];
    }
    return n;
}

static bool put_way(struct graph *g, const int64_t *way, size_t count,
                    struct json_writer *w, struct err *e)
{
    scoped_neighbours struct neighbours around = {0};
    json_open_array(w);
    for (size_t i = 0; i < count && !e->code; i++) {
        const char *relation = "start";
        if (i && !graph_around(g, way[i - 1], &around, e))
            return false;
        /* By relation: the first is the closest. */
        for (size_t k = around.count; i && k-- > 0;)
            if (around.all[k].note == way[i])
                relation = relation_name(around.all[k].relation);
        json_open_object(w);
        json_key(w, "noteId");
        (void)graph_put_id(g, way[i], w, e);
        json_pair_cstr(w, "relationship", relation);
        json_close(w);
    }
    json_close(w);
    return e->code == ERR_NONE;
}

static bool answer_way(struct db *db, struct question *question, struct json_writer *w,
                       struct err *e)
{
    const struct route *route = question->arg;
    scoped_graph struct graph g = {.db = db};
    struct search s[2] = {0};
    int64_t end, way[2 * DEPTH_MAX + 2], met = 0;
    bool ok = find_key(db, route->end, &end, e) && reach(&s[0], question->note, 0, e) &&
              reach(&s[1], end, 0, e);
    if (ok && end == question->note)
        met = end;
    for (int64_t depth = 0; ok && !met && depth < route->max_depth; depth++) {
        size_t level[2] = {s[0].met.count - s[0].level, s[1].met.count - s[1].level};
        size_t next = level[1] < level[0];
        if (!level[next])
            break; /* all that it can reach was seen */
        ok = go_on(&s[next], &g, e);
        met = ok ? meeting(&s[next], &s[!next], &g, e) : 0;
        ok = ok && !e->code;
    }
    if (ok && !met)
        json_put_null(w);
    ok = ok && (!met || put_way(&g, way, searches_join(&s[0], &s[1], met, way), w, e));
    search_done(&s[0]);
    search_done(&s[1]);
    return ok;
}

bool relationships_find_path(struct vault *v, const struct json *options,
                             struct json_writer *out, struct err *e)
{
    struct str start, end;
    struct route route;
    if (!options_check(options, "relationships.findPath", RELATIONSHIPS_FIND_PATH_KEYS,
                       e) ||
        !options_str(options, "start_note_id", NULL, &start, e) ||
        !options_str(options, "end_note_id", NULL, &end, e) ||
        !options_int(options, "max_depth", RELATIONSHIPS_FIND_PATH_MAX_DEPTH,
                     &route.max_depth, e))
        return false;
    if (!start.n || !end.n)
        return err_set(e, ERR_INVALID,
                       "relationships.findPath needs start_note_id and end_note_id, the "
                       "ids of two notes (\"type/name\")");
    return vault_need(v, NULL, end, route.end, e) &&
           question_ask(v, start, answer_way, &route, out, e);
}
