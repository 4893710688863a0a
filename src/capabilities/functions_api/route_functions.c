/* The routes of custom functions: each is one of the actions about them, whose arguments
 * are put together of path, query and body. */
#include <stdio.h>

#include "functions_api/function_routes.h"
#include "performing/performing.h"
#include "uri/uri.h"
#include "json/json.h"

#define FUNCTION_TEXT ((size_t)48 << 20) /* bytes of arguments, and of an answer */
#define TAG_MAX 160u

/* ---- asking ------------------------------------------------------------------------- */

/* The arguments of an action, while they are put together. */
struct asking {
    struct buf text;
    struct json_writer w;
    bool by_agent; /* the body says so */
};

static void asking_done(struct asking *q)
{
    buf_done(&q->text);
}
#define scoped_asking __attribute__((cleanup(asking_done)))

static void asking_begin(struct asking *q)
{
    buf_init(&q->text, FUNCTION_TEXT);
    q->w = json_writer(&q->text);
    json_open_object(&q->w);
}

/* The function that the path names. */
static void function_put_name(struct route_call *c, struct asking *q)
{
    json_pair_str(&q->w, "name", c->values[1]);
}

static void function_put_text(struct route_call *c, struct asking *q,
                              const char *parameter)
{
    struct str text = route_text(c, parameter);
    if (text.n)
        json_pair_str(&q->w, parameter, text);
}

static bool put_flag(struct route_call *c, struct asking *q, const char *parameter,
                     struct err *e)
{
    struct str text = route_text(c, parameter);
    if (text.n && !str_is(text, "true") && !str_is(text, "false"))
        return err_set(e, ERR_INVALID,
                       "the parameter %s is \"%.*s\"; true and false are accepted",
                       parameter, STR_ARGS(str_cut(text, 40)));
    if (text.n)
        json_pair_bool(&q->w, parameter, str_is(text, "true"));
    return true;
}

static bool put_from(struct route_call *c, struct asking *q, const char *parameter,
                     int64_t min, int64_t max, struct err *e)
{
    int64_t n;
    if (!route_text(c, parameter).n)
        return true;
    if (!route_number(c, parameter, min, min, max, &n, e))
        return false;
    json_pair_int(&q->w, parameter, n);
    return true;
}

static bool asking_put_number(struct route_call *c, struct asking *q,
                              const char *parameter, int64_t max, struct err *e)
{
    return put_from(c, q, parameter, 1, max, e);
}

/* Puts the body's members; where the path names the function, a name in it becomes `name_as`
 * (NULL: not at all). */
static void asking_put_body(struct route_call *c, struct asking *q, const char *name_as)
{
    struct json_iter it = json_iter(c->body);
    while (json_next(&it)) {
        bool other = c->values[1].n && str_is(it.key, "name");
        bool maker = str_is(it.key, "createdBy");
        if (maker)
            q->by_agent = str_is(json_str(it.value), "agent");
        if (maker || (other && !name_as))
            continue;
        json_key_str(&q->w, other ? str_of(name_as) : it.key);
        json_put(&q->w, it.value);
    }
}

/* Members that a problem document has in a form of its own. */
static bool function_is_told(struct str key)
{
    static const char *const told[] = {"success", "error",    "type", "title",
                                       "status",  "instance", "code", "retry"};
    bool found = false;
    for (size_t i = 0; i < LENGTH(told); i++)
        found = found || str_is(key, told[i]);
    return found;
}

/* Was it refused because the function has another version, and not for what it breaks? */
static bool is_of_version(const struct err *why, const struct json *said)
{
    return why->code == ERR_CONFLICT && !json_get(said, "breaking") &&
           !json_length(json_get(said, "warnings"));
}

/* Answers a refusal or failure by a problem document with all members of the answer:
 * errors, tests, the stack, logs and changes of a trial. */
static bool answer_refused(struct route_call *c, const struct json *said,
                           enum err_code kind, struct err *e)
{
    struct err why = {0};
    err_set(&why, kind ? kind : ERR_INVALID, "%.*s",
            STR_ARGS(json_str(json_get(said, "error"))));
    bool other = c->refusal && is_of_version(&why, said);
    int status = other ? c->refusal : err_kind(why.code)->http;
    routes_problem(c->out, status, &why, c->rq->target);
    c->out->body.n--; /* its last brace: more comes */
    scoped_buf struct buf text = buf_of(FUNCTION_TEXT);
    struct json_writer w = json_writer(&text);
    struct json_iter it = json_iter(said);
    while (json_next(&it)) {
        if (function_is_told(it.key))
            continue;
        buf_clear(&text);
        json_put(&w, it.value);
        w.comma = false;
        buf_printf(&c->out->body, ",\"%.*s\":", STR_ARGS(it.key));
        buf_str(&c->out->body, buf_view(&text));
    }
    buf_char(&c->out->body, '}');
    return buf_check(&c->out->body, "the answer", e);
}

