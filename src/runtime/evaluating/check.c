/* The linter before a run: the action check_code, and the warnings in an answer. */
#include <ctype.h>
#include <stdio.h>

#include "api/api.h"
#include "evaluating/checking.h"
#include "evaluating/evaluating.h"
#include "evaluating/explaining.h"
#include "evaluating/internal.h"
#include "evaluating/language.h"
#include "typescript/typescript.h"

struct check_place {
    uint32_t line, column; /* from 1 */
};

/* ---- the table for the linter ------------------------------------------- */

/* The options of the usual overload: the members of its object parameter. */
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

/* Whether the signature lists every key: not with an index type or a choice of
 * objects. */
static bool has_known_options(const struct host_call *c)
{
    static const char *const vague[] = {"[key: string]", ": any", "} | {", "} & {"};
    for (size_t i = 0; i < LENGTH(vague); i++)
        if (strstr(c->signature, vague[i]))
            return false;
    return c->call && !c->row.wrap;
}

/* The result type of the usual overload. */
static struct str returns_of(const struct host_call *c)
{
    struct str rest = str_of(c->signature), line = {0};
    return api_next_line(&rest, &line) ? api_signature_read(line).returns : line;
}

/* Synonyms, and names that other APIs have for it: "getNote". */
static void call_put_words(const struct host_call *c, struct json_writer *w)
{
    const char *at = c->words ? c->words : "";
    json_open_array(w);
    while (*at) {
        size_t n = strcspn(at, " ");
        json_put_str(w, (struct str){at, n});
        at += n + strspn(at + n, " ");
    }
    json_close(w);
}

/* A name of the table, or a twin of it. */
static void linter_put_name(const char *name, const char *ending, bool sync,
                            const struct host_call *c, struct json_writer *w)
{
    char whole[80];
    (void)snprintf(whole, sizeof whole, "%s%s", name, ending);
    json_open_object(w);
    json_pair_cstr(w, "name", whole);
    json_pair_bool(w, "sync", sync);
    json_pair_bool(w, "writes", c->row.writes);
    json_pair_bool(w, "reads", c->reads);
    json_pair_int(w, "feature", c->row.feature);
    if (has_known_options(c)) {
        json_key(w, "options");
        put_options(c, w);
    }
    if (!*ending && c->signature) {
        json_pair_str(w, "returns", returns_of(c));
        json_key(w, "words");
        call_put_words(c, w);
    }
    json_close(w);
}

/* Another member of its namespace, called as the row is. */
static void put_member(const struct host_call *c, const char *member, bool sync,
                       struct json_writer *w)
{
    char whole[80];
    struct str space = api_namespace(c);
    (void)snprintf(whole, sizeof whole, "%.*s.%s", STR_ARGS(space), member);
    linter_put_name(whole, "", sync, c, w);
}

static void types_put(struct json_writer *w)
{
    size_t count;
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; i < count; i++) {
        json_open_object(w);
        json_pair_cstr(w, "type", types[i].name);
        json_pair_cstr(w, "definition", types[i].definition);
        json_close(w);
    }
}

void check_put_table(struct buf *out)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    struct json_writer w = json_writer(out);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        const struct script_row *row = &calls[i]->row;
        const struct host_call_group *group = host_call_group_of(calls[i]);
        bool first = calls[i] == group->rows;
        /* A call inside the guest, or one that returns at once, is no promise. */
        linter_put_name(row->name, "",
                        (row->sync && !row->slow && !group->interface) || row->source,
                        calls[i], &w);
        if (first && group->family)
            put_member(calls[i], "*", row->sync, &w);
        if (group->interface)
            linter_put_name(row->name, "Sync", true, calls[i], &w);
        for (const char *const *m = group->members; first && m && *m; m++)
            put_member(calls[i], *m, true, &w);
    }
    types_put(&w);
    json_close(&w);
}

/* ---- around an evaluation ----------------------------------------------- */

/* Sizes of code that is checked for warnings: a line without calls needs none, and long
 * code would delay its answer. */
#define WARN_MIN 40u
#define WARN_WAIT_MS 2000u /* for a linter that is loading */
#define WARN_MAX ((size_t)16 << 10)

