/* Steps that the routes share: asking host calls, reading parameters, writing headers. */
#include <stdio.h>

#include "actions/actions.h"
#include "performing/performing.h"
#include "routes/internal.h"
#include "uri/uri.h"

const struct json *route_ask(struct route_call *c, const char *name, struct str args,
                             struct err *e)
{
    scoped_buf struct buf call, answer;
    buf_init(&call, args.n + 3);
    buf_init(&answer, ROUTE_ANSWER);
    buf_printf(&call, "[%.*s]", STR_ARGS(args));
    if (!buf_check(&call, "a call", e) ||
        !work_call(c->work, name, buf_view(&call), &answer, e))
        return NULL;
    return json_read(buf_view(&answer), c->arena, e);
}

bool route_action(struct route_call *c, const char *name, const struct json *arguments,
                  struct str workspace, enum err_code *outcome, struct err *e)
{
    unsigned vault = 0;
    struct caller who = *c->who;
    if (workspace.n && !(vault = work_vault_number(c->actions, c->who, workspace, e)))
        return false;
    if (vault)
        who.vault = &vault; /* a switch holds for this call alone */
    const struct action *which = action_named(c->actions, str_of(name));
    if (!which)
        return err_set(e, ERR_NOT_FOUND, "this server has no %s", name);
    struct answer answer = {.json = c->out->body};
    buf_init(&answer.content, ROUTE_ANSWER);
    bool ok = actions_call(c->actions, which, arguments, &who, &answer, e);
    c->out->body = answer.json;
    buf_done(&answer.content);
    if (outcome)
        *outcome = answer.outcome;
    return ok;
}

struct str route_text(const struct route_call *c, const char *name)
{
    const struct str *p = locator_parameter(c->locator, name);
    return p ? *p : STR("");
}

void route_put_texts(const struct route_call *c, const char *name, struct json_writer *w)
{
    struct str rest = route_text(c, name);
    if (!rest.n)
        return;
    json_key(w, name);
    json_open_array(w);
    while (rest.n) {
        struct str one = str_trim(locator_next(&rest, ','));
        if (one.n)
            json_put_str(w, one);
    }
    json_close(w);
}

bool route_number(const struct route_call *c, const char *name, int64_t fallback,
                  int64_t min, int64_t max, int64_t *out, struct err *e)
{
    struct str text = route_text(c, name);
    *out = fallback;
    if (!locator_parameter(c->locator, name))
        return true;
    bool digits = text.n > 0 && text.n < 16;
    int64_t n = 0;
    for (size_t i = 0; i < text.n && digits; i++) {
        digits = char_is_digit(text.at[i]);
        n = n * 10 + (text.at[i] - '0');
    }
    *out = n;
    return (digits && n >= min && n <= max) ||
           err_set(e, ERR_INVALID,
                   "the parameter %s is \"%.*s\"; it is a whole number from %lld to %lld",
                   name, STR_ARGS(str_cut(text, 40)), (long long)min, (long long)max);
}

bool route_header(struct route_call *c, const char *name, struct str value, struct err *e)
{
    struct route_answer *out = c->out;
    must(out->field_count < ROUTE_FIELDS);
    if (value.n >= ROUTE_FIELD_SIZE)
        return err_set(e, ERR_LIMIT,
                       "the header %s would have %zu bytes, and can have %u", name,
                       value.n, ROUTE_FIELD_SIZE - 1);
    struct route_field *f = &out->fields[out->field_count++];
    f->name = name;
    memcpy(f->value, value.at, value.n);
    f->value[value.n] = '\0';
    return true;
}

bool route_etag(struct route_call *c, struct str hash, struct err *e)
{
    char tag[128];
    (void)snprintf(tag, sizeof tag, "\"%.*s\"", STR_ARGS(hash));
    return route_header(c, "ETag", str_of(tag), e);
}

bool route_next_tag(struct str *list, struct str *tag, bool *weak)
{
    while (list->n && (list->at[0] == ' ' || list->at[0] == ',' || list->at[0] == '\t'))
        list->at++, list->n--;
    *weak = str_starts(*list, "W/");
    if (*weak)
        list->at += 2, list->n -= 2;
    if (!list->n)
        return false;
    char end = ',';
    if (list->at[0] == '"') {
        end = '"';
        list->at++, list->n--;
    }
    const char *stop = memchr(list->at, end, list->n);
    *tag = (struct str){list->at, stop ? (size_t)(stop - list->at) : list->n};
    size_t used = tag->n + (stop != NULL);
    list->at += used, list->n -= used;
    if (end == ',')
        *tag = str_trim(*tag);
    return true;
}

bool route_names_tag(struct str list, struct str hash, bool weak_too)
{
    struct str tag;
    bool weak;
    if (str_is(str_trim(list), "*"))
        return true;
    while (route_next_tag(&list, &tag, &weak))
        if ((!weak || weak_too) && str_eq(tag, hash))
            return true;
    return false;
}

bool route_next(struct route_call *c, struct str cursor, struct err *e)
{
    scoped_buf struct buf link = buf_of(BUF_PAGE);
    buf_char(&link, '<');
    for (size_t i = 0; i < c->locator->count; i++) {
        buf_char(&link, '/');
        uri_escape(c->locator->segments[i], &link);
    }
    buf_char(&link, '?');
    for (size_t i = 0; i < c->locator->parameter_count; i++) {
        const struct locator_parameter *p = &c->locator->parameters[i];
        if (str_is(p->name, "cursor"))
            continue;
        uri_escape(p->name, &link);
        buf_char(&link, '=');
        uri_escape(p->value, &link);
        buf_char(&link, '&');
    }
    buf_cstr(&link, "cursor=");
    uri_escape(cursor, &link);
    buf_cstr(&link, ">; rel=\"next\"");
    return buf_check(&link, "the address of the next page", e) &&
           route_header(c, "Link", buf_view(&link), e);
}

struct json_writer route_writer(struct route_call *c)
{
    return json_writer(&c->out->body);
}
