/* Looking through a trail: all of its chains, in the vault and aside. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/trail.h"
#include "os/os.h"

#define READ_MEMORY ((size_t)512 << 20)

struct lanes_seen {
    uint64_t bits;
};

static bool see_lane(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct lanes_seen *s = arg;
    unsigned lane;
    (void)st;
    (void)e;
    if (chain_file_number(name, &lane))
        s->bits |= (uint64_t)1 << lane;
    return true;
}
_Static_assert(LANES_MAX <= 64, "a bit each");

static bool visit_place(const struct trail *t, bool aside, const struct lane_visit *v,
                        struct err *e)
{
    struct lanes_seen seen = {0};
    struct err why = {0};
    char *path = NULL;
    scoped_fd int dir = trail_folder(t, aside, false, &path, &why);
    free(path);
    /* Something else stands there: no trail of ours could be in it. */
    if (dir < 0 && why.code != ERR_NOT_FOUND && why.code != ERR_DENIED &&
        why.code != ERR_INVALID)
        return err_set(e, why.code, "%s", why.msg);
    if (dir >= 0 && !os_walk(dir, see_lane, &seen, e))
        return false;
    for (unsigned lane = 0; lane < LANES_MAX; lane++) {
        struct chain c;
        if (!(seen.bits >> lane & 1) && !trail_has_head(t, aside, lane))
            continue;
        if (!trail_open_to_read(t, aside, lane, &c, e))
            return false;
        bool ok = v->each(v->arg, &c, aside, e);
        chain_close(&c);
        if (!ok)
            return false;
    }
    return true;
}

bool trail_visit(const struct trail *t, const struct lane_visit *v, struct err *e)
{
    return audit_make_ready(t->audit, e) && (!t->vault || visit_place(t, false, v, e)) &&
           visit_place(t, true, v, e);
}

static bool add_size(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    unsigned lane;
    (void)e;
    if (chain_file_number(name, &lane) && st->is_file)
        *(uint64_t *)arg += st->size;
    return true;
}

uint64_t trail_bytes(struct trail *t)
{
    uint64_t bytes = 0;
    struct err none = {0};
    if (!audit_make_ready(t->audit, &none))
        return 0;
    for (unsigned place = t->vault ? 0 : 1; place < 2; place++) {
        char *path = NULL;
        none = (struct err){0};
        scoped_fd int dir = trail_folder(t, place == 1, false, &path, &none);
        free(path);
        if (dir >= 0)
            (void)os_walk(dir, add_size, &bytes, &none);
    }
    return bytes;
}

/* ---- exporting ---- */

static bool export_lane(struct trail *t, bool aside, unsigned lane, struct exporting *x,
                        struct err *e)
{
    struct chain c;
    struct err busy = {0};
    if (!trail_has_head(t, aside, lane))
        return true;
    bool own = trail_open_chain(t, aside, lane, true, &c, &busy);
    x->busy |= !own;
    if (!own && !trail_open_to_read(t, aside, lane, &c, e))
        return false;
    bool ok = (!own || trail_settle_chain(t, &c, e)) &&
              (c.dir < 0 || chain_export(&c, own, x, e));
    chain_close(&c);
    return ok;
}

bool trail_export(struct trail *t, int fd, struct str before, bool remove,
                  struct json_writer *out, struct err *e)
{
    struct exporting x = {.fd = fd, .before = before, .remove = remove};
    if (!audit_make_ready(t->audit, e))
        return false;
    for (unsigned place = t->vault ? 0 : 1; place < 2; place++)
        for (unsigned lane = 0; lane < LANES_MAX; lane++)
            if (!export_lane(t, place == 1, lane, &x, e))
                return false;
    json_open_object(out);
    json_pair_int(out, "records", (int64_t)x.records);
    json_pair_int(out, "files", (int64_t)x.files);
    json_pair_int(out, "bytes", (int64_t)x.bytes);
    json_pair_cstr(out, "until", x.last_time);
    json_pair_bool(out, "removed", remove);
    json_pair_bool(out, "busy", x.busy);
    json_close(out);
    return true;
}

bool audit_verify_export(struct audit *a, int fd, struct json_writer *out, bool *sound,
                         struct err *e)
{
    return audit_make_ready(a, e) && export_verify(a->key, fd, out, sound, e);
}

/* ---- verifying ---- */

