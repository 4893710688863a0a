/* Several renames and moves as one change: the result equals that of the same ones one by
 * one, byte by byte. */
#include "notes/fixture_test.h"

/* ---- vaults by chance ------------------------------------------------------ */

static uint64_t chance;

static size_t pick(size_t n)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(chance >> 33) % n;
}

static const char *const folders[] = {"", "x/", "y/", "x/deep/", "note/"};
static const char *const words[] = {"A",   "B",         "C c", "a",          "D",
                                    "E-e", "\xc3\x84x", "F.f", "It's (two)", "x"};
#define NOTES_MAX 7u

struct made {
    char path[64], title[64];
};

struct world {
    struct made notes[NOTES_MAX];
    size_t count;
};

static const char *one_of(const struct world *w, bool title)
{
    const struct made *m = &w->notes[pick(w->count)];
    return title ? m->title : m->path;
}

static void cut_ending(char *path)
{
    path[strlen(path) - 3] = '\0';
}

/* For "(...)" and "<...>" of links; from the root, or from a folder to its neighbour. */
static void put_target(struct buf *b, const char *path, bool escaped)
{
    static const char *const ways[] = {"", "./", "../", "/", "../x/", "../../"};
    buf_cstr(b, ways[pick(LENGTH(ways))]);
    for (; *path; path++)
        if (escaped && strchr(" ()", *path))
            buf_printf(b, "%%%02X", (unsigned char)*path);
        else
            buf_char(b, *path);
}

static void put_link(struct buf *b, const struct world *w)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s", one_of(w, false));
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    switch (pick(12)) {
    case 0:
        buf_printf(b, "[[%s]] ", one_of(w, true));
        return;
    case 1:
        buf_printf(b, "[[%s|label]] ", path);
        return;
    case 2:
        buf_printf(b, "![[%s]] ", file);
        return;
    case 3:
        cut_ending(path);
        buf_printf(b, "[[%s#Head]] ", file);
        return;
    case 4:
        cut_ending(path);
        buf_printf(b, "[[%s]] ", path);
        return;
    case 5:
        buf_printf(b, "[[note/%s]] ", file);
        return;
    case 6:
        buf_printf(b, "`[[%s]]` <https://example.com/%s> ", file, "A.md");
        return;
    case 7:
        buf_cstr(b, "[[");
        put_target(b, path, false);
        buf_cstr(b, "]] ");
        return;
    case 8:
        buf_cstr(b, "![picture](");
        put_target(b, file, true);
        buf_cstr(b, ") ");
        return;
    case 9:
        buf_cstr(b, "[angle](<");
        put_target(b, path, false);
        buf_cstr(b, ">) ");
        return;
    case 10:
        buf_printf(b, "[[u-%zu]] ", pick(w->count));
        return;
    default:
        buf_cstr(b, "[path](");
        put_target(b, pick(2) ? path : file, true);
        buf_cstr(b, pick(2) ? "#h) " : ") ");
        return;
    }
}

static void put_subnotes(struct buf *b, const struct world *w)
{
    size_t n = pick(4);
    if (n)
        buf_cstr(b, "subnotes:\n");
    for (size_t i = 0; i < n; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s", one_of(w, false));
        cut_ending(path);
        buf_printf(b, pick(2) ? "  - %s\n" : "  - \"[[%s]]\"\n", path);
    }
}

static void put_note(const struct world *w, size_t i)
{
    scoped_buf struct buf b;
    buf_init(&b, 100000);
    bool head = pick(2);
    if (head) {
        buf_cstr(&b, "---\n");
        if (pick(2))
            buf_printf(&b, "title: \"%s\"\n", w->notes[i].title);
        if (pick(2))
            buf_printf(&b, "id: u-%zu\n", i);
        put_subnotes(&b, w);
        buf_cstr(&b, "---\n\n");
    }
    if (pick(2))
        buf_printf(&b, "# %s\n\n", w->notes[i].title);
    for (size_t n = pick(9); n > 0; n--) {
        put_link(&b, w);
        if (pick(4) == 0)
            buf_char(&b, '\n');
    }
    put(w->notes[i].path, buf_cz(&b));
}

static void make_world(struct world *w, uint64_t seed)
{
    chance = seed;
    (void)pick(2);
    *w = (struct world){.count = 2 + pick(NOTES_MAX - 1)};
    for (size_t i = 0; i < w->count; i++) {
        (void)snprintf(w->notes[i].path, sizeof w->notes[i].path, "%s%s.md",
                       folders[pick(LENGTH(folders))], words[pick(LENGTH(words))]);
        (void)snprintf(w->notes[i].title, sizeof w->notes[i].title, "%s",
                       words[pick(LENGTH(words))]);
    }
    for (size_t i = 0; i < w->count; i++)
        put_note(w, i);
}

