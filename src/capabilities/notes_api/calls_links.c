/* The host calls links.*: links between notes. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
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

static bool links_list_call(struct calling *x, struct json_writer *out, struct err *e)
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

/* Each may have to wait until the index is up to date. */
/* Shared types that signatures name. */
static const struct api_type types[] = {
    LINKS_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "links.getForNote", .slow = true),
     .signature = LINKS_GET_FOR_NOTE_SIGNATURE,
     .summary = "all links of a note: to notes, to URLs, and from other notes",
     .call = call_for_note, .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "target_note_id is null where a link is broken: no note is called so. Where several "
         "are, it is the one with the shortest path, and ambiguous. Links in code blocks do not count. link_type is 'wiki', 'markdown' or "
         "'external'; line counts from 1 in the content.",
     .errors = "NotFound: no such note. Conflict: several notes have that title.",
     .example = "const {outgoing_internal, outgoing_external, incoming} = "
                "await links.getForNote('project/Plan')",
     .words = "outgoing incoming references mentions getNoteLinks wikilinks urls"},
    {CALL(.name = "links.getBacklinks", .slow = true),
     .signature = LINKS_GET_BACKLINKS_SIGNATURE,
     .summary = "the links that lead to a note", .call = call_backlinks,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Links by id, path, uid, title or file name are included. Sorted by the path of the linking note.",
     .errors = "NotFound: no such note. Conflict: several notes have that title.",
     .example = "(await links.getBacklinks('project/Plan')).map((l) => l.source_note_id)",
     .words = "incoming references who links here mentioned by inbound"},
    {CALL(.name = "links.list", .slow = true), .signature = LINKS_LIST_SIGNATURE,
     .summary = "all links of the vault that lead to a note", .call = links_list_call,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Sorted by the path of the linking note. With hierarchy: true also parents and subnotes, as rows of kind 'hierarchy' with line 0. limit is 10,000 by default and at most; cursor is the source of the last row, and a page ends with a whole note.",
     .errors = "InvalidInput: the cursor's note is gone.",
     .example = "const all = await links.list({limit: 100})",
     .words = "all every graph edges relations network listLinks"},
    {CALL(.name = "links.findBroken", .slow = true),
     .signature = LINKS_FIND_BROKEN_SIGNATURE,
     .summary = "links to notes, headings, blocks and files that are not there",
     .call = call_find_broken, .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "reason is 'missing', or 'ambiguous' where several notes have that uid; 'heading' or "
         "'block' where the note has none that is called as fragment says; 'file' of an "
         "image or another file. limit "
         "is 10,000 by default and at most; cursor is the source_note_id of the last row, "
         "and a page ends with a whole note.",
     .example = "const broken = await links.findBroken()",
     .words = "dead missing dangling orphan findBrokenLinks check invalid"},
    {CALL(.name = "links.searchBy", .slow = true), .signature = LINKS_SEARCH_BY_SIGNATURE,
     .summary = "the notes with certain links", .call = call_search_by,
     .level = LEVEL_FULL, STEADY_QUESTION,
     .details =
         "All given criteria must match, each with any of its strings. A domain includes its subdomains. broken_links: false finds the notes without any. limit is 1,000 by default, 10,000 at most; cursor is the id of the last row.",
     .errors = "NotFound: a named note does not exist.",
     .example = "await links.searchBy({has_links_to: ['project/Plan'], "
                "external_domains: ['github.com']})",
     .words = "searchByLinks filter domain website linking to from"},
    {CALL(.name = "links.migrate", .slow = true), .signature = LINKS_MIGRATE_SIGNATURE,
     .summary = "brings the index of links up to date", .call = call_migrate,
     .level = LEVEL_FULL,
     .details =
         "Every call does this by itself; force rebuilds the whole index. Notes are not changed. errors counts notes that cannot be read.",
     .example = "await links.migrate()",
     .words = "migrateLinks rebuild reindex refresh tables"},
};
const struct host_call_group links_calls = {TABLE(rows), TYPES(types), .order = 60,
                                            .subject = "link", .notes = &note_advice};
