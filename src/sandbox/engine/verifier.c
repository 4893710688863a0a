/* The thread that compares slots with their images: it takes as long as a hundred calls, so no
 * call waits for it. A slot is out of use meanwhile. */
#include "engine/image.h"
#include "os/os.h"

#define STACK ((size_t)128 << 10)

struct verifier {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct slot *first; /* that wait */
    bool has_thread, ending;
    pthread_t thread;
};

struct verifier *verifier_new(void)
{
    struct verifier *v = mem_new(sizeof *v);
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->wake, NULL);
    return v;
}

static void *verify_all(void *arg)
{
    struct verifier *v = arg;
    os_thread_behind();
    pthread_mutex_lock(&v->lock);
    while (v->first || !v->ending) {
        struct slot *s = v->first;
        if (!s) {
            pthread_cond_wait(&v->wake, &v->lock);
            continue;
        }
        v->first = s->next;
        pthread_mutex_unlock(&v->lock);
        slot_compare(s);
        pthread_mutex_lock(&v->lock);
    }
    pthread_mutex_unlock(&v->lock);
    return NULL;
}

bool verifier_take(struct verifier *v, struct slot *s)
{
    pthread_mutex_lock(&v->lock);
    if (!v->has_thread)
        v->has_thread =
            os_thread_start(&v->thread, "engine-verify", STACK, verify_all, v);
    bool ok = v->has_thread;
    if (ok) {
        s->next = v->first;
        v->first = s;
        pthread_cond_signal(&v->wake);
    }
    pthread_mutex_unlock(&v->lock);
    return ok;
}

void verifier_free(struct verifier *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&v->lock);
    v->ending = true;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->lock);
    if (v->has_thread)
        pthread_join(v->thread, NULL);
    pthread_cond_destroy(&v->wake);
    pthread_mutex_destroy(&v->lock);
    free(v);
}
