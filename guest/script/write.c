/* A value as JSON: ECMA-262's SerializeJSONProperty, widened where plain JSON
 * would lose what an agent returned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/guest.h"

#define DEPTH_MAX 120 /* below the host's reader's limit */

struct writer {
    JSContext *ctx;
    struct bytes *out;
    /* Where the present value stands, for its toJSON: under a key, or at an index. */
    JSAtom key;
    int64_t index; /* negative: none */
    unsigned depth;
    JSValueConst above[DEPTH_MAX]; /* the objects around the present one */
    struct step {
        JSAtom key;
        int64_t index;
    } path[DEPTH_MAX];     /* which of its members each of them is at */
    struct losses *losses; /* NULL: nobody asks */
};

const char *const loss_names[LOST_KINDS] = {
    [LOST_NAN] = "NaN",
    [LOST_INFINITY] = "infinite",
    [LOST_DATE] = "an invalid date",
    [LOST_FUNCTION] = "a function",
    [LOST_SYMBOL] = "a symbol",
    [LOST_PROMISE] = "a promise",
};

static bool write_value(struct writer *w, JSValueConst v, bool *absent);

/* ---- what is lost --------------------------------------------------------- */

static size_t put_step(struct writer *w, const struct step *s, char *to, size_t room)
{
    if (s->index >= 0)
        return (size_t)snprintf(to, room, "[%lld]", (long long)s->index);
    const char *name = JS_AtomToCString(w->ctx, s->key);
    if (!name) {
        JS_FreeValue(w->ctx, JS_GetException(w->ctx));
        return room;
    }
    size_t n = (size_t)snprintf(to, room, ".%s", name);
    JS_FreeCString(w->ctx, name);
    return n;
}

static void put_path(struct writer *w, char path[LOST_PATH_MAX])
{
    size_t n = 0;
    path[0] = '\0';
    for (unsigned i = 0; i < w->depth && n < LOST_PATH_MAX; i++)
        n += put_step(w, &w->path[i], path + n, LOST_PATH_MAX - n);
    if (n < LOST_PATH_MAX)
        return;
    n = LOST_PATH_MAX - 4;
    while (n > 0 && ((unsigned char)path[n] & 0xc0) == 0x80)
        n--; /* no half of a character */
    memcpy(path + n, "...", 4);
}

/* false: it is refused. */
static bool lose(struct writer *w, enum loss kind)
{
    if (!w->losses)
        return true;
    if (w->losses->of[kind].count++ == 0)
        put_path(w, w->losses->of[kind].first);
    return !w->losses->refuses;
}

/* Functions and symbols that stand as members are left out, as everywhere. */
static bool lose_absent(struct writer *w, enum loss kind)
{
    bool member = w->depth && w->path[w->depth - 1].index < 0;
    return (member && w->losses && !w->losses->refuses) || lose(w, kind);
}

/* ---- scalars ------------------------------------------------------------ */

static bool write_text(struct bytes *out, const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    bytes_put(out, "\"", 1);
    size_t plain = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        bytes_put(out, s + plain, i - plain);
        plain = i + 1;
        char escape[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
        size_t length = 2;
        switch (c) {
        case '"':
        case '\\':
            break;
        case '\n':
            escape[1] = 'n';
            break;
        case '\r':
            escape[1] = 'r';
            break;
        case '\t':
            escape[1] = 't';
            break;
        default:
            escape[1] = 'u';
            length = 6;
        }
        bytes_put(out, escape, length);
    }
    bytes_put(out, s + plain, n - plain);
    return bytes_put(out, "\"", 1);
}

void mend_surrogates(char *s, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        if ((unsigned char)s[i] == 0xed && (unsigned char)s[i + 1] >= 0xa0)
            memcpy(s + i, "\xef\xbf\xbd", 3);
}

