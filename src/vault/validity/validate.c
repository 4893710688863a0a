/* Is a definition sound, as far as that can be told without running or parsing its code:
 * its name, parameters, types' texts, tags and examples. Everything wrong is told at once,
 * each with the field it stands in and what would be accepted. */
#include <stdio.h>
#include <strings.h>

#include "validity/validity.h"
#include "json/json.h"

struct validation {
    const struct function *fn;
    const struct function_set *among;
    const struct name_words *taken;
    struct findings *out;
    char field[FUNCTION_NAME_MAX * 4 + 64];
};

static void finding_put(struct validation *v, bool error, const char *field,
                        const char *code, const char *suggestion, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

static void finding_put(struct validation *v, bool error, const char *field,
                        const char *code, const char *suggestion, const char *fmt, ...)
{
    char message[700];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct finding f = {.field = str_of(field),
                        .code = code,
                        .message = str_cut(str_of(message), sizeof message - 5),
                        .suggestion = str_of(suggestion)};
    (error ? findings_error : findings_warn)(v->out, &f);
}

/* "parameters.date.type"; names of strangers are cut. */
static const char *finding_field(struct validation *v, const char *of, struct str name,
                                 const char *what)
{
    name = str_cut(name, FUNCTION_NAME_MAX * 4);
    (void)snprintf(v->field, sizeof v->field, "%s.%.*s%s%s", of, STR_ARGS(name),
                   *what ? "." : "", what);
    return v->field;
}

/* ---- the name -------------------------------------------------------------- */

struct fault_words {
    const char *code, *message;
};
static const struct fault_words faults[] = {
    [NAME_FINE] = {"", ""},
    [NAME_EMPTY] = {"MISSING_FIELD", "the name is empty"},
    [NAME_LONG] = {"NAME_TOO_LONG", "the name has more than 64 characters"},
    [NAME_NO_WORD] = {"INVALID_NAME",
                      "it is not a TypeScript identifier: letters, digits, _ and $, "
                      "and no digit first"},
    [NAME_INVISIBLE] = {"INVALID_NAME", "it has invisible characters"},
    [NAME_CONFUSING] = {"CONFUSING_NAME", "its letters are of several scripts, or look "
                                          "like those of another"},
    [NAME_RESERVED] = {"RESERVED_NAME", "it is a reserved word"},
    [NAME_OBJECTS] = {"RESERVED_NAME",
                      "every object has this name already, or is known by "
                      "it"},
    [NAME_GLOBAL] = {"RESERVED_NAME", "code finds something else under this name"},
};

static bool name_is_used(const void *among, struct str name)
{
    return among && function_named(among, name);
}

static void check_other(struct validation *v, const struct function *other)
{
    const struct function *fn = v->fn;
    char free_name[NAME_SUGGESTION_MAX], text[160];
    if (str_eq(other->id, fn->id) && fn->id.n)
        return;
    if (str_eq(other->name, fn->name)) {
        name_suggest(fn->name, v->taken, name_is_used, v->among, free_name);
        (void)snprintf(text, sizeof text,
                       "Update the existing one, or name this one '%s'.", free_name);
        if (other->origin.n)
            finding_put(v, false, "name", "HIDES_SHARED", "",
                        "'%.*s' of the library '%.*s' is hidden by this one",
                        STR_ARGS(fn->name), STR_ARGS(str_cut(other->origin, 80)));
        else
            finding_put(v, true, "name", "NAME_TAKEN", text,
                        "a function '%.*s' is there already, in version %u",
                        STR_ARGS(fn->name), other->version);
        return;
    }
    if (fn->name.n == other->name.n &&
        !strncasecmp(fn->name.at, other->name.at, fn->name.n))
        finding_put(v, false, "name", "SIMILAR_NAME",
                    "Names that differ in capitals alone are easily mistaken.",
                    "a function '%.*s' is there", STR_ARGS(other->name));
}

static void tell_fault(struct validation *v, const char *field, const char *suggestion,
                       const char *what, struct str name, enum name_fault fault)
{
    char like[NAME_LIKE_MAX] = "";
    if (fault == NAME_CONFUSING)
        (void)name_confuses(name, like);
    finding_put(v, true, field, faults[fault].code, suggestion, "%s'%.*s': %s%s%s%s",
                what, STR_ARGS(str_cut(name, 80)), faults[fault].message,
                like[0] ? "; it reads as '" : "", like, like[0] ? "'" : "");
}

static void validate_name(struct validation *v)
{
    struct str name = v->fn->name;
    enum name_fault fault = name_look(name, v->taken);
    if (fault != NAME_FINE) {
        char free_name[NAME_SUGGESTION_MAX], text[160];
        name_suggest(name, v->taken, name_is_used, v->among, free_name);
        (void)snprintf(text, sizeof text, "'%s' is free.", free_name);
        tell_fault(v, "name", text, "", name, fault);
        return;
    }
    if (v->fn->language != FUNCTION_PYTHON && !name_is_camel(name))
        finding_put(v, false, "name", "NAME_STYLE",
                    "Names of the API are written camelCase.",
                    "'%.*s' is not written as the names beside it", STR_ARGS(name));
    for (size_t i = 0; v->among && i < function_count(v->among); i++)
        check_other(v, function_at(v->among, i));
}

/* ---- parameters -------------------------------------------------------------- */

static void validate_type(struct validation *v, const char *field, struct str type)
{
    const char *why;
    if (!type_is_whole(type, &why))
        finding_put(
            v, true, field, str_trim(type).n ? "INVALID_TYPE" : "MISSING_FIELD",
            "A type of TypeScript on one line, as \"string\" or \"Promise<Note[]>\".",
            "'%.*s' is not a type: %s", STR_ARGS(str_cut(type, 80)), why);
}

static void check_parameter_name(struct validation *v, struct str name)
{
    enum name_fault fault = name_look(name, NULL);
    if (fault == NAME_GLOBAL || (fault == NAME_FINE && name_look(name, v->taken)))
        finding_put(v, false, finding_field(v, "parameters", name, ""), "HIDES_GLOBAL",
                    "Give it a name of its own.",
                    "inside of the function '%.*s' means the parameter, and nothing else",
                    STR_ARGS(name));
    else if (fault == NAME_OBJECTS && !str_is(name, "__proto__"))
        return; /* "then" and "constructor" are parameters like others */
    else if (fault != NAME_FINE && !(fault == NAME_RESERVED && str_is(name, "async")))
        tell_fault(v, finding_field(v, "parameters", name, ""),
                   "A parameter is a plain identifier; the last one may be \"...names\", "
                   "which takes any number of values.",
                   "the parameter ", name, fault);
}

static void validate_default(struct validation *v, const struct function_parameter *p)
{
    if (!type_may_hold(p->type, p->fallback))
        finding_put(v, true, finding_field(v, "parameters", p->name, "default"),
                    "DEFAULT_TYPE", "A value of the parameter's type.",
                    "the default of '%.*s' has type %s, not %.*s", STR_ARGS(p->name),
                    json_type_name(json_type(p->fallback)),
                    STR_ARGS(str_cut(p->type, 80)));
}

static bool is_rest(const struct function_parameter *p)
{
    bool rest;
    (void)function_parameter_name(p, &rest);
    return rest;
}

static bool may_be_left_out(const struct function_parameter *p)
{
    return p->optional || p->fallback || is_rest(p);
}

/* "...names": the last, an array, and empty where nothing is given. */
static void check_rest(struct validation *v, size_t i)
{
    const struct function_parameter *p = &v->fn->parameters[i];
    const char *field = finding_field(v, "parameters", p->name, "");
    if (!is_rest(p))
        return;
    if (i + 1 < v->fn->parameter_count)
        finding_put(v, true, field, "REST_NOT_LAST", "Put it last, in the code too.",
                    "'%.*s' takes all further arguments, but is not the last parameter",
                    STR_ARGS(str_cut(p->name, 80)));
    if (p->fallback)
        finding_put(v, true, field, "REST_DEFAULT", "Leave default out.",
                    "'%.*s' takes any number of arguments, also none: it has no default",
                    STR_ARGS(str_cut(p->name, 80)));
}

static bool is_twice(const struct function *fn, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(fn->parameters[k].name, fn->parameters[i].name))
            return true;
    return false;
}

