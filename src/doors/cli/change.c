/* cloche new, daily, mv and rm: notes are made, renamed, moved and removed, as an agent would do it:
 * with their links, recorded, and undone by cloche undo. */
#include <stdio.h>
#include <unistd.h>

#include "cli/ask.h"
#include "os/os.h"

struct changing {
    struct asking a;
    const char *type, *folder, *append;
    bool dry_run, force;
};

#define DRY_ROW(c) \
    OPTION_FLAG("--dry-run", &(c).dry_run, "show what would change, and change nothing")

/* What a dry run would change: its rows and their diffs. */
static void print_trial(const struct json *answer)
{
    struct json_iter it = json_iter(json_get(answer, "changes"));
    while (json_next(&it)) {
        struct str fresh = json_str(json_get(it.value, "new_path"));
        printf("%-8.*s %.*s", SPELT_ARGS(json_str(json_get(it.value, "action"))),
               SPELT_ARGS(json_str(json_get(it.value, "path"))));
        if (fresh.n)
            printf(" -> %.*s", SPELT_ARGS(fresh));
        putchar('\n');
        ask_print_diff(json_str(json_get(it.value, "diff")));
    }
}

static bool is_trial(const struct asking *a)
{
    return json_bool(json_get(a->answer, "dry_run"), false);
}

/* ---- new ------------------------------------------------------------------- */

static bool read_text(const char *given, struct buf *out, struct err *e)
{
    if (!given)
        return true;
    if (strcmp(given, "-") != 0)
        return buf_cstr(out, given) || buf_check(out, "the text", e);
    return os_read_fd(STDIN_FILENO, out, e) || err_wrap(e, "standard input");
}

static bool change_new_note(void *command, struct err *e)
{
    struct changing *c = command;
    scoped_buf struct buf text = buf_of(ASK_TEXT_MAX), context = buf_of(ASK_TEXT_MAX * 2);
    if (!c->a.words[0])
        return err_set(e, ERR_INVALID, "give a TITLE");
    if (!read_text(c->a.words[1], &text, e))
        return false;
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_key(&w, "o");
    json_open_object(&w);
    json_pair_cstr(&w, "title", c->a.words[0]);
    json_pair_str(&w, "content", buf_view(&text));
    if (c->type)
        json_pair_cstr(&w, "type", c->type);
    if (c->folder)
        json_pair_cstr(&w, "folder", c->folder);
    if (c->dry_run)
        json_pair_bool(&w, "dry_run", true);
    json_close(&w);
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&c->a, "return await notes.create(o)", buf_cz(&context), e))
        return false;
    if (asking_print_json(&c->a))
        return true;
    if (is_trial(&c->a))
        print_trial(c->a.answer);
    else
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(c->a.answer, "id"))));
    return true;
}

/* ---- daily ----------------------------------------------------------------- */

#define DAILY                                                                            \
    "const note = await notes.daily({date, create: true, dry_run});\n"                   \
    "if (append === null || dry_run) return note;\n"                                     \
    "const {content, content_hash} = await notes.get(note.id);\n"                        \
    "const before = content.replace(/\\n*$/, content.trim() ? '\\n' : '');\n"            \
    "await notes.update({identifier: note.id, content_hash, content: before + append + " \
    "(append.endsWith('\\n') ? '' : '\\n')});\n"                                         \
    "return note;"

static bool change_daily_note(void *command, struct err *e)
{
    struct changing *c = command;
    scoped_buf struct buf text = buf_of(ASK_TEXT_MAX), context = buf_of(ASK_TEXT_MAX * 2);
    if (!read_text(c->append, &text, e))
        return false;
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_cstr(&w, "date", c->a.words[0] ? c->a.words[0] : "today");
    json_key(&w, "append");
    if (c->append)
        json_put_str(&w, buf_view(&text));
    else
        json_put_null(&w);
    json_pair_bool(&w, "dry_run", c->dry_run);
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&c->a, DAILY, buf_cz(&context), e))
        return false;
    if (asking_print_json(&c->a))
        return true;
    if (is_trial(&c->a))
        print_trial(c->a.answer);
    else
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(c->a.answer, "id"))));
    return true;
}

