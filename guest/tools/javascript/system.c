/* The system as node/ sees it: files, streams, arguments, clocks. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "javascript.h"

#define READ_STEP ((size_t)64 << 10)

extern char **environ;

/* Imported by name: wasi-libc keeps the arguments for a main() that this guest has not. */
__attribute__((import_module("wasi_snapshot_preview1"),
               import_name("args_sizes_get"))) int
args_sizes_get(size_t *count, size_t *bytes);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("args_get"))) int
args_get(char **args, char *bytes);

#define CALL(name) \
    static JSValue name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
#define UNUSED ((void)self, (void)argc, (void)argv)

static JSValue outcome(JSContext *ctx, int64_t r)
{
    return JS_NewInt64(ctx, r < 0 ? -(int64_t)errno : r);
}

static int number(JSContext *ctx, JSValueConst v)
{
    int32_t n = 0;
    (void)JS_ToInt32(ctx, &n, v);
    return n;
}

/* One path in, an errno or 0 out. */
static JSValue with_path(JSContext *ctx, JSValueConst v, int (*act)(const char *))
{
    const char *path = JS_ToCString(ctx, v);
    if (!path)
        return JS_EXCEPTION;
    JSValue r = outcome(ctx, act(path));
    JS_FreeCString(ctx, path);
    return r;
}

static JSValue with_two(JSContext *ctx, JSValueConst *argv,
                        int (*act)(const char *, const char *))
{
    const char *a = JS_ToCString(ctx, argv[0]), *b = JS_ToCString(ctx, argv[1]);
    JSValue r = a && b ? outcome(ctx, act(a, b)) : JS_EXCEPTION;
    JS_FreeCString(ctx, a);
    JS_FreeCString(ctx, b);
    return r;
}

static JSValue list(JSContext *ctx, char *const *strings)
{
    JSValue all = JS_NewArray(ctx);
    for (uint32_t i = 0; strings && strings[i]; i++)
        JS_SetPropertyUint32(ctx, all, i,
                             text_decode(ctx, strings[i], strlen(strings[i])));
    return all;
}

CALL(call_args)
{
    UNUSED;
    size_t count = 0, bytes = 0;
    if (args_sizes_get(&count, &bytes) != 0)
        return JS_NewArray(ctx);
    char **at = calloc(count + 1, sizeof *at), *text = calloc(bytes + 1, 1);
    JSValue all = JS_NewArray(ctx);
    if (at && text && args_get(at, text) == 0) {
        at[count] = NULL;
        JS_FreeValue(ctx, all);
        all = list(ctx, at);
    }
    free(at);
    free(text);
    return all;
}

CALL(call_environment)
{
    UNUSED;
    (void)getenv("PATH"); /* wasi-libc asks for the environment when it is first used */
    return list(ctx, environ);
}

CALL(call_cwd)
{
    UNUSED;
    char path[4096];
    return JS_NewString(ctx, getcwd(path, sizeof path) ? path : "/");
}

CALL(call_chdir)
{
    UNUSED;
    return with_path(ctx, argv[0], chdir);
}

CALL(call_open)
{
    UNUSED;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    int how = number(ctx, argv[1]);
    /* The layer's own numbers, which are node's on Linux. */
    static const struct {
        int theirs, ours;
    } flags[] = {{0100, O_CREAT}, {0200, O_EXCL}, {01000, O_TRUNC}, {02000, O_APPEND}};
    int mode = (how & 3) == 0 ? O_RDONLY : (how & 3) == 1 ? O_WRONLY : O_RDWR;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        mode |= how & flags[i].theirs ? flags[i].ours : 0;
    JSValue r = outcome(ctx, open(path, mode, 0666));
    JS_FreeCString(ctx, path);
    return r;
}

CALL(call_close)
{
    UNUSED;
    return outcome(ctx, close(number(ctx, argv[0])));
}

/* Of no bytes: an end. */
static void *resize_bytes(JSRuntime *rt, void *opaque, void *bytes, size_t n)
{
    (void)rt;
    (void)opaque;
    if (n > 0)
        return realloc(bytes, n);
    free(bytes);
    return NULL;
}

/* read(fd, most): an ArrayBuffer of what there is, empty at the end; no `most`: all. */
CALL(call_read)
{
    UNUSED;
    int fd = number(ctx, argv[0]);
    size_t most = JS_IsUndefined(argv[1]) ? SIZE_MAX : (size_t)number(ctx, argv[1]);
    size_t n = 0, room = most < READ_STEP ? most : READ_STEP;
    uint8_t *bytes = malloc(room + 1);
    ssize_t k = 1;
    while (bytes && k > 0 && n < most) {
        if (n == room) {
            uint8_t *more = realloc(bytes, (room *= 2) + 1);
            if (!more)
                free(bytes);
            bytes = more;
            continue;
        }
        k = read(fd, bytes + n, room - n);
        n += k > 0 ? (size_t)k : 0;
        if (most != SIZE_MAX)
            break;
    }
    if (!bytes)
        return JS_NewInt32(ctx, -ENOMEM);
    if (k < 0) {
        free(bytes);
        return JS_NewInt32(ctx, -errno);
    }
    return JS_NewArrayBuffer(ctx, bytes, n, 0, resize_bytes, NULL, 0);
}

