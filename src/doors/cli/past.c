/* cloche log, undo, history, restore and trash: what was changed, and the way back. */
#include <stdio.h>

#include "cli/ask.h"

struct past {
    struct asking a;
    const char *call, *since, *agent;
    bool diff, dry_run;
};

/* ---- log ------------------------------------------------------------------- */

static void print_change(const struct json *change)
{
    struct str old = json_str(json_get(change, "old_path"));
    printf("  %-8.*s %.*s", SPELT_ARGS(json_str(json_get(change, "action"))),
           SPELT_ARGS(json_str(json_get(change, "id"))));
    if (old.n)
        printf("  (was %.*s)", SPELT_ARGS(old));
    putchar('\n');
    ask_print_diff(json_str(json_get(change, "diff")));
}

static void print_call(const struct json *row)
{
    char time[ASK_TIME];
    struct str call = json_str(json_get(row, "call"));
    long long notes = json_int(json_get(row, "notes"), 0);
    printf("%-24.*s  %s  %-12.*s %lld note%s\n", SPELT_ARGS(call.n ? call : STR("-")),
           ask_time(json_str(json_get(row, "time")), time),
           SPELT_ARGS(json_str(json_get(row, "author"))), notes, notes == 1 ? "" : "s");
    struct json_iter it = json_iter(json_get(row, "changes"));
    while (json_next(&it))
        print_change(it.value);
    long long more = json_int(json_get(row, "more"), 0);
    if (more)
        printf("  and %lld changes more\n", more);
}

static bool show_log(void *command, struct err *e)
{
    struct past *p = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    buf_cstr(&path, "/log");
    asking_put(&path, "call", p->call);
    asking_put(&path, "since", p->since);
    asking_put(&path, "agent", p->agent);
    asking_put(&path, "diff", p->diff ? "true" : NULL);
    if (!asking_list(&p->a, &path, "20", e))
        return false;
    struct json_iter it = json_iter(p->a.answer);
    if (asking_print_json(&p->a))
        return true;
    while (json_next(&it))
        print_call(it.value);
    return true;
}

/* ---- undo ------------------------------------------------------------------ */

static void print_refused(const struct json *row)
{
    struct str by = json_str(json_get(row, "changed_by"));
    printf("stays    %.*s: %.*s", SPELT_ARGS(json_str(json_get(row, "id"))),
           SPELT_ARGS(json_str(json_get(row, "reason"))));
    if (by.n)
        printf(" (by %.*s)", SPELT_ARGS(by));
    printf("\n  what the call did:\n");
    ask_print_diff(json_str(json_get(row, "diff")));
    printf("  what came since:\n");
    ask_print_diff(json_str(json_get(row, "diff_since")));
}

static void print_undone(const struct json *answer)
{
    bool dry = json_bool(json_get(answer, "dry_run"), false);
    struct json_iter it = json_iter(json_get(answer, dry ? "changes" : "notes"));
    while (json_next(&it)) {
        printf("%-8.*s %.*s\n", SPELT_ARGS(json_str(json_get(it.value, "action"))),
               SPELT_ARGS(json_str(json_get(it.value, "id"))));
        ask_print_diff(json_str(json_get(it.value, "diff")));
    }
    it = json_iter(json_get(answer, "refused"));
    while (json_next(&it))
        print_refused(it.value);
    long long count = dry ? (long long)json_length(json_get(answer, "changes"))
                          : (long long)json_int(json_get(answer, "undone"), 0);
    printf("%lld note%s %s, %lld stay\n", count, count == 1 ? "" : "s",
           dry ? "would be as before" : "as before",
           (long long)json_int(json_get(answer, "kept"), 0));
}

