/* Code looked through before it runs: the action check_code, and the warnings that an
 * evaluation's answer carries. */
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

/* Can every key be told from the signature? Not where a type stands for any, or where
 * there is a choice of objects. */
static bool has_known_options(const struct host_call *c)
{
    static const char *const vague[] = {"[key: string]", ": any", "} | {", "} & {"};
    for (size_t i = 0; i < LENGTH(vague); i++)
        if (strstr(c->signature, vague[i]))
            return false;
    return c->call && !c->row.wrap;
}

/* What it answers, of the usual overload. */
static struct str returns_of(const struct host_call *c)
{
    struct str rest = str_of(c->signature), line = {0};
    return api_next_line(&rest, &line) ? api_signature_read(line).returns : line;
}

/* Words for what it does, and names that code of other places has for it: "getNote". */
static void put_words(const struct host_call *c, struct json_writer *w)
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

/* A name of the table, or one that comes with it. */
static void put_name(const char *name, const char *ending, bool sync,
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
        put_words(c, w);
    }
    json_close(w);
}

/* Another name of its namespace, called as it is. */
static void put_member(const struct host_call *c, const char *member, bool sync,
                       struct json_writer *w)
{
    char whole[80];
    struct str space = api_namespace(c);
    (void)snprintf(whole, sizeof whole, "%.*s.%s", STR_ARGS(space), member);
    put_name(whole, "", sync, c, w);
}

static void put_types(struct json_writer *w)
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
        /* What is done inside, or answers at once, is no promise. */
        put_name(row->name, "",
                 (row->sync && !row->slow && !group->interface) || row->source, calls[i],
                 &w);
        if (first && group->family)
            put_member(calls[i], "*", row->sync, &w);
        if (group->interface)
            put_name(row->name, "Sync", true, calls[i], &w);
        for (const char *const *m = group->members; first && m && *m; m++)
            put_member(calls[i], *m, true, &w);
    }
    put_types(&w);
    json_close(&w);
}

/* ---- around an evaluation ----------------------------------------------- */

/* Code of these sizes is looked at for warnings: a line that calls nothing says itself what
 * it does, and what is long would keep its answer waiting. */
#define WARN_MIN 40u
#define WARN_WAIT_MS 2000u /* for a linter that is being loaded */
#define WARN_MAX ((size_t)16 << 10)

/* The variables that a call's context brings are there. */
static bool is_in_context(const struct json *finding, const struct json *context)
{
    struct str text = json_str(json_get(finding, "message"));
    const char *end = text.n ? memchr(text.at + 1, '\'', text.n - 1) : NULL;
    return context && end &&
           str_is(json_str(json_get(finding, "rule")), "absent-global") &&
           json_get_str(context, (struct str){text.at + 1, (size_t)(end - text.at - 1)});
}

/* Errors and warnings; of syntax the evaluation itself tells. */
static bool is_worth_telling(const struct json *finding, const struct json *context)
{
    return !str_is(json_str(json_get(finding, "severity")), "hint") &&
           !str_is(json_str(json_get(finding, "rule")), "syntax") &&
           !is_in_context(finding, context);
}

/* Findings in q->code, those that are worth telling; NULL: none, or *e. */
static const struct json *find(const struct action_call *c,
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

/* Where the agent's own text has it; line 0: it has not. */
static struct check_place place_of(const struct json *finding, const char *line,
                                   const char *column, const struct script_origin *from)
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
    const struct json *list = lint ? find(c, q, lint, e) : NULL;
    const struct json *names = known_names(c);
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        if (!is_worth_telling(it.value, names) ||
            !str_is(json_str(json_get(it.value, "severity")), "error"))
            continue;
        struct check_place at = place_of(it.value, "line", "column", from);
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
    struct check_place at = place_of(finding, "line", "column", from);
    struct check_place end = place_of(finding, "endLine", "endColumn", from);
    if (!at.line)
        return; /* in text that esbuild has put there */
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

/* Is it a call of the table that the word before does not await? What is the result itself,
 * `answered`, is awaited without a word. */
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

/* Could it be code whose author forgot an await? For who would have to load the linter to
 * be told for certain. */
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

/* Could a promise stand where its value was meant? Such a one is told as {}, and counts as
 * true. */
static bool may_hold_promise(struct str code, struct str result)
{
    return holds(code, STR("(async")) || holds(result, STR("{}")) ||
           holds(result, STR("[object Promise]"));
}

/* NULL: this run is not looked into. */
static struct lint *lint_for(const struct action_call *c, const struct script_request *q,
                             const struct script_outcome *o)
{
    struct err none = {0};
    bool answered = o->success && !str_is(buf_view(&o->result), "null");
    bool small = q->code.n < WARN_MIN && !o->stats.host_calls &&
                 !str_is(buf_view(&o->result), "null");
    if (c->place->permit.policy->lint == POLICY_LINT_OFF || q->code.n > WARN_MAX || small)
        return NULL;
    if (atomic_load(&c->actions->serves)) /* a server: it is being loaded */
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

/* Does the failure tell of it already? `explained`: what would help against that. */
static bool is_told(const struct json *finding, const struct script_outcome *o,
                    struct str explained)
{
    if (o->success || o->within.line)
        return false;
    bool here = json_int(json_get(finding, "line"), 0) == o->line;
    if (!explained.n)
        return here && str_is(json_str(json_get(finding, "rule")), "unknown-option") &&
               holds(buf_view(&o->message), STR("knows no field"));
    return here || holds(explained, json_str(json_get(finding, "suggestion"))) ||
           holds(explained, quoted(json_str(json_get(finding, "message"))));
}

void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_outcome *o, const struct script_origin *from,
                 struct str explained, struct buf *out)
{
    struct err none = {0};
    struct lint *lint = lint_for(c, q, o);
    if (!lint)
        return;
    struct json_writer w = json_writer(out);
    const struct json *names = known_names(c);
    struct json_iter it = json_iter(find(c, q, lint, &none));
    json_open_array(&w);
    while (json_next(&it))
        if (is_worth_telling(it.value, names) && !is_told(it.value, o, explained))
            put_warning(it.value, from, &w);
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

/* The same findings where they stand in the TypeScript. */
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

/* What cannot be read at all is one finding. */
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

/* What its call's context would bring nobody knows, unless it is given. */
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
    struct lint *lint = services_lint(c->actions->services, e);
    struct str code = json_str(json_get(c->arguments, "code"));
    struct lint_findings found;
    lint_findings_init(&found);
    bool ok =
        lint && (language_is_typescript(c) ? check_typescript(c, lint, code, &found, e)
                                           : check_plain(c, lint, code, &found, e));
    if (ok) {
        struct json_writer w = json_writer(&out->json);
        json_open_object(&w);
        uint32_t wrong;
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
