/* links.findBroken: links to notes, headings, blocks and files that are not there. */
#include "notes/anchors.h"
#include "notes/attached.h"
#include "notes/linkrows.h"
#include "notes/notes.api.h"
#include "notes/resolve.h"

struct breaking {
    struct linkpage page;
    struct vault *v;
    struct db *db;
    struct anchors anchors;
    struct attached files;
    bool listed; /* `files` are */
};

#define MORE_COLUMNS \
    ", " SOURCE_PATH " AS place, l.number AS number, l.fragment, t.key, m.text, m.other"
enum { FRAGMENT = OUTCOME + 3, TARGET_KEY, TEXT, OTHER };

/* CROSS: few are broken, so begin there; and few name a heading. */
#define BROKEN_SQL                                                                       \
    "SELECT * FROM (" LINK_COLUMNS MORE_COLUMNS                                          \
    " FROM broken b CROSS JOIN names m ON m.key = b.name"                                \
    " CROSS JOIN links l ON l.name = m.key LEFT JOIN notes s ON s.key = l.source"        \
    " LEFT JOIN notes t ON t.key = m.note WHERE m.note IS NULL"                          \
    " UNION ALL " LINK_COLUMNS MORE_COLUMNS " FROM links l INDEXED BY links_by_fragment" \
    " CROSS JOIN names m ON m.key = l.name CROSS JOIN notes t ON t.key = m.note"         \
    " LEFT JOIN notes s ON s.key = l.source WHERE l.fragment IS NOT NULL)"               \
    " WHERE place > ?1 ORDER BY place, number"

/* A file that is no note: looked for where the link says, then anywhere. */
static bool is_attached(struct breaking *b, struct query *q, bool *is, struct err *e)
{
    struct str text = query_str(q, TEXT), other = query_str(q, OTHER);
    if (!b->listed && !attached_read(&b->files, b->v, e))
        return false;
    b->listed = true;
    *is = attached_find(&b->files, text, other) != ATTACHED_NONE;
    return true;
}

/* Why it is broken; NULL: it is not. */
static bool find_reason(struct breaking *b, struct query *q, const char **reason,
                        struct err *e)
{
    *reason = NULL;
    if (!query_is_null(q, NOTE)) {
        enum anchor_outcome found = anchors_find(
            &b->anchors, b->db, query_int(q, TARGET_KEY), query_str(q, FRAGMENT), e);
        *reason = found == ANCHOR_NO_HEADING ? "heading"
                  : found == ANCHOR_NO_BLOCK ? "block"
                                             : NULL;
    } else if (query_int(q, OUTCOME) == NAME_SEVERAL) {
        *reason = "ambiguous";
    } else if (!query_int(q, IS_FILE)) {
        *reason = "missing";
    } else {
        bool is = false;
        if (!is_attached(b, q, &is, e))
            return false;
        *reason = is ? NULL : "file";
    }
    return e->code == ERR_NONE;
}

static bool put_broken(struct linkpage *p, struct query *q, struct json_writer *w,
                       bool *skip, struct err *e)
{
    struct breaking *b = p->arg;
    const char *reason;
    if (!find_reason(b, q, &reason, e))
        return false;
    *skip = !reason;
    if (!reason)
        return true;
    linkrow_put(q, w);
    if (reason[0] == 'h' || reason[0] == 'b')
        json_pair_str(w, "fragment", query_str(q, FRAGMENT));
    json_pair_cstr(w, "reason", reason);
    json_close(w);
    return true;
}

static bool broken_work(struct db *db, void *arg, struct err *e)
{
    struct breaking *b = arg;
    b->db = db;
    bool ok = linkpage_put(&b->page, db, e);
    anchors_done(&b->anchors); /* its query is the connection's */
    return ok;
}

bool links_find_broken(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    struct breaking b = {.page = {.sql = BROKEN_SQL, .put = put_broken}, .v = v};
    b.page.arg = &b;
    if (!linkpage_read(options, "links.findBroken", LINKS_FIND_BROKEN_KEYS, &b.page, e) ||
        !linkpage_read_cursor(v, &b.page, e))
        return false;
    buf_init(&b.page.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, broken_work, &b, &b.page.rows, out, e);
    buf_done(&b.page.rows);
    attached_done(&b.files);
    return ok;
}
