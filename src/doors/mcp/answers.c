/* The questions that clients declared they answer, and the check of their answers: the
 * same in both eras.
 * Source: 2025-11-25 client/elicitation, client/sampling, client/roots.
 */
#include "mcp/outlet.h"

static bool has(const struct json *object, const char *key)
{
    return json_is(json_get(object, key), JSON_OBJECT);
}

unsigned can_read(const struct json *capabilities)
{
    const struct json *elicits = json_get(capabilities, "elicitation");
    const struct json *samples = json_get(capabilities, "sampling");
    unsigned can = 0;
    if (json_is(elicits, JSON_OBJECT)) {
        can |= has(elicits, "url") ? CAN_URL : 0;
        /* A client that names no mode is older than modes: then form was the only one. */
        can |= has(elicits, "form") || !has(elicits, "url") ? CAN_FORM : 0;
    }
    if (json_is(samples, JSON_OBJECT)) {
        can |= CAN_SAMPLE;
        can |= has(samples, "tools") ? CAN_SAMPLE_TOOLS : 0;
        can |= has(samples, "context") ? CAN_SAMPLE_CONTEXT : 0;
    }
    return can | (has(capabilities, "roots") ? CAN_ROOTS : 0);
}

unsigned can_need(struct str method, const struct json *params)
{
    if (str_is(method, "elicitation/create"))
        return str_is(json_str(json_get(params, "mode")), "url") ? CAN_URL : CAN_FORM;
    if (str_is(method, "roots/list"))
        return CAN_ROOTS;
    if (!str_is(method, "sampling/createMessage"))
        return 0;
    bool tools = json_get(params, "tools") || json_get(params, "toolChoice");
    struct str context = json_str(json_get(params, "includeContext"));
    bool other = context.n && !str_is(context, "none");
    return CAN_SAMPLE | (tools ? CAN_SAMPLE_TOOLS : 0) | (other ? CAN_SAMPLE_CONTEXT : 0);
}

static void put_with(struct json_writer *w, const char *key, unsigned one,
                     const char *one_key, unsigned other, const char *other_key)
{
    json_key(w, key);
    json_open_object(w);
    if (one)
        json_pair_raw(w, one_key, STR("{}"));
    if (other)
        json_pair_raw(w, other_key, STR("{}"));
    json_close(w);
}

void can_put(unsigned can, struct json_writer *w)
{
    if (can & (CAN_FORM | CAN_URL))
        put_with(w, "elicitation", can & CAN_FORM, "form", can & CAN_URL, "url");
    if (can & (CAN_SAMPLE | CAN_SAMPLE_TOOLS | CAN_SAMPLE_CONTEXT))
        put_with(w, "sampling", can & CAN_SAMPLE_TOOLS, "tools", can & CAN_SAMPLE_CONTEXT,
                 "context");
    if (can & CAN_ROOTS)
        json_pair_raw(w, "roots", STR("{}"));
}

bool can_answer(unsigned can, struct str method)
{
    if (str_is(method, "elicitation/create"))
        return can & (CAN_FORM | CAN_URL);
    unsigned need = can_need(method, NULL);
    return need && (can & need) == need;
}

bool can_answer_this(unsigned can, struct str method, const struct json *params,
                     struct err *e)
{
    unsigned need = can_need(method, params);
    if (!need)
        return err_set(e, ERR_INVALID, "clients are not asked %.*s",
                       STR_ARGS(str_cut(method, 60)));
    if ((can & need) == need)
        return true;
    const char *lacks = need & ~can & CAN_URL              ? "elicitation.url"
                        : need & ~can & CAN_FORM           ? "elicitation.form"
                        : need & ~can & CAN_SAMPLE         ? "sampling"
                        : need & ~can & CAN_SAMPLE_TOOLS   ? "sampling.tools"
                        : need & ~can & CAN_SAMPLE_CONTEXT ? "sampling.context"
                                                           : "roots";
    return err_set(e, ERR_CAPABILITY,
                   "this needs a client that declares the capability %s; yours does "
                   "not, and nothing was changed",
                   lacks);
}

/* ---- answers ------------------------------------------------------------ */

/* Forms are flat, so this looks no deeper. */
static bool check_formats(const struct json *schema, const struct json *content,
                          struct err *e)
{
    const struct json *fields = json_get(schema, "properties");
    struct json_iter it = json_iter(content);
    while (json_next(&it)) {
        struct str format = json_str(json_get(json_get_str(fields, it.key), "format"));
        const char *such;
        if (json_is(it.value, JSON_STRING) &&
            !format_fits(format, json_str(it.value), &such))
            return err_set(e, ERR_INVALID, "content.%.*s is \"%.*s\"; %s is accepted",
                           STR_ARGS(str_cut(it.key, 60)),
                           STR_ARGS(str_cut(json_str(it.value), 60)), such);
    }
    return true;
}

static bool check_elicited(const struct json *params, const struct json *result,
                           struct err *e)
{
    struct str action = json_str(json_get(result, "action"));
    const struct json *content = json_get(result, "content");
    if (str_is(action, "decline") || str_is(action, "cancel"))
        return true;
    if (!str_is(action, "accept"))
        return err_set(e, ERR_INVALID,
                       "your client's answer has the action '%.*s'; accept, decline "
                       "and cancel are accepted",
                       STR_ARGS(str_cut(action, 40)));
    const struct json *schema = json_get(params, "requestedSchema");
    if (!schema)
        return true;
    if (!json_is(content, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "your client accepted the question without content, an object");
    return (json_schema_check(schema, content, "content", e) &&
            check_formats(schema, content, e)) ||
           err_wrap(e, "your client's answer does not match the request");
}

static bool check_sampled(const struct json *result, struct err *e)
{
    struct str role = json_str(json_get(result, "role"));
    enum json_type content = json_type(json_get(result, "content"));
    if (!str_is(role, "assistant") && !str_is(role, "user"))
        return err_set(e, ERR_INVALID,
                       "your client's message has the role '%.*s'; assistant and user "
                       "are accepted",
                       STR_ARGS(str_cut(role, 40)));
    if (content != JSON_OBJECT && content != JSON_ARRAY)
        return err_set(e, ERR_INVALID, "your client's message has no content but %s",
                       json_type_name(content));
    return json_is(json_get(result, "model"), JSON_STRING) ||
           err_set(e, ERR_INVALID, "your client's message does not name its model");
}

static bool check_roots(const struct json *result, struct err *e)
{
    const struct json *roots = json_get(result, "roots");
    if (!json_is(roots, JSON_ARRAY))
        return err_set(e, ERR_INVALID, "your client's answer has no roots, an array");
    struct json_iter it = json_iter(roots);
    while (json_next(&it))
        if (!str_starts(json_str(json_get(it.value, "uri")), "file://"))
            return err_set(e, ERR_INVALID,
                           "a root of your client has no uri that begins with file://");
    return true;
}

bool answer_check(struct str method, const struct json *params, const struct json *result,
                  struct err *e)
{
    if (!json_is(result, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "your client's answer is not an object, but %s",
                       json_type_name(json_type(result)));
    if (str_is(method, "elicitation/create"))
        return check_elicited(params, result, e);
    return str_is(method, "roots/list") ? check_roots(result, e)
                                        : check_sampled(result, e);
}
