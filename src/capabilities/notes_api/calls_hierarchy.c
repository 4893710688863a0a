/* The host calls hierarchy.*: notes beneath notes. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

typedef bool change_fn(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e);

/* What the code has read of the parent goes on to count as read: it was this code
 * that changed the list. */
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
#define NOTE_ID "(noteId: string | " NOTE_ID_TYPE "): Promise<"

/* Types that signatures name. */
static const struct api_type types[] = {
    {"HierarchyRow",
     "{parent_id: string, child_id: string, depth: number, position: number}",
     "one place in the hierarchy; positions count from 0"},
    {"HierarchyChange",
     "{success: boolean, parentId: string, childId?: string, operation: 'add' | 'remove' | "
     "'reorder', timestamp: string, hierarchyUpdated: boolean, content_hash: string, "
     "previous_hash: string, error?: string}",
     "what a change of the hierarchy answers; both hashes are the parent's; "
     "hierarchyUpdated is false where it was so already"},
};

static const struct host_call rows[] = {
    {CALL(.name = "hierarchy.addSubnote", .writes = true),
     "(options: " HIERARCHY_ADD_SUBNOTE_TYPE "): Promise<HierarchyChange | DryRun>",
     "puts a note beneath another", call_add, LEVEL_FULL, .reviewed = true,
     .details = "The list stands in the parent's frontmatter, under the key subnotes. "
                "Without position it comes last, or stays where it is; positions count "
                "from 0. A note may have several parents.",
     .errors =
         "Conflict: the parent is beneath the child already. InvalidInput: they are "
         "one note. NotFound.",
     .example = "await hierarchy.addSubnote({parent_id: 'project/Plan', "
                "child_id: 'meeting/Standup', position: 0})",
     .words = "child parent nest attach move under tree outline"},
    {CALL(.name = "hierarchy.removeSubnote", .writes = true),
     "(options: " HIERARCHY_REMOVE_SUBNOTE_TYPE "): Promise<HierarchyChange | DryRun>",
     "takes a subnote away from its parent; both stay", call_remove, LEVEL_FULL,
     .reviewed = true, .errors = "NotFound: it is no subnote of that parent.",
     .example = "await hierarchy.removeSubnote({parent_id: 'project/Plan', "
                "child_id: 'meeting/Standup'})",
     .words = "child detach unlink unnest"},
    {CALL(.name = "hierarchy.reorder", .writes = true),
     "(options: " HIERARCHY_REORDER_TYPE "): Promise<HierarchyChange | DryRun>",
     "gives a note's subnotes another order", call_reorder, LEVEL_FULL, .reviewed = true,
     .details = "child_ids must be exactly its subnotes, each once.",
     .errors = "InvalidInput: names those that are missing, and those that are none.",
     .example = "const rows = await hierarchy.getChildren('project/Plan');\n"
                "await hierarchy.reorder({parent_id: 'project/Plan', "
                "child_ids: rows.map((r) => r.child_id).reverse()})",
     .words = "reorderSubnotes sort children order position"},
    {CALL(.name = "hierarchy.getPath", .slow = true), NOTE_ID "string[]>",
     "the ids from the topmost note down to this one", call_path, LEVEL_FULL,
     STEADY_QUESTION,
     .details = "Of several parents the one whose path comes first is followed.",
     .errors = NOT_THERE,
     .example = "const way = await hierarchy.getPath('meeting/Standup')",
     .words = "getHierarchyPath ancestors breadcrumb root up"},
    {CALL(.name = "hierarchy.getDescendants", .slow = true),
     "(options: string | " HIERARCHY_GET_DESCENDANTS_TYPE "): Promise<HierarchyRow[]>",
     "everything beneath a note, level by level", call_descendants, LEVEL_FULL,
     STEADY_QUESTION,
     .details = "depth is 1 for its children. A note with several parents has a row for "
                "each of them, and is gone into once.",
     .errors = "LimitExceeded: more than 100,000 rows; give max_depth. " NOT_THERE,
     .example = "await hierarchy.getDescendants({note_id: 'project/Plan', max_depth: 2})",
     .words = "subtree tree children recursive all below"},
    {CALL(.name = "hierarchy.getChildren", .slow = true), NOTE_ID "HierarchyRow[]>",
     "the subnotes of a note, in their order", call_children, LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Entries that mean no note, come twice or lead round in a circle are left "
         "out.",
     .errors = NOT_THERE,
     .example = "const rows = await hierarchy.getChildren('project/Plan')",
     .words = "subnotes list children below"},
    {CALL(.name = "hierarchy.getParents", .slow = true), NOTE_ID "HierarchyRow[]>",
     "the notes that have this one as a subnote", call_parents, LEVEL_FULL,
     STEADY_QUESTION,
     .details =
         "Sorted by the parents' paths; position is the note's place in each list.",
     .errors = NOT_THERE,
     .example = "const rows = await hierarchy.getParents('meeting/Standup')",
     .words = "parent above belongs owner"},
};
const struct host_call_group hierarchy_calls = {TABLE(rows),         TYPES(types),
                                                .order = 70,         .subject = "parent",
                                                .names_notes = true, .in_history = true};
