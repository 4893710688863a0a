/* ES modules from files, found by path or by file: URL: a program's configuration may be
 * one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "javascript.h"

char *file_read(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0)
        return NULL;
    char *bytes = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    size_t done = 0;
    ssize_t k = 1;
    while (bytes && k > 0 && done < (size_t)st.st_size) {
        k = read(fd, bytes + done, (size_t)st.st_size - done);
        done += k > 0 ? (size_t)k : 0;
    }
    if (bytes && k < 0) {
        free(bytes);
        bytes = NULL;
    }
    int why = errno;
    close(fd);
    errno = why;
    if (bytes)
        bytes[ *n = done] = '\0';
    return bytes;
}

static JSModuleDef *load(JSContext *ctx, const char *name, void *arg)
{
    (void)arg;
    const char *path = strncmp(name, "file://", 7) == 0 ? name + 7 : name;
    size_t n = 0;
    char *source = file_read(path, &n);
    if (!source) {
        JS_ThrowReferenceError(ctx, "Cannot find module '%s': %s", path, strerror(errno));
        return NULL;
    }
    JSValue compiled =
        JS_Eval(ctx, source, n, path, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    free(source);
    if (JS_IsException(compiled))
        return NULL;
    JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
    JS_FreeValue(ctx, compiled); /* the context holds it from here */
    return module;
}

void modules_init(JSRuntime *rt)
{
    JS_SetModuleLoaderFunc(rt, NULL, load, NULL);
}

/* module(path): its namespace, once it has run to its end. */
JSValue module_load(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    JSValue promise = JS_LoadModule(ctx, "", path);
    JS_FreeCString(ctx, path);
    if (JS_IsException(promise))
        return promise;
    run_jobs(ctx);
    JSPromiseStateEnum state = JS_PromiseState(ctx, promise);
    JSValue result = JS_PromiseResult(ctx, promise);
    JS_FreeValue(ctx, promise);
    if (state == JS_PROMISE_FULFILLED)
        return result;
    if (state == JS_PROMISE_REJECTED)
        return JS_Throw(ctx, result);
    JS_FreeValue(ctx, result);
    return JS_ThrowTypeError(ctx, "a module that waits for something never ends here");
}
