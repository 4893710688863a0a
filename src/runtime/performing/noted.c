/* Notes on host calls while code runs, for advice on a failure: few, since the code may
 * catch its failures and go on. */
#include <stdio.h>

#include "api/api.h"
#include "capability/capability.h"
#include "performing/internal.h"
#include "performing/performing.h"

static void text_copy(char *to, size_t size, struct str s)
{
    s = str_cut(s, size - 1);
    if (s.n)
        memcpy(to, s.at, s.n);
    to[s.n] = '\0';
}

static bool is_part(struct str small, struct str large)
{
    return small.n && memmem(large.at, large.n, small.at, small.n);
}

/* The string among these that the message quotes; empty: none. */
static struct str named_among(const struct json *values, struct str message)
{
    struct json_iter it = json_iter(values);
    while (json_next(&it))
        if (is_part(json_str(it.value), message))
            return json_str(it.value);
    return (struct str){0};
}

/* The note that a failure is about: the argument, or the option, also within an array,
 * that the message quotes. */
static struct str identifier_of(const struct json *args, struct str message)
{
    struct str found = named_among(args, message);
    struct json_iter values = json_iter(args);
    while (!found.n && json_next(&values)) {
        struct json_iter fields = json_iter(values.value);
        found = named_among(values.value, message);
        while (!found.n && json_next(&fields))
            found = named_among(fields.value, message);
    }
    return found;
}

/* The argument of notes.get. */
static struct str asked_for(const struct json *args)
{
    const struct json *first = json_at(args, 0);
    return json_str(json_is(first, JSON_OBJECT) ? json_get(first, "identifier") : first);
}

/* Whether any overload of the call takes this option. */
static bool takes_option(const struct host_call *c, struct str name)
{
    struct str option;
    struct api_options all = {.overloads = str_of(c->signature)};
    while (api_next_option(&all, &option))
        if (str_eq(option, name))
            return true;
    return false;
}

/* The first unknown option; empty: all are known. */
static struct str unknown_option(const struct host_call *c, const struct json *args)
{
    struct json_iter values = json_iter(args);
    while (json_next(&values)) {
        struct json_iter it = json_iter(values.value);
        while (json_is(values.value, JSON_OBJECT) && json_next(&it))
            if (!takes_option(c, it.key))
                return it.key;
    }
    return (struct str){0};
}

void advice_failed(const struct calling *x, const struct err *why)
{
    struct advice *a = &x->v->advice;
    pthread_mutex_lock(&x->v->lock);
    a->failed = x->c;
    a->why = why->cause;
    text_copy(a->message, sizeof a->message, str_of(why->msg));
    text_copy(a->identifier, sizeof a->identifier,
              identifier_of(x->args, str_of(why->msg)));
    text_copy(a->option, sizeof a->option,
              why->code == ERR_INVALID ? unknown_option(x->c, x->args)
                                       : (struct str){"", 0});
    pthread_mutex_unlock(&x->v->lock);
}

void advice_done(const struct calling *x)
{
    struct evaluation *v = x->v;
    struct advice *a = &v->advice;
    const struct outcome *did = &x->outcome;
    /* A command-line tool with write permission may have changed nothing; any other
     * writing call counts unless it was a dry run. */
    bool written =
        x->c->asks ? did->changed : x->c->row.writes && !did->dry && !did->held;
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->noted)
            capability_list[i]->noted(x);
    pthread_mutex_lock(&v->lock);
    if (did->failed && !a->command[0])
        (void)snprintf(a->command, sizeof a->command,
                       "%s: a command ended with exit code %d%s%s", x->c->row.name,
                       did->exit_code, did->said[0] ? ": " : "", did->said);
    a->writes[x->row] += written;
    a->written |= written;
    if (did->absent)
        text_copy(a->no_note, sizeof a->no_note, asked_for(x->args));
    pthread_mutex_unlock(&v->lock);
}
