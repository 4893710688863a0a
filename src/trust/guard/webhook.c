/* Alerts on their way to the user's webhook: a few wait in a queue for one thread, which
 * ends with the guard. What cannot be sent is dropped: the trail has it. */
#include <stdio.h>

#include "egress/egress.h"
#include "guard/internal.h"
#include "os/os.h"
#include "uri/uri.h"

#define WAITING_MAX 32u
#define BODY_MAX ((size_t)4 << 10)
#define SEND_MS 5000u

struct message {
    struct message *next;
    char *url;
    struct buf body;
};

struct webhook {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct message *first, *last;
    unsigned waiting;
    pthread_t thread;
    bool has_thread, stop;
    struct cancel cancel;
};

static void message_free(struct message *m)
{
    buf_done(&m->body);
    free(m->url);
    free(m);
}

/* A person chose this address: it may be one of this machine. */
static struct egress_rules *rules_for(const char *url, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(BODY_MAX);
    struct uri u;
    if (!uri_read(str_of(url), &u)) {
        err_set(e, ERR_INVALID, "'%.100s' names no host", url);
        return NULL;
    }
    const char *usual = str_is(u.scheme, "https") ? ":443" : ":80";
    bool is_address =
        strspn(u.authority.at, "0123456789.:[]abcdefABCDEF") >= u.authority.n ||
        str_starts(u.host, "localhost");
    struct json_writer w = json_writer(&text);
    char name[300];
    json_open_object(&w);
    json_key(&w, "hosts");
    json_open_array(&w);
    json_put_str(&w, u.origin);
    json_close(&w);
    if (is_address) {
        json_key(&w, "allowPrivate");
        json_open_array(&w);
        (void)snprintf(name, sizeof name, "%.*s%s", STR_ARGS(u.authority),
                       u.port.at ? "" : usual);
        json_put_cstr(&w, name);
        json_close(&w);
    }
    json_close(&w);
    const struct json *network =
        buf_check(&text, "the webhook", e) ? json_read(buf_view(&text), a, e) : NULL;
    return network ? egress_rules_read(network, e) : NULL;
}

static void send_message(struct webhook *h, const struct message *m)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    scoped(egress_rules_free) struct egress_rules *rules = rules_for(m->url, a, &e);
    if (!rules)
        return;
    scoped(egress_close) struct egress *g = egress_open(&(struct egress_options){
        .rules = rules, .cancel = &h->cancel, .fetch_ms = SEND_MS});
    struct egress_header type = {STR("content-type"), STR("application/json")};
    struct egress_request q = {.method = STR("POST"),
                               .url = str_of(m->url),
                               .headers = &type,
                               .header_count = 1,
                               .body = buf_view(&m->body),
                               .has_body = true,
                               .redirect = EGRESS_ERROR};
    struct egress_response r;
    egress_response_init(&r);
    (void)egress_fetch(g, &q, &r, &e);
    egress_response_done(&r);
}

static void *webhook_main(void *arg)
{
    struct webhook *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        struct message *m = h->first;
        if (!m && h->stop)
            break;
        if (!m) {
            pthread_cond_wait(&h->wake, &h->lock);
            continue;
        }
        h->first = m->next;
        if (!h->first)
            h->last = NULL;
        h->waiting--;
        pthread_mutex_unlock(&h->lock);
        send_message(h, m);
        message_free(m);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct webhook *webhook_new(void)
{
    struct webhook *h = mem_new(sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    cancel_init(&h->cancel);
    return h;
}

/* Waiting alerts are still sent, each within SEND_MS. */
void webhook_free(struct webhook *h)
{
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    if (h->has_thread)
        pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

void webhook_send(struct webhook *h, const char *url, const struct alert *alert,
                  const char *kind)
{
    struct message *m = mem_new(sizeof *m);
    m->url = mem_strdup(url);
    buf_init(&m->body, BODY_MAX);
    struct json_writer w = json_writer(&m->body);
    json_open_object(&w);
    json_pair_cstr(&w, "source", "cloche");
    json_pair_time(&w, "time", os_real_ms());
    json_pair_cstr(&w, "kind", kind);
    json_pair_str(&w, "caller", str_cut(str_of(alert->caller), 63));
    client_claim_put(alert->claim, &w);
    json_pair_cstr(&w, "message", alert->message);
    json_pair_bool(&w, "paused", alert->paused);
    json_close(&w);
    pthread_mutex_lock(&h->lock);
    bool full = h->waiting == WAITING_MAX || m->body.failed;
    if (!full) {
        *(h->last ? &h->last->next : &h->first) = m;
        h->last = m;
        h->waiting++;
        if (!h->has_thread)
            h->has_thread = os_thread_start(&h->thread, "webhook", 0, webhook_main, h);
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&h->lock);
    if (full)
        message_free(m);
}
