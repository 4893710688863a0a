/* All channels are under one lock, which is held for as long as it takes to copy an
 * event. Connections are ended without it: who ends one waits for the server's word
 * that it is gone, and that word takes the lock.
 */
#include "mcp/channels.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/os.h"

#define BUCKETS 1024u /* a power of two */
#define WHO_MAX 100u

/* A connection on which a channel is read. Whoever takes it from its channel ends it. */
struct line {
    struct channels *channels;
    struct channel *channel; /* NULL: taken */
    struct http_stream *http;
    struct line *next; /* among those to be ended */
};

struct event {
    struct channel *channel;
    struct event *after;           /* in its channel */
    struct event *older, *younger; /* of all */
    uint64_t number;
    int64_t at_ms;
    size_t n;
    char text[];
};

struct channel {
    struct channel *next; /* in its bucket, newest first */
    struct session session;
    uint64_t number;
    uint64_t last; /* the number of its last event; 0: the one that came first of all */
    struct event *first_kept, *last_kept;
    size_t events, bytes; /* kept */
    struct line *line;
    int64_t since_ms; /* that it has, or is without, a line */
    bool of_call;
    bool running; /* its call goes on: the channel is the caller's */
    bool over;    /* nothing more will be said */
    bool lost;    /* out of the table: its session ended before its call */
    char who[];   /* of those that are listened on */
};

/* ---- connections -------------------------------------------------------- */

/* Called with the lock held; the connection joins those to be ended. */
static void channel_take_line(struct channel *c, struct line **ends)
{
    struct line *l = c->line;
    if (!l)
        return;
    l->channel = NULL;
    c->line = NULL;
    c->since_ms = os_mono_ms();
    l->next = *ends;
    *ends = l;
}

/* Without the lock. */
static void end_lines(struct line *ends)
{
    while (ends) {
        struct line *l = ends;
        ends = l->next;
        http_stream_end(l->http);
        free(l);
    }
}

