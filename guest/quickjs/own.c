/* QuickJS, with what sessions and further sources need of its insides.
 *
 * A session's code is a script whose top-level names are the context's, so that they
 * outlive it. A script cannot `return` and cannot declare a name twice; here it can:
 * own.sed changes two places of QuickJS's parser for that, and the functions below do the
 * rest. It changes four more places of the language, each told below, and where the parser
 * notes the places of errors.
 * The file takes QuickJS in as a whole, because what it needs is private there.
 */
#include "quickjs.h"

/* While a session's code is compiled: `return` is allowed at the top level, and a
 * completion value is told from a returned one by the name that it is wrapped under. */
static bool own_session;
#define OWN_COMPLETION JS_ATOM_Private_brand /* no code can spell it */

/* Once the built-ins are frozen: what an object inherits from a frozen one does not keep it
 * from having a property of that name of its own. The language refuses the assignment, and
 * `error.name = ...` or `Point.prototype.toString = ...` would fail. */
static bool own_frozen;
typedef struct JSObject JSObject;
static bool own_is_frozen(const JSObject *p);

/* Code made of text: eval, and the constructors of functions (OWN_FUNCTION). */
#define OWN_FUNCTION (1 << 30)
static bool own_refuses(JSContext *ctx, int flags);

/* The minutes that local time lies behind UTC at that second, as Date's getTimezoneOffset():
 * 0 unless the guest asks its host. */
__attribute__((weak)) int own_zone(int64_t seconds)
{
    (void)seconds;
    return 0;
}

/* Is all that splice() leaves over at the end of this array cut off by its new length? To
 * delete it first, element by element, makes the array a slow one for good. */
static bool own_is_cut(JSContext *ctx, JSValue obj, int64_t len);

/* There is one thread, so that nothing waits (Atomics.wait says so) and nothing is woken.
 * QuickJS leaves Atomics out where it knows no threads. */
#define CONFIG_ATOMICS
#include "quickjs-c-atomics.h"
typedef char js_once_t, js_mutex_t, js_cond_t;
#define JS_ONCE_INIT 0
#define js_once(guard, init) ((void)(guard), (init)())
#define js_mutex_init(mutex) ((void)(mutex))
#define js_mutex_lock(mutex) ((void)(mutex))
#define js_mutex_unlock(mutex) ((void)(mutex))
#define js_cond_init(cond) ((void)(cond))
#define js_cond_destroy(cond) ((void)(cond))
#define js_cond_signal(cond) ((void)(cond))
#define js_cond_wait(cond, mutex) ((void)(cond))
#define js_cond_timedwait(cond, mutex, ns) (-1)

/* Where a name begins, so that a call that fails is told at that name. */
struct own_place {
    int line, column;
};
#define OWN_TOKEN_PLACE {s->token.line_num, (int)(s->token.ptr - s->token.line_start) + 1}
#define OWN_EMIT_PLACE emit_source_loc_at(s, own_at.line, own_at.column)
#define OWN_EMIT_TOKEN_PLACE                       \
    {                                              \
        struct own_place own_at = OWN_TOKEN_PLACE; \
        OWN_EMIT_PLACE;                            \
    }

#include "changed.c"

static JSValue text_refused = JS_UNDEFINED;

static bool own_refuses(JSContext *ctx, int flags)
{
    if (JS_IsUndefined(text_refused))
        return false;
    JSValue what =
        JS_NewString(ctx, flags & OWN_FUNCTION ? "the Function constructor" : "eval");
    JSValue never = JS_Call(ctx, text_refused, JS_UNDEFINED, 1, vc(&what));
    JS_FreeValue(ctx, what);
    JS_FreeValue(ctx, never);
    return true;
}

static bool own_is_cut(JSContext *ctx, JSValue obj, int64_t len)
{
    JSValue *at;
    uint32_t n;
    return js_get_fast_array(ctx, obj, &at, &n) && n == len &&
           get_shape_prop(JS_VALUE_GET_OBJ(obj)->shape)[0].flags & JS_PROP_WRITABLE;
}

static bool own_is_frozen(const JSObject *p)
{
    return own_frozen && !p->extensible;
}

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

void own_refuse_text(JSContext *ctx, JSValueConst refuse)
{
    text_refused = JS_DupValue(ctx, refuse);
}

JSValue own_then(JSContext *ctx, JSValueConst promise, JSValueConst *handlers)
{
    if (!JS_GetOpaque2(ctx, promise, JS_CLASS_PROMISE))
        return JS_EXCEPTION;
    JSValue resolving[2];
    JSValue then = js_new_promise_capability(ctx, resolving, JS_UNDEFINED);
    if (JS_IsException(then))
        return then;
    int failed = perform_promise_then(ctx, promise, handlers, vc(resolving));
    JS_FreeValue(ctx, resolving[0]);
    JS_FreeValue(ctx, resolving[1]);
    if (!failed)
        return then;
    JS_FreeValue(ctx, then);
    return JS_EXCEPTION;
}

/* ---- another global object ------------------------------------------------ */