static void validate_parameters(struct validation *v)
{
    const struct function *fn = v->fn;
    const struct function_parameter *left_out = NULL;
    for (size_t i = 0; i < fn->parameter_count; i++) {
        const struct function_parameter *p = &fn->parameters[i];
        bool rest;
        check_parameter_name(v, function_parameter_name(p, &rest));
        check_rest(v, i);
        validate_type(v, finding_field(v, "parameters", p->name, "type"), p->type);
        if (p->fallback)
            validate_default(v, p);
        if (is_twice(fn, i))
            finding_put(v, true, finding_field(v, "parameters", p->name, ""),
                        "DUPLICATE_PARAMETER", "Give each its own name.",
                        "two parameters are called '%.*s'",
                        STR_ARGS(str_cut(p->name, 80)));
        if (left_out && !may_be_left_out(p))
            finding_put(v, true, finding_field(v, "parameters", p->name, ""),
                        "REQUIRED_AFTER_OPTIONAL",
                        "Put it before those that may be left out, in the code too.",
                        "'%.*s' is required, but follows the optional '%.*s'",
                        STR_ARGS(p->name), STR_ARGS(left_out->name));
        if (may_be_left_out(p))
            left_out = p;
    }
}

/* ---- tags and examples --------------------------------------------------------- */

