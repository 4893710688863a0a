/* Links as they lead: what a name means, whatever happens to notes meanwhile. */
#include <signal.h>
#include <sys/wait.h>

#include "base/kill_test.h"
#include "notes/fixture_test.h"

/* "source>target" of each row, joined. */
static const char *ends(const struct json *rows)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        const struct json *to = json_get(it.value, "target_note_id");
        buf_printf(&b, "%s%s>%s", b.n ? "," : "", text(it.value, "source_note_id"),
                   json_is(to, JSON_NULL) ? "null" : text(it.value, "target_note_id"));
    }
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static const char *outgoing(const char *id)
{
    return ends(json_get(call(links_get_for_note, "'%s'", id), "outgoing_internal"));
}

static const char *incoming(const char *id)
{
    return ends(call(links_get_backlinks, "'%s'", id));
}

static const char *broken(void)
{
    return ends(call(links_find_broken, "null"));
}

static void all_links_of_a_note_are_told(void **state)
{
    (void)state;
    put("project/Plan.md", "# Plan\n\nsee [[meeting/Standup#now|the standup]] and\n"
                           "[home](https://Example.com/x) and [[Nowhere]]\n");
    put("meeting/Standup.md", "[the plan](../project/Plan.md#top)\n");
    const struct json *all = call(links_get_for_note, "'project/Plan'");
    assert_string_equal(keys_of(all), "outgoing_internal,outgoing_external,incoming");
    const struct json *out = json_get(all, "outgoing_internal");
    assert_string_equal(
        shown(json_at(out, 0)),
        "{\"source_note_id\":\"project/Plan\",\"target_note_id\":\"meeting/Standup\","
        "\"target\":\"meeting/Standup\",\"link_text\":\"the standup\","
        "\"link_type\":\"wiki\",\"line\":3}");
    assert_string_equal(
        shown(json_at(out, 1)),
        "{\"source_note_id\":\"project/Plan\",\"target_note_id\":null,"
        "\"target\":\"Nowhere\",\"link_text\":\"Nowhere\",\"link_type\":\"wiki\","
        "\"line\":4}");
    assert_string_equal(
        shown(json_get(all, "outgoing_external")),
        "[{\"source_note_id\":\"project/Plan\",\"url\":\"https://Example.com/x\","
        "\"link_text\":\"home\",\"link_type\":\"external\",\"line\":4}]");
    assert_string_equal(
        shown(json_get(all, "incoming")),
        "[{\"source_note_id\":\"meeting/Standup\",\"target_note_id\":\"project/Plan\","
        "\"target\":\"../project/Plan.md#top\",\"link_text\":\"the plan\","
        "\"link_type\":\"markdown\",\"line\":1}]");
    assert_string_equal(shown(call(links_get_backlinks, "{'identifier': 'Plan'}")),
                        shown(json_get(all, "incoming")));
}

static void a_note_is_found_by_each_of_its_names(void **state)
{
    (void)state;
    put("project/Big plan.md", "---\nid: n-1\ntitle: The Plan\n---\n");
    put("Root.md", "");
    put("a/From.md", "[[project/Big plan]] [[project/Big plan.md]] [[Big plan]]\n\n"
                     "[[Big plan.md]] [[n-1]] [[The Plan]] [[the plan]] [[BIG PLAN]]\n\n"
                     "[[Project/big Plan]] [x](../project/Big%20plan.md)\n\n"
                     "[x](<../project/Big plan>) [x](project/Big%20plan) [x](/project/"
                     "Big%20plan.md) [[../project/Big plan]] [[Big%20plan]]\n\n"
                     "[x](Big%20plan.md)\n");
    const struct json *rows = call(links_get_backlinks, "'n-1'");
    assert_int_equal(json_length(rows), 16);
    put("a/From.md", "[[Root]] [[note/Root]] [[Root.md]] [x](../Root.md) [x](/Root)");
    assert_int_equal(json_length(call(links_get_backlinks, "'note/Root'")), 5);
    assert_int_equal(json_length(call(links_get_backlinks, "'n-1'")), 0);
}

static void code_holds_no_links(void **state)
{
    (void)state;
    put("a/To.md", "");
    put("a/From.md", "```\n[[To]]\n```\n\n    [[To]]\n\n`[[To]]` and `` [x](To.md) ``\n\n"
                     "~~~md\n[[To]] https://example.com\n~~~\n");
    const struct json *all = call(links_get_for_note, "'a/From'");
    assert_int_equal(json_length(json_get(all, "outgoing_internal")), 0);
    assert_int_equal(json_length(json_get(all, "outgoing_external")), 0);
}

