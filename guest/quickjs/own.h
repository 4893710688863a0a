/* quickjs/own.h - what sessions and further sources need of QuickJS beyond its own header. */
#pragma once
#include "quickjs.h"

/* Compiles as JS_Eval2() does; a top-level `return` ends the script with its value. */
JSValue own_compile(JSContext *ctx, const char *text, size_t n, JSEvalOptions *o);
/* What such a script's promise resolved to: is it the value of the last expression
 * statement (then *out is it), or what was returned? */
bool own_completion(JSContext *ctx, JSValueConst v, JSValue *out);
/* Makes the names that the compiled script declares free to be declared again. Is
 * `wanted` among them? */
bool own_free_names(JSContext *ctx, JSValueConst function, const char *wanted);
/* The same for one name, so that a property of the global object shows. */
void own_free_name(JSContext *ctx, const char *name);
/* The value of a top-level name, declared in whatever way. */
JSValue own_global(JSContext *ctx, const char *name);

/* From now on whatever makes code of text (eval and the constructors of functions, by any
 * way to them) calls `refuse(what)` instead, which throws. */
void own_refuse_text(JSContext *ctx, JSValueConst refuse);
/* A promise of what one of the two handlers answers, as promise.then() with the built-ins as
 * they were: the code may have changed Promise. */
JSValue own_then(JSContext *ctx, JSValueConst promise, JSValueConst *handlers);

/* A context of the same built-ins with a global object of its own, and no names declared.
 * NULL: no memory. Lives as long as the runtime. */
JSContext *own_realm(JSContext *ctx, JSValueConst global);
/* A guest that knows local time defines it: minutes behind UTC at that second. */
int own_zone(int64_t seconds);
/* An array of the built-ins that no name leads to: prototypes of iterators and the like. */
JSValue own_intrinsics(JSContext *ctx);
/* Freezes each object of the array. From now on an assignment makes a property of the
 * object's own where a frozen prototype has one of that name. */
void own_freeze(JSContext *ctx, JSValueConst list);
