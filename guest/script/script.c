/* The JavaScript guest: what the host calls, and the loop that runs until
 * nothing is left to do but wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs/own.h"
#include "script/guest.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* Bytes of C stack that JavaScript may use; the rest is for C beneath it. */
#define JS_STACK (1024u * 1024u)
/* New objects before the first search for cycles: most evaluations end sooner. */
#define GC_THRESHOLD (4u * 1024u * 1024u)

static const char bootstrap_source[] = {
#embed "bootstrap.js"
    , '\0'};
static const char url_source[] = {
#embed "url.js"
    , '\0'};

static JSRuntime *runtime;
static JSContext *context;

/* Functions of the bootstrap. */
static struct {
    JSValue install, enable, begin, inject, drive, settle, next_timer, run_timers,
        describe, rest;
} js;

static char *input_at;
static uint32_t input_capacity, input_size;

static struct script_answer answer;
static bool main_done, main_failed, parse_failed;
static JSValue main_promise, main_value; /* let go of by rest() */
static struct bytes result = {0}, error_text = {.ceiling = 1 << 20},
                    lost = {.ceiling = 4 << 10};

static void die(void)
{
    __builtin_trap();
}

/* ---- promises nobody looks at ------------------------------------------- */

struct rejection {
    void *promise;
    JSValue reason;
};
static struct rejection *rejections;
static size_t rejection_count, rejection_capacity;

static void track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason,
                            bool is_handled, void *opaque)
{
    (void)opaque;
    void *p = JS_VALUE_GET_PTR(promise);
    if (is_handled) {
        for (size_t i = 0; i < rejection_count; i++)
            if (rejections[i].promise == p)
                rejections[i] = rejections[--rejection_count];
        return;
    }
    if (rejection_count == rejection_capacity) {
        size_t want = rejection_capacity ? rejection_capacity * 2 : 16;
        struct rejection *grown = realloc(rejections, want * sizeof *grown);
        if (!grown)
            return; /* memory is gone: the host knows already */
        rejections = grown;
        rejection_capacity = want;
    }
    /* The promise is kept too, so that its address stays its own. */
    JS_DupValue(ctx, promise);
    rejections[rejection_count++] = (struct rejection){p, JS_DupValue(ctx, reason)};
}

/* ---- natives of the bootstrap ------------------------------------------- */

/* done(failed, value): what became of the code's promise. */
static JSValue note_done(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    main_done = true;
    main_failed = JS_ToBool(ctx, argv[0]) > 0;
    main_value = JS_DupValue(ctx, argv[1]);
    return JS_UNDEFINED;
}

/* shift(): where our own text stands within the agent's, [line, from, by]. */
static JSValue get_shift(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    JSValue three[3] = {JS_NewUint32(ctx, code_shift.line),
                        JS_NewUint32(ctx, code_shift.from),
                        JS_NewUint32(ctx, code_shift.by)};
    return JS_NewArrayFrom(ctx, 3, three);
}

/* code(): the agent's text. */
static const char *code_at;
static size_t code_size;

static JSValue get_code(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    return JS_NewStringLen(ctx, code_at, code_size);
}

/* completion(v): what a session's script came to, [its last value]; null for what was
 * returned. */
static JSValue get_completion(JSContext *ctx, JSValueConst self, int argc,
                              JSValueConst *argv)
{
    (void)self;
    (void)argc;
    JSValue value;
    return own_completion(ctx, argv[0], &value) ? JS_NewArrayFrom(ctx, 1, &value)
                                                : JS_NULL;
}

/* main(): the function that this code of a session has declared, or undefined. */
static JSValue get_main(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    (void)argv;
    return code_declares_main ? own_global(ctx, "main") : JS_UNDEFINED;
}

/* free(name): a global property of that name shows from now on. */
static JSValue free_name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    const char *name = JS_ToCString(ctx, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    own_free_name(ctx, name);
    JS_FreeCString(ctx, name);
    return JS_UNDEFINED;
}

/* compile(text): its value; for the table's own sources. */
static JSValue compile_own(JSContext *ctx, JSValueConst self, int argc,
                           JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, argv[0]);
    return s ? JS_Eval(ctx, s, n, "<table>", JS_EVAL_TYPE_GLOBAL) : JS_EXCEPTION;
}

/* refuseText(refuse): own_refuse_text(). */
static JSValue refuse_text(JSContext *ctx, JSValueConst self, int argc,
                           JSValueConst *argv)
{
    (void)self;
    (void)argc;
    own_refuse_text(ctx, argv[0]);
    return JS_UNDEFINED;
}

