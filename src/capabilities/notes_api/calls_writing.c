/* The host calls notes.*: other names and places, what was, and the way back. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/unknown.h"

/* ---- guarded ones -------------------------------------------------------- */

typedef bool notes_write_fn(struct vault *v, const struct json *options,
                            struct json_writer *out, struct err *e);

/* A call that takes a hash: the one that this evaluation read last, if none is given. */
static bool guarded(struct calling *x, const char *name, notes_write_fn *call,
                    struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, name, e);
    if (!vault || !o)
        return false;
    struct str asked = json_str(json_get(o, "identifier"));
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    if (asked.n && !(o = seen_complete(x->v, o, asked, a, e)))
        return false;
    if (!call(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_rename(struct calling *x, struct json_writer *out, struct err *e)
{
    return guarded(x, "notes.rename", notes_rename, out, e);
}

static bool call_move(struct calling *x, struct json_writer *out, struct err *e)
{
    return guarded(x, "notes.move", notes_move, out, e);
}

static bool call_update_section(struct calling *x, struct json_writer *out, struct err *e)
{
    return guarded(x, "notes.updateSection", notes_update_section, out, e);
}

static bool call_get_sections(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    if (!vault || !notes_get_sections(vault, json_at(x->args, 0), out, e))
        return false;
    seen_note(x, false);
    return true;
}

/* The changes with the hashes that this evaluation has read, where none is given. */
static const struct json *complete_batch(struct evaluation *v, const struct json *o,
                                         struct arena *a, struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, CALL_ARGS_MAX / 2);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    struct json_iter fields = json_iter(o);
    while (json_next(&fields)) {
        json_key_str(&w, fields.key);
        if (!str_is(fields.key, "changes") || !json_is(fields.value, JSON_ARRAY)) {
            json_put(&w, fields.value);
            continue;
        }
        json_open_array(&w);
        struct json_iter it = json_iter(fields.value);
        while (json_next(&it)) {
            struct str name = json_str(json_get(it.value, "identifier"));
            struct str action = json_str(json_get(it.value, "action"));
            bool hashed =
                name.n && !str_is(action, "delete") && !str_is(action, "create");
            const struct json *item =
                hashed ? seen_complete(v, it.value, name, a, e) : it.value;
            if (!item)
                return NULL;
            json_put(&w, item);
        }
        json_close(&w);
    }
    json_close(&w);
    return buf_check(&text, "the batch", e) ? json_read(buf_view(&text), a, e) : NULL;
}

static bool call_batch(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "notes.batch", e);
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    if (!vault || !o || !(o = complete_batch(x->v, o, a, e)) ||
        !notes_batch(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_restore(struct calling *x, struct json_writer *out, struct err *e)
{
    return guarded(x, "notes.restore", notes_restore, out, e);
}

/* ---- reading ------------------------------------------------------------- */

static bool call_history(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_history(vault, json_at(x->args, 0), out, e);
}

static bool call_get_revision(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    const struct json *o = call_options(x->args, "notes.getRevision", e);
    return vault && o && notes_get_revision(vault, o, out, e);
}

static bool call_list_trash(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_list_trash(vault, json_at(x->args, 0), out, e);
}

/* ---- the rows ------------------------------------------------------------ */

/* Types that signatures name. */
static const struct api_type types[] = {
    {"RenamedNote",
     "{success: boolean, notesUpdated: number, linksUpdated: number, new_id: string, "
     "path: string, content_hash: string}",
     "what notes.rename answers; the numbers are of notes and links that were rewritten"},
    {"MovedNote",
     "{success: boolean, old_id: string, new_id: string, old_type: string, "
     "new_type: string, filename: string, title: string, timestamp: string, "
     "links_updated: number, notes_with_updated_links: number, path: string, "
     "content_hash: string}",
     "what notes.move answers"},
    {"NoteSections",
     "{id: string, content_hash: string, sections: {heading: string, occurrence: number, "
     "line: number, content: string}[]}",
     "the sections of a note; line is the heading's in the content, from 1"},
    {"UpdatedSection",
     "{id: string, updated: boolean, heading: string, timestamp: string, "
     "content_hash: string}",
     "what notes.updateSection answers"},
    {"BatchResult", "{success: boolean, results: any[]}",
     "what notes.batch answers: for each change what its call would"},
    {"Revision",
     "{revision: number, updated_at: string, author: string, content_hash: string, "
     "summary: string, size: number, action: string, path: string, backup_path?: string}",
     "a version of a note that is kept; author is the caller's name or 'external'"},
    {"OldNote", "Revision & {content: string, metadata: Metadata, text: string}",
     "a note as it was; text is the whole file"},
    {"RestoredNote",
     "{id: string, restored: boolean, path: string, revision?: number, backup_path?: string, "
     "timestamp: string, content_hash: string}",
     "what notes.restore answers"},
    {"TrashedNote",
     "{backup_path: string, id: string, path: string, type: string, deleted_at?: string, "
     "size: number}",
     "a deleted note; id and path are those that it had"},
    {"DryRun",
     "{dry_run: true, changes: {id: string, path: string, action: 'create' | 'update' | "
     "'rename' | 'move' | 'delete', new_path?: string, diff: string, "
     "diff_truncated?: boolean}[], hidden?: string, others?: number}",
     "what a call with dry_run: true would have done; diff is a unified diff. Where notes.get "
     "is not allowed diffs are empty: hidden says so, and others is how many notes would "
     "change besides"},
};

static const struct host_call rows[] = {
    {CALL(.name = "notes.rename", .writes = true, .slow = true),
     "(options: " NOTES_RENAME_TYPE "): Promise<RenamedNote | DryRun>",
     "gives a note another title and file name; the links to it follow", call_rename,
     LEVEL_FULL, .reviewed = true,
     .details =
         "It stays in its folder. Links in other notes and in itself are rewritten, with "
         "their headings and labels, all or none of them; code blocks are left alone. The "
         "version that this code read last must be the note's, unless contentHash or force "
         "is given.",
     .errors =
         "Conflict: the name is taken, the note changed, or links to other notes by the "
         "new name would not lead there any more. NotFound. InvalidInput.",
     .example = "const note = await notes.get('meeting/Standup');\n"
                "const {new_id} = await notes.rename({identifier: note.id, "
                "new_title: 'Daily standup'})",
     .words = "title retitle filename change name renameNote"},
    {CALL(.name = "notes.move", .writes = true, .slow = true),
     "(options: " NOTES_MOVE_TYPE "): Promise<MovedNote | DryRun>",
     "moves a note to another type, which is its first folder; the links to it follow",
     call_move, LEVEL_FULL, .right = RIGHT_MOVE_NOTES, .reviewed = true,
     .details =
         "Links in other notes are rewritten, and the note's own relative links go on to "
         "lead where they did, all or none of them. The version that this code read last "
         "must be the note's, unless contentHash or force is given.",
     .errors = "Conflict: the name is taken there, or the note changed. NotFound. "
               "InvalidInput.",
     .example = "const note = await notes.get('meeting/Standup');\n"
                "await notes.move({identifier: note.id, new_type: 'archive'})",
     .words = "type folder directory relocate file category moveNote"},
    {CALL(.name = "notes.getSections"),
     "(identifier: string | " NOTES_GET_SECTIONS_TYPE "): Promise<NoteSections>",
     "the sections of a note: what stands below each heading of level 2",
     call_get_sections, LEVEL_FULL, STEADY_QUESTION,
     .details = "occurrence counts sections of one name, from 1.", .errors = "NotFound.",
     .example = "const {sections} = await notes.getSections('meeting/Standup')",
     .words = "headings outline parts structure h2 toc chapters properties"},
    {CALL(.name = "notes.updateSection", .writes = true),
     "(options: " NOTES_UPDATE_SECTION_TYPE "): Promise<UpdatedSection | DryRun>",
     "changes one section of a note and leaves all others as they are",
     call_update_section, LEVEL_FULL, .reviewed = true,
     .details =
         "heading is the text of a heading of level 2; where several have it, occurrence "
         "says which. mode is replace by default; create adds a section at the end, remove "
         "takes one away. The version that this code read last must be the note's, unless "
         "contentHash or force is given.",
     .errors =
         "NotFound: no such note or section; the message names those that there are. "
         "InvalidInput: another heading would be damaged; nothing is written. Conflict.",
     .example = "await notes.getSections('meeting/Standup');\n"
                "await notes.updateSection({identifier: 'meeting/Standup', "
                "heading: 'Actions', content: '- call Ann', mode: 'append'})",
     .words = "heading append prepend insert chapter part edit h2 property add"},
    {CALL(.name = "notes.batch", .writes = true, .slow = true),
     "(options: " NOTES_BATCH_TYPE "): Promise<BatchResult | DryRun>",
     "several changes of notes, all or nothing", call_batch, LEVEL_FULL, .reviewed = true,
     .details =
         "Each change has an action and the options of the call of that name; they are "
         "done in their order, at most 1,000. results are what the calls would answer.",
     .errors = "As of the calls; the message names the change. Nothing is written then.",
     .example = "await notes.batch({changes: [{action: 'create', title: 'One'}, "
                "{action: 'create', title: 'Two'}]})",
     .words = "bulk many transaction atomic together multiple all at once"},
    {CALL(.name = "notes.history"),
     "(options: string | " NOTES_HISTORY_TYPE "): Promise<Revision[]>",
     "what a note held before, the newest revision first", call_history, LEVEL_FULL,
     .details =
         "Every change is kept, with who made it; what another program wrote is kept, as "
         "'external', when it is written over. Also of notes that were deleted. limit is "
         "100, at most 1,000; cursor is the revision of the last row of the page before.",
     .errors = "NotFound: there is and was no such note.",
     .example = "const [last, before] = await notes.history('meeting/Standup')",
     .words = "revisions versions log changes past who when undo blame"},
    {CALL(.name = "notes.getRevision"),
     "(options: " NOTES_GET_REVISION_TYPE "): Promise<OldNote>",
     "a note as it was at one of its revisions", call_get_revision, LEVEL_FULL,
     .reads = true,
     .details = "content and metadata as notes.get tells them; text is the whole file.",
     .errors = "NotFound: no such note, or the revision is not kept any more.",
     .example = "const old = await notes.getRevision({identifier: 'meeting/Standup', "
                "revision: 3})",
     .words = "version old past show diff compare previous"},
    {CALL(.name = "notes.restore", .writes = true),
     "(options: " NOTES_RESTORE_REVISION_TYPE " | " NOTES_RESTORE_TRASHED_TYPE
     "): Promise<RestoredNote | DryRun>",
     "takes a note back to a revision, or out of the trash", call_restore, LEVEL_FULL,
     .reviewed = true,
     .details =
         "The file becomes what it was then, byte for byte, as a new revision. For a note "
         "that is there, the version that this code read last must be its version now, "
         "unless contentHash or force is given. A deleted note comes back where it was.",
     .errors = "Conflict: the note changed since, or another has its name. NotFound.",
     .example = "await notes.restore({identifier: 'meeting/Standup', revision: 3, "
                "force: true})",
     .words = "undo revert rollback recover undelete back previous version trash"},
    {CALL(.name = "notes.listTrash", .slow = true),
     "(options?: " NOTES_LIST_TRASH_TYPE " | null): Promise<TrashedNote[]>",
     "deleted notes, the one deleted last first", call_list_trash, LEVEL_FULL,
     .reads = true,
     .details =
         "limit is 100, at most 1,000; cursor is the backup_path of the last row of "
         "the page before. notes.restore({backup_path}) takes one back.",
     .example = "const [last] = await notes.listTrash({limit: 1});\n"
                "await notes.restore({backup_path: last.backup_path})",
     .words = "deleted removed bin recover undelete"},
};
const struct host_call_group writing_calls = {TABLE(rows),         TYPES(types),
                                              .order = 20,         .subject = "note",
                                              .names_notes = true, .in_history = true};