static void copy_values(JSContext *to, const JSContext *from)
{
    JSRuntime *rt = from->rt;
    for (uint32_t i = 0; i < rt->class_count; i++)
        to->class_proto[i] = js_dup(from->class_proto[i]);
    for (int i = 0; i < JS_NATIVE_ERROR_COUNT; i++)
        to->native_error_proto[i] = js_dup(from->native_error_proto[i]);
    to->function_proto = js_dup(from->function_proto);
    to->function_ctor = js_dup(from->function_ctor);
    to->array_ctor = js_dup(from->array_ctor);
    to->regexp_ctor = js_dup(from->regexp_ctor);
    to->promise_ctor = js_dup(from->promise_ctor);
    to->error_ctor = js_dup(from->error_ctor);
    to->error_back_trace = JS_UNDEFINED;
    to->error_prepare_stack = JS_UNDEFINED;
    to->error_stack_trace_limit = js_dup(from->error_stack_trace_limit);
    to->iterator_ctor = js_dup(from->iterator_ctor);
    to->iterator_ctor_getset = js_dup(from->iterator_ctor_getset);
    to->iterator_proto = js_dup(from->iterator_proto);
    to->async_iterator_proto = js_dup(from->async_iterator_proto);
    to->array_proto_values = js_dup(from->array_proto_values);
    to->throw_type_error = js_dup(from->throw_type_error);
    to->eval_obj = js_dup(from->eval_obj);
}

static JSShape *copy_shape(JSShape *s)
{
    return s ? js_dup_shape(s) : NULL;
}

JSContext *own_realm(JSContext *ctx, JSValueConst global)
{
    JSRuntime *rt = ctx->rt;
    JSContext *r = js_mallocz_rt(rt, sizeof *r);
    if (!r)
        return NULL;
    JS_REF_COUNT(r) = 1;
    add_gc_object(rt, &r->header, JS_GC_OBJ_TYPE_JS_CONTEXT);
    r->rt = rt;
    r->class_proto = js_malloc_rt(rt, sizeof r->class_proto[0] * rt->class_count);
    if (!r->class_proto)
        return NULL;
    list_add_tail(&r->link, &rt->context_list);
    init_list_head(&r->loaded_modules);
    copy_values(r, ctx);
    r->std_array_prototype = ctx->std_array_prototype;
    r->array_shape = copy_shape(ctx->array_shape);
    r->arguments_shape = copy_shape(ctx->arguments_shape);
    r->mapped_arguments_shape = copy_shape(ctx->mapped_arguments_shape);
    r->regexp_shape = copy_shape(ctx->regexp_shape);
    r->regexp_result_shape = copy_shape(ctx->regexp_result_shape);
    r->time_origin = ctx->time_origin;
    r->random_state = ctx->random_state;
    r->hash_seed = ctx->hash_seed;
    r->compile_regexp = ctx->compile_regexp;
    r->eval_internal = ctx->eval_internal;
    r->global_obj = js_dup(global);
    r->global_var_obj = JS_NewObjectProto(ctx, JS_NULL);
    return r;
}

/* ---- what is everybody's ---------------------------------------------------- */

static void put_object(JSContext *ctx, JSValueConst list, uint32_t *n, JSValueConst v)
{
    if (JS_VALUE_GET_TAG(v) == JS_TAG_OBJECT)
        JS_SetPropertyUint32(ctx, list, (*n)++, js_dup(v));
}

JSValue own_intrinsics(JSContext *ctx)
{
    JSValue list = JS_NewArray(ctx);
    uint32_t n = 0;
    for (uint32_t i = 0; i < ctx->rt->class_count; i++)
        put_object(ctx, list, &n, ctx->class_proto[i]);
    for (int i = 0; i < JS_NATIVE_ERROR_COUNT; i++)
        put_object(ctx, list, &n, ctx->native_error_proto[i]);
    const JSValue others[] = {ctx->function_proto, ctx->iterator_proto,
                              ctx->async_iterator_proto, ctx->array_proto_values,
                              ctx->throw_type_error};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        put_object(ctx, list, &n, others[i]);
    return list;
}

/* As Object.freeze(), of ordinary objects, without a list of their properties. */
static bool freeze(JSContext *ctx, JSObject *p)
{
    if (p->class_id == JS_CLASS_PROXY || js_shape_prepare_update(ctx, p, NULL) != 0)
        return false;
    JSShapeProperty *prs = get_shape_prop(p->shape);
    for (int i = 0; i < p->shape->prop_count; i++) {
        if (prs[i].atom == JS_ATOM_NULL)
            continue;
        unsigned fixed = JS_PROP_CONFIGURABLE;
        if ((prs[i].flags & JS_PROP_TMASK) == JS_PROP_NORMAL)
            fixed |= JS_PROP_WRITABLE;
        prs[i].flags &= ~fixed;
    }
    p->extensible = false;
    return true;
}

void own_freeze(JSContext *ctx, JSValueConst list)
{
    JSValue *at;
    uint32_t n;
    own_frozen = true;
    if (!js_get_fast_array(ctx, list, &at, &n))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (JS_VALUE_GET_TAG(at[i]) == JS_TAG_OBJECT)
            (void)freeze(ctx, JS_VALUE_GET_OBJ(at[i]));
}
