/* notes/notes.h - a vault of Markdown notes: create, get, update, delete, list, search.
 *
 * Files are the truth; an index (SQLite, FTS5) that may be deleted at any time is brought
 * up to date by the first call that needs it, and afterwards by change notices, so that an
 * edit by another program is seen by the next call. Any number of processes may work on
 * one vault. Nothing outside the vault, nothing whose name begins with a dot and no
 * symbolic link is ever read or written; ours lies in ".cloche" (else in the cache folder).
 *
 * Calls take a JSON value (seed 000's option objects) and append one JSON value to `out`.
 * false and *e: nothing was appended, and unless the message says otherwise nothing was
 * changed. Unknown fields and wrong types are ERR_INVALID, which names what is accepted.
 *
 * Words: an id is "type/stem" (the path without ".md"; "note/stem" at the root of the
 * vault; where root X.md and note/X.md both exist, the root one has the id "X.md"). A type is
 * the first folder of the path, "note" at the root. The uid is the frontmatter's `id`. An
 * identifier is an id, uid, path, or a title or file name that only one note has (else
 * ERR_CONFLICT); where none is spelt so, an id, title or file name whatever the case and
 * the normal form of Unicode, but for the history. See resolve.h.
 *
 * Threads: safe, except open and close. */
#pragma once
#include "base/base.h"
#include "effect/effect.h"
#include "json/json.h"

#define NOTE_SIZE_MAX (16u << 20) /* bytes of a note's file; ERR_LIMIT above */
struct vault;
struct patterns;
/* Reads its settings (settings.h). ERR_NOT_FOUND, ERR_DENIED, ERR_IO, ERR_INVALID. */
struct vault *vault_open(const char *path, struct err *e);
void vault_close(struct vault *v);         /* NULL is fine; no call may be running */
void vault_be_brief(struct vault *v);      /* watched from its second call on */
bool vault_is_gone(const struct vault *v); /* calls: ERR_NOT_FOUND, or nothing found */
SCOPED(vault, vault_close);
/* Before the first call: what matches patterns. Without it they are ERR_INVALID. */
void vault_set_patterns(struct vault *v, struct patterns *p);
/* The author of changes: the history keeps `name` and `call` (of the audit, or "") with each;
 * `admits` (or NULL) may refuse a change that writes so many bytes of notes or of a type's
 * description. */
struct vault_author {
    const char *name, *call;
    bool (*admits)(void *arg, size_t bytes, struct err *e);
    void *arg;
};
/* A change that a call would make, as far as the view may read: else a member is empty. Borrowed
 * for the call of review_fn. */
struct reviewed_change {
    const char *action; /* "create", "update", "rename", "move", "delete" */
    struct str id, path, new_path, title, uid, content_hash, diff;
    bool diff_cut;
    size_t others; /* not 0: so many further changes; nothing else is set */
};
typedef void review_fn(void *arg, const struct reviewed_change *one);
/* The changes that a call would make. `looks`: nothing is written; the call fails once `known`,
 * and `tell` had each of them (NULL: what it had before is void). Then, looking no more, it is
 * ERR_CONFLICT to change other versions. */
struct vault_review {
    bool looks, known, changes; /* anything at all? */
    char digest[80];
    review_fn *tell;
    void *arg;
};
/* The same vault, for one call. Of notes (types) that it may not read no answer or failure
 * tells; either cancel (NULL is fine) ends what it matches. Closed before the vault itself;
 * all pointers are borrowed until then. `permits`: may the caller call "notes.delete", too? */
struct vault_view {
    const struct vault_author *author; /* NULL: nobody said */
    bool notes, types;                 /* may be read */
    struct cancel *cancel[2];
    struct vault_review *review; /* NULL: none */
    struct outcome *outcome;     /* what the call does is added to it; NULL: to none */
    bool (*permits)(const void *arg, const char *call, struct err *e); /* NULL: all */
    const void *permits_arg;
};
struct vault *vault_as(struct vault *v, const struct vault_view *view);
/* `options` is what a call's comment begins with; what follows "->" goes to `out`. */
typedef bool vault_call(struct vault *v, const struct json *options,
                        struct json_writer *out, struct err *e);
/* {type (or type_id; "note") or folder ("": the root), title, content?, metadata?}, or
 * {markdown, type?, folder?, title?} with the whole file, kept as it is -> {id, type, title,
 * filename, path, created}. The title becomes a safe file name. ERR_CONFLICT names the id
 * that has it already. Metadata keys id, type, title and updated are refused. */
