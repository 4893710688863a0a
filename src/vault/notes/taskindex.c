#include "notes/taskindex.h"

#include "notes/index.h"
#include "notes/markdown.h"
#include "notes/tasks.h"

struct task_writing {
    struct query *q;
    int64_t note, number;
    struct err *e;
};

static void put_tag(void *arg, struct str tag)
{
    json_put_str(arg, tag);
}

static void write_task(void *arg, const struct task *t)
{
    struct task_writing *w = arg;
    scoped_buf struct buf tags = buf_of(YML_JSON_MAX);
    struct json_writer list = json_writer(&tags);
    json_open_array(&list);
    if (markdown_may_have_tags(t->text))
        markdown_tags(t->text, put_tag, &list);
    json_close(&list);
    if (w->e->code)
        return;
    query_again(w->q);
    query_bind_int(w->q, 1, w->note);
    query_bind_int(w->q, 2, w->number++);
    query_bind_int(w->q, 3, (int64_t)t->line);
    query_bind_int(w->q, 4, t->status);
    query_bind_str(w->q, 5, t->mark);
    query_bind_str(w->q, 6, t->text);
    query_bind_str(w->q, 7, tags.failed ? STR("[]") : buf_view(&tags));
    for (int i = 0; i < TASK_DATES; i++)
        if (t->dates[i].n)
            query_bind_str(w->q, 8 + i, t->dates[i]);
    query_bind_int(w->q, 8 + TASK_DATES, t->priority);
    (void)query_run(w->q, w->e);
}

bool taskindex_write(struct db *db, int64_t key, const struct note *n, bool known,
                     struct err *e)
{
    if (known && !index_run_with_key(db, "DELETE FROM tasks WHERE note = ?", key, e))
        return false;
    if (!tasks_may(n->front.body))
        return true;
    scoped(query_end) struct query *q =
        db_query(db, "INSERT INTO tasks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", e);
    struct task_writing w = {.q = q, .note = key, .e = e};
    if (q)
        tasks_read(n->front.body, write_task, &w);
    return e->code == ERR_NONE;
}
