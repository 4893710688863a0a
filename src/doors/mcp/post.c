#include "mcp/post.h"

/* ---- opening ------------------------------------------------------------ */

static void put_excuse(struct post *p)
{
    struct json_writer w =
        error_open(&p->excuse, p->call->id, err_kind(ERR_OUTPUT)->jsonrpc);
    json_pair_cstr(&w, "message",
                   "the call succeeded, but its result was too large to keep while the "
                   "client was disconnected; stay connected, or request less");
    json_close(&w);
    json_close(&w);
}

/* The lock is held. */
static bool is_open(struct post *p)
{
    if (!p->tried && p->accepts) {
        p->tried = true;
        if (p->has_channel) {
            put_excuse(p);
            p->channel = channels_open(p->channels, &p->call->session, p->rq, p->rs);
        } else {
            events_head(p->rs);
            p->http = http_stream_open(p->rq, p->rs, NULL, NULL);
        }
    }
    return p->channel || p->http;
}

static bool put_event(struct post *p, struct str message)
{
    scoped_buf struct buf event = buf_of(message.n + 64);
    events_data(&event, message);
    return !event.failed && http_stream_put(p->http, buf_view(&event));
}

static bool post_send(void *arg, struct str message, enum outlet_weight weight)
{
    (void)weight;
    struct post *p = arg;
    pthread_mutex_lock(&p->lock);
    bool ok = is_open(p) && (p->channel ? channel_say(p->channels, p->channel, message)
                                        : put_event(p, message));
    pthread_mutex_unlock(&p->lock);
    return ok;
}

static void post_beat(void *arg)
{
    struct post *p = arg;
    pthread_mutex_lock(&p->lock);
    if (is_open(p)) {
        if (p->channel)
            channel_beat(p->channels, p->channel);
        else
            (void)http_stream_put(p->http, STR(":\n\n"));
    }
    pthread_mutex_unlock(&p->lock);
}

static void let_go(void *arg)
{
    struct post *p = arg;
    pthread_mutex_lock(&p->lock);
    if (p->has_channel && is_open(p))
        channel_let_go(p->channels, p->channel);
    pthread_mutex_unlock(&p->lock);
}

static bool post_rest(void *arg, struct err *e)
{
    struct post *p = arg;
    return http_park(p->rq, e);
}

static void post_resume(void *arg)
{
    struct post *p = arg;
    http_unpark(p->rq);
}

void post_begin(struct post *p, const struct call *call, struct http_request *rq,
                struct http_response *rs)
{
    *p = (struct post){.channels = &call->m->channels,
                       .rq = rq,
                       .rs = rs,
                       .call = call,
                       .has_channel = call->session.there && call->era == ERA_LEGACY,
                       .accepts = call->events,
                       .outlet = {.say = post_send,
                                  .beat = post_beat,
                                  .let_go = let_go,
                                  .rest = post_rest,
                                  .resume = post_resume,
                                  .arg = p}};
    buf_init(&p->excuse, BUF_PAGE);
    pthread_mutex_init(&p->lock, NULL);
}

/* ---- the answer --------------------------------------------------------- */

static void end_plain(struct post *p, struct reply *r)
{
    struct http_response *rs = p->rs;
    /* Also over a refusal, where no stream could be opened. */
    buf_done(&rs->body);
    rs->body = *r->out;
    *r->out = (struct buf){0};
    rs->status = r->status;
    rs->type = rs->body.n || rs->body.failed ? "application/json" : NULL;
}

/* A cancelled request has no answer, but its POST has to have one: no events. */
static void end_empty(struct post *p)
{
    buf_clear(&p->rs->body);
    buf_cstr(&p->rs->body, ":\n\n");
    events_head(p->rs);
}

void post_end(struct post *p, struct reply *r)
{
    if (p->channel) {
        channel_end(p->channels, p->channel, buf_view(r->out), buf_view(&p->excuse));
    } else if (p->http) {
        if (r->out->n)
            (void)put_event(p, buf_view(r->out));
        http_stream_end(p->http);
    } else if (!r->out->n && !r->out->failed && r->status == 200 && p->accepts) {
        end_empty(p);
    } else {
        end_plain(p, r);
    }
    buf_done(&p->excuse);
    pthread_mutex_destroy(&p->lock);
}
