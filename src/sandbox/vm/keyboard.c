/* Input typed while a command runs. Threads of the keyboard's users write to the control
 * port themselves, within the machine's window, so that Ctrl-C passes while the command's
 * caller is busy with its output. */
#include "vm/internal.h"

struct vm_keyboard {
    pthread_mutex_t lock; /* guards all below; before vm.lock */
    pthread_cond_t changed;
    struct vm *in; /* with `to`: the running command, or NULL */
    struct exec *to;
    bool over;      /* its command has ended */
    unsigned users; /* threads that use `in` and `to` */
    bool ended;     /* set before the command began, as the next ones: */
    uint16_t rows, columns;
    uint64_t signals;
};

struct vm_keyboard *vm_keyboard_new(void)
{
    struct vm_keyboard *k = mem_new(sizeof *k);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->changed, NULL);
    return k;
}

void vm_keyboard_free(struct vm_keyboard *k)
{
    if (!k)
        return;
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

size_t input_send(struct vm *m, struct exec *x, struct str bytes)
{
    size_t room = VM_INPUT_WINDOW - x->untaken, n = bytes.n < room ? bytes.n : room;
    if (!x->takes_input || n == 0)
        return 0;
    scoped_buf struct buf frames;
    buf_init(&frames,
             VM_INPUT_WINDOW + FRAME_HEAD * (VM_INPUT_WINDOW / VM_FRAME_MAX + 1));
    frame_put_all(&frames, x->id, VM_INPUT, (struct str){bytes.at, n});
    if (frames.failed)
        return 0;
    x->untaken += (uint32_t)n;
    port_send(m, &frames);
    return n;
}

void input_end(struct vm *m, struct exec *x)
{
    if (x->takes_input)
        port_send_frame(m, x->id, VM_INPUT, STR(""));
    x->takes_input = false;
    exec_wake(x);
}

static void send_resize(struct vm *m, struct exec *x, uint16_t rows, uint16_t columns)
{
    uint16_t size[2] = {rows, columns};
    port_send_frame(m, x->id, VM_RESIZE, (struct str){(const char *)size, sizeof size});
}

void keyboard_attach(struct vm_keyboard *k, struct vm *m, struct exec *x)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    pthread_mutex_lock(&m->lock);
    k->in = m;
    k->to = x;
    if (k->rows)
        send_resize(m, x, k->rows, k->columns);
    for (uint32_t i = 1; i < 64; i++)
        if (k->signals >> i & 1)
            port_send_u32(m, x->id, VM_SIGNAL, i);
    if (k->ended)
        input_end(m, x);
    pthread_mutex_unlock(&m->lock);
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

void keyboard_detach(struct vm_keyboard *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->over = true;
    pthread_cond_broadcast(&k->changed);
    if (k->to) {
        pthread_mutex_lock(&k->in->lock);
        exec_wake(k->to);
        pthread_mutex_unlock(&k->in->lock);
    }
    while (k->users > 0)
        pthread_cond_wait(&k->changed, &k->lock);
    k->in = NULL;
    k->to = NULL;
    pthread_mutex_unlock(&k->lock);
}

/* The running command, if any, which stays until keyboard_leave(). Called with k->lock
 * held; releases it if true, keeps it if false. */
static bool keyboard_enter(struct vm_keyboard *k)
{
    if (!k->to || k->over)
        return false;
    k->users++;
    pthread_mutex_unlock(&k->lock);
    pthread_mutex_lock(&k->in->lock);
    return true;
}

static void keyboard_leave(struct vm_keyboard *k)
{
    pthread_mutex_unlock(&k->in->lock);
    pthread_mutex_lock(&k->lock);
    k->users--;
    pthread_cond_broadcast(&k->changed);
}

/* Whether the command still reads. With the machine's lock. */
static bool listens(const struct vm *m, const struct exec *x)
{
    return !m->over && !x->ended && x->takes_input;
}

/* Sends all of it; waits for room. */
static bool type_all(struct vm *m, struct exec *x, struct str bytes)
{
    while (bytes.n > 0 && listens(m, x)) {
        size_t n = input_send(m, x, bytes);
        bytes.at += n;
        bytes.n -= n;
        if (n == 0)
            pthread_cond_wait(&x->changed, &m->lock);
    }
    return bytes.n == 0;
}

bool vm_keyboard_type(struct vm_keyboard *k, struct str bytes)
{
    bool all = false;
    pthread_mutex_lock(&k->lock);
    while (!k->to && !k->over && !k->ended)
        pthread_cond_wait(&k->changed, &k->lock);
    if (keyboard_enter(k)) {
        all = type_all(k->in, k->to, bytes);
        keyboard_leave(k);
    }
    pthread_mutex_unlock(&k->lock);
    return all;
}

size_t vm_keyboard_offer(struct vm_keyboard *k, struct str bytes)
{
    size_t n = 0;
    pthread_mutex_lock(&k->lock);
    if (keyboard_enter(k)) {
        n = listens(k->in, k->to) ? input_send(k->in, k->to, bytes) : 0;
        keyboard_leave(k);
    }
    pthread_mutex_unlock(&k->lock);
    return n;
}

void vm_keyboard_end(struct vm_keyboard *k)
{
    pthread_mutex_lock(&k->lock);
    k->ended = true;
    pthread_cond_broadcast(&k->changed);
    if (keyboard_enter(k)) {
        input_end(k->in, k->to);
        keyboard_leave(k);
    }
    pthread_mutex_unlock(&k->lock);
}

void vm_keyboard_resize(struct vm_keyboard *k, uint16_t rows, uint16_t columns)
{
    pthread_mutex_lock(&k->lock);
    k->rows = rows;
    k->columns = columns;
    if (keyboard_enter(k)) {
        send_resize(k->in, k->to, rows, columns);
        keyboard_leave(k);
    }
    pthread_mutex_unlock(&k->lock);
}

void vm_keyboard_signal(struct vm_keyboard *k, int number)
{
    if (number < 1 || number > 63)
        return;
    pthread_mutex_lock(&k->lock);
    if (keyboard_enter(k)) {
        port_send_u32(k->in, k->to->id, VM_SIGNAL, (uint32_t)number);
        keyboard_leave(k);
    } else {
        k->signals |= (uint64_t)1 << number;
    }
    pthread_mutex_unlock(&k->lock);
}
