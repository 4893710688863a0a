/* The thread for all requests on their way: it drives each line's own multi handle by its
 * sockets' events. Lines are not joined to one handle, because sessions would
 * then share connections: one whose address was granted to one is not for another. */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "egress/internal.h"
#include "os/os.h"

#define STACK_SIZE ((size_t)1 << 20)
#define WAIT_MAX_MS 60000u

struct egress_loop {
    int events, bell; /* bell: there is something under the lock */
    pthread_mutex_t lock;
    pthread_cond_t done;
    pthread_t thread;
    bool has_thread, ending;
    struct hop *submitted;
    struct hop *under_way; /* of the thread alone */
};

/* A socket that is watched; curl keeps it. */
struct watched {
    struct line *line;
    int fd;
};

struct egress_loop *egress_loop_new(void)
{
    struct egress_loop *l = mem_new(sizeof *l);
    l->events = l->bell = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->done, NULL);
    return l;
}

static void ring(struct egress_loop *l)
{
    uint64_t one = 1;
    (void)!write(l->bell, &one, sizeof one);
}

void egress_loop_free(struct egress_loop *l)
{
    if (!l)
        return;
    if (l->has_thread) {
        pthread_mutex_lock(&l->lock);
        l->ending = true;
        pthread_mutex_unlock(&l->lock);
        ring(l);
        pthread_join(l->thread, NULL);
    }
    os_close(l->events);
    os_close(l->bell);
    pthread_cond_destroy(&l->done);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- curl's callbacks; on the loop's thread ------------------------------------- */

static int loop_watch(CURL *easy, curl_socket_t fd, int what, void *arg, void *kept)
{
    struct line *line = arg;
    struct watched *w = kept;
    int events = line->loop->events;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(events, EPOLL_CTL_DEL, fd, NULL);
        free(w);
        curl.multi_assign(line->multi, fd, NULL);
        return 0;
    }
    int how = w ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (!w) {
        w = mem_new(sizeof *w);
        *w = (struct watched){line, fd};
        curl.multi_assign(line->multi, fd, w);
    }
    struct epoll_event e = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                      (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
                            .data.ptr = w};
    return epoll_ctl(events, how, fd, &e);
}

static int set_due(CURLM *multi, long ms, void *arg)
{
    struct line *line = arg;
    (void)multi;
    line->due_ns = ms < 0 ? UINT64_MAX : os_in_ms((uint64_t)ms);
    return 0;
}

static void set_line(struct line *line, struct egress_loop *l)
{
    line->loop = l;
    line->due_ns = UINT64_MAX;
    curl.multi_setopt(line->multi, CURLMOPT_SOCKETFUNCTION, l ? loop_watch : NULL);
    curl.multi_setopt(line->multi, CURLMOPT_SOCKETDATA, line);
    curl.multi_setopt(line->multi, CURLMOPT_TIMERFUNCTION, l ? set_due : NULL);
    curl.multi_setopt(line->multi, CURLMOPT_TIMERDATA, line);
}

/* ---- hops -------------------------------------------------------------------------- */

static void loop_finish_hop(struct egress_loop *l, struct hop *h, CURLcode code)
{
    struct hop **at = &l->under_way;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    h->code = code;
    hop_end(h);
    set_line(h->line, NULL);
    pthread_mutex_lock(&l->lock);
    h->state = HOP_DONE;
    if (h->wake)
        h->wake(h->wake_arg);
    pthread_cond_broadcast(&l->done);
    pthread_mutex_unlock(&l->lock); /* from then on it may be gone */
}

static void line_reap(struct egress_loop *l, struct line *line)
{
    int left;
    const CURLMsg *m = curl.multi_info_read(line->multi, &left);
    struct hop *h = l->under_way;
    while (m && h && h->line != line)
        h = h->next;
    if (m && h)
        loop_finish_hop(l, h, m->data.result);
}

static void act(struct egress_loop *l, struct line *line, curl_socket_t fd, int events)
{
    int running;
    (void)curl.multi_socket_action(line->multi, fd, events, &running);
    line_reap(l, line);
}

static void begin_submitted(struct egress_loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct hop *list = take(l->submitted);
    pthread_mutex_unlock(&l->lock);
    for (struct hop *h = list, *next; h; h = next) {
        next = h->next;
        h->next = l->under_way;
        l->under_way = h;
        set_line(h->line, l);
        if (hop_begin(h, h->line))
            act(l, h->line, CURL_SOCKET_TIMEOUT, 0);
        else
            loop_finish_hop(l, h, CURLE_OUT_OF_MEMORY);
    }
}