static void of_several_notes_the_shortest_path_is_meant(void **state)
{
    (void)state;
    put("a/Plan.md", "");
    put("c/From.md", "[[Plan]] [[plan]]");
    assert_string_equal(outgoing("c/From"), "c/From>a/Plan,c/From>a/Plan");
    put("b/Plan.md", "");
    assert_string_equal(outgoing("c/From"), "c/From>a/Plan,c/From>a/Plan");
    assert_string_equal(broken(), "");
    const struct json *link =
        json_at(json_get(call(links_get_for_note, "'c/From'"), "outgoing_internal"), 0);
    assert_true(json_bool(json_get(link, "ambiguous"), false));
    link = json_at(call(links_list, "null"), 0);
    assert_true(json_bool(json_get(link, "ambiguous"), false));
    refused(ERR_CONFLICT, notes_get, "'Plan'"); /* a call must say which */
    assert_int_equal(rename(full("a/Plan.md"), full("a/Aside.md")), 0);
    put("longer/Plan.md", "");
    assert_string_equal(outgoing("c/From"), "c/From>b/Plan,c/From>b/Plan");
    assert_int_equal(unlink(full("longer/Plan.md")), 0);
    assert_int_equal(rename(full("a/Aside.md"), full("a/Plan.md")), 0);
    put("b/Plan.md", "---\ntitle: plan\n---\n"); /* one spells it so */
    assert_string_equal(outgoing("c/From"), "c/From>a/Plan,c/From>b/Plan");
    assert_int_equal(unlink(full("a/Plan.md")), 0);
    assert_string_equal(outgoing("c/From"), "c/From>b/Plan,c/From>b/Plan");
    assert_string_equal(broken(), "");
}

static void names_are_compared_by_folding_and_normal_form(void **state)
{
    (void)state;
    put("a/\xc3\x96rnen.md", "# \xc3\x89t\xc3\xa9\n"); /* composed */
    put("a/From.md", "[[o\xcc\x88rnen]] [[\xc3\xb6RNEN.md]] [[a/O\xcc\x88RNEN]]\n\n"
                     "[[E\xcc\x81TE\xcc\x81]] [x](O%CC%88rnen.md)\n");
    assert_string_equal(broken(), "");
    assert_int_equal(json_length(call(links_get_backlinks, "'\xc3\xb6rnen'")), 5);
    assert_string_equal(text(call(notes_get, "'e\xcc\x81t\xc3\xa9'"), "id"),
                        "a/\xc3\x96rnen");
    assert_int_equal(unlink(full("a/\xc3\x96rnen.md")), 0);
    assert_int_equal(json_length(call(links_find_broken, "null")), 5);
    put("b/o\xcc\x88rnen.md", ""); /* decomposed */
    assert_int_equal(json_length(call(links_find_broken, "null")), 2);
}

static void the_end_of_a_path_names_a_note_in_links_alone(void **state)
{
    (void)state;
    put("a/From.md", "[[Garden/plan]] [[work/garden/Plan.md]] [[arden/Plan]]");
    assert_string_equal(outgoing("a/From"), "a/From>null,a/From>null,a/From>null");
    put("project/work/garden/Plan.md", "");
    assert_string_equal(
        outgoing("a/From"),
        "a/From>project/work/garden/Plan,a/From>project/work/garden/Plan,a/From>null");
    assert_string_equal(shown(call(notes_get, "'garden/Plan'")), "null");
    (void)call(notes_rename, "{'identifier': 'project/work/garden/Plan',"
                             " 'new_title': 'Beds', 'force': true}");
    assert_string_equal(file("a/From.md"),
                        "[[project/work/garden/Beds]] [[project/work/garden/Beds]] "
                        "[[arden/Plan]]");
}

