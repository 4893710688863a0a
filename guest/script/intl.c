/* Intl: its parts in JavaScript (guest/intl), and the texts that they read when they are first
 * needed. Those are constants here, not values of QuickJS, so that nothing looks through them.
 */
#include <string.h>

#include "script/guest.h"

#define ZONE_NAME_MAX 64
#define HEAD_MAX 32 /* bytes of a text's name, at most */
__attribute__((import_module("host"), import_name("zone_name"))) uint32_t
host_zone_name(void *at, uint32_t n);

static const unsigned char core[] = {
#embed "../intl/core.js"
    , '\0'};
static const unsigned char number[] = {
#embed "../intl/number.js"
    , '\0'};
static const unsigned char date[] = {
#embed "../intl/date.js"
    , '\0'};
static const unsigned char collate[] = {
#embed "../intl/collate.js"
    , '\0'};
static const unsigned char all[] = {
#embed "../intl/all.js"
    , '\0'};
static const unsigned char data[] = {
#embed "data.txt"
    , '\0'};

/* The text of that name in `data`, a row of texts, each behind "NAME SIZE\n"; "" if there is none. */
static JSValue text_of(JSContext *ctx, JSValueConst this_val, int argc,
                       JSValueConst *argv)
{
    (void)this_val, (void)argc;
    size_t length = 0;
    const char *name = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!name)
        return JS_EXCEPTION;
    JSValue found = JS_UNDEFINED;
    for (const char *at = (const char *)data; *at && JS_IsUndefined(found);) {
        /* No strchr: this C library's looks for the end of all first. */
        const char *space = memchr(at, ' ', HEAD_MAX);
        size_t n = 0;
        const char *text = space + 1;
        for (; *text != '\n'; text++)
            n = n * 10 + (size_t)(*text - '0');
        text++;
        if ((size_t)(space - at) == length && memcmp(at, name, length) == 0)
            found = JS_NewStringLen(ctx, text, n);
        at = text + n;
    }
    JS_FreeCString(ctx, name);
    return JS_IsUndefined(found) ? JS_NewString(ctx, "") : found;
}

/* The IANA's name of the person's time zone. */
static JSValue zone_name(JSContext *ctx, JSValueConst this_val, int argc,
                         JSValueConst *argv)
{
    (void)this_val, (void)argc, (void)argv;
    char name[ZONE_NAME_MAX];
    uint32_t n = host_zone_name(name, sizeof name);
    return JS_NewStringLen(ctx, name, n <= sizeof name ? n : 0);
}

JSValue intl_parts(JSContext *ctx, JSValueConst natives)
{
    JS_SetPropertyStr(ctx, natives, "intlText",
                      JS_NewCFunction(ctx, text_of, "intlText", 1));
    JS_SetPropertyStr(ctx, natives, "zoneName",
                      JS_NewCFunction(ctx, zone_name, "zoneName", 0));
    const unsigned char *parts[] = {all, core, number, date, collate};
    JSValue list = JS_NewArray(ctx);
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *part = (const char *)parts[i];
        JS_SetPropertyUint32(
            ctx, list, i,
            JS_Eval(ctx, part, strlen(part), "<intl>", JS_EVAL_TYPE_GLOBAL));
    }
    return list;
}
