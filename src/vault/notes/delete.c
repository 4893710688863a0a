/* Moving a note to the trash. */
#include <stdio.h>

#include "notes/notes.api.h"
#include "notes/session.h"
#include "notes/sight.h"
#include "notes/write.h"

#define WARNINGS_MAX 20

/* Notes that link to the note or list it. */
struct relatives {
    struct vault *v;
    struct str path;
    struct buf warnings; /* an array */
    struct json_writer w;
    size_t count;
    char why[128]; /* the first of them */
};

static void relatives_put(struct relatives *r, struct str warning)
{
    if (!r->why[0])
        (void)snprintf(r->why, sizeof r->why, "%.*s", STR_ARGS(str_cut(warning, 120)));
    json_put_str(&r->w, warning);
}

static void put_warning(struct relatives *r, struct query *q)
{
    scoped_buf struct buf text = buf_of(PATH_MAX + 100);
    buf_char(&text, '"');
    vault_put_id(r->v, query_str(q, 0), &text);
    if (query_int(q, 2))
        buf_cstr(&text, "\" is its subnote");
    else if (query_int(q, 1))
        buf_printf(&text, "\" links to it (line %lld)", (long long)query_int(q, 1));
    else
        buf_cstr(&text, "\" links to it");
    relatives_put(r, buf_view(&text));
}

/* Links to it, whatever they call it, and its subnotes. */
static bool find_relatives(struct db *db, void *arg, struct err *e)
{
    struct relatives *r = arg;
    r->count = 0;
    r->why[0] = '\0';
    buf_clear(&r->warnings);
    r->w = json_writer(&r->warnings);
    json_open_array(&r->w);
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.path, min(l.line), 0 FROM notes n"
                 " JOIN names m ON m.note = n.key JOIN links l ON l.name = m.key"
                 " JOIN notes s ON s.key = l.source"
                 " WHERE n.path = ?1 AND s.key <> n.key GROUP BY s.key"
                 " UNION ALL SELECT c.path, 0, s.position + 1 FROM notes n"
                 " JOIN subnotes s ON s.parent = n.key JOIN names m ON m.key = s.name"
                 " JOIN notes c ON c.key = m.note WHERE n.path = ?1 AND s.state = 1"
                 " UNION ALL SELECT v.path, 0, 0 FROM notes n"
                 " JOIN names m ON m.note = n.key JOIN links l ON l.name = m.key"
                 " JOIN canvases v ON v.key = -l.source WHERE n.path = ?1 GROUP BY v.key"
                 " ORDER BY 3, 1",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, r->path);
    size_t named = sight_hides(r->v, SIGHT_NOTES) ? 0 : WARNINGS_MAX;
    while (query_next(q, e))
        if (r->count++ < named)
            put_warning(r, q);
    if (r->count > named) {
        char more[100];
        (void)snprintf(more, sizeof more,
                       named ? "and %zu more notes"
                             : "%zu notes link to it, or are its subnotes",
                       r->count - named);
        relatives_put(r, str_of(more));
    }
    json_put_cstr(&r->w, "nothing was deleted; confirm: true deletes it all the same");
    json_close(&r->w);
    return e->code == ERR_NONE;
}

struct deletion {
    struct str identifier;
    struct write_guard guard; /* of zeros: whatever version it is */
    bool confirm;
};

static bool deletion_read(const struct json *o, void *state, struct err *e)
{
    struct deletion *d = state;
    return (json_is(o, JSON_STRING) ||
            (options_check(o, "notes.delete", NOTES_DELETE_KEYS, e) &&
             options_bool(o, "confirm", &d->confirm, e) &&
             write_read_guard(o, &d->guard, e))) &&
           options_identifier(o, &d->identifier, e);
}

static bool is_version(struct change *c, const struct deletion *d, const char *path,
                       struct err *e)
{
    struct note n;
    bool found;
    return d->guard.hash.n == 0 || (change_read(c, path, &n, &found, e) &&
                                    (found || vault_no_such_note(d->identifier, e)) &&
                                    write_check_guard(&d->guard, &n, e));
}

static bool run_deletion(struct change *c, struct vault *v, void *state,
                         struct json_writer *out, struct err *e)
{
    struct deletion *d = state;
    char path[PATH_MAX], backup[PATH_MAX];
    if (!vault_need(v, c, d->identifier, path, e) || !is_version(c, d, path, e))
        return false;
    struct relatives r = {.v = v, .path = str_of(path)};
    buf_init(&r.warnings, BUF_LIST);
    bool ok = d->confirm ||
              (session_settle_tree(c, e) && session_use(v, c, find_relatives, &r, e));
    bool refused = ok && !d->confirm && r.count > 0;
    if (refused)
        change_hold(c, str_of(r.why));
    ok = ok && (refused || change_remove(c, path, backup, e));
    if (ok) {
        json_open_object(out);
        write_pair_id(v, out, "id", str_of(path));
        json_pair_bool(out, "deleted", !refused);
        json_pair_time(out, "timestamp", vault_now(v));
        if (refused)
            json_pair_raw(out, "warnings", buf_view(&r.warnings));
        else
            json_pair_cstr(out, "backup_path", backup);
        json_close(out);
    }
    buf_done(&r.warnings);
    return ok;
}

const struct operation delete_operation = {
    "notes.delete", "delete", sizeof(struct deletion), deletion_read, run_deletion};

bool notes_delete(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    return write_perform(v, &delete_operation, options, out, e);
}
