/* The pool of processes, and how many each principal may have busy. */
#include "sql/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "sql/wire.h"

#define PROGRAM "cloche-sql"
#define IDLE_MAX 4 /* processes that wait for a query; each ends by itself after 30 s */
#define MEMORY_SHARE \
    ((uint64_t)1 << 30) /* of the computer's, a process that may be busy */
#define SIZE_LEAST 2u
#define SIZE_MOST 16u

struct sql_pool {
    char *guest_dir;
    unsigned size;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct turn *busy;
    unsigned busy_count;
    struct process *idle; /* the last used first */
};

/* ---- the pool ---------------------------------------------------------------- */

unsigned sql_pool_size(void)
{
    uint64_t n = os_memory_bytes() / MEMORY_SHARE;
    return n < SIZE_LEAST ? SIZE_LEAST : n > SIZE_MOST ? SIZE_MOST : (unsigned)n;
}

struct sql_pool *sql_pool_new(const char *guest_dir)
{
    struct sql_pool *p = mem_new(sizeof *p);
    p->guest_dir = mem_strdup(guest_dir);
    p->size = sql_pool_size();
    must(pthread_mutex_init(&p->lock, NULL) == 0);
    must(pthread_cond_init(&p->freed, NULL) == 0);
    return p;
}

static void end_all(struct process *w)
{
    for (struct process *next; w; w = next) {
        next = w->next;
        process_end(w);
    }
}

void sql_pool_free(struct sql_pool *p)
{
    if (!p)
        return;
    end_all(p->idle);
    pthread_cond_destroy(&p->freed);
    pthread_mutex_destroy(&p->lock);
    free(p->guest_dir);
    free(p);
}

/* ---- turns --------------------------------------------------------------------- */

enum err_code query_stopped(const struct sql_caller *by, const struct sql_query *q)
{
    for (size_t i = 0; i < LENGTH(by->cancels); i++)
        if (cancel_fired(by->cancels[i]))
            return ERR_CANCELLED;
    return os_mono_ns() > q->until_ns ? ERR_TIMEOUT : ERR_NONE;
}

/* A principal must leave as many to others as it has: the last are for those with few. */
static bool has_room(const struct sql_pool *p, const char *who)
{
    unsigned own = 0;
    for (const struct turn *s = p->busy; s; s = s->next)
        own += !strcmp(s->who, who);
    return own < SQL_PROCESSES_OF_ONE && p->size - p->busy_count > own;
}

static void wait_a_moment(struct sql_pool *p)
{
    (void)os_cond_wait(&p->freed, &p->lock, os_in_ms(LOOK_MS));
}

bool turn_take(const struct sql_caller *by, struct turn *s, const struct sql_query *q,
               struct err *e)
{
    struct sql_pool *p = by->pool;
    enum err_code stopped = ERR_NONE;
    s->who = by->principal ? by->principal : "";
    pthread_mutex_lock(&p->lock);
    while (!has_room(p, s->who) && !(stopped = query_stopped(by, q)))
        wait_a_moment(p);
    if (!stopped) {
        s->next = p->busy;
        p->busy = s;
        p->busy_count++;
    }
    pthread_mutex_unlock(&p->lock);
    if (stopped == ERR_CANCELLED)
        return db_outside_stopped(stopped, e);
    return !stopped ||
           err_set(
               e, ERR_BUSY,
               "the query did not begin within its time, since others are running: at "
               "most %u at a time, of one caller %u",
               p->size, SQL_PROCESSES_OF_ONE);
}

void turn_leave(struct sql_pool *p, struct turn *s)
{
    pthread_mutex_lock(&p->lock);
    struct turn **at = &p->busy;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    p->busy_count--;
    pthread_cond_broadcast(&p->freed);
    pthread_mutex_unlock(&p->lock);
}

/* ---- processes ------------------------------------------------------------------- */

