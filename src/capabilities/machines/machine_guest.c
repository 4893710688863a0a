/* Calls by programs of machines. Everything that the relay brings is checked: the machine may
 * have replaced it. */
#include "machines/machine_guest.h"

#include <stdio.h>

#include "abi/callback.h"
#include "catalogue/catalogue.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "os/os.h"
#include "performing/performing.h"

#define START_NS ((uint64_t)20 * 1000000000) /* until the relay listens */
#define END_NS ((uint64_t)2 * 1000000000)    /* until it has ended by itself */
#define LOOK_MS 20u                          /* while answers wait for the machine */
#define NAME_MAX_BYTES 100u                  /* of a call */

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

/* ---- the request ------------------------------------------------------------------------- */

static bool take_bytes(struct str *rest, void *out, size_t n)
{
    if (rest->n < n)
        return false;
    memcpy(out, rest->at, n);
    *rest = (struct str){rest->at + n, rest->n - n};
    return true;
}

static bool take_item(struct str *rest, uint32_t *kind, struct str *bytes)
{
    struct callback_item_head head;
    if (!take_bytes(rest, &head, sizeof head) || head.n > rest->n)
        return false;
    *kind = head.kind;
    *bytes = (struct str){rest->at, head.n};
    *rest = (struct str){rest->at + head.n, rest->n - head.n};
    return true;
}

