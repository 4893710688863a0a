/* Our prompts: the seed's sentences, each with as much of the workspace's data beside it
 * as an agent can use at once, and where the rest is. */
#include "workspaces/own_prompts.h"

#include "evaluating/evaluating.h"
#include "performing/performing.h"
#include "workspaces/views.h"

#define DATA_MAX ((size_t)48 << 10) /* bytes of all that is embedded in one prompt */
#define WORK_MEMORY ((size_t)256 << 20)

/* A prompt under construction, and how much may still be embedded. */
struct prompting {
    struct work *work;
    struct arena *a;
    struct json_writer *out; /* the array of messages */
    struct str workspace;
    size_t left;
};

static void begin_message(struct prompting *p, const char *type)
{
    json_open_object(p->out);
    json_pair_raw(p->out, "role", STR("\"user\""));
    json_key(p->out, "content");
    json_open_object(p->out);
    json_pair_cstr(p->out, "type", type);
}

static void end_message(struct prompting *p)
{
    json_close(p->out);
    json_close(p->out);
}

static void say(struct prompting *p, struct str text)
{
    begin_message(p, "text");
    json_pair_str(p->out, "text", text);
    end_message(p);
}

/* Embeds what a resource holds, or the part of it that is told as `text`. */
static void embed(struct prompting *p, const struct view *v, struct str text)
{
    scoped_buf struct buf uri = buf_of(BUF_TEXT);
    view_put_uri(v, &uri);
    begin_message(p, "resource");
    json_key(p->out, "resource");
    json_open_object(p->out);
    json_pair_str(p->out, "uri", buf_view(&uri));
    json_pair_cstr(p->out, "mimeType", view_templates[v->kind].mime_type);
    json_pair_str(p->out, "text", text);
    json_close(p->out);
    end_message(p);
    p->left -= text.n < p->left ? text.n : p->left;
}

/* A part that cannot be read is reported; the prompt is of use without it. */
static void regret(struct prompting *p, const char *what, const struct err *why)
{
    scoped_buf struct buf text = buf_of(BUF_LINE);
    buf_printf(&text, "(%s could not be added here: %s)", what, why->msg);
    say(p, buf_view(&text));
}

/* ---- lists of notes ---------------------------------------------------------- */

#define ROWS_MAX 2000

struct listed {
    struct str type; /* empty: of all */
};

static void fill_list(struct json_writer *w, const void *arg)
{
    const struct listed *l = arg;
    json_open_object(w);
    if (l->type.n)
        json_pair_str(w, "type", l->type);
    json_pair_int(w, "limit", ROWS_MAX);
    json_pair_raw(w, "fields",
                  STR("[\"id\",\"title\",\"type\",\"updated\",\"tags\",\"size\"]"));
    json_close(w);
}

/* The row as the resource tells it, without properties. */
static void prompt_put_row(const struct json *row, struct json_writer *w)
{
    json_open_object(w);
    json_pair(w, "id", json_get(row, "id"));
    json_pair(w, "title", json_get(row, "title"));
    json_pair(w, "class", json_get(row, "type"));
    json_pair(w, "tags", json_get(row, "tags"));
    json_pair(w, "updated_at", json_get(row, "updated"));
    json_close(w);
}

/* As many rows as there is room for: *shown of them. */
static void prompt_put_rows(struct prompting *p, const struct json *rows, size_t room,
                            struct buf *text, size_t *shown)
{
    struct json_writer w = json_writer(text);
    json_open_array(&w);
    struct json_iter it = json_iter(rows);
    *shown = 0;
    while (text->n < room && json_next(&it)) {
        prompt_put_row(it.value, &w);
        ++*shown;
    }
    json_close(&w);
    p->left -= text->n < p->left ? text->n : p->left;
}

static void embed_list(struct prompting *p, const struct json *rows, size_t room)
{
    scoped_buf struct buf text, rest;
    buf_init(&text, (size_t)4 << 20);
    buf_init(&rest, BUF_LINE);
    size_t shown, count = json_length(rows);
    struct view v = {.kind = VIEW_LIST, .workspace = p->workspace};
    prompt_put_rows(p, rows, room, &text, &shown);
    embed(p, &v, buf_view(&text));
    if (shown == count && count < ROWS_MAX)
        return;
    buf_printf(
        &rest,
        "(These are the %zu notes that changed last, without their properties; the "
        "resource holds all.)",
        shown);
    say(p, buf_view(&rest));
}