static void links_follow_what_happens_to_notes(void **state)
{
    (void)state;
    put("a/From.md", "[[b/To]] [[To]] [[The target]] [x](../b/To.md)");
    assert_string_equal(broken(), "a/From>null,a/From>null,a/From>null,a/From>null");
    put("b/To.md", "");
    assert_string_equal(outgoing("a/From"),
                        "a/From>b/To,a/From>b/To,a/From>null,a/From>b/To");
    put("b/To.md", "# The target\n");
    assert_string_equal(broken(), "");
    assert_int_equal(mkdir(full("c"), 0755), 0);
    assert_int_equal(rename(full("b/To.md"), full("c/To.md")), 0);
    assert_string_equal(outgoing("a/From"),
                        "a/From>null,a/From>c/To,a/From>c/To,a/From>null");
    assert_int_equal(rename(full("c"), full("b2")), 0);
    assert_string_equal(incoming("b2/To"), "a/From>b2/To,a/From>b2/To");
    put("a/From.md", "nothing");
    assert_string_equal(incoming("b2/To"), "");
    assert_string_equal(broken(), "");
    put("a/From.md", "[[To]]");
    assert_int_equal(unlink(full("b2/To.md")), 0);
    assert_string_equal(broken(), "a/From>null");
}

/* What a name means does not depend on the order in which the index heard of it. */
static void an_index_made_anew_says_the_same(void **state)
{
    (void)state;
    put("a/One.md", "[[Two]] [[Three]] [[a/Two]] [x](../b/Two.md) [[nobody]]");
    put("b/Two.md", "[[one]] [[One]] https://sub.example.com");
    (void)broken();
    put("a/Two.md", "---\ntitle: Three\n---\n[[Two]]");
    put("c/Two.md", "---\nid: Two\n---\n");
    (void)broken();
    assert_int_equal(rename(full("b/Two.md"), full("b/Six.md")), 0);
    put("a/Seven.md", "---\ntitle: one\n---\n");
    const char *before = arena_printf(arena, &(struct err){0}, "%s %s %s",
                                      outgoing("a/One"), outgoing("b/Six"), broken());
    (void)call(links_migrate, "true");
    assert_string_equal(arena_printf(arena, &(struct err){0}, "%s %s %s",
                                     outgoing("a/One"), outgoing("b/Six"), broken()),
                        before);
    reopen();
    assert_string_equal(outgoing("a/One"), "a/One>c/Two,a/One>a/Two,a/One>a/Two,"
                                           "a/One>null,a/One>null");
    assert_string_equal(outgoing("b/Six"), "b/Six>a/Seven,b/Six>a/One");
}

/* ---- whatever happens ---------------------------------------------------- */

static uint32_t random_state;

static unsigned roll(unsigned n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % n;
}

/* Few names, so that they collide: as files, titles, uids, in both cases. */
static const char *a_path(void)
{
    static const char *const paths[] = {"a/One.md",    "b/One.md", "a/two.md",
                                        "b/Two.md",    "One.md",   "note/One.md",
                                        "a/sub/Two.md"};
    return paths[roll(LENGTH(paths))];
}

static const char *a_name(void)
{
    static const char *const names[] = {"One",   "one",      "a/One",    "b/One", "Two",
                                        "two",   "note/One", "One.md",   "u1",    "u2",
                                        "A/one", "Three",    "a/sub/Two"};
    return names[roll(LENGTH(names))];
}

static void put_any(const char *path)
{
    struct err e = {0};
    char head[300] = "";
    if (roll(2))
        (void)snprintf(head, sizeof head,
                       "---\nid: %s\ntitle: %s\nsubnotes: [%s, %s]\n---\n",
                       roll(2) ? "u1" : "u2", a_name(), a_name(), a_name());
    else if (roll(2))
        (void)snprintf(head, sizeof head, "---\nsubnotes: [%s, %s]\n---\n", a_name(),
                       a_name());
    put(path, arena_printf(arena, &e, "%s[[%s]] [[%s]] [x](%s.md) [y](../%s)\n", head,
                           a_name(), a_name(), a_name(), a_name()));
}

static void do_anything(void)
{
    const char *path = a_path(), *to = a_path();
    switch (roll(6)) {
    case 0:
        (void)unlink(full(path));
        break;
    case 1:
        if (exists(path) && !exists(to))
            (void)rename(full(path), full(to));
        break;
    default:
        put_any(path);
    }
}