/* Variables of the call's context exist. */
static bool is_in_context(const struct json *finding, const struct json *context)
{
    struct str text = json_str(json_get(finding, "message"));
    const char *end = text.n ? memchr(text.at + 1, '\'', text.n - 1) : NULL;
    return context && end &&
           str_is(json_str(json_get(finding, "rule")), "absent-global") &&
           json_get_str(context, (struct str){text.at + 1, (size_t)(end - text.at - 1)});
}

/* Errors and warnings; the evaluation itself reports syntax errors. */
static bool is_worth_reporting(const struct json *finding, const struct json *context)
{
    return !str_is(json_str(json_get(finding, "severity")), "hint") &&
           !str_is(json_str(json_get(finding, "rule")), "syntax") &&
           !is_in_context(finding, context);
}

/* The findings in q->code that are worth reporting; NULL: none, or *e. */
static const struct json *findings_of(const struct action_call *c,
                                      const struct script_request *q, struct lint *lint,
                                      struct err *e)
{
    struct lint_findings found;
    scoped_buf struct buf own;
    lint_findings_init(&found);
    buf_init(&own, OWN_NAMES_MAX);
    put_own_names(c, &q->code, false, &own);
    const struct json *list =
        lint_check(lint, q->code, buf_view(&own), q->features, c->who->cancel, &found, e)
            ? json_read(buf_view(&found.json), c->arena, e)
            : NULL;
    lint_findings_done(&found);
    return list;
}

/* The position in the agent's own text; line 0: none. */
static struct check_place finding_place(const struct json *finding, const char *line,
                                        const char *column,
                                        const struct script_origin *from)
{
    struct check_place p = {(uint32_t)json_int(json_get(finding, line), 0),
                            (uint32_t)json_int(json_get(finding, column), 0)};
    if (from)
        from->place(from->arg, &p.line, &p.column);
    return p;
}

bool check_passes(const struct action_call *c, const struct script_request *q,
                  const struct script_origin *from, struct err *e)
{
    if (c->place->permit.policy->lint != POLICY_LINT_REFUSE)
        return true;
    struct lint *lint = services_lint(c->actions->services, e);
    const struct json *list = lint ? findings_of(c, q, lint, e) : NULL;
    const struct json *names = known_names(c);
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        if (!is_worth_reporting(it.value, names) ||
            !str_is(json_str(json_get(it.value, "severity")), "error"))
            continue;
        struct check_place at = finding_place(it.value, "line", "column", from);
        return err_set(e, ERR_DENIED,
                       "the policy refuses code with errors (lint), and nothing was run; "
                       "line %u, column %u: %.*s; %.*s",
                       at.line, at.column,
                       STR_ARGS(json_str(json_get(it.value, "message"))),
                       STR_ARGS(json_str(json_get(it.value, "suggestion"))));
    }
    return list != NULL;
}

static void put_warning(const struct json *finding, const struct script_origin *from,
                        struct json_writer *w)
{
    struct check_place at = finding_place(finding, "line", "column", from);
    struct check_place end = finding_place(finding, "endLine", "endColumn", from);
    if (!at.line)
        return; /* in text that esbuild added */
    end = end.line ? end : at;
    json_open_object(w);
    json_pair(w, "rule", json_get(finding, "rule"));
    json_pair(w, "severity", json_get(finding, "severity"));
    json_pair(w, "message", json_get(finding, "message"));
    json_pair_int(w, "line", at.line);
    json_pair_int(w, "column", at.column);
    json_pair_int(w, "endLine", end.line);
    json_pair_int(w, "endColumn", end.column);
    if (json_get(finding, "suggestion"))
        json_pair(w, "suggestion", json_get(finding, "suggestion"));
    json_close(w);
}

static bool ends_with(struct str code, size_t end, const char *word)
{
    size_t n = strlen(word);
    return end >= n && !memcmp(code.at + end - n, word, n);
}

/* Whether a call of the table is not awaited by the word before it. The result itself,
 * `answered`, is awaited implicitly. */
