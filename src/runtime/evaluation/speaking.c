/* Messages to the client while an evaluation runs: console lines and progress. */
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

void evaluation_log(void *arg, const char *level, struct str message)
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

/* The progress that the code reported, and a very small amount for each call: so it only
 * grows, whichever comes next. */
#define OF_A_CALL 1e-6

void evaluation_count_call(struct evaluation *v, const char *call)
{
    if (!v->who->client)
        return;
    pthread_mutex_lock(&v->lock);
    double done = v->progress.done + OF_A_CALL * ++v->progress.calls,
           total = v->progress.total;
    pthread_mutex_unlock(&v->lock);
    client_progress(v->who->client, done, total, str_of(call));
}

void evaluation_report_progress(struct evaluation *v, double done, double total,
                                struct str message)
{
    pthread_mutex_lock(&v->lock);
    v->progress.done = done > v->progress.done ? done : v->progress.done;
    v->progress.total = total;
    pthread_mutex_unlock(&v->lock);
    client_progress(v->who->client, done, total, message);
}

/* ---- waits for users ---------------------------------------------------- */

bool evaluation_begin_wait(struct evaluation *v, bool thread, struct err *e)
{
    if (v->script && !script_rest(v->script, caller_principal(v->who), thread, e))
        return false;
    pthread_mutex_lock(&v->lock);
    if (v->human_waits.waiting++ == 0)
        v->human_waits.since_ns = os_mono_ns();
    pthread_mutex_unlock(&v->lock);
    return true;
}

void evaluation_end_wait(struct evaluation *v, bool thread)
{
    pthread_mutex_lock(&v->lock);
    if (--v->human_waits.waiting == 0)
        v->human_waits.waited_ns += os_mono_ns() - v->human_waits.since_ns;
    pthread_mutex_unlock(&v->lock);
    if (v->script)
        script_resume(v->script, caller_principal(v->who), thread);
}

static uint64_t stood(const struct evaluation *v)
{
    return v->human_waits.waited_ns +
           (v->human_waits.waiting ? os_mono_ns() - v->human_waits.since_ns : 0);
}

uint64_t evaluation_human_wait_ns(void *arg)
{
    struct evaluation *v = arg;
    pthread_mutex_lock(&v->lock);
    uint64_t ns = stood(v);
    pthread_mutex_unlock(&v->lock);
    return ns;
}

void evaluation_set_deadline(void *arg, uint64_t ns)
{
    struct evaluation *v = arg;
    atomic_store_explicit(&v->deadline_ns, ns, memory_order_relaxed);
}

/* The lock may be taken: the next look checks again. */
bool evaluation_is_past_deadline(void *arg)
{
    struct evaluation *v = arg;
    uint64_t due_ns = atomic_load_explicit(&v->deadline_ns, memory_order_relaxed);
    if (due_ns == UINT64_MAX || os_mono_ns() < due_ns ||
        pthread_mutex_trylock(&v->lock) != 0)
        return false;
    bool due = os_mono_ns() - due_ns >= stood(v);
    pthread_mutex_unlock(&v->lock);
    return due;
}