/* Text, or where `as_json` JSON, if it is that; what is not UTF-8 becomes {base64}. */
static void put_value(struct str text, bool as_json, struct arena *a,
                      struct json_writer *w)
{
    struct err none = {0};
    const struct json *v = as_json ? json_read(text, a, &none) : NULL;
    if (v) {
        json_put(w, v);
    } else if (str_is_utf8(text)) {
        json_put_str(w, text);
    } else {
        scoped_buf struct buf coded = buf_of(text.n / 3 * 4 + 8);
        (void)crypto_base64(text.at, text.n, &coded);
        json_open_object(w);
        json_pair_str(w, "base64", buf_view(&coded));
        json_close(w);
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of "key=value" and "key:=json"; 0: it is neither. */
static size_t key_length(struct str s, bool *as_json)
{
    size_t n = 0;
    while (n < s.n &&
           (is_letter(s.at[n]) || s.at[n] == '_' || (n && char_is_digit(s.at[n]))))
        n++;
    *as_json = n + 1 < s.n && s.at[n] == ':' && s.at[n + 1] == '=';
    return n && n < s.n && (s.at[n] == '=' || *as_json) ? n : 0;
}

/* A word without a key, and without ":=" before it: an object or an array, or text. */
static bool is_compound(struct str s)
{
    return s.n && (s.at[0] == '{' || s.at[0] == '[');
}

struct request {
    char name[NAME_MAX_BYTES + 1];
    bool raw;
    struct buf words, options; /* the insides of the array, and of its last object */
};

static bool is_unreadable(struct err *e)
{
    return err_set(e, ERR_INVALID, "the request cannot be read");
}

/* A word, with the bytes that are its value, if such follow. */
static bool add_word(struct request *r, struct str word, struct str *rest,
                     struct arena *a, struct err *e)
{
    uint32_t kind = CALLBACK_WORD;
    struct str bytes = {0}, ahead = *rest, value = word;
    bool has_bytes =
        ahead.n && take_item(&ahead, &kind, &bytes) && kind == CALLBACK_BYTES;
    bool as_json, bare_json = str_starts(word, ":=");
    size_t key = key_length(word, &as_json);
    size_t skipped = bare_json ? 2 : key ? key + 1 + as_json : 0;
    if (has_bytes) {
        value = bytes;
        *rest = ahead;
    } else {
        value = (struct str){word.at + skipped, word.n - skipped};
    }
    as_json = key ? as_json : bare_json || (!has_bytes && is_compound(word));
    if (!str_is_utf8(word))
        return err_set(e, ERR_INVALID, "an argument is not UTF-8: give it by KEY=@-");
    struct buf *into = key ? &r->options : &r->words;
    if (into->n)
        buf_char(into, ',');
    struct json_writer w = json_writer(into);
    if (key) {
        buf_char(into, '"');
        buf_put(into, word.at, key);
        buf_cstr(into, "\":");
    }
    put_value(value, as_json, a, &w);
    return true;
}

static bool read_request(struct str rest, struct request *r, struct arena *a,
                         struct err *e)
{
    while (rest.n) {
        uint32_t kind;
        struct str word;
        if (!take_item(&rest, &kind, &word))
            return is_unreadable(e);
        if (kind == CALLBACK_RAW) {
            r->raw = true;
        } else if (kind != CALLBACK_WORD) {
            return is_unreadable(e);
        } else if (!*r->name) {
            if (!word.n || word.n > NAME_MAX_BYTES || !str_is_utf8(word) ||
                memchr(word.at, 0, word.n))
                return err_set(e, ERR_NOT_FOUND, "the first word is no name of a call");
            (void)snprintf(r->name, sizeof r->name, "%.*s", STR_ARGS(word));
        } else if (!add_word(r, word, &rest, a, e)) {
            return false;
        }
    }
    return *r->name || is_unreadable(e);
}

/* ---- the call -------------------------------------------------------------------------- */

/* A row that can be called so; `member` is empty but for one of a family. */
static const struct host_call *row_of(const char *name, struct str *member, struct err *e)
{
    const struct host_call *row = host_call_of_member(name, member);
    if (row)
        return row;
    *member = (struct str){0};
    row = host_call_named(name);
    bool there = row && !row->hidden && row->call && strchr(name, '.');
    if (there && str_eq(api_namespace(row), api_namespace(vm_calls.rows)))
        err_set(e, ERR_DENIED, "%s is not for programs of machines, which are in one",
                name);
    else if (there && row->row.feature)
        err_set(e, ERR_DENIED, "%s is not for programs of machines", name);
    else if (!there)
        err_set(e, ERR_NOT_FOUND,
                "there is no call '%s'; cloche-guest api.search WORD finds one", name);
    return e->code ? NULL : row;
}

/* Neither is a command for a machine in what it calls: a stage of a pipeline. */
static bool check_stages(struct str args, struct arena *arena, struct err *e)
{
    const struct json *all = json_read(args, arena, e);
    struct json_iter it = json_iter(all);
    while (json_next(&it)) {
        struct json_iter stages =
            json_iter(json_is(it.value, JSON_ARRAY) ? it.value : NULL);
        while (json_next(&stages))
            if (json_get(stages.value, machine_tool_runner.stage_key))
                return err_set(e, ERR_DENIED,
                               "commands of machines are not for programs of machines, "
                               "which are in one");
    }
    return all != NULL;
}

/* With -r: a text as it is; of a program's result (tools.run) its standard output, or its
 * standard error, if it failed; anything else as JSON. */
static bool put_raw(const struct json *v, struct str json, struct buf *out, struct err *e)
{
    const struct json *printed = json_get(v, "stdout");
    if (json_is(v, JSON_STRING))
        return buf_str(out, json_str(v));
    if (!json_is(printed, JSON_STRING) || !json_get(v, "exitCode"))
        return buf_str(out, json);
    if (!json_bool(json_get(v, "success"), false))
        return err_set(e, ERR_GUEST, "exit code %lld: %.*s",
                       (long long)json_int(json_get(v, "exitCode"), 0),
                       STR_ARGS(str_cut(json_str(json_get(v, "stderr")), 300)));
    return json_get(v, "stdoutEncoding") ? crypto_base64_read(json_str(printed), out, e)
                                         : buf_str(out, json_str(printed));
}

/* The inside of the array of arguments. */
static void put_arguments(const struct request *r, struct buf *out)
{
    buf_str(out, buf_view(&r->words));
    if (!r->options.n)
        return;
    buf_cstr(out, r->words.n ? ",{" : "{");
    buf_str(out, buf_view(&r->options));
    buf_char(out, '}');
}

/* Appends the answer. */
static bool perform(struct machine_guest *g, struct str text, struct buf *answer,
                    struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    scoped_buf struct buf args = buf_of(4 * (size_t)CALLBACK_REQUEST_MAX), result;
    struct request r = {0};
    buf_init(&r.words, args.ceiling);
    buf_init(&r.options, args.ceiling);
    buf_init(&result, CALLBACK_ANSWER_MAX);
    struct str member = {0};
    const struct host_call *row =
        read_request(text, &r, arena, e) ? row_of(r.name, &member, e) : NULL;
    bool ok = row != NULL;
    if (ok && ++g->calls > GUEST_CALLS_MAX)
        ok = err_set(e, ERR_LIMIT, "one command may make %u calls", GUEST_CALLS_MAX);
    buf_char(&args, '[');
    if (member.n) {
        struct json_writer w = json_writer(&args);
        json_put_str(&w, member);
        buf_cstr(&args, ",[");
    }
    put_arguments(&r, &args);
    buf_cstr(&args, member.n ? "]]" : "]");
    ok = ok && buf_check(&r.words, "the arguments", e) &&
         buf_check(&r.options, "the arguments", e) &&
         buf_check(&args, "the arguments", e) && check_stages(buf_view(&args), arena, e);
    ok = ok && evaluation_call(g->v, row->row.name, buf_view(&args), &result, e) &&
         buf_check(&result, "the answer", e);
    const struct json *v = ok && r.raw ? json_read(buf_view(&result), arena, e) : NULL;
    if (ok && v)
        ok = put_raw(v, buf_view(&result), answer, e) || e->code == ERR_NONE;
    else if (ok)
        buf_str(answer, buf_view(&result));
    buf_done(&r.words);
    buf_done(&r.options);
    return ok && buf_check(answer, "the answer", e);
}

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
    bool ok = perform(g, request, &text, &e);
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