static void line_gone(void *arg)
{
    struct line *l = arg, *ends = NULL;
    struct channels *s = l->channels;
    pthread_mutex_lock(&s->lock);
    if (l->channel)
        channel_take_line(l->channel, &ends);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

static bool channel_put(struct channel *c, struct str text, struct line **ends)
{
    if (c->line && http_stream_put(c->line->http, text))
        return true;
    channel_take_line(c, ends);
    return false;
}

/* With the lock: the word that it is gone may come before we know what it is. */
static bool connect_line(struct channels *s, struct channel *c, struct http_request *rq,
                         struct http_response *rs)
{
    struct line *l = mem_new(sizeof *l);
    *l = (struct line){.channels = s, .channel = c};
    l->http = http_stream_open(rq, rs, line_gone, l);
    if (!l->http) {
        free(l);
        return false;
    }
    c->line = l;
    c->since_ms = os_mono_ms();
    return true;
}

/* ---- kept events; the lock is held -------------------------------------- */

/* The oldest of its channel. */
static void channel_forget(struct channels *s, struct channel *c)
{
    struct event *v = c->first_kept;
    c->first_kept = v->after;
    if (!c->first_kept)
        c->last_kept = NULL;
    *(v->older ? &v->older->younger : &s->oldest) = v->younger;
    *(v->younger ? &v->younger->older : &s->newest) = v->older;
    c->events--;
    c->bytes -= v->n;
    s->bytes -= v->n;
    free(v);
}

static struct channel **channel_bucket(struct channels *s, const struct session *session)
{
    return &s->buckets[(session->id[0] | (unsigned)session->id[1] << 8) & (BUCKETS - 1)];
}

static bool channel_is_of(const struct channel *c, const struct session *session)
{
    return memcmp(c->session.id, session->id, sizeof session->id) == 0;
}

/* Counts all that its session keeps; returns the channel with the oldest event. */
static struct channel *keeper(struct channels *s, const struct channel *c, size_t *events,
                              size_t *bytes)
{
    struct channel *oldest = NULL;
    *events = *bytes = 0;
    for (struct channel *o = *channel_bucket(s, &c->session); o; o = o->next) {
        if (!channel_is_of(o, &c->session) || !o->events)
            continue;
        *events += o->events;
        *bytes += o->bytes;
        if (!oldest || o->first_kept->at_ms < oldest->first_kept->at_ms)
            oldest = o;
    }
    return oldest;
}

static void events_evict(struct channels *s, const struct channel *c, size_t n)
{
    size_t events, bytes;
    struct channel *oldest;
    while ((oldest = keeper(s, c, &events, &bytes)) &&
           (events >= KEPT_SESSION_EVENTS || bytes + n > KEPT_SESSION_BYTES))
        channel_forget(s, oldest);
    while (s->oldest && s->bytes + n > KEPT_BYTES)
        channel_forget(s, s->oldest->channel);
}

static bool channel_keep_event(struct channels *s, struct channel *c, uint64_t number,
                               struct str text)
{
    if (c->lost || text.n > KEPT_SESSION_BYTES)
        return false;
    events_evict(s, c, text.n);
    struct event *v = malloc(sizeof *v + text.n);
    if (!v)
        return false;
    *v = (struct event){.channel = c,
                        .older = s->newest,
                        .number = number,
                        .at_ms = os_mono_ms(),
                        .n = text.n};
    memcpy(v->text, text.at, text.n);
    *(s->newest ? &s->newest->younger : &s->oldest) = v;
    s->newest = v;
    *(c->last_kept ? &c->last_kept->after : &c->first_kept) = v;
    c->last_kept = v;
    c->events++;
    c->bytes += text.n;
    s->bytes += text.n;
    return true;
}

/* ---- channels; the lock is held ----------------------------------------- */

static void channel_free(struct channels *s, struct channel *c)
{
    while (c->events)
        channel_forget(s, c);
    s->channels--;
    free(c);
}

/* Takes *at out of the table; one whose call still runs is freed when that ends. */
static void channel_drop(struct channels *s, struct channel **at, struct line **ends)
{
    struct channel *c = *at;
    *at = c->next;
    channel_take_line(c, ends);
    c->lost = true;
    while (c->events)
        channel_forget(s, c);
    if (!c->running)
        channel_free(s, c);
}

/* Nobody reads it, and nobody can have a reason to come back for it. */
static bool is_stale(const struct channels *s, const struct channel *c, int64_t now)
{
    if (c->line || c->running)
        return false;
    return (c->over && !c->events) || now - c->since_ms > s->kept_ms;
}

/* Room for one more of this session; false: it has too many that are in use. */
static bool make_place(struct channels *s, const struct session *session,
                       struct line **ends)
{
    unsigned n = 0;
    struct channel **spare = NULL;
    for (struct channel **at = channel_bucket(s, session); *at; at = &(*at)->next) {
        if (!channel_is_of(*at, session))
            continue;
        n++;
        if (!(*at)->line && !(*at)->running)
            spare = at; /* the oldest stands last */
    }
    if (n < CHANNELS_SESSION_MAX && s->channels < CHANNELS_MAX)
        return true;
    if (spare)
        channel_drop(s, spare, ends);
    return spare != NULL;
}

static void beat_all(void *arg);

static struct channel *channel_new(struct channels *s, const struct session *session,
                                   const char *who, struct line **ends)
{
    if (!s->buckets)
        s->buckets = mem_new(BUCKETS * sizeof(struct channel *));
    if (!make_place(s, session, ends))
        return NULL;
    size_t n = who ? strnlen(who, WHO_MAX) : 0;
    struct channel *c = mem_new(sizeof *c + n + 1);
    struct channel **head = channel_bucket(s, session);
    c->session = *session;
    c->number = ++s->numbers;
    c->of_call = c->running = !who;
    c->next = *head;
    if (who)
        memcpy(c->who, who, n);
    *head = c;
    s->channels++;
    return c;
}

/* ---- sending ------------------------------------------------------------ */

void events_head(struct http_response *rs)
{
    rs->status = 200;
    rs->type = "text/event-stream";
    http_set_header(rs, "Cache-Control", "no-cache");
    http_set_header(rs, "X-Accel-Buffering", "no");
}

void events_data(struct buf *out, struct str message)
{
    buf_cstr(out, "data: ");
    size_t from = out->n;
    buf_str(out, message);
    /* Within JSON a line end can only stand between values. */
    for (size_t i = from; i < out->n; i++)
        if (out->at[i] == '\n' || out->at[i] == '\r')
            out->at[i] = ' ';
    buf_cstr(out, "\n\n");
}

/* Clients of that revision know what an event without a message is for: it names the
 * place to come back to. */
static bool is_primed(const struct channel *c)
{
    return c->session.version && strcmp(c->session.version, "2025-11-25") >= 0;
}

static void put_primer(const struct channel *c, struct buf *out)
{
    if (is_primed(c))
        buf_printf(out, "id: %" PRIx64 "-0\nretry: %d\ndata: \n\n", c->number, RETRY_MS);
}

/* Room for the event around a message of n bytes. */
static size_t event_max(size_t n)
{
    return n + 128;
}

/* The lock is held. */
static bool channel_send(struct channels *s, struct channel *c, struct str message,
                         struct line **ends)
{
    if (c->lost)
        return false;
    scoped_buf struct buf text = buf_of(event_max(message.n));
    uint64_t number = c->last + 1;
    buf_printf(&text, "id: %" PRIx64 "-%" PRIu64 "\n", c->number, number);
    events_data(&text, message);
    if (text.failed)
        return false;
    c->last = number;
    bool kept = channel_keep_event(s, c, number, buf_view(&text));
    return channel_put(c, buf_view(&text), ends) || kept;
}

/* ---- a call's ----------------------------------------------------------- */

static void start_beating(struct channels *s)
{
    pthread_mutex_lock(&s->lock);
    bool first = !s->beating;
    s->beating = true;
    pthread_mutex_unlock(&s->lock);
    if (first)
        ticker_enter(s->ticker, &s->beat);
}

struct channel *channels_open(struct channels *s, const struct session *session,
                              struct http_request *rq, struct http_response *rs)
{
    struct line *ends = NULL;
    start_beating(s);
    pthread_mutex_lock(&s->lock);
    struct channel *c = channel_new(s, session, NULL, &ends);
    if (c) {
        events_head(rs);
        put_primer(c, &rs->body);
        if (!connect_line(s, c, rq, rs)) {
            c->running = false;
            channel_drop(s, channel_bucket(s, session), &ends); /* it stands first */
            c = NULL;
        }
    }
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
    return c;
}

bool channel_say(struct channels *s, struct channel *c, struct str message)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    bool ok = channel_send(s, c, message, &ends);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
    return ok;
}

