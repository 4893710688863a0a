/* Relationships: connections between notes, and paths. */
#include "notes/fixture_test.h"

/* "id(why,why)=strength" of each row, joined. */
static const char *related(const char *options, bool strengths)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(call(relationships_get_related, "%s", options));
    while (json_next(&it)) {
        buf_printf(&b, "%s%s(", b.n ? " " : "", text(it.value, "noteId"));
        struct json_iter why = json_iter(json_get(it.value, "relationship_types"));
        for (bool more = false; json_next(&why); more = true)
            buf_printf(&b, "%s%.*s", more ? "," : "", STR_ARGS(json_str(why.value)));
        buf_char(&b, ')');
        if (strengths)
            buf_printf(&b, "=%.4g", json_number(json_get(it.value, "strength"), -1));
    }
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

/* "start a/1 link a/2 ..." */
static const char *way(const char *from, const char *to, int max_depth)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    const struct json *steps =
        call(relationships_find_path,
             "{'start_note_id': '%s', 'end_note_id': '%s', 'max_depth': %d}", from, to,
             max_depth);
    struct json_iter it = json_iter(steps);
    while (json_next(&it))
        buf_printf(&b, "%s%s %s", b.n ? " " : "", text(it.value, "relationship"),
                   text(it.value, "noteId"));
    return json_is(steps, JSON_NULL) ? NULL : arena_printf(arena, &e, "%s", buf_cz(&b));
}

static double clustering(const char *id)
{
    return json_number(call(relationships_get_clustering, "'%s'", id), -1);
}

static void all_relationships_of_a_note_are_told(void **state)
{
    (void)state;
    put("a/P.md", "---\nsubnotes: [a/1]\n---\n");
    put("a/1.md", "---\nsubnotes: [a/2]\n---\n[[a/3]] [[gone]] https://example.com");
    put("a/2.md", "");
    put("a/3.md", "[[a/1]]");
    const struct json *all = call(relationships_get, "'a/1'");
    assert_string_equal(keys_of(all), "content_links,hierarchy_links,external_links");
    const struct json *content = json_get(all, "content_links");
    assert_string_equal(keys_of(content), "outgoing,incoming");
    assert_int_equal(json_length(json_get(content, "outgoing")), 2);
    assert_string_equal(text(json_at(json_get(content, "incoming"), 0), "source_note_id"),
                        "a/3");
    const struct json *hierarchy = json_get(all, "hierarchy_links");
    assert_string_equal(keys_of(hierarchy), "parents,children");
    assert_string_equal(
        shown(json_get(hierarchy, "parents")),
        "[{\"parent_id\":\"a/P\",\"child_id\":\"a/1\",\"depth\":1,\"position\":0}]");
    assert_string_equal(text(json_at(json_get(hierarchy, "children"), 0), "child_id"),
                        "a/2");
    assert_string_equal(text(json_at(json_get(all, "external_links"), 0), "url"),
                        "https://example.com");
    (void)refused(ERR_NOT_FOUND, relationships_get, "'a/9'");
}

