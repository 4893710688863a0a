/* Notices of a run. */
#include "evaluation/evaluation.h"
#include "json/json.h"

void notices_init(struct notices *t)
{
    buf_init(&t->rows, BUF_PAGE);
    buf_init(&t->messages, BUF_PAGE);
}

void notices_done(struct notices *t)
{
    buf_done(&t->rows);
    buf_done(&t->messages);
}

/* Each once, as far as there is room. */
static void notices_append(struct notices *all, struct str rows, struct str messages)
{
    struct str known = buf_view(&all->rows);
    bool again = known.n && memmem(known.at, known.n, rows.at, rows.n);
    if (!rows.n || again || known.n + rows.n + 1 > NOTICES_MAX)
        return;
    if (known.n) {
        buf_char(&all->rows, ',');
        buf_cstr(&all->messages, "; ");
    }
    buf_str(&all->rows, rows);
    buf_str(&all->messages, messages);
}

void notice_put(struct notices *all, const char *rule, struct str message,
                struct str suggestion)
{
    scoped_buf struct buf one;
    buf_init(&one, NOTICES_MAX);
    struct json_writer w = json_writer(&one);
    json_open_object(&w);
    json_pair_cstr(&w, "rule", rule);
    json_pair_cstr(&w, "severity", "warning");
    json_pair_str(&w, "message", message);
    if (suggestion.n)
        json_pair_str(&w, "suggestion", suggestion);
    json_close(&w);
    if (!one.failed)
        notices_append(all, buf_view(&one), message);
}

void notice_add(struct evaluation *v, const char *rule, struct str message,
                struct str suggestion)
{
    pthread_mutex_lock(&v->lock);
    notice_put(&v->notices, rule, message, suggestion);
    pthread_mutex_unlock(&v->lock);
}

void notice_add_all(struct evaluation *v, const struct notices *all)
{
    pthread_mutex_lock(&v->lock);
    notices_append(&v->notices, buf_view(&all->rows), buf_view(&all->messages));
    pthread_mutex_unlock(&v->lock);
}
