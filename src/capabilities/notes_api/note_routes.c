/* The tables of the routes of notes: many, finding them, what they held before, and one. */
#include "notes_api/note_routes.h"
#include "notes_api/note_routes.api.h"

#define NOTE ROUTE_WORKSPACE "/notes/{note_id}"
#define NOTE_ANSWER \
    .answer = "Note", .etag = "the note's content_hash", .location = "the note's path"
#define VERSION                                                                            \
    "If-Match (or content_hash in the body) names the version that was read: 428 without " \
    "it, 412 where the note is another one by now."

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route many_rows[] = {
    {ROUTE("GET", ROUTE_WORKSPACE "/notes"), .operation = "listNotes",
     .summary = "The notes, the one updated last first",
     TELLS("Rows with id, title, class, properties and updated_at, or with the "
           "members that fields names. " ROUTE_WHOLE),
     .run = route_list_notes, .answer = "NoteRow[]", .parameters = LIST_PARAMETERS},
    {ROUTE("POST", ROUTE_WORKSPACE "/notes"), .operation = "createNote",
     .summary = "Makes a note, of Markdown or of its parts",
     TELLS("The body is the whole file, or its parts: title, class, content and "
           "properties. 409 where a note has that name, 400 where the schema of its "
           "class does not fit."),
     .run = route_create_note, .flags = ROUTE_MARKDOWN_IN, .status = 201,
     .body = "NewNote", NOTE_ANSWER},
};
const struct route_group note_routes = {.tag = "Notes",
                                        .about = "Notes, one by one and as a list.",
                                        ROWS(many_rows),
                                        .order = 20,
                                        SCHEMAS(schemas)};

static const struct route finding_rows[] = {
    {ROUTE("POST", ROUTE_WORKSPACE "/query"), .operation = "queryNotes",
     .summary = "The notes that a filter describes",
     TELLS("Compares fields and properties with values ($eq, $lt, $in, $contains "
           "...), sorts, and answers rows as the list of notes does. " ROUTE_WHOLE),
     .run = route_query, .scope = SCOPE_READ, .body = "Query", .answer = "NoteRow[]",
     .parameters = QUERY_PARAMETERS},
    {ROUTE("GET", ROUTE_WORKSPACE "/search"), .operation = "searchNotes",
     .summary = "Full-text search, best first",
     TELLS("Finds words in titles, bodies and tags, with an excerpt around the "
           "place. " ROUTE_WHOLE " No search goes beyond 10,000 notes."),
     .run = route_search, .answer = "SearchHit[]", .parameters = SEARCH_PARAMETERS},
    {ROUTE("GET", ROUTE_WORKSPACE "/links"), .operation = "listLinks",
     .summary = "All links from note to note",
     TELLS(
         "Every relationship from note to note: links in the text, and subnotes (kind hierarchy, line 0). Sorted by the path of the source. " ROUTE_WHOLE),
     .run = route_links, .answer = "Link[]", .parameters = LINK_PARAMETERS},
    {ROUTE("GET", ROUTE_WORKSPACE "/attachments"), .operation = "listAttachments",
     .summary = "Images, PDFs and other files that are no notes",
     TELLS(
         "Sorted by path. links counts the links and embeds that lead to the file. " ROUTE_WHOLE),
     .run = route_attachments, .answer = "Attachment[]",
     .parameters = ATTACHMENT_PARAMETERS},
    {ROUTE("GET", ROUTE_WORKSPACE "/classes"), .operation = "listClasses",
     .summary = "The classes of notes, and their fields",
     TELLS(
         "Classes are folders and their descriptions. Fields are those of the class's schema; other fields of its notes are marked as inferred."),
     .run = route_classes, .answer = "Class[]"},
    {ROUTE("GET", ROUTE_WORKSPACE "/classes/{class}"), .operation = "getClass",
     .summary = "One class", TELLS("One row of the list of classes."), .run = route_class,
     .answer = "Class"},
};
const struct route_group finding_routes = {.tag = "Finding",
                                           .about = "Queries, full text, links, classes.",
                                           ROWS(finding_rows),
                                           .order = 30};