static void check_tags(struct validation *v)
{
    const struct function *fn = v->fn;
    char like[NAME_LIKE_MAX];
    for (size_t i = 0; i < fn->tag_count; i++)
        if (name_confuses(fn->tags[i], like))
            tell_fault(v, "tags", "Letters of one script.", "the tag ", fn->tags[i],
                       NAME_CONFUSING);
    for (size_t i = 0; i < fn->tag_count; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(fn->tags[i], fn->tags[k])) {
                finding_put(v, false, "tags", "DUPLICATE_TAG", "",
                            "the tag '%.*s' is repeated",
                            STR_ARGS(str_cut(fn->tags[i], 80)));
                k = i;
            }
}

static const struct function_parameter *parameter_named(const struct function *fn,
                                                        struct str name)
{
    bool rest;
    for (size_t i = 0; i < fn->parameter_count; i++)
        if (str_eq(fn->parameters[i].name, name) ||
            str_eq(function_parameter_name(&fn->parameters[i], &rest), name))
            return &fn->parameters[i];
    return NULL;
}

static void finding_put_parameters(const struct function *fn, struct buf *out)
{
    if (!fn->parameter_count)
        buf_cstr(out, "It takes none.");
    for (size_t i = 0; i < fn->parameter_count; i++) {
        buf_cstr(out, i ? ", " : "It takes ");
        buf_str(out, fn->parameters[i].name);
    }
}

static void check_named(struct validation *v, const char *field, const struct json *args)
{
    const struct function *fn = v->fn;
    scoped_buf struct buf known = buf_of(BUF_PAGE);
    finding_put_parameters(fn, &known);
    struct json_iter it = json_iter(args);
    while (json_next(&it))
        if (!parameter_named(fn, it.key))
            finding_put(v, true, field, "UNKNOWN_PARAMETER", buf_cz(&known),
                        "there is no parameter '%.*s'", STR_ARGS(str_cut(it.key, 80)));
    for (size_t i = 0; i < fn->parameter_count; i++)
        if (!may_be_left_out(&fn->parameters[i]) &&
            !json_get_str(args, fn->parameters[i].name))
            finding_put(v, true, field, "MISSING_ARGUMENT", buf_cz(&known),
                        "the parameter '%.*s' is required",
                        STR_ARGS(fn->parameters[i].name));
}

static void check_row(struct validation *v, const char *field, const struct json *args)
{
    const struct function *fn = v->fn;
    size_t least = 0, given = json_length(args), most = fn->parameter_count;
    if (most && is_rest(&fn->parameters[most - 1]))
        most = given;
    while (least < fn->parameter_count && !may_be_left_out(&fn->parameters[least]))
        least++;
    if (given < least || given > most)
        finding_put(v, true, field,
                    given < least ? "MISSING_ARGUMENT" : "TOO_MANY_ARGUMENTS", "",
                    "%zu arguments are given; %zu to %zu are accepted", given, least,
                    fn->parameter_count);
}

static void check_examples(struct validation *v)
{
    const struct function *fn = v->fn;
    for (size_t i = 0; i < fn->example_count; i++) {
        const struct function_example *x = &fn->examples[i];
        char field[64];
        (void)snprintf(field, sizeof field, "examples[%zu].args", i);
        /* An example of an error may have arguments of the wrong type. */
        if (!x->error.n && json_is(x->args, JSON_ARRAY))
            check_row(v, field, x->args);
        else if (!x->error.n)
            check_named(v, field, x->args);
        for (size_t k = 0; k < i && x->name.n; k++)
            if (str_eq(fn->examples[k].name, x->name)) {
                finding_put(v, false, field, "DUPLICATE_EXAMPLE", "",
                            "two examples are called '%.*s'",
                            STR_ARGS(str_cut(x->name, 80)));
                break;
            }
    }
}

/* ---- all of it ------------------------------------------------------------------- */

void function_validate(const struct function *fn, const struct function_set *among,
                       const struct name_words *taken, struct findings *out)
{
    struct validation v = {fn, among, taken, out, ""};
    validate_name(&v);
    validate_parameters(&v);
    validate_type(&v, "returnType", fn->return_type);
    check_tags(&v);
    check_examples(&v);
}
