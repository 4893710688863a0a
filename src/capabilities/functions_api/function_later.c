/* Background checks: a function whose types were never checked on this machine, because
 * its file came from elsewhere or the program is new, can be called at once; the next
 * call has its arguments compared with the types found meanwhile.
 *
 * One thread, one function at a time, each version once in the life of the process. */
#include <pthread.h>

#include "functions_api/checking.h"
#include "functions_api/functioning.h"
#include "os/os.h"

#define WAITING_MAX 64u
#define SEEN_MAX 1024u
#define SEEN_HASH 17u

struct waiting {
    const struct function *fn;
    const struct function_set *among;
};

struct later {
    struct actions *actions;
    struct cancel stopping;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t more;
    bool ends;
    struct waiting row[WAITING_MAX];
    size_t first, count;
    char seen[SEEN_MAX][SEEN_HASH]; /* a ring */
    size_t seen_count;
};

/* Waits for the next one; false: it is closing. */
static bool next_waiting(struct later *l, struct waiting *out)
{
    pthread_mutex_lock(&l->lock);
    while (!l->count && !l->ends)
        pthread_cond_wait(&l->more, &l->lock);
    bool got = !l->ends;
    if (got) {
        *out = l->row[l->first];
        l->first = (l->first + 1) % WAITING_MAX;
        l->count--;
    }
    pthread_mutex_unlock(&l->lock);
    return got;
}

static void *check_all(void *arg)
{
    struct later *l = arg;
    struct waiting w;
    while (next_waiting(l, &w)) {
        struct err none = {0};
        checker_drop(checking_function(l->actions, w.fn, w.among, &l->stopping, &none));
        function_set_drop(w.among);
    }
    return NULL;
}

struct later *later_new(struct actions *a)
{
    struct later *l = mem_new(sizeof *l);
    l->actions = a;
    cancel_init(&l->stopping);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    return l;
}

void later_free(struct later *l)
{
    pthread_mutex_lock(&l->lock);
    l->ends = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    cancel_fire(&l->stopping);
    if (l->started)
        pthread_join(l->thread, NULL);
    for (; l->count; l->count--, l->first = (l->first + 1) % WAITING_MAX)
        function_set_drop(l->row[l->first].among);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* The lock is held. */
static bool is_seen(struct later *l, struct str hash)
{
    struct str start = str_cut(hash, SEEN_HASH - 1);
    for (size_t i = 0; i < l->seen_count && i < SEEN_MAX; i++)
        if (str_is(start, l->seen[i]))
            return true;
    return false;
}

/* The lock is held. */
static void later_put(struct later *l, const struct function *fn,
                      const struct function_set *among)
{
    char *seen = l->seen[l->seen_count++ % SEEN_MAX];
    struct str start = str_cut(fn->hash, SEEN_HASH - 1);
    memcpy(seen, start.at, start.n);
    seen[start.n] = 0;
    l->row[(l->first + l->count++) % WAITING_MAX] =
        (struct waiting){fn, function_set_hold(among)};
    pthread_cond_signal(&l->more);
}

void later_check(struct later *l, const struct function *fn,
                 const struct function_set *among)
{
    if (!among || !fn->hash.n)
        return;
    pthread_mutex_lock(&l->lock);
    if (!l->started)
        l->started = os_thread_start(&l->thread, "fn-check", 0, check_all, l);
    if (l->started && !l->ends && l->count < WAITING_MAX && !is_seen(l, fn->hash))
        later_put(l, fn, among);
    pthread_mutex_unlock(&l->lock);
}
