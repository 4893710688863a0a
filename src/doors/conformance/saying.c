/* Tools that only answer: with content of each kind, log messages, progress, an error. */
#include <stdio.h>
#include <time.h>

#include "conformance/internal.h"
#include "json/json.h"

#define LINE_MAX 1024

bool fixture_say(struct answer *out, const char *fmt, ...)
{
    char line[LINE_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    struct json_writer w = json_writer(&out->content);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "text");
    json_pair_cstr(&w, "text", line);
    json_close(&w);
    json_close(&w);
    return true;
}

bool fixture_wait(const struct caller *who, unsigned ms, struct err *e)
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    for (unsigned waited = 0; waited < ms; waited += 10) {
        if (cancel_fired(who->cancel))
            return err_set(e, ERR_CANCELLED, "cancelled while it waited");
        (void)nanosleep(&step, NULL);
    }
    return true;
}

bool say_content(void *arg, const struct json *arguments, const struct caller *who,
                 struct answer *out, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    return buf_cstr(&out->content, arg);
}

bool say_failure(void *arg, const struct json *arguments, const struct caller *who,
                 struct answer *out, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    out->is_error = true;
    return fixture_say(out, "%s", (const char *)arg);
}

static void listeners_tell(const struct caller *who, const char *what)
{
    scoped_buf struct buf data = buf_of(LINE_MAX);
    struct json_writer w = json_writer(&data);
    json_put_cstr(&w, what);
    client_log(who->client, CLIENT_INFO, "conformance", buf_view(&data));
}

bool say_logs(void *arg, const struct json *arguments, const struct caller *who,
              struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    listeners_tell(who, "Tool execution started");
    if (!fixture_wait(who, 50, e))
        return false;
    listeners_tell(who, "Tool processing data");
    if (!fixture_wait(who, 50, e))
        return false;
    listeners_tell(who, "Tool execution completed");
    return fixture_say(out, "Three log messages were sent.");
}

bool say_every_level(void *arg, const struct json *arguments, const struct caller *who,
                     struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    (void)e;
    for (unsigned level = 0; level < CLIENT_LEVELS; level++) {
        char data[64];
        (void)snprintf(data, sizeof data, "{\"said_at\":\"%s\"}",
                       client_level_names[level]);
        client_log(who->client, (enum client_level)level, "conformance", str_of(data));
    }
    return fixture_say(out, "A message was logged at each level.");
}

bool say_progress(void *arg, const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    for (unsigned done = 0; done <= 100; done += 50) {
        client_progress(who->client, done, 100, STR("Working"));
        if (!fixture_wait(who, 50, e))
            return false;
    }
    return fixture_say(out, "Went from 0 to 100.");
}

/* Long enough for a client to come back for the answer. */
bool say_late(void *arg, const struct json *arguments, const struct caller *who,
              struct answer *out, struct err *e)
{
    (void)arg;
    int64_t ms = json_int(json_get(arguments, "milliseconds"), 1000);
    client_let_go(who->client);
    return fixture_wait(who, (unsigned)ms, e) &&
           fixture_say(out, "Answered after %u ms.", (unsigned)ms);
}

bool say_computed(void *arg, const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e)
{
    (void)arg;
    int64_t seconds = json_int(json_get(arguments, "seconds"), 1);
    struct err ignored = {0}; /* then its client waits */
    if (seconds > 0)
        (void)client_later(who->client, &ignored);
    return fixture_wait(who, (unsigned)seconds * 1000, e) &&
           fixture_say(out, "Computed for %u s.", (unsigned)seconds);
}

bool say_failure_late(void *arg, const struct json *arguments, const struct caller *who,
                      struct answer *out, struct err *e)
{
    return client_later(who->client, e) && fixture_wait(who, 1000, e) &&
           say_failure(arg, arguments, who, out, e);
}

/* As only a mistake of the server's own does. */
bool say_broken(void *arg, const struct json *arguments, const struct caller *who,
                struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    (void)out;
    struct err ignored = {0};
    (void)client_later(who->client, &ignored);
    return err_set(e, ERR_BUG, "this tool intentionally breaks for testing");
}

bool say_greeting(void *arg, const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e)
{
    (void)arg;
    (void)who;
    (void)e;
    return fixture_say(out, "Hello, %.*s!",
                       STR_ARGS(str_cut(json_str(json_get(arguments, "name")), 200)));
}

/* ---- changes ---------------------------------------------------------------- */

static bool say_changed(void *arg, enum workspaces_changed what, struct str uri,
                        struct answer *out)
{
    struct workspaces **open = arg;
    workspaces_tell(*open, &(struct workspaces_change){.what = what, .uri = uri});
    return fixture_say(out, "Those who want to hear of it were told.");
}

bool say_tools_changed(void *arg, const struct json *arguments, const struct caller *who,
                       struct answer *out, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    return say_changed(arg, CHANGED_TOOLS, STR(""), out);
}

bool say_prompts_changed(void *arg, const struct json *arguments,
                         const struct caller *who, struct answer *out, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    return say_changed(arg, CHANGED_PROMPTS, STR(""), out);
}

bool say_resource_changed(void *arg, const struct json *arguments,
                          const struct caller *who, struct answer *out, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    return say_changed(arg, CHANGED_ONE, STR(WATCHED), out);
}
