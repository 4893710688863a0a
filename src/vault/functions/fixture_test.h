/* functions/fixture_test.h - a new vault for every test of this room. */
#pragma once

#include "base/home_test.h"
#include "functions/functions.h"
#include "os/os.h"

struct fixture {
    char path[HOME_SIZE];
    struct functions *f;
    struct arena *arena;
    struct err e;
};

static const struct function_author tester = {.by = {"tester", 6}};

#define assert_fine(x, ok)                       \
    do {                                         \
        if (!(ok))                               \
            fail_msg("%s: %s", #ok, (x)->e.msg); \
    } while (0)

/* The last call failed with this code; clears the error. */
#define assert_refused(x, expected, part)                                \
    do {                                                                 \
        if ((x)->e.code != (expected) || !strstr((x)->e.msg, part))      \
            fail_msg("%s: %s", err_kind((x)->e.code)->name, (x)->e.msg); \
        (x)->e = (struct err){0};                                        \
    } while (0)

static inline struct functions *open_again(struct fixture *x)
{
    struct functions *f = functions_open(x->path, &x->e);
    assert_fine(x, f);
    return f;
}

static inline int fixture_make(void **state)
{
    struct fixture *x = mem_new(sizeof *x);
    if (!folder_make(x->path))
        return -1;
    x->arena = arena_new((size_t)256 << 20);
    x->f = open_again(x);
    *state = x;
    return 0;
}

static inline int fixture_remove(void **state)
{
    struct fixture *x = *state;
    functions_close(x->f);
    arena_free(x->arena);
    int failed = folder_remove(x->path);
    free(x);
    return failed;
}
#define T(f) cmocka_unit_test_setup_teardown(f, fixture_make, fixture_remove)

static inline char *path_of(struct fixture *x, const char *name)
{
    return arena_printf(x->arena, &x->e, "%s/%s", x->path, name);
}

static inline bool exists(struct fixture *x, const char *name)
{
    return access(path_of(x, name), F_OK) == 0;
}

static inline const struct function_set *now(struct fixture *x)
{
    const struct function_set *s = functions_now(x->f, &x->e);
    assert_fine(x, s);
    return s;
}

/* A definition from JSON with ' for ". */
static inline struct function read_one(struct fixture *x, const char *json)
{
    char *text = arena_copy(x->arena, json, strlen(json), &x->e);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct function fn;
    scoped_findings struct findings found;
    findings_init(&found);
    if (!function_read(json_read(str_of(text), x->arena, &x->e), x->arena, &fn, &found,
                       &x->e))
        fail_msg("%s %s", x->e.msg, buf_cz(&found.errors));
    return fn;
}

static inline struct function made(struct fixture *x, const char *name, const char *what)
{
    return read_one(x,
                    arena_printf(x->arena, &x->e,
                                 "{'name': '%s', 'description': 'says %s', 'parameters': "
                                 "{'who': {'type': 'string'}}, 'returnType': 'string', "
                                 "'code': 'function %s(who: string) { return `%s ${who}` "
                                 "}', 'tags': ['test']}",
                                 name, what, name, what));
}

static inline uint32_t put(struct fixture *x, const char *name, const char *what)
{
    struct function fn = made(x, name, what);
    struct function_change c = {.fn = &fn, .replace = true};
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    return c.version;
}

static inline void write_text(struct fixture *x, const char *name, struct str text)
{
    int dir = os_dir_open(x->path, &x->e);
    assert_fine(x, dir >= 0 && os_make_dirs(dir, ".cloche", &x->e));
    assert_fine(x, os_write_file(dir, name, text, OS_REPLACE, 0644, NULL, &x->e));
    os_close(dir);
}

static inline const char *file_text(struct fixture *x, const char *name)
{
    scoped_buf struct buf text;
    buf_init(&text, (size_t)64 << 20);
    int dir = os_dir_open(x->path, &x->e);
    assert_fine(x, os_read_file(dir, name, &text, NULL, &x->e));
    os_close(dir);
    return arena_copy(x->arena, buf_cz(&text), text.n, &x->e);
}

#define FILE_PATH ".cloche/custom-functions.json"

/* Writes the file as a user would, with ' for ". */
static inline void by_hand(struct fixture *x, const char *json)
{
    char *text = arena_copy(x->arena, json, strlen(json), &x->e);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    write_text(x, FILE_PATH, str_of(text));
}

/* The output of a function, parsed. */
#define told(x, call)                                     \
    ({                                                    \
        scoped_buf struct buf told_;                      \
        buf_init(&told_, (size_t)16 << 20);               \
        struct json_writer out_ = json_writer(&told_);    \
        struct json_writer *out = &out_;                  \
        assert_fine(x, call);                             \
        json_read(buf_view(&told_), (x)->arena, &(x)->e); \
    })

static inline const char *str_at(struct fixture *x, const struct json *v, const char *key)
{
    return str_cz(json_str(json_get(v, key)), x->arena, &x->e);
}

static inline int64_t int_at(const struct json *v, const char *key)
{
    return json_int(json_get(v, key), -1);
}

static inline uint32_t version_of(struct fixture *x, const char *name)
{
    scoped_set const struct function_set *s = now(x);
    const struct function *fn = function_named(s, str_of(name));
    return fn ? fn->version : 0;
}

static inline void take_away(struct fixture *x, const char *name)
{
    struct function_change c = {.of = str_of(name)};
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
}

static inline size_t count_of(struct fixture *x)
{
    scoped_set const struct function_set *s = now(x);
    return function_count(s);
}