vault_call notes_create, notes_daily; /* {date?, create?, dry_run?}: daily.c */
/* "identifier" or {identifier, properties?, markdown?} -> null, or {id, uid, title,
 * content, metadata, content_hash, links, type, created, updated, path, filename, size,
 * tags} and, where there are any, aliases and frontmatter_error (it is no YAML). `content` stands
 * behind the frontmatter; bytes that are no UTF-8 read as U+FFFD. `metadata` is the frontmatter
 * less id, type, title, created, updated. `links`: [{target, label, kind: wiki | markdown
 * | external, line}]. `uid` may be null. `properties` adds an H2 section's trimmed text by
 * its heading, and the metadata's keys that are none; `markdown` the whole file. Needs the
 * index only for uids and titles. */
vault_call notes_get;
/* {identifier, content?, metadata?, contentHash (or content_hash), force?}, or markdown,
 * the whole file, in place of the first two -> {id, updated, timestamp, content_hash}.
 * ERR_CONFLICT with both hashes unless contentHash is the file's now; without one
 * ERR_INVALID, unless `force`. Metadata is merged key by key, null removes; id, type and
 * updated are refused. All other bytes of the frontmatter stay, also of one that is no
 * YAML (then metadata is ERR_INVALID). A file with CRLF line ends keeps them. `updated`
 * in a frontmatter that has it becomes now. */
vault_call notes_update;
/* "identifier" or {identifier, confirm?, contentHash?} -> {id, deleted, timestamp,
 * backup_path} or, where other notes link to it and confirm is not true, {id, deleted:
 * false, timestamp, warnings}. backup_path is relative to the vault. */
vault_call notes_delete;
/* {identifier, new_title, contentHash (or content_hash) or force, dry_run?} -> {success,
 * notesUpdated, linksUpdated, new_id, path, content_hash}. A new title and file name, in
 * the same folder; the links to the note follow, all or none. The title is changed where it
 * stands: in the frontmatter, or in the heading. ERR_CONFLICT: the name is taken, or links
 * to other notes by that name would not lead there any more. */
vault_call notes_rename;
/* {identifier, new_type or folder, the same} -> {success, old_id, new_id, old_type, new_type,
 * filename, title, timestamp, links_updated, notes_with_updated_links, path,
 * content_hash}. To the folder new_type; folders inside of the type stay. */
vault_call notes_move;
/* -> {id, content_hash, sections: [{heading, occurrence, line, content}]}, of level 2 */
vault_call notes_get_sections;
/* {identifier, heading, content, mode? (replace, append, prepend, remove, create),
 * occurrence?, a hash or force, dry_run?} -> {id, updated, heading, timestamp,
 * content_hash}. ERR_INVALID: another heading would not be found again. */
vault_call notes_update_section, notes_rename_heading; /* heading.c */
/* {status?, type?, folder?, tag?, query?, due_before?, due_after?, limit?} -> [{note_id, path,
 * line, status, ...}] (docs/searching.md), the one due first first; without a date last. */
vault_call notes_tasks;
/* {tag, new_tag, dry_run?} -> {tag, new_tag, notes, replaced, timestamp}: the tag and those
 * beneath it ("a" and "a/b") have the new name, in frontmatter and text of every note.
 * ERR_NOT_FOUND: no note has it; ERR_INVALID: no tag, or it cannot be replaced safely. */
vault_call notes_rename_tag;
vault_call notes_batch; /* {changes: [{action, ...}], dry_run?} -> {success, results} */

/* ---- what notes held before ---------------------------------------------- */
/* "identifier" or {identifier, limit? (100, at most 1000), cursor? (a revision)}
 * -> [{revision, updated_at, author, content_hash, summary, size, action, path,
 * backup_path?}], the newest first. `author` is the caller's name, or "external" for
 * what another program wrote, recorded when we write over it. Also of a deleted note. */
vault_call notes_history;
/* {call?, after? (0)} -> {last, missing (revisions that somebody took out), next?, changes:
 * [{call, id, revision, time}]}: what calls (or that one) changed, 10,000 rows a time. */
vault_call notes_by_calls;
/* {identifier, revision} -> the same fields, content, metadata, and text: the whole file. */
vault_call notes_get_revision;
/* {identifier, revision, contentHash (or content_hash) or force} or {backup_path}, and
 * dry_run? -> {id, restored, path, revision or backup_path, timestamp, content_hash}.
 * A deleted note needs no hash and comes back where it was; ERR_CONFLICT when that
 * name is taken. */
