#include "mcp/input.h"

#include "mcp/core.h"
#include "mcp/outlet.h"
#include "os/os.h"

/* The same key seals nothing else, but for the day it does. */
#define BOUND STR("cloche requestState 1")

static int64_t now_ms(const struct input *in)
{
    return os_mono_ms() + in->call->m->clock_ahead_ms;
}

/* ---- the request that it is for ----------------------------------------- */

/* Hashes all of the request but the parts that change from round to round. */
static void request_hash(const struct call *c, char out[static CRYPTO_HASH_HEX])
{
    scoped_buf struct buf text =
        buf_of(SIZE_MAX / 4); /* no longer than the message was, by a factor */
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    json_put_str(&w, c->method);
    struct json_iter it = json_iter(c->params);
    while (json_next(&it)) {
        if (str_is(it.key, "_meta") || str_is(it.key, "inputResponses") ||
            str_is(it.key, "requestState"))
            continue;
        json_put_str(&w, it.key);
        json_put(&w, it.value);
    }
    json_close(&w);
    crypto_hash_hex(buf_view(&text), out);
}

static void question_hash(struct question *q)
{
    scoped_buf struct buf text = buf_of(INPUT_MEMORY * 2);
    buf_cstr(&text, q->is.method);
    buf_char(&text, ' ');
    struct json_writer w = json_writer(&text);
    if (q->is.digest)
        json_put_cstr(&w, q->is.digest);
    else
        json_put(&w, q->params);
    crypto_hash_hex(buf_view(&text), q->hash);
}

/* ---- the state ---------------------------------------------------------- */

static bool refuse_state(struct err *e, const char *why)
{
    return err_set(
        e, ERR_INVALID,
        "Invalid params: requestState %s; nothing was done: repeat the request "
        "without requestState and inputResponses",
        why);
}

static const struct json *open_state(struct input *in, struct str sealed, struct err *e)
{
    struct err unread = {0};
    scoped_buf struct buf bytes;
    scoped_buf struct buf plain;
    buf_init(&bytes, 2 * INPUT_STATE_MAX);
    buf_init(&plain, 2 * INPUT_STATE_MAX);
    const struct json *state = NULL;
    if (crypto_base64url_read(sealed, &bytes, &unread) &&
        crypto_unseal(in->call->m->input_key, BOUND, buf_view(&bytes), &plain))
        state = json_read(buf_view(&plain), in->arena, &unread);
    if (!state)
        refuse_state(e, "was not made by this server since it started, or was changed");
    return state;
}

/* Last of all: a state that is refused for another reason stays good. */
static bool state_spend(const struct input *in, const struct json *state, struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf id = buf_of(SPENT_ID + 4);
    int64_t until_ms = json_int(json_get(state, "until"), 0);
    if (!crypto_base64url_read(json_str(json_get(state, "id")), &id, &why) ||
        id.n != SPENT_ID)
        return refuse_state(e, "was not made by this server");
    return spent_take(&in->call->m->spent, (const unsigned char *)id.at, in->principal,
                      now_ms(in), until_ms, &why) ||
           refuse_state(e, why.msg);
}

static bool take_state(struct input *in, struct str sealed, struct err *e)
{
    const struct json *state = open_state(in, sealed, e);
    if (!state)
        return false;
    if (!str_is(json_str(json_get(state, "who")), in->principal))
        return refuse_state(e, "was made for another caller");
    if (json_int(json_get(state, "until"), 0) <= now_ms(in))
        return refuse_state(e, "is older than ten minutes");
    char hash[CRYPTO_HASH_HEX];
    request_hash(in->call, hash);
    if (!str_is(json_str(json_get(state, "request")), hash))
        return refuse_state(e, "was made for another request than this one");
    if (!state_spend(in, state, e))
        return false;
    in->answers = json_get(state, "answers");
    in->asked = json_get(state, "asked");
    return true;
}

