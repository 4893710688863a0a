/* Resources, prompts and completion over two vaults of their own, and those that an
 * embedder adds. */
#include "performing/performing.h"
#include "workspaces/world_test.h"

static struct arena *arena;

/* ---- somebody else's -------------------------------------------------------- */

static bool read_extra(void *arg, struct str uri, const struct json *values,
                       const struct caller *who, struct buf *contents, struct err *e)
{
    (void)arg, (void)who, (void)e;
    struct json_writer w = json_writer(contents);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "uri", uri);
    json_pair_str(&w, "text", json_str(json_get(values, "id")));
    json_close(&w);
    json_close(&w);
    return true;
}

static bool complete_extra(void *arg, struct str name, const struct json *known,
                           const struct caller *who, struct buf *values, struct err *e)
{
    (void)arg, (void)name, (void)known, (void)who, (void)e;
    return buf_cstr(values, "[\"spring\",\"autumn\",\"a/spring\",\"s-p-r\"]");
}

static bool get_extra(void *arg, const struct json *arguments, const struct caller *who,
                      struct buf *messages, struct err *e)
{
    (void)arg, (void)who, (void)e, (void)arguments;
    return buf_cstr(messages, "[]");
}

static const struct resource_extra extra_resources[] = {
    {.shown = {.uri = "test://static"}, .read = read_extra},
    {.shown = {.uri = "test://t/{id}/data"},
     .read = read_extra,
     .complete = complete_extra},
};
static const struct prompt_argument extra_arguments[] = {{"season", NULL, NULL, true}};
static const struct prompt_extra extra_prompts[] = {
    {.shown = {"poem", NULL, NULL, extra_arguments, 1},
     .get = get_extra,
     .complete = complete_extra},
};
static const struct workspaces_options extras = {extra_resources, 2, extra_prompts, 1};

/* ---- the world ---------------------------------------------------------------- */

static void fill(void)
{
    put("work/Meeting/Weekly Sync.md", "---\nid: note-uuid\ntags: [team]\n---\n# Weekly "
                                       "Sync\n\n## Date\n2025-11-29\n\nSee [[Plan]].\n");
    put("work/Plan.md", "---\ntags: [team]\n---\n# Plan\n");
    put("home/Garden.md", "# Garden\n");
}

static int begin(void **state)
{
    (void)state;
    arena = arena_new((size_t)64 << 20);
    return world_begin("work", "home", fill, &extras) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return world_end();
}

static const struct json *parsed(struct buf *b)
{
    struct err e = {0};
    const struct json *v = json_read(buf_view(b), arena, &e);
    if (!v)
        fail_msg("%s in %s", e.msg, buf_cz(b));
    return v;
}

static const char *text_of(const struct json *v)
{
    struct err e = {0};
    return str_cz(json_str(v), arena, &e);
}

/* ---- reading -------------------------------------------------------------------- */

static const char *read_as(const struct caller *who, const char *uri, enum err_code code)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, (size_t)16 << 20);
    bool ok = workspaces_read(workspaces, who, str_of(uri), &out, &e);
    if (e.code != code)
        fail_msg("%s: %s", uri, e.msg);
    assert_int_equal(ok, code == ERR_NONE);
    if (!ok)
        return arena_printf(arena, &e, "%s", e.msg);
    const struct json *content = json_at(parsed(&out), 0);
    assert_string_equal(text_of(json_get(content, "uri")), uri);
    return text_of(json_get(content, "text"));
}

static const char *read_text(const char *uri)
{
    return read_as(&person, uri, ERR_NONE);
}

static void a_note_is_read_by_any_spelling_of_its_name(void **state)
{
    (void)state;
    static const char *const uris[] = {"ieapp://work/notes/Meeting%2FWeekly%20Sync",
                                       "ieapp://work/notes/Meeting/Weekly Sync",
                                       "ieapp://work/notes/note-uuid",
                                       "ieapp://work/notes/Weekly%20Sync"};
    for (size_t i = 0; i < LENGTH(uris); i++)
        assert_true(str_ends(str_of(read_text(uris[i])),
                             "# Weekly Sync\n\n## Date\n2025-11-29\n\nSee [[Plan]].\n"));
    assert_true(str_starts(str_of(read_text(uris[0])), "---\nid: note-uuid\n"));
}

