/* The host calls links.*: what links to what. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

static bool call_for_note(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && links_get_for_note(vault, json_at(x->args, 0), out, e);
}

static bool call_backlinks(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && links_get_backlinks(vault, json_at(x->args, 0), out, e);
}

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && links_list(vault, json_at(x->args, 0), out, e);
}

static bool call_find_broken(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && links_find_broken(vault, json_at(x->args, 0), out, e);
}

static bool call_search_by(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    const struct json *o = call_options(x->args, "links.searchBy", e);
    return vault && o && links_search_by(vault, o, out, e);
}

static bool call_migrate(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && links_migrate(vault, json_at(x->args, 0), out, e);
}

/* Any of these may have to wait until the index is up to date. */
/* Types that signatures name. */
static const struct api_type types[] = {
    {"Link",
     "{source: string, target: string, text: string, kind: 'wiki' | 'markdown' | "
     "'hierarchy', line: number}",
     "a link from note to note, by their ids; line is that of the source's content, or 0 "
     "where the target stands beneath the source in the hierarchy"},
    {"LinkRow",
     "{source_note_id: string, target_note_id: string | null, target: string, "
     "link_text: string, link_type: 'wiki' | 'markdown', line: number, file?: true}",
     "a link between notes; target is what is written, file tells of one to an image or "
     "another file that is no note"},
    {"ExternalLink",
     "{source_note_id: string, url: string, link_text: string, link_type: 'external', "
     "line: number}",
     "a link to an address"},
    {"NoteLinks",
     "{outgoing_internal: LinkRow[], outgoing_external: ExternalLink[], "
     "incoming: LinkRow[]}",
     "what links.getForNote answers"},
    {"BrokenLink", "LinkRow & {reason: 'missing' | 'ambiguous'}",
     "a link that leads to no note"},
    {"LinkedNote",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "content_hash: string, metadata: Metadata}",
     "a note that links.searchBy found"},
    {"LinkMigration",
     "{total_notes: number, processed: number, errors: number, "
     "error_details?: {note_id: string, error: string}[]}",
     "what links.migrate answers; processed counts the notes that were read again"},
};

static const struct host_call rows[] = {
    {CALL(.name = "links.getForNote", .slow = true),
     "(identifier: string | " IDENTIFIER_TYPE "): Promise<NoteLinks>",
     "all links of a note: to notes, to addresses, and from other notes", call_for_note,
     LEVEL_FULL, STEADY_QUESTION,
     .details =
         "target_note_id is null where a link is broken: no note is called so, or several "
         "are. Links in code blocks do not count. link_type is 'wiki', 'markdown' or "
         "'external'; line counts from 1 in the content.",
     .errors = "NotFound: no such note. Conflict: several notes have that title.",
     .example = "const {outgoing_internal, outgoing_external, incoming} = "
                "await links.getForNote('project/Plan')",
     .words = "outgoing incoming references mentions getNoteLinks wikilinks urls"},
    {CALL(.name = "links.getBacklinks", .slow = true),
     "(identifier: string | " IDENTIFIER_TYPE "): Promise<LinkRow[]>",
     "the links that lead to a note", call_backlinks, LEVEL_FULL, STEADY_QUESTION,
     .details = "Whatever they call it: id, path, uid, title or file name. Sorted by the "
                "path of the note that they stand in.",
     .errors = "NotFound: no such note. Conflict: several notes have that title.",
     .example = "(await links.getBacklinks('project/Plan')).map((l) => l.source_note_id)",
     .words = "incoming references who links here mentioned by inbound"},
    {CALL(.name = "links.list", .slow = true),
     "(options?: " LINKS_LIST_TYPE " | null): Promise<Link[]>",
     "all links of the vault that lead to a note", call_list, LEVEL_FULL, STEADY_QUESTION,
     .details =
         "By the path of the note that they stand in. With hierarchy: true also who stands "
         "beneath whom: rows of kind 'hierarchy', whose line is 0. limit is 10,000 by "
         "default and at most; cursor is the source of the last row, and a page ends with a "
         "whole note.",
     .errors = "InvalidInput: the cursor's note is gone.",
     .example = "const all = await links.list({limit: 100})",
     .words = "all every graph edges relations network listLinks"},
    {CALL(.name = "links.findBroken", .slow = true),
     "(options?: " LINKS_FIND_BROKEN_TYPE " | null): Promise<BrokenLink[]>",
     "links that lead to no note", call_find_broken, LEVEL_FULL, STEADY_QUESTION,
     .details =
         "reason is 'missing', or 'ambiguous' where several notes have that name. Links to "
         "files that are no notes are not looked at. limit is 10,000 by default and at "
         "most; cursor is the source_note_id of the last row, and a page ends with a "
         "whole note.",
     .example = "const broken = await links.findBroken()",
     .words = "dead missing dangling orphan findBrokenLinks check invalid"},
    {CALL(.name = "links.searchBy", .slow = true),
     "(options: " LINKS_SEARCH_BY_TYPE "): Promise<LinkedNote[]>",
     "the notes with certain links", call_search_by, LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Each criterion that is given must hold, for any one of its strings. A domain "
         "stands for all beneath it. broken_links: false finds the notes without any. "
         "limit is 1,000 by default, 10,000 at most; cursor is the id of the last row.",
     .errors = "NotFound: a note that is named is not there.",
     .example = "await links.searchBy({has_links_to: ['project/Plan'], "
                "external_domains: ['github.com']})",
     .words = "searchByLinks filter domain website linking to from"},
    {CALL(.name = "links.migrate", .slow = true),
     "(force?: boolean | " LINKS_MIGRATE_TYPE " | null): Promise<LinkMigration>",
     "brings the index of links up to date", call_migrate, LEVEL_FULL,
     .details = "It always is before any call answers; force makes the whole index anew. "
                "Notes are not changed. errors counts notes that cannot be read.",
     .example = "await links.migrate()",
     .words = "migrateLinks rebuild reindex refresh tables"},
};
const struct host_call_group links_calls = {TABLE(rows), TYPES(types), .order = 60,
                                            .subject = "link", .names_notes = true};
