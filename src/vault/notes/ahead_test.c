/* Notes read by the index: one may be gone before it is read. */
#include "notes/ahead.h"
#include "notes/fixture_test.h"

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_note_that_has_gone_has_nothing_of_the_one_before(void **state)
{
    (void)state;
    put("One.md", "---\ntags: [a, b]\nstatus: open\n---\n[[Two]]\n");
    struct reading r;
    reading_init(&r);
    reading_take(&r, vault, "One.md");
    assert_true(r.ok && r.found);
    assert_string_equal(buf_cz(&r.tags), "[\"a\",\"b\"]");
    reading_take(&r, vault, "Gone.md");
    assert_true(r.ok && !r.found);
    assert_string_equal(buf_cz(&r.tags), "[]");
    assert_string_equal(buf_cz(&r.metadata), "{}");
    assert_int_equal(r.links.count, 0);
    reading_done(&r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        T(a_note_that_has_gone_has_nothing_of_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
