/* Looking through a trail: all of its chains, in the vault and aside. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/trail.h"
#include "os/os.h"

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
        if (!(seen.bits >> lane & 1) &&
            (v->files_only || !trail_has_head(t, aside, lane)))
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
        *(uint64_t *)arg += st->size < st->on_disk ? st->size : st->on_disk;
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
    bool ok = trail_visit(t, &(struct lane_visit){.each = verify_lane, .arg = &v}, e);
    json_close(out);
    *sound = v.sound;
    return ok;
}

/* ---- all of them ---- */

struct walk {
    trail_line_fn *each;
    void *arg;
    struct err odd;
};

/* All that could be read has been. */
static bool tell_odd(bool ok, const struct err *odd, struct err *e)
{
    return !ok || !odd->code ? ok : err_set(e, odd->code, "%s", odd->msg);
}

static bool walk_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct walk *w = arg;
    (void)aside;
    return c->dir < 0 || chain_lines(c, w->each, w->arg, &w->odd, e);
}

bool trail_each(struct trail *t, trail_line_fn *each, void *arg, struct err *e)
{
    struct walk w = {.each = each, .arg = arg};
    bool ok =
        trail_visit(t, &(struct lane_visit){.each = walk_lane, .arg = &w}, e) || !e->code;
    return tell_odd(ok, &w.odd, e);
}

/* ---- those that come ---- */

struct following {
    struct trail_place *place;
    trail_line_fn *each;
    void *arg;
    struct err odd;
};

static bool follow_lane(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct following *f = arg;
    struct trail_spot *spot = &f->place->spots[aside][c->lane];
    if (c->dir < 0)
        return true;
    return chain_follow(c, &spot->file, &spot->offset, f->place->begun, f->each, f->arg,
                        &f->odd, e);
}

bool trail_follow(struct trail *t, struct trail_place *place, trail_line_fn *each,
                  void *arg, struct err *e)
{
    struct following f = {.place = place, .each = each, .arg = arg};
    /* That a chain has lost its files is told once. */
    const struct lane_visit v = {
        .each = follow_lane, .arg = &f, .files_only = place->begun};
    bool ok = trail_visit(t, &v, e);
    place->begun = true;
    return tell_odd(ok, &f.odd, e);
}
