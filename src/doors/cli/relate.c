/* cloche links, tags and tasks: what stands in notes, and how they belong together. */
#include <stdio.h>

#include "cli/ask.h"

struct relating {
    struct asking a;
    bool broken, dry_run;
    bool done, all; /* of tasks */
    const char *tag, *before;
};

/* ---- links ----------------------------------------------------------------- */

#define AROUND                                                           \
    "const note = await notes.get(name);\n"                              \
    "if (!note) throw new Error('there is no note \"' + name + '\"');\n" \
    "return await links.getForNote(note.id);"

static void print_link(const struct json *row, const char *arrow, const char *end)
{
    struct str other = json_str(json_get(row, end));
    bool broken = json_is(json_get(row, "target_note_id"), JSON_NULL);
    if (!ask_is_terminal()) {
        printf("%s\t%.*s\n", arrow,
               SPELT_ARGS(broken ? json_str(json_get(row, "target")) : other));
        return;
    }
    printf("%s %.*s", arrow,
           SPELT_ARGS(broken ? json_str(json_get(row, "target")) : other));
    printf("%s\n",
           broken && !json_bool(json_get(row, "file"), false) ? "  (broken)" : "");
}

static void print_broken(const struct json *row)
{
    struct str target = json_str(json_get(row, "target")),
               fragment = json_str(json_get(row, "fragment"));
    bool more = fragment.n && !memchr(target.at, '#', target.n);
    printf("%.*s\t%.*s%s%.*s", SPELT_ARGS(json_str(json_get(row, "source_note_id"))),
           SPELT_ARGS(target), more ? "#" : "", SPELT_ARGS(more ? fragment : STR("")));
    if (ask_is_terminal())
        printf("\t(%.*s)", SPELT_ARGS(json_str(json_get(row, "reason"))));
    putchar('\n');
}

static bool relate_links(void *command, struct err *e)
{
    struct relating *r = command;
    scoped_buf struct buf context = buf_of(BUF_TEXT);
    if (!r->broken && !r->a.words[0])
        return err_set(e, ERR_INVALID, "give a NOTE, or --broken");
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_cstr(&w, "name", r->a.words[0] ? r->a.words[0] : "");
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&r->a, r->broken ? "return await links.findBroken()" : AROUND,
                         buf_cz(&context), e))
        return false;
    if (asking_print_json(&r->a))
        return true;
    struct json_iter it = json_iter(r->a.answer);
    while (r->broken && json_next(&it))
        print_broken(it.value);
    it = json_iter(json_get(r->a.answer, "outgoing_internal"));
    while (json_next(&it))
        print_link(it.value, "->", "target_note_id");
    it = json_iter(json_get(r->a.answer, "outgoing_external"));
    while (json_next(&it))
        print_link(it.value, "->", "url");
    it = json_iter(json_get(r->a.answer, "incoming"));
    while (json_next(&it))
        print_link(it.value, "<-", "source_note_id");
    return true;
}

/* ---- tags ------------------------------------------------------------------ */

#define TAGS                                                                     \
    "return (await notes.searchSQL({query: 'SELECT tag, count(*) AS notes FROM " \
    "tags GROUP BY tag ORDER BY tag', limit: 10000})).rows;"

static bool list_tags(struct relating *r, struct err *e)
{
    if (!asking_evaluate(&r->a, TAGS, "{}", e))
        return false;
    struct json_iter it = json_iter(r->a.answer);
    if (asking_print_json(&r->a))
        return true;
    while (json_next(&it)) {
        struct str tag = json_str(json_get(it.value, "tag"));
        if (ask_is_terminal())
            printf("%6lld  %.*s\n", (long long)json_int(json_get(it.value, "notes"), 0),
                   SPELT_ARGS(tag));
        else
            printf("%.*s\n", SPELT_ARGS(tag));
    }
    return true;
}

static bool rename_tag(struct relating *r, struct err *e)
{
    scoped_buf struct buf context = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_cstr(&w, "tag", r->a.words[1]);
    json_pair_cstr(&w, "new_tag", r->a.words[2]);
    json_pair_bool(&w, "dry_run", r->dry_run);
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&r->a, "return await notes.renameTag({tag, new_tag, dry_run})",
                         buf_cz(&context), e))
        return false;
    if (asking_print_json(&r->a))
        return true;
    long long notes = r->dry_run
                          ? (long long)json_length(json_get(r->a.answer, "changes"))
                          : (long long)json_int(json_get(r->a.answer, "notes"), 0);
    struct json_iter it = json_iter(json_get(r->a.answer, "changes"));
    while (json_next(&it)) {
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(it.value, "id"))));
        ask_print_diff(json_str(json_get(it.value, "diff")));
    }
    printf("%lld note%s %schanged\n", notes, notes == 1 ? "" : "s",
           r->dry_run ? "would be " : "");
    return true;
}

