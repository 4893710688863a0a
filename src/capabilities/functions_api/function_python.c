#include "functions_api/function_python.h"

#include "functions_api/function_review.h"
#include "functions_api/functioning.h"
#include "script/script.h"

#define DESCRIBE_MS 5000u
#define DESCRIBE_MEMORY ((uint64_t)256 << 20)
#define DESCRIBED_MAX ((size_t)512 << 10)
#define CODE_BYTES (FUNCTION_CODE_MAX + 1)

bool python_is(const struct json *definition)
{
    return str_is(json_str(json_get(definition, "language")), "python");
}

/* ---- the world ------------------------------------------------------------------------ */

static bool perform_nothing(void *arg, struct script_task *t, uint32_t row,
                            struct str args, struct buf *out, struct err *e)
{
    (void)arg, (void)t, (void)row, (void)args, (void)out;
    return err_set(e, ERR_DENIED, "code that is checked does not run");
}

static const struct json *describe(const struct action_call *c, struct script_request *q,
                                   struct err *e)
{
    struct script *script = services_python(c->actions->services, e);
    struct script_outcome o;
    const struct json *told = NULL;
    script_outcome_init(&o);
    if (script && script_run(script, q, &o, e)) {
        if (o.success)
            told = json_read(buf_view(&o.result), c->arena, e);
        else
            err_set(e, o.type, "the code cannot be checked: %s", buf_cz(&o.message));
    }
    script_outcome_done(&o);
    return told;
}

const struct json *python_describe(const struct action_call *c, struct str code,
                                   struct str name, struct err *e)
{
    scoped_buf struct buf context;
    buf_init(&context, BUF_PAGE);
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_str(&w, "name", name);
    json_close(&w);
    struct script_request q = {.code = code,
                               .context = buf_view(&context),
                               .compute_ms = DESCRIBE_MS,
                               .total_ms = DESCRIBE_MS * 2,
                               .memory_bytes = DESCRIBE_MEMORY,
                               .result_max = DESCRIBED_MAX,
                               .cancel = c->who->cancel,
                               .principal = caller_principal(c->who),
                               .check = true,
                               .function = true,
                               .perform = perform_nothing};
    return buf_check(&context, "the name", e) ? describe(c, &q, e) : NULL;
}

/* ---- completing ------------------------------------------------------------------------ */

/* A list of lines is joined, as the reader of definitions does. */
static bool read_code(const struct json *definition, const struct function *was,
                      struct buf *out)
{
    const struct json *code = json_get(definition, "code");
    struct json_iter it = json_iter(code);
    if (json_is(code, JSON_ARRAY))
        for (bool first = true; json_next(&it); first = false) {
            buf_cstr(out, first ? "" : "\n");
            buf_str(out, json_str(it.value));
        }
    else
        buf_str(out, code || !was ? json_str(code) : was->code);
    return !out->failed && str_trim(buf_view(out)).n > 0;
}

/* One parameter: what is given for it, and what its code says besides. */
static void put_parameter(const struct json *told, const struct json *given,
                          struct json_writer *w)
{
    struct json_iter it = json_iter(told);
    json_open_object(w);
    if (json_is(given, JSON_OBJECT))
        json_put_pairs(w, given, NULL);
    while (json_next(&it))
        if (!json_get_str(given, it.key)) {
            json_key_str(w, it.key);
            json_put(w, it.value);
        }
    json_close(w);
}

/* In the code's order; a name that the code does not have stays, and is refused later. */
static void put_parameters(const struct json *told, const struct json *given,
                           struct json_writer *w)
{
    struct json_iter it = json_iter(told);
    json_open_object(w);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        put_parameter(it.value, json_get_str(given, it.key), w);
    }
    it = json_iter(given);
    while (json_next(&it))
        if (!json_get_str(told, it.key)) {
            json_key_str(w, it.key);
            json_put(w, it.value);
        }
    json_close(w);
}

static void put_completed(const struct json *definition, const struct json *told,
                          const struct function *was, struct json_writer *w)
{
    static const char *const read[] = {"name", "description", "returnType"};
    static const char *const own[] = {"parameters", NULL};
    json_open_object(w);
    json_put_pairs(w, definition, own);
    for (size_t i = was ? 1 : 0; i < LENGTH(read); i++)
        if (!json_get(definition, read[i]) && json_str(json_get(told, read[i])).n)
            json_pair(w, read[i], json_get(told, read[i]));
    const struct json *given = json_get(definition, "parameters");
    json_key(w, "parameters");
    if (given && !json_is(given, JSON_OBJECT))
        json_put(w, given);
    else
        put_parameters(json_get(told, "parameters"), given, w);
    json_close(w);
}

const struct json *python_complete(const struct action_call *c,
                                   const struct json *definition,
                                   const struct function *was, struct findings *found,
                                   struct err *e)
{
    bool python = was ? was->language == FUNCTION_PYTHON : python_is(definition);
    /* A change of words alone asks nothing of the code. */
    if (!python || (was && !json_get(definition, "code")))
        return definition;
    scoped_buf struct buf code, text;
    buf_init(&code, CODE_BYTES);
    buf_init(&text, 2 * DESCRIBED_MAX);
    struct str name = json_str(json_get(definition, "name"));
    if (!read_code(definition, was, &code))
        return definition; /* refused by who reads it */
    const struct json *told =
        python_describe(c, buf_view(&code), name.n || !was ? name : was->name, e);
    if (!told)
        return NULL;
    if (!json_get(told, "name")) {
        review_list(told, found);
        return definition;
    }
    struct json_writer w = json_writer(&text);
    put_completed(definition, told, was, &w);
    return buf_check(&text, "the definition", e) ? json_read(buf_view(&text), c->arena, e)
                                                 : NULL;
}
