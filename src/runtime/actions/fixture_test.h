/* actions/fixture_test.h - actions, a caller and an arena for each test. For tests alone. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "actions/actions.h"
#include "caller/caller.h"
#include "capability/home_test.h"
#include "engine/traps_test.h"
#include "json/json.h"

static struct actions *actions;
static struct arena *arena;    /* of one test */
static struct caller caller;   /* reset before each test */
static const struct json *got; /* the last answer */

static int close_actions(void **state)
{
    (void)state;
    actions_close(actions);
    return drop_home();
}

static int begin_test(void **state)
{
    (void)state;
    arena = arena_new((size_t)256 << 20);
    caller = (struct caller){.name = "test", .level = LEVEL_FULL};
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