static bool write_string(struct writer *w, JSValueConst v)
{
    size_t n;
    const char *s = JS_ToCStringLen(w->ctx, &n, v);
    if (!s)
        return false;
    if (memchr(s, 0xed, n))
        mend_surrogates((char *)(uintptr_t)s, n);
    bool ok = write_text(w->out, s, n);
    JS_FreeCString(w->ctx, s);
    return ok;
}

static bool write_plain(struct writer *w, JSValueConst v)
{
    size_t n;
    const char *s = JS_ToCStringLen(w->ctx, &n, v);
    if (!s)
        return false;
    bool ok = bytes_put(w->out, s, n);
    JS_FreeCString(w->ctx, s);
    return ok;
}

static bool write_number(struct writer *w, JSValueConst v)
{
    double d;
    if (JS_ToFloat64(w->ctx, &d, v) < 0)
        return false;
    if (isfinite(d))
        return write_plain(w, v);
    return lose(w, isnan(d) ? LOST_NAN : LOST_INFINITY) && bytes_text(w->out, "null");
}

static bool write_bigint(struct writer *w, JSValueConst v)
{
    return bytes_text(w->out, "\"") && write_plain(w, v) && bytes_text(w->out, "n\"");
}

/* ---- containers --------------------------------------------------------- */

static bool enter(struct writer *w, JSValueConst v)
{
    for (unsigned i = 0; i < w->depth; i++) {
        if (!JS_IsStrictEqual(w->ctx, w->above[i], v))
            continue;
        JS_ThrowTypeError(w->ctx, "the value contains itself, so it has no JSON");
        return false;
    }
    if (w->depth == DEPTH_MAX) {
        JS_ThrowRangeError(w->ctx, "the value is nested deeper than %d levels",
                           DEPTH_MAX);
        return false;
    }
    w->above[w->depth++] = v;
    return true;
}

/* One element behind `count` others; absent ones are null. */
static bool write_element(struct writer *w, JSValue v, uint64_t count)
{
    if (JS_IsException(v))
        return false;
    bool absent = false;
    w->index = (int64_t)count;
    w->path[w->depth - 1] = (struct step){JS_ATOM_NULL, w->index};
    bool ok = (count == 0 || bytes_text(w->out, ",")) && write_value(w, v, &absent) &&
              (!absent || bytes_text(w->out, "null"));
    JS_FreeValue(w->ctx, v);
    return ok;
}

static bool write_array(struct writer *w, JSValueConst v)
{
    int64_t n;
    if (JS_GetLength(w->ctx, v, &n) < 0)
        return false;
    bytes_text(w->out, "[");
    for (int64_t i = 0; i < n; i++)
        if (!write_element(w, JS_GetPropertyInt64(w->ctx, v, i), (uint64_t)i))
            return false;
    return bytes_text(w->out, "]");
}

/* key: value behind `*count` others; absent values leave the key out. */
static bool write_member(struct writer *w, JSAtom key, JSValue v, uint64_t *count)
{
    if (JS_IsException(v))
        return false;
    size_t before = w->out->n;
    if (*count)
        bytes_text(w->out, ",");
    size_t n;
    const char *name = JS_AtomToCStringLen(w->ctx, &n, key);
    bool ok = name != NULL, absent = false;
    if (ok && memchr(name, 0xed, n))
        mend_surrogates((char *)(uintptr_t)name, n);
    w->key = key;
    w->index = -1;
    w->path[w->depth - 1] = (struct step){key, -1};
    ok = ok && write_text(w->out, name, n) && bytes_text(w->out, ":") &&
         write_value(w, v, &absent);
    JS_FreeCString(w->ctx, name);
    JS_FreeValue(w->ctx, v);
    if (absent)
        w->out->n = before;
    else
        (*count)++;
    return ok;
}