void channel_beat(struct channels *s, struct channel *c)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    if (c->line && is_primed(c) && os_mono_ms() - c->since_ms >= s->hold_ms)
        channel_take_line(c, &ends);
    else if (c->line)
        (void)channel_put(c, STR(":\n\n"), &ends);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

void channel_let_go(struct channels *s, struct channel *c)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    if (is_primed(c))
        channel_take_line(c, &ends);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

void channel_end(struct channels *s, struct channel *c, struct str last,
                 struct str excuse)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    if (last.n && !channel_send(s, c, last, &ends))
        (void)channel_send(s, c, excuse, &ends);
    c->running = false;
    c->over = true;
    channel_take_line(c, &ends);
    if (c->lost)
        channel_free(s, c);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

/* ---- listening ---------------------------------------------------------- */

/* "number-event" */
static bool read_place(struct str text, uint64_t *number, uint64_t *event)
{
    char copy[48];
    int end = 0;
    if (text.n == 0 || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    return sscanf(copy, "%16" SCNx64 "-%20" SCNu64 "%n", number, event, &end) == 2 &&
           (size_t)end == text.n;
}

static struct channel *channel_find(struct channels *s, const struct session *session,
                                    uint64_t number)
{
    struct channel *c = s->buckets ? *channel_bucket(s, session) : NULL;
    while (c && !(channel_is_of(c, session) && c->number == number))
        c = c->next;
    return c;
}

static void refuse_place(struct http_request *rq, struct http_response *rs,
                         struct str last)
{
    http_refuse(rq, rs, 400,
                "Last-Event-ID '%.*s' is not a stored event of this session; open a "
                "new stream without it",
                STR_ARGS(str_cut(last, 60)));
}

/* Goes on behind an event. The lock is held. */
static void channel_resume(struct channels *s, struct channel *c, uint64_t event,
                           struct http_request *rq, struct http_response *rs,
                           struct line **ends)
{
    channel_take_line(c, ends);
    events_head(rs);
    for (const struct event *v = c->first_kept; v; v = v->after)
        if (v->number > event)
            buf_put(&rs->body, v->text, v->n);
    if (connect_line(s, c, rq, rs) && c->over)
        channel_take_line(c, ends);
}

static void listen_anew(struct channels *s, const struct session *session,
                        const char *who, struct http_request *rq,
                        struct http_response *rs, struct line **ends)
{
    struct channel *c = channel_new(s, session, who, ends);
    if (!c) {
        http_refuse(rq, rs, 429, "this session has %u streams; end some of them first",
                    CHANNELS_SESSION_MAX);
        return;
    }
    events_head(rs);
    put_primer(c, &rs->body);
    if (!connect_line(s, c, rq, rs))
        channel_drop(s, channel_bucket(s, session), ends); /* it stands first */
}

void channels_listen(struct channels *s, const struct session *session, const char *who,
                     struct str last, struct http_request *rq, struct http_response *rs)
{
    uint64_t number, event;
    struct line *ends = NULL;
    start_beating(s);
    pthread_mutex_lock(&s->lock);
    if (!last.n) {
        listen_anew(s, session, who, rq, rs, &ends);
    } else {
        struct channel *c =
            read_place(last, &number, &event) ? channel_find(s, session, number) : NULL;
        if (c && event <= c->last)
            channel_resume(s, c, event, rq, rs, &ends);
        else
            refuse_place(rq, rs, last);
    }
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

/* The one that messages without a call go to: with a reader, before one that waits for
 * its reader to come back. The lock is held. */
static struct channel *listener(struct channels *s, const struct session *session)
{
    struct channel *away = NULL;
    for (struct channel *c = s->buckets ? *channel_bucket(s, session) : NULL; c;
         c = c->next) {
        if (c->of_call || !channel_is_of(c, session))
            continue;
        if (c->line)
            return c;
        away = away ? away : c;
    }
    return away;
}

bool channels_tell(struct channels *s, const struct session *session, struct str message)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    struct channel *c = listener(s, session);
    bool ok = c && channel_send(s, c, message, &ends);
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
    return ok;
}

void channels_tell_all(struct channels *s, const char *who, enum client_level level,
                       struct str message)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; s->buckets && i < BUCKETS; i++)
        for (struct channel *c = s->buckets[i]; c; c = c->next) {
            if (c->of_call || strncmp(c->who, who, WHO_MAX) != 0 ||
                listener(s, &c->session) != c)
                continue;
            unsigned least = sessions_log_least(s->sessions, &c->session);
            if (least == LOG_UNASKED || level >= least)
                (void)channel_send(s, c, message, &ends);
        }
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

