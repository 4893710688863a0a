/* Calls by programs of machines. Everything that the relay brings is checked: the machine may
 * have replaced it. */
#include "machines/machine_guest.h"

#include <stdio.h>

#include "abi/callback.h"
#include "catalogue/catalogue.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "machines/machine_guest_call.h"
#include "os/os.h"
#include "place/place.h"

#define START_NS ((uint64_t)20 * 1000000000) /* until the relay listens */
#define END_NS ((uint64_t)2 * 1000000000)    /* until it has ended by itself */
#define LOOK_MS 20u                          /* while answers wait for the machine */

struct visitor {
    struct visitor *next;
    uint32_t number;
    struct buf request;
};

struct machine_guest {
    struct tool_call call;
    /* The evaluation whose code runs the command; else one of its own. */
    struct evaluation *v, own;
    struct action_call own_call;
    struct vm *machine;
    struct vm_keyboard *keyboard;
    struct vm_command *relay;
    struct vm_exec exec;
    char command[160];
    pthread_t thread;
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    bool woken, ending, listens, over;
    /* The thread's. */
    struct buf in, out;
    size_t sent; /* of `out` */
    struct visitor *clients;
    unsigned client_count, calls;
    bool broken; /* what came is no piece */
    struct err why;
};

/* ---- pieces ---------------------------------------------------------------------------- */

static void put_piece(struct machine_guest *g, uint32_t client, const void *at, size_t n)
{
    struct callback_head head = {client, (uint32_t)n};
    buf_put(&g->out, &head, sizeof head);
    buf_put(&g->out, at, n);
}

static void put_answer(struct machine_guest *g, uint32_t client, bool ok, struct str text)
{
    scoped_buf struct buf all = buf_of(text.n + 8);
    uint32_t n = (uint32_t)text.n + 1;
    uint8_t status = ok ? CALLBACK_OK : CALLBACK_FAILED;
    buf_put(&all, &n, sizeof n);
    buf_put(&all, &status, 1);
    buf_str(&all, text);
    for (size_t at = 0; at < all.n; at += CALLBACK_PIECE)
        put_piece(g, client, all.at + at,
                  all.n - at < CALLBACK_PIECE ? all.n - at : CALLBACK_PIECE);
    put_piece(g, client, "", 0);
}

static void client_drop(struct machine_guest *g, struct visitor **at)
{
    struct visitor *c = *at;
    *at = c->next;
    g->client_count--;
    buf_done(&c->request);
    free(c);
}

static void answer(struct machine_guest *g, struct visitor *c)
{
    struct err e = {0};
    scoped_buf struct buf text = buf_of(CALLBACK_ANSWER_MAX);
    struct str request = {c->request.at + 4, c->request.n - 4};
    struct guest_calls of = {g->v, &g->calls};
    bool ok = machine_guest_call(&of, request, &text, &e);
    if (!ok) {
        buf_clear(&text);
        buf_printf(&text, "%s: %s", err_kind(e.code)->name, e.msg);
    }
    put_answer(g, c->number, ok, buf_view(&text));
}

/* Bytes of a client; its number is new, or known. */
static void client_take(struct machine_guest *g, uint32_t number, struct str bytes)
{
    struct visitor **at = &g->clients;
    uint32_t n = 0;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (!bytes.n) {
        if (*at)
            client_drop(g, at);
        return;
    }
    if (!*at) {
        if (g->client_count == CALLBACK_CLIENTS)
            return;
        *at = mem_new(sizeof **at);
        (*at)->number = number;
        buf_init(&(*at)->request, CALLBACK_REQUEST_MAX + 4);
        g->client_count++;
    }
    struct visitor *c = *at;
    buf_str(&c->request, bytes);
    if (c->request.n >= sizeof n)
        memcpy(&n, c->request.at, sizeof n);
    if (c->request.failed || n > CALLBACK_REQUEST_MAX)
        put_answer(g, number, false, STR("LimitExceeded: the request is too large"));
    else if (c->request.n < sizeof n || c->request.n - sizeof n < n)
        return;
    else
        answer(g, c);
    client_drop(g, at);
}

static void guest_hear(void *arg, enum vm_stream which, struct str bytes)
{
    struct machine_guest *g = arg;
    if (which == VM_STREAM_OUT)
        buf_str(&g->in, bytes);
    g->broken |= g->in.failed;
}