/* ---- what is there --------------------------------------------------------- */

static const char *run_in_root(const char *command)
{
    struct err e = {0};
    char line[600];
    scoped_buf struct buf out;
    buf_init(&out, 4u << 20);
    (void)snprintf(line, sizeof line, "cd %s && %s", root, command);
    FILE *p = popen(line, "r");
    assert_non_null(p);
    for (size_t n; (n = fread(line, 1, sizeof line, p)) > 0;)
        buf_put(&out, line, n);
    assert_int_equal(pclose(p), 0);
    return arena_printf(arena, &e, "%s", buf_cz(&out));
}

static const char *all_notes(void)
{
    return run_in_root("find . -name '*.md' ! -path './.cloche/*' -print0 | sort -z |"
                       " xargs -0 -r tail -v -n +1");
}

static void remove_notes(void)
{
    (void)run_in_root("find . -mindepth 1 -maxdepth 1 ! -name .cloche -print0 |"
                      " xargs -0 -r rm -rf");
}

/* ---- the same steps, one by one and at once -------------------------------- */

static const char *step_of(const char *id)
{
    struct err e = {0};
    return pick(2) ? arena_printf(arena, &e,
                                  "\"action\": \"rename\", \"new_title\": \"%s\","
                                  " \"identifier\": \"%s\", \"force\": true",
                                  words[pick(LENGTH(words))], id)
                   : arena_printf(arena, &e,
                                  "\"action\": \"move\", \"new_type\": \"%s\","
                                  " \"identifier\": \"%s\", \"force\": true",
                                  pick(2) ? "x" : "y", id);
}

static bool perform(const char *steps, struct err *e)
{
    struct err none = {0};
    return try_call(notes_batch,
                    parse(arena_printf(arena, &none, "{\"changes\": [%s]}", steps)), e);
}

struct comparison {
    size_t done, refused;
};

static void compare(uint64_t seed, struct comparison *c)
{
    struct world w;
    scoped_buf struct buf steps, with_refused;
    buf_init(&steps, 100000);
    buf_init(&with_refused, 100000);
    make_world(&w, seed);
    const char *before = all_notes();
    for (size_t i = 0, n = 2 + pick(6); i < n; i++) {
        const struct json *notes = call(notes_list, "null");
        const char *id = text(json_at(notes, pick(json_length(notes))), "id");
        const char *step = step_of(id);
        struct err e = {0};
        struct buf one;
        buf_init(&one, 1000);
        buf_printf(&one, "{%s}", step);
        if (perform(buf_cz(&one), &e)) {
            buf_printf(&steps, "%s{%s}", steps.n ? ", " : "", step);
            c->done++;
        } else if (!with_refused.n) {
            buf_printf(&with_refused, "%s%s{%s}", steps.n ? buf_cz(&steps) : "",
                       steps.n ? ", " : "", step);
            c->refused++;
        }
        buf_done(&one);
    }
    const char *after = all_notes();
    remove_notes();
    make_world(&w, seed);
    struct err e = {0};
    if (with_refused.n && perform(buf_cz(&with_refused), &e))
        fail_msg("seed %llu: not refused: %s", (unsigned long long)seed,
                 buf_cz(&with_refused));
    assert_string_equal(all_notes(), before);
    e = (struct err){0};
    if (steps.n && !perform(buf_cz(&steps), &e))
        fail_msg("seed %llu: %s: %s", (unsigned long long)seed, e.msg, buf_cz(&steps));
    const char *at_once = all_notes();
    if (strcmp(after, at_once) != 0) {
        (void)fprintf(stderr, "before:\n%s\none by one:\n%s\nat once:\n%s\n", before,
                      after, at_once);
        fail_msg("seed %llu: %s", (unsigned long long)seed, buf_cz(&steps));
    }
    remove_notes();
}

static void renames_at_once_do_what_they_do_one_by_one(void **state)
{
    (void)state;
    struct comparison c = {0};
    const char *more = getenv("CLOCHE_RELINK_SEEDS"); /* for a longer search */
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 25;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        compare(seed, &c);
    assert_true(c.done > seeds && c.refused > seeds / 10);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(renames_at_once_do_what_they_do_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
