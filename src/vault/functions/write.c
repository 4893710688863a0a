/* Writes definitions: one order of fields for files, versions and answers. */
#include "functions/internal.h"

static void definition_put_text(struct json_writer *out, const char *key, struct str s)
{
    if (s.n)
        json_pair_str(out, key, s);
}

static void definition_put_parameter(const struct function_parameter *p,
                                     struct json_writer *out)
{
    static const char *const known[] = {"type", "description", "optional", "default",
                                        NULL};
    json_key_str(out, p->name);
    json_open_object(out);
    json_pair_str(out, "type", p->type);
    definition_put_text(out, "description", p->description);
    if (p->optional)
        json_pair_bool(out, "optional", true);
    if (p->fallback)
        json_pair(out, "default", p->fallback);
    json_put_pairs(out, p->source, known);
    json_close(out);
}

static void put_example(const struct function_example *x, struct json_writer *out)
{
    static const char *const known[] = {"name",     "notes",   "now",   "args",
                                        "expected", "matches", "error", NULL};
    json_open_object(out);
    definition_put_text(out, "name", x->name);
    if (x->notes)
        json_pair(out, "notes", x->notes);
    definition_put_text(out, "now", x->now);
    if (x->args)
        json_pair(out, "args", x->args);
    if (x->expected)
        json_pair(out, "expected", x->expected);
    if (x->matches)
        json_pair(out, "matches", x->matches);
    definition_put_text(out, "error", x->error);
    json_put_pairs(out, x->source, known);
    json_close(out);
}

static void function_put_definition(const struct function *fn, struct json_writer *out)
{
    json_pair_str(out, "name", fn->name);
    json_pair_str(out, "description", fn->description);
    json_key(out, "parameters");
    json_open_object(out);
    for (size_t i = 0; i < fn->parameter_count; i++)
        definition_put_parameter(&fn->parameters[i], out);
    json_close(out);
    json_pair_str(out, "returnType", fn->return_type);
    if (fn->language == FUNCTION_PYTHON)
        json_pair_cstr(out, "language", "python");
    json_pair_str(out, "code", fn->code);
    json_key(out, "tags");
    json_open_array(out);
    for (size_t i = 0; i < fn->tag_count; i++)
        json_put_str(out, fn->tags[i]);
    json_close(out);
    if (!fn->example_count)
        return;
    json_key(out, "examples");
    json_open_array(out);
    for (size_t i = 0; i < fn->example_count; i++)
        put_example(&fn->examples[i], out);
    json_close(out);
}

void function_write_definition(const struct function *fn, struct json_writer *out)
{
    json_open_object(out);
    function_put_definition(fn, out);
    json_close(out);
}

static void put_metadata(const struct function *fn, struct json_writer *out)
{
    static const char *const known[] = {"createdAt",  "updatedAt",  "createdBy",
                                        "usageCount", "lastUsed",   "version",
                                        "updatedBy",  "apiVersion", NULL};
    json_key(out, "metadata");
    json_open_object(out);
    json_pair_time_known(out, "createdAt", fn->created_ms);
    json_pair_time_known(out, "updatedAt", fn->updated_ms);
    json_pair_cstr(out, "createdBy",
                   fn->created_by == FUNCTION_BY_AGENT ? "agent" : "user");
    json_pair_int(out, "usageCount", (int64_t)fn->usage_count);
    json_pair_time_known(out, "lastUsed", fn->last_used_ms);
    json_pair_int(out, "version", fn->version);
    definition_put_text(out, "updatedBy", fn->updated_by);
    definition_put_text(out, "apiVersion", fn->api_version);
    json_put_pairs(out, json_get(fn->source, "metadata"), known);
    json_close(out);
}

void function_write(const struct function *fn, struct json_writer *out)
{
    static const char *const known[] = {
        "id",   "name",     "description", "parameters", "returnType", "code",
        "tags", "examples", "language",    "metadata",   NULL};
    json_open_object(out);
    json_pair_str(out, "id", fn->id);
    function_put_definition(fn, out);
    put_metadata(fn, out);
    json_put_pairs(out, fn->source, known);
    json_close(out);
}

struct str function_parameter_name(const struct function_parameter *p, bool *rest)
{
    *rest = str_starts(p->name, "...");
    return *rest ? (struct str){p->name.at + 3, p->name.n - 3} : p->name;
}

void function_signature(const struct function *fn, struct buf *out)
{
    buf_printf(out, "%.*s(", STR_ARGS(fn->name));
    for (size_t i = 0; i < fn->parameter_count; i++) {
        const struct function_parameter *p = &fn->parameters[i];
        bool rest;
        (void)function_parameter_name(p, &rest);
        buf_printf(out, "%s%.*s%s: ", i ? ", " : "", STR_ARGS(p->name),
                   p->optional && !rest ? "?" : "");
        buf_str(out, p->type);
    }
    buf_cstr(out, "): ");
    buf_str(out, fn->return_type);
}
