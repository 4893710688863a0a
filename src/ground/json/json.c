#include "json/json.h"

#include <math.h>
#include <stdio.h>
#include <yyjson.h>

/* A struct json is a yyjson_val: the casts below are the only place that
 * knows. */
static yyjson_val *raw(const struct json *v)
{
    return (yyjson_val *)(uintptr_t)v;
}

static const struct json *json_wrap(yyjson_val *v)
{
    return (const struct json *)v;
}

/* ---- reading ------------------------------------------------------------ */

struct arena_hook {
    struct arena *arena;
    struct err err;
};

static void *hook_malloc(void *ctx, size_t size)
{
    struct arena_hook *h = ctx;
    return arena_get(h->arena, size, &h->err);
}

static void *hook_realloc(void *ctx, void *old, size_t old_size, size_t size)
{
    void *fresh = hook_malloc(ctx, size);
    if (fresh)
        memcpy(fresh, old, old_size < size ? old_size : size);
    return fresh;
}

static void hook_free(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

#define PAIRWISE_MAX 16u /* keys; beyond it, sorting them is faster */

static struct str key_text(yyjson_val *key)
{
    return (struct str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
}

static bool refuse_key(yyjson_val *key, struct err *e)
{
    return err_set(e, ERR_INVALID, "the key \"%.*s\" occurs twice in one object",
                   STR_ARGS(str_cut(key_text(key), 60)));
}

static int compare_keys(const void *a, const void *b)
{
    return str_cmp(key_text(*(yyjson_val *const *)a), key_text(*(yyjson_val *const *)b));
}

static bool check_sorted_keys(yyjson_val *v, struct arena *a, struct err *e)
{
    size_t i, n = unsafe_yyjson_get_len(v);
    yyjson_val *key, *child;
    yyjson_val **keys = arena_get(a, n * sizeof *keys, e);
    if (!keys)
        return false;
    yyjson_obj_foreach(v, i, n, key, child) keys[i] = key;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (i = 1; i < n; i++)
        if (compare_keys(&keys[i - 1], &keys[i]) == 0)
            return refuse_key(keys[i], e);
    return true;
}

/* The reader keeps both of two equal keys: a second one hides what the first one
 * said from whoever looks at the text. */
static bool check_keys(yyjson_val *v, struct arena *a, struct err *e)
{
    size_t i, n;
    yyjson_val *key, *child;
    if (unsafe_yyjson_get_len(v) > PAIRWISE_MAX)
        return check_sorted_keys(v, a, e);
    yyjson_obj_foreach(v, i, n, key, child)
    {
        struct str text = key_text(key);
        if (yyjson_obj_getn(v, text.at, text.n) != child)
            return refuse_key(key, e);
    }
    return true;
}

static bool check_nesting(yyjson_val *v, unsigned depth, struct arena *a, struct err *e);

static bool check_object(yyjson_val *v, unsigned depth, struct arena *a, struct err *e)
{
    size_t i, n;
    yyjson_val *key, *child;
    if (!check_keys(v, a, e))
        return false;
    yyjson_obj_foreach(v, i, n, key, child)
    {
        if (!check_nesting(child, depth, a, e))
            return false;
    }
    return true;
}

static bool check_nesting(yyjson_val *v, unsigned depth, struct arena *a, struct err *e)
{
    if (!yyjson_is_ctn(v))
        return true;
    if (depth >= JSON_DEPTH_MAX)
        return err_set(e, ERR_INVALID, "nested deeper than %u levels", JSON_DEPTH_MAX);
    if (yyjson_is_obj(v))
        return check_object(v, depth + 1, a, e);
    size_t i, n;
    yyjson_val *child;
    yyjson_arr_foreach(v, i, n, child)
    {
        if (!check_nesting(child, depth + 1, a, e))
            return false;
    }
    return true;
}

/* The reader itself does not recurse, but counts no depth either: a cheap scan
 * refuses a bomb of brackets before any memory is spent on it. */
static bool too_deep(struct str text)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static yyjson_doc *read_document(struct str text, struct arena_hook *hook,
                                 yyjson_read_err *why)
{
    yyjson_alc alc = {hook_malloc, hook_realloc, hook_free, hook};
    return yyjson_read_opts((char *)(uintptr_t)text.at, text.n, YYJSON_READ_BIGNUM_AS_RAW,
                            &alc, why);
}

/* The code unit of the escape (\uXXXX) that stands at `i`; 0: none does. */
static unsigned escaped_unit(struct str text, size_t i)
{
    char digits[5] = {0};
    if (i + 6 > text.n || text.at[i] != '\\' || text.at[i + 1] != 'u')
        return 0;
    memcpy(digits, text.at + i + 2, 4);
    return (unsigned)strtoul(digits, NULL, 16);
}

#define REPLACED "\xef\xbf\xbd" /* U+FFFD in UTF-8 */

/* A copy in which U+FFFD stands for each half of a surrogate pair. */
static struct str mend_surrogates(struct str text, struct arena *a)
{
    struct err none = {0};
    char *copy = arena_get(a, text.n + 1, &none);
    if (!copy)
        return (struct str){0};
    memcpy(copy, text.at, text.n);
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] != '\\')
            continue;
        unsigned unit = escaped_unit(text, i);
        bool high = (unit & 0xfc00) == 0xd800;
        if (high && (escaped_unit(text, i + 6) & 0xfc00) == 0xdc00)
            i += 11;
        else if ((unit & 0xf800) == 0xd800)
            memcpy(copy + i + 2, "fffd", 4);
        else
            i++;
    }
    return (struct str){copy, text.n};
}