static bool put_state(const struct input *in, struct buf *out, struct err *e)
{
    char hash[CRYPTO_HASH_HEX];
    request_hash(in->call, hash);
    unsigned char bytes[SPENT_ID];
    scoped_buf struct buf id;
    scoped_buf struct buf plain;
    scoped_buf struct buf sealed;
    buf_init(&id, BUF_NAME);
    buf_init(&plain, INPUT_STATE_MAX);
    buf_init(&sealed, INPUT_STATE_MAX + CRYPTO_SEAL_EXTRA);
    os_random(bytes, sizeof bytes);
    if (!crypto_base64url(bytes, sizeof bytes, &id))
        return err_set(e, ERR_BUG, "a state has no name");
    struct json_writer w = json_writer(&plain);
    json_open_object(&w);
    json_pair_str(&w, "id", buf_view(&id));
    json_pair_cstr(&w, "who", in->principal);
    json_pair_int(&w, "until", now_ms(in) + (int64_t)INPUT_STATE_S * 1000);
    json_pair_cstr(&w, "request", hash);
    json_key(&w, "asked");
    json_open_object(&w);
    for (size_t i = 0; i < in->count; i++)
        json_pair_cstr(&w, in->questions[i].is.key, in->questions[i].hash);
    json_close(&w);
    json_key(&w, "answers");
    json_open_object(&w);
    for (size_t i = 0; i < in->count; i++)
        if (in->questions[i].answer)
            json_pair(&w, in->questions[i].is.key, in->questions[i].answer);
    json_close(&w);
    json_close(&w);
    if (plain.failed)
        return err_set(e, ERR_LIMIT,
                       "the input responses exceed %zu KiB in total; nothing was "
                       "changed",
                       INPUT_STATE_MAX / 1024);
    return crypto_seal(in->call->m->input_key, BOUND, buf_view(&plain), &sealed) &&
           crypto_base64url(sealed.at, sealed.n, out);
}

/* ---- beginning ---------------------------------------------------------- */