void process_end(struct process *w)
{
    if (!w)
        return;
    apart_end(w->apart);
    os_close(w->socket);
    free(w);
}

static bool has_open(const struct process *w, const struct sql_source *source)
{
    return w->inode == source->inode && !strcmp(w->path, source->path);
}

/* Drops processes that have ended, and those of a file that was replaced. */
struct process *process_idle(struct sql_pool *p, const struct sql_source *source)
{
    struct process *found = NULL, *dead = NULL;
    pthread_mutex_lock(&p->lock);
    for (struct process **at = &p->idle; *at;) {
        struct process *w = *at;
        bool same_path = !strcmp(w->path, source->path);
        bool dies = apart_is_over(w->apart) || (same_path && w->inode != source->inode);
        bool fits = !dies && !found && *source->path && has_open(w, source);
        if (!dies && !fits) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->next = fits ? NULL : dead;
        if (fits)
            found = w;
        else
            dead = w;
    }
    pthread_mutex_unlock(&p->lock);
    end_all(dead);
    return found;
}

void process_keep(struct sql_pool *p, struct process *w)
{
    struct process *last = w;
    w->is_used = true;
    if (*w->path) {
        unsigned count = 1;
        pthread_mutex_lock(&p->lock);
        w->next = p->idle;
        p->idle = w;
        while (count < IDLE_MAX && last->next) {
            last = last->next;
            count++;
        }
        w = last->next;
        last->next = NULL;
        pthread_mutex_unlock(&p->lock);
    }
    end_all(w);
}

/* ---- beginning ---------------------------------------------------------------------- */

static void put_open(const struct sql_source *source, struct buf *out)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    if (*source->path) {
        json_pair_cstr(&w, "path", source->path);
        json_pair_int(&w, "inode", (int64_t)source->inode);
    }
    json_key(&w, "views");
    json_open_array(&w);
    for (size_t i = 0; i < source->view_count; i++) {
        json_open_array(&w);
        json_put_cstr(&w, source->views[i].name);
        json_put_cstr(&w, source->views[i].select);
        json_close(&w);
    }
    json_close(&w);
    json_pair_cstr(&w, "inner", source->inner ? source->inner : "");
    json_close(&w);
}

/* Fits into the socket's buffer: nobody waits. */
static bool send_open(int socket, const struct sql_source *source, struct err *e)
{
    scoped_buf struct buf body, text;
    buf_init(&body, OPEN_MAX);
    buf_init(&text, OPEN_MAX + sizeof(struct frame_head));
    put_open(source, &body);
    struct frame_head head = {FRAME_OPEN, (uint32_t)body.n};
    buf_put(&text, &head, sizeof head);
    buf_str(&text, buf_view(&body));
    return buf_check(&body, "the views", e) &&
           (send(socket, text.at, text.n, MSG_NOSIGNAL) == (ssize_t)text.n ||
            err_set(e, ERR_IO, "cannot speak to the program " PROGRAM ": %m"));
}

struct process *process_begin(struct sql_pool *p, const struct sql_source *source,
                              struct err *e)
{
    int ends[2];
    scoped(free) char *program =
        apart_find(p->guest_dir, PROGRAM, NULL, "runs SQL queries", e);
    if (!program)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        err_set(e, ERR_IO, "cannot begin the program " PROGRAM ": %m");
        return NULL;
    }
    scoped_fd int own = ends[0], other = ends[1];
    (void)fcntl(own, F_SETFL, O_NONBLOCK);
    scoped(apart_end) struct apart *apart = apart_begin(
        &(struct apart_program){
            .path = program, .in = other, .out = -1, .given = source->copy},
        e);
    if (!apart || !send_open(own, source, e))
        return NULL;
    size_t n = strlen(source->path) + 1;
    struct process *w = mem_new(sizeof *w + n);
    w->apart = take(apart);
    w->socket = own;
    w->inode = source->inode;
    memcpy(w->path, source->path, n);
    own = -1;
    return w;
}
