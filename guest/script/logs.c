/* What console writes, and text natives of the bootstrap. */
#include <string.h>

#include "script/guest.h"

struct bytes logs;
uint32_t logs_dropped;

static struct script_logs view;

__attribute__((export_name("logs_view"))) struct script_logs *logs_view(void)
{
    return &view;
}

void logs_rest(void)
{
    bytes_drop(&logs);
    logs_dropped = 0;
    view = (struct script_logs){0};
}

static const char cut_mark[] = "... [cut]";

/* log(level, text): kept up to the limit, the last one cut with a mark. */
static JSValue put_log(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    struct script_log head = {0};
    size_t n;
    const char *s;
    if (JS_ToUint32(ctx, &head.level, argv[0]) < 0 ||
        !(s = JS_ToCStringLen(ctx, &n, argv[1])))
        return JS_EXCEPTION;
    if (memchr(s, 0xed, n))
        mend_surrogates((char *)(uintptr_t)s, n);
    size_t left = logs.ceiling - logs.n;
    if (logs_dropped || left < sizeof head + sizeof cut_mark + 8) {
        logs_dropped++;
    } else {
        size_t room = left - sizeof head - 8;
        bool cut = n > room;
        size_t keep = cut ? room - sizeof cut_mark : n;
        while (cut && keep && ((unsigned char)s[keep] & 0xc0) == 0x80)
            keep--;
        head.size = (uint32_t)(keep + (cut ? sizeof cut_mark - 1 : 0));
        bytes_put(&logs, &head, sizeof head);
        bytes_put(&logs, s, keep);
        if (cut) {
            bytes_text(&logs, cut_mark);
            logs_dropped++;
        }
        bytes_pad(&logs);
    }
    JS_FreeCString(ctx, s);
    view = (struct script_logs){(uint32_t)(uintptr_t)logs.at, (uint32_t)logs.n,
                                logs_dropped};
    return JS_UNDEFINED;
}

/* encode(string): its UTF-8 as a Uint8Array. */
static JSValue encode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    const char *s = JS_ToCStringLen(ctx, &n, argv[0]);
    if (!s)
        return JS_EXCEPTION;
    JSValue bytes = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)s, n);
    JS_FreeCString(ctx, s);
    return bytes;
}

/* isUtf8(Uint8Array): is it valid UTF-8 (RFC 3629)? */
static bool valid_utf8(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint8_t c = p[i];
        size_t length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (length == 0 || c > 0xf4 || length > n - i)
            return false;
        for (size_t k = 1; k < length; k++)
            if ((p[i + k] & 0xc0) != 0x80)
                return false;
        uint8_t d = length > 1 ? p[i + 1] : 0;
        if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) ||
            (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f))
            return false;
        i += length;
    }
    return true;
}

static JSValue is_utf8(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    uint8_t *at = JS_GetUint8Array(ctx, &n, argv[0]);
    return at ? JS_NewBool(ctx, valid_utf8(at, n)) : JS_EXCEPTION;
}

/* decode(Uint8Array): a string; the caller knows that it is valid UTF-8. */
static JSValue decode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
    (void)self;
    (void)argc;
    size_t n;
    uint8_t *at = JS_GetUint8Array(ctx, &n, argv[0]);
    return at ? JS_NewStringLen(ctx, (const char *)at, n) : JS_EXCEPTION;
}

void logs_define(JSContext *ctx, JSValueConst natives)
{
    JS_SetPropertyStr(ctx, natives, "log", JS_NewCFunction(ctx, put_log, "log", 2));
    JS_SetPropertyStr(ctx, natives, "encode", JS_NewCFunction(ctx, encode, "encode", 1));
    JS_SetPropertyStr(ctx, natives, "isUtf8", JS_NewCFunction(ctx, is_utf8, "isUtf8", 1));
    JS_SetPropertyStr(ctx, natives, "decode", JS_NewCFunction(ctx, decode, "decode", 1));
}