const struct json *json_read_key(struct str text, const char *key, struct arena *a)
{
    struct arena_hook hook = {.arena = a};
    yyjson_read_err why;
    yyjson_doc *doc = read_document(mend_surrogates(text, a), &hook, &why);
    yyjson_val *root = yyjson_doc_get_root(doc), *name, *value, *found = NULL;
    size_t i, n, times = 0;
    if (!yyjson_is_obj(root))
        return NULL;
    yyjson_obj_foreach(root, i, n, name, value)
    {
        if (str_is(key_text(name), key)) {
            found = value;
            times++;
        }
    }
    struct str said = json_str(json_wrap(found));
    bool mended = said.n && memmem(said.at, said.n, REPLACED, strlen(REPLACED));
    return times == 1 && !mended ? json_wrap(found) : NULL;
}

#define AT_BYTE " at byte "

size_t json_failed_at(const struct err *e)
{
    const char *at = strstr(e->msg, AT_BYTE);
    return at ? (size_t)strtoull(at + strlen(AT_BYTE), NULL, 10) : SIZE_MAX;
}

const struct json *json_read(struct str text, struct arena *a, struct err *e)
{
    if (too_deep(text)) {
        err_set(e, ERR_INVALID, "JSON nested deeper than %u levels", JSON_DEPTH_MAX);
        return NULL;
    }
    struct arena_hook hook = {.arena = a};
    yyjson_read_err why;
    yyjson_doc *doc = read_document(text, &hook, &why);
    if (!doc) {
        if (hook.err.code)
            *e = e->code ? *e : hook.err;
        else
            err_set(e, ERR_INVALID, "not JSON: %s" AT_BYTE "%zu", why.msg, why.pos);
        return NULL;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    return check_nesting(root, 0, a, e) ? json_wrap(root) : NULL;
}

enum json_type json_type(const struct json *v)
{
    if (!v)
        return JSON_ABSENT;
    switch (yyjson_get_type(raw(v))) {
    case YYJSON_TYPE_NULL:
        return JSON_NULL;
    case YYJSON_TYPE_BOOL:
        return JSON_BOOL;
    case YYJSON_TYPE_NUM:
    case YYJSON_TYPE_RAW:
        return JSON_NUMBER;
    case YYJSON_TYPE_STR:
        return JSON_STRING;
    case YYJSON_TYPE_ARR:
        return JSON_ARRAY;
    default:
        return JSON_OBJECT;
    }
}

const char *json_type_name(enum json_type t)
{
    static const char *const names[] = {"absent", "null",  "boolean", "number",
                                        "string", "array", "object"};
    return names[t];
}

struct str json_str(const struct json *v)
{
    if (!json_is(v, JSON_STRING))
        return STR("");
    return (struct str){yyjson_get_str(raw(v)), yyjson_get_len(raw(v))};
}

const char *json_cstr(const struct json *v)
{
    struct str s = json_str(v);
    return s.n == strlen(s.at) ? s.at : "";
}

double json_number(const struct json *v, double fallback)
{
    if (!json_is(v, JSON_NUMBER))
        return fallback;
    if (yyjson_is_raw(raw(v)))
        return strtod(yyjson_get_raw(raw(v)), NULL);
    return yyjson_get_num(raw(v));
}

bool json_is_int(const struct json *v)
{
    if (!json_is(v, JSON_NUMBER) || yyjson_is_raw(raw(v)))
        return false;
    if (yyjson_is_sint(raw(v)))
        return true;
    if (yyjson_is_uint(raw(v)))
        return yyjson_get_uint(raw(v)) <= INT64_MAX;
    double d = yyjson_get_real(raw(v));
    return d >= -9007199254740992.0 && d <= 9007199254740992.0 && d == floor(d);
}

int64_t json_int(const struct json *v, int64_t fallback)
{
    if (!json_is_int(v))
        return fallback;
    return yyjson_is_real(raw(v)) ? (int64_t)yyjson_get_real(raw(v))
                                  : yyjson_get_sint(raw(v));
}

bool json_bool(const struct json *v, bool fallback)
{
    return json_is(v, JSON_BOOL) ? yyjson_get_bool(raw(v)) : fallback;
}

size_t json_length(const struct json *v)
{
    return v && yyjson_is_ctn(raw(v)) ? unsafe_yyjson_get_len(raw(v)) : 0;
}

const struct json *json_at(const struct json *array, size_t i)
{
    return json_is(array, JSON_ARRAY) ? json_wrap(yyjson_arr_get(raw(array), i)) : NULL;
}

const struct json *json_get_str(const struct json *object, struct str key)
{
    if (!json_is(object, JSON_OBJECT))
        return NULL;
    return json_wrap(yyjson_obj_getn(raw(object), key.at, key.n));
}

const struct json *json_get(const struct json *object, const char *key)
{
    return json_get_str(object, str_of(key));
}

struct json_iter json_iter(const struct json *container)
{
    struct json_iter it = {.container = container, .left = json_length(container)};
    if (it.left)
        it.cursor = json_wrap(unsafe_yyjson_get_first(raw(container)));
    return it;
}

bool json_next(struct json_iter *it)
{
    if (it->left == 0)
        return false;
    it->left--;
    yyjson_val *at = raw(it->cursor);
    if (json_is(it->container, JSON_OBJECT)) {
        it->key = json_str(it->cursor);
        at++; /* a key's value lies right behind it */
    }
    it->value = json_wrap(at);
    it->cursor = json_wrap(unsafe_yyjson_get_next(at));
    return true;
}

static bool is_among(struct str key, const char *const *keys)
{
    while (keys && *keys && !str_is(key, *keys))
        keys++;
    return keys && *keys;
}

/* A value and all in it lie in a row, and say how far it is to the next. */
const struct json *json_less(const struct json *object, const char *const *but,
                             struct arena *a, struct err *e)
{
    must(json_is(object, JSON_OBJECT));
    yyjson_val *at = arena_get(a, raw(object)->uni.ofs, e), *end = at + 1;
    size_t i, n, count = 0;
    yyjson_val *key, *value;
    if (!at)
        return NULL;
    yyjson_obj_foreach(raw(object), i, n, key, value)
    {
        if (is_among(key_text(key), but))
            continue;
        size_t vals = (size_t)(unsafe_yyjson_get_next(value) - key);
        memcpy(end, key, vals * sizeof *key);
        end += vals;
        count++;
    }
    at->tag = (raw(object)->tag & YYJSON_TAG_MASK) | count << YYJSON_TAG_BIT;
    at->uni.ofs = (size_t)(end - at) * sizeof *at;
    return json_wrap(at);
}

/* Exactly where both are whole, however large: doubles would take neighbours for
 * the same. */
static bool same_number(const struct json *a, const struct json *b)
{
    if (json_is_int(a) && json_is_int(b))
        return json_int(a, 0) == json_int(b, 0);
    if (yyjson_is_uint(raw(a)) && yyjson_is_uint(raw(b)))
        return yyjson_get_uint(raw(a)) == yyjson_get_uint(raw(b));
    if (yyjson_is_raw(raw(a)) && yyjson_is_raw(raw(b)))
        return !strcmp(yyjson_get_raw(raw(a)), yyjson_get_raw(raw(b)));
    return json_number(a, 0) == json_number(b, 0);
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (json_type(a) != json_type(b) || json_length(a) != json_length(b))
        return false;
    struct json_iter x = json_iter(a), y = json_iter(b);
    switch (json_type(a)) {
    case JSON_ABSENT:
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return json_bool(a, false) == json_bool(b, false);
    case JSON_NUMBER:
        return same_number(a, b);
    case JSON_STRING:
        return str_eq(json_str(a), json_str(b));
    case JSON_ARRAY:
        while (json_next(&x) && json_next(&y))
            if (!json_equal(x.value, y.value))
                return false;
        return true;
    case JSON_OBJECT:
        while (json_next(&x)) {
            const struct json *other = json_get_str(b, x.key);
            if (!other || !json_equal(x.value, other))
                return false;
        }
        return true;
    }
    return false;
}