vault_call notes_restore;
/* {call?, since? (a date, or "1h" before now), agent?, dry_run?} -> {undone, notes, kept, refused,
 * timestamp}: what those calls changed becomes what it was, but for `refused`, changed since. */
vault_call notes_undo;
/* null or {call?, since?, agent?, limit? (20, at most 1000), cursor?, diff?} -> [{call?, author,
 * time, notes, cursor, changes, more?}]: calls that changed notes, the last one first. */
vault_call notes_log;
/* null or {limit? (100, at most 1000), cursor? (a backup_path)} -> [{backup_path, id,
 * path, type, deleted_at, size}], the one deleted last first. */
vault_call notes_list_trash;
/* null, "type" or {typeName (or type)?, folder?, recursive?, limit? (1000, at most 10000),
 * order? (updated, path), cursor?, fields?} -> [{id, title, type, created, updated, size,
 * tags, path}], the one updated last first, then by id, or by path. `cursor` is the id of
 * the last row of the page before, or its path. `fields` picks among these and uid, filename,
 * content_hash, metadata, aliases, properties (properties_cut: the keys told in part). */
vault_call notes_list;
/* Each note's id, path and hash, by path, behind `after`; some twice where it is read anew. */
bool notes_each(struct vault *v, struct str after, size_t limit, effect_fn *each,
                void *arg, struct err *e);
/* "query" or {query, typeFilter (or type)?, limit? (50, at most 1000), useRegex?,
 * exact?, fields?, cursor?} -> [{id, note_id, title, excerpt, score, type, created}], best
 * first (docs/searching.md). useRegex: ERR_LIMIT when it takes too long; ERR_CANCELLED. */
vault_call notes_search;
/* docs/searching.md -> {results, total, has_more, cursor?, query_time_ms} */
vault_call notes_search_advanced;
/* "text" or {query, type?, limit?, fields?, cursor?} -> rows as search's; no sign is special. */
vault_call notes_search_by_text;
/* {query, params?, limit? (1000, at most 10000), timeout? (3000 ms, at most 10000)}
 * -> {columns, rows, row_count, truncated, query_time_ms}. One SELECT over views;
 * else ERR_DENIED. It runs in a process apart, and fails as sql_ask() (sql/sql.h). */
struct sql_caller;
bool notes_search_sql(struct vault *v, const struct json *options,
                      const struct sql_caller *c, struct json_writer *out, struct err *e);
/* Ids that a wrong identifier may mean, likeliest first, within 50 ms; *count of them. */
#define NOTES_NEAREST 3u
bool notes_nearest(struct vault *v, struct str name, struct str ids[static NOTES_NEAREST],
                   size_t *count, struct arena *a, struct err *e);

/* ---- links -------------------------------------------------------------- */
/* A link is a [[wiki link]] or a [Markdown](link) in a note's body, outside of code and HTML. It
 * leads to the note that its target identifies: by id, path, uid, title or file name, with ".md"
 * or without, and where none is spelt so, whatever the case and normal form, or by the end of its
 * path ("b/c" for a/b/c). A Markdown target is first taken as a path from the note's own folder,
 * percent signs decoded. Of several notes with the name it leads to the one with the shortest
 * path, then the first by path (of several with one uid to none); the row is `ambiguous: true`.
 * A row tells of one link: {source_note_id, target_note_id | null, target, link_text,
 * link_type: wiki | markdown, line (of the content, from 1)}, and `file: true` where the
 * target is a file that is no note (an image, a PDF). Line 0, and a path: in a canvas. */
/* "identifier" -> {outgoing_internal: rows, outgoing_external: [{source_note_id, url,
 * link_text, link_type: "external", line}], incoming: rows} */
vault_call links_get_for_note;
vault_call links_get_backlinks; /* "identifier" -> rows, by the source's path */
/* null or {limit? (10000, at most that), cursor? (source of the last row)} -> [{source,
 * target, text, kind, line}]: links that lead to a note, by the source's path. A page ends
 * with a whole note, and may have more than `limit` rows for that. */