struct verification {
    struct json_writer *out;
    bool sound;
};

static bool verify_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct verification *v = arg;
    (void)aside;
    return chain_verify(c, v->out, &v->sound, e);
}

bool trail_verify(struct trail *t, struct json_writer *out, bool *sound, struct err *e)
{
    struct verification v = {.out = out, .sound = true};
    json_open_array(out);
    bool ok = trail_visit(t, &(struct lane_visit){verify_lane, &v}, e);
    json_close(out);
    *sound = v.sound;
    return ok;
}

/* ---- the last ones ---- */

struct gathered_line {
    struct str text, time;
};

struct gathered {
    struct arena *arena;
    struct gathered_line *lines;
    size_t n, room;
    uint64_t count;  /* of each lane */
    struct str time; /* of the lane's last line */
};

/* A record's time stands at its beginning, in a form that sorts as text. */
static struct str time_of(struct str line)
{
    static const char key[] = "\"time\":\"";
    size_t n = line.n < 80 ? line.n : 80;
    const char *at = memmem(line.at, n, key, sizeof key - 1);
    return at ? str_cut((struct str){at, (size_t)(line.at + line.n - at)}, 32)
              : (struct str){line.at, 0};
}

static bool gather_line(void *arg, struct str line, struct err *e)
{
    struct gathered *g = arg;
    if (g->n == g->room) {
        size_t room = g->room ? 2 * g->room : 256;
        struct gathered_line *more = arena_get(g->arena, room * sizeof *more, e);
        if (!more)
            return false;
        if (g->n)
            memcpy(more, g->lines, g->n * sizeof *more);
        g->lines = more;
        g->room = room;
    }
    const char *copy = arena_copy(g->arena, line.at, line.n, e);
    if (!copy)
        return false;
    /* Those of one lane stay in their order, whatever times they state. */
    struct str time = time_of((struct str){copy, line.n});
    if (str_cmp(time, g->time) > 0)
        g->time = time;
    g->lines[g->n++] = (struct gathered_line){{copy, line.n}, g->time};
    return true;
}

static bool gather_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct gathered *g = arg;
    (void)aside;
    g->time = (struct str){"", 0};
    return c->dir < 0 || chain_last(c, g->count, gather_line, g, e);
}

struct ordered {
    const struct gathered_line *line;
    size_t number;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    int order = str_cmp(x->line->time, y->line->time);
    return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

bool trail_read(struct trail *t, uint64_t count, trail_line_fn *each, void *arg,
                struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(READ_MEMORY);
    struct gathered g = {.arena = arena, .count = count};
    if (!trail_visit(t, &(struct lane_visit){gather_lane, &g}, e))
        return err_wrap(e, "the audit trail");
    struct ordered *order = arena_get(arena, (g.n + 1) * sizeof *order, e);
    if (!order)
        return false;
    for (size_t i = 0; i < g.n; i++)
        order[i] = (struct ordered){&g.lines[i], i};
    qsort(order, g.n, sizeof *order, by_time);
    size_t from = count && g.n > count ? g.n - count : 0;
    for (size_t i = from; i < g.n; i++)
        if (!each(arg, order[i].line->text, e))
            return !e->code;
    return true;
}

struct walk {
    trail_line_fn *each;
    void *arg;
};

static bool walk_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct walk *w = arg;
    (void)aside;
    return c->dir < 0 || chain_last(c, 0, w->each, w->arg, e);
}

bool trail_each(struct trail *t, trail_line_fn *each, void *arg, struct err *e)
{
    struct walk w = {each, arg};
    return trail_visit(t, &(struct lane_visit){walk_lane, &w}, e) || !e->code;
}

/* ---- those that come ---- */

struct following {
    struct trail_place *place;
    trail_line_fn *each;
    void *arg;
};

static bool follow_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct following *f = arg;
    struct trail_spot *spot = &f->place->spots[aside][c->lane];
    if (c->dir < 0)
        return true;
    return chain_follow(c, &spot->file, &spot->offset, f->place->begun, f->each, f->arg,
                        e);
}

bool trail_follow(struct trail *t, struct trail_place *place, trail_line_fn *each,
                  void *arg, struct err *e)
{
    struct following f = {place, each, arg};
    bool ok = trail_visit(t, &(struct lane_visit){follow_lane, &f}, e);
    place->begun = true;
    return ok;
}