static void each_way_of_belonging_counts(void **state)
{
    (void)state;
    put("a/X.md", "---\ntags: [red, '🌱']\nsubnotes: [a/Child]\n---\n[[a/To]] [[a/Z]]");
    put("a/Child.md", "");
    put("a/P.md", "---\nsubnotes: [a/X, a/Sib]\n---\n");
    put("a/Sib.md", "");
    put("a/To.md", "");
    put("a/From.md", "[[a/X]] [[a/X]]");
    put("a/Z.md", "");
    put("a/Both.md", "[[a/Z]]");
    put("a/Tag.md", "---\ntags: [RED]\n---\n");
    put("a/Emoji.md", "---\ntags: '🌱'\n---\n");
    put("a/None.md", "---\ntags: blue\n---\n");
    assert_string_equal(related("{'note_id': 'a/X'}", true),
                        "a/From(backlink)=0.64 a/Child(child)=0.5 a/P(parent)=0.5 "
                        "a/To(link)=0.5 a/Z(link)=0.5 a/Sib(sibling)=0.3 "
                        "a/Emoji(shared_tag)=0.2 a/Tag(shared_tag)=0.2 "
                        "a/Both(shared_link)=0.15");
    assert_string_equal(related("{'note_id': 'a/X', 'max_results': 3}", false),
                        "a/From(backlink) a/Child(child) a/P(parent)");
    put("a/Both.md", "---\ntags: [red]\n---\n[[a/X]] [[a/Z]] [[a/To]]");
    assert_string_equal(related("{'note_id': 'a/X', 'max_results': 1}", true),
                        "a/Both(backlink,shared_link,shared_tag)=0.6532");
    put("a/Tag.md", "---\ntags: [green]\n---\n");
    put("a/Emoji.md", "");
    assert_string_equal(related("{'note_id': 'a/Tag'}", true), "");
    assert_null(strstr(related("'a/X'", false), "Emoji"));
    (void)refused(ERR_INVALID, relationships_get_related, "{}");
    (void)refused(ERR_INVALID, relationships_get_related,
                  "{'note_id': 'a/X', 'max_results': 1001}");
    (void)refused(ERR_INVALID, relationships_get_related, "{'id': 'a/X'}");
    (void)refused(ERR_NOT_FOUND, relationships_get_related, "{'note_id': 'a/9'}");
}

static void what_everybody_shares_says_nothing(void **state)
{
    (void)state;
    put("a/Hub.md", "");
    for (int i = 0; i < 1001; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "a/%04d.md", i);
        put(path, "---\ntags: [all]\n---\n[[Hub]]");
    }
    assert_string_equal(related("{'note_id': 'a/0000'}", false), "a/Hub(link)");
    assert_int_equal(unlink(full("a/1000.md")), 0);
    assert_string_equal(related("{'note_id': 'a/0000', 'max_results': 3}", true),
                        "a/Hub(link)=0.5 a/0001(shared_link,shared_tag)=0.32 "
                        "a/0002(shared_link,shared_tag)=0.32");
}

static void of_many_links_and_tags_the_first_are_shared(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf links, tags;
    buf_init(&links, 1 << 20);
    buf_init(&tags, 1 << 20);
    for (int i = 0; i < 501; i++) {
        put(arena_printf(arena, &e, "t/%d.md", i), "");
        buf_printf(&links, "[[t/%d]]\n", i);
        buf_printf(&tags, "%st%d", i ? ", " : "", i);
    }
    put("a/X.md", arena_printf(arena, &e, "---\ntags: [%s]\n---\n%s", buf_cz(&tags),
                               buf_cz(&links)));
    put("b/499.md", "[[t/499]]");
    put("b/500.md", "[[t/500]]");
    put("b/Tag499.md", "---\ntags: t499\n---\n");
    put("b/Tag500.md", "---\ntags: t500\n---\n");
    const char *all = related("{'note_id': 'a/X', 'max_results': 1000}", false);
    assert_non_null(strstr(all, "b/499(shared_link)"));
    assert_non_null(strstr(all, "b/Tag499(shared_tag)"));
    assert_null(strstr(all, "b/500"));
    assert_null(strstr(all, "b/Tag500"));
}

static void the_shortest_way_is_found(void **state)
{
    (void)state;
    put("a/1.md", "[[a/2]] [[a/9]]");
    put("a/2.md", "---\nsubnotes: [a/3]\n---\n");
    put("a/3.md", "");
    put("a/4.md", "[[a/3]]");
    put("a/5.md", "[[a/4]]");
    put("a/9.md", "");
    put("b/Alone.md", "");
    assert_string_equal(way("a/1", "a/5", 10),
                        "start a/1 link a/2 child a/3 backlink a/4 backlink a/5");
    assert_string_equal(way("a/5", "a/1", 10),
                        "start a/5 link a/4 link a/3 parent a/2 backlink a/1");
    assert_string_equal(way("a/1", "a/5", 4),
                        "start a/1 link a/2 child a/3 backlink a/4 backlink a/5");
    assert_null(way("a/1", "a/5", 3));
    assert_null(way("a/1", "b/Alone", 10));
    assert_string_equal(way("a/1", "a/1", 1), "start a/1");
    assert_string_equal(way("a/2", "a/3", 1), "start a/2 child a/3");
    put("a/1.md", "[[a/2]] [[a/9]] [[a/4]]");
    assert_string_equal(way("a/1", "a/5", 10), "start a/1 link a/4 backlink a/5");
    (void)refused(ERR_INVALID, relationships_find_path, "{'start_note_id': 'a/1'}");
    (void)refused(ERR_INVALID, relationships_find_path,
                  "{'start_note_id': 'a/1', 'end_note_id': 'a/2', 'max_depth': 101}");
    (void)refused(ERR_INVALID, relationships_find_path,
                  "{'start_note_id': 'a/1', 'end_note_id': 'a/2', 'depth': 1}");
    (void)refused(ERR_NOT_FOUND, relationships_find_path,
                  "{'start_note_id': 'a/1', 'end_note_id': 'a/7'}");
    (void)refused(ERR_NOT_FOUND, relationships_find_path,
                  "{'start_note_id': 'a/7', 'end_note_id': 'a/1'}");
}

