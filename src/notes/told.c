/* What a change tells before it is made: a dry run, less what its caller may not read. */
#include "notes/entry.h"
#include "notes/name.h"
#include "notes/sight.h"

bool change_name(struct change *c, const char *path, struct err *e)
{
    if (c->named_count == c->named_capacity) {
        size_t more = c->named_capacity ? 2 * c->named_capacity : 4;
        uint64_t *grown = reallocarray(c->named, more, sizeof *grown);
        if (!grown)
            return err_set(e, ERR_LIMIT, "no memory for a change of %zu notes", more);
        c->named = grown;
        c->named_capacity = more;
    }
    c->named[c->named_count++] = entry_sum(path);
    return true;
}

/* New ones are the caller's own. */
static bool is_named(const struct change *c, const struct entry *n)
{
    for (size_t i = 0; i < c->named_count; i++)
        if (c->named[i] == n->from_sum || c->named[i] == n->to_sum)
            return true;
    return !*n->from;
}

void change_looks(struct change *c)
{
    c->looked = true;
}

bool change_looked(const struct change *c)
{
    return c->looked;
}

static const char *kind_of(const struct entry *n)
{
    if (n->removed)
        return "delete";
    if (!*n->from)
        return "create";
    if (!strcmp(n->from, n->to))
        return "update";
    struct str from = str_of(n->from), to = str_of(n->to);
    size_t folder = from.n - name_file(from).n;
    bool renamed = folder == to.n - name_file(to).n && !memcmp(from.at, to.at, folder);
    return renamed ? "rename" : "move";
}

static void put_diff(const struct entry *n, struct json_writer *w)
{
    scoped_buf struct buf diff;
    buf_init(&diff, CHANGE_DIFF_MAX + 4096);
    bool whole = n->opaque ||
                 diff_put(n->old, n->removed ? STR("") : n->now, CHANGE_DIFF_MAX, &diff);
    json_pair_str(w, "diff", buf_view(&diff));
    if (!whole)
        json_pair_bool(w, "diff_truncated", true);
}

static void put_entry(const struct change *c, const struct entry *n,
                      struct json_writer *w)
{
    struct str path = str_of(*n->from ? n->from : n->to);
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    vault_put_id(c->v, path, &id);
    json_open_object(w);
    json_pair_str(w, "id", buf_view(&id));
    json_pair_str(w, "path", path);
    json_pair_cstr(w, "action", kind_of(n));
    if (*n->from && !n->removed && strcmp(n->from, n->to) != 0)
        json_pair_cstr(w, "new_path", n->to);
    if (sight_hides(c->v, SIGHT_NOTES))
        json_pair_cstr(w, "diff", "");
    else
        put_diff(n, w);
    json_close(w);
}

void change_put(struct change *c, struct json_writer *w)
{
    (void)change_sort(c);
    size_t others = 0;
    json_key(w, "changes");
    json_open_array(w);
    for (size_t i = 0; i < c->count; i++) {
        if (sight_hides(c->v, SIGHT_NOTES) && !is_named(c, c->entries[i]))
            others++;
        else
            put_entry(c, c->entries[i], w);
    }
    json_close(w);
    if (!sight_hides(c->v, SIGHT_NOTES))
        return;
    sight_put_hidden(SIGHT_NOTES, w);
    json_pair_int(w, "others", (int64_t)others);
}
