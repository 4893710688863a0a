/* The guest that runs programs written for node: QuickJS, node's modules as far as
 * command lines need them (node/), and the programs themselves (programs/), in one baked
 * image. argv[0] tells which of them a call means.
 *
 * `bake` runs once, when the tool is built: everything is compiled, loaded and has done
 * a piece of its work. `_start` is then all that a call costs. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/libc-environ.h>
#include <wasi/libc.h>

#include "javascript.h"

void __wasilibc_reset_preopens(void); /* zig's wasi-libc has it, and no header */

/* The host's stack is not QuickJS's: this one is what -z stack-size leaves it. */
#define STACK_MAX ((size_t)6 << 20)
/* Collecting costs a walk over all that was baked, which writes to every page of it. A
 * run that makes less garbage than this does not pay for it. */
#define GARBAGE_MAX ((size_t)48 << 20)

/* Not constant: they are wiped once they are compiled. */
static char url_source[] = {
#embed "url.js"
    , 0};
static char node_source[] = {
#embed "node.js"
    , 0};
static char programs_source[] = {
#embed "programs.js"
    , 0};

static struct script {
    const char *name;
    char *source;
    size_t n;
    uint8_t *bytecode;
    size_t size;
} scripts[] = {
    {"node:modules", node_source, sizeof node_source - 1, NULL, 0},
    {"node:url", url_source, sizeof url_source - 1, NULL, 0},
    {"programs", programs_source, sizeof programs_source - 1, NULL, 0},
};
enum { NODE, URL, PROGRAMS, SCRIPTS };

static JSRuntime *runtime;
static JSContext *context;

_Noreturn static void fail(const char *what)
{
    JSValue error = JS_GetException(context);
    const char *text = JS_ToCString(context, error);
    (void)!write(2, what, strlen(what));
    if (text)
        (void)!write(2, text, strlen(text));
    (void)!write(2, "\n", 1);
    _Exit(70);
}

void run_jobs(JSContext *ctx)
{
    JSContext *at;
    while (JS_ExecutePendingJob(JS_GetRuntime(ctx), &at) > 0)
        ;
}

static void open_runtime(void)
{
    runtime = JS_NewRuntime();
    context = runtime ? JS_NewContext(runtime) : NULL;
    if (!context)
        abort();
    JS_SetMaxStackSize(runtime, STACK_MAX);
    JS_SetGCThreshold(runtime, (size_t)-1);
}

/* Compiling leaves much behind, so it has a runtime of its own, and the world begins in
 * memory that is free again. Written bytecode leaves out the text of each function. */
static void compile_scripts(void)
{
    open_runtime();
    for (struct script *s = scripts; s < scripts + SCRIPTS; s++) {
        JSValue v = JS_Eval(context, s->source, s->n, s->name,
                            JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
        if (JS_IsException(v))
            fail("a script: ");
        size_t size = 0;
        uint8_t *written = JS_WriteObject(
            context, &size, v, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_SOURCE);
        s->bytecode = written ? malloc(size) : NULL;
        if (!s->bytecode)
            fail("a script's bytecode: ");
        memcpy(s->bytecode, written, s->size = size);
        js_free(context, written);
        JS_FreeValue(context, v);
        memset(s->source, 0, s->n);
    }
    JS_FreeContext(context);
    JS_FreeRuntime(runtime);
}

/* What a script that is one function, or a row of statements, evaluates to. */
static JSValue evaluate(struct script *s)
{
    JSValue v = JS_ReadObject(context, s->bytecode, s->size, JS_READ_OBJ_BYTECODE);
    if (!JS_IsException(v))
        v = JS_EvalFunction(context, v);
    if (JS_IsException(v))
        fail("a script: ");
    free(s->bytecode);
    s->bytecode = NULL;
    return v;
}

/* Calls a function of the world's, which node.js left there. */
static void call(const char *name)
{
    JSValue world = JS_GetGlobalObject(context);
    JSValue function = JS_GetPropertyStr(context, world, name);
    JSValue answer = JS_Call(context, function, world, 0, NULL);
    if (JS_IsException(answer))
        fail("node's modules: ");
    JS_FreeValue(context, answer);
    JS_FreeValue(context, function);
    JS_FreeValue(context, world);
}

/* What loading left free is filled with zeros, which the image keeps as holes: takes all
 * free pieces of each size, and gives them back. */
static void clear_free(void)
{
    struct piece {
        struct piece *next;
    } *taken = NULL;
    for (size_t size = (size_t)1 << 20; size >= 64; size /= 2) {
        size_t pages = __builtin_wasm_memory_size(0);
        while (__builtin_wasm_memory_size(0) == pages) {
            struct piece *p = malloc(size);
            if (!p)
                break;
            memset(p, 0, size);
            p->next = taken;
            taken = p;
        }
    }
    while (taken) {
        struct piece *next = taken->next;
        taken->next = NULL;
        free(taken);
        taken = next;
    }
}

void bake(void)
{
    compile_scripts();
    open_runtime();
    modules_init(runtime);

    JSValue make = evaluate(&scripts[NODE]);
    JSValue arguments[2] = {system_object(context), evaluate(&scripts[URL])};
    JSValue answer = JS_Call(context, make, JS_UNDEFINED, 2, arguments);
    if (JS_IsException(answer))
        fail("node's modules: ");
    JS_FreeValue(context, answer);
    JS_FreeValue(context, make);
    for (size_t i = 0; i < 2; i++)
        JS_FreeValue(context, arguments[i]);

    JS_FreeValue(context, evaluate(&scripts[PROGRAMS]));
    call("warmPrograms");
    run_jobs(context);
    call("programsAreWarm");
    JS_RunGC(runtime);
    clear_free();
    JSMemoryUsage used;
    JS_ComputeMemoryUsage(runtime, &used);
    JS_SetGCThreshold(runtime, (size_t)used.malloc_size + GARBAGE_MAX);
}

void _start(void)
{
    /* No signals and no threads: what is left of a start is where the caller stands. */
    /* Both were asked for once, when the image was made. */
    __wasilibc_initialize_environ();
    __wasilibc_reset_preopens();
    __wasilibc_populate_preopens();
    const char *folder = getenv("PWD");
    if (folder && *folder)
        (void)!chdir(folder);
    JS_UpdateStackTop(runtime);
    call("startProgram");
    run_jobs(context);
    call("runLoop");
    exit(70); /* runLoop() ends the program itself */
}
