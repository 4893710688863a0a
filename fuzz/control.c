/* What a machine says on its control port, in pieces: it is heard to its end, or the
 * machine is dropped with a reason. The input: each piece behind a byte that is its
 * length. Two commands are under way. */
#include <pthread.h>

#include "driver.h"
#include "vm/internal.h"
#include "vm/no_copies_test.h"

/* Only port.c is looked at: there is no machine behind it. */
struct images *images_open(struct engine *g, const char *folder, const char *cache,
                           struct err *e)
{
    (void)g, (void)folder, (void)cache, (void)e;
    return NULL;
}

void images_close(struct images *i)
{
    (void)i;
}

struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e)
{
    (void)i, (void)o, (void)events, (void)e;
    return NULL;
}

void machine_send(struct machine *m, struct str bytes)
{
    (void)m, (void)bytes;
}

void machine_stop(struct machine *m, const struct err *why)
{
    (void)m, (void)why;
}

void machine_close(struct machine *m)
{
    (void)m;
}

struct machine_usage machine_usage(struct machine *m)
{
    (void)m;
    return (struct machine_usage){0};
}

static void begin(struct vm *m, struct exec *x, uint32_t id)
{
    *x = (struct exec){.id = id, .untaken = 1000, .takes_input = true, .next = m->execs};
    pthread_cond_init(&x->changed, NULL);
    batch_init(&x->printed);
    m->execs = x;
    m->exec_count++;
}

static void check_exec(const struct exec *x)
{
    size_t n[2] = {0, 0};
    for (size_t i = 0; i < x->printed.count; i++)
        n[x->printed.runs[i].which] += x->printed.runs[i].n;
    holds(n[0] == x->printed.bytes[0].n && n[1] == x->printed.bytes[1].n);
    holds(n[0] + n[1] == x->uncredited && x->uncredited <= VM_WINDOW);
    holds(x->untaken <= 1000);
    holds(str_is_utf8(str_of(x->refusal)) && x->refused <= x->ended);
    holds(x->exit.status <= 255 || !x->ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vm *m = mem_new(sizeof *m);
    struct exec x[2];
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->ready, NULL);
    frames_init(&m->frames);
    m->unready = 2;
    begin(m, &x[0], 1);
    begin(m, &x[1], 2);
    for (size_t at = 0; at < size;) {
        size_t n = data[at++];
        n = n < size - at ? n : size - at;
        port_output(m, (struct str){(const char *)data + at, n});
        at += n;
    }
    for (int i = 0; i < 2; i++) {
        check_exec(&x[i]);
        batch_done(&x[i].printed);
        pthread_cond_destroy(&x[i].changed);
    }
    if (m->over)
        holds_error(&m->why);
    frames_done(&m->frames);
    pthread_cond_destroy(&m->ready);
    pthread_mutex_destroy(&m->lock);
    free(m);
    return 0;
}
