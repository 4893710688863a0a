/* An action's messages to its client while it runs, by the rules of the call's era:
 * progress only where the client gave a token and only ever more of it, log messages only
 * at the level that it asked for, and neither without end.
 */
#include "mcp/outlet.h"

#include <math.h>
#include <stdio.h>

#include "mcp/core.h"
#include "os/os.h"

/* So much at once, and so much more each second. */
#define PROGRESS_BURST 20.0
#define PROGRESS_RATE 10.0
#define LOG_BURST 500.0
#define LOG_RATE 100.0
/* Bytes; a larger log message is left out, a larger word of progress cut. */
#define LOG_MAX ((size_t)256 * 1024)
#define WORD_MAX ((size_t)1024)

static bool talk_send(struct talk *t, const struct buf *message,
                      enum outlet_weight weight)
{
    return !message->failed && t->outlet->say(t->outlet->arg, buf_view(message), weight);
}

/* Is there one more to be had? */
static bool allowance(double *left, uint64_t *since_ns, double burst, double rate)
{
    uint64_t now = os_mono_ns();
    double more = (double)(now - *since_ns) / 1e9 * rate;
    *since_ns = now;
    *left = *left + more > burst ? burst : *left + more;
    if (*left < 1)
        return false;
    *left -= 1;
    return true;
}

/* ---- progress ----------------------------------------------------------- */

/* Called with the lock held, as all below it. */
static void put_progress(struct talk *t, double done, double total, struct str message)
{
    scoped_buf struct buf line = buf_of(16 * WORD_MAX);
    struct json_writer w = notice_open(&line, "notifications/progress", NULL);
    json_pair(&w, "progressToken", t->call->progress_token);
    json_pair_number(&w, "progress", done);
    if (total > 0)
        json_pair_number(&w, "total", total);
    if (message.n)
        json_pair_str(&w, "message", str_cut(message, WORD_MAX));
    json_close(&w);
    json_close(&w);
    (void)talk_send(t, &line, OUTLET_LIGHT);
    t->done = done;
    t->total = total;
    t->held.there = false;
}

static void hold_progress(struct talk *t, double done, double total, struct str message)
{
    t->held.there = true;
    t->held.done = done;
    t->held.total = total;
    buf_clear(&t->held.message);
    buf_str(&t->held.message, str_cut(message, WORD_MAX));
}

static void talk_progress(void *arg, double done, double total, struct str message)
{
    struct talk *t = arg;
    if (!t->outlet || !t->call->progress_token || !isfinite(done) || !isfinite(total) ||
        done < 0)
        return;
    pthread_mutex_lock(&t->lock);
    if (!t->over && done > t->done) {
        if (allowance(&t->progress_may.left, &t->progress_may.since_ns, PROGRESS_BURST,
                      PROGRESS_RATE))
            put_progress(t, done, total, message);
        else
            hold_progress(t, done, total, message);
    }
    pthread_mutex_unlock(&t->lock);
}

/* The next larger one that a reader of JSON tells from it. */
static double a_little_more(double done)
{
    double more = done + 1e-6;
    return done < 0 ? 0 : more > done ? more : nextafter(done, INFINITY);
}