/* Also if the index read the notes in another order. */
static void of_several_shortest_ways_the_same_is_taken(void **state)
{
    (void)state;
    static const char *const mids[] = {"m/7", "m/3", "m/5", "m/1", "m/9"};
    put("a/To.md", "");
    put("a/From.md", "[[m/7]] [[m/3]] [[m/5]] [[m/1]] [[m/9]]");
    (void)call(links_find_broken, "null");
    for (size_t i = 0; i < LENGTH(mids); i++) {
        put(arena_printf(arena, &(struct err){0}, "%s.md", mids[i]), "[[a/To]]");
        (void)call(links_find_broken, "null");
    }
    assert_string_equal(way("a/From", "a/To", 5), "start a/From link m/1 link a/To");
    (void)call(links_migrate, "true");
    assert_string_equal(way("a/From", "a/To", 5), "start a/From link m/1 link a/To");
}

static void neighbours_that_know_each_other_cluster(void **state)
{
    (void)state;
    put("a/X.md", "---\nsubnotes: [a/3]\n---\n[[a/1]] [[a/1]] [[a/X]]");
    put("a/1.md", "");
    put("a/2.md", "");
    put("a/3.md", "");
    assert_float_equal(clustering("a/1"), 0, 0);
    assert_float_equal(clustering("a/X"), 0, 0);
    put("a/2.md", "[[a/X]] [[a/1]] [[a/1]]");
    assert_float_equal(clustering("a/X"), 1.0 / 3, 1e-9);
    put("a/1.md", "---\nsubnotes: [a/3]\n---\n[[a/2]]");
    assert_float_equal(clustering("a/X"), 2.0 / 3, 1e-9);
    put("a/3.md", "[[a/2]]");
    assert_float_equal(clustering("a/X"), 1, 0);
    (void)refused(ERR_NOT_FOUND, relationships_get_clustering, "'a/9'");
}

static void a_hub_of_many_notes_is_bearable(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < MANY; i++) {
        char path[40], body[60];
        (void)snprintf(path, sizeof path, "a/%d.md", i);
        (void)snprintf(body, sizeof body, "[[Hub]] [[a/%d]]", (i + 1) % MANY);
        put(path, body);
        buf_printf(&b, "[[a/%d]]\n", i);
    }
    put("a/Hub.md", buf_cz(&b));
    assert_float_equal(clustering("a/Hub"), 2.0 / (MANY - 1), 1e-9);
    assert_string_equal(way("a/0", "a/1000", 10), "start a/0 link a/Hub link a/1000");
    assert_int_equal(json_length(call(links_get_backlinks, "'Hub'")), MANY);
    assert_int_equal(json_length(call(relationships_get_related,
                                      "{'note_id': 'Hub', 'max_results': 1000}")),
                     1000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(all_relationships_of_a_note_are_told),
        T(each_way_of_belonging_counts),
        T(what_everybody_shares_says_nothing),
        T(of_many_links_and_tags_the_first_are_shared),
        T(the_shortest_way_is_found),
        T(of_several_shortest_ways_the_same_is_taken),
        T(neighbours_that_know_each_other_cluster),
        T(a_hub_of_many_notes_is_bearable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
