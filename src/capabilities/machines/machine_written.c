/* What changed in an overlay: told, or written to its folder as one change set and recorded. */
#include "machines/machine_written.h"

#include <stdio.h>

#include "crypto/crypto.h"
#include "effect/effect.h"
#include "place/place.h"
#include "record/record.h"

#define NAMED_MAX 500u /* paths of an answer */

static const char *const words[] = {"created", "changed", "deleted"};

/* ---- the record ---------------------------------------------------------------- */

struct written {
    char mount[64], path[200], hash[17];
    enum vfs_changed what;
};

static void put_written(const void *row, struct json_writer *w)
{
    const struct written *x = row;
    json_pair_cstr(w, "mount", x->mount);
    json_pair_cstr(w, "path", x->path);
    json_pair_cstr(w, "change", words[x->what]);
    if (*x->hash)
        json_pair_cstr(w, "hash", x->hash);
}

const struct account_list machine_written_record = {.name = "written",
                                                    .more = "more_written",
                                                    .size = sizeof(struct written),
                                                    .changes = true,
                                                    .put = put_written};

static void record_one(const struct machine_apply *a, const struct vfs_change *c)
{
    struct written x = {.what = c->what};
    char hash[CRYPTO_HASH_HEX] = "";
    scoped_buf struct buf path = buf_of(BUF_PAGE);
    str_spell(c->path, &path);
    if (c->type == VFS_FOLDER)
        buf_char(&path, '/');
    if (c->type == VFS_FILE && c->what != VFS_REMOVED)
        crypto_hash_hex(c->bytes.n ? c->bytes : STR(""), hash);
    (void)snprintf(x.mount, sizeof x.mount, "%.*s", STR_ARGS(str_cut(a->mount, 60)));
    (void)snprintf(x.path, sizeof x.path, "%.*s",
                   STR_ARGS(str_cut(buf_view(&path), sizeof x.path - 1)));
    (void)snprintf(x.hash, sizeof x.hash, "%.16s", hash);
    account_row(a->call->place->part, &machine_written_record, &x);
}

static void record_all(const struct machine_apply *a, const struct writeback *w)
{
    if (!w->count)
        return;
    if (a->call->outcome)
        a->call->outcome->changed = true;
    for (size_t i = 0; a->call->place->part && i < w->count; i++)
        record_one(a, &w->changes[i]);
}

/* ---- the answer ------------------------------------------------------------------ */

static void put_path(const struct vfs_change *c, struct json_writer *w)
{
    scoped_buf struct buf text = buf_of(VFS_PATH_MAX + 1);
    buf_str(&text, c->path);
    buf_cstr(&text, c->type == VFS_FOLDER ? "/" : "");
    json_put_str(w, buf_view(&text));
}

static void put_changes(const struct writeback *f, struct json_writer *w)
{
    size_t named = 0;
    for (size_t k = 0; k < LENGTH(words); k++) {
        json_key(w, words[k]);
        json_open_array(w);
        for (size_t i = 0; i < f->count && named < NAMED_MAX; i++)
            if (f->changes[i].what == k) {
                put_path(&f->changes[i], w);
                named++;
            }
        json_close(w);
    }
    if (f->count > named)
        json_pair_int(w, "more", (int64_t)(f->count - named));
}

struct conflicts {
    struct json_writer *w;
    size_t count;
};

static void put_conflict(void *arg, struct str path)
{
    struct conflicts *c = arg;
    if (c->count++ < NAMED_MAX)
        json_put_str(c->w, path);
}

static bool tell_conflicts(const struct writeback *f, struct json_writer *w,
                           struct err *e)
{
    struct conflicts c = {w, 0};
    struct err why = {0};
    json_key(w, "conflicts");
    json_open_array(w);
    bool fine = writeback_check(f, put_conflict, &c, &why);
    json_close(w);
    return fine || why.code == ERR_CONFLICT || err_pass(e, &why);
}

bool machine_apply_tree(const struct machine_apply *a, struct json_writer *w,
                        struct err *e)
{
    struct writeback f = a->folder;
    f.since_ns = vfs_overlay_since(a->tree, a->tree_at);
    int failed = vfs_changes(a->tree, a->tree_at, &f.changes, &f.count);
    if (failed)
        err_set(e, ERR_LIMIT, "what changed in '%.100s' is too much to be written: %s",
                a->at, strerror(failed));
    bool ok = !failed && (a->dry || writeback_write(&f, e));
    if (ok && !a->dry)
        record_all(a, &f);
    json_open_object(w);
    json_pair_cstr(w, "at", a->at);
    json_pair_str(w, "mount", a->mount);
    json_pair_bool(w, "applied", ok && !a->dry);
    put_changes(&f, w);
    if (!failed && (a->dry || e->code == ERR_CONFLICT)) {
        struct err why = {0};
        ok = tell_conflicts(&f, w, &why) && ok;
        (void)(why.code && !e->code && err_pass(e, &why));
    }
    json_close(w);
    return ok ||
           (e->code == 0 &&
            err_set(e, ERR_BUG, "the changes of %.100s were not written", a->at)) ||
           err_wrap(e, "%.100s", a->at);
}
