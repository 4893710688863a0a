/* The host call behind customFunctions: returns the names if none is given, else a
 * definition. functions.js is its side in the guest.
 *
 * It is in the table because code has no other way to the host, and hidden because the
 * functions themselves are documented. */
#include "functions_api/checking.h"
#include "functions_api/function_load.h"
#include "functions_api/functioning.h"
#include "functions_api/functions.api.h"
#include "typescript/typescript.h"

EMBED(functions_js, "src/capabilities/functions_api/functions.js");

static bool names_put(struct evaluation *v, struct json_writer *out, struct err *e)
{
    const struct function_set *set = functions_of(v, e);
    const struct function *draft = functions_loaded(v)->draft;
    bool drafted = draft != NULL;
    if (!set && !functions_loaded(v)->given)
        return false;
    json_open_array(out);
    for (size_t i = 0; set && i < function_count(set); i++) {
        struct err denied = {0};
        struct str name = function_at(set, i)->name;
        drafted &= !str_eq(name, draft ? draft->name : name);
        if (function_allowed(v, name, &denied))
            json_put_str(out, name);
    }
    if (drafted)
        json_put_str(out, draft->name);
    json_close(out);
    return true;
}

/* Marks the shapes that are types of the API, whose values come from it: a type that
 * gains a member stays compatible. */
static void put_open(struct str shapes, struct json_writer *out)
{
    struct err none = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_CALL);
    const struct json *texts = json_get(json_read(shapes, arena, &none), "texts");
    struct json_iter it = json_iter(texts);
    json_key(out, "open");
    json_open_array(out);
    for (int64_t i = 0; json_next(&it); i++)
        if (api_type_named(json_str(it.value)))
            json_put_int(out, i);
    json_close(out);
}

static void put_shapes(struct evaluation *v, const struct function *fn,
                       struct json_writer *out)
{
    scoped_buf struct buf shapes;
    buf_init(&shapes, BUF_FILE);
    struct json_writer w = json_writer(&shapes);
    /* A draft is not part of the set, and was checked just now. */
    const struct function_set *among =
        fn == functions_loaded(v)->draft ? NULL : functions_loaded(v)->set;
    if (!checking_put_shapes(v->actions, fn, among, &w))
        (void)function_put_shapes(fn, &w);
    json_pair_raw(out, "shapes", buf_view(&shapes));
    put_open(buf_view(&shapes), out);
}

void function_put_parameters(struct evaluation *v, const struct function *fn,
                             struct json_writer *out)
{
    json_key(out, "parameters");
    json_open_array(out);
    for (size_t i = 0; i < fn->parameter_count; i++)
        functioning_put_parameter(&fn->parameters[i], out);
    json_close(out);
    put_shapes(v, fn, out);
}

static void put_definition(struct evaluation *v, uint32_t number, struct json_writer *out)
{
    const struct loaded_function *f = &functions_loaded(v)->at[number - 1];
    json_open_object(out);
    json_pair_int(out, "number", number);
    json_pair_str(out, "name", f->fn->name);
    json_pair_cstr(out, "file", f->made);
    json_pair_bool(out, "promises", str_starts(str_trim(f->fn->return_type), "Promise"));
    if (f->code)
        json_pair_str(out, "code", typescript_javascript(f->code));
    else
        json_pair_bool(out, "apart", true);
    function_put_parameters(v, f->fn, out);
    json_close(out);
}

/* customFunctions(name, given, named, counted) */
static bool call_apart(struct calling *x, struct str name, struct json_writer *out,
                       struct err *e)
{
    struct apart_call call = {.given = json_at(x->args, 1),
                              .named = json_at(x->args, 2),
                              .counted = json_bool(json_at(x->args, 3), false)};
    call.fn = function_allowed(x->v, name, e) ? function_find(x->v, name, e) : NULL;
    return call.fn && function_call_apart(x->v, &call, out, e);
}

static bool call_functions(struct calling *x, struct json_writer *out, struct err *e)
{
    if (json_length(x->args) == 0)
        return names_put(x->v, out, e);
    struct str name = json_str(json_at(x->args, 0));
    if (json_length(x->args) >= 2)
        return call_apart(x, name, out, e);
    const struct function *fn =
        function_allowed(x->v, name, e) ? function_find(x->v, name, e) : NULL;
    uint32_t number = fn ? function_load(x->v, fn, e) : 0;
    if (number)
        put_definition(x->v, number, out);
    return number != 0;
}

static const struct host_call rows[] = {
    {CALL(.name = "customFunctions", .sync = true, .wrap = functions_js, .shared = true),
     .signature = CUSTOM_FUNCTIONS_SIGNATURE,
     .summary = "returns the data behind customFunctions", .call = call_functions,
     .level = LEVEL_ZERO, .steady = true, /* the cache's key includes the functions */
     .asks = true, .hidden = true},
};
const struct host_call_group functions_calls = {TABLE(rows),
                                                .order = 150,
                                                .family = functioning_may_name,
                                                .describes = functioning_is_name,
                                                .describe = functioning_describe,
                                                .put_names = functioning_put_names};