static bool relate_tags(void *command, struct err *e)
{
    struct relating *r = command;
    if (!r->a.words[0])
        return list_tags(r, e);
    if (strcmp(r->a.words[0], "rename") != 0 || !r->a.words[1] || !r->a.words[2])
        return err_set(e, ERR_INVALID, "give nothing, or rename TAG NEW");
    return rename_tag(r, e);
}

/* ---- tasks ----------------------------------------------------------------- */

static bool put_tasks_options(const struct relating *r, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "o");
    json_open_object(&w);
    json_pair_cstr(&w, "status", r->all ? "all" : r->done ? "done" : "open");
    if (r->tag)
        json_pair_cstr(&w, "tag", r->tag);
    if (r->before)
        json_pair_cstr(&w, "due_before", r->before);
    if (r->a.words[0])
        json_pair_cstr(&w, "query", r->a.words[0]);
    json_close(&w);
    json_close(&w);
    return buf_check(out, "the request", e);
}

static bool relate_tasks(void *command, struct err *e)
{
    struct relating *r = command;
    scoped_buf struct buf context = buf_of(BUF_TEXT);
    if (!put_tasks_options(r, &context, e) ||
        !asking_evaluate(&r->a, "return await notes.tasks(o)", buf_cz(&context), e))
        return false;
    struct json_iter it = json_iter(r->a.answer);
    if (asking_print_json(&r->a))
        return true;
    while (json_next(&it)) {
        struct str status = json_str(json_get(it.value, "status"));
        const char *mark = str_is(status, "open")   ? "[ ]"
                           : str_is(status, "done") ? "[x]"
                                                    : "[-]";
        printf("%s %.*s\t%.*s:%lld\n", mark,
               SPELT_ARGS(json_str(json_get(it.value, "text"))),
               SPELT_ARGS(json_str(json_get(it.value, "note_id"))),
               (long long)json_int(json_get(it.value, "line"), 0));
    }
    return true;
}

/* ---- the commands ---------------------------------------------------------- */

int command_links(int argc, char **argv)
{
    struct relating r = {.a.brief = true};
    const struct option_row rows[] = {
        ASK_VAULT(r.a),
        OPTION_FLAG("--broken", &r.broken, "all links of the vault that lead nowhere"),
        ASK_JSON(r.a), ASK_HELP(r.a)};
    struct option_use use = {
        .usage = "cloche links NOTE | --broken [OPTIONS]\n\nWhere a note links (->), and "
                 "what links to it (<-). With --broken each line has the note and the "
                 "link's target.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&r.a, &use, relate_links, &r, argc, argv);
}

int command_tags(int argc, char **argv)
{
    struct relating r = {.a.brief = true};
    const struct option_row rows[] = {
        ASK_VAULT(r.a),
        OPTION_FLAG("--dry-run", &r.dry_run, "show what rename would change"),
        ASK_JSON(r.a), ASK_HELP(r.a)};
    struct option_use use = {
        .usage = "cloche tags [rename TAG NEW] [OPTIONS]\n\nLists the tags of the vault, "
                 "or gives one, and those beneath it, another name in all notes.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 3};
    return asking_run(&r.a, &use, relate_tags, &r, argc, argv);
}

int command_tasks(int argc, char **argv)
{
    struct relating r = {.a.brief = true};
    const struct option_row rows[] = {
        ASK_VAULT(r.a),
        OPTION_FLAG("--done", &r.done, "those that are done"),
        OPTION_FLAG("--all", &r.all, "whatever their state"),
        OPTION_VALUE("--tag", &r.tag, "TAG", "with this tag in their line"),
        OPTION_VALUE("--due-before", &r.before, "DATE", "due before that day"),
        ASK_JSON(r.a),
        ASK_HELP(r.a)};
    struct option_use use = {
        .usage =
            "cloche tasks [WORDS] [OPTIONS]\n\nLists the open tasks of all notes, those "
            "that are due first, each with its note and line.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&r.a, &use, relate_tasks, &r, argc, argv);
}