/* All that the index says of links and hierarchy. */
static const char *everything(void)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(call(notes_list, "{'fields': ['id', 'path']}"));
    const char *answers[100];
    size_t n = 0;
    for (; json_next(&it); n++) {
        const char *id = text(it.value, "id");
        answers[n] = arena_printf(arena, &e, "%s %s %s\n", id,
                                  shown(call(links_get_for_note, "'%s'", id)),
                                  shown(call(hierarchy_get_children, "'%s'", id)));
    }
    for (size_t i = 1; i < n; i++) /* by id */
        for (size_t k = i; k && strcmp(answers[k - 1], answers[k]) > 0; k--) {
            const char *other = answers[k];
            answers[k] = answers[k - 1];
            answers[k - 1] = other;
        }
    for (size_t i = 0; i < n; i++)
        buf_cstr(&b, answers[i]);
    buf_cstr(&b, shown(call(links_find_broken, "null")));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

/* The same note for each of the ways to name it, whoever asks. */
static void a_name_means_the_same_to_links_and_calls(void **state)
{
    (void)state;
    assert_int_equal(mkdir(full("a"), 0755), 0);
    put("a/Plan.md", "---\nid: U1\ntitle: The Plan\n---\nx\n");
    put("Two.md", "x\n");
    static const char *const rows[][2] = {
        {"a/Plan", "a/Plan"},
        {"a/Plan.md", "a/Plan"},
        {"Plan.md", "a/Plan"},
        {"U1", "a/Plan"},
        {"The Plan", "a/Plan"},
        {"Plan", "a/Plan"},
        {"plan", "a/Plan"},
        {"the plan", "a/Plan"},
        {"A/plan", "a/Plan"},
        {"A/plan.md", "a/Plan"},
        {"plan.md", "a/Plan"},
        {"note/Two", "note/Two"},
        {"note/Two.md", "note/Two"},
        {"Two.md", "note/Two"},
        {"NOTE/two", "note/Two"},
        {"u1", NULL},
        {"a/Two", NULL},
    };
    struct err e = {0};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        put("Z.md", arena_printf(arena, &e, "[[%s]]", rows[i][0]));
        const struct json *got = call(notes_get, "'%s'", rows[i][0]);
        const struct json *link =
            json_at(json_get(call(links_get_for_note, "'Z.md'"), "outgoing_internal"), 0);
        const char *leads = text(link, "target_note_id"), *want = rows[i][1];
        if (!want ? json_is(got, JSON_OBJECT) || leads[0]
                  : strcmp(text(got, "id"), want) != 0 || strcmp(leads, want) != 0)
            fail_msg("%s is \"%s\", and leads to \"%s\"", rows[i][0],
                     want ? text(got, "id") : "", leads);
        if (want)
            (void)call(
                notes_update,
                "{'identifier': '%s', 'content': 'y', 'force': true, 'dry_run': true}",
                rows[i][0]);
    }
    refused(ERR_NOT_FOUND, notes_history, "'A/plan'"); /* the past's names are as spelt */
    put("b/PLAN.md", "x\n");
    put("b/PLan.md", "x\n");
    refused(ERR_CONFLICT, notes_delete, "{'identifier': 'plan', 'confirm': true}");
    assert_string_equal(text(call(notes_get, "'PLAN'"), "id"), "b/PLAN");
}

static void no_order_of_events_makes_a_difference(void **state)
{
    (void)state;
    const char *folders[] = {"a", "b", "note", "a/sub"};
    for (size_t i = 0; i < LENGTH(folders); i++)
        assert_int_equal(mkdir(full(folders[i]), 0755), 0);
    for (unsigned round = 0; round < 80; round++) {
        random_state = round * 2654435761u + 99;
        for (unsigned i = 0, n = 1 + roll(4); i < n; i++)
            do_anything();
        const char *before = everything();
        (void)call(links_migrate, "true");
        const char *after = everything();
        if (strcmp(before, after) != 0)
            fail_msg("round %u:\n%s\n--- made anew:\n%s", round, before, after);
    }
}

static void files_that_are_no_notes_are_not_broken(void **state)
{
    (void)state;
    put("a/Node.js.md", "");
    put("a/files/a.pdf", "");
    put("img/Picture.png", "");
    put("src/main.c", "");
    put("a/From.md", "[doc](files/a.pdf) ![[picture.PNG]] [src](../src/main.c)\n\n"
                     "[[Node.js]] [[Deno.js]] [[v1.2]] [gone](gone.md)");
    const struct json *out =
        json_get(call(links_get_for_note, "'a/From'"), "outgoing_internal");
    assert_true(json_bool(json_get(json_at(out, 0), "file"), false));
    assert_true(json_bool(json_get(json_at(out, 1), "file"), false));
    assert_true(json_bool(json_get(json_at(out, 2), "file"), false));
    assert_null(json_get(json_at(out, 3), "file"));
    assert_string_equal(text(json_at(out, 3), "target_note_id"), "a/Node.js");
    const struct json *rows = call(links_find_broken, "null");
    assert_int_equal(json_length(rows), 3);
    assert_string_equal(text(json_at(rows, 0), "target"), "Deno.js");
    assert_string_equal(text(json_at(rows, 1), "target"), "v1.2");
    assert_string_equal(text(json_at(rows, 2), "target"), "gone.md");
}