static const struct json *prompt_list_notes(struct prompting *p, struct str type,
                                            struct err *e)
{
    struct listed l = {type};
    return view_call(p->work, "notes.list", fill_list, &l, p->a, e);
}

/* ---- single notes -------------------------------------------------------------- */

/* The whole note, or nothing of it where it is too large. */
static void embed_note(struct prompting *p, const struct json *note)
{
    struct str text = json_str(json_get(note, "markdown"));
    struct view v = {VIEW_NOTE, p->workspace, json_str(json_get(note, "id"))};
    if (text.n <= p->left)
        embed(p, &v, text);
}

static void embed_notes(struct prompting *p, const struct json *rows)
{
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        struct str id = json_str(json_get(it.value, "id"));
        struct err ignored = {0};
        if ((size_t)json_int(json_get(it.value, "size"), INT64_MAX) > p->left)
            continue;
        const struct json *note =
            view_call(p->work, "notes.get", view_fill_note, &id, p->a, &ignored);
        if (note)
            embed_note(p, note);
    }
}

/* ---- the three ------------------------------------------------------------------- */

static void say_task(struct prompting *p, const char *sentence, const char *how)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_printf(&text, "%s\n\nThe workspace is \"%.*s\". %s", sentence,
               STR_ARGS(p->workspace), how);
    say(p, buf_view(&text));
}

static bool summarize(struct prompting *p, const struct json *arguments, struct err *e)
{
    struct str type = json_str(json_get(arguments, "class"));
    say_task(
        p,
        "Read the index of the workspace and provide a high-level summary of the "
        "topics covered.",
        "The index follows: one row a note. Read single notes (get_note, or their "
        "resource ieapp://{workspace_id}/notes/{note_id}) where titles and tags do not "
        "say enough, and name the notes that you speak of by their ids.");
    const struct json *rows = prompt_list_notes(p, type, e);
    if (rows)
        embed_list(p, rows, p->left);
    return rows != NULL;
}

/* The folder may be spelt in small letters. */
static const struct json *list_class(struct prompting *p, struct str type, struct err *e)
{
    const struct json *rows = prompt_list_notes(p, type, e);
    char *small = rows && !json_length(rows) ? str_cz(type, p->a, e) : NULL;
    if (!small)
        return rows;
    for (char *c = small; *c; c++)
        *c = char_lower(*c);
    return prompt_list_notes(p, str_of(small), e);
}

static bool analyze(struct prompting *p, const struct json *arguments, struct err *e)
{
    struct str type = json_str(json_get(arguments, "class"));
    say_task(
        p, "Find all notes with class='Meeting' and summarize the key decisions.",
        "The notes of that class follow: a list, and the full text of those that "
        "changed last, as far as it fits. Read the others (get_note) before you "
        "answer. For each decision say what was decided, when, by whom, and the id of "
        "its note.");
    const struct json *rows = list_class(p, type.n ? type : STR("Meeting"), e);
    if (!rows)
        return false;
    embed_list(p, rows, p->left / 4);
    embed_notes(p, rows);
    return true;
}

static void fill_related(struct json_writer *w, const void *arg)
{
    json_open_object(w);
    json_pair_str(w, "note_id", *(const struct str *)arg);
    json_pair_int(w, "max_results", 50);
    json_close(w);
}

static void say_answer(struct prompting *p, const char *title, const char *call,
                       void (*fill)(struct json_writer *w, const void *arg),
                       const struct str *id)
{
    struct err why = {0};
    const struct json *answer = view_call(p->work, call, fill, id, p->a, &why);
    if (!answer) {
        regret(p, title, &why);
        return;
    }
    scoped_buf struct buf text = buf_of(p->left + 1000);
    struct json_writer w = json_writer(&text);
    buf_printf(&text, "%s:\n\n", title);
    json_put(&w, answer);
    if (text.failed) {
        err_set(&why, ERR_OUTPUT, "there are too many; %s lists them in code", call);
        regret(p, title, &why);
        return;
    }
    say(p, buf_view(&text));
    p->left -= text.n < p->left ? text.n : p->left;
}