/* then(promise, fulfilled, rejected): own_then(). */
static JSValue promise_then(JSContext *ctx, JSValueConst self, int argc,
                            JSValueConst *argv)
{
    (void)self;
    (void)argc;
    return own_then(ctx, argv[0], argv + 1);
}

static JSValue is_promise(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    return JS_NewBool(ctx, JS_IsPromise(argv[0]));
}

static JSValue member(JSValueConst object, const char *name)
{
    JSValue v = JS_GetPropertyStr(context, object, name);
    if (!JS_IsFunction(context, v))
        die();
    return v;
}

static JSValue eval_own(const char *text, const char *name)
{
    JSValue v = JS_Eval(context, text, strlen(text), name, JS_EVAL_TYPE_GLOBAL);
    if (JS_IsException(v))
        die();
    return v;
}

static void call_own(JSValueConst f, int argc, JSValueConst *argv)
{
    JSValue v = JS_Call(context, f, JS_UNDEFINED, argc, argv);
    if (JS_IsException(v))
        JS_FreeValue(context, JS_GetException(context));
    JS_FreeValue(context, v);
}

EXPORT(bake) void bake(void)
{
    heap_prepare();
    runtime = JS_NewRuntime2(&heap_functions, NULL);
    context = runtime ? JS_NewContext(runtime) : NULL;
    if (!context)
        die();
    JS_SetMaxStackSize(runtime, JS_STACK);
    JS_SetGCThreshold(runtime, GC_THRESHOLD);
    JS_SetHostPromiseRejectionTracker(runtime, track_rejection, NULL);

    JSValue natives = JS_NewObject(context);
    calls_define(context, natives);
    logs_define(context, natives);
    sources_define(context, natives);
    JS_SetPropertyStr(context, natives, "done",
                      JS_NewCFunction(context, note_done, "done", 2));
    JS_SetPropertyStr(context, natives, "shift",
                      JS_NewCFunction(context, get_shift, "shift", 0));
    JS_SetPropertyStr(context, natives, "compile",
                      JS_NewCFunction(context, compile_own, "compile", 1));
    JS_SetPropertyStr(context, natives, "code",
                      JS_NewCFunction(context, get_code, "code", 0));
    JS_SetPropertyStr(context, natives, "completion",
                      JS_NewCFunction(context, get_completion, "completion", 1));
    JS_SetPropertyStr(context, natives, "main",
                      JS_NewCFunction(context, get_main, "main", 0));
    JS_SetPropertyStr(context, natives, "refuseText",
                      JS_NewCFunction(context, refuse_text, "refuseText", 1));
    JS_SetPropertyStr(context, natives, "then",
                      JS_NewCFunction(context, promise_then, "then", 3));
    JS_SetPropertyStr(context, natives, "isPromise",
                      JS_NewCFunction(context, is_promise, "isPromise", 1));
    JS_SetPropertyStr(context, natives, "free",
                      JS_NewCFunction(context, free_name, "free", 1));

    JSValue make_url = eval_own(url_source, "<url>");
    JSValue make_world = eval_own(bootstrap_source, "<world>");
    JSValueConst args[3] = {natives, make_url, intl_parts(context, natives)};
    JSValue own = JS_Call(context, make_world, JS_UNDEFINED, 3, args);
    if (JS_IsException(own))
        die();
    js.install = member(own, "install");
    js.enable = member(own, "enable");
    js.begin = member(own, "begin");
    js.inject = member(own, "inject");
    js.drive = member(own, "drive");
    js.settle = member(own, "settle");
    js.next_timer = member(own, "nextTimer");
    js.run_timers = member(own, "runTimers");
    js.describe = member(own, "describe");
    js.rest = member(own, "rest");
    JS_RunGC(runtime);
}

EXPORT(input) void *input(uint32_t n)
{
    if (n >= input_capacity) {
        char *grown = realloc(input_at, (size_t)n + 1);
        if (!grown)
            die();
        input_at = grown;
        input_capacity = n + 1;
    }
    input_at[n] = '\0';
    input_size = n;
    return input_at;
}

EXPORT(install) void install(uint32_t n)
{
    JSValue table = JS_ParseJSON(context, input_at, n, "<table>");
    JSValue made = JS_Call(context, js.install, JS_UNDEFINED, 1, &table);
    if (JS_IsException(made))
        die();
    JS_RunGC(runtime);
}

/* ---- the answer --------------------------------------------------------- */

