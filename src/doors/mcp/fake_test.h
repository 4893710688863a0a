/* mcp/fake_test.h - a backend for this room's tests: four actions that do what their
 * names say, and a place to meet the one that waits. Only for *_test.c.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "mcp/core.h"
#include "mcp/mcp.h"

#define FAKE_SCHEMA "{\n  \"type\": \"object\",\n  \"properties\": {}\n}"

static const struct action fake_actions[] = {
    {"echo", "Echo", "Answers its arguments.", FAKE_SCHEMA, FAKE_SCHEMA, true, false,
     true, false},
    {"refuse", "Refuse", "Runs, and does not do it.", FAKE_SCHEMA, NULL, true, false,
     true, false},
    {"fail", "Fail", "Does not run.", FAKE_SCHEMA, NULL, true, false, true, false},
    {"wait", "Wait", "Waits until it is cancelled.", FAKE_SCHEMA, NULL, false, true,
     false, true},
    {"tell", "Tell", "Says progress and log messages.", FAKE_SCHEMA, NULL, true, false,
     true, false},
    {"ask", "Ask", "Asks its client for a name.", FAKE_SCHEMA, NULL, true, false, true,
     false},
};

static const struct front fake_front = {.who = "a test"};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned ran, cancelled, waiting, stopped;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void fake_count(unsigned *what)
{
    pthread_mutex_lock(&fake.lock);
    (*what)++;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

/* Waits until so many have arrived; a test whose event never comes hangs. */
static inline void fake_await(const unsigned *what, unsigned n)
{
    pthread_mutex_lock(&fake.lock);
    while (*what < n)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static inline void fake_stop(void *arg)
{
    pthread_mutex_lock(&fake.lock);
    *(bool *)arg = true;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

static inline bool fake_wait(struct cancel *cancel, struct err *e)
{
    bool stopped = false;
    struct cancel_stop stop;
    if (!cancel_on(cancel, &stop, fake_stop, &stopped))
        stopped = true;
    fake_count(&fake.waiting);
    pthread_mutex_lock(&fake.lock);
    while (!stopped)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    cancel_off(cancel, &stop);
    fake_count(&fake.stopped);
    return err_set(e, ERR_CANCELLED, "stopped by its caller");
}

#define FAKE_QUESTION                                                                 \
    "{\"message\":\"who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" \
    "\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}}"

static inline bool fake_ask(const struct caller *who, struct answer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct client_question q = {"who", "elicitation/create", STR(FAKE_QUESTION), false,
                                NULL};
    const struct json *answer;
    if (!client_ask(who->client, &q, 1, a, &answer, e))
        return false;
    struct json_writer w = json_writer(&out->json);
    json_put(&w, answer);
    return true;
}

static inline bool fake_call(void *arg, const struct action *which,
                             const struct json *arguments, const struct caller *who,
                             struct answer *out, struct err *e)
{
    (void)arg;
    if (cancel_fired(who->cancel)) {
        fake_count(&fake.cancelled);
        return err_set(e, ERR_CANCELLED, "cancelled before the call started");
    }
    fake_count(&fake.ran);
    struct json_writer w = json_writer(&out->json);
    switch (which - fake_actions) {
    case 0:
        if (arguments && !json_is(arguments, JSON_OBJECT))
            return err_set(e, ERR_INVALID, "arguments must be object");
        json_open_object(&w);
        json_pair(&w, "was", arguments);
        json_close(&w);
        return true;
    case 1:
        buf_cstr(&out->json, "{\"success\":\nfalse}");
        out->is_error = true;
        return true;
    case 2:
        return err_set(e, ERR_NOT_FOUND, "no note 'x'; known are: y");
    case 4:
        client_progress(who->client, 0, 2, STR("begun"));
        client_log(who->client, CLIENT_INFO, "fake", STR("\"hello\""));
        client_log(who->client, CLIENT_DEBUG, "fake", STR("{\"detail\":1}"));
        client_progress(who->client, 2, 2, STR(""));
        client_progress(who->client, 1, 2, STR("never less"));
        return buf_cstr(&out->json, "{}");
    case 5:
        return fake_ask(who, out, e);
    default:
        return fake_wait(who->cancel, e);
    }
}

static inline const struct action *fake_list(void *arg, size_t *n)
{
    (void)arg;
    *n = LENGTH(fake_actions);
    return fake_actions;
}

static inline const struct action *fake_named(void *arg, struct str name)
{
    (void)arg;
    for (size_t i = 0; i < LENGTH(fake_actions); i++)
        if (str_is(name, fake_actions[i].name))
            return &fake_actions[i];
    return NULL;
}

static inline struct mcp *fake_mcp(void)
{
    struct err e = {0};
    struct backend b = {.list = fake_list, .named = fake_named, .call = fake_call};
    struct mcp *m = mcp_open_on(&b, &e);
    if (!m)
        fail_msg("%s", e.msg);
    fake.ran = fake.waiting = fake.stopped = 0;
    return m;
}

/* ---- looking at an answer ----------------------------------------------- */

/* What lies at "result.content.0.text" beneath `v`; absent reads as NULL. */
static inline const struct json *fake_at(const struct json *v, const char *path)
{
    while (v && *path) {
        size_t n = strcspn(path, ".");
        struct str step = {path, n};
        v = json_is(v, JSON_ARRAY) ? json_at(v, (size_t)(*path - '0'))
                                   : json_get_str(v, step);
        path += n + (path[n] == '.');
    }
    return v;
}
