/* The host calls relationships.*: how notes belong together. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

static bool call_get(struct calling *x, struct json_writer *out, struct err *e)
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

/* Types that signatures name. */
static const struct api_type types[] = {
    {"NoteRelationships",
     "{content_links: {outgoing: LinkRow[], incoming: LinkRow[]}, "
     "hierarchy_links: {parents: HierarchyRow[], children: HierarchyRow[]}, "
     "external_links: ExternalLink[]}",
     "what relationships.get answers"},
    {"RelatedNote",
     "{noteId: string, strength: number, relationship_types: ('link' | 'backlink' | 'child' | "
     "'parent' | 'sibling' | 'shared_link' | 'shared_tag')[]}",
     "a note that belongs close to another"},
    {"PathStep",
     "{noteId: string, relationship: 'start' | 'link' | 'backlink' | 'child' | 'parent'}",
     "a step on the way between two notes; relationship is what it is to the one before"},
};

static const struct host_call rows[] = {
    {CALL(.name = "relationships.get", .slow = true),
     "(noteId: string | " NOTE_ID_TYPE "): Promise<NoteRelationships>",
     "all that joins a note to others: links, hierarchy, addresses", call_get, LEVEL_FULL,
     STEADY_QUESTION, .errors = NOT_THERE,
     .example = "const {content_links, hierarchy_links, external_links} = "
                "await relationships.get('project/Plan')",
     .words = "getNoteRelationships connections graph edges neighbours overview"},
    {CALL(.name = "relationships.getRelated", .slow = true),
     "(options: string | " RELATIONSHIPS_GET_RELATED_TYPE "): Promise<RelatedNote[]>",
     "the notes that belong closest to a note, the strongest first", call_related,
     LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Counts links in both directions, parents, children, siblings, links to the "
         "same notes, and shared tags; strength goes from 0 to 1. What more than 1,000 "
         "notes share is left out. max_results is 10 by default, 1,000 at most.",
     .errors = NOT_THERE,
     .example = "await relationships.getRelated({note_id: 'project/Plan', "
                "max_results: 5})",
     .words = "similar nearest getRelatedNotes recommend suggest tags"},
    {CALL(.name = "relationships.findPath", .slow = true),
     "(options: " RELATIONSHIPS_FIND_PATH_TYPE "): Promise<PathStep[] | null>",
     "the shortest way from one note to another", call_find_path, LEVEL_FULL,
     STEADY_QUESTION,
     .details =
         "Goes over links and the hierarchy in any direction. The first step is the "
         "start itself; relationship says what a note is to the one before. null: there "
         "is no way of at most max_depth steps, 10 by default, 100 at most. Always the "
         "same of several.",
     .errors = NOT_THERE,
     .example = "await relationships.findPath({start_note_id: 'project/Plan', "
                "end_note_id: 'person/Ada'})",
     .words = "findRelationshipPath connection between distance route graph bfs"},
    {CALL(.name = "relationships.getClusteringCoefficient", .slow = true),
     "(noteId: string | " NOTE_ID_TYPE "): Promise<number>",
     "how closely a note's neighbours are joined among themselves, 0 to 1",
     call_clustering, LEVEL_FULL, STEADY_QUESTION,
     .details = "Of all pairs of notes that it is joined to by links or hierarchy, the "
                "share that is joined directly. 0 where there are fewer than two.",
     .errors = NOT_THERE,
     .example = "await relationships.getClusteringCoefficient('project/Plan')",
     .words = "cluster density community graph network analysis"},
};
const struct host_call_group relationships_calls = {
    TABLE(rows), TYPES(types), .order = 80, .subject = "relat", .names_notes = true};