/* Why it failed, as {"name", "message", "stack", "line", "column", ...}. */
static void put_error(JSValueConst reason)
{
    answer.failed = parse_failed ? SCRIPT_FAILED_PARSING : SCRIPT_FAILED_RUNNING;
    error_text.n = 0;
    error_text.failed = false;
    JSValue text = JS_Call(context, js.describe, JS_UNDEFINED, 1, &reason);
    if (JS_IsException(text) || !write_json(context, text, &error_text)) {
        JS_FreeValue(context, JS_GetException(context));
        error_text.n = 0;
        error_text.failed = false;
        bytes_text(
            &error_text,
            "{\"name\":\"Error\",\"message\":\"the error itself cannot be shown\"}");
    }
    answer.error_at = (uint32_t)(uintptr_t)error_text.at;
    answer.error_size = (uint32_t)error_text.n;
}

static void put_own_error(const char *name, const char *message)
{
    JSValue e = JS_NewError(context);
    JS_SetPropertyStr(context, e, "name", JS_NewString(context, name));
    JS_SetPropertyStr(context, e, "message", JS_NewString(context, message));
    put_error(e);
}

/* [{"what", "path", "count"}] */
static void put_losses(const struct losses *losses)
{
    const char *before = "[";
    lost.n = 0;
    lost.failed = false;
    for (int kind = 0; kind < LOST_KINDS; kind++) {
        if (!losses->of[kind].count)
            continue;
        char count[24];
        JSValue path = JS_NewString(context, losses->of[kind].first);
        snprintf(count, sizeof count, "%llu", (unsigned long long)losses->of[kind].count);
        bytes_text(&lost, before);
        bytes_text(&lost, "{\"what\":\"");
        bytes_text(&lost, loss_names[kind]);
        bytes_text(&lost, "\",\"path\":");
        write_json(context, path, &lost);
        bytes_text(&lost, ",\"count\":");
        bytes_text(&lost, count);
        bytes_text(&lost, "}");
        before = ",";
        JS_FreeValue(context, path);
    }
    if (lost.n)
        bytes_text(&lost, "]");
    answer.lost_at = (uint32_t)(uintptr_t)lost.at;
    answer.lost_size = lost.failed ? 0 : (uint32_t)lost.n;
}

static void put_result(JSValueConst value)
{
    struct losses losses = {0};
    bool ok = write_json_noting(context, value, &result, &losses);
    put_losses(&losses);
    answer.result_at = (uint32_t)(uintptr_t)result.at;
    answer.result_size = (uint32_t)result.n;
    if (ok)
        return;
    if (!result.failed) {
        put_error(JS_GetException(context));
        return;
    }
    answer.result_cut = 1;
    put_own_error("OutputTooLarge", "the result is larger than it may be");
}

static void finish(void)
{
    answer.status = SCRIPT_DONE;
    if (main_failed)
        put_error(main_value);
    else if (rejection_count)
        put_error(rejections[0].reason);
    else
        put_result(main_value);
}

static void run_jobs(void)
{
    JSContext *where;
    int status;
    while ((status = JS_ExecutePendingJob(runtime, &where)) != 0)
        if (status < 0)
            JS_FreeValue(context, JS_GetException(context));
}

/* Jobs, then timers that are due, until neither is left. */
static void run_until_waiting(void)
{
    for (;;) {
        run_jobs();
        JSValue ran = JS_Call(context, js.run_timers, JS_UNDEFINED, 0, NULL);
        if (JS_ToBool(context, ran) <= 0)
            return;
    }
}

static struct script_answer *look(void)
{
    run_until_waiting();
    double timer = -1, in_flight = 0;
    JSValue waiting = JS_Call(context, js.next_timer, JS_UNDEFINED, 0, NULL);
    JSValue first = JS_GetPropertyUint32(context, waiting, 0);
    JSValue second = JS_GetPropertyUint32(context, waiting, 1);
    JS_ToFloat64(context, &timer, first);
    JS_ToFloat64(context, &in_flight, second);
    JS_FreeValue(context, waiting);

    answer.in_flight = (uint32_t)in_flight;
    answer.has_timer = timer >= 0;
    answer.timer_ms = timer;
    answer.calls_at = (uint32_t)(uintptr_t)calls_queue.at;
    answer.calls_size = (uint32_t)calls_queue.n;
    answer.status = SCRIPT_WAITING;
    /* What was asked of the host is done before the end; timers are not waited
     * for once the result is there. */
    if (main_done && answer.in_flight == 0)
        finish();
    else if (answer.in_flight == 0 && !answer.has_timer) {
        answer.status = SCRIPT_DONE;
        put_own_error("ExecutionError",
                      "the code waits for a promise that nothing will settle");
    }
    answer.logs_at = (uint32_t)(uintptr_t)logs.at;
    answer.logs_size = (uint32_t)logs.n;
    answer.logs_dropped = logs_dropped;
    return &answer;
}

