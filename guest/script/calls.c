/* Host calls. An asynchronous one is queued with its arguments and settled when
 * the host resumes us; a synchronous one leaves and comes back at once. */
#include <stdlib.h>
#include <string.h>

#include "script/guest.h"

#define IMPORT(name) __attribute__((import_module("host"), import_name(#name)))
IMPORT(call) int32_t host_call(uint32_t row, const void *at, uint32_t n);
IMPORT(take) void host_take(void *at);
IMPORT(random) void host_random(void *at, uint32_t n);
IMPORT(zone) int32_t host_zone(int64_t seconds);

int own_zone(int64_t seconds)
{
    return host_zone(seconds);
}

struct bytes calls_queue = {.ceiling = UINT32_MAX / 4};
uint32_t calls_left;

/* One too many ends the evaluation here and now: an exception could be caught. */
static void count_call(void)
{
    if (calls_left == 0)
        host_stop(SCRIPT_STOP_CALLS);
    calls_left--;
}

/* Writing arguments may run code (a getter, a toJSON), and that may make calls of its own:
 * whoever writes has the buffer to itself meanwhile. */
static struct bytes take_away(struct bytes *b)
{
    struct bytes mine = *b;
    *b = (struct bytes){.ceiling = mine.ceiling};
    return mine;
}

/* What JSON would lose is refused: null means something else to who is called, such as the
 * removal of a key. What was refused, for the bootstrap: [path, what]. */
static JSValue refusal(JSContext *ctx, const struct losses *losses)
{
    enum loss kind = 0;
    while (kind < LOST_KINDS && !losses->of[kind].count)
        kind++;
    if (kind == LOST_KINDS)
        return JS_EXCEPTION;
    JSValue two[2] = {JS_NewString(ctx, losses->of[kind].first),
                      JS_NewString(ctx, loss_names[kind])};
    return JS_NewArrayFrom(ctx, 2, two);
}

/* Queues the call in `queue`; without it where it cannot be written. */
static bool put_call(JSContext *ctx, struct script_call *head, JSValueConst args,
                     struct bytes *queue, struct losses *losses)
{
    size_t at = queue->n;
    bytes_put(queue, head, sizeof *head);
    size_t start = queue->n;
    bool written = write_json_noting(ctx, args, queue, losses);
    if (written) {
        head->size = (uint32_t)(queue->n - start);
        memcpy(queue->at + at, head, sizeof *head);
        bytes_pad(queue);
    }
    if (written && !queue->failed)
        return true;
    if (queue->failed)
        JS_ThrowOutOfMemory(ctx);
    queue->n = at;
    queue->failed = false;
    return false;
}

/* submit(row, id, args, line, from): queued until the guest has nothing else to do. Answers
 * what was refused of the arguments, [path, what]; else undefined. */
static JSValue submit(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    struct script_call head = {0};
    count_call();
    if (JS_ToUint32(ctx, &head.row, argv[0]) < 0 ||
        JS_ToUint32(ctx, &head.id, argv[1]) < 0 ||
        JS_ToUint32(ctx, &head.line, argv[3]) < 0 ||
        JS_ToUint32(ctx, &head.from, argv[4]) < 0)
        return JS_EXCEPTION;
    struct bytes mine = take_away(&calls_queue);
    struct losses losses = {.refuses = true};
    bool queued = put_call(ctx, &head, argv[2], &mine, &losses);
    struct bytes inner = take_away(&calls_queue);
    if (inner.n)
        bytes_put(&mine, inner.at, inner.n);
    free(inner.at);
    calls_queue = mine;
    return queued ? JS_UNDEFINED : refusal(ctx, &losses);
}

static struct bytes spare = {.ceiling = UINT32_MAX / 4}; /* of synchronous calls */

static void give_back(struct bytes *mine)
{
    free(spare.at);
    spare = *mine;
}

/* call(row, args): [failed, value], or what was refused of the arguments as submit() does */
static JSValue call(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    uint32_t row;
    count_call();
    if (JS_ToUint32(ctx, &row, argv[0]) < 0)
        return JS_EXCEPTION;
    struct bytes args = take_away(&spare);
    args.n = 0;
    args.failed = false;
    struct losses losses = {.refuses = true};
    if (!write_json_noting(ctx, argv[1], &args, &losses)) {
        bool memory = args.failed;
        give_back(&args);
        return memory ? JS_ThrowOutOfMemory(ctx) : refusal(ctx, &losses);
    }
    int32_t answer = host_call(row, args.at, (uint32_t)args.n);
    give_back(&args);
    bool failed = answer < 0;
    size_t n = (size_t)(failed ? ~answer : answer);
    char *text = js_malloc(ctx, n + 1);
    if (!text)
        return JS_EXCEPTION;
    host_take(text);
    text[n] = '\0';
    JSValue value = JS_ParseJSON(ctx, text, n, "<host>");
    js_free(ctx, text);
    if (JS_IsException(value))
        return value;
    JSValue pair[2] = {JS_NewBool(ctx, failed), value};
    return JS_NewArrayFrom(ctx, 2, pair);
}

/* random(array): fills a Uint8Array. */
static JSValue fill_random(JSContext *ctx, JSValueConst self, int argc,
                           JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    uint8_t *at = JS_GetUint8Array(ctx, &n, argv[0]);
    if (!at)
        return JS_EXCEPTION;
    host_random(at, (uint32_t)n);
    return JS_UNDEFINED;
}

/* Math.random: xoshiro256**, seeded by the host when first used, since a baked
 * seed would give every world the same numbers. */
static uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static bool seeded;

static JSValue next_random(JSContext *ctx, JSValueConst self, int argc,
                           JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    static uint64_t s[4];
    if (!seeded) {
        host_random(s, sizeof s);
        seeded = true;
    }
    uint64_t answer = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return JS_NewFloat64(ctx, (double)(answer >> 11) * 0x1p-53);
}

void calls_rest(void)
{
    bytes_drop(&calls_queue);
    bytes_drop(&spare);
    seeded = false; /* two worlds that go on from here must not agree */
}

void calls_define(JSContext *ctx, JSValueConst natives)
{
    JS_SetPropertyStr(ctx, natives, "submit", JS_NewCFunction(ctx, submit, "submit", 5));
    JS_SetPropertyStr(ctx, natives, "call", JS_NewCFunction(ctx, call, "call", 2));
    JS_SetPropertyStr(ctx, natives, "fillRandom",
                      JS_NewCFunction(ctx, fill_random, "fillRandom", 1));
    JS_SetPropertyStr(ctx, natives, "random",
                      JS_NewCFunction(ctx, next_random, "random", 0));
}
