/* notes/fixture_test.h - a vault in a new folder for each test, files as another program
 * sees them, and calls with options written in JSON ('single quotes' will do). Only for
 * *_test.c.
 */
#pragma once
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "notes/notes.h"
#include "os/os.h"
#include "pattern/alone_test.h"

static char root[HOME_SIZE], cache[HOME_SIZE];
static struct arena *arena;
static struct vault *vault;
static struct patterns *patterns; /* created once, and freed by the process's end */

static inline int set_up(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(root) || !folder_make(cache) || setenv("XDG_CACHE_HOME", cache, 1))
        return -1;
    arena = arena_new((size_t)256 << 20);
    vault = vault_open(root, &e);
    patterns = patterns ? patterns : patterns_new_alone("build/guest");
    if (vault)
        vault_set_patterns(vault, patterns);
    return vault ? 0 : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    vault_close(vault);
    vault = NULL;
    arena_free(arena);
    return folder_remove(root) + folder_remove(cache);
}

static inline void reopen(void)
{
    struct err e = {0};
    vault_close(vault);
    vault = vault_open(root, &e);
    assert_non_null(vault);
    vault_set_patterns(vault, patterns);
}

/* ---- files as another program sees them --------------------------------- */

static inline const char *full(const char *path)
{
    struct err e = {0};
    return arena_printf(arena, &e, "%s/%s", root, path);
}

static inline void put_bytes(const char *path, const char *bytes, size_t n)
{
    char folder[300];
    (void)snprintf(folder, sizeof folder, "%s", full(path));
    for (char *c = folder + strlen(root) + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        (void)mkdir(folder, 0755);
        *c = '/';
    }
    FILE *f = fopen(full(path), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline void put(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

static inline const char *file(const char *path)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 64u << 20);
    scoped_fd int fd = open(full(path), O_RDONLY);
    if (fd < 0 || !os_read_fd(fd, &b, &e))
        fail_msg("no file %s", path);
    return arena_copy(arena, buf_cz(&b), b.n, &e);
}

static inline bool exists(const char *path)
{
    return access(full(path), F_OK) == 0;
}

/* ---- calls -------------------------------------------------------------- */

typedef bool notes_fn(struct vault *v, const struct json *o, struct json_writer *out,
                      struct err *e);

static inline const struct json *parse(const char *text)
{
    struct err e = {0};
    const struct json *v = json_read(str_of(text), arena, &e);
    if (!v)
        fail_msg("%s: %s", text, e.msg);
    return v;
}

static inline const struct json *try_call(notes_fn *f, const struct json *o,
                                          struct err *e)
{
    scoped_buf struct buf b;
    buf_init(&b, 64u << 20);
    struct json_writer w = json_writer(&b);
    if (!f(vault, o, &w, e)) {
        assert_int_not_equal(e->code, ERR_NONE);
        assert_int_equal(b.n, 0);
        return NULL;
    }
    assert_int_equal(e->code, ERR_NONE);
    struct err why = {0};
    const struct json *v = json_read(buf_view(&b), arena, &why);
    if (!v)
        fail_msg("%s: %s", why.msg, buf_cz(&b));
    return v;
}

static inline const struct json *call_with(notes_fn *f, const struct json *o)
{
    struct err e = {0};
    const struct json *v = try_call(f, o, &e);
    if (!v)
        fail_msg("%s", e.msg);
    return v;
}

/* %-formats options as JSON; ' stands for ". */
static inline const struct json *options(const char *fmt, va_list ap)
{
    char text[60000];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    return parse(text);
}

static inline const struct json *call(notes_fn *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const struct json *o = options(fmt, ap);
    va_end(ap);
    return call_with(f, o);
}

static inline const char *shown(const struct json *o)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_writer w = json_writer(&b);
    json_put(&w, o);
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

/* Returns the message. */
static inline const char *refused(enum err_code code, notes_fn *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const struct json *o = options(fmt, ap);
    va_end(ap);
    struct err e = {0}, none = {0};
    if (try_call(f, o, &e))
        fail_msg("accepted %s", shown(o));
    if (e.code != code)
        fail_msg("%s: code %d and not %d: %s", shown(o), e.code, code, e.msg);
    return arena_printf(arena, &none, "%s", e.msg);
}

static inline const char *text(const struct json *o, const char *key)
{
    struct err e = {0};
    return str_cz(json_str(json_get(o, key)), arena, &e);
}

/* The ids of rows, joined. */
static inline const char *ids(const struct json *rows)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(rows);
    while (json_next(&it))
        buf_printf(&b, "%s%s", b.n ? "," : "", text(it.value, "id"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static inline const char *hash_of(const char *id)
{
    return text(call(notes_get, "'%s'", id), "content_hash");
}

static inline const char *keys_of(const struct json *o)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(o);
    while (json_next(&it))
        buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARGS(it.key));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}