static bool related(struct prompting *p, const struct json *arguments, struct err *e)
{
    struct str wanted = json_str(json_get(arguments, "note_id"));
    const struct json *note =
        view_call(p->work, "notes.get", view_fill_note, &wanted, p->a, e);
    struct str id = json_str(json_get(note, "id"));
    if (note && !id.n)
        return err_set(e, ERR_INVALID, "the workspace %.*s has no note '%.*s'",
                       STR_ARGS(p->workspace), STR_ARGS(str_cut(wanted, 100)));
    if (!note)
        return false;
    scoped_buf struct buf sentence = buf_of(BUF_PAGE);
    buf_printf(
        &sentence,
        "Given a note ID, find all related notes via links and shared tags.\n\nThe "
        "note ID is \"%.*s\".",
        STR_ARGS(id));
    say_task(
        p, buf_cz(&sentence),
        "The note follows, what the index knows of its relations, and the notes that "
        "are related the most. Tell how each is related, the closest first, and look "
        "at those (get_note) of which that is not clear.");
    embed_note(p, note);
    say_answer(p, "Links and hierarchy of the note", "relationships.get", view_fill_name,
               &id);
    say_answer(p, "Related notes by strength", "relationships.getRelated", fill_related,
               &id);
    return true;
}

/* ---- custom functions --------------------------------------------------------------- */

static bool prompt_put_functions(struct prompting *p, const struct json *arguments,
                                 struct err *e)
{
    (void)arguments;
    scoped_buf struct buf text = buf_of(DATA_MAX);
    if (!custom_tell(p->work, false, &text, e))
        return false;
    say(p, buf_view(&text));
    return true;
}

/* ---- the table --------------------------------------------------------------------- */

#define WORKSPACE_ARGUMENT   \
    {.name = "workspace_id", \
     .title = "Workspace",   \
     .description = "The vault's id; the one in use when left out."}

static const struct prompt_argument summarize_arguments[] = {
    WORKSPACE_ARGUMENT,
    {.name = "class",
     .title = "Class",
     .description = "Only the notes of this class; all when left out."},
};
static const struct prompt_argument analyze_arguments[] = {
    WORKSPACE_ARGUMENT,
    {.name = "class",
     .title = "Class",
     .description = "The class whose notes are meetings; Meeting when left out."},
};
static const struct prompt_argument related_arguments[] = {
    {.name = "note_id",
     .title = "Note",
     .description = "The note's id, such as meeting/standup.",
     .required = true},
    WORKSPACE_ARGUMENT,
};

static const struct prompt_argument function_arguments[] = {WORKSPACE_ARGUMENT};

struct own_prompt {
    struct prompt_shown shown;
    bool (*write)(struct prompting *p, const struct json *arguments, struct err *e);
};
static const struct own_prompt own[OWN_PROMPTS] = {
    {.shown = {.name = "summarize_workspace",
               .title = "Summarize a workspace",
               .description =
                   "A high-level summary of the topics that a workspace's notes cover.",
               .arguments = summarize_arguments,
               .argument_count = LENGTH(summarize_arguments)},
     .write = summarize},
    {.shown = {.name = "analyze_meetings",
               .title = "Analyze meetings",
               .description = "The key decisions out of all notes of the class Meeting.",
               .arguments = analyze_arguments,
               .argument_count = LENGTH(analyze_arguments)},
     .write = analyze},
    {.shown = {.name = "find_related",
               .title = "Find related notes",
               .description =
                   "Everything that is related to one note, by links and shared tags.",
               .arguments = related_arguments,
               .argument_count = LENGTH(related_arguments)},
     .write = related},
    {.shown = {.name = "custom_functions",
               .title = "Custom functions",
               .description =
                   "The functions that were registered in a workspace, for code to call.",
               .arguments = function_arguments,
               .argument_count = LENGTH(function_arguments)},
     .write = prompt_put_functions},
};

const struct prompt_shown *own_prompt(size_t i)
{
    return &own[i].shown;
}

bool own_prompt_get(struct workspaces *w, size_t i, const struct json *arguments,
                    const struct caller *who, struct buf *messages, struct err *e)
{
    struct str workspace = json_str(json_get(arguments, "workspace_id"));
    struct work *work = work_begin(w->actions, who, workspace, "prompts/get", e);
    if (!work)
        return false;
    scoped(arena_free) struct arena *a = arena_new(WORK_MEMORY);
    struct json_writer out = json_writer(messages);
    struct prompting p = {.work = work,
                          .a = a,
                          .out = &out,
                          .workspace = str_of(work_vault(work)),
                          .left = DATA_MAX};
    json_open_array(&out);
    bool ok = own[i].write(&p, arguments, e);
    json_close(&out);
    work_end(work, ok ? NULL : e);
    return ok;
}