#define TAGS                                                    \
    "{\"name\":\"tags\",\"type\":\"array\",\"required\":false," \
    "\"inferred\":true,\"notes\":1}"

static void the_seeds_shapes_are_kept(void **state)
{
    (void)state;
    struct err e = {0};
    const struct json *rows =
        json_read(str_of(read_text("ieapp://work/notes/list")), arena, &e);
    assert_int_equal(json_length(rows), 2);
    const struct json *row = json_at(rows, 0);
    assert_string_equal(text_of(json_get(row, "id")), "Meeting/Weekly Sync");
    assert_string_equal(text_of(json_get(row, "title")), "Weekly Sync");
    assert_string_equal(text_of(json_get(row, "class")), "Meeting");
    assert_string_equal(text_of(json_get(json_get(row, "properties"), "Date")),
                        "2025-11-29\n\nSee [[Plan]].");
    assert_int_equal(json_str(json_get(row, "updated_at")).n, 24);
    assert_string_equal(read_text("ieapp://work/links"),
                        "[{\"source\":\"Meeting/Weekly Sync\",\"target\":\"note/Plan\","
                        "\"text\":\"Plan\",\"kind\":\"wiki\",\"line\":6}]");
    assert_string_equal(read_text("ieapp://work/classes"),
                        "[{\"name\":\"Meeting\",\"description\":\"\",\"fields\":[{"
                        "\"name\":\"Date\",\"type\":\"string\",\"required\":false,"
                        "\"inferred\":true,\"notes\":1}," TAGS "]},"
                        "{\"name\":\"note\",\"description\":\"\",\"fields\":[" TAGS
                        "]}]");
    assert_string_equal(read_text("ieapp://work/notes/note%2FPlan/history"), "[]");
}

static void classes_tell_the_fields_of_their_schema(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 65536);
    struct work *w = work_begin(actions, &person, STR("home"), "test", &e);
    assert_non_null(w);
    assert_true(work_call(
        w, "noteTypes.create",
        STR("[{\"type_name\":\"task\",\"description\":\"To do\",\"metadata_schema\":"
            "{\"type\":\"object\",\"properties\":{\"due\":{\"type\":\"string\"},"
            "\"prio\":{\"type\":[\"integer\",\"null\"]}},\"required\":[\"due\"]}}]"),
        &out, &e));
    work_end(w, NULL);
    assert_non_null(strstr(
        read_text("ieapp://home/classes"),
        "{\"name\":\"task\",\"description\":\"To do\",\"fields\":[{\"name\":\"due\",\"type\":"
        "\"string\",\"required\":true},{\"name\":\"prio\",\"type\":[\"integer\",\"null\"],"
        "\"required\":false}]}"));
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    static const char *const uris[] = {
        "ieapp://work/notes/none",
        "ieapp://work/notes/..%2F..%2Fhome%2FGarden",
        "ieapp://nowhere/notes/list",
        "ieapp://work/notes/",
        "ieapp://work/notes/%00",
        "ieapp://work/notes/%ff",
        "ieapp://work/notes/%2",
        "ieapp://work/other",
        "ieapp://work",
        "ieapp://",
        "ieapp:///notes/list",
        "test://t//data",
        "test://t/a/b/data",
        "cloche://results/none",
        "",
    };
    for (size_t i = 0; i < LENGTH(uris); i++)
        (void)read_as(&person, uris[i], ERR_NOT_FOUND);
}

