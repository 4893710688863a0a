/* cloche search, get and ls: notes, as a person looks for them. */
#include <stdio.h>

#include "cli/ask.h"

struct look {
    struct asking a;
    const char *type;
    bool attachments, orphans;
};

static bool look_get(struct look *l, struct buf *path, const char *limit, struct err *e)
{
    asking_put(path, "class", l->type);
    return asking_list(&l->a, path, limit, e);
}

/* One a line: what a pipe takes is the id alone. */
static void note_print(const struct json *row, const char *date, bool terminal)
{
    char time[ASK_TIME];
    struct str id = json_str(json_get(row, "id")),
               excerpt = json_str(json_get(row, "excerpt"));
    if (!terminal) {
        printf("%.*s\n", SPELT_ARGS(id));
        return;
    }
    if (date)
        printf("%s  ", ask_time(json_str(json_get(row, date)), time));
    printf("%.*s\n", SPELT_ARGS(id));
    if (excerpt.n)
        printf("    %.*s\n", SPELT_ARGS(str_cut(excerpt, 160)));
}

static bool notes_print(const struct asking *a, const char *date)
{
    struct json_iter it = json_iter(a->answer);
    if (asking_print_json(a))
        return true;
    bool terminal = ask_is_terminal();
    while (json_next(&it))
        note_print(it.value, date, terminal);
    return true;
}

static bool look_search(void *command, struct err *e)
{
    struct look *l = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    scoped_buf struct buf words = buf_of(BUF_TEXT / 8);
    for (size_t i = 0; i < ASK_WORDS_MAX && l->a.words[i]; i++)
        buf_printf(&words, "%s%s", i ? " " : "", l->a.words[i]);
    if (words.failed)
        return err_set(e, ERR_INVALID, "the words to look for are too many");
    if (!words.n)
        return err_set(e, ERR_INVALID, "give WORDS that the notes have");
    buf_cstr(&path, "/search");
    asking_put(&path, "q", buf_cz(&words));
    return look_get(l, &path, "20", e) && notes_print(&l->a, NULL);
}

/* A path in each line; with its size, the time of its last change and its links. */
static bool list_attachments(struct look *l, struct err *e)
{
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    buf_printf(&path, "/attachments?orphans=%s", l->orphans ? "true" : "false");
    if (!asking_list(&l->a, &path, "1000", e))
        return false;
    if (asking_print_json(&l->a))
        return true;
    struct json_iter it = json_iter(l->a.answer);
    while (json_next(&it)) {
        char time[ASK_TIME];
        if (ask_is_terminal())
            printf("%s  %10lld  %3lld  ",
                   ask_time(json_str(json_get(it.value, "updated")), time),
                   (long long)json_int(json_get(it.value, "size"), 0),
                   (long long)json_int(json_get(it.value, "links"), 0));
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(it.value, "path"))));
    }
    return true;
}

static bool look_list(void *command, struct err *e)
{
    struct look *l = command;
    if (l->attachments || l->orphans)
        return list_attachments(l, e);
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    buf_cstr(&path, "/notes?fields=id,title,class,updated_at,tags,path");
    return look_get(l, &path, "1000", e) && notes_print(&l->a, "updated_at");
}

static bool look_show(void *command, struct err *e)
{
    struct look *l = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    if (!asking_put_note(&l->a, &path, "", e) || !buf_check(&path, "the request", e) ||
        !asking_ask(&l->a, "GET", buf_cz(&path), NULL, e))
        return false;
    if (!asking_print_json(&l->a))
        cli_put(json_str(json_get(l->a.answer, "markdown")));
    return true;
}

#define TYPE_ROW(l) OPTION_VALUE("--type", &(l).type, "TYPE", "only notes of this type")

int command_search(int argc, char **argv)
{
    struct look l = {.a.brief = true};
    const struct option_row rows[] = {ASK_VAULT(l.a), TYPE_ROW(l), ASK_LIMIT(l.a),
                                      ASK_JSON(l.a), ASK_HELP(l.a)};
    struct option_use use = {
        .usage = "cloche search WORDS... [OPTIONS]\n\nFinds notes by their words, "
                 "best match first; the last word may be incomplete. A pipe gets only "
                 "ids.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows),
        .max = ASK_WORDS_MAX - 1};
    return asking_run(&l.a, &use, look_search, &l, argc, argv);
}

int command_get(int argc, char **argv)
{
    struct look l = {.a.brief = true};
    const struct option_row rows[] = {ASK_VAULT(l.a), ASK_JSON(l.a), ASK_HELP(l.a)};
    struct option_use use = {
        .usage =
            "cloche get NOTE [OPTIONS]\n\nPrints a note's file, named by its id, path "
            "or title.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&l.a, &use, look_show, &l, argc, argv);
}

int command_ls(int argc, char **argv)
{
    struct look l = {.a.brief = true};
    const struct option_row rows[] = {
        ASK_VAULT(l.a),
        TYPE_ROW(l),
        OPTION_FLAG("--attachments", &l.attachments, "files that are no notes, by path"),
        OPTION_FLAG("--orphans", &l.orphans, "attachments that no link leads to"),
        ASK_LIMIT(l.a),
        ASK_JSON(l.a),
        ASK_HELP(l.a)};
    struct option_use use = {
        .usage =
            "cloche ls [OPTIONS]\n\nLists notes, the one updated last first, 1,000 at "
            "most. Into a pipe go ids alone; of attachments their paths, with size and "
            "number of links on a terminal.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows)};
    return asking_run(&l.a, &use, look_list, &l, argc, argv);
}
