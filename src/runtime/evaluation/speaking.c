/* What an evaluation lets its client see while it runs: lines of the console as they
 * are written, and how far it is.
 */
#include "caller/caller.h"
#include "client/client.h"
#include "evaluation/evaluation.h"
#include "evaluation/internal.h"
#include "os/os.h"
#include "script/script.h"
#include "json/json.h"

/* ---- the console -------------------------------------------------------- */

static enum client_level level_of(const char *console)
{
    static const struct {
        const char *name;
        enum client_level level;
    } rows[] = {
        {"debug", CLIENT_DEBUG}, {"warn", CLIENT_WARNING}, {"error", CLIENT_ERROR}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (!strcmp(console, rows[i].name))
            return rows[i].level;
    return CLIENT_INFO; /* log, info */
}

void evaluation_wrote(void *arg, const char *level, struct str message)
{
    const struct evaluation *v = arg;
    enum client_level as = level_of(level);
    if (!client_hears(v->who->client, as))
        return;
    scoped_buf struct buf data;
    buf_init(&data, 8 * message.n + 16);
    struct json_writer w = json_writer(&data);
    json_put_str(&w, message);
    if (!data.failed)
        client_log(v->who->client, as, "console", buf_view(&data));
}

/* ---- progress ----------------------------------------------------------- */

/* What the code said itself, and a very little more for each call: so it only grows,
 * whoever says something next. */
#define OF_A_CALL 1e-6

void evaluation_went_on(struct evaluation *v, const char *call)
{
    if (!v->who->client)
        return;
    pthread_mutex_lock(&v->lock);
    double done = v->far.done + OF_A_CALL * ++v->far.calls, total = v->far.total;
    pthread_mutex_unlock(&v->lock);
    client_progress(v->who->client, done, total, str_of(call));
}

void evaluation_said(struct evaluation *v, double done, double total, struct str message)
{
    pthread_mutex_lock(&v->lock);
    v->far.done = done > v->far.done ? done : v->far.done;
    v->far.total = total;
    pthread_mutex_unlock(&v->lock);
    client_progress(v->who->client, done, total, message);
}

/* ---- a person's time ---------------------------------------------------- */

bool evaluation_awaits(struct evaluation *v, bool thread, struct err *e)
{
    if (v->script && !script_rest(v->script, caller_principal(v->who), thread, e))
        return false;
    pthread_mutex_lock(&v->lock);
    if (v->persons.waiting++ == 0)
        v->persons.since_ns = os_mono_ns();
    pthread_mutex_unlock(&v->lock);
    return true;
}

void evaluation_awaited(struct evaluation *v, bool thread)
{
    pthread_mutex_lock(&v->lock);
    if (--v->persons.waiting == 0)
        v->persons.waited_ns += os_mono_ns() - v->persons.since_ns;
    pthread_mutex_unlock(&v->lock);
    if (v->script)
        script_resume(v->script, caller_principal(v->who), thread);
}

static uint64_t stood(const struct evaluation *v)
{
    return v->persons.waited_ns +
           (v->persons.waiting ? os_mono_ns() - v->persons.since_ns : 0);
}

uint64_t evaluation_stood(void *arg)
{
    struct evaluation *v = arg;
    pthread_mutex_lock(&v->lock);
    uint64_t ns = stood(v);
    pthread_mutex_unlock(&v->lock);
    return ns;
}

void evaluation_due(void *arg, uint64_t ns)
{
    struct evaluation *v = arg;
    atomic_store_explicit(&v->due_ns, ns, memory_order_relaxed);
}

/* Who looks may hold the lock: then it is looked at the next time. */
bool evaluation_is_due(void *arg)
{
    struct evaluation *v = arg;
    uint64_t due_ns = atomic_load_explicit(&v->due_ns, memory_order_relaxed);
    if (due_ns == UINT64_MAX || os_mono_ns() < due_ns ||
        pthread_mutex_trylock(&v->lock) != 0)
        return false;
    bool due = os_mono_ns() - due_ns >= stood(v);
    pthread_mutex_unlock(&v->lock);
    return due;
}
