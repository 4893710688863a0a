/* Further searches of notes.*: by conditions, by plain text, by SQL. */
#include "notes_api/internal.h"
#include "notes_api/note_calls.api.h"
#include "notes_api/unknown.h"
#include "services/services.h"
#include "sql/sql.h"

static bool call_advanced(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_search_advanced(vault, json_at(x->args, 0), out, e);
}

static bool call_by_text(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_search_by_text(vault, json_at(x->args, 0), out, e);
}

static bool call_tasks(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    return vault && notes_tasks(vault, json_at(x->args, 0), out, e);
}

static bool call_sql(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(vault_close) struct vault *vault = read_vault(x, e);
    const struct caller *who = x->v->who;
    const struct sql_caller by = {
        .pool = vault ? services_sql(x->v->actions->services, e) : NULL,
        .cancels = {who->cancel, calling_cancel(x)},
        .principal = who->grant ? who->grant->principal : NULL,
    };
    return by.pool && notes_search_sql(vault, json_at(x->args, 0), &by, out, e);
}

/* Shared types that signatures name. */
static const struct api_type types[] = {
    SEARCHES_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "notes.searchAdvanced", .slow = true),
     .signature = NOTES_SEARCH_ADVANCED_SIGNATURE,
     .summary = "notes by type, tags, metadata, dates and words, sorted and in pages",
     .call = call_advanced, .level = LEVEL_FULL, .filter = FILTER_OPTIONS,
     STEADY_QUESTION,
     .details =
         "All given conditions must match. tags: all of them. metadata: {key: value}, a list means any of its values. A key may be a path ('a.b'); a list matches a condition if one of its elements does; != also matches a missing key. Dates are inclusive after, exclusive before; within is '7d', '12h', '2w'. sort by title, type, created, updated, size, id, path, score or 'metadata.KEY'; by score, then newest first, without it. limit is 50, at most 1,000; cursor is what the page before has answered.",
     .errors =
         "InvalidInput: names the field and what it accepts. LimitExceeded: more than 3 s.",
     .example =
         "const page = await notes.searchAdvanced({type: 'project', metadata_filters: [{key: "
         "'priority', operator: '>=', value: 2}], updated_within: '30d', sort: [{field: "
         "'metadata.priority', order: 'desc'}], limit: 20})",
     .words = "filter where criteria metadata tag date between sort order page "
              "searchNotesAdvanced query"},
    {CALL(.name = "notes.searchByText", .slow = true),
     .signature = NOTES_SEARCH_BY_TEXT_SIGNATURE,
     .summary = "notes that contain these words, without special characters",
     .call = call_by_text, .level = LEVEL_FULL, .filter = FILTER_OPTIONS, STEADY_QUESTION,
     .details = "Like notes.search, but quotes and operators are plain text.",
     .example = "await notes.searchByText('what he said: \"never\"')",
     .words = "plain literal words searchNotesByText"},
    {CALL(.name = "notes.tasks", .slow = true), .signature = NOTES_TASKS_SIGNATURE,
     .summary = "tasks of all notes ('- [ ] call Ann'), those that are due first",
     .call = call_tasks, .level = LEVEL_FULL, .filter = FILTER_OPTIONS, STEADY_QUESTION,
     .details =
         "status is open by default. tag is one of the task's own line, or one beneath it. due_before and due_after are days and exclude themselves. Dates and priorities are read in the signs of Obsidian's Tasks, in inline fields ([due:: 2026-12-01]) and as Logseq writes them (TODO, DEADLINE). Those without a date come last, by path and line. limit is 1,000 by default, at most 10,000.",
     .errors = "InvalidInput: names the option and what it accepts.",
     .example = "const late = await notes.tasks({due_before: '2026-12-01'});\n"
                "return late.map((task) => `${task.note_id}: ${task.text}`)",
     .words = "todo checkbox checklist due deadline open done overdue action items"},
    {CALL(.name = "notes.searchSQL", .slow = true),
     .signature = NOTES_SEARCH_SQL_SIGNATURE,
     .summary = "one SELECT (SQLite) over views of the vault; it can change nothing",
     .call = call_sql, .level = LEVEL_FULL, STEADY_QUESTION,
     .select = "One SELECT, with joins, WITH and subqueries, is accepted: "
               "api.describe('notes.searchSQL') has the views.",
     .details =
         "Views: notes(id, uid, title, type, path, filename, created, updated, size, "
         "content_hash, tags, metadata, content), tags(note_id, tag), metadata(note_id, key, "
         "value, type), links(source_note_id, target_note_id, target, link_text, link_type, "
         "line), hierarchy(parent_id, child_id, position), tasks(note_id, line, status, mark, text, tags, due, scheduled, start, finished, priority), types(name, note_count, updated). "
         "Times are ISO texts; notes.tags and notes.metadata are JSON for json_extract() and "
         "json_each(). params fill ? or :name. limit is 1,000 rows, at most 10,000; timeout "
         "is 3,000 ms, at most 10,000.",
     .errors =
         "InvalidInput: SQLite's message about the query. PermissionDenied: PRAGMA, ATTACH, WITH RECURSIVE, other tables, anything that writes. Timeout. LimitExceeded.",
     .example =
         "await notes.searchSQL({query: 'SELECT tag, count(*) AS n FROM tags GROUP BY tag "
         "ORDER BY n DESC LIMIT ?', params: [10]})",
     .words =
         "select database join group count aggregate statistics sqlite searchNotesSQL"},
};
const struct host_call_group search_calls = {TABLE(rows),           TYPES(types),
                                             .order = 30,           .subject = "note",
                                             .notes = &note_advice, .in_history = true};
