/* Who listens is in a list under one lock. A stream is ended by the thread alone, which holds
 * no lock then: listener_gone() takes it. */
#include "events/events.h"

#include <pthread.h>
#include <stdio.h>

#include "os/os.h"

#define EVENT_MAX ((size_t)256 << 10) /* bytes of one */
#define TOGETHER ((size_t)32 << 10)   /* bytes of many that are sent at once */
#define BEAT_NS UINT64_C(20000000000) /* between signs of life */

struct listener {
    struct listener *next;
    struct events *events;
    struct http_stream *stream;
    char who[80];
    bool over; /* the client is gone, or was sent away */
};

struct events {
    events_look_fn *look;
    void *arg;
    unsigned every_ms;
    pthread_t thread;
    struct buf said; /* since the last look began: sent together; of that thread alone */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t turn;
    struct listener *first;
    unsigned count;
    bool stop;
};

static void listener_gone(void *arg)
{
    struct listener *l = arg;
    struct events *ev = l->events;
    pthread_mutex_lock(&ev->lock);
    l->over = true;
    pthread_cond_signal(&ev->turn);
    pthread_mutex_unlock(&ev->lock);
}

static void events_put_all(struct events *ev, struct str bytes)
{
    pthread_mutex_lock(&ev->lock);
    for (struct listener *l = ev->first; l; l = l->next)
        if (!l->over && !http_stream_put(l->stream, bytes))
            l->over = true;
    pthread_mutex_unlock(&ev->lock);
}

static void events_send(struct events *ev)
{
    if (ev->said.n)
        events_put_all(ev, buf_view(&ev->said));
    buf_clear(&ev->said);
}

void events_say(struct events *ev, const char *kind, struct str data)
{
    if (data.n > EVENT_MAX)
        return;
    buf_printf(&ev->said, "event: %s\ndata: ", kind);
    buf_str(&ev->said, data);
    buf_cstr(&ev->said, "\n\n");
    if (ev->said.n > TOGETHER)
        events_send(ev);
}

/* ---- the thread ------------------------------------------------------------- */

/* Takes out those that are over; lock held. */
static struct listener *listeners_take_over(struct events *ev)
{
    struct listener *out = NULL;
    for (struct listener **at = &ev->first; *at;) {
        struct listener *l = *at;
        if (!l->over) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        l->next = out;
        out = l;
        ev->count--;
    }
    return out;
}

static void listeners_end(struct listener *l)
{
    while (l) {
        struct listener *next = l->next;
        http_stream_end(l->stream);
        free(l);
        l = next;
    }
}

/* Until it is time to look, somebody comes or goes, or all is over; lock held. */
static void sleep_a_while(struct events *ev)
{
    (void)os_cond_wait(&ev->turn, &ev->lock, os_in_ms(ev->every_ms));
}

static void *events_run(void *arg)
{
    struct events *ev = arg;
    bool begins = true;
    uint64_t beat_ns = os_mono_ns();
    pthread_mutex_lock(&ev->lock);
    while (!ev->stop) {
        struct listener *over = listeners_take_over(ev);
        bool heard = ev->first != NULL;
        pthread_mutex_unlock(&ev->lock);
        listeners_end(over);
        if (heard) {
            ev->look(ev->arg, ev, begins);
            events_send(ev);
            begins = false;
        }
        if (heard && os_mono_ns() - beat_ns > BEAT_NS) {
            beat_ns = os_mono_ns();
            events_put_all(ev, STR(": \n\n"));
        }
        pthread_mutex_lock(&ev->lock);
        if (ev->stop)
            break;
        if (ev->first) {
            sleep_a_while(ev);
        } else {
            begins = true;
            (void)pthread_cond_wait(&ev->turn, &ev->lock);
        }
    }
    struct listener *rest = ev->first;
    ev->first = NULL;
    pthread_mutex_unlock(&ev->lock);
    listeners_end(rest);
    return NULL;
}

/* ---- coming and going --------------------------------------------------------- */

bool events_join(struct events *ev, struct http_request *rq, struct http_response *rs,
                 struct str who, struct str hello)
{
    struct listener *l = mem_new(sizeof *l);
    l->events = ev;
    (void)snprintf(l->who, sizeof l->who, "%.*s", STR_ARGS(str_cut(who, 79)));
    pthread_mutex_lock(&ev->lock);
    bool fits = ev->count < EVENTS_LISTENERS_MAX;
    ev->count += fits;
    pthread_mutex_unlock(&ev->lock);
    if (!fits) {
        free(l);
        http_say(rs, 503, "%u pages are open; close one", EVENTS_LISTENERS_MAX);
        return false;
    }
    rs->type = "text/event-stream";
    (void)http_set_header(rs, "Cache-Control", "no-store");
    (void)http_set_header(rs, "X-Accel-Buffering", "no");
    buf_cstr(&rs->body, "retry: 1000\nevent: hello\ndata: ");
    buf_str(&rs->body, hello);
    buf_cstr(&rs->body, "\n\n");
    l->stream = http_stream_open(rq, rs, listener_gone, l);
    bool joined = l->stream != NULL; /* once it is in the list the thread may free it */
    pthread_mutex_lock(&ev->lock);
    if (joined) {
        l->next = ev->first;
        ev->first = l;
        pthread_cond_signal(&ev->turn);
    } else {
        ev->count--;
    }
    pthread_mutex_unlock(&ev->lock);
    if (!joined)
        free(l);
    return joined;
}

void events_leave(struct events *ev, struct str who)
{
    pthread_mutex_lock(&ev->lock);
    for (struct listener *l = ev->first; l; l = l->next)
        l->over |= str_is(who, l->who);
    pthread_cond_signal(&ev->turn);
    pthread_mutex_unlock(&ev->lock);
}

/* ---- opening ------------------------------------------------------------------ */

struct events *events_open(events_look_fn *look, void *arg, unsigned every_ms,
                           struct err *e)
{
    struct events *ev = mem_new(sizeof *ev);
    ev->look = look;
    ev->arg = arg;
    ev->every_ms = every_ms;
    buf_init(&ev->said, 2 * EVENT_MAX);
    pthread_mutex_init(&ev->lock, NULL);
    pthread_cond_init(&ev->turn, NULL);
    if (!os_thread_start(&ev->thread, "events", 0, events_run, ev)) {
        err_set(e, ERR_LIMIT, "no thread for events: %m");
        pthread_cond_destroy(&ev->turn);
        pthread_mutex_destroy(&ev->lock);
        buf_done(&ev->said);
        free(ev);
        return NULL;
    }
    return ev;
}

void events_close(struct events *ev)
{
    if (!ev)
        return;
    pthread_mutex_lock(&ev->lock);
    ev->stop = true;
    pthread_cond_signal(&ev->turn);
    pthread_mutex_unlock(&ev->lock);
    (void)pthread_join(ev->thread, NULL);
    buf_done(&ev->said);
    pthread_cond_destroy(&ev->turn);
    pthread_mutex_destroy(&ev->lock);
    free(ev);
}