static bool is_called_off(struct egress_loop *l, const struct hop *h)
{
    pthread_mutex_lock(&l->lock);
    bool off = h->called_off;
    pthread_mutex_unlock(&l->lock);
    return off;
}

static void end_called_off(struct egress_loop *l)
{
    for (struct hop *h = l->under_way, *next; h; h = next) {
        next = h->next;
        if (!is_called_off(l, h))
            continue;
        err_set(&h->why, ERR_CANCELLED, "the request to %s was called off", h->to->host);
        loop_finish_hop(l, h, CURLE_ABORTED_BY_CALLBACK);
    }
}

/* Calls curl where it is time; answers for how long nothing is to do. */
static int keep_time(struct egress_loop *l)
{
    uint64_t now = os_mono_ns(), due = now + WAIT_MAX_MS * (uint64_t)1000000;
    for (struct hop *h = l->under_way, *next; h; h = next) {
        next = h->next;
        if (h->line->due_ns <= now) {
            h->line->due_ns = UINT64_MAX;
            act(l, h->line, CURL_SOCKET_TIMEOUT, 0);
        }
    }
    for (struct hop *h = l->under_way; h; h = h->next)
        due = h->line->due_ns < due ? h->line->due_ns : due;
    now = os_mono_ns();
    return due > now ? (int)((due - now + 999999) / 1000000) : 0;
}

/* Events are handled one at a time: handling one may withdraw others. */
static void *drive_all(void *arg)
{
    struct egress_loop *l = arg;
    for (bool rung = true;;) {
        pthread_mutex_lock(&l->lock);
        bool ending = l->ending;
        pthread_mutex_unlock(&l->lock);
        if (ending)
            return NULL;
        if (rung) {
            begin_submitted(l);
            end_called_off(l);
        }
        rung = false;
        struct epoll_event e;
        if (epoll_wait(l->events, &e, 1, keep_time(l)) != 1)
            continue;
        struct watched *w = e.data.ptr;
        if (!w) {
            uint64_t count;
            (void)!read(l->bell, &count, sizeof count);
            rung = true;
        } else {
            act(l, w->line, w->fd,
                (e.events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                    (e.events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (e.events & EPOLLERR ? CURL_CSELECT_ERR : 0));
        }
    }
}

/* ---- from other threads ---------------------------------------------------------------- */

/* With the lock. */
static bool loop_start(struct egress_loop *l)
{
    struct epoll_event e = {.events = EPOLLIN};
    if (l->has_thread)
        return true;
    if (l->events < 0)
        l->events = epoll_create1(EPOLL_CLOEXEC);
    if (l->bell < 0) {
        l->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (l->events < 0 || l->bell < 0 ||
            epoll_ctl(l->events, EPOLL_CTL_ADD, l->bell, &e) != 0)
            return false;
    }
    l->has_thread = os_thread_start(&l->thread, "egress", STACK_SIZE, drive_all, l);
    return l->has_thread;
}

bool loop_submit(struct egress_loop *l, struct hop *h, struct line *line, struct err *e)
{
    h->line = line;
    h->state = HOP_UNDER_WAY;
    pthread_mutex_lock(&l->lock);
    bool ok = loop_start(l);
    if (ok) {
        h->next = l->submitted;
        l->submitted = h;
        ring(l);
    }
    pthread_mutex_unlock(&l->lock);
    return ok || err_set(e, ERR_IO, "the system has no thread left for requests");
}

bool loop_is_done(struct egress_loop *l, struct hop *h)
{
    pthread_mutex_lock(&l->lock);
    bool done = h->state == HOP_DONE;
    pthread_mutex_unlock(&l->lock);
    return done;
}

void loop_call_off(struct egress_loop *l, struct hop *h)
{
    pthread_mutex_lock(&l->lock);
    h->called_off = true;
    ring(l);
    pthread_mutex_unlock(&l->lock);
}

void loop_await(struct egress_loop *l, struct hop *h)
{
    pthread_mutex_lock(&l->lock);
    while (h->state == HOP_UNDER_WAY)
        pthread_cond_wait(&l->done, &l->lock);
    pthread_mutex_unlock(&l->lock);
}
