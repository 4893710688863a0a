/* routes/fixture_test.h - requests over a vault of their own. Only for *_test.c. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "actions/actions.h"
#include "base/home_test.h"
#include "routes/routes.h"

static char home[HOME_SIZE], vault[80];
static struct actions *actions;
static const struct caller person = {.name = "test", .level = LEVEL_FULL};
static struct route_answer out;
static struct arena *arena;

static inline int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(home))
        return -1;
    (void)snprintf(vault, sizeof vault, "%s/work", home);
    if (mkdir(vault, 0700) != 0)
        return -1;
    const char *vaults[] = {vault, NULL}, *guest = getenv("CLOCHE_GUEST");
    actions = actions_open(
        &(struct actions_options){.vaults = vaults,
                                  .guest_dir = guest ? guest : "build/guest"},
        &e);
    if (actions)
        actions_on_request(actions, routes_by_code, actions);
    buf_init(&out.body, (size_t)16 << 20);
    arena = arena_new((size_t)64 << 20);
    return actions ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    buf_done(&out.body);
    arena_free(arena);
    actions_close(actions);
    return folder_remove(home);
}

/* ---- asking ------------------------------------------------------------------ */

static inline const struct json *ask_as(const struct caller *who, struct route_request rq,
                                        int status)
{
    struct err e = {0};
    buf_clear(&out.body);
    bool ok = routes_request(actions, &rq, who, &out);
    if (out.status != status)
        fail_msg("%.*s %.*s: %d and not %d: %s", STR_ARGS(rq.method), STR_ARGS(rq.target),
                 out.status, status, buf_cz(&out.body));
    assert_int_equal(ok, status < 400);
    return out.body.n && strcmp(out.type, "text/markdown; charset=utf-8") != 0
               ? json_read(buf_view(&out.body), arena, &e)
               : NULL;
}

/* ' stands for ". */
static inline struct str quoted(const char *body)
{
    struct err e = {0};
    char *copy = arena_copy(arena, body, strlen(body), &e);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return str_of(copy);
}

static inline const struct json *ask(const char *method, const char *target,
                                     const char *body, const char *if_match, int status)
{
    return ask_as(&person,
                  (struct route_request){.method = str_of(method),
                                         .target = str_of(target),
                                         .body = quoted(body ? body : ""),
                                         .if_match = str_of(if_match)},
                  status);
}

static inline const char *text(const struct json *o, const char *key)
{
    struct err e = {0};
    return str_cz(json_str(json_get(o, key)), arena, &e);
}

static inline const char *header(const char *name)
{
    for (unsigned i = 0; i < out.field_count; i++)
        if (!strcmp(out.fields[i].name, name))
            return out.fields[i].value;
    return NULL;
}

static inline const char *tag(void)
{
    struct err e = {0};
    return arena_printf(arena, &e, "%s", header("ETag"));
}