/* The action's answer; NULL: it was refused, and that is answered, or *e. */
static const struct json *asking_send(struct route_call *c, struct asking *q,
                                      const char *action, struct err *e)
{
    unsigned vault = work_vault_number(c->actions, c->who, c->values[0], e);
    struct caller who = *c->who;
    who.vault = &vault;
    who.is_program = who.is_program && !q->by_agent;
    json_close(&q->w);
    const struct action *which = action_named(c->actions, str_of(action));
    const struct json *args = vault && buf_check(&q->text, "the request", e)
                                  ? json_read(buf_view(&q->text), c->arena, e)
                                  : NULL;
    if (!args || !which)
        return NULL;
    struct answer answer = {0};
    buf_init(&answer.json, FUNCTION_TEXT);
    buf_init(&answer.content, ROUTE_ANSWER);
    bool ok = actions_call(c->actions, which, args, &who, &answer, e);
    const struct json *said = ok ? json_read(buf_view(&answer.json), c->arena, e) : NULL;
    buf_done(&answer.content);
    buf_done(&answer.json);
    if (!said || !json_get(said, "errorDetails") ||
        json_bool(json_get(said, "success"), true))
        return said;
    (void)answer_refused(c, said, answer.outcome, e);
    return NULL;
}

/* false where *e is set: a refusal that was answered is an answer. */
static bool give(struct route_call *c, const struct json *value, struct err *e)
{
    if (!value)
        return e->code == ERR_NONE;
    struct json_writer w = route_writer(c);
    json_put(&w, value);
    return true;
}

static bool ask_and_give(struct route_call *c, struct asking *q, const char *action,
                         struct err *e)
{
    return give(c, asking_send(c, q, action, e), e);
}

/* ---- versions as entity tags ------------------------------------------------------------ */

/* "VERSION-ID": of another function that has its name by now it is another. */
static struct str function_tag(const struct json *function, char out[static TAG_MAX])
{
    (void)snprintf(
        out, TAG_MAX, "%lld-%.*s",
        (long long)json_int(json_get(json_get(function, "metadata"), "version"), 0),
        STR_ARGS(str_cut(json_str(json_get(function, "id")), 100)));
    return str_of(out);
}

static bool function_put_tag(struct route_call *c, const struct json *said, struct err *e)
{
    char tag[TAG_MAX];
    const struct json *function = json_get(said, "function");
    return !function || route_etag(c, function_tag(function, tag), e);
}

/* If-Match becomes the expected version. */
static bool asking_put_condition(struct route_call *c, struct asking *q, struct err *e)
{
    scoped_asking struct asking now = {0};
    char tag[TAG_MAX];
    struct str list = str_trim(c->rq->if_match);
    if (!list.n || str_is(list, "*"))
        return true;
    asking_begin(&now);
    function_put_name(c, &now);
    const struct json *said = asking_send(c, &now, "get_custom_function", e);
    if (!said)
        return false;
    const struct json *function = json_get(said, "function");
    c->refusal = 412;
    if (!route_names_tag(list, function_tag(function, tag), false))
        return err_set(e, ERR_CONFLICT,
                       "the function has another version than If-Match says: it is "
                       "\"%s\" now, and nothing was changed",
                       tag);
    json_pair_int(&q->w, "expectedVersion",
                  json_int(json_get(json_get(function, "metadata"), "version"), 0));
    return true;
}

/* Its answer describes one function. */
static bool ask_for_one(struct route_call *c, struct asking *q, const char *action,
                        struct err *e)
{
    const struct json *said = asking_send(c, q, action, e);
    return give(c, said, e) && (!said || function_put_tag(c, said, e));
}

/* ---- the routes ----------------------------------------------------------------------------- */

#define FUNCTIONS_AT_ONCE 1000

/* A page of them. */
static const struct json *ask_for_functions(struct route_call *c, int64_t limit,
                                            struct str cursor, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    function_put_text(c, &q, "query");
    route_put_texts(c, "tags", &q.w);
    function_put_text(c, &q, "createdBy");
    function_put_text(c, &q, "sort");
    function_put_text(c, &q, "order");
    function_put_text(c, &q, "usedSince");
    function_put_text(c, &q, "unusedSince");
    if (!put_from(c, &q, "minUsage", 0, INT64_MAX, e) ||
        !put_from(c, &q, "maxUsage", 0, INT64_MAX, e))
        return NULL;
    if (cursor.n)
        json_pair_str(&q.w, "cursor", cursor);
    json_pair_int(&q.w, "limit", limit);
    return asking_send(c, &q, "list_custom_functions", e);
}