/* ---- mv -------------------------------------------------------------------- */

/* "folder/Title", "folder/" or "Title". The last folder stays where only a title is given. */
#define MOVE                                                                            \
    "const note = await notes.get(name);\n"                                             \
    "if (!note && (await attachments.list()).some((a) => a.path === name)) {\n"         \
    "  const beside = to.includes('/') ? '' : name.replace(/[^/]*$/, '');\n"            \
    "  const moved = await attachments.move({path: name, to: beside + to, dry_run});\n" \
    "  return {...moved, new_id: moved.path};\n"                                        \
    "}\n"                                                                               \
    "if (!note) throw new Error('there is no note \"' + name + '\"');\n"                \
    "const cut = to.lastIndexOf('/'), title = to.slice(cut + 1);\n"                     \
    "const folder = cut < 0 ? null : to.slice(0, cut).replace(/^\\/+/, '');\n"          \
    "const here = note.path.includes('/') ? note.path.replace(/\\/[^/]*$/, '') : '';\n" \
    "const options = {identifier: note.id, force: true, dry_run};\n"                    \
    "const renames = title && title !== note.title;\n"                                  \
    "const moves = folder !== null && folder !== here;\n"                               \
    "if (renames && moves && dry_run)\n"                                                \
    "  return {dry_run, changes: [\n"                                                   \
    "    ...(await notes.rename({...options, new_title: title})).changes,\n"            \
    "    ...(await notes.move({...options, folder})).changes]};\n"                      \
    "let done = null;\n"                                                                \
    "if (renames)\n"                                                                    \
    "  done = await notes.rename({...options, new_title: title});\n"                    \
    "if (moves)\n"                                                                      \
    "  done = await notes.move({...options, identifier: done?.path ?? note.path, "      \
    "folder});\n"                                                                       \
    "return done ?? {new_id: note.id, path: note.path};"

static bool change_move_note(void *command, struct err *e)
{
    struct changing *c = command;
    scoped_buf struct buf context = buf_of(BUF_TEXT);
    if (!c->a.words[0] || !c->a.words[1] || !c->a.words[1][0])
        return err_set(e, ERR_INVALID,
                       "give a NOTE and its new TITLE, FOLDER/ or FOLDER/TITLE");
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_cstr(&w, "name", c->a.words[0]);
    json_pair_cstr(&w, "to", c->a.words[1]);
    json_pair_bool(&w, "dry_run", c->dry_run);
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&c->a, MOVE, buf_cz(&context), e))
        return false;
    if (asking_print_json(&c->a))
        return true;
    if (is_trial(&c->a))
        print_trial(c->a.answer);
    else
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(c->a.answer, "new_id"))));
    return true;
}

/* ---- rm -------------------------------------------------------------------- */

/* Links from the notes that go as well are nobody's loss. */
#define REMOVE                                                                         \
    "const found = [], linked = [];\n"                                                 \
    "for (const name of names) {\n"                                                    \
    "  const note = await notes.get(name);\n"                                          \
    "  if (!note) throw new Error('there is no note \"' + name + '\"');\n"             \
    "  if (!found.includes(note.id)) found.push(note.id);\n"                           \
    "}\n"                                                                              \
    "for (const id of force ? [] : found)\n"                                           \
    "  for (const link of await links.getBacklinks(id))\n"                             \
    "    if (!found.includes(link.source_note_id))\n"                                  \
    "      linked.push({id, from: link.source_note_id});\n"                            \
    "if (linked.length) return {linked};\n"                                            \
    "return await notes.batch({dry_run, changes: found.map((identifier) => ({action: " \
    "'delete', identifier, confirm: true}))});"

static bool print_linked(const struct asking *a, struct err *e)
{
    struct json_iter it = json_iter(json_get(a->answer, "linked"));
    while (json_next(&it))
        fprintf(stderr, "%.*s is linked from %.*s\n",
                SPELT_ARGS(json_str(json_get(it.value, "id"))),
                SPELT_ARGS(json_str(json_get(it.value, "from"))));
    return err_set(e, ERR_CONFLICT,
                   "nothing was removed: those links would be broken; --force removes "
                   "the notes all the same");
}

