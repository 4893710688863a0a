/* The host calls relationships.*: relationships between notes. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

static bool relationships_get_call(struct calling *x, struct json_writer *out,
                                   struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && relationships_get(vault, json_at(x->args, 0), out, e);
}

static bool call_related(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && relationships_get_related(vault, json_at(x->args, 0), out, e);
}

static bool call_find_path(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    const struct json *o = call_options(x->args, "relationships.findPath", e);
    return vault && o && relationships_find_path(vault, o, out, e);
}

static bool call_clustering(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && relationships_get_clustering(vault, json_at(x->args, 0), out, e);
}

#define NOT_THERE "NotFound: no such note. Conflict: several notes have that title."

/* Shared types that signatures name. */
static const struct api_type types[] = {
    RELATIONSHIPS_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "relationships.get", .slow = true),
     .signature = RELATIONSHIPS_GET_SIGNATURE,
     .summary = "all connections of a note: links, hierarchy, URLs",
     .call = relationships_get_call, .level = LEVEL_FULL, STEADY_QUESTION,
     .errors = NOT_THERE,
     .example = "const {content_links, hierarchy_links, external_links} = "
                "await relationships.get('project/Plan')",
     .words = "getNoteRelationships connections graph edges neighbours overview"},
    {CALL(.name = "relationships.getRelated", .slow = true),
     .signature = RELATIONSHIPS_GET_RELATED_SIGNATURE,
     .summary = "the notes most closely related to a note, strongest first",
     .call = call_related, .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Counts links in both directions, parents, children, siblings, links to the same notes, and shared tags; strength is from 0 to 1. Links and tags shared by more than 1,000 notes are ignored. max_results is 10 by default, 1,000 at most.",
     .errors = NOT_THERE,
     .example = "await relationships.getRelated({note_id: 'project/Plan', "
                "max_results: 5})",
     .words = "similar nearest getRelatedNotes recommend suggest tags"},
    {CALL(.name = "relationships.findPath", .slow = true),
     .signature = RELATIONSHIPS_FIND_PATH_SIGNATURE,
     .summary = "the shortest path from one note to another", .call = call_find_path,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "The path uses links and the hierarchy in any direction. The first step is the start itself; relationship is a note's relation to the previous one. null: there is no path of at most max_depth steps, 10 by default, 100 at most. Among several paths it is always the same.",
     .errors = NOT_THERE,
     .example = "await relationships.findPath({start_note_id: 'project/Plan', "
                "end_note_id: 'person/Ada'})",
     .words = "findRelationshipPath connection between distance route graph bfs"},
    {CALL(.name = "relationships.getClusteringCoefficient", .slow = true),
     .signature = RELATIONSHIPS_GET_CLUSTERING_COEFFICIENT_SIGNATURE,
     .summary = "how closely a note's neighbours are connected with each other, 0 to 1",
     .call = call_clustering, .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "The share of pairs of its neighbours (by links or hierarchy) that are directly connected. 0 if there are fewer than two.",
     .errors = NOT_THERE,
     .example = "await relationships.getClusteringCoefficient('project/Plan')",
     .words = "cluster density community graph network analysis"},
};
const struct host_call_group relationships_calls = {
    TABLE(rows), TYPES(types), .order = 80, .subject = "relat", .notes = &note_advice};