static void a_grant_sees_its_own_workspaces_alone(void **state)
{
    (void)state;
    static const char *const only[] = {"home"};
    const struct grant grant = {
        .principal = "token t", .scopes = SCOPE_READ, .vaults = {only, 1, true}};
    const struct caller who = {.name = "http token t", .grant = &grant};
    assert_string_equal(read_as(&who, "ieapp://home/notes/Garden", ERR_NONE),
                        "# Garden\n");
    const char *theirs = read_as(&who, "ieapp://work/notes/Plan", ERR_NOT_FOUND);
    assert_null(strstr(theirs, "there are: home, work"));
    scoped_buf struct buf rows, next, uri;
    buf_init(&rows, 1 << 20);
    buf_init(&next, 1 << 20);
    buf_init(&uri, 1 << 20);
    struct err e = {0};
    assert_true(
        workspaces_list(workspaces, &who, LIST_RESOURCES, STR(""), &rows, &next, &e));
    assert_non_null(strstr(buf_cz(&rows), "ieapp://home/notes/note%2FGarden"));
    assert_null(strstr(buf_cz(&rows), "ieapp://work"));
    assert_false(
        workspaces_follow(workspaces, &who, STR("ieapp://work/links"), &uri, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void somebody_elses_resources_get_their_variables(void **state)
{
    (void)state;
    assert_string_equal(read_text("test://static"), "");
    assert_string_equal(read_text("test://t/a%20b/data"), "a b");
}

static void two_of_one_name_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct resource_extra taken = {.shown = {.uri = "cloche://api/declarations"}};
    assert_null(workspaces_open(
        actions, &(struct workspaces_options){.resources = &taken, .resource_count = 1},
        &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    e = (struct err){0};
    taken.shown.uri = "test://{id";
    assert_null(workspaces_open(
        actions, &(struct workspaces_options){.resources = &taken, .resource_count = 1},
        &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    struct prompt_extra prompt = {.shown = {.name = "find_related"}};
    assert_null(workspaces_open(
        actions, &(struct workspaces_options){.prompts = &prompt, .prompt_count = 1},
        &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

/* ---- lists ------------------------------------------------------------------------ */

/* All uris, joined; `between` is called between pages. */
static size_t list_all(struct buf *uris, void (*between)(void))
{
    struct err e = {0};
    scoped_buf struct buf rows, next, place;
    buf_init(&rows, (size_t)8 << 20);
    buf_init(&next, 65536);
    buf_init(&place, 65536);
    size_t pages = 0;
    do {
        buf_clear(&place);
        buf_str(&place, buf_view(&next));
        buf_clear(&rows);
        buf_clear(&next);
        if (!workspaces_list(workspaces, &person, LIST_RESOURCES, buf_view(&place), &rows,
                             &next, &e))
            fail_msg("%s", e.msg);
        assert_in_range(json_length(parsed(&rows)), 0, WORKSPACES_PAGE);
        struct json_iter it = json_iter(parsed(&rows));
        while (json_next(&it))
            buf_printf(uris, "%s\n", text_of(json_get(it.value, "uri")));
        if (between && !pages++)
            between();
    } while (next.n);
    return pages;
}

static void the_list_has_every_workspace_and_note(void **state)
{
    (void)state;
    scoped_buf struct buf uris;
    buf_init(&uris, 1 << 20);
    (void)list_all(&uris, NULL);
    assert_string_equal(buf_cz(&uris),
                        "cloche://api/declarations\ncloche://functions\n"
                        "cloche://functions/declarations\ntest://static\n"
                        "ieapp://home/notes/list\nieapp://home/classes\n"
                        "ieapp://home/links\nieapp://home/notes/note%2FGarden\n"
                        "ieapp://work/notes/list\nieapp://work/classes\n"
                        "ieapp://work/links\n"
                        "ieapp://work/notes/Meeting%2FWeekly%20Sync\n"
                        "ieapp://work/notes/note%2FPlan\n");
}

/* The last row of the first page goes, and one before it comes. */
static void change_something(void)
{
    char path[120];
    (void)snprintf(path, sizeof path, "%s/home/N 0491.md", home);
    assert_int_equal(remove(path), 0);
    put("home/A new one.md", "x");
}

static void pages_lose_nothing_while_notes_come_and_go(void **state)
{
    (void)state;
    char name[64];
    for (unsigned i = 0; i < 1200; i++) {
        (void)snprintf(name, sizeof name, "home/N %04u.md", i);
        put(name, "x");
    }
    scoped_buf struct buf uris;
    buf_init(&uris, 1 << 20);
    assert_int_equal(list_all(&uris, change_something), 3);
    for (unsigned i = 0; i < 1200; i++) {
        (void)snprintf(name, sizeof name, "ieapp://home/notes/note%%2FN%%20%04u\n", i);
        const char *at = strstr(buf_cz(&uris), name);
        assert_non_null(at);
        assert_null(strstr(at + 1, name));
    }
    assert_non_null(strstr(buf_cz(&uris), "work/notes/note%2FPlan\n"));
}

static void a_place_of_no_list_is_refused(void **state)
{
    (void)state;
    static const char *const places[] = {"x", "snope", "w", "wwork"};
    scoped_buf struct buf rows, next;
    buf_init(&rows, 1 << 20);
    buf_init(&next, 1 << 20);
    for (size_t i = 1; i < LENGTH(places); i++) {
        struct err e = {0};
        bool ok = workspaces_list(workspaces, &person, LIST_RESOURCES, str_of(places[i]),
                                  &rows, &next, &e);
        assert_int_equal(ok, i == 2);
        assert_int_equal(e.code, i == 2 ? ERR_NONE : ERR_INVALID);
    }
}

/* ---- prompts ------------------------------------------------------------------------ */

static const char *prompt(const char *name, const char *arguments, enum err_code code)
{
    struct err e = {0};
    struct str description;
    scoped_buf struct buf out;
    buf_init(&out, (size_t)4 << 20);
    const struct json *args = arguments ? json_read(str_of(arguments), arena, &e) : NULL;
    bool ok = workspaces_prompt(workspaces, &person, str_of(name), args, &description,
                                &out, &e);
    if (e.code != code)
        fail_msg("%s: %s", name, e.msg);
    return arena_printf(arena, &e, "%s", ok ? buf_cz(&out) : e.msg);
}

static void prompts_hold_the_seeds_sentences_and_the_data(void **state)
{
    (void)state;
    const char *text =
        prompt("summarize_workspace", "{\"workspace_id\":\"work\"}", ERR_NONE);
    assert_non_null(strstr(text,
                           "Read the index of the workspace and provide a high-level "
                           "summary of the topics covered."));
    assert_non_null(strstr(text, "ieapp://work/notes/list"));
    assert_non_null(strstr(text, "Weekly Sync"));
    text = prompt("analyze_meetings", NULL, ERR_NONE);
    assert_non_null(strstr(text,
                           "Find all notes with class='Meeting' and summarize the key "
                           "decisions."));
    assert_non_null(strstr(text, "## Date"));
    assert_null(strstr(text, "# Plan"));
    text = prompt("find_related", "{\"note_id\":\"note/Plan\"}", ERR_NONE);
    assert_non_null(strstr(
        text, "Given a note ID, find all related notes via links and shared tags."));
    assert_non_null(strstr(text, "shared_tag"));
    assert_non_null(strstr(text, "ieapp://work/notes/note%2FPlan"));
}

static void a_prompt_has_a_limit_however_large_the_notes(void **state)
{
    (void)state;
    scoped_buf struct buf large;
    buf_init(&large, 1 << 20);
    for (unsigned i = 0; i < 60000; i++)
        buf_char(&large, 'x');
    char name[64];
    for (unsigned i = 0; i < 700; i++) {
        (void)snprintf(name, sizeof name, "work/Meeting/Number %u.md", i);
        put(name, i < 5 ? buf_cz(&large) : "short\n");
    }
    const char *text = prompt("analyze_meetings", NULL, ERR_NONE);
    assert_in_range(strlen(text), 20000, 150000);
    assert_non_null(strstr(text, "the resource holds all"));
}

static void wrong_arguments_say_which_are_right(void **state)
{
    (void)state;
    assert_non_null(
        strstr(prompt("none", NULL, ERR_NOT_FOUND), "custom_functions, poem"));
    assert_non_null(strstr(prompt("find_related", NULL, ERR_INVALID), "note_id"));
    assert_non_null(
        strstr(prompt("find_related", "{\"note\":\"x\"}", ERR_INVALID), "note_id"));
    assert_non_null(strstr(prompt("poem", "{\"season\":1}", ERR_INVALID), "string"));
    assert_non_null(strstr(prompt("poem", "{\"season\":\"x\",\"y\":\"\"}", ERR_INVALID),
                           "it takes season"));
    assert_non_null(strstr(prompt("poem", "[]", ERR_INVALID), "object"));
    (void)prompt("find_related", "{\"note_id\":\"none\"}", ERR_INVALID);
    (void)prompt("summarize_workspace", "{\"workspace_id\":\"none\"}", ERR_NOT_FOUND);
    assert_string_equal(prompt("poem", "{\"season\":\"spring\"}", ERR_NONE), "[]");
}

/* ---- completion ------------------------------------------------------------------------ */

static const char *complete_as(const struct caller *who, bool of_prompt, const char *name,
                               const char *argument, const char *begun, const char *known,
                               enum err_code code)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    const struct workspaces_completion c = {
        of_prompt, str_of(name), str_of(argument), str_of(begun),
        known ? json_read(str_of(known), arena, &e) : NULL};
    (void)workspaces_complete(workspaces, who, &c, &out, &e);
    if (e.code != code)
        fail_msg("%s %s: %s", name, argument, e.msg);
    return arena_printf(arena, &e, "%s", buf_cz(&out));
}

static void names_are_completed_the_nearest_first(void **state)
{
    (void)state;
    assert_string_equal(
        complete_as(&person, true, "poem", "season", "SPR", NULL, ERR_NONE),
        "{\"values\":[\"spring\",\"a/spring\",\"s-p-r\"],\"total\":3,"
        "\"hasMore\":false}");
    assert_string_equal(complete_as(&person, true, "find_related", "note_id", "w",
                                    "{\"workspace_id\":\"work\"}", ERR_NONE),
                        "{\"values\":[\"Meeting/Weekly Sync\"],\"total\":1,"
                        "\"hasMore\":false}");
    assert_string_equal(complete_as(&person, false,
                                    "ieapp://{workspace_id}/notes/{note_id}",
                                    "workspace_id", "", NULL, ERR_NONE),
                        "{\"values\":[\"home\",\"work\"],\"total\":2,\"hasMore\":false}");
    assert_string_equal(
        complete_as(&person, true, "summarize_workspace", "class", "mee", NULL, ERR_NONE),
        "{\"values\":[\"Meeting\"],\"total\":1,\"hasMore\":false}");
}

static void completion_tells_a_grant_only_of_its_own(void **state)
{
    (void)state;
    static const char *const only[] = {"home"};
    const struct grant grant = {
        .principal = "token t", .scopes = SCOPE_READ, .vaults = {only, 1, true}};
    const struct caller who = {.name = "http token t", .grant = &grant};
    assert_string_equal(
        complete_as(&who, true, "find_related", "workspace_id", "", NULL, ERR_NONE),
        "{\"values\":[\"home\"],\"total\":1,\"hasMore\":false}");
    assert_string_equal(complete_as(&who, true, "find_related", "note_id", "",
                                    "{\"workspace_id\":\"work\"}", ERR_NONE),
                        "{\"values\":[],\"total\":0,\"hasMore\":false}");
}

static void a_hundred_values_are_told_and_that_there_are_more(void **state)
{
    (void)state;
    char name[64];
    for (unsigned i = 0; i < 150; i++) {
        (void)snprintf(name, sizeof name, "home/N %04u.md", i);
        put(name, "x");
    }
    const char *text = complete_as(&person, true, "find_related", "note_id", "note/n ",
                                   "{\"workspace_id\":\"home\"}", ERR_NONE);
    assert_non_null(strstr(text, "\"total\":150,\"hasMore\":true"));
    struct err e = {0};
    assert_int_equal(json_length(json_get(json_read(str_of(text), arena, &e), "values")),
                     COMPLETION_MAX);
}

static void what_has_no_such_argument_is_refused(void **state)
{
    (void)state;
    (void)complete_as(&person, true, "none", "x", "", NULL, ERR_NOT_FOUND);
    (void)complete_as(&person, true, "poem", "x", "", NULL, ERR_INVALID);
    (void)complete_as(&person, false, "test://t/{id}/data", "x", "", NULL, ERR_INVALID);
    (void)complete_as(&person, false, "test://none", "x", "", NULL, ERR_NOT_FOUND);
    assert_string_equal(
        complete_as(&person, false, "cloche://results/{id}", "id", "", NULL, ERR_NONE),
        "{\"values\":[],\"total\":0,\"hasMore\":false}");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_note_is_read_by_any_spelling_of_its_name),
        T(the_seeds_shapes_are_kept),
        T(classes_tell_the_fields_of_their_schema),
        T(what_is_not_there_is_not_found),
        T(a_grant_sees_its_own_workspaces_alone),
        T(somebody_elses_resources_get_their_variables),
        T(two_of_one_name_are_refused),
        T(the_list_has_every_workspace_and_note),
        T(pages_lose_nothing_while_notes_come_and_go),
        T(a_place_of_no_list_is_refused),
        T(prompts_hold_the_seeds_sentences_and_the_data),
        T(a_prompt_has_a_limit_however_large_the_notes),
        T(wrong_arguments_say_which_are_right),
        T(names_are_completed_the_nearest_first),
        T(completion_tells_a_grant_only_of_its_own),
        T(a_hundred_values_are_told_and_that_there_are_more),
        T(what_has_no_such_argument_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