static void unicode_and_crlf_make_no_difference(void **state)
{
    (void)state;
    put("идея/Größe 🌱.md", "---\r\ntitle: Größe\r\n---\r\n\r\nsee\r\n[[日記]]\r\n");
    put("日記.md", "[[Größe]] [[идея/Größe 🌱|x]] [x](%D0%B8%D0%B4%D0%B5%D1%8F/"
                   "Gr%C3%B6%C3%9Fe%20%F0%9F%8C%B1.md)");
    assert_int_equal(json_length(call(links_get_backlinks, "'Größe'")), 3);
    const struct json *rows = call(links_get_backlinks, "'note/日記'");
    assert_string_equal(text(json_at(rows, 0), "source_note_id"), "идея/Größe 🌱");
    assert_int_equal(json_int(json_get(json_at(rows, 0), "line"), 0), 2);
}

static void no_link_leads_out_of_the_vault(void **state)
{
    (void)state;
    put("a/From.md", "[x](../../etc/passwd.md) [x](../../../x.md) [[../../y]] "
                     "[x](%2e%2e/%2e%2e/z.md) [[.cloche/index.db]]");
    const struct json *rows = call(links_find_broken, "null");
    assert_int_equal(json_length(rows), 5);
    assert_string_equal(text(json_at(rows, 0), "target"), "../../etc/passwd.md");
}

static void broken_links_come_in_pages_of_whole_notes(void **state)
{
    (void)state;
    put("a/1.md", "[[x]] [[y]] [[z]]");
    put("a/2.md", "[[x]]");
    put("a/3.md", "[[x]]");
    assert_string_equal(ends(call(links_find_broken, "{'limit': 2}")),
                        "a/1>null,a/1>null,a/1>null");
    assert_string_equal(ends(call(links_find_broken, "{'limit': 1, 'cursor': 'a/1'}")),
                        "a/2>null");
    assert_string_equal(ends(call(links_find_broken, "{'cursor': 'a/3'}")), "");
    (void)refused(ERR_INVALID, links_find_broken, "{'cursor': 'a/9'}");
    (void)refused(ERR_INVALID, links_find_broken, "{'limit': 10001}");
    (void)refused(ERR_INVALID, links_find_broken, "{'max': 1}");
}

