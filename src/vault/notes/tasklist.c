/* notes.tasks: tasks of all notes, by their state, date, note and words. */
#include <stdio.h>

#include "notes/find.h"
#include "notes/index.h"
#include "notes/notes.api.h"
#include "notes/tasks.h"

struct tasking {
    struct str status, type, folder, tag, query, before, after;
    int64_t limit;
    struct buf rows;
};

/* ---- the question ---------------------------------------------------------- */

static bool is_day(struct str s)
{
    int64_t ms;
    return !s.n || (s.n == 10 && date_read(s, &ms));
}

static bool read_tasking(const struct json *o, struct tasking *t, struct err *e)
{
    static const char *const statuses[] = {"open", "done", "cancelled", "all", NULL};
    t->status = STR("open");
    t->limit = NOTES_TASKS_LIMIT_USUAL;
    if (json_is(o, JSON_ABSENT) || json_is(o, JSON_NULL))
        return true;
    if (!options_check(o, "notes.tasks", NOTES_TASKS_KEYS, e) ||
        !options_str(o, "status", NULL, &t->status, e) ||
        !options_str(o, "type", "typeName", &t->type, e) ||
        !options_str(o, "folder", NULL, &t->folder, e) ||
        !options_str(o, "tag", NULL, &t->tag, e) ||
        !options_str(o, "query", NULL, &t->query, e) ||
        !options_str(o, "due_before", NULL, &t->before, e) ||
        !options_str(o, "due_after", NULL, &t->after, e) ||
        !options_int(o, "limit", NOTES_TASKS_LIMIT_USUAL, 1, NOTES_TASKS_LIMIT_MOST,
                     &t->limit, e))
        return false;
    if (!t->status.n)
        t->status = STR("open");
    while (str_starts(t->tag, "#"))
        t->tag.at++, t->tag.n--;
    while (str_ends(t->folder, "/"))
        t->folder.n--;
    if (!str_is_one_of(t->status, statuses))
        return err_set(e, ERR_INVALID,
                       "notes.tasks: status is 'open', 'done', 'cancelled' or 'all'");
    return (is_day(t->before) && is_day(t->after)) ||
           err_set(e, ERR_INVALID,
                   "notes.tasks: due_before and due_after are days, as '2026-12-01'");
}

/* ---- the answer ------------------------------------------------------------ */

enum column {
    NOTE,
    PATH,
    LINE,
    STATUS,
    MARK,
    TEXT,
    TAGS,
    DUE,
    SCHEDULED,
    START,
    FINISHED,
    PRIORITY
};

#define TASKS_SQL                                                                               \
    "SELECT " FIND_ID_OF(                                                                       \
        "n") ", n.path, t.line, t.status, t.mark, t.text, t.tags,"                              \
             " t.due, t.scheduled, t.start, t.finished, t.priority FROM tasks t"                \
             " JOIN notes n ON n.key = t.note"                                                  \
             " WHERE (?1 < 0 OR t.status = ?1) AND (?2 = '' OR n.type = ?2)"                    \
             " AND (?3 = '' OR substr(n.path, 1, length(?3) + 1) = ?3 || '/')"                  \
             " AND (?4 = '' OR EXISTS(SELECT 1 FROM json_each(t.tags) j WHERE lower(j.value) =" \
             " lower(?4) OR lower(substr(j.value, 1, length(?4) + 1)) = lower(?4) || '/'))"     \
             " AND (?5 = '' OR instr(lower(t.text), lower(?5)))"                                \
             " AND (?6 = '' OR t.due < ?6) AND (?7 = '' OR t.due > ?7)"                         \
             " ORDER BY t.due IS NULL, t.due, n.path, t.number LIMIT ?8"

static void put_date(struct json_writer *w, const char *key, struct query *q, int column)
{
    if (!query_is_null(q, column))
        json_pair_str(w, key, query_str(q, column));
}

static void put_task(struct query *q, struct json_writer *w)
{
    int64_t status = query_int(q, STATUS);
    json_open_object(w);
    json_pair_str(w, "note_id", query_str(q, NOTE));
    json_pair_str(w, "path", query_str(q, PATH));
    json_pair_int(w, "line", query_int(q, LINE));
    json_pair_cstr(w, "status",
                   task_status_name(status == TASK_DONE        ? TASK_DONE
                                    : status == TASK_CANCELLED ? TASK_CANCELLED
                                                               : TASK_OPEN));
    json_pair_str(w, "mark", query_str(q, MARK));
    json_pair_str(w, "text", query_str(q, TEXT));
    json_pair_raw(w, "tags", query_str(q, TAGS));
    put_date(w, "due", q, DUE);
    put_date(w, "scheduled", q, SCHEDULED);
    put_date(w, "start", q, START);
    put_date(w, "finished", q, FINISHED);
    if (query_int(q, PRIORITY))
        json_pair_int(w, "priority", query_int(q, PRIORITY));
    json_close(w);
}

static bool list_tasks(struct db *db, void *arg, struct err *e)
{
    struct tasking *t = arg;
    scoped(query_end) struct query *q = db_query(db, TASKS_SQL, e);
    if (!q)
        return false;
    int64_t status = str_is(t->status, "all")         ? -1
                     : str_is(t->status, "done")      ? TASK_DONE
                     : str_is(t->status, "cancelled") ? TASK_CANCELLED
                                                      : TASK_OPEN;
    query_bind_int(q, 1, status);
    query_bind_str(q, 2, t->type);
    query_bind_str(q, 3, t->folder);
    query_bind_str(q, 4, t->tag);
    query_bind_str(q, 5, t->query);
    query_bind_str(q, 6, t->before);
    query_bind_str(q, 7, t->after);
    query_bind_int(q, 8, t->limit);
    buf_clear(&t->rows);
    struct json_writer w = json_writer(&t->rows);
    json_open_array(&w);
    while (query_next(q, e))
        put_task(q, &w);
    json_close(&w);
    return e->code == ERR_NONE;
}

bool notes_tasks(struct vault *v, const struct json *options, struct json_writer *out,
                 struct err *e)
{
    struct tasking t = {.rows = buf_of(FIND_ANSWER_MAX)};
    bool ok = read_tasking(options, &t, e) && index_use(v, list_tasks, &t, e) &&
              buf_check(&t.rows, "the tasks", e);
    if (ok)
        json_put_raw(out, buf_view(&t.rows));
    buf_done(&t.rows);
    return ok;
}
