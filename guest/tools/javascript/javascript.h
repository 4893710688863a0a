/* What the C files of this guest share. */
#pragma once
#include <quickjs.h>
#include <stdbool.h>
#include <stddef.h>

/* The object of functions that node/ is built on. A function that asks the system
 * answers a negative errno where that failed. */
JSValue system_object(JSContext *ctx);

/* Modules and scripts from files: for programs' configuration. */
void modules_init(JSRuntime *rt);
JSValue module_load(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv);

void run_jobs(JSContext *ctx);

/* UTF-8 that may be broken: what is no character becomes U+FFFD, as the Encoding Standard
 * says. */
JSValue text_decode(JSContext *ctx, const char *bytes, size_t n);
/* The bytes of a string, lone surrogates as U+FFFD. NULL: an exception waits. The caller
 * frees them with js_free(). */
char *text_encode(JSContext *ctx, JSValueConst text, size_t *n);
/* A whole file, one zero behind it. NULL: errno tells. free(). */
char *file_read(const char *path, size_t *n);