static void notes_are_found_by_their_links(void **state)
{
    (void)state;
    put("a/Hub.md", "---\ncolour: red\n---\n[[a/1]] [[a/2]]");
    put("a/1.md", "[[Hub]] <https://www.GitHub.com:443/x> [[gone]]");
    put("a/2.md", "[[Hub]] http://user@docs.github.com?q=1");
    put("a/3.md", "https://notgithub.com [[a/2]]");
    put("a/4.md", "mailto and [x](ftp://gitlab.com/a.b)");
    const struct {
        const char *options, *ids;
    } cases[] = {
        {"{'has_links_to': 'Hub'}", "a/1,a/2"},
        {"{'has_links_to': ['a/1', 'a/2']}", "a/3,a/Hub"},
        {"{'linked_from': 'a/Hub'}", "a/1,a/2"},
        {"{'linked_from': ['a/1', 'a/3']}", "a/2,a/Hub"},
        {"{'external_domains': 'github.com'}", "a/1,a/2"},
        {"{'external_domains': ['docs.GitHub.com', '*.gitlab.com']}", "a/2,a/4"},
        {"{'external_domains': ['hub.com']}", ""},
        {"{'broken_links': true}", "a/1"},
        {"{'broken_links': false, 'has_links_to': 'Hub'}", "a/2"},
        {"{'has_links_to': 'Hub', 'external_domains': ['www.github.com']}", "a/1"},
        {"{'broken_links': false, 'limit': 2}", "a/2,a/3"},
        {"{'broken_links': false, 'limit': 2, 'cursor': 'a/3'}", "a/4,a/Hub"},
        {"{'has_links_to': 'Hub', 'linked_from': 'Hub', 'external_domains': "
         "'github.com', 'broken_links': true}",
         "a/1"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_string_equal(ids(call(links_search_by, "%s", cases[i].options)),
                            cases[i].ids);
    const struct json *row = json_at(call(links_search_by, "{'linked_from': 'a/1'}"), 0);
    assert_string_equal(keys_of(row),
                        "id,title,type,created,updated,content_hash,metadata");
    assert_string_equal(shown(json_get(row, "metadata")), "{\"colour\":\"red\"}");
    (void)refused(ERR_INVALID, links_search_by, "{}");
    (void)refused(ERR_INVALID, links_search_by, "{'has_links_to': []}");
    (void)refused(ERR_INVALID, links_search_by, "{'has_links_to': [1]}");
    (void)refused(ERR_INVALID, links_search_by, "{'external_domains': 'a/b'}");
    (void)refused(ERR_INVALID, links_search_by, "{'links_to': 'a/1'}");
    (void)refused(ERR_NOT_FOUND, links_search_by, "{'linked_from': 'a/9'}");
}

static void a_note_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    put("a/1.md", "---\ntitle: Same\n---\n");
    put("a/2.md", "---\ntitle: Same\n---\n");
    (void)refused(ERR_NOT_FOUND, links_get_for_note, "'a/9'");
    (void)refused(ERR_NOT_FOUND, links_get_backlinks, "'a/9'");
    (void)refused(ERR_CONFLICT, links_get_backlinks, "'Same'");
    (void)refused(ERR_INVALID, links_get_for_note, "null");
    (void)refused(ERR_INVALID, links_get_for_note, "{'id': 'a/1'}");
}

static void migrating_counts_what_it_did(void **state)
{
    (void)state;
    put("a/1.md", "[[2]]");
    put("a/2.md", "");
    assert_int_equal(truncate(full("a/2.md"), NOTE_SIZE_MAX + 1), 0);
    const struct json *m = call(links_migrate, "null");
    assert_string_equal(keys_of(m), "total_notes,processed,errors,error_details");
    assert_string_equal(text(json_at(json_get(m, "error_details"), 0), "note_id"), "a/2");
    assert_int_equal(json_int(json_get(m, "total_notes"), 0), 2);
    put("a/2.md", "");
    m = call(links_migrate, "{'force': true}");
    assert_int_equal(json_int(json_get(m, "processed"), 0), 2);
    assert_int_equal(json_int(json_get(m, "errors"), -1), 0);
    assert_string_equal(incoming("a/2"), "a/1>a/2");
    (void)refused(ERR_INVALID, links_migrate, "'yes'");
}

/* Who finds the index empty clears what links there are: not those of another. */
static void processes_that_index_at_once_lose_no_link(void **state)
{
    (void)state;
    enum { NOTES = 300, PROCESSES = 4 };
    char path[40], body[100];
    for (int i = 0; i < NOTES; i++) {
        (void)snprintf(path, sizeof path, "a/%d.md", i);
        (void)snprintf(body, sizeof body, "[[a/%d]] [[Hub]]", (i + 1) % NOTES);
        put(path, body);
    }
    put("a/Hub.md", "");
    (void)broken();
    for (int round = 0; round < 5; round++) {
        vault_close(vault);
        vault = NULL;
        assert_int_equal(folder_remove(full(".cloche")), 0);
        pid_t all[PROCESSES];
        for (int p = 0; p < PROCESSES; p++) {
            all[p] = fork();
            assert_true(all[p] >= 0);
            if (all[p])
                continue;
            struct err e = {0};
            struct vault *own = vault_open(root, &e);
            scoped_buf struct buf b;
            buf_init(&b, 1 << 20);
            struct json_writer w = json_writer(&b);
            _exit(own && links_find_broken(own, NULL, &w, &e) ? 0 : 1);
        }
        for (int p = 0; p < PROCESSES; p++) {
            int status;
            assert_int_equal(waitpid(all[p], &status, 0), all[p]);
            assert_int_equal(status, 0);
        }
        reopen();
        assert_int_equal(json_length(call(links_get_backlinks, "'Hub'")), NOTES);
        assert_int_equal(json_length(call(links_get_backlinks, "'a/7'")), 1);
    }
}

/* Whatever it was doing when it was killed. */
static void an_index_that_was_killed_is_finished_by_the_next(void **state)
{
    (void)state;
    enum { NOTES = 1500 };
    char path[40], body[100];
    for (int i = 0; i < NOTES; i++) {
        (void)snprintf(path, sizeof path, "a/%d.md", i);
        (void)snprintf(body, sizeof body, "[[a/%d]] [[Hub]] [[gone]]", (i + 1) % NOTES);
        put(path, body);
    }
    put_bytes("a/Hub.md", "", 0);
    unsigned killed = 0;
    for (unsigned round = 0; round < 12; round++) {
        vault_close(vault);
        vault = NULL;
        (void)unlink(full(".cloche/index.db"));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct err e = {0};
            struct vault *own = vault_open(root, &e);
            scoped_buf struct buf b;
            buf_init(&b, 1 << 20);
            struct json_writer w = json_writer(&b);
            _exit(own && links_find_broken(own, NULL, &w, &e) ? 0 : 1);
        }
        killed += kill_at_stop(child, 1 + 50 * round * round);
        reopen();
        assert_int_equal(json_length(call(links_get_backlinks, "'Hub'")), NOTES);
        assert_int_equal(json_length(call(links_get_backlinks, "'a/7'")), 1);
        assert_int_equal(json_length(call(links_find_broken, "null")), NOTES);
    }
    assert_true(killed > 0);
}

