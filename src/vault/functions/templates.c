/* Beginnings for common patterns: functions in the file's own format (templates.json), each
 * with examples that hold in any vault; test/test_functions_library.py runs them. */
#include "functions/internal.h"

EMBED(templates, "src/vault/functions/templates.json");

/* Read for each use: nobody asks often. */
static struct function_set *read_templates(void)
{
    scoped_findings struct findings found;
    findings_init(&found);
    struct err none = {0};
    struct str text = {templates, (size_t)(templates_end - templates)};
    struct function_set *s = set_read(text, 0, &found, &none);
    must(s);
    return s;
}

void function_templates(struct json_writer *out)
{
    scoped_new_set struct function_set *s = read_templates();
    json_open_array(out);
    for (size_t i = 0; i < s->count; i++) {
        const struct function *fn = &s->all[i];
        scoped_buf struct buf signature = buf_of(FUNCTION_TEXT_MAX);
        function_signature(fn, &signature);
        json_open_object(out);
        json_pair_str(out, "template", fn->name);
        json_pair_str(out, "description", fn->description);
        json_pair_str(out, "signature", buf_view(&signature));
        json_key(out, "tags");
        json_open_array(out);
        for (size_t k = 0; k < fn->tag_count; k++)
            json_put_str(out, fn->tags[k]);
        json_close(out);
        json_close(out);
    }
    json_close(out);
}

static bool no_template(const struct function_set *s, struct str which, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_LINE);
    for (size_t i = 0; i < s->count; i++)
        buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARGS(s->all[i].name));
    return err_set(e, ERR_NOT_FOUND, "no template is called '%.*s'; there are %s",
                   STR_ARGS(str_cut(which, 80)), buf_cz(&names));
}

/* Copies a definition, which outlives the set. */
static bool copy_definition(const struct function *fn, struct arena *a,
                            struct function *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(DEFINITION_MAX);
    struct json_writer w = json_writer(&text);
    function_write_definition(fn, &w);
    scoped_findings struct findings found;
    findings_init(&found);
    const struct json *v =
        buf_check(&text, "a template", e) ? json_read(buf_view(&text), a, e) : NULL;
    return v && function_read(v, a, out, &found, e);
}

bool function_template(struct str which, struct str name, struct arena *a,
                       struct function *out, struct err *e)
{
    scoped_new_set struct function_set *s = read_templates();
    const struct function *fn = function_named(s, which);
    struct function made;
    return (fn || no_template(s, which, e)) && copy_definition(fn, a, &made, e) &&
           function_renamed(&made, name.n ? name : made.name, a, out, e);
}
