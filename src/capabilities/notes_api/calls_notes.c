/* The host calls notes.*: single notes and searches. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

/* ---- arguments ---------------------------------------------------------- */

static struct str name_of(const struct json *v)
{
    return json_str(json_is(v, JSON_OBJECT) ? json_get(v, "identifier") : v);
}

/* ---- notes -------------------------------------------------------------- */

static bool call_get(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    if (!vault || !notes_get(vault, json_at(x->args, 0), out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_create(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "notes.create", e);
    if (!vault || !o || !notes_create(vault, o, out, e))
        return false;
    seen_note(x, true);
    return true;
}

/* notes.update(options), or notes.update(identifier, patch). */
static bool call_update(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *first = json_at(x->args, 0);
    const struct json *o = json_is(first, JSON_STRING) ? json_at(x->args, 1) : first;
    struct str name = name_of(first);
    if (!vault)
        return false;
    struct str second = json_str(json_get(o, "identifier"));
    if (o != first && second.n && !str_eq(second, name))
        return err_set(e, ERR_INVALID, "notes.update names two notes; once is enough");
    if (!json_is(o, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "notes.update needs an object with what changes, not %s",
                       json_type_name(json_type(o)));
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    o = seen_complete(x->v, o, name, a, e);
    if (!o || !notes_update(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_delete(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && notes_delete(vault, json_at(x->args, 0), out, e);
}

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_list(vault, json_at(x->args, 0), out, e);
}

static bool call_search(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && notes_search(vault, json_at(x->args, 0), out, e);
}

/* ---- the rows ----------------------------------------------------------- */

/* Types that signatures name. */
static const struct api_type types[] = {
    {"Metadata", "{[key: string]: any}",
     "the frontmatter of a note by its keys; values are what YAML makes of them"},
    {"Note",
     "{id: string, type: string, title: string, filename: string, path: string, "
     "created: string, updated?: string, uid?: string | null, content?: string, "
     "metadata?: Metadata, content_hash?: string, links?: NoteLink[], size?: number, "
     "tags?: string[], frontmatter_error?: string}",
     "a note, with as much of it as a call answers: what notes.create and notes.get answer "
     "are Notes; times are ISO 8601, size is in bytes"},
    {"FullNote",
     "{id: string, uid: string | null, title: string, content: string, metadata: Metadata, "
     "content_hash: string, links: NoteLink[], type: string, created: string, updated: string, "
     "path: string, filename: string, size: number, tags: string[], "
     "frontmatter_error?: string, properties?: Metadata, markdown?: string}",
     "a note as notes.get answers it"},
    {"NoteLink",
     "{target: string, label: string | null, kind: 'wiki' | 'markdown' | 'external', "
     "line: number}",
     "a link as it stands in a note's content"},
    {"NoteField",
     "'id' | 'title' | 'type' | 'created' | 'updated' | 'size' | 'tags' | 'path' | 'uid' | "
     "'filename' | 'content_hash' | 'metadata' | 'properties'",
     "what lists can answer of a note"},
    {"NoteRow",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "size: number, tags: string[], path: string, uid?: string | null, filename?: string, "
     "content_hash?: string, metadata?: Metadata, properties?: Metadata, "
     "properties_cut?: string[]}",
     "a note in a list, without its content; with `fields` only those"},
    {"SearchHit",
     "{id: string, note_id: string, title: string, excerpt: string, score: number, "
     "type: string, created: string}",
     "a note that was found; id and note_id are the same"},
    {"SearchField",
     "'id' | 'note_id' | 'title' | 'excerpt' | 'score' | 'type' | 'created'",
     "what a search can answer of a note"},
    {"CreatedNote",
     "{id: string, type: string, title: string, filename: string, path: string, "
     "created: string}",
     "what notes.create answers"},
    {"UpdatedNote",
     "{id: string, updated: boolean, timestamp: string, content_hash: string}",
     "what notes.update answers; content_hash is the new version's"},
    {"DeletedNote",
     "{id: string, deleted: boolean, timestamp: string, backup_path?: string, "
     "warnings?: string[]}",
     "what notes.delete answers; backup_path is where the file lies in the trash"},
};

static const struct host_call rows[] = {
    {CALL(.name = "notes.create", .writes = true),
     "(options: " NOTES_CREATE_PARTS_TYPE " | " NOTES_CREATE_WHOLE_TYPE
     "): Promise<CreatedNote | DryRun>",
     "creates a note in the folder of its type", call_create, LEVEL_LIMITED,
     .alias = "notes.save", .right = RIGHT_CREATE_NOTES, .reviewed = true,
     .details =
         "The title becomes the file's name; type is 'note' by default. type_id is "
         "another word for type. markdown is the whole file, kept as it is: its frontmatter "
         "gives the type, and title or first heading the title, unless they are given.",
     .errors =
         "Conflict: the name is taken. InvalidInput: a field that it does not take, or "
         "metadata that the type's schema does not allow.",
     .example =
         "await notes.create({type: 'meeting', title: 'Standup', content: '# Standup', "
         "metadata: {tags: ['team']}})",
     .words = "add new write insert make save put createNote"},
    {CALL(.name = "notes.get"),
     "(identifier: string | " NOTES_GET_TYPE "): Promise<FullNote | null>",
     "one note with its content, by id ('type/name'), uid, path or unique title",
     call_get, LEVEL_ZERO, .right = RIGHT_READ_NOTES, .steady = true,
     .details =
         "null where there is none. content is what stands behind the frontmatter; "
         "metadata is the frontmatter without id, type, title, created and updated; "
         "properties: true adds an object of these and of the texts under the headings of "
         "level 2; markdown: true the whole file.",
     .errors = "Conflict: several notes have this title; the message names them.",
     .example = "const note = await notes.get('meeting/Standup')",
     .words = "read open load fetch show view getNote getById byId content body findOne"},
    {CALL(.name = "notes.update", .writes = true),
     "(options: " NOTES_UPDATE_TYPE "): Promise<UpdatedNote | DryRun>\n"
     "(identifier: string, changes: " NOTES_UPDATE_CHANGES_TYPE
     "): Promise<UpdatedNote | DryRun>",
     "replaces a note's content, or merges its metadata, or both", call_update,
     LEVEL_LIMITED, .alias = "notes.save", .right = RIGHT_CHANGE_NOTES, .reviewed = true,
     .details =
         "metadata is merged key by key, null removes a key. markdown takes the place of the "
         "whole file, frontmatter and all. Without contentHash the "
         "version that this code read last is meant; a note that it never read is "
         "changed only with force.",
     .errors =
         "Conflict: the note changed since that version; nothing is written. NotFound. "
         "InvalidInput: never read, and neither contentHash nor force is given.",
     .example =
         "const note = await notes.get('meeting/Standup');\n"
         "await notes.update({identifier: note.id, content: note.content + '\\n- done', "
         "metadata: {reviewed: true}})",
     .words =
         "change edit write set modify patch replace append save put frontmatter tag "
         "updateNote setMetadata"},
    {CALL(.name = "notes.delete", .writes = true),
     "(options: string | " NOTES_DELETE_TYPE "): Promise<DeletedNote | DryRun>",
     "moves a note to the trash", call_delete, LEVEL_FULL, .right = RIGHT_DELETE_NOTES,
     .reviewed = true,
     .details = "Where other notes link to it nothing is done, and warnings lists them, "
                "unless confirm is true. backup_path is where the file lies now. With "
                "contentHash only that version is deleted.",
     .errors = "NotFound. Conflict: contentHash is given, and the note changed since.",
     .example = "await notes.delete({identifier: 'meeting/Standup', confirm: true})",
     .words = "remove trash erase destroy drop unlink deleteNote"},
    {CALL(.name = "notes.list"),
     "(options?: string | null | " NOTES_LIST_TYPE "): Promise<NoteRow[]>",
     "notes without their content, the one updated last first", call_list, LEVEL_ZERO,
     .filter = FILTER_OR_TYPE, .rows = NOTES_LIST_LIMIT_ROWS, .right = RIGHT_LIST_NOTES,
     STEADY_QUESTION,
     .details =
         "limit is 1,000 by default, 10,000 at most; cursor is the id of the last row "
         "of the page before, with order: 'path' its path. fields picks the fields of the "
         "rows, also uid, filename, content_hash, metadata and properties: metadata and "
         "the texts under headings of level 2, the long ones cut (properties_cut names "
         "them).",
     .errors = "InvalidInput: a field that it does not take.",
     .example = "const rows = await notes.list({typeName: 'meeting', limit: 20})",
     .words =
         "all every getAll findAll listNotes recent latest newest count enumerate page "
         "ids titles query filter"},
    {CALL(.name = "notes.search", .slow = true),
     "(options: string | " NOTES_SEARCH_TYPE "): Promise<SearchHit[]>",
     "full-text search over titles, contents and tags, best first", call_search,
     LEVEL_FULL, .filter = FILTER_OPTIONS, .rows = NOTES_SEARCH_LIMIT_ROWS,
     STEADY_QUESTION,
     .details =
         "Words are joined by AND, where that finds nothing by OR; \"quotes\" make a "
         "phrase. useRegex: a regular expression (PCRE2) over titles and single lines. "
         "exact: the title or file name is the query. limit is 50, at most 1,000; cursor is "
         "the id of the last row of the page before.",
     .errors = "LimitExceeded: a regular expression that backtracks without end.",
     .example = "const hits = await notes.search({query: 'rain barrel', limit: 10})",
     .words =
         "find look grep text fulltext match query regex searchNotes where contains"},
};
const struct host_call_group notes_calls = {TABLE(rows),         TYPES(types),
                                            .order = 10,         .subject = "note",
                                            .names_notes = true, .in_history = true};
