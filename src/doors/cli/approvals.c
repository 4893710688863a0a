/* cloche approvals: what waits for your word, and saying it. */
#include <stdio.h>
#include <time.h>

#include "approvals/approvals.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/subcommand.h"
#include "cli/tool.h"
#include "desk/desk.h"
#include "guard/guard.h"
#include "json/json.h"

#define LIST_MAX ((size_t)64 << 20)
#define LOOK_MS 300 /* between looks for more */

struct approvals_command {
    const char *words[3]; /* the verb, and which */
    const char *remember, *reason, *url;
    bool json, follow, help;
    struct approvals *store;
};

/* ---- list ------------------------------------------------------------------- */

static void print_entry(const struct json *entry, bool as_json)
{
    scoped_buf struct buf text = buf_of(LIST_MAX);
    if (as_json) {
        struct json_writer w = json_writer(&text);
        json_put(&w, entry);
        buf_char(&text, '\n');
    } else {
        approvals_tell(entry, &text);
    }
    cli_put(buf_view(&text));
}

static bool read_list(struct approvals_command *c, struct buf *text,
                      const struct json **out, struct arena *a, struct err *e)
{
    buf_clear(text);
    if (!approvals_list(c->store, text, e))
        return false;
    *out = json_read(buf_view(text), a, e);
    return *out != NULL;
}

static bool approvals_print(struct approvals_command *c, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(4 * LIST_MAX);
    scoped_buf struct buf text = buf_of(LIST_MAX);
    const struct json *all;
    if (!read_list(c, &text, &all, a, e))
        return false;
    if (c->json) {
        cli_put_line(buf_view(&text));
        return true;
    }
    struct json_iter it = json_iter(all);
    for (bool first = true; json_next(&it); first = false) {
        if (!first)
            printf("\n");
        print_entry(it.value, false);
    }
    if (json_length(all) == 0)
        printf("no request waits for your approval\n");
    else
        printf("\ncloche approvals allow ID [--remember session|always], or deny ID\n");
    return true;
}

/* The ids that were printed, each followed by a space. */
static bool is_told(const struct buf *told, struct str id)
{
    for (size_t at = 0; at + APPROVAL_ID <= told->n; at += APPROVAL_ID)
        if (!memcmp(told->at + at, id.at, APPROVAL_ID - 1))
            return true;
    return false;
}

static bool tell_new(struct approvals_command *c, struct buf *told, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(4 * LIST_MAX);
    scoped_buf struct buf text, now;
    buf_init(&text, LIST_MAX);
    buf_init(&now, LIST_MAX);
    const struct json *all;
    if (!read_list(c, &text, &all, a, e))
        return false;
    struct json_iter it = json_iter(all);
    while (json_next(&it)) {
        struct str id = json_str(json_get(it.value, "id"));
        if (!is_told(told, id)) {
            print_entry(it.value, c->json);
            if (!c->json)
                printf("\n");
        }
        buf_str(&now, id);
        buf_char(&now, ' ');
    }
    buf_clear(told);
    buf_str(told, buf_view(&now));
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* Prints each as it comes, until it is stopped or nobody reads any more. */
static bool approvals_follow(struct approvals_command *c, struct err *e)
{
    scoped_buf struct buf told = buf_of(LIST_MAX);
    for (uint64_t before = 0;;) {
        uint64_t now = approvals_state(c->store);
        if (now != before && !tell_new(c, &told, e))
            return !e->code;
        before = now;
        (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000L}, NULL);
    }
}

/* ---- allow, deny, edit ------------------------------------------------------------ */

static bool approval_decide(struct approvals_command *c, bool allow, struct err *e)
{
    enum approval_memory memory = APPROVAL_CALL;
    if (c->remember && (!allow || !approval_memory_named(str_of(c->remember), &memory)))
        return err_set(e, ERR_INVALID,
                       "--remember goes with allow, and call, session and always are "
                       "accepted, not '%.40s'",
                       c->remember);
    if (c->reason && allow)
        return err_set(e, ERR_INVALID, "--reason goes with deny");
    struct ward *ward = NULL;
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    scoped_toolbox struct toolbox box = {0};
    if (!g || !toolbox_open(&box, e) ||
        !desk_decide(g, c->store, box.catalogue, &tool_progress, str_of(c->words[1]),
                     allow, memory, str_of(c->reason ? c->reason : ""), "terminal", e))
        return false;
    printf("%s %s%s%s\n", c->words[1], allow ? "allowed" : "denied",
           allow ? ", for " : "",
           !allow                       ? ""
           : memory == APPROVAL_CALL    ? "this call"
           : memory == APPROVAL_SESSION ? "this session"
                                        : "always: 'cloche tool permit' takes it back");
    return true;
}

static bool allow(void *command, struct err *e)
{
    return approval_decide(command, true, e);
}

static bool deny(void *command, struct err *e)
{
    return approval_decide(command, false, e);
}

static bool edit(void *command, struct err *e)
{
    const struct approvals_command *c = command;
    struct ward *ward = NULL;
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    const struct json *arguments = g ? json_read(str_of(c->words[2]), arena, e) : NULL;
    if (!arguments ||
        !desk_edit(g, c->store, str_of(c->words[1]), arguments, "terminal", e))
        return false;
    printf("%s edited: the call asks again, with what these arguments would change\n",
           c->words[1]);
    return true;
}

static bool approval_show(void *command, struct err *e)
{
    struct approvals_command *c = command;
    return c->follow ? approvals_follow(c, e) : approvals_print(c, e);
}

static bool link_page(void *command, struct err *e)
{
    const struct approvals_command *c = command;
    return person_link(c->url, e);
}

static const struct verb verbs[] = {
    {.name = "list", .only = "--follow", .run = approval_show},
    {.name = "allow", .takes = "an ID", .least = 1, .most = 1, .run = allow},
    {.name = "deny", .takes = "an ID", .least = 1, .most = 1, .run = deny},
    {.name = "edit",
     .takes = "an ID, and arguments as JSON",
     .least = 2,
     .most = 2,
     .run = edit},
    {.name = "link", .run = link_page},
};

int command_approvals(int argc, char **argv)
{
    struct approvals_command c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE(
            "--remember", &c.remember, "HOW",
            "with allow: for this call (call, the default), this session, or always"),
        OPTION_VALUE("--reason", &c.reason, "TEXT",
                     "with deny: why, which the agent is told (at most 300 bytes)"),
        OPTION_FLAG("--follow", &c.follow, "with list: print what comes, as it comes"),
        OPTION_VALUE("--url", &c.url, "URL",
                     "with link: of which server (the one that was started last)"),
        OPTION_FLAG("--json", &c.json, "with list: print JSON"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche approvals [list | allow ID | deny ID | edit ID JSON | link] "
            "[OPTIONS]\n\nRequests of agents that need your approval "
            "(docs/policy.md). A waiting call gets\nyour decision at once; after that "
            "the decision is valid for ten minutes, for exactly\nthe same request. "
            "edit:\nthe call is made with these arguments instead, and asks "
            "again. link: prints a link to the page of your server; it works once.",
        OPTION_ROWS(rows, &c.help),
        .words = c.words,
        .max = 3,
    };
    int exit;
    if (!options_begin(&use, argc, argv, &exit))
        return exit;
    struct err e = {0};
    c.store = approvals_open(&e);
    bool ok = c.store && verbs_run("approvals", verbs, LENGTH(verbs), &use, &c, &e);
    approvals_close(c.store);
    return ok ? EXIT_DONE : cli_fail(&e);
}
