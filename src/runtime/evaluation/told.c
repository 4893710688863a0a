/* Warnings of a run. */
#include "evaluation/evaluation.h"
#include "json/json.h"

/* Once each, and only as far as there is room. */
static void add(struct buf *all, struct str one)
{
    bool again = all->n && memmem(all->at, all->n, one.at, one.n);
    if (again || all->n + one.n + 1 > TOLD_MAX)
        return;
    if (all->n)
        buf_char(all, ',');
    buf_str(all, one);
}

void told_put(struct buf *all, const char *rule, struct str message,
              struct str suggestion)
{
    scoped_buf struct buf one;
    buf_init(&one, TOLD_MAX);
    struct json_writer w = json_writer(&one);
    json_open_object(&w);
    json_pair_cstr(&w, "rule", rule);
    json_pair_cstr(&w, "severity", "warning");
    json_pair_str(&w, "message", message);
    if (suggestion.n)
        json_pair_str(&w, "suggestion", suggestion);
    json_close(&w);
    if (!one.failed)
        add(all, buf_view(&one));
}

void told_add(struct evaluation *v, const char *rule, struct str message,
              struct str suggestion)
{
    pthread_mutex_lock(&v->lock);
    told_put(&v->told, rule, message, suggestion);
    pthread_mutex_unlock(&v->lock);
}

void told_rows(struct evaluation *v, struct str rows)
{
    if (!rows.n)
        return;
    pthread_mutex_lock(&v->lock);
    add(&v->told, rows);
    pthread_mutex_unlock(&v->lock);
}