/* All but those of `skip`, which ends in JS_ATOM_NULL. */
static bool write_members(struct writer *w, JSValueConst v, uint64_t *count,
                          const JSAtom *skip)
{
    JSPropertyEnum *keys;
    uint32_t n;
    if (JS_GetOwnPropertyNames(w->ctx, &keys, &n, v,
                               JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0)
        return false;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        const JSAtom *s = skip;
        while (*s != JS_ATOM_NULL && *s != keys[i].atom)
            s++;
        ok =
            *s != JS_ATOM_NULL ||
            write_member(w, keys[i].atom, JS_GetProperty(w->ctx, v, keys[i].atom), count);
    }
    JS_FreePropertyEnum(w->ctx, keys, n);
    return ok;
}

static bool write_object(struct writer *w, JSValueConst v)
{
    static const JSAtom none[] = {JS_ATOM_NULL};
    uint64_t count = 0;
    bytes_text(w->out, "{");
    return write_members(w, v, &count, none) && bytes_text(w->out, "}");
}

/* An error's name and message are not enumerable, and what an agent wants. */
static bool write_error(struct writer *w, JSValueConst v)
{
    const JSAtom first[] = {JS_NewAtom(w->ctx, "name"), JS_NewAtom(w->ctx, "message"),
                            JS_ATOM_NULL};
    uint64_t count = 0;
    bytes_text(w->out, "{");
    for (size_t i = 0; i < 2; i++)
        if (!write_member(w, first[i], JS_GetProperty(w->ctx, v, first[i]), &count))
            return false;
    return write_members(w, v, &count, first) && bytes_text(w->out, "}");
}

/* Set: its values. Map: an object when all keys are strings, else pairs.
 * Array.from and Object.fromEntries do the work, as the world found them. */
static JSValue spread_collection(JSContext *ctx, JSValueConst v)
{
    JSValue global = JS_GetGlobalObject(ctx);
    JSValue spread = JS_GetPropertyStr(ctx, global, "__spread");
    JSValue plain = JS_Call(ctx, spread, JS_UNDEFINED, 1, &v);
    JS_FreeValue(ctx, spread);
    JS_FreeValue(ctx, global);
    return plain;
}

static bool write_collection(struct writer *w, JSValueConst v)
{
    JSValue plain = spread_collection(w->ctx, v);
    if (JS_IsException(plain))
        return false;
    bool ok = JS_IsArray(plain) ? write_array(w, plain) : write_object(w, plain);
    JS_FreeValue(w->ctx, plain);
    return ok;
}

/* Also behind proxies, as Array.isArray() says. */
static bool is_array(JSContext *ctx, JSValueConst v)
{
    JSValue now = JS_DupValue(ctx, v);
    while (JS_IsProxy(now)) {
        JSValue target = JS_GetProxyTarget(ctx, now);
        JS_FreeValue(ctx, now);
        now = target;
    }
    bool answer = JS_IsArray(now);
    JS_FreeValue(ctx, now);
    return answer;
}

static bool write_container(struct writer *w, JSValueConst v)
{
    if (!enter(w, v))
        return false;
    bool ok;
    if (is_array(w->ctx, v) || JS_GetTypedArrayType(v) >= 0)
        ok = write_array(w, v);
    else if (JS_IsMap(v) || JS_IsSet(v))
        ok = write_collection(w, v);
    else if (JS_IsError(v))
        ok = write_error(w, v);
    else
        ok = write_object(w, v);
    w->depth--;
    return ok;
}

/* ---- values ------------------------------------------------------------- */

/* Boxed scalars read as what they hold (ECMA-262 25.5.2.2, step 4). */
static JSValue unbox(JSContext *ctx, JSValueConst v)
{
    JSClassID id = JS_GetClassID(v);
    JSAtom name = JS_GetClassName(JS_GetRuntime(ctx), id);
    const char *s = JS_AtomToCString(ctx, name);
    JSValue out = JS_UNDEFINED;
    if (s && !strcmp(s, "Number"))
        out = JS_ToNumber(ctx, v);
    else if (s && !strcmp(s, "String"))
        out = JS_ToString(ctx, v);
    else if (s && (!strcmp(s, "Boolean") || !strcmp(s, "BigInt")))
        out = JS_Invoke(ctx, v, JS_NewAtom(ctx, "valueOf"), 0, NULL);
    JS_FreeCString(ctx, s);
    JS_FreeAtom(ctx, name);
    return out;
}