static void take_pieces(struct machine_guest *g)
{
    size_t at = 0;
    struct callback_head head;
    while (!g->broken && g->in.n - at >= sizeof head) {
        memcpy(&head, g->in.at + at, sizeof head);
        g->broken = head.n > CALLBACK_PIECE;
        if (g->broken || g->in.n - at - sizeof head < head.n)
            break;
        struct str bytes = {g->in.at + at + sizeof head, head.n};
        at += sizeof head + head.n;
        if (head.client) {
            client_take(g, head.client, bytes);
        } else {
            pthread_mutex_lock(&g->lock);
            g->listens = true;
            pthread_cond_broadcast(&g->changed);
            pthread_mutex_unlock(&g->lock);
        }
    }
    memmove(g->in.at, g->in.at + at, g->in.n - at);
    g->in.n -= at;
}

/* As far as the machine takes it. */
static bool send_rest(struct machine_guest *g)
{
    size_t n = 1;
    while (g->sent < g->out.n && n) {
        n = vm_keyboard_offer(g->keyboard,
                              (struct str){g->out.at + g->sent, g->out.n - g->sent});
        g->sent += n;
    }
    if (g->sent < g->out.n)
        return false;
    buf_clear(&g->out);
    g->sent = 0;
    return true;
}

/* ---- the thread --------------------------------------------------------------------------- */