/* It goes on, and takes long. */
static void talk_beat(void *arg)
{
    struct talk *t = arg;
    pthread_mutex_lock(&t->lock);
    if (!t->over && t->outlet->beat)
        t->outlet->beat(t->outlet->arg);
    if (!t->over && t->held.there) {
        put_progress(t, t->held.done, t->held.total, buf_view(&t->held.message));
    } else if (!t->over && t->call->progress_token) {
        char text[48];
        (void)snprintf(text, sizeof text, "running for %u s",
                       (unsigned)((os_mono_ns() - t->begun_ns) / 1000000000));
        put_progress(t, a_little_more(t->done), t->total, str_of(text));
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---- log messages ------------------------------------------------------- */

void put_log(struct buf *out, enum client_level level, const char *logger,
             struct str data, const struct json *request)
{
    struct json_writer w = notice_open(out, "notifications/message", NULL);
    if (request) {
        json_key(&w, "_meta");
        json_open_object(&w);
        json_pair(&w, META_REQUEST, request);
        json_close(&w);
    }
    json_pair_cstr(&w, "level", client_level_names[level]);
    if (logger)
        json_pair_cstr(&w, "logger", logger);
    json_pair_raw(&w, "data", data);
    json_close(&w);
    json_close(&w);
}

enum client_level alert_level(const struct alert *alert)
{
    return alert->paused ? CLIENT_ERROR : CLIENT_WARNING;
}

void put_log_of_alert(struct buf *out, const struct alert *alert)
{
    scoped_buf struct buf data = buf_of(ALERT_MAX);
    struct json_writer w = json_writer(&data);
    json_open_object(&w);
    json_pair_cstr(&w, "message", alert->message);
    json_pair_str(&w, "caller", str_cut(str_of(alert->caller), 100));
    client_claim_put(alert->claim, &w);
    json_pair_bool(&w, "paused", alert->paused);
    json_close(&w);
    put_log(out, alert_level(alert), "alerts", buf_view(&data), NULL);
}

static bool talk_hears(void *arg, enum client_level level)
{
    const struct talk *t = arg;
    if (!t->outlet)
        return false;
    unsigned least = t->call->era == ERA_MODERN
                         ? t->call->log_least
                         : sessions_log_least(&t->call->m->sessions, &t->call->session);
    return level >= least;
}

/* Over stdio the messages of all requests share one stream. */
static const struct json *request_of(const struct talk *t)
{
    return t->call->http ? NULL : t->call->id;
}

static void put_lost(struct talk *t)
{
    char text[80];
    (void)snprintf(text, sizeof text, "\"%u log messages were left out: too many\"",
                   t->lost);
    scoped_buf struct buf line = buf_of(BUF_LINE);
    put_log(&line, CLIENT_WARNING, "cloche", str_of(text), request_of(t));
    t->lost = 0;
    (void)talk_send(t, &line, OUTLET_LIGHT);
}

static void talk_log(void *arg, enum client_level level, const char *logger,
                     struct str data)
{
    struct talk *t = arg;
    scoped_buf struct buf line = buf_of(LOG_MAX);
    put_log(&line, level, logger, data, request_of(t));
    pthread_mutex_lock(&t->lock);
    if (t->over) {
        /* Nothing is said any more. */
    } else if (line.failed ||
               !allowance(&t->log_may.left, &t->log_may.since_ns, LOG_BURST, LOG_RATE)) {
        t->lost++;
    } else {
        if (t->lost)
            put_lost(t);
        if (!talk_send(t, &line, OUTLET_LIGHT))
            t->lost++;
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---- letting go ---------------------------------------------------------- */

static void talk_let_go(void *arg)
{
    const struct talk *t = arg;
    if (t->outlet && t->outlet->let_go)
        t->outlet->let_go(t->outlet->arg);
}

/* ---- waiting for a person ------------------------------------------------ */

static bool talk_rest(void *arg, struct err *e)
{
    const struct talk *t = arg;
    return !t->outlet || !t->outlet->rest || t->outlet->rest(t->outlet->arg, e);
}

static void talk_resume(void *arg)
{
    const struct talk *t = arg;
    if (t->outlet && t->outlet->resume)
        t->outlet->resume(t->outlet->arg);
}

/* ---- questions ---------------------------------------------------------- */

/* Only a client with a session can be told from others when it answers. */
static bool legacy_answers(void *arg, const char *method)
{
    const struct talk *t = arg;
    return t->outlet && t->call->session.there &&
           can_answer(t->call->session.can, str_of(method));
}

static bool legacy_ask(void *arg, const struct client_question *questions, size_t n,
                       const struct cancel *stop, struct arena *a,
                       const struct json **answers, struct err *e)
{
    struct talk *t = arg;
    if (!t->outlet || !t->call->session.there)
        return err_set(e, ERR_CAPABILITY,
                       "this needs a client that can be asked, in a session; nothing was "
                       "changed");
    if (!talk_rest(t, e))
        return false;
    bool ok = asks_ask(&t->call->m->asks, t, questions, n, stop, a, answers, e);
    talk_resume(t);
    return ok;
}

static void *legacy_ask_begin(void *arg, const struct client_question *questions,
                              size_t n, void (*wake)(void *wake_arg), void *wake_arg,
                              struct err *e)
{
    struct talk *t = arg;
    if (!t->outlet || !t->call->session.there) {
        err_set(e, ERR_CAPABILITY,
                "this needs a client that can be asked, in a session; nothing was "
                "changed");
        return NULL;
    }
    if (!talk_rest(t, e))
        return NULL;
    struct asked *x = asks_begin(&t->call->m->asks, t, questions, n, wake, wake_arg, e);
    if (!x)
        talk_resume(t);
    return x;
}

static bool legacy_ask_look(void *arg, void *asked, uint64_t *look_ns)
{
    (void)arg;
    return asks_look(asked, look_ns);
}

static bool legacy_ask_end(void *arg, void *asked,
                           const struct client_question *questions, struct arena *a,
                           const struct json **answers, struct err *e)
{
    bool ok = asks_end(asked, questions, a, answers, e);
    talk_resume(arg);
    return ok;
}

static bool legacy_waits(void *arg)
{
    (void)arg;
    return true;
}

static const struct client_ways legacy_ways = {.progress = talk_progress,
                                               .hears = talk_hears,
                                               .log = talk_log,
                                               .answers = legacy_answers,
                                               .ask = legacy_ask,
                                               .ask_begin = legacy_ask_begin,
                                               .ask_look = legacy_ask_look,
                                               .ask_end = legacy_ask_end,
                                               .let_go = talk_let_go,
                                               .rest = talk_rest,
                                               .resume = talk_resume,
                                               .waits = legacy_waits};

static bool modern_answers(void *arg, const char *method)
{
    struct talk *t = arg;
    return input_answers(t->input, method);
}

static bool modern_ask(void *arg, const struct client_question *questions, size_t n,
                       const struct cancel *stop, struct arena *a,
                       const struct json **answers, struct err *e)
{
    struct talk *t = arg;
    (void)a; /* answers are the request's own, or its task's */
    return input_ask(t->input, questions, n, stop, answers, e);
}

static bool modern_later(void *arg, struct err *e)
{
    struct talk *t = arg;
    return input_later(t->input, e);
}

static void modern_let_go(void *arg)
{
    const struct talk *t = arg;
    struct err ignored = {0}; /* then its client waits */
    if (t->call->task)
        (void)task_detach(t->call->task, &ignored);
}

static const struct client_ways modern_ways = {.progress = talk_progress,
                                               .hears = talk_hears,
                                               .log = talk_log,
                                               .answers = modern_answers,
                                               .ask = modern_ask,
                                               .let_go = modern_let_go,
                                               .rest = talk_rest,
                                               .resume = talk_resume,
                                               .later = modern_later};

/* ---- from beginning to end ---------------------------------------------- */

void talk_begin(struct talk *t, const struct call *call, const struct outlet *outlet,
                struct input *input)
{
    *t = (struct talk){.call = call, .outlet = outlet, .input = input, .done = -1};
    t->client.ways = call->era == ERA_MODERN ? &modern_ways : &legacy_ways;
    t->client.arg = t;
    t->beat = (struct beat){.fn = talk_beat, .arg = t};
    t->begun_ns = os_mono_ns();
    t->progress_may.left = PROGRESS_BURST;
    t->log_may.left = LOG_BURST;
    t->progress_may.since_ns = t->log_may.since_ns = t->begun_ns;
    pthread_mutex_init(&t->lock, NULL);
    buf_init(&t->held.message, WORD_MAX + 1);
    if (outlet)
        ticker_enter(&call->m->ticker, &t->beat);
}

void talk_end(struct talk *t)
{
    if (t->outlet)
        ticker_leave(&t->call->m->ticker, &t->beat);
    pthread_mutex_lock(&t->lock);
    if (t->held.there)
        put_progress(t, t->held.done, t->held.total, buf_view(&t->held.message));
    if (t->lost)
        put_lost(t);
    t->over = true;
    pthread_mutex_unlock(&t->lock);
    pthread_mutex_destroy(&t->lock);
    buf_done(&t->held.message);
}