static JSValue present_key(const struct writer *w)
{
    if (w->index >= 0)
        return JS_ToString(w->ctx, JS_NewInt64(w->ctx, w->index));
    if (w->key != JS_ATOM_NULL)
        return JS_AtomToString(w->ctx, w->key);
    return JS_NewString(w->ctx, "");
}

/* An object that is not, or no longer, asked for its toJSON. */
static bool write_object_value(struct writer *w, JSValueConst v, bool *absent)
{
    if (JS_IsFunction(w->ctx, v)) {
        *absent = true;
        return lose_absent(w, LOST_FUNCTION);
    }
    if (JS_IsPromise(v) && !lose(w, LOST_PROMISE))
        return false;
    JSValue inner = unbox(w->ctx, v);
    if (JS_IsException(inner))
        return false;
    if (JS_IsUndefined(inner))
        return write_container(w, v);
    bool ok = write_value(w, inner, absent);
    JS_FreeValue(w->ctx, inner);
    return ok;
}

static bool write_made_json(struct writer *w, JSValueConst v, JSValueConst to_json,
                            bool *absent)
{
    JSValue key = present_key(w);
    JSValue made = JS_Call(w->ctx, to_json, v, 1, &key);
    JS_FreeValue(w->ctx, key);
    if (JS_IsException(made))
        return false;
    bool ok = true;
    if (JS_IsNull(made) && JS_IsDate(v))
        ok = lose(w, LOST_DATE);
    ok = ok && (JS_IsObject(made) ? write_object_value(w, made, absent)
                                  : write_value(w, made, absent));
    JS_FreeValue(w->ctx, made);
    return ok;
}

static bool write_thing(struct writer *w, JSValueConst v, bool *absent)
{
    JSValue to_json = JS_GetPropertyStr(w->ctx, v, "toJSON");
    if (JS_IsException(to_json))
        return false;
    bool ok = JS_IsFunction(w->ctx, to_json) ? write_made_json(w, v, to_json, absent)
                                             : write_object_value(w, v, absent);
    JS_FreeValue(w->ctx, to_json);
    return ok;
}

static bool write_value(struct writer *w, JSValueConst v, bool *absent)
{
    if (JS_IsString(v))
        return write_string(w, v);
    if (JS_IsNumber(v))
        return write_number(w, v);
    if (JS_IsBool(v))
        return bytes_text(w->out, JS_VALUE_GET_BOOL(v) ? "true" : "false");
    if (JS_IsNull(v))
        return bytes_text(w->out, "null");
    if (JS_IsBigInt(v))
        return write_bigint(w, v);
    if (JS_IsObject(v))
        return write_thing(w, v, absent);
    *absent = true; /* undefined, a symbol */
    return !JS_IsSymbol(v) || lose_absent(w, LOST_SYMBOL);
}

bool write_json(JSContext *ctx, JSValueConst v, struct bytes *out)
{
    return write_json_noting(ctx, v, out, NULL);
}

bool write_json_noting(JSContext *ctx, JSValueConst v, struct bytes *out,
                       struct losses *losses)
{
    struct writer *w = malloc(sizeof *w);
    if (!w) {
        out->failed = true;
        return false;
    }
    w->ctx = ctx;
    w->out = out;
    w->key = JS_ATOM_NULL;
    w->index = -1;
    w->depth = 0;
    w->losses = losses;
    bool absent = false;
    bool ok = write_value(w, v, &absent);
    free(w);
    if (ok && absent)
        ok = bytes_text(out, "null");
    return ok && !out->failed;
}