/* ---- an evaluation ------------------------------------------------------ */

EXPORT(start) struct script_answer *start(uint32_t n)
{
    struct script_head q;
    if (n < sizeof q)
        die();
    memcpy(&q, input_at, sizeof q);
    size_t rest = n - sizeof q;
    if (q.abi != SCRIPT_ABI || q.code_size > rest || q.context_size > rest - q.code_size)
        die();
    const char *injected = input_at + sizeof q + q.code_size;
    code_at = input_at + sizeof q;
    code_size = q.code_size;
    result.ceiling = q.result_max;
    logs.ceiling = q.logs_max;
    calls_left = q.calls_max;

    if (q.features) {
        JSValue features = JS_NewUint32(context, q.features);
        call_own(js.enable, 1, &features);
    }
    static unsigned session_calls; /* outlives the call, as all of the world does */
    session_calls += (q.flags & SCRIPT_SESSION) != 0;
    if (q.flags) {
        JSValue how[3] = {JS_NewBool(context, q.flags & SCRIPT_SESSION),
                          JS_NewBool(context, q.flags & SCRIPT_TRACE),
                          JS_NewUint32(context, session_calls)};
        call_own(js.begin, 3, how);
    }
    if (q.context_size) {
        /* The JSON reader wants a NUL behind it: input() has put one. */
        JSValue values = JS_ParseJSON(context, injected, q.context_size, "<context>");
        if (JS_IsException(values))
            die();
        call_own(js.inject, 1, &values);
        JS_FreeValue(context, values);
    }
    enum { FUNCTION, SCRIPT, SESSION } form = SESSION;
    bool is_script = false;
    JSValue promise;
    if (q.flags & SCRIPT_SESSION) {
        promise = code_run_in_session(context, code_at, code_size, session_calls);
    } else {
        promise = code_run(context, code_at, code_size, &is_script);
        form = is_script ? SCRIPT : FUNCTION;
    }
    if (JS_IsException(promise)) {
        main_done = true;
        main_failed = parse_failed = true;
        main_value = JS_GetException(context);
    } else {
        JSValue args[2] = {promise, JS_NewUint32(context, form)};
        call_own(js.drive, 2, args);
        main_promise = promise;
    }
    return look();
}

/* What only this evaluation needed must not go into the next. */
EXPORT(rest) void rest(void)
{
    call_own(js.rest, 0, NULL);
    for (size_t i = 0; i < rejection_count; i++) {
        JS_FreeValue(context, JS_MKPTR(JS_TAG_OBJECT, rejections[i].promise));
        JS_FreeValue(context, rejections[i].reason);
    }
    rejection_count = 0;
    JS_FreeValue(context, main_promise);
    JS_FreeValue(context, main_value);
    main_promise = main_value = JS_UNDEFINED;
    main_done = main_failed = parse_failed = false;
    bytes_drop(&result);
    bytes_drop(&error_text);
    calls_rest();
    logs_rest();
    sources_rest();
    code_shift = (struct shift){0};
    answer = (struct script_answer){0};
    free(input_at);
    input_at = NULL;
    input_capacity = 0;
    code_at = NULL;
    code_size = 0;
    JS_RunGC(runtime);
}

EXPORT(resume) struct script_answer *resume(uint32_t n)
{
    calls_queue.n = 0;
    for (size_t at = 0; n - at >= sizeof(struct script_settled);) {
        struct script_settled s;
        memcpy(&s, input_at + at, sizeof s);
        at += sizeof s;
        if (s.size > n - at)
            die();
        /* The JSON reader wants a NUL behind its text: put one over what comes
         * next, and take it away again. */
        char *text = input_at + at, kept = text[s.size];
        text[s.size] = '\0';
        JSValue value = JS_ParseJSON(context, text, s.size, "<host>");
        text[s.size] = kept;
        if (JS_IsException(value)) {
            s.failed = 1;
            value = JS_GetException(context);
        }
        JSValue args[3] = {JS_NewUint32(context, s.id),
                           JS_NewBool(context, s.failed != 0), value};
        call_own(js.settle, 3, args);
        JS_FreeValue(context, value);
        at += SCRIPT_PAD(s.size);
    }
    return look();
}