static void guest_wake(void *arg)
{
    struct machine_guest *g = arg;
    pthread_mutex_lock(&g->lock);
    g->woken = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* false: the command has ended. */
static bool guest_rest(struct machine_guest *g, uint64_t until_ns)
{
    pthread_mutex_lock(&g->lock);
    while (!g->woken && !g->ending && os_cond_wait(&g->changed, &g->lock, until_ns))
        ;
    g->woken = false;
    bool goes_on = !g->ending;
    pthread_mutex_unlock(&g->lock);
    return goes_on;
}

static void *guest_main(void *arg)
{
    struct machine_guest *g = arg;
    uint64_t look_ns;
    struct vm_result r = {0};
    for (bool goes_on = true; goes_on && !g->broken;) {
        if (vm_exec_look(g->relay, &look_ns))
            break;
        take_pieces(g);
        bool sent = send_rest(g);
        uint64_t soon_ns = os_in_ms(LOOK_MS);
        goes_on = guest_rest(g, !sent && soon_ns < look_ns ? soon_ns : look_ns);
    }
    /* The relay ends with its input, and removes its socket. */
    vm_keyboard_end(g->keyboard);
    uint64_t until_ns = os_mono_ns() + END_NS;
    while (!g->broken && os_mono_ns() < until_ns && !vm_exec_look(g->relay, &look_ns)) {
        pthread_mutex_lock(&g->lock);
        uint64_t soon_ns = os_in_ms(LOOK_MS);
        while (!g->woken && os_cond_wait(&g->changed, &g->lock, soon_ns))
            ;
        g->woken = false;
        pthread_mutex_unlock(&g->lock);
    }
    (void)vm_exec_end(g->relay, &r, &g->why);
    pthread_mutex_lock(&g->lock);
    if (!g->why.code && r.exit_code == 127)
        (void)err_set(
            &g->why, ERR_NOT_FOUND,
            "the machine's image has no cloche-guest: it was built before there was "
            "one, 'make vm' makes it anew; nothing ran");
    g->over = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    vm_result_done(&r);
    return NULL;
}

/* ---- permission --------------------------------------------------------------------------- */

static const struct tool shown_calls = {.id = "vm-calls",
                                        .name = "vm-calls",
                                        .version = "(its programs call notes and tools)",
                                        .sha256 = "",
                                        .builtin = true};

bool machine_guest_permitted(const struct tool_call *c, const struct json *request,
                             struct err *e)
{
    const struct tool *tool = &shown_calls;
    struct permit_use use = machine_calls_permission(c->place->permit.policy, "vm.exec");
    enum permission word = PERMISSION_ALWAYS;
    struct tool_request wanted = {
        .tools = &tool, .count = 1, .request = request, .uses = &use};
    return permit_run(&c->place->permit, &use, &word, e) &&
           (word == PERMISSION_ALWAYS || tools_permitted(c, &wanted, e));
}

/* ---- beginning and end --------------------------------------------------------------------- */

/* A call without code has an evaluation of its own, in the same place and record. */
static void set_evaluation(struct machine_guest *g, uint64_t most_ns)
{
    const struct tool_call *c = &g->call;
    g->v = c->code;
    if (g->v)
        return;
    g->own_call = (struct action_call){.actions = c->actions,
                                       .who = c->who,
                                       .place = (struct place *)c->place,
                                       .account = c->account,
                                       .arena = c->arena};
    evaluation_init(&g->own, &g->own_call);
    g->own.until_ns = os_mono_ns() + most_ns;
    g->v = &g->own;
}

static void guest_free(struct machine_guest *g)
{
    if (g->v == &g->own)
        evaluation_done(&g->own);
    while (g->clients)
        client_drop(g, &g->clients);
    vm_keyboard_free(g->keyboard);
    buf_done(&g->in);
    buf_done(&g->out);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* Joins the thread. */
static void guest_stop(struct machine_guest *g)
{
    pthread_mutex_lock(&g->lock);
    g->ending = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    if (g->v == &g->own)
        cancel_fire(&g->own.stopping);
    (void)pthread_join(g->thread, NULL);
}

void machine_guest_end(struct machine_guest *g)
{
    if (!g)
        return;
    guest_stop(g);
    guest_free(g);
}

static bool await_relay(struct machine_guest *g, struct err *e)
{
    uint64_t until_ns = os_mono_ns() + START_NS;
    pthread_mutex_lock(&g->lock);
    while (!g->listens && !g->over && os_cond_wait(&g->changed, &g->lock, until_ns))
        ;
    bool ok = g->listens;
    bool over = g->over;
    pthread_mutex_unlock(&g->lock);
    return ok || (over && g->why.code && err_pass(e, &g->why)) ||
           err_set(e, ERR_BUSY, "the machine did not begin to take calls; nothing ran");
}

static bool guest_start(struct machine_guest *g, struct err *e)
{
    g->exec = (struct vm_exec){.command = str_of(g->command),
                               .apart = true,
                               .timeout_ns = UINT64_MAX,
                               .unkept = true,
                               .output = guest_hear,
                               .output_arg = g,
                               .keyboard = g->keyboard};
    g->relay = vm_exec_begin(g->machine, &g->exec, guest_wake, g, e);
    if (!g->relay)
        return false;
    if (os_thread_start(&g->thread, "machine-calls", 0, guest_main, g))
        return true;
    struct vm_result none = {0};
    struct err ignored = {0};
    (void)vm_exec_end(g->relay, &none, &ignored);
    vm_result_done(&none);
    return err_set(e, ERR_BUSY, "no thread can be started; nothing ran");
}

struct machine_guest *machine_guest_begin(const struct tool_call *c, struct vm *m,
                                          struct machine_order *o, struct err *e)
{
    char token[CRYPTO_TOKEN], path[100];
    if (o->exec.env_count == MACHINE_ENV_MAX) {
        err_set(e, ERR_LIMIT, "env has no room for calls; nothing ran");
        return NULL;
    }
    struct machine_guest *g = mem_new(sizeof *g);
    *g = (struct machine_guest){.call = *c, .machine = m};
    crypto_token(token);
    (void)snprintf(path, sizeof path, "/run/cloche-%.22s", token);
    (void)snprintf(g->command, sizeof g->command, "exec cloche-guest --serve %s", path);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    buf_init(&g->in, 2 * (size_t)VM_WINDOW + CALLBACK_PIECE);
    buf_init(&g->out, (size_t)CALLBACK_ANSWER_MAX * 4);
    g->keyboard = vm_keyboard_new();
    set_evaluation(g, o->exec.timeout_ns);
    const char *variable = arena_printf(c->arena, e, "%s=%s", CALLBACK_ENV, path);
    if (!variable || !guest_start(g, e)) {
        guest_free(g);
        return NULL;
    }
    if (!await_relay(g, e)) {
        guest_stop(g);
        guest_free(g);
        return NULL;
    }
    o->env[o->exec.env_count++] = variable;
    o->exec.env = o->env;
    return g;
}