static bool take_responses(struct input *in, struct err *e)
{
    const struct json *params = in->call->params;
    const struct json *given = json_get(params, "inputResponses");
    const struct json *state = json_get(params, "requestState");
    if (given && !json_is(given, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "Invalid params: inputResponses must be an object, not %s",
                       json_type_name(json_type(given)));
    if (state && !json_is(state, JSON_STRING))
        return err_set(e, ERR_INVALID,
                       "Invalid params: requestState must be a string, not %s",
                       json_type_name(json_type(state)));
    in->given = given;
    if (!state)
        return true;
    in->arena = arena_new(INPUT_MEMORY);
    return take_state(in, json_str(state), e);
}

bool input_begin(struct input *in, const struct call *c, const char *principal,
                 struct err *e)
{
    *in = (struct input){.call = c, .principal = principal};
    if (c->era != ERA_MODERN)
        return true;
    const struct json *meta = json_get(c->params, "_meta");
    in->can = can_read(json_get(meta, META_CAPABILITIES));
    in->offered = str_is(c->method, "tools/call") || str_is(c->method, "prompts/get") ||
                  str_is(c->method, "resources/read");
    return !in->offered || take_responses(in, e);
}

void input_done(struct input *in)
{
    arena_free(in->arena);
}

/* ---- asking ------------------------------------------------------------- */

bool input_answers(struct input *in, const char *method)
{
    if (in->offered && can_answer(in->can, str_of(method)))
        return true;
    /* A call that fails because of this reports it to the client. */
    in->lacks = can_need(str_of(method), NULL);
    return false;
}

/* The client's answer to a question, now or in an earlier round; NULL: nothing, or
 * nothing that answers it. */
static const struct json *find_answer(const struct input *in, const struct question *q)
{
    struct err unfit = {0};
    struct str method = str_of(q->is.method);
    const struct json *was = json_get(in->asked, q->is.key);
    if (in->asked ? !str_is(json_str(was), q->hash) : q->is.permits)
        return NULL;
    const struct json *answer = json_get(in->given, q->is.key);
    if (answer && answer_check(method, q->params, answer, &unfit))
        return answer;
    return json_get(in->answers, q->is.key);
}

static struct question *find_question(struct input *in, const char *key)
{
    for (size_t i = 0; i < in->count; i++)
        if (!strcmp(in->questions[i].is.key, key))
            return &in->questions[i];
    return NULL;
}

/* Copied: whoever asks may be gone when the questions are put into the answer. */
static struct question *take_question(struct input *in, const struct client_question *q,
                                      struct err *e)
{
    if (!in->arena)
        in->arena = arena_new(INPUT_MEMORY);
    if (!in->questions)
        in->questions =
            arena_get(in->arena, INPUT_QUESTIONS_MAX * sizeof *in->questions, e);
    if (!in->questions)
        return NULL;
    struct question new = {.params = json_read(q->params, in->arena, e)};
    if (!json_is(new.params, JSON_OBJECT)) {
        err_set(e, ERR_BUG, "what %s is asked with is not an object", q->method);
        return NULL;
    }
    unsigned need = can_need(str_of(q->method), new.params);
    if (!can_answer_this(in->can, str_of(q->method), new.params, e)) {
        in->lacks = need & ~in->can;
        return NULL;
    }
    new.is.key = arena_copy(in->arena, q->key, strlen(q->key), e);
    new.is.method = arena_copy(in->arena, q->method, strlen(q->method), e);
    if (!new.is.key || !new.is.method)
        return NULL;
    new.is.permits = q->permits;
    new.is.digest = q->digest; /* for the next line alone */
    question_hash(&new);
    new.is.digest = NULL;
    struct question *old = find_question(in, q->key);
    if (old && strcmp(old->hash, new.hash) != 0) {
        err_set(e, ERR_BUG, "two questions of one call have the key %s", q->key);
        return NULL;
    }
    if (old)
        return old;
    if (in->count == INPUT_QUESTIONS_MAX) {
        err_set(e, ERR_LIMIT, "a call may ask %u questions, not more",
                INPUT_QUESTIONS_MAX);
        return NULL;
    }
    new.answer = find_answer(in, &new);
    struct question *kept = &in->questions[in->count++];
    *kept = new;
    return kept;
}

bool input_later(struct input *in, struct err *e)
{
    if (in->call->task)
        return task_detach(in->call->task, e);
    in->lacks_tasks = !tasks_declared(in->call->params);
    return in->lacks_tasks
               ? err_set(e, ERR_CAPABILITY,
                         "this call runs long and requires a client that declares the "
                         "extension " EXTENSION_TASKS "; nothing was changed")
               : err_set(e, ERR_BUSY,
                         "no more tasks can run now; nothing was changed, try "
                         "again later");
}

bool input_ask(struct input *in, const struct client_question *questions, size_t n,
               const struct cancel *stop, const struct json **answers, struct err *e)
{
    if (!in->offered)
        return err_set(e, ERR_CAPABILITY, "no question can be asked during %.*s",
                       STR_ARGS(in->call->method));
    if (in->call->task && task_is_one(in->call->task))
        return task_ask(in->call->task, questions, n, in->can, stop, answers, e);
    bool all = true;
    for (size_t i = 0; i < n; i++) {
        const struct question *q = take_question(in, &questions[i], e);
        if (!q)
            return false;
        answers[i] = q->answer;
        all = all && q->answer;
    }
    if (all)
        return true;
    if (in->call->task && !task_hold(in->call->task))
        return task_ask(in->call->task, questions, n, in->can, stop, answers, e);
    return err_set(e, ERR_INPUT,
                   "the client has to answer something first; nothing was changed");
}

bool input_is_wanted(const struct input *in)
{
    for (size_t i = 0; i < in->count; i++)
        if (!in->questions[i].answer)
            return true;
    return false;
}

/* ---- answers ------------------------------------------------------------ */

void input_put_questions(struct json_writer *w, const struct question *questions,
                         size_t n)
{
    json_key(w, "inputRequests");
    json_open_object(w);
    for (size_t i = 0; i < n; i++) {
        if (questions[i].answer)
            continue;
        json_key(w, questions[i].is.key);
        json_open_object(w);
        json_pair_cstr(w, "method", questions[i].is.method);
        json_pair(w, "params", questions[i].params);
        json_close(w);
    }
    json_close(w);
}

bool input_put(const struct input *in, struct buf *out, struct err *e)
{
    scoped_buf struct buf state = buf_of(2 * INPUT_STATE_MAX);
    if (!put_state(in, &state, e))
        return false;
    struct json_writer w = result_open_as(out, in->call->id, "input_required");
    input_put_questions(&w, in->questions, in->count);
    json_pair_str(&w, "requestState", buf_view(&state));
    result_close(&w, ERA_MODERN);
    return true;
}

void input_put_lack(const struct input *in, struct buf *out, const char *message)
{
    struct json_writer w = error_open(out, in->call->id, MCP_MISSING_CAPABILITY);
    json_pair_cstr(&w, "message", message);
    json_key(&w, "data");
    json_open_object(&w);
    json_key(&w, "requiredCapabilities");
    json_open_object(&w);
    can_put(in->lacks, &w);
    if (in->lacks_tasks)
        json_pair_raw(&w, "extensions", STR("{\"" EXTENSION_TASKS "\":{}}"));
    json_close(&w);
    json_close(&w);
    json_close(&w);
    json_close(&w);
}
