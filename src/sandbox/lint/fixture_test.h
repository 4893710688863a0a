/* lint/fixture_test.h - a linter for a whole test program. Private to this room's tests. */
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lint/lint.h"
#include "json/json.h"

/* cmocka puts its own handlers before each test, in the place of wasmtime's, which
 * turn a guest's bad access into a trap. */
__sighandler_t signal(int number, __sighandler_t handler)
{
    (void)number;
    (void)handler;
    return SIG_DFL;
}

static struct engine *g;
static struct lint *lint;

/* `api`: what code may use, as lint_open() takes it. */
static int open_lint(const char *api)
{
    struct err e = {0};
    g = engine_open(&(struct engine_options){0}, &e);
    lint = g ? lint_open(g, "build/guest", str_of(api), &e) : NULL;
    if (!lint)
        fprintf(stderr, "%s\n", e.msg);
    return lint ? 0 : -1;
}

static int close_lint(void **state)
{
    (void)state;
    lint_close(lint);
    engine_close(g);
    return 0;
}
