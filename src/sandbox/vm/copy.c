/* Copies of machines: what the connection to one knows, and the machine itself, at the same
 * moment.
 *
 * The machine is copied between two of its steps, whatever runs in it, so that bytes of an
 * incomplete frame are part of the copy, in both directions. A command that ran belongs to a
 * caller of the copied machine: in machines that are made of the copy it is killed, and what it
 * prints until then is thrown away. */
#include "vm/copy.h"

#include <signal.h>
#include <stdio.h>

struct vm_copy *vm_copy_new(void)
{
    struct vm_copy *c = mem_new(sizeof *c);
    buf_init(&c->part, FRAME_HEAD + VM_FRAME_MAX);
    buf_init(&c->places, COPY_PLACES_MAX);
    return c;
}

void vm_copy_drop(struct vm_copy *c)
{
    if (!c)
        return;
    machine_copy_drop(c->machine);
    buf_done(&c->part);
    buf_done(&c->places);
    free(c);
}

uint32_t vm_copy_ram_mb(const struct vm_copy *c)
{
    return c->ram_mb;
}

/* ---- copying ---------------------------------------------------------------------- */

struct copying {
    struct vm *vm;
    struct vm_copy *copy;
    const struct err *last;
};

/* On the machine's thread. */
static void copy_connection(void *arg)
{
    struct copying *w = arg;
    struct vm *m = w->vm;
    struct vm_copy *c = w->copy;
    pthread_mutex_lock(&m->lock);
    c->ram_mb = m->made_of.ram_mb;
    c->last_id = m->last_id;
    c->last_session = m->last_session;
    c->unready = m->unready;
    for (struct exec *x = m->execs; x && c->exec_count < VM_EXECS_MAX; x = x->next)
        if (!x->ended)
            c->execs[c->exec_count++] = x->id;
    for (struct session *s = m->sessions; s && c->session_count < VM_SESSIONS_MAX;
         s = s->next) {
        struct copy_session *to = &c->sessions[c->session_count++];
        to->number = s->number;
        memcpy(to->name, s->name, sizeof to->name);
    }
    buf_str(&c->part, buf_view(&m->frames.part));
    mounts_places(m, &c->places);
    if (w->last)
        port_end(m, true, w->last);
    pthread_mutex_unlock(&m->lock);
}

struct vm_copy *vm_copy_ending(struct vm *m, const struct err *last, struct err *e)
{
    struct copying w = {.vm = m, .copy = vm_copy_new(), .last = last};
    pthread_mutex_lock(&m->lock);
    bool up = !m->over && m->machine;
    if (up)
        m->copies++;
    else
        err_set(e, ERR_NOT_FOUND, "machine %s has ended: %.220s", m->handle, m->why.msg);
    struct machine *machine = m->machine;
    pthread_mutex_unlock(&m->lock);
    if (up) {
        w.copy->machine = machine_copy(machine, copy_connection, &w, e);
        pthread_mutex_lock(&m->lock);
        m->copies--;
        pthread_cond_broadcast(&m->ready);
        pthread_mutex_unlock(&m->lock);
    }
    if (w.copy->machine && !w.copy->part.failed && !w.copy->places.failed)
        return w.copy;
    if (up && !e->code)
        err_set(e, ERR_BUSY, "there is no memory for a copy of a machine");
    vm_copy_drop(w.copy);
    return NULL;
}

struct vm_copy *vm_copy(struct vm *m, struct err *e)
{
    return vm_copy_ending(m, NULL, e);
}

/* ---- a machine that continues from a copy ---------------------------------------------- */

void copy_join(struct vm *m, const struct vm_copy *c)
{
    m->last_id = m->past_id = c->last_id;
    m->last_session = c->last_session;
    m->unready = c->unready;
    buf_str(&m->frames.part, buf_view(&c->part));
    for (size_t i = c->session_count; i > 0; i--)
        session_revive(m, c->sessions[i - 1].name, c->sessions[i - 1].number);
}

void copy_end_mounts(struct vm *m, const struct vm_copy *c)
{
    struct str rest = buf_view(&c->places);
    while (rest.n) {
        size_t n = strnlen(rest.at, rest.n);
        mounts_take_past(m, (struct str){rest.at, n});
        rest = (struct str){rest.at + n + (n < rest.n), rest.n - n - (n < rest.n)};
    }
}

void copy_end_execs(struct vm *m, const struct vm_copy *c)
{
    for (size_t i = 0; i < c->exec_count; i++)
        port_send_u32(m, c->execs[i], VM_SIGNAL, SIGKILL);
}