vault_call links_list;
/* The same -> rows with `reason: missing | ambiguous | heading | block | file`. */
vault_call links_find_broken;
/* {has_links_to?, linked_from?, external_domains? (one string or an array: any of
 * them), broken_links? (true: has some, false: has none), limit? (1000), cursor? (id of
 * the last row)} -> [{id, title, type, created, updated, content_hash, metadata}], by
 * path: the notes for which all that is given holds. A domain stands for all beneath. */
vault_call links_search_by;
/* null, a bool or {force?} -> {total_notes, processed, errors (notes that cannot be read),
 * error_details?: [{note_id, error}]}: brings the index up to date; `force`: anew. */
vault_call links_migrate;
/* Files that are no notes: {folder?, orphans?, limit? (1000), cursor?} -> [{path, size, updated,
 * links}], by path; {path, as?} -> {path, media_type, size, content_hash, base64 or text}, of at
 * most ATTACHMENT_READ_MAX; {path, to, dry_run?} -> {success, old_path, path, ...}. */
vault_call attachments_list, attachments_read, attachments_move;

/* ---- the hierarchy ------------------------------------------------------ */
/* A note's subnotes stand in its frontmatter, in their order: `subnotes: [uid or id]`. An
 * entry that means no note, comes twice, or leads back to the note by whatever way (the
 * one found last, going down from the top, by paths) is as if it were not there. So a
 * note may have several parents, but is never beneath itself.
 *
 * A row is {parent_id, child_id, depth, position}, positions from 0. A note is named by
 * an identifier, or in an object as `note_id`. */
vault_call hierarchy_get_children, hierarchy_get_parents;
/* {parent_id, child_id, position? (else it stays, or comes last), dry_run?}; {parent_id,
 * child_id, dry_run?}; {parent_id, child_ids (exactly its subnotes), dry_run?}
 * -> {success: true, parentId, childId (not of reorder), operation: add | remove |
 * reorder, timestamp, hierarchyUpdated, content_hash, previous_hash (both of the parent)}.
 * ERR_CONFLICT: it would be beneath itself. One at a time: no addition is lost. */
vault_call hierarchy_add_subnote, hierarchy_remove_subnote, hierarchy_reorder;
/* -> [ids], the topmost first, the note last; of several parents the first by path. */
vault_call hierarchy_get_path;
vault_call hierarchy_get_descendants; /* {note_id, max_depth?} -> rows, level by level */
/* ---- relationships ------------------------------------------------------ */
/* -> {content_links: {outgoing, incoming}, hierarchy_links: {parents, children}, external_links} */
vault_call relationships_get;
/* {note_id, max_results? (10, at most 1000)} -> [{noteId, strength (0 to 1),
 * relationship_types: of link, backlink, child, parent, sibling, shared_link,
 * shared_tag}], the strongest first, then by path. */
vault_call relationships_get_related;
/* {start_note_id, end_note_id, max_depth? (10, at most 100 steps)} -> null, or
 * [{noteId, relationship: start, then link, backlink, child or parent: what it is to the
 * one before}], a shortest way, always the same. */
vault_call relationships_find_path;
/* -> 0 to 1: of all pairs of its neighbours (links and hierarchy, in any direction), how
 * many are neighbours of each other; 0 below two. */
vault_call relationships_get_clustering;

/* ---- types --------------------------------------------------------------- */
/* A type is a folder, or what .cloche/types/NAME.md describes, or both (docs/types.md),
 * whose schema metadata is held against. {type_name, description, agent_instructions? (or
 * instructions), metadata_schema?} -> {name, filename, path, created} */
vault_call note_types_create;
vault_call note_types_list; /* -> [{name, description, noteCount, filename | null}] */
/* "name" -> {name, purpose, path, instructions, metadata_schema | null, content_hash | null,
 * schema_error?} */
vault_call note_types_get;
/* {type_name, description?, instructions? (or agent_instructions), metadata_schema?,
 * content_hash?} -> {raw, parsed: {description, agentInstructions, metadataSchema?}} */
vault_call note_types_update;
/* {type_name, action? (error | migrate | delete), target_type?, confirm?}
 * -> {success, notesAffected}; all or nothing. */
vault_call note_types_delete;

/* ---- the index ---------------------------------------------------------- */
/* Appends a text that differs whenever anything in any note has changed. */
bool notes_version(struct vault *v, struct buf *out, struct err *e);
bool notes_index_is_gone(struct vault *v); /* deleted since its last use */
/* Brings the index up to date, or anew. -> {notes, read, removed, index, milliseconds} */
bool notes_reindex(struct vault *v, bool anew, struct json_writer *out, struct err *e);
