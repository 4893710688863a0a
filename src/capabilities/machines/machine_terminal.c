/* Terminals of commands: one that is typed into has a name, by which its caller finds it. */
#include "machines/machine_terminal.h"

#include <signal.h>
#include <stdio.h>

#include "os/os.h"

#define HANG_UP_NS ((uint64_t)2 * 1000000000) /* until the command is ended by force */

struct terminal {
    struct terminal *next;
    struct terminals *in;
    char name[TERMINAL_NAME_MAX + 1], owner[MACHINE_OWNER];
    const struct vm *machine; /* its holder closes the terminal before */
    struct vm_keyboard *keyboard;
    _Atomic uint64_t used_ns; /* when something was typed or printed last */
};

struct terminals {
    pthread_mutex_t lock; /* guards the list; taken before locks of the room vm */
    struct terminal *first;
};

struct terminals *terminals_new(void)
{
    struct terminals *all = mem_new(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    return all;
}

void terminals_free(struct terminals *all)
{
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- open and closed ------------------------------------------------------------------ */

bool terminal_name_check(struct str name, struct err *e)
{
    bool sound = name.n > 0 && name.n <= TERMINAL_NAME_MAX;
    for (size_t i = 0; sound && i < name.n; i++)
        sound = char_is_letter(name.at[i]) || char_is_digit(name.at[i]) ||
                name.at[i] == '_' || (i && memchr(".-", name.at[i], 2));
    return sound || err_set(e, ERR_INVALID,
                            "terminal.name is '%.*s'; at most %u letters, digits, '.', "
                            "'_' and '-' are accepted; nothing ran",
                            STR_ARGS(str_cut(name, 60)), TERMINAL_NAME_MAX);
}

/* With the lock; *count: of this owner. */
static struct terminal *find(struct terminals *all, const char *owner, struct str name,
                             unsigned *count)
{
    struct terminal *found = NULL;
    *count = 0;
    for (struct terminal *t = all->first; t; t = t->next)
        if (!strcmp(t->owner, owner)) {
            ++*count;
            found = str_is(name, t->name) ? t : found;
        }
    return found;
}

struct terminal *terminal_open(struct terminals *all, const char *owner,
                               const struct vm *m, struct str name, struct err *e)
{
    unsigned count;
    struct terminal *t = NULL;
    pthread_mutex_lock(&all->lock);
    if (find(all, owner, name, &count)) {
        err_set(e, ERR_CONFLICT, "the terminal '%.*s' is open; nothing ran",
                STR_ARGS(name));
    } else if (count >= TERMINALS_MAX) {
        err_set(e, ERR_LIMIT, "%u terminals are open, as many as may be; nothing ran",
                TERMINALS_MAX);
    } else {
        t = mem_new(sizeof *t);
        (void)snprintf(t->name, sizeof t->name, "%.*s", STR_ARGS(name));
        (void)snprintf(t->owner, sizeof t->owner, "%s", owner);
        t->keyboard = vm_keyboard_new();
        t->machine = m;
        t->in = all;
        t->next = all->first;
        all->first = t;
    }
    pthread_mutex_unlock(&all->lock);
    return t;
}

struct vm_keyboard *terminal_keyboard(struct terminal *t)
{
    return t->keyboard;
}

void terminal_close(struct terminal *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->in->lock);
    struct terminal **at = &t->in->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&t->in->lock);
    vm_keyboard_free(t->keyboard);
    free(t);
}

bool terminal_type(struct terminals *all, const char *owner,
                   const struct terminal_input *in, size_t *typed, struct err *e)
{
    unsigned count;
    *typed = 0;
    pthread_mutex_lock(&all->lock);
    struct terminal *t = find(all, owner, in->name, &count);
    if (t && in->machine.n && !str_is(in->machine, vm_handle(t->machine)))
        t = NULL;
    if (t) {
        atomic_store(&t->used_ns, os_mono_ns());
        if (in->rows && in->columns)
            vm_keyboard_resize(t->keyboard, in->rows, in->columns);
        if (in->bytes.n)
            *typed = vm_keyboard_offer(t->keyboard, in->bytes);
    }
    pthread_mutex_unlock(&all->lock);
    return t || err_set(e, ERR_NOT_FOUND, "no terminal '%.*s' is open",
                        STR_ARGS(str_cut(in->name, 60)));
}

/* ---- its command ---------------------------------------------------------------------- */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
};

static void waiter_wake(void *arg)
{
    struct waiter *w = arg;
    pthread_mutex_lock(&w->lock);
    w->woken = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void waiter_rest(struct waiter *w, uint64_t until_ns)
{
    pthread_mutex_lock(&w->lock);
    while (!w->woken && os_cond_wait(&w->changed, &w->lock, until_ns))
        ;
    w->woken = false;
    pthread_mutex_unlock(&w->lock);
}

struct printing {
    struct terminal *terminal;
    struct machine_live *live;
};

static void hear(void *arg, enum vm_stream which, struct str bytes)
{
    struct printing *p = arg;
    atomic_store(&p->terminal->used_ns, os_mono_ns());
    machine_live_output(p->live, which, bytes);
}

/* true: it was hung up on. */
static bool wait_for(struct terminal *t, struct vm_command *c, struct machine_live *live,
                     struct waiter *w, uint64_t idle_ns)
{
    uint64_t look, hung_up_ns = 0;
    while (!vm_exec_look(c, &look)) {
        uint64_t now = os_mono_ns(), idle = atomic_load(&t->used_ns) + idle_ns;
        if (!hung_up_ns && now >= idle) {
            vm_keyboard_signal(t->keyboard, SIGHUP);
            hung_up_ns = now;
        }
        if (hung_up_ns && now >= hung_up_ns + HANG_UP_NS)
            break;
        uint64_t next = hung_up_ns ? hung_up_ns + HANG_UP_NS : idle;
        uint64_t later = machine_live_flush(live);
        next = later < next ? later : next;
        waiter_rest(w, look < next ? look : next);
    }
    return hung_up_ns != 0;
}

bool terminal_run(struct terminal *t, struct vm *m, const struct vm_exec *of,
                  struct machine_live *live, uint64_t idle_ns, struct vm_result *r,
                  struct err *e)
{
    struct waiter w = {0};
    struct vm_exec x = *of;
    struct printing p = {t, live};
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    atomic_store(&t->used_ns, os_mono_ns());
    x.output = hear;
    x.output_arg = &p;
    x.timeout_ns = UINT64_MAX;
    struct vm_command *c = vm_exec_begin(m, &x, waiter_wake, &w, e);
    bool hung_up = c && wait_for(t, c, live, &w, idle_ns);
    bool ran = c && vm_exec_end(c, r, e);
    if (hung_up) {
        r->timed_out = true;
        r->cancelled = false;
    }
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    return ran;
}
