/* The host calls notes.*: single notes and searches. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

/* ---- arguments ---------------------------------------------------------- */

static struct str note_name(const struct json *v)
{
    return json_str(json_is(v, JSON_OBJECT) ? json_get(v, "identifier") : v);
}

/* ---- notes -------------------------------------------------------------- */

static bool notes_get_call(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    if (!vault || !notes_get(vault, json_at(x->args, 0), out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool notes_create_call(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "notes.create", e);
    if (!vault || !o || !notes_create(vault, o, out, e))
        return false;
    seen_note(x, true);
    return true;
}

/* notes.update(options), or notes.update(identifier, patch). */
static bool notes_update_call(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *first = json_at(x->args, 0);
    const struct json *o = json_is(first, JSON_STRING) ? json_at(x->args, 1) : first;
    struct str name = note_name(first);
    if (!vault)
        return false;
    struct str second = json_str(json_get(o, "identifier"));
    if (o != first && second.n && !str_eq(second, name))
        return err_set(e, ERR_INVALID, "notes.update names two notes; once is enough");
    if (!json_is(o, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "notes.update needs an object with what changes, not %s",
                       json_type_name(json_type(o))) ||
               err_because(e, CAUSE_SHAPE);
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    o = seen_complete(x->v, o, name, a, e);
    if (!o || !notes_update(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_delete_note(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && notes_delete(vault, json_at(x->args, 0), out, e);
}

static bool notes_list_call(struct calling *x, struct json_writer *out, struct err *e)
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

/* Shared types that signatures name. */
static const struct api_type types[] = {
    NOTES_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "notes.create", .writes = true), .signature = NOTES_CREATE_SIGNATURE,
     .summary = "creates a note in the folder of its type", .call = notes_create_call,
     .level = LEVEL_LIMITED, .alias = "notes.save", .right = RIGHT_CREATE_NOTES,
     .reviewed = true,
     .taken = "Choose another title, or change that note with notes.update.",
     .details =
         "The title becomes the file's name; type is 'note' by default. type_id is "
         "another word for type; folder is any folder, such as 'project/garden', or '' for the "
         "root, and its first one is the type. markdown is the whole file, kept as it is: its frontmatter "
         "gives the type, and title or first heading the title, unless they are given.",
     .errors =
         "Conflict: the name is taken. InvalidInput: an unknown field, or metadata that the type's schema does not allow.",
     .example =
         "await notes.create({type: 'meeting', title: 'Standup', content: '# Standup', "
         "metadata: {tags: ['team']}})",
     .words = "add new write insert make save put createNote"},
    {CALL(.name = "notes.get"), .signature = NOTES_GET_SIGNATURE,
     .summary =
         "one note with its content, by id ('type/name'), uid, path or unique title",
     .call = notes_get_call, .level = LEVEL_ZERO, .right = RIGHT_READ_NOTES,
     .steady = true,
     .details =
         "null if there is none. content is the text after the frontmatter; metadata is the frontmatter without id, type, title, created and updated; properties: true adds an object of these and of the texts under the headings of level 2; markdown: true adds the whole file.",
     .errors = "Conflict: several notes have this title; the message names them.",
     .example = "const note = await notes.get('meeting/Standup')",
     .words = "read open load fetch show view getNote getById byId content body findOne"},
    {CALL(.name = "notes.update", .writes = true), .signature = NOTES_UPDATE_SIGNATURE,
     .summary = "replaces a note's content, or merges its metadata, or both",
     .call = notes_update_call, .level = LEVEL_LIMITED, .alias = "notes.save",
     .right = RIGHT_CHANGE_NOTES, .reviewed = true,
     .details =
         "metadata is merged key by key, null removes a key. markdown replaces the whole file including the frontmatter. Without contentHash the change applies to the version that this code read last; a note that it has not read is changed only with force.",
     .errors =
         "Conflict: the note changed since that version; nothing is written. NotFound. InvalidInput: not read before, and neither contentHash nor force is given.",
     .example =
         "const note = await notes.get('meeting/Standup');\n"
         "await notes.update({identifier: note.id, content: note.content + '\\n- done', "
         "metadata: {reviewed: true}})",
     .words =
         "change edit write set modify patch replace append save put frontmatter tag "
         "updateNote setMetadata"},
    {CALL(.name = "notes.delete", .writes = true), .signature = NOTES_DELETE_SIGNATURE,
     .summary = "moves a note to the trash", .call = call_delete_note,
     .level = LEVEL_FULL, .right = RIGHT_DELETE_NOTES, .reviewed = true,
     .details =
         "If other notes link to it, nothing is done and warnings lists them, unless confirm is true. backup_path is the file's new path. With contentHash only that version is deleted.",
     .errors = "NotFound. Conflict: contentHash is given, and the note changed since.",
     .example = "await notes.delete({identifier: 'meeting/Standup', confirm: true})",
     .words = "remove trash erase destroy drop unlink deleteNote"},
    {CALL(.name = "notes.list"), .signature = NOTES_LIST_SIGNATURE,
     .summary = "notes without their content, most recently updated first",
     .call = notes_list_call, .level = LEVEL_ZERO, .filter = FILTER_OR_TYPE,
     .rows = NOTES_LIST_LIMIT_ROWS, .right = RIGHT_LIST_NOTES, STEADY_QUESTION,
     .details =
         "limit is 1,000 by default, 10,000 at most; cursor is the id of the last row "
         "of the page before, with order: 'path' its path. folder: the notes in it, with "
         "recursive also those in folders inside of it. fields picks the fields of the "
         "rows, also uid, filename, content_hash, metadata and properties: metadata and "
         "the texts under headings of level 2, the long ones cut (properties_cut names "
         "them).",
     .errors = "InvalidInput: an unknown field.",
     .example = "const rows = await notes.list({typeName: 'meeting', limit: 20})",
     .words =
         "all every getAll findAll listNotes recent latest newest count enumerate page "
         "ids titles query filter"},
    {CALL(.name = "notes.search", .slow = true), .signature = NOTES_SEARCH_SIGNATURE,
     .summary = "full-text search over titles, contents and tags, best match first",
     .call = call_search, .level = LEVEL_FULL, .filter = FILTER_OPTIONS,
     .rows = NOTES_SEARCH_LIMIT_ROWS, STEADY_QUESTION,
     .details =
         "Words are joined by AND, or by OR if that finds nothing; \"quotes\" make a phrase. useRegex: a regular expression (PCRE2) over titles and single lines. exact: the title or file name equals the query. limit is 50 by default, 1,000 at most; cursor is the id of the last row of the previous page.",
     .errors = "LimitExceeded: a regular expression that backtracks too much.",
     .example = "const hits = await notes.search({query: 'rain barrel', limit: 10})",
     .words =
         "find look grep text fulltext match query regex searchNotes where contains"},
};
const struct host_call_group notes_calls = {TABLE(rows),           TYPES(types),
                                            .order = 10,           .subject = "note",
                                            .notes = &note_advice, .in_history = true};
