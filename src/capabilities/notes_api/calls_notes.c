/* The host calls notes.*: single notes and searches. */
#include "notes_api/internal.h"
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

static const struct host_call rows[] = {
    {CALL(.name = "notes.create", .writes = true),
     "(options: {type?: string, type_id?: string, title: string, content?: string, "
     "metadata?: Metadata, dry_run?: boolean} | {markdown: string, type?: string, "
     "title?: string, dry_run?: boolean}): Promise<CreatedNote | DryRun>",
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
     "(identifier: string | {identifier: string, properties?: boolean, markdown?: "
     "boolean}): "
     "Promise<FullNote | null>",
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
     "(options: {identifier: string, content?: string, contentHash?: string, "
     "content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, "
     "dry_run?: boolean}): "
     "Promise<UpdatedNote | DryRun>\n"
     "(identifier: string, changes: {content?: string, contentHash?: string, "
     "content_hash?: string, metadata?: Metadata, markdown?: string, force?: boolean, "
     "dry_run?: boolean}): "
     "Promise<UpdatedNote | DryRun>",
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
     "(options: string | {identifier: string, confirm?: boolean, contentHash?: string, "
     "content_hash?: string, dry_run?: boolean}): Promise<DeletedNote | DryRun>",
     "moves a note to the trash", call_delete, LEVEL_FULL, .right = RIGHT_DELETE_NOTES,
     .reviewed = true,
     .details = "Where other notes link to it nothing is done, and warnings lists them, "
                "unless confirm is true. backup_path is where the file lies now. With "
                "contentHash only that version is deleted.",
     .errors = "NotFound. Conflict: contentHash is given, and the note changed since.",
     .example = "await notes.delete({identifier: 'meeting/Standup', confirm: true})",
     .words = "remove trash erase destroy drop unlink deleteNote"},
    {CALL(.name = "notes.list"),
     "(options?: string | null | {typeName?: string, type?: string, limit?: number, "
     "cursor?: string, order?: 'updated' | 'path', fields?: NoteField[]}): "
     "Promise<NoteRow[]>",
     "notes without their content, the one updated last first", call_list, LEVEL_ZERO,
     .filter = FILTER_OR_TYPE, .rows = {1000, "10,000"}, .right = RIGHT_LIST_NOTES,
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
     "(options: string | {query: string, typeFilter?: string, type?: string, limit?: number, "
     "useRegex?: boolean, exact?: boolean, fields?: SearchField[], cursor?: string}): "
     "Promise<SearchHit[]>",
     "full-text search over titles, contents and tags, best first", call_search,
     LEVEL_FULL, .filter = FILTER_OPTIONS, .rows = {50, "1,000"}, STEADY_QUESTION,
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
const struct host_call_group notes_calls = {TABLE(rows), .order = 10, .subject = "note",
                                            .names_notes = true, .in_history = true};
