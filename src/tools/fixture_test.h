/* tools/fixture_test.h - a catalogue of the tools for tests (guest/probe), and folders of
 * its own in the place of the user's. Only for *_test.c. */
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "os/os.h"
#include "tools/internal.h"

/* cmocka puts its own handlers in the place of wasmtime's. */
__sighandler_t signal(int number, __sighandler_t handler)
{
    (void)number;
    (void)handler;
    return SIG_DFL;
}

static char home[64];
static struct engine *engine;
static struct catalogue *tools;
static struct arena *scratch;

static inline int open_tools(void **state)
{
    (void)state;
    struct err e = {0};
    const char *places[] = {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                            "XDG_STATE_HOME"};
    strcpy(home, "/tmp/cloche-tools-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    for (size_t i = 0; i < LENGTH(places); i++)
        (void)setenv(places[i], home, 1);
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
    char command[128];
    catalogue_close(tools);
    engine_close(engine);
    arena_free(scratch);
    (void)snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
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
