/* tools/fixture_test.h - a catalogue of the tools for tests (guest/probe), and folders of
 * its own in the place of the user's. Only for *_test.c. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "os/os.h"
#include "tools/internal.h"

static char home[HOME_SIZE];
static struct engine *engine;
static struct catalogue *tools;
static struct arena *scratch;

static inline int open_tools(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(home))
        return -1;
    engine = engine_open(&(struct engine_options){0}, &e);
    if (!engine)
        return -1;
    tools = catalogue_open(
        &(struct catalogue_options){.guest_dir = "build/probe", .engine = engine});
    scratch = arena_new((size_t)64 << 20);
    return 0;
}

static inline int close_tools(void **state)
{
    (void)state;
    catalogue_close(tools);
    engine_close(engine);
    arena_free(scratch);
    return folder_remove(home);
}

static inline const struct tool *tool_named(const char *name)
{
    struct err e = {0};
    const struct tool *t = tool_find(tools, str_of(name), STR(""), &e);
    if (!t)
        fail_msg("%s", e.msg);
    return t;
}

/* A value, spelt with ' instead of ". */
static inline const struct json *value(const char *text)
{
    struct err e = {0};
    char *copy = arena_copy(scratch, text, strlen(text), &e);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    const struct json *v = json_read(str_of(copy), scratch, &e);
    if (!v)
        fail_msg("%s: %s", text, e.msg);
    return v;
}
