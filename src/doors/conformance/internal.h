/* conformance/internal.h - what the files of this room share. */
#pragma once
#include "client/client.h"
#include "conformance/conformance.h"

/* A PNG of one red pixel, in base64. */
#define RED_PIXEL                                                            \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQ" \
    "IAX8jx0gAAAABJRU5ErkJggg=="
/* Half a millisecond of silence, a WAV file in base64. */
#define SILENCE "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="

typedef bool fixture_fn(void *arg, const struct json *arguments, const struct caller *who,
                        struct answer *out, struct err *e);

/* The answer's content becomes one block of text. Returns true. */
bool fixture_say(struct answer *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Waits; false and ERR_CANCELLED as soon as the call is cancelled. */
bool fixture_wait(const struct caller *who, unsigned ms, struct err *e);

#define WATCHED "test://watched-resource"

/* ---- tools that answer (saying.c) ----------------------------------------- */

fixture_fn say_content; /* arg: the content, JSON text */
fixture_fn say_failure; /* arg: a sentence */
fixture_fn say_logs, say_every_level, say_progress, say_late, say_greeting, say_computed,
    say_failure_late, say_broken;
/* Announces a change; arg: a struct workspaces ** */
fixture_fn say_tools_changed, say_prompts_changed, say_resource_changed;

/* ---- tools that ask (asking.c) -------------------------------------------- */

/* Questions that go out together, and what their answers come to. */
struct asking {
    const struct client_question *questions;
    size_t count;
    void (*tell)(const struct json *const *answers, struct answer *out);
};
fixture_fn ask_all;                       /* arg: a struct asking */
fixture_fn ask_later;                     /* the same, as a task */
fixture_fn ask_before;                    /* the same, and then a task */
fixture_fn ask_what_it_can;               /* the same, of those that the client answers */
fixture_fn ask_twice;                     /* arg: two of them, one after the other */
fixture_fn ask_the_model, ask_the_person; /* what their arguments say */

extern const struct asking asking_name, asking_capital, asking_roots, asking_confirm,
    asking_delete, asking_several, asking_context, asking_two, asking_rounds[2],
    asking_defaults, asking_choices, asking_sampling;
