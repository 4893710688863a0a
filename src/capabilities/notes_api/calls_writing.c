/* The host calls notes.* that rename, move, delete and restore. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"

/* ---- calls with a hash --------------------------------------------------- */

typedef bool notes_write_fn(struct vault *v, const struct json *options,
                            struct json_writer *out, struct err *e);

/* A call that takes a hash: by default the one that this evaluation read last. */
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

static bool call_rename_heading(struct calling *x, struct json_writer *out, struct err *e)
{
    return guarded(x, "notes.renameHeading", notes_rename_heading, out, e);
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

static bool call_rename_tag(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "notes.renameTag", e);
    if (!vault || !o || !notes_rename_tag(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

static bool call_daily(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    return vault && notes_daily(vault, json_at(x->args, 0), out, e);
}

static bool call_undo(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = own_vault(x, e);
    const struct json *o = call_options(x->args, "notes.undo", e);
    if (!vault || !o || !notes_undo(vault, o, out, e))
        return false;
    seen_note(x, false);
    return true;
}

/* ---- reading ------------------------------------------------------------- */

static bool call_log(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_log(vault, json_at(x->args, 0), out, e);
}

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

/* Shared types that signatures name. */
static const struct api_type types[] = {
    WRITING_TYPES,
};

static const struct host_call
    rows[] =
        {
            {CALL(.name = "notes.rename", .writes = true, .slow = true),
             .signature = NOTES_RENAME_SIGNATURE,
             .summary =
                 "gives a note another title and file name, and updates the links to it",
             .call = call_rename, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "It stays in its folder. Links in other notes and in itself are rewritten, keeping headings and labels, all or none of them; code blocks are left alone. The note must be as this code read it last, unless contentHash or force is given.",
             .errors =
                 "Conflict: the name is taken, the note changed, or the new name would break links to other notes. NotFound. InvalidInput.",
             .example = "const note = await notes.get('meeting/Standup');\n"
                        "const {new_id} = await notes.rename({identifier: note.id, "
                        "new_title: 'Daily standup'})",
             .words = "title retitle filename change name renameNote"},
            {CALL(.name = "notes.move", .writes = true, .slow = true),
             .signature = NOTES_MOVE_SIGNATURE,
             .summary =
                 "moves a note to another type, which is its first folder, and updates the links to it",
             .call = call_move, .level = LEVEL_FULL, .right = RIGHT_MOVE_NOTES,
             .reviewed = true,
             .details =
                 "Links in other notes are rewritten, and the note's own relative links go on to "
                 "lead where they did, all or none of them. folder is any folder, '' the root; with "
                 "new_type those inside of the type stay. The version that this code read last "
                 "must be the note's, unless contentHash or force is given.",
             .errors =
                 "Conflict: the name is taken there, or the note changed. NotFound. "
                 "InvalidInput.",
             .example = "const note = await notes.get('meeting/Standup');\n"
                        "await notes.move({identifier: note.id, new_type: 'archive'})",
             .words = "type folder directory relocate file category moveNote"},
            {CALL(.name = "notes.getSections"), .signature = NOTES_GET_SECTIONS_SIGNATURE,
             .summary = "the sections of a note: the text below each heading of level 2",
             .call = call_get_sections, .level = LEVEL_FULL, STEADY_QUESTION,
             .details = "occurrence counts sections with the same name, from 1.",
             .errors = "NotFound.",
             .example = "const {sections} = await notes.getSections('meeting/Standup')",
             .words = "headings outline parts structure h2 toc chapters properties"},
            {CALL(.name = "notes.updateSection", .writes = true),
             .signature = NOTES_UPDATE_SECTION_SIGNATURE,
             .summary = "changes one section of a note and no other",
             .call = call_update_section, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "heading is the text of a heading of level 2; occurrence selects among several with the same text. mode is replace by default; create adds a section at the end, remove deletes one. The note must be as this code read it last, unless contentHash or force is given.",
             .errors =
                 "NotFound: no such note or section; the message lists the existing ones. InvalidInput: another heading would be damaged; nothing is written. Conflict.",
             .example = "await notes.getSections('meeting/Standup');\n"
                        "await notes.updateSection({identifier: 'meeting/Standup', "
                        "heading: 'Actions', content: '- call Ann', mode: 'append'})",
             .words = "heading append prepend insert chapter part edit h2 property add"},
            {CALL(.name = "notes.renameHeading", .writes = true, .slow = true),
             .signature = NOTES_RENAME_HEADING_SIGNATURE,
             .summary =
                 "gives a heading another text, and updates the links that name it",
             .call = call_rename_heading, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "Links as [[note#Heading]], [[#Heading]], [x](note.md#heading) and cards of canvases follow, all or none. A heading of any level; occurrence says which of several with the same text. The version that this code read last must be the note's, unless contentHash or force is given.",
             .errors =
                 "NotFound: no such note or heading. Conflict: several headings have the text, "
                 "or the note changed.",
             .example =
                 "const note = await notes.get('meeting/Standup');\n"
                 "await notes.renameHeading({identifier: note.id, heading: 'Actions', "
                 "new_heading: 'Next steps'})",
             .words = "section title anchor chapter retitle h1 h2 h3"},
            {CALL(.name = "notes.daily", .writes = true),
             .signature = NOTES_DAILY_SIGNATURE,
             .summary =
                 "the daily note of a day, made of its template if it is not there",
             .call = call_daily, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "date is a day, as '2026-12-01', or 'today' (the default), 'yesterday' or 'tomorrow' in the person's time zone. Folder, format of the name and template are those of the vault's settings: of Obsidian, Logseq or Foam, or of .cloche/settings.json. Without create: true nothing is made, and exists says whether it is there.",
             .errors =
                 "InvalidInput: date is no day, or the vault's format is not valid. "
                 "Conflict: a note of that name is elsewhere.",
             .example =
                 "const today = await notes.daily({create: true});\n"
                 "const note = await notes.get(today.path);\n"
                 "await notes.update({identifier: note.id, content: note.content + '- watered\\n'})",
             .words = "journal diary today yesterday day log template create"},
            {CALL(.name = "notes.renameTag", .writes = true, .slow = true),
             .signature = NOTES_RENAME_TAG_SIGNATURE,
             .summary = "gives a tag another name in all notes, as one change",
             .call = call_rename_tag, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "Tags of the frontmatter and #tags of the text, whatever their case, and those beneath it: with project, project/active becomes the new tag's. Everything else in the notes stays byte for byte. A note that has both tags has the new one twice.",
             .errors =
                 "NotFound: no note has it. InvalidInput: new_tag is no tag. Conflict: a note "
                 "changed meanwhile; nothing was written.",
             .example =
                 "const trial = await notes.renameTag({tag: 'todo', new_tag: 'task', "
                 "dry_run: true})",
             .words = "tags retag rename replace label keyword merge"},
            {CALL(.name = "notes.batch", .writes = true, .slow = true),
             .signature = NOTES_BATCH_SIGNATURE,
             .summary = "several changes of notes, all or nothing", .call = call_batch,
             .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "Each change has an action and the options of the call of that name; they are made in order, at most 1,000. results are the results of the calls. Each call must be permitted, too.",
             .errors =
                 "Those of the calls; the message names the change, and nothing is written.",
             .example = "await notes.batch({changes: [{action: 'create', title: 'One'}, "
                        "{action: 'create', title: 'Two'}]})",
             .words = "bulk many transaction atomic together multiple all at once"},
            {CALL(.name = "notes.history"), .signature = NOTES_HISTORY_SIGNATURE,
             .summary = "the revisions of a note, newest first", .call = call_history,
             .level = LEVEL_FULL,
             .details =
                 "Every change is kept with its author; a version written by another program is kept as 'external' when it is overwritten. Deleted notes have a history, too. limit is 100 by default, 1,000 at most; cursor is the revision of the last row of the previous page.",
             .errors = "NotFound: no such note exists or existed.",
             .example = "const [last, before] = await notes.history('meeting/Standup')",
             .words = "revisions versions log changes past who when undo blame"},
            {CALL(.name = "notes.getRevision"), .signature = NOTES_GET_REVISION_SIGNATURE,
             .summary = "a note at one of its revisions", .call = call_get_revision,
             .level = LEVEL_FULL, .reads = true,
             .details = "content and metadata as in notes.get; text is the whole file.",
             .errors = "NotFound: no such note, or the revision is no longer stored.",
             .example =
                 "const old = await notes.getRevision({identifier: 'meeting/Standup', "
                 "revision: 3})",
             .words = "version old past show diff compare previous"},
            {CALL(.name = "notes.restore", .writes = true),
             .signature = NOTES_RESTORE_SIGNATURE,
             .summary = "restores a note to a revision, or from the trash",
             .call = call_restore, .level = LEVEL_FULL, .reviewed = true,
             .details =
                 "The file becomes byte for byte what it was, as a new revision. An existing note must be as this code read it last, unless contentHash or force is given. A deleted note returns to its place.",
             .errors =
                 "Conflict: the note changed since, or another has its name. NotFound.",
             .example =
                 "await notes.restore({identifier: 'meeting/Standup', revision: 3, "
                 "force: true})",
             .words =
                 "undo revert rollback recover undelete back previous version trash"},
            {CALL(.name = "notes.undo", .writes = true, .slow = true),
             .signature = NOTES_UNDO_SIGNATURE,
             .summary = "undoes what calls did to notes, including links, as one change", .call = call_undo, .level = LEVEL_FULL, .reviewed = true, .details = "call is the id of a call, from notes.log or the audit; since is a date, or '30m', '1h', '2d' before now; agent is a caller's name. All given conditions must match, and one is required. Every note that was changed, created, moved or deleted becomes byte for byte what it was; other notes' links follow the names. A note that somebody changed since stays, and refused shows it: diff is what was not undone, diff_since what came after it. So does one that needs a call which is not permitted, such as notes.delete. An undoing is undone as other calls are.",
             .errors =
                 "NotFound: no such call changed a note. InvalidInput. Conflict: a note changed "
                 "meanwhile; nothing was written.",
             .example = "const {kept} = await notes.undo({since: '1h', dry_run: true})",
             .words = "undo revert rollback take back call evaluation agent mistake"},
            {CALL(.name = "notes.log"), .signature = NOTES_LOG_SIGNATURE,
             .summary = "the calls that changed notes, newest first, with their changes",
             .call = call_log, .level = LEVEL_FULL, .reads = true,
             .details =
                 "limit is 20 by default, 1,000 at most; cursor is that of the last row of the previous page. diff adds the unified diff of each change. At most 200 changes of a call are listed; more counts the rest.",
             .errors = "InvalidInput.",
             .example = "const [last] = await notes.log({limit: 1, diff: true})",
             .words = "changes recent what changed who activity calls undo"},
            {CALL(.name = "notes.listTrash", .slow = true),
             .signature = NOTES_LIST_TRASH_SIGNATURE,
             .summary = "deleted notes, most recently deleted first",
             .call = call_list_trash, .level = LEVEL_FULL, .reads = true,
             .details =
                 "limit is 100 by default, 1,000 at most; cursor is the backup_path of the last row of the previous page. notes.restore({backup_path}) restores one.",
             .example = "const [last] = await notes.listTrash({limit: 1});\n"
                        "await notes.restore({backup_path: last.backup_path})",
             .words = "deleted removed bin recover undelete"},
};
const struct host_call_group writing_calls = {TABLE(rows),           TYPES(types),
                                              .order = 20,           .subject = "note",
                                              .notes = &note_advice, .in_history = true};
