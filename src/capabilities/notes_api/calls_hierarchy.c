/* The host calls hierarchy.*: notes beneath notes. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

typedef bool change_fn(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e);

/* The parent still counts as read: this code itself changed its list. */
static bool change(struct calling *x, const char *call, change_fn *f,
                   struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, call, e);
    if (!vault || !o || !f(vault, o, out, e))
        return false;
    seen_relisted(x);
    return true;
}

static bool call_add(struct calling *x, struct json_writer *out, struct err *e)
{
    return change(x, "hierarchy.addSubnote", hierarchy_add_subnote, out, e);
}

static bool call_remove(struct calling *x, struct json_writer *out, struct err *e)
{
    return change(x, "hierarchy.removeSubnote", hierarchy_remove_subnote, out, e);
}

static bool call_reorder(struct calling *x, struct json_writer *out, struct err *e)
{
    return change(x, "hierarchy.reorder", hierarchy_reorder, out, e);
}

static bool call_path(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && hierarchy_get_path(vault, json_at(x->args, 0), out, e);
}

static bool call_descendants(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && hierarchy_get_descendants(vault, json_at(x->args, 0), out, e);
}

static bool call_children(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && hierarchy_get_children(vault, json_at(x->args, 0), out, e);
}

static bool call_parents(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && hierarchy_get_parents(vault, json_at(x->args, 0), out, e);
}

#define NOT_THERE "NotFound: no such note. Conflict: several notes have that title."

/* Shared types that signatures name. */
static const struct api_type types[] = {
    HIERARCHY_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "hierarchy.addSubnote", .writes = true),
     .signature = HIERARCHY_ADD_SUBNOTE_SIGNATURE,
     .summary = "puts a note beneath another", .call = call_add, .level = LEVEL_FULL,
     .reviewed = true,
     .details =
         "The list is in the parent's frontmatter, under the key subnotes. Without position the note comes last, or keeps its place; positions count from 0. A note may have several parents.",
     .errors =
         "Conflict: the parent is beneath the child already. InvalidInput: they are the same note. NotFound.",
     .example = "await hierarchy.addSubnote({parent_id: 'project/Plan', "
                "child_id: 'meeting/Standup', position: 0})",
     .words = "child parent nest attach move under tree outline"},
    {CALL(.name = "hierarchy.removeSubnote", .writes = true),
     .signature = HIERARCHY_REMOVE_SUBNOTE_SIGNATURE,
     .summary = "detaches a subnote from its parent; both stay", .call = call_remove,
     .level = LEVEL_FULL, .reviewed = true,
     .errors = "NotFound: it is not a subnote of that parent.",
     .example = "await hierarchy.removeSubnote({parent_id: 'project/Plan', "
                "child_id: 'meeting/Standup'})",
     .words = "child detach unlink unnest"},
    {CALL(.name = "hierarchy.reorder", .writes = true),
     .signature = HIERARCHY_REORDER_SIGNATURE,
     .summary = "changes the order of a note's subnotes", .call = call_reorder,
     .level = LEVEL_FULL, .reviewed = true,
     .details = "child_ids must be exactly its subnotes, each once.",
     .errors = "InvalidInput: names missing subnotes, and ids that are not subnotes.",
     .example = "const rows = await hierarchy.getChildren('project/Plan');\n"
                "await hierarchy.reorder({parent_id: 'project/Plan', "
                "child_ids: rows.map((r) => r.child_id).reverse()})",
     .words = "reorderSubnotes sort children order position"},
    {CALL(.name = "hierarchy.getPath", .slow = true),
     .signature = HIERARCHY_GET_PATH_SIGNATURE,
     .summary = "the ids from the topmost note down to this one", .call = call_path,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details = "If a note has several parents, the one whose path comes first is used.",
     .errors = NOT_THERE,
     .example = "const way = await hierarchy.getPath('meeting/Standup')",
     .words = "getHierarchyPath ancestors breadcrumb root up"},
    {CALL(.name = "hierarchy.getDescendants", .slow = true),
     .signature = HIERARCHY_GET_DESCENDANTS_SIGNATURE,
     .summary = "everything beneath a note, level by level", .call = call_descendants,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "depth is 1 for its children. A note with several parents has a row for each of them; its descendants are listed once.",
     .errors = "LimitExceeded: more than 100,000 rows; give max_depth. " NOT_THERE,
     .example = "await hierarchy.getDescendants({note_id: 'project/Plan', max_depth: 2})",
     .words = "subtree tree children recursive all below"},
    {CALL(.name = "hierarchy.getChildren", .slow = true),
     .signature = HIERARCHY_GET_CHILDREN_SIGNATURE,
     .summary = "the subnotes of a note, in their order", .call = call_children,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details = "Entries that match no note, repeat one or close a cycle are left out.",
     .errors = NOT_THERE,
     .example = "const rows = await hierarchy.getChildren('project/Plan')",
     .words = "subnotes list children below"},
    {CALL(.name = "hierarchy.getParents", .slow = true),
     .signature = HIERARCHY_GET_PARENTS_SIGNATURE,
     .summary = "the notes that have this one as a subnote", .call = call_parents,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Sorted by the parents' paths; position is the note's place in each list.",
     .errors = NOT_THERE,
     .example = "const rows = await hierarchy.getParents('meeting/Standup')",
     .words = "parent above belongs owner"},
};
const struct host_call_group hierarchy_calls = {
    TABLE(rows),         TYPES(types),          .order = 70,
    .subject = "parent", .notes = &note_advice, .in_history = true};