static void long_lists_of_criteria_and_errors_are_cut(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 1001; i++)
        buf_printf(&b, "%s'd%d.com'", i ? "," : "", i);
    (void)refused(ERR_INVALID, links_search_by, "{'external_domains': [%s]}", buf_cz(&b));
    for (int i = 0; i < 101; i++) {
        const char *path = arena_printf(arena, &e, "a/%d.md", i);
        put(path, "");
        assert_int_equal(truncate(full(path), NOTE_SIZE_MAX + 1), 0);
    }
    const struct json *m = call(links_migrate, "null");
    assert_int_equal(json_int(json_get(m, "errors"), 0), 101);
    assert_int_equal(json_length(json_get(m, "error_details")), 100);
}

/* ---- the version -------------------------------------------------------- */

static const char *version(void)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 300);
    assert_true(notes_version(vault, &b, &e));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static bool from_scratch(struct vault *v, const struct json *o, struct json_writer *out,
                         struct err *e)
{
    (void)o;
    return notes_reindex(v, true, out, e);
}

static void the_version_tells_of_every_change(void **state)
{
    (void)state;
    put("a/1.md", "one");
    const char *seen[8];
    size_t n = 0;
    seen[n++] = version();
    assert_string_equal(version(), seen[0]);
    put("a/1.md", "two");
    seen[n++] = version();
    put("a/2.md", "");
    seen[n++] = version();
    assert_int_equal(rename(full("a/2.md"), full("a/3.md")), 0);
    seen[n++] = version();
    assert_int_equal(unlink(full("a/3.md")), 0);
    seen[n++] = version();
    (void)call(notes_create, "{'type': 'a', 'title': 'New'}");
    seen[n++] = version();
    reopen();
    assert_string_equal(version(), seen[n - 1]);
    vault_close(vault);
    vault = NULL;
    assert_int_equal(unlink(full(".cloche/index.db")), 0);
    reopen();
    seen[n++] = version();
    (void)call(from_scratch, "null");
    seen[n++] = version();
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(seen[i], seen[k]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(all_links_of_a_note_are_told),
        T(a_note_is_found_by_each_of_its_names),
        T(code_holds_no_links),
        T(of_several_notes_the_shortest_path_is_meant),
        T(names_are_compared_by_folding_and_normal_form),
        T(the_end_of_a_path_names_a_note_in_links_alone),
        T(links_follow_what_happens_to_notes),
        T(an_index_made_anew_says_the_same),
        T(a_name_means_the_same_to_links_and_calls),
        T(no_order_of_events_makes_a_difference),
        T(files_that_are_no_notes_are_not_broken),
        T(unicode_and_crlf_make_no_difference),
        T(no_link_leads_out_of_the_vault),
        T(broken_links_come_in_pages_of_whole_notes),
        T(notes_are_found_by_their_links),
        T(a_note_that_is_not_there_is_not_found),
        T(migrating_counts_what_it_did),
        T(processes_that_index_at_once_lose_no_link),
        T(an_index_that_was_killed_is_finished_by_the_next),
        T(long_lists_of_criteria_and_errors_are_cut),
        T(the_version_tells_of_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
