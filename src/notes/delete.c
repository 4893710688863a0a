/* Moving a note to the trash. */
#include <stdio.h>

#include "notes/index.h"
#include "notes/write.h"

#define WARNINGS_MAX 20

struct backlinks {
    struct vault *v;
    struct str path;
    struct buf warnings; /* JSON strings with commas between */
    struct json_writer w;
    size_t count;
};

static void put_warning(struct backlinks *b, struct str path, int64_t line)
{
    scoped_buf struct buf text;
    buf_init(&text, PATH_MAX + 100);
    buf_char(&text, '"');
    vault_put_id(b->v, path, &text);
    buf_printf(&text, "\" links to it (line %lld)", (long long)line);
    json_put_str(&b->w, buf_view(&text));
}

/* Whatever they call it. */
static bool find_backlinks(struct db *db, void *arg, struct err *e)
{
    struct backlinks *b = arg;
    b->count = 0;
    buf_clear(&b->warnings);
    b->w = json_writer(&b->warnings);
    json_open_array(&b->w);
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.path, min(l.line) FROM notes n"
                 " JOIN names m ON m.note = n.key JOIN links l ON l.name = m.key"
                 " JOIN notes s ON s.key = l.source"
                 " WHERE n.path = ? AND s.key <> n.key GROUP BY s.key ORDER BY s.path",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, b->path);
    while (query_next(q, e))
        if (b->count++ < WARNINGS_MAX)
            put_warning(b, query_str(q, 0), query_int(q, 1));
    if (b->count > WARNINGS_MAX) {
        char more[60];
        (void)snprintf(more, sizeof more, "and %zu more notes", b->count - WARNINGS_MAX);
        json_put_cstr(&b->w, more);
    }
    json_put_cstr(&b->w, "nothing was deleted; confirm: true deletes it all the same");
    json_close(&b->w);
    return e->code == ERR_NONE;
}

struct deletion {
    struct str identifier;
    bool confirm;
};

static bool read_deletion(const struct json *o, void *state, struct err *e)
{
    struct deletion *d = state;
    static const char *const keys[] = {"identifier", "confirm", "dry_run", NULL};
    return (json_is(o, JSON_STRING) || (options_check(o, "notes.delete", keys, e) &&
                                        options_bool(o, "confirm", &d->confirm, e))) &&
           options_identifier(o, &d->identifier, e);
}

static bool run_deletion(struct change *c, struct vault *v, void *state,
                         struct json_writer *out, struct err *e)
{
    struct deletion *d = state;
    char path[PATH_MAX], backup[PATH_MAX];
    if (!write_resolve(c, v, d->identifier, path, e))
        return false;
    struct backlinks b = {.v = v, .path = str_of(path)};
    buf_init(&b.warnings, 1u << 20);
    bool ok = d->confirm || index_use(v->index, find_backlinks, &b, e);
    bool refused = ok && !d->confirm && b.count > 0;
    ok = ok && (refused || change_remove(c, path, backup, e));
    if (ok) {
        json_open_object(out);
        write_pair_id(v, out, "id", str_of(path));
        json_pair_bool(out, "deleted", !refused);
        write_pair_time(out, "timestamp", os_real_ms());
        if (refused)
            json_pair_raw(out, "warnings", buf_view(&b.warnings));
        else
            json_pair_cstr(out, "backup_path", backup);
        json_close(out);
    }
    buf_done(&b.warnings);
    return ok;
}

const struct operation delete_operation = {
    "notes.delete", "delete", sizeof(struct deletion), read_deletion, run_deletion};

bool notes_delete(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    return write_perform(v, &delete_operation, options, out, e);
}
