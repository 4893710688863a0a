/* What persons allowed for sessions is kept, so much of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "programs/internal.h"

static const struct tool jq = {.id = "1", .name = "jq", .sha256 = "aa"},
                         own = {.id = "2",
                                .name = "own",
                                .sha256 = "bb",
                                .execution = {.access = TOOL_READWRITE}};

static void so_many_words_are_kept_and_the_oldest_makes_room(void **state)
{
    (void)state;
    struct granted *g = granted_new();
    char session[32];
    for (unsigned i = 0; i <= GRANTED_MAX; i++) {
        (void)snprintf(session, sizeof session, "session %u", i);
        granted_add(g, session, "", &jq, false);
    }
    assert_false(granted_has(g, "session 0", "", &jq, false));
    assert_true(granted_has(g, "session 1", "", &jq, false));
    assert_true(granted_has(g, session, "", &jq, false));
    assert_false(granted_has(g, session, "/vault", &jq, false));
    assert_false(granted_has(g, session, "", &own, true));
    granted_add(g, session, "", &own, false);
    assert_false(granted_has(g, session, "", &own, true));
    granted_add(g, "other", "", &own, true);
    assert_true(granted_has(g, "other", "", &own, false));
    granted_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_words_are_kept_and_the_oldest_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