static bool is_unawaited(struct str code, size_t at, struct str space, bool answered)
{
    size_t end = at;
    if (at + space.n >= code.n || code.at[at + space.n] != '.')
        return false;
    while (end > 0 && strchr(" \t\r\n(", code.at[end - 1]))
        end--;
    bool in_word = end == at && at > 0 &&
                   (isalnum((unsigned char)code.at[at - 1]) || code.at[at - 1] == '_');
    bool is_result = answered && (end == 0 || ends_with(code, end, "return"));
    return !in_word && !is_result && !ends_with(code, end, "await");
}

static bool has_unawaited(struct str code, struct str space, bool answered)
{
    const char *at = code.at, *end = code.at + code.n;
    while ((at = memmem(at, (size_t)(end - at), space.at, space.n))) {
        if (is_unawaited(code, (size_t)(at - code.at), space, answered))
            return true;
        at += space.n;
    }
    return false;
}

/* Whether the code may lack an await: only then the linter is loaded to make sure. */
static bool may_lack_await(struct str code, bool answered)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    for (size_t i = 0; i < count; i++)
        if ((host_call_group_of(calls[i])->family ||
             (!calls[i]->row.sync && !calls[i]->row.source)) &&
            has_unawaited(code, api_namespace(calls[i]), answered))
            return true;
    return false;
}

static bool holds(struct str all, struct str part)
{
    return part.n && memmem(all.at, all.n, part.at, part.n);
}

/* Whether a promise may stand in place of its value: {} in JSON, and truthy. */
static bool may_hold_promise(struct str code, struct str result)
{
    return holds(code, STR("(async")) || holds(result, STR("{}")) ||
           holds(result, STR("[object Promise]"));
}

/* NULL: this run is not checked. */
static struct lint *lint_for(const struct action_call *c, const struct script_request *q,
                             const struct script_outcome *o)
{
    struct err none = {0};
    bool answered = o->success && !str_is(buf_view(&o->result), "null");
    bool small = q->code.n < WARN_MIN && !o->stats.host_calls &&
                 !str_is(buf_view(&o->result), "null");
    if (c->place->permit.policy->lint == POLICY_LINT_OFF || q->code.n > WARN_MAX || small)
        return NULL;
    if (atomic_load(&c->actions->serves)) /* a server: it is loading */
        return services_lint_soon(c->actions->services, WARN_WAIT_MS);
    return o->stats.host_calls && (may_lack_await(q->code, answered) ||
                                   may_hold_promise(q->code, buf_view(&o->result)))
               ? services_lint(c->actions->services, &none)
               : NULL;
}

/* The first 'name' of a message, with its quotes. */
static struct str quoted(struct str message)
{
    const char *from = message.n ? memchr(message.at, '\'', message.n) : NULL;
    size_t left = from ? message.n - (size_t)(from - message.at) : 0;
    const char *to = left > 1 ? memchr(from + 1, '\'', left - 1) : NULL;
    return to ? (struct str){from, (size_t)(to - from) + 1} : (struct str){0};
}

/* Whether the failure's message or advice (`explained`) reports it already. */
static bool is_reported(const struct json *finding, const struct script_outcome *o,
                        struct str explained, const struct advice *a)
{
    if (o->success || o->within.line)
        return false;
    bool here = json_int(json_get(finding, "line"), 0) == o->line;
    if (!explained.n)
        return here && str_is(json_str(json_get(finding, "rule")), "unknown-option") &&
               a->option[0] && holds(buf_view(&o->message), str_of(a->message));
    return here || holds(explained, json_str(json_get(finding, "suggestion"))) ||
           holds(explained, quoted(json_str(json_get(finding, "message"))));
}

void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_outcome *o, const struct script_origin *from,
                 struct str explained, struct evaluation *v)
{
    struct err none = {0};
    struct lint *lint = lint_for(c, q, o);
    if (!lint)
        return;
    struct buf *out = &v->warnings;
    struct json_writer w = json_writer(out);
    const struct json *names = known_names(c);
    struct json_iter it = json_iter(findings_of(c, q, lint, &none));
    json_open_array(&w);
    while (json_next(&it)) {
        if (!is_worth_reporting(it.value, names) ||
            is_reported(it.value, o, explained, &v->advice))
            continue;
        size_t before = out->n;
        put_warning(it.value, from, &w);
        v->await_warned |= out->n > before &&
                           str_is(json_str(json_get(it.value, "rule")), "missing-await");
    }
    json_close(&w);
    if (out->n == strlen("[]"))
        buf_clear(out);
}