static bool past_undo(void *command, struct err *e)
{
    struct past *p = command;
    if (p->call && p->a.words[0])
        return err_set(e, ERR_INVALID, "--call is given beside a CALL");
    p->call = p->a.words[0] ? p->a.words[0] : p->call;
    if (!p->call && !p->since && !p->agent)
        return err_set(e, ERR_INVALID,
                       "give what to undo: a CALL (cloche log lists them), --since 1h or "
                       "--agent NAME; --dry-run shows what would come of it");
    scoped_buf struct buf body = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&body);
    json_open_object(&w);
    if (p->call)
        json_pair_cstr(&w, "call", p->call);
    if (p->since)
        json_pair_cstr(&w, "since", p->since);
    if (p->agent)
        json_pair_cstr(&w, "agent", p->agent);
    if (p->dry_run)
        json_pair_bool(&w, "dry_run", true);
    json_close(&w);
    if (!buf_check(&body, "the request", e) ||
        !asking_ask(&p->a, "POST", "/undo", buf_cz(&body), e))
        return false;
    if (!asking_print_json(&p->a))
        print_undone(p->a.answer);
    p->a.exit = json_int(json_get(p->a.answer, "kept"), 0) ? EXIT_FAILED : EXIT_DONE;
    return true;
}

/* ---- history, restore ------------------------------------------------------ */

static bool show_history(void *command, struct err *e)
{
    struct past *p = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    if (!asking_put_note(&p->a, &path, "/history", e) ||
        !asking_list(&p->a, &path, "100", e))
        return false;
    if (asking_print_json(&p->a))
        return true;
    struct json_iter it = json_iter(p->a.answer);
    while (json_next(&it)) {
        char time[ASK_TIME];
        printf("%5lld  %s  %-12.*s %-8.*s %7lld  %.*s\n",
               (long long)json_int(json_get(it.value, "revision"), 0),
               ask_time(json_str(json_get(it.value, "updated_at")), time),
               SPELT_ARGS(json_str(json_get(it.value, "author"))),
               SPELT_ARGS(json_str(json_get(it.value, "action"))),
               (long long)json_int(json_get(it.value, "size"), 0),
               SPELT_ARGS(json_str(json_get(it.value, "summary"))));
    }
    return true;
}

/* The last revision that is not what the note holds now: of a deleted one the last. */
static bool find_revision(struct asking *a, long long *out, struct err *e)
{
    struct err none = {0};
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    if (!asking_put_note(a, &path, "", e))
        return false;
    struct str now = asking_ask(a, "GET", buf_cz(&path), NULL, &none)
                         ? json_str(json_get(a->answer, "content_hash"))
                         : STR("");
    buf_cstr(&path, "/history?limit=1000");
    if (!buf_check(&path, "the request", e) ||
        !asking_ask(a, "GET", buf_cz(&path), NULL, e))
        return false;
    struct json_iter it = json_iter(a->answer);
    while (json_next(&it))
        if (!str_eq(json_str(json_get(it.value, "content_hash")), now)) {
            *out = json_int(json_get(it.value, "revision"), 0);
            return true;
        }
    return err_set(e, ERR_NOT_FOUND,
                   "the note has no other revision than its current "
                   "contents");
}

static bool past_restore(void *command, struct err *e)
{
    struct past *p = command;
    long long revision;
    const char *given = p->a.words[1];
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    if (given ? !options_number("REVISION", given, 1, 999999999, &revision, e)
              : !find_revision(&p->a, &revision, e))
        return false;
    if (!asking_put_note(&p->a, &path, "/history/", e))
        return false;
    buf_printf(&path, "%lld/restore", revision);
    if (!buf_check(&path, "the request", e) ||
        !asking_ask(&p->a, "POST", buf_cz(&path), NULL, e))
        return false;
    if (!asking_print_json(&p->a))
        printf("%.*s is as in revision %lld\n",
               SPELT_ARGS(json_str(json_get(p->a.answer, "id"))), revision);
    return true;
}

/* ---- trash ----------------------------------------------------------------- */