static const struct route change_rows[] = {
    {ROUTE("GET", ROUTE_WORKSPACE "/log"), .operation = "listChanges",
     .summary = "The calls that changed notes, the last one first",
     TELLS(
         "Each with its id, for undoCalls. At most 200 changes of a call are listed. " ROUTE_WHOLE),
     .run = route_log, .answer = "LoggedCall[]", .parameters = LOG_PARAMETERS},
    {ROUTE("POST", ROUTE_WORKSPACE "/undo"), .operation = "undoCalls",
     .summary = "Takes back what calls did to notes, as one change",
     TELLS(
         "Selects calls by call, since and agent, at least one of them. A note that somebody changed since is not changed, and is listed in refused with both versions."),
     .run = route_undo, .body = "Undo", .answer = "Undone"},
    {ROUTE("GET", ROUTE_WORKSPACE "/trash"), .operation = "listTrash",
     .summary = "Deleted notes, the one deleted last first",
     TELLS(
         "A deleted note comes back by its history: the last revision's restore. " ROUTE_WHOLE),
     .run = route_trash, .answer = "TrashedNote[]", .parameters = TRASH_PARAMETERS},
};
const struct route_group change_routes = {.tag = "History",
                                          .about =
                                              "What notes held before, and the way back.",
                                          ROWS(change_rows),
                                          .order = 40};

static const struct route past_rows[] = {
    {ROUTE("GET", NOTE "/history"), .operation = "listRevisions",
     .summary = "What the note held before, the newest first",
     TELLS("Also of a note that was deleted. " ROUTE_WHOLE), .run = route_history,
     .answer = "Revision[]", .parameters = HISTORY_PARAMETERS},
    {ROUTE("GET", NOTE "/history/{revision}"), .operation = "getRevision",
     .summary = "The note at that revision",
     TELLS("With Accept: text/markdown the file of that revision, byte for byte."),
     .run = route_revision, .flags = ROUTE_MARKDOWN_OUT, .answer = "OldNote"},
    {ROUTE("POST", NOTE "/history/{revision}/restore"), .operation = "restoreRevision",
     .summary = "Restores the note to that revision, as a new revision",
     TELLS("An existing note needs If-Match; a deleted one is restored."),
     .run = route_restore, .flags = ROUTE_IF_MATCH, NOTE_ANSWER},
};
const struct route_group past_routes = {.tag = "History",
                                        ROWS(past_rows),
                                        .order = 110,
                                        .variables = PATH_PARAMETERS,
                                        .several = "note_id"};

static const struct route one_rows[] = {
    {ROUTE("GET", NOTE), .operation = "getNote",
     .summary = "One note, as JSON or as Markdown",
     TELLS("With Accept: text/markdown the file, byte for byte. The ETag is its "
           "content_hash."),
     .run = route_get_note, .flags = ROUTE_MARKDOWN_OUT, NOTE_ANSWER},
    {ROUTE("PUT", NOTE), .operation = "replaceNote", .summary = "Replaces the whole file",
     TELLS("The note keeps its id. " VERSION), .run = route_put_note,
     .flags = ROUTE_MARKDOWN_IN | ROUTE_IF_MATCH | ROUTE_NEEDS_MATCH, .body = "WholeNote",
     NOTE_ANSWER},
    {ROUTE("PATCH", NOTE), .operation = "updateNote",
     .summary = "Changes the given members, and leaves the others",
     TELLS(
         "All changes of the body or none: properties in their place (section or frontmatter), content, class, title; links to the note are updated. " VERSION),
     .run = route_patch_note, .flags = ROUTE_IF_MATCH | ROUTE_NEEDS_MATCH,
     .body = "NotePatch", NOTE_ANSWER},
    {ROUTE("DELETE", NOTE), .operation = "deleteNote",
     .summary = "Moves the note to the trash",
     TELLS("409 if other notes link to it or it has subnotes, unless confirm is true."),
     .run = route_delete_note, .flags = ROUTE_IF_MATCH, .answer = "DeletedNote",
     .parameters = DELETE_PARAMETERS},
};
const struct route_group one_note_routes = {.tag = "Notes",
                                            ROWS(one_rows),
                                            .order = 120,
                                            .variables = PATH_PARAMETERS,
                                            .several = "note_id"};
