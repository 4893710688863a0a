/* Things that are made by the first who needs them. */
#include "base/base.h"

void *once_need(struct once *o, void *(*make)(void *arg, struct err *e), void *arg,
                struct err *e)
{
    void *made = once_peek(o);
    if (made)
        return made;
    pthread_mutex_lock(&o->lock);
    made = once_peek(o);
    if (!made && (made = make(arg, e)))
        atomic_store_explicit(&o->made, made, memory_order_release);
    pthread_mutex_unlock(&o->lock);
    return made;
}
