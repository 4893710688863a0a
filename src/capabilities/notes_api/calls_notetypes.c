/* The host calls noteTypes.*: which types of notes there are, and what each is for. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

static bool with_vault(struct calling *x, vault_call *does, struct json_writer *out,
                       struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && does(vault, json_at(x->args, 0), out, e);
}

static bool call_create(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_create, out, e);
}

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_list, out, e);
}

static bool call_get(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_get, out, e);
}

static bool call_update(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_update, out, e);
}

static bool call_delete(struct calling *x, struct json_writer *out, struct err *e)
{
    return with_vault(x, note_types_delete, out, e);
}

#define INSTRUCTIONS "string | string[]"

static const struct host_call rows[] = {
    {CALL(.name = "noteTypes.create", .writes = true),
     "(options: " NOTE_TYPES_CREATE_TYPE
     "): Promise<{name: string, filename: string, path: string, created: string}>",
     "describes a type of notes: what for, how to write them, which metadata they have",
     call_create, LEVEL_FULL, .reviewed = true,
     .details =
         "metadata_schema is {type: 'object', properties: {name: {type, enum, minimum, "
         "pattern, format ...}}, required: [...]} or {fields: [{name, type, required, "
         "options, min, max, pattern}]}; notes.create and notes.update are held to it. Keys "
         "that it does not name are allowed unless additionalProperties is false.",
     .errors =
         "Conflict: the type is described already. InvalidInput: a schema that cannot "
         "be checked; the message names the field.",
     .example =
         "await noteTypes.create({type_name: 'meeting', description: 'What was said', "
         "agent_instructions: ['Link to everyone who was there'], metadata_schema: {fields: "
         "[{name: 'status', type: 'select', options: ['open', 'done'], required: true}]}})",
     .words = "kind class category template schema define"},
    {CALL(.name = "noteTypes.list", .slow = true),
     "(options?: " NOTE_TYPES_LIST_TYPE
     " | null): Promise<{name: string, description: string, noteCount: number, filename: string | null, fields?: {name: string, type: string, notes: number}[], fields_omitted?: number, hidden?: string}[]>",
     "all types: folders that exist, and those that are described", call_list, LEVEL_FULL,
     .reads = true,
     .details =
         "filename is null where a type is a folder without a description. With fields: true "
         "also which properties its notes have (keys of the frontmatter and sections of level "
         "2), whatever a schema says: type is inferred of the values, notes is how many have "
         "it; the 200 that most have. Who may not read notes is told hidden instead.",
     .example = "(await noteTypes.list()).map((t) => `${t.name}: ${t.noteCount}`)",
     .words = "all kinds classes categories folders count listNoteTypes"},
    {CALL(.name = "noteTypes.get", .slow = true),
     "(typeName: string | " NOTE_TYPES_GET_TYPE
     "): Promise<{name: string, purpose: string, path: string, instructions: " INSTRUCTIONS
     ", metadata_schema: object | null, content_hash: string | null, schema_error?: string}>",
     "what a type is for, how its notes are to be written, and its metadata schema",
     call_get, LEVEL_FULL, .reads = true, .right = RIGHT_READ_TYPES,
     .details = "schema_error tells why a schema that a person wrote cannot be read.",
     .errors =
         "NotFound: neither a folder nor a description; the message names the types.",
     .example = "const type = await noteTypes.get('meeting')",
     .words = "info read describe instructions schema fields getNoteTypeInfo"},
    {CALL(.name = "noteTypes.update", .writes = true),
     "(options: " NOTE_TYPES_UPDATE_TYPE
     "): Promise<{raw: string, parsed: {description: string, agentInstructions: " INSTRUCTIONS
     ", metadataSchema?: object}}>",
     "changes what is said about a type", call_update, LEVEL_FULL, .reviewed = true,
     .details =
         "Parts that are not given stay as they are. Notes that are there already are "
         "not checked again. With content_hash only that version is changed.",
     .errors =
         "Conflict: it changed since content_hash. NotFound. InvalidInput: a schema "
         "that cannot be checked.",
     .example =
         "await noteTypes.update({type_name: 'meeting', instructions: 'Keep it short.'})",
     .words = "edit change set schema fields instructions updateNoteType"},
    {CALL(.name = "noteTypes.delete", .slow = true, .writes = true),
     "(options: " NOTE_TYPES_DELETE_TYPE
     "): Promise<{success: boolean, notesAffected: number}>",
     "deletes a type: only an empty one, or with its notes moved to another type or the trash",
     call_delete, LEVEL_FULL, .reviewed = true,
     .details =
         "'error' (the default) refuses where there are notes; 'migrate' moves them to "
         "target_type and rewrites links; 'delete' moves them to the trash and needs "
         "confirm: true. All or nothing.",
     .errors = "Conflict: it has notes, or one of them could not be moved. NotFound.",
     .example = "await noteTypes.delete({type_name: 'meeting', action: 'error'})",
     .words = "drop kind class category"},
};
const struct host_call_group note_types_calls = {TABLE(rows), .order = 40,
                                                 .subject = "type"};
