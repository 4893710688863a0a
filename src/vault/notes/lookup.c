/* The note that a call's identifier means: by its file where that is enough, else by the
 * index, or by both as a change has the notes. */
#include <stdio.h>

#include "notes/fold.h"
#include "notes/name.h"
#include "notes/resolve.h"
#include "notes/session.h"

struct lookup {
    struct vault *v;
    struct change *c; /* or NULL */
    struct db *db;    /* while the index is open */
    struct str wanted;
    bool any_case;
    char *path;
    bool found;
};

static bool take_path(struct lookup *l, struct str path)
{
    char name[PATH_MAX];
    if (!name_is_path(path))
        return false;
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(path));
    if (l->c ? !change_has(l->c, name) : !vault_has(l->v, path))
        return false;
    memcpy(l->path, name, path.n + 1);
    return true;
}

/* The notes that a query gives: none, one, or too many. */
static enum name_outcome take_only(struct lookup *l, const char *sql,
                                   enum resolve_way way, struct str name, struct err *e)
{
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    scoped(query_end) struct query *q = db_query(l->db, sql, e);
    if (!q)
        return NAME_MISSING;
    resolve_bind(q, way, name, &key);
    scoped_buf struct buf ids = buf_of(BUF_LINE);
    size_t count = 0;
    while (query_next(q, e)) {
        struct str path = query_str(q, 0);
        if (!take_path(l, path))
            continue;
        buf_cstr(&ids, count ? ", " : "");
        vault_put_id(l->v, path, &ids);
        count++;
    }
    if (!e->code && count > 1)
        err_set(e, ERR_CONFLICT,
                "%zu notes are called \"%.*s\": %.*s%s; use one "
                "of these ids",
                count, STR_ARGS(str_cut(l->wanted, 60)),
                STR_ARGS(str_cut(buf_view(&ids), 240)), ids.failed ? " ..." : "");
    return e->code || !count ? NAME_MISSING : NAME_FOUND;
}

static enum name_outcome lookup_way(void *arg, enum resolve_way way, struct str name,
                                    struct err *e)
{
#define WAY(way) [RESOLVE_##way] = RESOLVE_SQL("path", way, "ORDER BY path LIMIT 20")
    static const char *const ways[RESOLVE_WAYS] = {
        WAY(UID),           WAY(TITLE),        WAY(STEM),  WAY(ID_ANYCASE),
        WAY(TITLE_ANYCASE), WAY(STEM_ANYCASE), WAY(ALIAS),
    };
#undef WAY
    struct lookup *l = arg;
    if (way != RESOLVE_PATH)
        return take_only(l, ways[way], way, name, e);
    return take_path(l, name) ? NAME_FOUND : NAME_MISSING;
}

/* "type/stem" for "type/stem.md"; empty where there is nothing to cut. */
static struct str without_ending(struct str name)
{
    bool path = str_ends(name, ".md") && memchr(name.at, '/', name.n);
    return path ? (struct str){name.at, name.n - 3} : STR("");
}

static bool look_up_file(struct lookup *l, struct err *e)
{
    return resolve_file(lookup_way, l, l->wanted, e) == NAME_FOUND ||
           resolve_file(lookup_way, l, without_ending(l->wanted), e) == NAME_FOUND;
}

static bool lookup_read(struct db *db, void *arg, struct err *e)
{
    struct lookup *l = arg;
    struct str id = without_ending(l->wanted);
    l->db = db;
    enum resolve_way end = l->any_case ? RESOLVE_TAIL : RESOLVE_ID_ANYCASE;
    l->found = resolve_name(lookup_way, l, l->wanted, end, e) == NAME_FOUND ||
               (!e->code && id.n && resolve_name(lookup_way, l, id, end, e));
    return e->code == ERR_NONE;
}

bool vault_is_path(struct vault *v, struct str identifier)
{
    char path[PATH_MAX];
    struct err none = {0};
    struct lookup l = {.v = v, .wanted = identifier, .path = path};
    return look_up_file(&l, &none);
}

bool vault_find(struct vault *v, struct change *c, struct str identifier, bool any_case,
                char path[static PATH_MAX], bool *found, struct err *e)
{
    struct lookup l = {
        .v = v, .c = c, .wanted = identifier, .any_case = any_case, .path = path};
    l.found = look_up_file(&l, e);
    bool ok = l.found || (c ? session_use(v, c, lookup_read, &l, e)
                            : index_use(v, lookup_read, &l, e));
    *found = ok && l.found;
    if (c && !ok)
        change_looks(c); /* it may list those that have the title */
    return ok && (!c || !*found || change_name(c, path, e));
}

bool vault_resolve(struct vault *v, struct str identifier, char path[static PATH_MAX],
                   bool *found, struct err *e)
{
    return vault_find(v, NULL, identifier, true, path, found, e);
}

bool vault_no_such_note(struct str identifier, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "there is no note \"%.*s\"; an identifier is an id "
                   "(\"type/name\"), a uid, a path or an exact title",
                   STR_ARGS(str_cut(identifier, 100)));
}

bool vault_need(struct vault *v, struct change *c, struct str identifier,
                char path[static PATH_MAX], struct err *e)
{
    bool found;
    return vault_find(v, c, identifier, true, path, &found, e) &&
           (found || vault_no_such_note(identifier, e));
}

bool vault_need_note(struct vault *v, struct change *c, struct str identifier,
                     char path[static PATH_MAX], struct note *out, struct err *e)
{
    bool found;
    return vault_need(v, c, identifier, path, e) &&
           change_read(c, path, out, &found, e) &&
           (found || vault_no_such_note(identifier, e));
}
