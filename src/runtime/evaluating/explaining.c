/* The linter's explanation of a failure: the await, name or property that was meant
 * (guest/lint/explain.js). Only after a failure: it costs a parse. */
#include "evaluating/explaining.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "evaluating/language.h"

#define QUESTION_MAX ((size_t)16 << 20)
#define EXPLAINED_CODE_MAX ((size_t)128 << 10) /* longer code is not explained */

/* ---- names of the call ---------------------------------------------------- */

const struct json *known_names(const struct action_call *c)
{
    return c->row && c->row->variables ? c->row->variables(c)
                                       : json_get(c->arguments, "context");
}

static void put_families(const struct action_call *c, const struct str *code,
                         struct json_writer *w)
{
    size_t count;
    const struct host_call_group *const *groups = host_call_groups(&count);
    for (size_t i = 0; i < count; i++) {
        struct str space = api_namespace(groups[i]->rows);
        if (groups[i]->put_names &&
            (!code || memmem(code->at, code->n, space.at, space.n)))
            groups[i]->put_names(c, w);
    }
}

void put_own_names(const struct action_call *c, const struct str *code, bool unsure,
                   struct buf *out)
{
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(known_names(c));
    json_open_object(&w);
    json_key(&w, "names");
    json_open_array(&w);
    while (json_next(&it))
        json_put_str(&w, it.key);
    json_close(&w);
    put_families(c, code, &w);
    json_pair_bool(&w, "open", json_get(c->arguments, "session") != NULL);
    json_pair_bool(&w, "unsure", unsure);
    json_close(&w);
    if (out->failed) {
        size_t most = out->ceiling;
        buf_done(out);
        buf_init(out, most);
    }
}

/* ---- explanation ------------------------------------------------------------- */

static bool is_worth_explaining(const struct script_outcome *o, struct str code)
{
    bool limit = o->type == ERR_TIMEOUT || o->type == ERR_MEMORY ||
                 o->type == ERR_STACK || o->type == ERR_FUEL || o->type == ERR_OUTPUT ||
                 o->type == ERR_CANCELLED || o->type == ERR_HOST_CALLS;
    return !o->success && !limit && code.n && code.n <= EXPLAINED_CODE_MAX;
}

static void write_question(const struct action_call *c, const struct script_outcome *o,
                           struct str code, struct buf *out)
{
    scoped_buf struct buf own;
    buf_init(&own, OWN_NAMES_MAX);
    bool within = o->within.line != 0;
    put_own_names(c, NULL, false, &own);
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_str(&w, "code", code);
    json_pair_int(&w, "line", within ? o->within.line : o->line);
    json_pair_int(&w, "column", within ? o->within.column : o->column);
    json_pair_str(&w, "message", buf_view(&o->message));
    if (own.n)
        json_pair_raw(&w, "own", buf_view(&own));
    json_pair_bool(&w, "typescript", language_is_typescript(c));
    json_close(&w);
}

static void explained_copy(char *to, size_t size, struct str s)
{
    s = str_cut(s, size - 1);
    if (s.n)
        memcpy(to, s.at, s.n);
    to[s.n] = '\0';
}

static void explain(const struct action_call *c, struct evaluation *v,
                    const struct script_outcome *o, struct str code)
{
    struct err none = {0};
    struct lint *lint = services_lint(c->actions->services, &none);
    scoped_buf struct buf question;
    scoped_buf struct buf text;
    buf_init(&question, QUESTION_MAX);
    buf_init(&text, BUF_TEXT);
    write_question(c, o, code, &question);
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    if (!lint || question.failed ||
        !lint_explain(lint, buf_view(&question), c->who->cancel, &text, &none))
        return;
    const struct json *answer = json_read(buf_view(&text), arena, &none);
    const struct json *note = json_get(answer, "note");
    v->explained.known = answer != NULL;
    buf_str(&v->explained.suggestion, json_str(json_get(answer, "suggestion")));
    v->explained.null_note = note != NULL;
    explained_copy(v->explained.note, sizeof v->explained.note, json_str(note));
}

void check_explains(const struct action_call *c, struct evaluation *v,
                    const struct script_request *q, const struct script_outcome *o)
{
    struct str code = !o->within.line ? q->code
                      : q->source     ? q->source(q->perform_arg, str_of(o->within.file))
                                      : (struct str){0};
    if (is_worth_explaining(o, code))
        explain(c, v, o, code);
}

void check_explains_syntax(const struct action_call *c, struct evaluation *v,
                           const struct script_outcome *o)
{
    struct str code = json_str(json_get(c->arguments, "code"));
    if (is_worth_explaining(o, code))
        explain(c, v, o, code);
}