static int64_t write_all(int fd, const char *bytes, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t k = write(fd, bytes + done, n - done);
        if (k < 0)
            return -1;
        done += (size_t)k;
    }
    return (int64_t)n;
}

/* write(fd, what): all of a string, an ArrayBuffer or a view of one. */
CALL(call_write)
{
    UNUSED;
    int fd = number(ctx, argv[0]);
    size_t n = 0, from = 0, length = 0, whole = 0;
    if (JS_IsString(argv[1])) {
        char *text = text_encode(ctx, argv[1], &n);
        if (!text)
            return JS_EXCEPTION;
        JSValue r = outcome(ctx, write_all(fd, text, n));
        js_free(ctx, text);
        return r;
    }
    JSValue buffer = JS_IsArrayBuffer(argv[1])
                         ? JS_DupValue(ctx, argv[1])
                         : JS_GetTypedArrayBuffer(ctx, argv[1], &from, &length, NULL);
    if (JS_IsException(buffer))
        return buffer;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, buffer);
    n = JS_IsArrayBuffer(argv[1]) ? whole : length;
    JSValue r = bytes || n == 0 ? outcome(ctx, write_all(fd, (char *)bytes + from, n))
                                : JS_EXCEPTION;
    JS_FreeValue(ctx, buffer);
    return r;
}

static double milliseconds(struct timespec t)
{
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* stat(path, follow) or stat(fd): [mode, size, atime, mtime, ctime, inode, links, device]. */
CALL(call_stat)
{
    UNUSED;
    struct stat st;
    int r;
    if (JS_IsNumber(argv[0])) {
        r = fstat(number(ctx, argv[0]), &st);
    } else {
        const char *path = JS_ToCString(ctx, argv[0]);
        if (!path)
            return JS_EXCEPTION;
        r = JS_ToBool(ctx, argv[1]) ? stat(path, &st) : lstat(path, &st);
        JS_FreeCString(ctx, path);
    }
    if (r < 0)
        return JS_NewInt32(ctx, -errno);
    /* WASI has no permissions; node's programs copy what they find. */
    double mode = (double)(st.st_mode & S_IFMT) + (S_ISDIR(st.st_mode) ? 0755 : 0644);
    double all[] = {mode,
                    (double)st.st_size,
                    milliseconds(st.st_atim),
                    milliseconds(st.st_mtim),
                    milliseconds(st.st_ctim),
                    (double)st.st_ino,
                    (double)st.st_nlink,
                    (double)st.st_dev};
    JSValue v = JS_NewArray(ctx);
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        JS_SetPropertyUint32(ctx, v, i, JS_NewFloat64(ctx, all[i]));
    return v;
}

/* readdir(path): names and kinds by turns; kinds are S_IFMT's. */
CALL(call_readdir)
{
    UNUSED;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    DIR *folder = opendir(path);
    JS_FreeCString(ctx, path);
    if (!folder)
        return JS_NewInt32(ctx, -errno);
    JSValue all = JS_NewArray(ctx);
    uint32_t n = 0;
    for (struct dirent *d; (d = readdir(folder));) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        int kind = d->d_type == DT_DIR   ? S_IFDIR
                   : d->d_type == DT_LNK ? S_IFLNK
                                         : S_IFREG;
        JS_SetPropertyUint32(ctx, all, n++,
                             text_decode(ctx, d->d_name, strlen(d->d_name)));
        JS_SetPropertyUint32(ctx, all, n++, JS_NewInt32(ctx, kind));
    }
    closedir(folder);
    return all;
}

static int make_folder(const char *path)
{
    return mkdir(path, 0777);
}

CALL(call_mkdir)
{
    UNUSED;
    return with_path(ctx, argv[0], make_folder);
}

CALL(call_rmdir)
{
    UNUSED;
    return with_path(ctx, argv[0], rmdir);
}

CALL(call_unlink)
{
    UNUSED;
    return with_path(ctx, argv[0], unlink);
}

CALL(call_rename)
{
    UNUSED;
    return with_two(ctx, argv, rename);
}

CALL(call_symlink)
{
    UNUSED;
    return with_two(ctx, argv, symlink);
}

CALL(call_readlink)
{
    UNUSED;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    char to[4096];
    ssize_t n = readlink(path, to, sizeof to);
    JS_FreeCString(ctx, path);
    return n < 0 ? JS_NewInt32(ctx, -errno) : text_decode(ctx, to, (size_t)n);
}

/* utimes(path, atime, mtime): in milliseconds. */
CALL(call_utimes)
{
    UNUSED;
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path)
        return JS_EXCEPTION;
    struct timespec t[2];
    for (int i = 0; i < 2; i++) {
        double ms = 0;
        (void)JS_ToFloat64(ctx, &ms, argv[1 + i]);
        t[i].tv_sec = (time_t)(ms / 1000);
        t[i].tv_nsec = (long)((ms - (double)t[i].tv_sec * 1000) * 1e6);
    }
    JSValue r = outcome(ctx, utimensat(AT_FDCWD, path, t, 0));
    JS_FreeCString(ctx, path);
    return r;
}

