/* Code looked through before it runs: the action check_code, and the warnings that an
 * evaluation's answer carries. */
#include "actions/api.h"
#include "actions/report.h"
#include "lint/lint.h"
#include "json/json.h"

#define API_TEXT_MAX ((size_t)1 << 20)

/* ---- what the linter knows of the table --------------------------------- */

/* The options of the usual overload: the members of its parameter that is an object. */
static void put_options(const struct host_call *c, struct json_writer *w)
{
    struct str rest = str_of(c->signature), line;
    struct api_field field, option;
    json_open_array(w);
    while (api_next_line(&rest, &line)) {
        struct str parameters = api_signature_read(line).parameters;
        while (api_next_field(&parameters, &field)) {
            struct str members = api_members(field.type);
            while (api_next_field(&members, &option))
                if (option.name.n && option.name.at[0] != '[')
                    json_put_str(w, option.name);
        }
    }
    json_close(w);
}

/* Can every key be told from the signature? Not where one type stands for any. */
static bool has_known_options(const struct host_call *c)
{
    return c->call && !strstr(c->signature, "[key: string]") &&
           !strstr(c->signature, ": any") && c->row.wrap == NULL;
}

static void write_api(struct buf *out)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    struct json_writer w = json_writer(out);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        const struct script_row *row = &calls[i]->row;
        json_open_object(&w);
        json_pair_cstr(&w, "name", row->name);
        /* What is done inside, or answers at once, is no promise. */
        json_pair_bool(&w, "sync", (row->sync && !row->slow) || row->source);
        json_pair_bool(&w, "writes", row->writes);
        json_pair_bool(&w, "reads", !row->writes && !row->feature);
        json_pair_int(&w, "feature", row->feature);
        if (has_known_options(calls[i])) {
            json_key(&w, "options");
            put_options(calls[i], &w);
        }
        json_close(&w);
    }
    json_close(&w);
}

struct lint *make_lint(struct engine *g, const char *guest_dir, struct err *e)
{
    scoped_buf struct buf api;
    buf_init(&api, API_TEXT_MAX);
    write_api(&api);
    return buf_check(&api, "the linter's table", e)
               ? lint_open(g, guest_dir, buf_view(&api), e)
               : NULL;
}

/* ---- the action --------------------------------------------------------- */

static uint32_t features_of(const struct json *arguments)
{
    uint32_t features = 0;
    if (json_bool(json_get(arguments, "enableNetwork"), false))
        features |= FEATURE_NETWORK;
    return features;
}

bool action_check_code(const struct action_call *c, struct answer *out, struct err *e)
{
    struct lint *lint = actions_lint(c->actions, e);
    struct str code = json_str(json_get(c->arguments, "code"));
    struct lint_findings found;
    lint_findings_init(&found);
    bool ok = lint && lint_check(lint, code, features_of(c->arguments), c->who->cancel,
                                 &found, e);
    if (ok) {
        struct json_writer w = json_writer(&out->json);
        json_open_object(&w);
        json_pair_bool(&w, "ok", found.errors == 0);
        json_pair_raw(&w, "findings", buf_view(&found.json));
        json_pair_int(&w, "errors", found.errors);
        json_pair_int(&w, "warnings", found.warnings);
        json_pair_int(&w, "hints", found.hints);
        json_close(&w);
    }
    lint_findings_done(&found);
    return ok && buf_check(&out->json, "the answer", e);
}
