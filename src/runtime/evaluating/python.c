/* Python: the table of host calls as the Python guest needs it, so that what code calls
 * them with becomes their arguments (guest/python/world/api.py). */
#include "api/api.h"
#include "evaluating/evaluating.h"
#include "evaluating/explaining.h"
#include "evaluating/internal.h"
#include "evaluating/language.h"

static void python_put_keys(struct str members, struct json_writer *w)
{
    struct api_field key;
    json_key(w, "keys");
    json_open_array(w);
    while (api_next_field(&members, &key))
        if (key.name.n && key.name.at[0] != '[')
            json_put_str(w, key.name);
    json_close(w);
}

/* {name, optional, type, keys: [...]}: keys are those of an object that it may be. */
static void python_put_parameter(const struct api_field *p, struct json_writer *w)
{
    struct str members = api_members(p->type);
    json_open_object(w);
    json_pair_str(w, "name", p->name);
    json_pair_bool(w, "optional", p->optional);
    json_pair_str(w, "type", p->type);
    if (members.n)
        python_put_keys(members, w);
    json_close(w);
}

static void python_put_overloads(const char *signature, struct json_writer *w)
{
    struct str rest = str_of(signature), line;
    struct api_field field;
    json_open_array(w);
    while (api_next_line(&rest, &line)) {
        struct api_signature read = api_signature_read(line);
        json_open_object(w);
        json_pair_str(w, "returns", read.returns);
        json_key(w, "parameters");
        json_open_array(w);
        while (api_next_field(&read.parameters, &field))
            python_put_parameter(&field, w);
        json_close(w);
        json_close(w);
    }
    json_close(w);
}

static void python_put_row(const struct host_call *c, struct json_writer *w)
{
    const struct host_call_group *group = host_call_group_of(c);
    json_open_object(w);
    json_pair_cstr(w, "name", c->row.name);
    json_pair_bool(w, "sync", c->row.sync);
    json_pair_int(w, "feature", c->row.feature);
    json_pair_bool(w, "hidden", c->hidden);
    json_pair_bool(w, "inside", c->row.source != NULL);
    json_pair_bool(w, "family", group->family != NULL);
    json_pair_cstr(w, "words", c->words ? c->words : "");
    if (c->summary)
        json_pair_cstr(w, "summary", c->summary);
    if (c->signature) {
        json_key(w, "overloads");
        python_put_overloads(c->signature, w);
    }
    json_close(w);
}

/* The types that signatures name, behind the rows: {type, definition, about}. */
static void python_put_types(struct json_writer *w)
{
    size_t count;
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; i < count; i++) {
        json_open_object(w);
        json_pair_cstr(w, "type", types[i].name);
        json_pair_cstr(w, "definition", types[i].definition);
        json_pair_cstr(w, "about", types[i].about ? types[i].about : "");
        json_close(w);
    }
}

void python_put_table(struct buf *out)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    struct json_writer w = json_writer(out);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        python_put_row(calls[i], &w);
    python_put_types(&w);
    json_close(&w);
}

/* ---- checking -------------------------------------------------------------- */

#define CHECK_MS 5000u
#define CHECK_MEMORY ((uint64_t)256 << 20)

static bool perform_nothing(void *arg, struct script_task *t, uint32_t row,
                            struct str args, struct buf *out, struct err *e)
{
    (void)arg, (void)t, (void)row, (void)args, (void)out;
    return err_set(e, ERR_DENIED, "code that is checked does not run");
}

/* The guest's {"findings", "errors", "warnings", "hints"}: it lists some of what it counts. */
static bool take_findings(const struct action_call *c, struct str text,
                          struct lint_findings *found, struct err *e)
{
    const struct json *told = json_read(text, c->arena, e);
    const struct json *list = json_get(told, "findings");
    struct json_writer w = json_writer(&found->json);
    if (!json_is(list, JSON_ARRAY))
        return err_set(e, ERR_GUEST, "what was found in the code cannot be read");
    json_put(&w, list);
    found->errors = (uint32_t)json_int(json_get(told, "errors"), 0);
    found->warnings = (uint32_t)json_int(json_get(told, "warnings"), 0);
    found->hints = (uint32_t)json_int(json_get(told, "hints"), 0);
    return buf_check(&found->json, "the list of findings", e);
}

/* Names that exist besides; SESSION (guest/python/world/check.py): a session has more. */
static void put_known(const struct action_call *c, struct json_writer *w)
{
    struct json_iter it = json_iter(known_names(c));
    json_open_object(w);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        json_put_bool(w, true);
    }
    if (json_get(c->arguments, "session"))
        json_pair_bool(w, "_cloche_session", true);
    json_close(w);
}

bool python_check(const struct action_call *c, struct str code,
                  struct lint_findings *found, struct err *e)
{
    scoped_buf struct buf context;
    buf_init(&context, BUF_FILE);
    struct json_writer w = json_writer(&context);
    put_known(c, &w);
    struct script *script = services_python(c->actions->services, e);
    struct script_request q = {.code = code,
                               .context = buf_view(&context),
                               .compute_ms = CHECK_MS,
                               .total_ms = CHECK_MS * 2,
                               .memory_bytes = CHECK_MEMORY,
                               .result_max = LINT_FINDINGS_MAX,
                               .cancel = c->who->cancel,
                               .check = true,
                               .perform = perform_nothing};
    struct script_outcome o;
    script_outcome_init(&o);
    bool ok = script && script_run(script, &q, &o, e);
    if (ok && !o.success)
        ok = err_set(e, o.type, "the code cannot be checked: %s", buf_cz(&o.message));
    ok = ok && take_findings(c, buf_view(&o.result), found, e);
    script_outcome_done(&o);
    return ok;
}

/* The evaluation itself reports what does not parse. */
static bool is_refused(const struct json *finding)
{
    struct str rule = json_str(json_get(finding, "rule"));
    bool is_error = str_is(json_str(json_get(finding, "severity")), "error");
    bool is_unchecked = str_is(rule, "deep-nesting") || str_is(rule, "unchecked");
    return is_unchecked || (is_error && !str_is(rule, "syntax"));
}

/* Whether the policy lets it run: code without errors, where that is required. */
static bool python_passes(const struct action_call *c, struct str code, struct err *e)
{
    if (c->place->permit.policy->lint != POLICY_LINT_REFUSE)
        return true;
    struct lint_findings found;
    lint_findings_init(&found);
    bool ok = python_check(c, code, &found, e);
    const struct json *list = ok ? json_read(buf_view(&found.json), c->arena, e) : NULL;
    struct json_iter it = json_iter(list);
    ok = list != NULL;
    while (ok && json_next(&it))
        if (is_refused(it.value))
            ok = err_set(e, ERR_DENIED,
                         "the policy runs code without errors only; line %lld: %.*s; "
                         "nothing was run",
                         (long long)json_int(json_get(it.value, "line"), 0),
                         STR_ARGS(json_str(json_get(it.value, "message"))));
    lint_findings_done(&found);
    return ok;
}

bool python_run(const struct action_call *c, struct script *script,
                struct script_request *q, struct script_outcome *o, struct err *e)
{
    return python_passes(c, q->code, e) && script_run(script, q, o, e);
}
