/* The linter's guest: QuickJS with acorn and the rules in lint.js, loaded and warm when
 * it is baked. One check, then the world is thrown away. */
#include <stdlib.h>
#include <string.h>

#include "abi/abi.h"
#include "quickjs/own.h"
#include "script/guest.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* Bytes of C stack that JavaScript may use; the parser is recursive. */
#define JS_STACK (1536u * 1024u)
/* Never searched for cycles: a check is over before that pays. */
#define GC_THRESHOLD SIZE_MAX

static const char acorn_source[] = {
#embed "acorn.js"
    , '\0'};
static const char lint_source[] = {
#embed "lint.js"
    , '\0'};
static const char review_source[] = {
#embed "review.js"
    , '\0'};

static JSRuntime *runtime;
static JSContext *context;
static JSValue install_table, check_code, review_function;

static char *input_at;
static uint32_t input_capacity;
static struct lint_answer answer;
static struct bytes findings = {.ceiling = LINT_REVIEW_MAX};

static JSValue sound(JSValue v)
{
    if (JS_IsException(v))
        __builtin_trap();
    return v;
}

static JSValue eval_own(const char *text, const char *name)
{
    return sound(JS_Eval(context, text, strlen(text), name, JS_EVAL_TYPE_GLOBAL));
}

EXPORT(bake) void bake(void)
{
    heap_prepare();
    runtime = JS_NewRuntime2(&heap_functions, NULL);
    context = runtime ? JS_NewContext(runtime) : NULL;
    if (!context)
        __builtin_trap();
    JS_SetMaxStackSize(runtime, JS_STACK);
    eval_own(acorn_source, "<acorn>");
    JSValue world = JS_GetGlobalObject(context);
    JSValue acorn = JS_GetPropertyStr(context, world, "acorn");
    JSValue make = eval_own(lint_source, "<lint>");
    JSValue own = sound(JS_Call(context, make, JS_UNDEFINED, 1, &acorn));
    install_table = JS_GetPropertyStr(context, own, "install");
    check_code = JS_GetPropertyStr(context, own, "check");
    JSValue kit = JS_GetPropertyStr(context, own, "kit");
    make = eval_own(review_source, "<review>");
    review_function = sound(JS_Call(context, make, JS_UNDEFINED, 1, &kit));
    JS_RunGC(runtime);
    JS_SetGCThreshold(runtime, GC_THRESHOLD);
}

EXPORT(input) void *input(uint32_t n)
{
    if (n >= input_capacity) {
        char *grown = realloc(input_at, (size_t)n + 1);
        if (!grown)
            __builtin_trap();
        input_at = grown;
        input_capacity = n + 1;
    }
    input_at[n] = '\0';
    return input_at;
}

EXPORT(install) void install(uint32_t n)
{
    JSValue table = sound(JS_ParseJSON(context, input_at, n, "<table>"));
    sound(JS_Call(context, install_table, JS_UNDEFINED, 1, &table));
    JS_RunGC(runtime);
}

/* What was thrown is no finding: too deep for the parser's stack. */
static struct lint_answer *answered(JSValue v)
{
    answer.failed = JS_IsException(v) || !write_json(context, v, &findings);
    answer.at = (uint32_t)(uintptr_t)findings.at;
    answer.size = (uint32_t)findings.n;
    return &answer;
}

EXPORT(check) struct lint_answer *check(uint32_t n, uint32_t features)
{
    JSValue args[2] = {JS_NewStringLen(context, input_at, n),
                       JS_NewUint32(context, features)};
    return answered(JS_Call(context, check_code, JS_UNDEFINED, 2, args));
}

EXPORT(review) struct lint_answer *review(uint32_t n)
{
    JSValue question = sound(JS_ParseJSON(context, input_at, n, "<function>"));
    return answered(JS_Call(context, review_function, JS_UNDEFINED, 1, &question));
}
