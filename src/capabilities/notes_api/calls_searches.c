/* The further searches of notes.*: by conditions, by plain text, by SQL. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
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

/* Types that signatures name. */
static const struct api_type types[] = {
    {"MetadataFilter", METADATA_FILTER_TYPE,
     "a condition on a note's metadata; the key may be a path such as 'a.b'"},
    {"AdvancedHit",
     "{id: string, title: string, type: string, created: string, updated: string, "
     "size: number, tags: string[], path: string, excerpt?: string, score?: number, "
     "uid?: string, filename?: string, content_hash?: string, metadata?: Metadata}",
     "a note that notes.searchAdvanced has found; with `fields` only those"},
};

static const struct host_call rows[] = {
    {CALL(.name = "notes.searchAdvanced", .slow = true),
     "(options?: " NOTES_SEARCH_ADVANCED_TYPE
     "): Promise<{results: AdvancedHit[], total: number, has_more: boolean, cursor?: string, query_time_ms: number}>",
     "notes by type, tags, metadata, dates and words, sorted and in pages", call_advanced,
     LEVEL_FULL, .filter = FILTER_OPTIONS, STEADY_QUESTION,
     .details =
         "All that is given must hold. tags: all of them. metadata: {key: value}, a list "
         "means any of its values. A key may be a path ('a.b'); a value that is a list meets "
         "a condition when one of its elements does; != also holds where the key is missing. "
         "Dates are inclusive after, exclusive before; within is '7d', '12h', '2w'. sort by "
         "title, type, created, updated, size, id, path, score or 'metadata.KEY'; by score, "
         "then newest first, without it. limit is 50, at most 1,000; cursor is what the page "
         "before has answered.",
     .errors =
         "InvalidInput: names the field and what it takes. LimitExceeded: more than 3 s.",
     .example =
         "const page = await notes.searchAdvanced({type: 'project', metadata_filters: [{key: "
         "'priority', operator: '>=', value: 2}], updated_within: '30d', sort: [{field: "
         "'metadata.priority', order: 'desc'}], limit: 20})",
     .words = "filter where criteria metadata tag date between sort order page "
              "searchNotesAdvanced query"},
    {CALL(.name = "notes.searchByText", .slow = true),
     "(options: string | " NOTES_SEARCH_BY_TEXT_TYPE "): Promise<SearchHit[]>",
     "notes that have these words, in which no sign is special", call_by_text, LEVEL_FULL,
     .filter = FILTER_OPTIONS, STEADY_QUESTION,
     .details = "As notes.search, but quotes and operators are text like all else.",
     .example = "await notes.searchByText('what he said: \"never\"')",
     .words = "plain literal words searchNotesByText"},
    {CALL(.name = "notes.searchSQL", .slow = true),
     "(options: string | " NOTES_SEARCH_SQL_TYPE
     "): Promise<{columns: string[], rows: {[column: string]: any}[], row_count: number, truncated: boolean, query_time_ms: number}>",
     "one SELECT (SQLite) over views of the vault; it can change nothing", call_sql,
     LEVEL_FULL, STEADY_QUESTION,
     .details =
         "Views: notes(id, uid, title, type, path, filename, created, updated, size, "
         "content_hash, tags, metadata, content), tags(note_id, tag), metadata(note_id, key, "
         "value, type), links(source_note_id, target_note_id, target, link_text, link_type, "
         "line), hierarchy(parent_id, child_id, position), types(name, note_count, updated). "
         "Times are ISO texts; notes.tags and notes.metadata are JSON for json_extract() and "
         "json_each(). params fill ? or :name. limit is 1,000 rows, at most 10,000; timeout "
         "is 3,000 ms, at most 10,000.",
     .errors =
         "InvalidInput: SQLite's words on the query. PermissionDenied: PRAGMA, ATTACH, WITH "
         "RECURSIVE, other tables, anything that writes. Timeout. LimitExceeded.",
     .example =
         "await notes.searchSQL({query: 'SELECT tag, count(*) AS n FROM tags GROUP BY tag "
         "ORDER BY n DESC LIMIT ?', params: [10]})",
     .words =
         "select database join group count aggregate statistics sqlite searchNotesSQL"},
};
const struct host_call_group search_calls = {TABLE(rows),         TYPES(types),
                                             .order = 30,         .subject = "note",
                                             .names_notes = true, .in_history = true};