static bool show_trash(void *command, struct err *e)
{
    struct past *p = command;
    scoped_buf struct buf path = buf_of(BUF_TEXT);
    buf_cstr(&path, "/trash");
    if (!asking_list(&p->a, &path, "100", e))
        return false;
    if (asking_print_json(&p->a))
        return true;
    struct json_iter it = json_iter(p->a.answer);
    while (json_next(&it)) {
        char time[ASK_TIME];
        printf("%s %8lld  %.*s\n",
               ask_time(json_str(json_get(it.value, "deleted_at")), time),
               (long long)json_int(json_get(it.value, "size"), 0),
               SPELT_ARGS(json_str(json_get(it.value, "id"))));
    }
    return true;
}

/* ---- the commands ---------------------------------------------------------- */

#define CALL_ROW(p) OPTION_VALUE("--call", &(p).call, "ID", "only this call")
#define SINCE_ROW(p)                            \
    OPTION_VALUE("--since", &(p).since, "TIME", \
                 "from then on: 30m, 1h, 2d ago, or a date")
#define AGENT_ROW(p) \
    OPTION_VALUE("--agent", &(p).agent, "NAME", "only calls by this caller")

int command_log(int argc, char **argv)
{
    struct past p = {0};
    const struct option_row rows[] = {
        ASK_VAULT(p.a),
        CALL_ROW(p),
        SINCE_ROW(p),
        AGENT_ROW(p),
        OPTION_FLAG("--diff", &p.diff, "and what changed in each note"),
        ASK_LIMIT(p.a),
        ASK_JSON(p.a),
        ASK_HELP(p.a)};
    struct option_use use = {
        .usage = "cloche log [OPTIONS]\n\nTells which calls changed notes, the last one "
                 "first: their ids, which cloche undo\ntakes, and each note.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows)};
    return asking_run(&p.a, &use, show_log, &p, argc, argv);
}

int command_undo(int argc, char **argv)
{
    struct past p = {0};
    const struct option_row rows[] = {
        ASK_VAULT(p.a),
        CALL_ROW(p),
        SINCE_ROW(p),
        AGENT_ROW(p),
        OPTION_FLAG("--dry-run", &p.dry_run,
                    "show what would change, and change nothing"),
        ASK_JSON(p.a),
        ASK_HELP(p.a)};
    struct option_use use = {
        .usage =
            "cloche undo (CALL | --since TIME | --agent NAME) [OPTIONS]\n\nTakes "
            "back what calls did to notes, as one change, links included. A note that\n"
            "somebody changed since stays, and both versions are shown; the exit code "
            "is then 1.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&p.a, &use, past_undo, &p, argc, argv);
}

int command_history(int argc, char **argv)
{
    struct past p = {0};
    const struct option_row rows[] = {ASK_VAULT(p.a), ASK_LIMIT(p.a), ASK_JSON(p.a),
                                      ASK_HELP(p.a)};
    struct option_use use = {
        .usage =
            "cloche history NOTE [OPTIONS]\n\nLists the revisions of a note, also of a deleted "
            "one: revision, time, author,\naction, bytes.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&p.a, &use, show_history, &p, argc, argv);
}

int command_restore(int argc, char **argv)
{
    struct past p = {0};
    const struct option_row rows[] = {ASK_VAULT(p.a), ASK_JSON(p.a), ASK_HELP(p.a)};
    struct option_use use = {
        .usage =
            "cloche restore NOTE [REVISION] [OPTIONS]\n\nTakes a note back to a revision, or "
            "out of the trash. Without a REVISION that is the\nlast one that differs from "
            "what the note holds now. What it holds is kept as a revision.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 2};
    return asking_run(&p.a, &use, past_restore, &p, argc, argv);
}

int command_trash(int argc, char **argv)
{
    struct past p = {0};
    const struct option_row rows[] = {ASK_VAULT(p.a), ASK_LIMIT(p.a), ASK_JSON(p.a),
                                      ASK_HELP(p.a)};
    struct option_use use = {
        .usage = "cloche trash [OPTIONS]\n\nLists deleted notes, most recently "
                 "deleted first; cloche restore NOTE takes one back.",
        .pages = true,
        .rows = rows,
        .count = LENGTH(rows)};
    return asking_run(&p.a, &use, show_trash, &p, argc, argv);
}
