/* Prompts: ours, somebody else's, and the check of their arguments. */
#include "workspaces/own_prompts.h"

static size_t prompt_count(const struct workspaces *w)
{
    return OWN_PROMPTS + w->extra.prompt_count;
}

const struct prompt_extra *prompt_extra_at(const struct workspaces *w, size_t i)
{
    return i < OWN_PROMPTS ? NULL : &w->extra.prompts[i - OWN_PROMPTS];
}

const struct prompt_shown *prompt_at(const struct workspaces *w, size_t i)
{
    return i < OWN_PROMPTS ? own_prompt(i) : &prompt_extra_at(w, i)->shown;
}

size_t prompt_find(const struct workspaces *w, struct str name)
{
    for (size_t i = 0; i < prompt_count(w); i++)
        if (str_is(name, prompt_at(w, i)->name))
            return i;
    return SIZE_MAX;
}

bool prompts_check(const struct workspaces *w, struct err *e)
{
    for (size_t i = 0; i < prompt_count(w); i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(prompt_at(w, i)->name, prompt_at(w, k)->name))
                return err_set(e, ERR_CONFLICT, "there are two prompts \"%.100s\"",
                               prompt_at(w, i)->name);
    return true;
}

/* ---- listing -------------------------------------------------------------- */

static void put_argument(const struct prompt_argument *a, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", a->name);
    if (a->title)
        json_pair_cstr(w, "title", a->title);
    if (a->description)
        json_pair_cstr(w, "description", a->description);
    json_pair_bool(w, "required", a->required);
    json_close(w);
}

static void put_prompt(const struct prompt_shown *p, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", p->name);
    if (p->title)
        json_pair_cstr(w, "title", p->title);
    if (p->description)
        json_pair_cstr(w, "description", p->description);
    if (p->argument_count) {
        json_key(w, "arguments");
        json_open_array(w);
        for (size_t i = 0; i < p->argument_count; i++)
            put_argument(&p->arguments[i], w);
        json_close(w);
    }
    json_close(w);
}

bool prompts_list_rows(struct workspaces *w, struct str after, struct buf *rows,
                       struct buf *next, struct err *e)
{
    size_t i = 0, count = 0;
    if (after.n) {
        while (i < prompt_count(w) && !str_is(after, prompt_at(w, i)->name))
            i++;
        if (i++ == prompt_count(w))
            return err_set(e, ERR_INVALID, "unknown cursor");
    }
    struct json_writer out = json_writer(rows);
    json_open_array(&out);
    for (; i < prompt_count(w) && count < WORKSPACES_PAGE; i++, count++)
        put_prompt(prompt_at(w, i), &out);
    json_close(&out);
    if (i < prompt_count(w))
        buf_cstr(next, prompt_at(w, i - 1)->name);
    return buf_check(rows, "the list", e);
}

/* ---- getting --------------------------------------------------------------- */

static bool unknown_argument(const struct prompt_shown *p, struct str name, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_NAME);
    for (size_t i = 0; i < p->argument_count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", p->arguments[i].name);
    return err_set(e, ERR_INVALID,
                   "the prompt %s knows no argument \"%.*s\"; it takes %s", p->name,
                   STR_ARGS(str_cut(name, 60)), names.n ? buf_cz(&names) : "none");
}

static bool check_known(const struct prompt_shown *p, const struct json *arguments,
                        struct err *e)
{
    struct json_iter it = json_iter(arguments);
    while (json_next(&it)) {
        size_t i = 0;
        while (i < p->argument_count && !str_is(it.key, p->arguments[i].name))
            i++;
        if (i == p->argument_count)
            return unknown_argument(p, it.key, e);
        if (!json_is(it.value, JSON_STRING))
            return err_set(e, ERR_INVALID,
                           "the argument %s of the prompt %s must be a "
                           "string, not %s",
                           p->arguments[i].name, p->name,
                           json_type_name(json_type(it.value)));
    }
    return true;
}

static bool check_arguments(const struct prompt_shown *p, const struct json *arguments,
                            struct err *e)
{
    if (arguments && !json_is(arguments, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "the arguments of a prompt are an object of strings, not %s",
                       json_type_name(json_type(arguments)));
    for (size_t i = 0; i < p->argument_count; i++) {
        const struct prompt_argument *a = &p->arguments[i];
        if (a->required && !json_get(arguments, a->name))
            return err_set(e, ERR_INVALID, "the prompt %s needs the argument %s%s%s",
                           p->name, a->name, a->description ? ": " : "",
                           a->description ? a->description : "");
    }
    return check_known(p, arguments, e);
}

static bool no_such_prompt(const struct workspaces *w, struct str name, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_NAME);
    for (size_t i = 0; i < prompt_count(w) && !names.failed; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", prompt_at(w, i)->name);
    return err_set(e, ERR_NOT_FOUND, "there is no prompt '%.*s'; there %s%s",
                   STR_ARGS(str_cut(name, 80)), names.n ? "are: " : "is none",
                   buf_cz(&names));
}

bool workspaces_prompt(struct workspaces *w, const struct caller *who, struct str name,
                       const struct json *arguments, struct str *description,
                       struct buf *messages, struct err *e)
{
    size_t i = prompt_find(w, name);
    if (i == SIZE_MAX)
        return no_such_prompt(w, name, e);
    const struct prompt_extra *extra = prompt_extra_at(w, i);
    *description = str_of(prompt_at(w, i)->description);
    return check_arguments(prompt_at(w, i), arguments, e) &&
           (extra ? extra->get(extra->arg, arguments, who, messages, e)
                  : own_prompt_get(w, i, arguments, who, messages, e)) &&
           buf_check(messages, "the prompt", e);
}
