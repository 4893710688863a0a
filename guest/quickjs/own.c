/* QuickJS, with what a session needs of its insides.
 *
 * A session's code is a script whose top-level names are the context's, so that they
 * outlive it. A script cannot `return` and cannot declare a name twice; here it can:
 * own.sed changes two places of QuickJS's parser, and the functions below do the rest.
 * The file takes QuickJS in as a whole, because what it needs is private there.
 */
#include <stdbool.h>

/* While a session's code is compiled: `return` is allowed at the top level, and a
 * completion value is told from a returned one by the name that it is wrapped under. */
static bool own_session;
#define OWN_COMPLETION JS_ATOM_Private_brand /* no code can spell it */

#include "changed.c"

#include "quickjs/own.h"

JSValue own_compile(JSContext *ctx, const char *text, size_t n, JSEvalOptions *o)
{
    own_session = true;
    JSValue f = JS_Eval2(ctx, text, n, o);
    own_session = false;
    return f;
}

bool own_completion(JSContext *ctx, JSValueConst v, JSValue *out)
{
    JSProperty *pr;
    if (JS_VALUE_GET_TAG(v) != JS_TAG_OBJECT ||
        !find_own_property(&pr, JS_VALUE_GET_OBJ(v), OWN_COMPLETION))
        return false;
    *out = js_dup(pr->u.value);
    return true;
}

static void forget_lexical(JSContext *ctx, JSAtom name)
{
    JSObject *p = JS_VALUE_GET_OBJ(ctx->global_var_obj);
    if (find_own_property1(p, name))
        delete_property(ctx, p, name);
}

/* A `var` cannot be deleted; it makes way for a `let` all the same. What the language
 * itself fixes, such as NaN, cannot be written either, and stays. */
static void forget_variable(JSContext *ctx, JSAtom name)
{
    JSObject *p = JS_VALUE_GET_OBJ(ctx->global_obj);
    JSShapeProperty *prs = find_own_property1(p, name);
    if (!prs || (prs->flags & JS_PROP_CONFIGURABLE) || !(prs->flags & JS_PROP_WRITABLE))
        return;
    if (js_update_property_flags(ctx, p, &prs, prs->flags | JS_PROP_CONFIGURABLE) == 0)
        delete_property(ctx, p, name);
}

bool own_free_names(JSContext *ctx, JSValueConst function, const char *wanted)
{
    bool found = false;
    JSAtom searched = JS_NewAtom(ctx, wanted);
    const JSFunctionBytecode *b = JS_VALUE_GET_PTR(function);
    const uint8_t *at = b->byte_code_buf, *end = at + b->byte_code_len;
    for (; at < end; at += short_opcode_info(*at).size) {
        if (*at != OP_check_define_var)
            continue;
        JSAtom name = get_u32(at + 1);
        found |= name == searched;
        forget_lexical(ctx, name);
        if (at[5] & DEFINE_GLOBAL_LEX_VAR)
            forget_variable(ctx, name);
    }
    JS_FreeAtom(ctx, searched);
    return found;
}

void own_free_name(JSContext *ctx, const char *name)
{
    JSAtom atom = JS_NewAtom(ctx, name);
    forget_lexical(ctx, atom);
    JS_FreeAtom(ctx, atom);
}

JSValue own_global(JSContext *ctx, const char *name)
{
    JSAtom atom = JS_NewAtom(ctx, name);
    JSValue v = JS_GetGlobalVar(ctx, atom, false);
    JS_FreeAtom(ctx, atom);
    return v;
}
