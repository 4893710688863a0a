#include "notes/resolve.h"

#include <limits.h>

#include "notes/fold.h"
#include "notes/name.h"

enum name_outcome resolve_file(resolve_look *look, void *arg, struct str name,
                               struct err *e)
{
    char path[PATH_MAX];
    if (!name.n || name.n + sizeof ".md" > sizeof path || memchr(name.at, '\0', name.n))
        return NAME_MISSING;
    memcpy(path, name.at, name.n);
    memcpy(path + name.n, ".md", 3);
    struct str whole = {path, name.n + 3}, inner = {path + 5, whole.n - 5};
    bool folder = memchr(name.at, '/', name.n);
    enum name_outcome found = folder ? look(arg, RESOLVE_PATH, whole, e) : NAME_MISSING;
    if (!folder && str_ends(name, ".md"))
        found = look(arg, RESOLVE_PATH, name, e);
    if (!found && !e->code && str_starts(whole, "note/") && name_at_root(inner))
        found = look(arg, RESOLVE_PATH, inner, e);
    return found;
}

void resolve_bind(struct query *q, enum resolve_way way, struct str name, struct buf *key)
{
    if (way == RESOLVE_PATH || way == RESOLVE_UID) {
        query_bind_str(q, 1, name);
        return;
    }
    struct str folded = fold_key(name, key);
    bool exact = way == RESOLVE_TITLE || way == RESOLVE_STEM;
    query_bind_str(q, 1, exact ? name : way == RESOLVE_TAIL ? name_file(folded) : folded);
    if (exact || way == RESOLVE_TAIL)
        query_bind_str(q, 2, folded);
}

enum name_outcome resolve_name(resolve_look *look, void *arg, struct str name,
                               enum resolve_way end, struct err *e)
{
    bool folder = name.n && memchr(name.at, '/', name.n);
    struct str stem = {name.at, name.n - (str_ends(name, ".md") ? 3 : 0)};
    const struct str names[RESOLVE_WAYS] = {
        /* An empty one cannot be found this way. */
        [RESOLVE_UID] = name,
        [RESOLVE_TITLE] = name,
        [RESOLVE_STEM] = folder ? STR("") : stem,
        [RESOLVE_ID_ANYCASE] = folder ? name : STR(""),
        [RESOLVE_TITLE_ANYCASE] = name,
        [RESOLVE_STEM_ANYCASE] = folder ? STR("") : stem,
        [RESOLVE_ALIAS] = name,
        [RESOLVE_TAIL] = folder ? name : STR(""),
    };
    enum name_outcome found = NAME_MISSING;
    for (enum resolve_way way = RESOLVE_UID; way < end && !found && !e->code; way++)
        if (names[way].n)
            found = look(arg, way, names[way], e);
    return found;
}
