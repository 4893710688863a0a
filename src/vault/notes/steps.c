#include "notes/steps.h"

#include <stdlib.h>

#include "notes/trash.h"

struct node {
    struct step step;
    enum { WAITING, ON_ITS_WAY, DONE } state;
};

struct sorting {
    struct node *nodes, **leaving; /* those that leave a path, by it */
    size_t leaving_count;
    struct step *out;
    size_t count;
    int64_t now_ms;
    struct arena *arena;
};

static int by_from(const void *a, const void *b)
{
    const struct node *const *x = a, *const *y = b;
    return strcmp((*x)->step.from, (*y)->step.from);
}

static int is_from(const void *path, const void *node)
{
    return strcmp(path, (*(const struct node *const *)node)->step.from);
}

/* The step that must be done before: who is where this one goes. */
static struct node *before(const struct sorting *s, const struct node *n)
{
    if (!s->leaving_count || !*n->step.to)
        return NULL;
    struct node **found =
        bsearch(n->step.to, s->leaving, s->leaving_count, sizeof(struct node *), is_from);
    return found && *found != n ? *found : NULL;
}

static bool step_keep_aside(struct sorting *s, struct node *n, struct err *e)
{
    char name[PATH_MAX];
    if (!trash_name(n->step.from, s->now_ms, name, e))
        return false;
    const char *aside = arena_copy(s->arena, name, strlen(name), e);
    if (!aside)
        return false;
    struct step *first = &s->out[s->count++];
    *first = n->step;
    first->to = aside;
    first->is_aside = true;
    n->step.from = aside;
    memcpy(n->step.old_hash, n->step.new_hash, HASH_SIZE);
    return true;
}

/* With all that must come before, the last of which is first. */
static bool node_put(struct sorting *s, struct node *n, struct node **way, struct err *e)
{
    size_t depth = 0;
    for (struct node *b = n; b && b->state != DONE; b = before(s, b)) {
        if (b->state == ON_ITS_WAY) {
            if (!step_keep_aside(s, b, e))
                return false;
            break;
        }
        b->state = ON_ITS_WAY;
        way[depth++] = b;
    }
    while (depth-- > 0) {
        s->out[s->count++] = way[depth]->step;
        way[depth]->state = DONE;
    }
    return true;
}

bool steps_sort(struct step *steps, size_t *count, int64_t now_ms, struct arena *a,
                struct err *e)
{
    struct sorting s = {.out = steps, .now_ms = now_ms, .arena = a};
    s.nodes = arena_get(a, *count * sizeof *s.nodes, e);
    s.leaving = arena_get(a, *count * sizeof(struct node *), e);
    struct node **way = arena_get(a, *count * sizeof(struct node *), e);
    if (!s.nodes || !s.leaving || !way)
        return false;
    for (size_t i = 0; i < *count; i++) {
        struct node *n = &s.nodes[i];
        *n = (struct node){.step = steps[i]};
        if (*n->step.from && strcmp(n->step.from, n->step.to) != 0)
            s.leaving[s.leaving_count++] = n;
    }
    if (s.leaving_count)
        qsort(s.leaving, s.leaving_count, sizeof(struct node *), by_from);
    for (size_t i = 0; i < *count; i++)
        if (!node_put(&s, &s.nodes[i], way, e))
            return false;
    *count = s.count;
    return true;
}
