#include "client/client.h"

const char *const client_level_names[CLIENT_LEVELS] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

void client_progress(const struct client *c, double done, double total,
                     struct str message)
{
    if (c && c->ways->progress)
        c->ways->progress(c->arg, done, total, message);
}

bool client_hears(const struct client *c, enum client_level level)
{
    return c && c->ways->hears && c->ways->hears(c->arg, level);
}

void client_log(const struct client *c, enum client_level level, const char *logger,
                struct str data)
{
    if (client_hears(c, level) && c->ways->log)
        c->ways->log(c->arg, level, logger, data);
}

void client_let_go(const struct client *c)
{
    if (c && c->ways->let_go)
        c->ways->let_go(c->arg);
}

bool client_answers(const struct client *c, const char *method)
{
    return c && c->ways->ask && c->ways->answers && c->ways->answers(c->arg, method);
}

bool client_waits(const struct client *c)
{
    return c && c->ways->waits && c->ways->waits(c->arg);
}

bool client_ask(const struct client *c, const struct client_question *questions, size_t n,
                struct arena *a, const struct json **answers, struct err *e)
{
    /* With the parameters it is seen best what the client would need. */
    if (c && c->ways->ask)
        return c->ways->ask(c->arg, questions, n, c->stop, a, answers, e);
    return n == 0 || err_set(e, ERR_CAPABILITY,
                             "this needs a client that answers %s, and yours cannot be "
                             "asked; nothing was changed",
                             questions[0].method);
}

bool client_later(const struct client *c, struct err *e)
{
    if (c && c->ways->later)
        return c->ways->later(c->arg, e);
    return err_set(e, ERR_CAPABILITY,
                   "this call runs long and requires a client that supports tasks; "
                   "nothing was changed");
}

bool client_rest(const struct client *c, struct err *e)
{
    return !c || !c->ways->rest || c->ways->rest(c->arg, e);
}

void client_resume(const struct client *c)
{
    if (c && c->ways->resume)
        c->ways->resume(c->arg);
}

bool client_asks_apart(const struct client *c)
{
    return c && c->ways->ask_begin;
}

void *client_ask_begin(const struct client *c, const struct client_question *questions,
                       size_t n, void (*wake)(void *arg), void *arg, struct err *e)
{
    return c->ways->ask_begin(c->arg, questions, n, wake, arg, e);
}

bool client_ask_look(const struct client *c, void *asked, uint64_t *look_ns)
{
    return c->ways->ask_look(c->arg, asked, look_ns);
}

bool client_ask_end(const struct client *c, void *asked,
                    const struct client_question *questions, struct arena *a,
                    const struct json **answers, struct err *e)
{
    return c->ways->ask_end(c->arg, asked, questions, a, answers, e);
}