/* ---- the action --------------------------------------------------------- */

static void count_finding(const struct json *finding, struct lint_findings *to)
{
    struct str severity = json_str(json_get(finding, "severity"));
    to->errors += str_is(severity, "error");
    to->warnings += str_is(severity, "warning");
    to->hints += str_is(severity, "hint");
}

/* Maps the findings to the TypeScript. */
static bool turn_findings(const struct action_call *c, const struct script_origin *from,
                          struct lint_findings *found, struct err *e)
{
    const struct json *list = json_read(buf_view(&found->json), c->arena, e);
    struct lint_findings turned;
    lint_findings_init(&turned);
    struct json_writer w = json_writer(&turned.json);
    struct json_iter it = json_iter(list);
    json_open_array(&w);
    while (json_next(&it)) {
        size_t before = turned.json.n;
        put_warning(it.value, from, &w);
        if (turned.json.n > before)
            count_finding(it.value, &turned);
    }
    json_close(&w);
    lint_findings_done(found);
    *found = turned;
    return list != NULL;
}

/* A syntax error is the one finding. */
static void put_syntax(const struct typescript_place *where, const char *message,
                       struct lint_findings *found)
{
    struct json_writer w = json_writer(&found->json);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "rule", "syntax");
    json_pair_cstr(&w, "severity", "error");
    json_pair_cstr(&w, "message", message);
    json_pair_int(&w, "line", where->line ? where->line : 1);
    json_pair_int(&w, "column", where->line ? where->column : 1);
    json_pair_int(&w, "endLine", where->line ? where->line : 1);
    json_pair_int(&w, "endColumn", where->line ? where->column : 1);
    json_close(&w);
    json_close(&w);
    found->errors = 1;
}

/* The context is unknown unless the call has it. */
static bool check_plain(const struct action_call *c, struct lint *lint, struct str code,
                        struct lint_findings *found, struct err *e)
{
    scoped_buf struct buf own;
    buf_init(&own, OWN_NAMES_MAX);
    put_own_names(c, &code, !known_names(c), &own);
    return lint_check(lint, code, buf_view(&own), features_asked(c->arguments),
                      c->who->cancel, found, e);
}

static bool check_typescript(const struct action_call *c, struct lint *lint,
                             struct str source, struct lint_findings *found,
                             struct err *e)
{
    struct typescript_place where;
    scoped(typescript_drop) const struct typescript_code *code =
        language_translate(c, source, 0, &where, e);
    if (!code && e->code == ERR_SYNTAX) {
        put_syntax(&where, e->msg, found);
        *e = (struct err){0};
        return true;
    }
    struct script_origin from = language_origin(code, source);
    return code && check_plain(c, lint, typescript_javascript(code), found, e) &&
           turn_findings(c, &from, found, e);
}

bool action_check_code(const struct action_call *c, struct answer *out, struct err *e)
{
    bool python = language_is_python(c);
    struct lint *lint = python ? NULL : services_lint(c->actions->services, e);
    struct str code = json_str(json_get(c->arguments, "code"));
    struct lint_findings found;
    lint_findings_init(&found);
    bool ok = python ? python_check(c, code, &found, e)
                     : lint && (language_is_typescript(c)
                                    ? check_typescript(c, lint, code, &found, e)
                                    : check_plain(c, lint, code, &found, e));
    if (ok) {
        struct json_writer w = json_writer(&out->json);
        json_open_object(&w);
        uint32_t wrong = 0;
        checking_write(c, &found, &w, &wrong);
        json_pair_bool(&w, "ok", found.errors + wrong == 0);
        json_pair_raw(&w, "findings", buf_view(&found.json));
        json_pair_int(&w, "errors", found.errors);
        json_pair_int(&w, "warnings", found.warnings);
        json_pair_int(&w, "hints", found.hints);
        json_close(&w);
    }
    lint_findings_done(&found);
    return ok && buf_check(&out->json, "the answer", e);
}