CALL(call_encode)
{
    UNUSED;
    size_t n = 0;
    char *text = text_encode(ctx, argv[0], &n);
    if (!text)
        return JS_EXCEPTION;
    JSValue v = JS_NewArrayBufferCopy(ctx, (uint8_t *)text, n);
    js_free(ctx, text);
    return v;
}

/* decode(buffer, from, length) */
CALL(call_decode)
{
    UNUSED;
    size_t n = 0;
    uint8_t *bytes = JS_GetArrayBuffer(ctx, &n, argv[0]);
    if (!bytes && n > 0)
        return JS_EXCEPTION;
    size_t from = (size_t)number(ctx, argv[1]), length = (size_t)number(ctx, argv[2]);
    if (from > n || length > n - from)
        return JS_ThrowRangeError(ctx, "bytes outside of the buffer");
    return text_decode(ctx, (char *)bytes + from, length);
}

CALL(call_clock)
{
    UNUSED;
    struct timespec t;
    clock_gettime(JS_ToBool(ctx, argv[0]) ? CLOCK_MONOTONIC : CLOCK_REALTIME, &t);
    return JS_NewFloat64(ctx, milliseconds(t));
}

CALL(call_sleep)
{
    UNUSED;
    double ms = 0;
    (void)JS_ToFloat64(ctx, &ms, argv[0]);
    struct timespec t = {(time_t)(ms / 1000),
                         (long)(1e6 * (ms - 1000 * (double)(time_t)(ms / 1000)))};
    nanosleep(&t, NULL);
    return JS_UNDEFINED;
}

CALL(call_random)
{
    UNUSED;
    int n = number(ctx, argv[0]);
    uint8_t bytes[256];
    if (n < 0 || (size_t)n > sizeof bytes || getentropy(bytes, (size_t)n) < 0)
        return JS_ThrowRangeError(ctx, "at most %zu random bytes at a time",
                                  sizeof bytes);
    return JS_NewArrayBufferCopy(ctx, bytes, (size_t)n);
}

CALL(call_memory)
{
    UNUSED;
    JSMemoryUsage used;
    JS_ComputeMemoryUsage(JS_GetRuntime(ctx), &used);
    return JS_NewInt64(ctx, used.malloc_size);
}

CALL(call_exit)
{
    UNUSED;
    _Exit(number(ctx, argv[0]));
}

/* run(source, name): what a script evaluates to. */
CALL(call_run)
{
    UNUSED;
    size_t n = 0;
    const char *source = JS_ToCStringLen(ctx, &n, argv[0]);
    const char *name = JS_ToCString(ctx, argv[1]);
    JSValue v = source && name ? JS_Eval(ctx, source, n, name, JS_EVAL_TYPE_GLOBAL)
                               : JS_EXCEPTION;
    JS_FreeCString(ctx, source);
    JS_FreeCString(ctx, name);
    return v;
}

/* isModule(source): is it written as an ES module? */
CALL(call_is_module)
{
    UNUSED;
    size_t n = 0;
    const char *source = JS_ToCStringLen(ctx, &n, argv[0]);
    if (!source)
        return JS_EXCEPTION;
    bool yes = JS_DetectModule(source, n);
    JS_FreeCString(ctx, source);
    return JS_NewBool(ctx, yes);
}

CALL(call_jobs)
{
    UNUSED;
    run_jobs(ctx);
    return JS_UNDEFINED;
}

JSValue system_object(JSContext *ctx)
{
    static const struct {
        const char *name;
        JSCFunction *call;
        int length;
    } calls[] = {
        {"args", call_args, 0},       {"environment", call_environment, 0},
        {"cwd", call_cwd, 0},         {"chdir", call_chdir, 1},
        {"open", call_open, 2},       {"close", call_close, 1},
        {"read", call_read, 2},       {"write", call_write, 2},
        {"stat", call_stat, 2},       {"readdir", call_readdir, 1},
        {"mkdir", call_mkdir, 1},     {"rmdir", call_rmdir, 1},
        {"unlink", call_unlink, 1},   {"rename", call_rename, 2},
        {"symlink", call_symlink, 2}, {"readlink", call_readlink, 1},
        {"utimes", call_utimes, 3},   {"encode", call_encode, 1},
        {"decode", call_decode, 3},   {"clock", call_clock, 1},
        {"sleep", call_sleep, 1},     {"random", call_random, 1},
        {"memory", call_memory, 0},   {"exit", call_exit, 1},
        {"run", call_run, 2},         {"isModule", call_is_module, 1},
        {"module", module_load, 1},   {"jobs", call_jobs, 0},
    };
    JSValue all = JS_NewObject(ctx);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        JS_SetPropertyStr(
            ctx, all, calls[i].name,
            JS_NewCFunction(ctx, calls[i].call, calls[i].name, calls[i].length));
    return all;
}
