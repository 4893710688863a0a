/* The host calls noteTypes.*: the types of notes, and the purpose of each. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

static bool with_vault(struct calling *x, vault_call *does, struct json_writer *out,
                       struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && does(vault, json_at(x->args, 0), out, e);
}

static bool types_create_call(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_create, out, e);
}

static bool types_list_call(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_list, out, e);
}

static bool types_get_call(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_get, out, e);
}

static bool types_update_call(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_update, out, e);
}

static bool call_delete_type(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_delete, out, e);
}

static const struct host_call rows[] = {
    {CALL(.name = "noteTypes.create", .writes = true),
     .signature = NOTE_TYPES_CREATE_SIGNATURE,
     .summary =
         "describes a type of notes: its purpose, instructions for writing them, their metadata",
     .call = types_create_call, .level = LEVEL_FULL, .reviewed = true,
     .details =
         "metadata_schema is {type: 'object', properties: {name: {type, enum, minimum, pattern, format ...}}, required: [...]} or {fields: [{name, type, required, options, min, max, pattern}]}; notes.create and notes.update are checked against it. Keys that it does not name are allowed unless additionalProperties is false.",
     .errors =
         "Conflict: the type is described already. InvalidInput: a schema that cannot "
         "be checked; the message names the field.",
     .example =
         "await noteTypes.create({type_name: 'meeting', description: 'What was said', "
         "agent_instructions: ['Link to everyone who was there'], metadata_schema: {fields: "
         "[{name: 'status', type: 'select', options: ['open', 'done'], required: true}]}})",
     .words = "kind class category template schema define"},
    {CALL(.name = "noteTypes.list", .slow = true), .signature = NOTE_TYPES_LIST_SIGNATURE,
     .summary = "all types: existing folders, and described names",
     .call = types_list_call, .level = LEVEL_FULL, .reads = true,
     .details =
         "filename is null if a type has no description. fields: true adds the properties of its notes (keys of the frontmatter and sections of level 2), independent of the schema: type is inferred from the values, notes counts the notes; the 200 most frequent. Callers that may not read notes get hidden instead.",
     .example = "(await noteTypes.list()).map((t) => `${t.name}: ${t.noteCount}`)",
     .words = "all kinds classes categories folders count listNoteTypes"},
    {CALL(.name = "noteTypes.get", .slow = true), .signature = NOTE_TYPES_GET_SIGNATURE,
     .summary =
         "the purpose of a type, instructions for its notes, and its metadata schema",
     .call = types_get_call, .level = LEVEL_FULL, .reads = true,
     .right = RIGHT_READ_TYPES,
     .details = "schema_error says why a schema that a person wrote cannot be read.",
     .errors =
         "NotFound: neither a folder nor a description; the message names the types.",
     .example = "const type = await noteTypes.get('meeting')",
     .words = "info read describe instructions schema fields getNoteTypeInfo"},
    {CALL(.name = "noteTypes.update", .writes = true),
     .signature = NOTE_TYPES_UPDATE_SIGNATURE,
     .summary = "changes the description of a type", .call = types_update_call,
     .level = LEVEL_FULL, .reviewed = true,
     .details =
         "Parts that are not given stay unchanged. Existing notes are not checked again. With content_hash only that version is changed.",
     .errors =
         "Conflict: it changed since content_hash. NotFound. InvalidInput: a schema "
         "that cannot be checked.",
     .example =
         "await noteTypes.update({type_name: 'meeting', instructions: 'Keep it short.'})",
     .words = "edit change set schema fields instructions updateNoteType"},
    {CALL(.name = "noteTypes.delete", .slow = true, .writes = true),
     .signature = NOTE_TYPES_DELETE_SIGNATURE,
     .summary =
         "deletes a type: only an empty one, or with its notes moved to another type or the trash",
     .call = call_delete_type, .level = LEVEL_FULL, .reviewed = true,
     .details =
         "'error' (the default) refuses if there are notes; 'migrate' moves them to target_type and rewrites links; 'delete' moves them to the trash and needs confirm: true. All or nothing.",
     .errors = "Conflict: it has notes, or one of them could not be moved. NotFound.",
     .example = "await noteTypes.delete({type_name: 'meeting', action: 'error'})",
     .words = "drop kind class category"},
};
const struct host_call_group note_types_calls = {TABLE(rows), .order = 40,
                                                 .subject = "type"};