static bool change_remove_notes(void *command, struct err *e)
{
    struct changing *c = command;
    scoped_buf struct buf context = buf_of(BUF_LIST);
    if (!c->a.words[0])
        return err_set(e, ERR_INVALID, "give the NOTEs to remove");
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_key(&w, "names");
    json_open_array(&w);
    for (size_t i = 0; i < ASK_WORDS_MAX && c->a.words[i]; i++)
        json_put_str(&w, str_of(c->a.words[i]));
    json_close(&w);
    json_pair_bool(&w, "force", c->force);
    json_pair_bool(&w, "dry_run", c->dry_run);
    json_close(&w);
    if (!buf_check(&context, "the request", e) ||
        !asking_evaluate(&c->a, REMOVE, buf_cz(&context), e))
        return false;
    if (json_get(c->a.answer, "linked"))
        return print_linked(&c->a, e);
    if (asking_print_json(&c->a))
        return true;
    if (is_trial(&c->a))
        print_trial(c->a.answer);
    struct json_iter it = json_iter(json_get(c->a.answer, "results"));
    while (json_next(&it))
        printf("%.*s\n", SPELT_ARGS(json_str(json_get(it.value, "backup_path"))));
    return true;
}

/* ---- the commands ---------------------------------------------------------- */

int command_new(int argc, char **argv)
{
    struct changing c = {0};
    const struct option_row rows[] = {
        ASK_VAULT(c.a),
        OPTION_VALUE("--type", &c.type, "TYPE", "its type; the vault's own by default"),
        OPTION_VALUE("--folder", &c.folder, "FOLDER",
                     "its folder; '' is the vault's root"),
        DRY_ROW(c),
        ASK_JSON(c.a),
        ASK_HELP(c.a)};
    struct option_use use = {
        .usage = "cloche new TITLE [TEXT | -] [OPTIONS]\n\nMakes a note, and prints its "
                 "id. With - its text is read from standard input.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 2};
    return asking_run(&c.a, &use, change_new_note, &c, argc, argv);
}

int command_daily(int argc, char **argv)
{
    struct changing c = {0};
    const struct option_row rows[] = {
        ASK_VAULT(c.a),
        OPTION_VALUE("--append", &c.append, "TEXT",
                     "adds a line at its end; - reads standard input"),
        DRY_ROW(c), ASK_JSON(c.a), ASK_HELP(c.a)};
    struct option_use use = {
        .usage =
            "cloche daily [DATE] [OPTIONS]\n\nMakes the daily note of a day if it is "
            "not there, and prints its id. DATE is 2026-12-01, today (the default), "
            "yesterday or tomorrow.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 1};
    return asking_run(&c.a, &use, change_daily_note, &c, argc, argv);
}

int command_mv(int argc, char **argv)
{
    struct changing c = {0};
    const struct option_row rows[] = {ASK_VAULT(c.a), DRY_ROW(c), ASK_JSON(c.a),
                                      ASK_HELP(c.a)};
    struct option_use use = {
        .usage = "cloche mv NOTE TITLE | FOLDER/ | FOLDER/TITLE [OPTIONS]\n\nRenames a "
                 "note, moves it to a folder, or both; the links to it follow. Prints "
                 "its new id. NOTE may be the path of an attachment.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = 2};
    return asking_run(&c.a, &use, change_move_note, &c, argc, argv);
}

int command_rm(int argc, char **argv)
{
    struct changing c = {0};
    const struct option_row rows[] = {
        ASK_VAULT(c.a),
        OPTION_FLAG("--force", &c.force, "also notes that others link to"), DRY_ROW(c),
        ASK_JSON(c.a), ASK_HELP(c.a)};
    struct option_use use = {
        .usage = "cloche rm NOTE... [OPTIONS]\n\nMoves notes to the trash, all or none, "
                 "and prints where they are; cloche restore takes one out.",
        .rows = rows,
        .count = LENGTH(rows),
        .max = ASK_WORDS_MAX - 1};
    return asking_run(&c.a, &use, change_remove_notes, &c, argc, argv);
}