/* A refusal is answered by asking_send(), in place of what is there. */
bool route_list_functions(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str next = route_text(c, "cursor");
    if (!route_number(c, "limit", 0, 1, FUNCTIONS_AT_ONCE, &limit, e))
        return false;
    struct json_writer w = route_writer(c);
    json_open_array(&w);
    do {
        const struct json *said =
            ask_for_functions(c, limit ? limit : FUNCTIONS_AT_ONCE, next, e);
        if (!said)
            return e->code == ERR_NONE;
        struct json_iter it = json_iter(json_get(said, "functions"));
        while (json_next(&it))
            json_put(&w, it.value);
        next = json_str(json_get(said, "nextCursor"));
    } while (next.n && !limit);
    json_close(&w);
    return !next.n || route_next(c, next, e);
}

static bool put_function_location(struct route_call *c, const struct json *said,
                                  struct err *e)
{
    scoped_buf struct buf path = buf_of(ROUTE_FIELD_SIZE);
    buf_cstr(&path, "/workspaces/");
    uri_escape(c->values[0], &path);
    buf_cstr(&path, "/functions/");
    uri_escape(json_str(json_get(json_get(said, "function"), "name")), &path);
    return buf_check(&path, "Location", e) &&
           route_header(c, "Location", buf_view(&path), e);
}

/* A function that was registered or changed gets its Location; one that was only checked, as
 * dryRun wants it, was not created. */
static bool ask_to_keep(struct route_call *c, struct asking *q, const char *action,
                        struct err *e)
{
    const struct json *said = asking_send(c, q, action, e);
    if (said && json_bool(json_get(said, "dryRun"), false))
        c->out->status = 200;
    else if (said && !put_function_location(c, said, e))
        return false;
    return give(c, said, e) && (!said || function_put_tag(c, said, e));
}

static bool put_numbers(struct route_call *c, struct asking *q, const char *const *names,
                        struct err *e)
{
    bool ok = true;
    for (; ok && *names; names++)
        ok = asking_put_number(c, q, *names, UINT32_MAX, e);
    return ok;
}

static bool put_flags(struct route_call *c, struct asking *q, const char *const *names,
                      struct err *e)
{
    bool ok = true;
    for (; ok && *names; names++)
        ok = put_flag(c, q, *names, e);
    return ok;
}

bool route_ask_function(struct route_call *c, struct err *e)
{
    const struct function_asked *how = c->route->arg;
    scoped_asking struct asking q;
    asking_begin(&q);
    if (how->named && c->values[1].n)
        function_put_name(c, &q);
    if (how->body)
        asking_put_body(c, &q, how->renames ? "newName" : NULL);
    if (how->list)
        route_put_texts(c, how->list, &q.w);
    if (!put_numbers(c, &q, how->numbers, e) || !put_flags(c, &q, how->flags, e) ||
        (how->condition && !asking_put_condition(c, &q, e)))
        return false;
    return how->keeps    ? ask_to_keep(c, &q, how->action, e)
           : how->tagged ? ask_for_one(c, &q, how->action, e)
                         : ask_and_give(c, &q, how->action, e);
}

/* The file itself. */
bool route_export_functions(struct route_call *c, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    route_put_texts(c, "names", &q.w);
    const struct json *said = asking_send(c, &q, "export_custom_functions", e);
    if (said)
        buf_str(&c->out->body, json_str(json_get(said, "text")));
    return e->code == ERR_NONE;
}

bool route_import_functions(struct route_call *c, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    json_pair_str(&q.w, "text", c->rq->body);
    function_put_text(c, &q, "conflict");
    route_put_texts(c, "names", &q.w);
    return put_flag(c, &q, "dryRun", e) &&
           ask_and_give(c, &q, "import_custom_functions", e);
}

bool route_list_backups(struct route_call *c, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    json_pair_bool(&q.w, "list", true);
    const struct json *said = asking_send(c, &q, "backup_custom_functions", e);
    return give(c, json_get(said, "backups"), e);
}

bool route_list_templates(struct route_call *c, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    const struct json *said = asking_send(c, &q, "custom_function_templates", e);
    return give(c, json_get(said, "templates"), e);
}

bool route_get_template(struct route_call *c, struct err *e)
{
    scoped_asking struct asking q;
    asking_begin(&q);
    json_pair_str(&q.w, "template", c->values[1]);
    function_put_text(c, &q, "name");
    return ask_and_give(c, &q, "custom_function_templates", e);
}
