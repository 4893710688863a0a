/* lint/fixture_test.h - a linter for a whole test program. Private to this room's tests. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/traps_test.h"
#include "lint/lint.h"
#include "json/json.h"

static struct engine *g;
static struct lint *lint;

/* `api`: the table of calls, as lint_open() takes it. */
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