/* ---- the end ------------------------------------------------------------ */

void channels_end_session(struct channels *s, const struct session *session)
{
    struct line *ends = NULL;
    pthread_mutex_lock(&s->lock);
    for (struct channel **at = s->buckets ? channel_bucket(s, session) : NULL; at && *at;)
        if (channel_is_of(*at, session))
            channel_drop(s, at, &ends);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&s->lock);
    end_lines(ends);
}

/* Tends one channel of a bucket; calls' lines have the call's own signs of life. */
static bool look_after(struct channels *s, struct channel **at, int64_t now,
                       struct line **ends)
{
    struct channel *c = *at;
    if (is_stale(s, c, now) || !sessions_touch(s->sessions, &c->session, now, c->line)) {
        channel_drop(s, at, ends);
        return false;
    }
    if (c->line && !c->running)
        (void)channel_put(c, STR(":\n\n"), ends);
    return true;
}

/* A bucket at a time, so that nobody waits for all of them. */
static void beat_all(void *arg)
{
    struct channels *s = arg;
    int64_t now = os_mono_ms();
    for (unsigned i = 0; i < BUCKETS; i++) {
        struct line *ends = NULL;
        pthread_mutex_lock(&s->lock);
        while (s->oldest && now - s->oldest->at_ms > s->kept_ms)
            channel_forget(s, s->oldest->channel);
        for (struct channel **at = s->buckets ? &s->buckets[i] : NULL; at && *at;)
            if (look_after(s, at, now, &ends))
                at = &(*at)->next;
        pthread_mutex_unlock(&s->lock);
        end_lines(ends);
    }
}

void channels_init(struct channels *s, struct sessions *sessions, struct ticker *ticker)
{
    *s = (struct channels){.sessions = sessions,
                           .ticker = ticker,
                           .beat = {.fn = beat_all, .arg = s},
                           .hold_ms = HOLD_MS,
                           .kept_ms = KEPT_MS};
    pthread_mutex_init(&s->lock, NULL);
}

void channels_done(struct channels *s)
{
    if (s->beating)
        ticker_leave(s->ticker, &s->beat);
    for (unsigned i = 0; s->buckets && i < BUCKETS; i++)
        while (s->buckets[i]) {
            struct channel *c = s->buckets[i];
            must(!c->line && !c->running);
            s->buckets[i] = c->next;
            channel_free(s, c);
        }
    free(s->buckets);
    pthread_mutex_destroy(&s->lock);
}
