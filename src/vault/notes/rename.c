/* Another title or type for a note; the links to it follow. */
#include <stdio.h>

#include "notes/index.h"
#include "notes/markdown.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/relink.h"
#include "notes/session.h"
#include "notes/sight.h"
#include "notes/types.h"
#include "notes/write.h"

struct renaming {
    struct str identifier, title, type;
    struct str folder; /* of a move, where `in_folder` */
    bool in_folder;
    struct write_guard guard;
};

/* The note's new state. */
struct renamed {
    struct change *c;
    struct vault *v;
    struct note old;
    char path[PATH_MAX];
    char title[NAME_TITLE_MAX + 1];
    size_t notes, links;
    char hash[HASH_SIZE];
};

/* ---- the note's own text ------------------------------------------------- */

static bool put_edited(const struct note *n, const struct renaming *r, bool add_title,
                       struct str body, struct arena *a, struct buf *out, struct err *e)
{
    const struct json *all = n->front.yml.all;
    char now[25];
    date_format(os_real_ms(), now);
    struct frontmatter_change changes[3];
    size_t count = 0;
    bool has_title = json_get(all, "title") &&
                     (!n->by_file || str_eq(json_str(json_get(all, "title")), n->title));
    if (r->title.n && (has_title || add_title))
        changes[count++] =
            (struct frontmatter_change){STR("title"), frontmatter_text(r->title, a, e)};
    struct str type = json_str(json_get(all, "type"));
    bool says_type =
        r->in_folder ? str_eq(type, name_type(n->path)) : json_get(all, "type") != NULL;
    if (r->type.n && says_type)
        changes[count++] =
            (struct frontmatter_change){STR("type"), frontmatter_text(r->type, a, e)};
    if (json_get(all, "updated"))
        changes[count++] = (struct frontmatter_change){
            STR("updated"), frontmatter_text(str_of(now), a, e)};
    if (e->code)
        return false;
    if (count ? !frontmatter_edit(&n->front, changes, count, a, out, e)
              : !buf_str(out, n->front.head))
        return false;
    return buf_str(out, body) || buf_check(out, "the note", e);
}

/* A title that stands in the first heading is changed there. */
static void put_body(const struct note *n, const struct renaming *r, struct buf *out)
{
    struct str body = n->front.body, heading = markdown_title(body);
    bool by_key = str_trim(json_str(json_get(n->front.yml.all, "title"))).n > 0;
    if (!r->title.n || by_key || !heading.n || n->by_file) {
        buf_str(out, body);
        return;
    }
    size_t at = (size_t)(heading.at - body.at);
    buf_put(out, body.at, at);
    buf_str(out, r->title);
    buf_put(out, heading.at + heading.n, body.n - at - heading.n);
}

static bool copy_title(const struct vault *v, const char *path, struct str bytes,
                       char out[static NAME_TITLE_MAX + 1], struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct os_stat st = {0};
    struct note n;
    if (!note_parse(v, str_of(path), bytes, &st, a, &n, e))
        return false;
    (void)snprintf(out, NAME_TITLE_MAX + 1, "%.*s", STR_ARGS(n.title));
    return true;
}

/* The title must be read back as it was asked for; where the heading cannot hold it,
 * the frontmatter does. */
static bool write_own(struct renamed *n, const struct renaming *r, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    scoped_buf struct buf body, bytes;
    buf_init(&body, NOTE_SIZE_MAX);
    buf_init(&bytes, NOTE_SIZE_MAX);
    put_body(&n->old, r, &body);
    if (!put_edited(&n->old, r, false, buf_view(&body), a, &bytes, e) ||
        !buf_check(&bytes, "the note", e) ||
        !copy_title(n->v, n->path, buf_view(&bytes), n->title, e))
        return false;
    bool headless =
        n->old.front.state == FRONTMATTER_NONE && !markdown_title(n->old.front.body).n;
    if (r->title.n && !str_is(r->title, n->title) && !headless && !n->old.by_file) {
        if (n->old.front.state == FRONTMATTER_BROKEN)
            return err_set(
                e, ERR_INVALID,
                "the title \"%.*s\" cannot be written: the frontmatter is not YAML and a heading cannot contain the title; nothing was changed",
                STR_ARGS(str_cut(r->title, 100)));
        buf_clear(&bytes);
        if (!put_edited(&n->old, r, true, n->old.front.body, a, &bytes, e) ||
            !buf_check(&bytes, "the note", e) ||
            !copy_title(n->v, n->path, buf_view(&bytes), n->title, e))
            return false;
    }
    return change_replace(n->c, n->old.path.at, buf_view(&bytes), e);
}

/* ---- where it goes ------------------------------------------------------- */

static bool rename_refuse_taken(struct renamed *n, const char *path, struct err *e)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    vault_put_id(n->v, str_of(path), &id);
    return err_set(
               e, ERR_CONFLICT,
               "a note of that name exists: its id is \"%.200s\"; nothing was changed, "
               "take another title or type",
               buf_cz(&id)) ||
           err_because(e, CAUSE_TAKEN);
}

/* The root's X.md and note/X.md would have one id. */
static bool check_twin(struct renamed *n, struct err *e)
{
    char twin[PATH_MAX];
    if (!name_other_home(str_of(n->path), twin))
        return true;
    bool itself = str_is(n->old.path, twin);
    return itself || !name_is_path(str_of(twin)) || !change_has(n->c, twin) ||
           rename_refuse_taken(n, twin, e);
}

static bool find_place(struct renamed *n, const struct renaming *r, struct err *e)
{
    struct str old = n->old.path, file = name_file(old);
    struct str folder = {old.at, old.n - file.n}; /* with its slash */
    scoped_buf struct buf stem = buf_of(BUF_LINE);
    int length;
    if (r->in_folder) {
        length = snprintf(n->path, sizeof n->path, "%.*s%s%.*s", STR_ARGS(r->folder),
                          r->folder.n ? "/" : "", STR_ARGS(file));
    } else if (r->type.n) {
        struct str rest = old;
        if (folder.n) {
            rest.at += name_type(old).n + 1;
            rest.n -= name_type(old).n + 1;
        }
        length = snprintf(n->path, sizeof n->path, "%.*s/%.*s", STR_ARGS(r->type),
                          STR_ARGS(rest));
    } else {
        scoped_buf struct buf spelt = buf_of(3 * NAME_TITLE_MAX);
        if (n->v->settings.own.logseq)
            conventions_stem(r->title, &spelt);
        else
            buf_str(&spelt, r->title);
        (void)name_from_title(buf_view(&spelt), &stem); /* was asked before */
        length = snprintf(n->path, sizeof n->path, "%.*s%s.md", STR_ARGS(folder),
                          buf_cz(&stem));
    }
    if (length <= 0 || length >= PATH_MAX || !name_is_path(str_of(n->path)))
        return err_set(e, ERR_INVALID, "the note's path would be too long");
    return check_twin(n, e) && change_can_move(n->c, old.at, n->path, e);
}

/* ---- all of it ----------------------------------------------------------- */

static bool renamed_perform(struct renamed *n, const struct renaming *r, struct err *e)
{
    struct relink links = {.v = n->v, .c = n->c, .old = n->old, .path = n->path};
    const struct types_note whole = {
        .whole = true, .metadata = n->old.front.yml.all, .body = n->old.front.body};
    if (!find_place(n, r, e) || (r->type.n && !str_eq(r->type, name_type(n->old.path)) &&
                                 !types_check(n->c, n->v, r->type, &whole, e)))
        return false;
    bool stays = str_is(n->old.path, n->path);
    if (stays && (r->type.n || str_eq(r->title, n->old.title))) {
        change_hash(n->c, n->path, n->hash);
        return true;
    }
    if (!session_learn(n->c, e) || !write_own(n, r, e))
        return false;
    links.title = str_of(n->title);
    if (!relink_move(&links, e))
        return false;
    n->notes = links.notes;
    n->links = links.links;
    change_hash(n->c, n->path, n->hash);
    return true;
}

static bool open_renamed(struct change *c, struct vault *v, const struct renaming *r,
                         struct renamed *n, struct err *e)
{
    char path[PATH_MAX];
    *n = (struct renamed){.c = c, .v = v};
    return vault_need_note(v, c, r->identifier, path, &n->old, e) &&
           write_check_guard(&r->guard, &n->old, e);
}

/* ---- rename -------------------------------------------------------------- */

static bool read_rename(const struct json *o, void *state, struct err *e)
{
    struct renaming *r = state;
    scoped_buf struct buf stem = buf_of(BUF_LINE);
    if (!options_check(o, "notes.rename", NOTES_RENAME_KEYS, e) ||
        !options_identifier(o, &r->identifier, e) ||
        !options_str(o, "new_title", NULL, &r->title, e) ||
        !write_read_guard(o, &r->guard, e))
        return false;
    r->title = str_trim(r->title);
    for (size_t i = 0; i < r->title.n; i++)
        if ((unsigned char)r->title.at[i] < ' ' || r->title.at[i] == 0x7f)
            return err_set(e, ERR_INVALID, "new_title must be one line of text");
    return (r->title.n <= NAME_TITLE_MAX && name_from_title(r->title, &stem)) ||
           err_set(e, ERR_INVALID,
                   "new_title must be a string of at most %u bytes with at least one "
                   "letter, digit or sign that a file name may have",
                   NAME_TITLE_MAX);
}

static bool run_rename(struct change *c, struct vault *v, void *state,
                       struct json_writer *out, struct err *e)
{
    const struct renaming *r = state;
    struct renamed n;
    if (!v->settings.own.logseq &&
        !write_check_title(v, r->title, "notes.move moves the note there", e))
        return false;
    if (!open_renamed(c, v, r, &n, e) || !renamed_perform(&n, r, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_pair_int(out, "notesUpdated", (int64_t)n.notes);
    json_pair_int(out, "linksUpdated", (int64_t)n.links);
    write_pair_id(v, out, "new_id", str_of(n.path));
    json_pair_cstr(out, "path", n.path);
    json_pair_cstr(out, "content_hash", n.hash);
    json_close(out);
    return true;
}

const struct operation rename_operation = {
    "notes.rename", "rename", sizeof(struct renaming), read_rename, run_rename};

bool notes_rename(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    return write_perform(v, &rename_operation, options, out, e);
}

/* ---- move ---------------------------------------------------------------- */

static bool read_move(const struct json *o, void *state, struct err *e)
{
    struct renaming *r = state;
    if (!options_check(o, "notes.move", NOTES_MOVE_KEYS, e) ||
        !options_identifier(o, &r->identifier, e) ||
        !options_str(o, "new_type", NULL, &r->type, e) ||
        !options_folder(o, &r->folder, &r->in_folder, e) ||
        !write_read_guard(o, &r->guard, e))
        return false;
    if (r->in_folder) {
        const char *slash = memchr(r->folder.at, '/', r->folder.n);
        if (r->type.n)
            return err_set(e, ERR_INVALID, "give new_type, or folder, and not both");
        r->type = r->folder.n ? r->folder : STR("note");
        r->type.n = slash ? (size_t)(slash - r->folder.at) : r->type.n;
        return true;
    }
    return name_is_type(r->type) ||
           err_set(
               e, ERR_INVALID,
               "new_type \"%.*s\" is no name of one folder (of several, give folder): letters, digits, spaces "
               "and signs other than / \\ : * ? \" < > | # ^ [ ], no dot at the head",
               STR_ARGS(str_cut(r->type, 60)));
}

static bool run_move(struct change *c, struct vault *v, void *state,
                     struct json_writer *out, struct err *e)
{
    const struct renaming *r = state;
    struct renamed n;
    if (!open_renamed(c, v, r, &n, e))
        return false;
    struct str old_path = n.old.path, old_type = name_type(old_path);
    if (!renamed_perform(&n, r, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "success", true);
    write_pair_id(v, out, "old_id", old_path);
    write_pair_id(v, out, "new_id", str_of(n.path));
    json_pair_str(out, "old_type", old_type);
    json_pair_str(out, "new_type", r->type);
    json_pair_str(out, "filename", name_file(str_of(n.path)));
    if (!sight_hides(v, SIGHT_NOTES))
        json_pair_str(out, "title", n.title[0] ? str_of(n.title) : n.old.title);
    json_pair_time(out, "timestamp", vault_now(v));
    json_pair_int(out, "links_updated", (int64_t)n.links);
    json_pair_int(out, "notes_with_updated_links", (int64_t)n.notes);
    json_pair_cstr(out, "path", n.path);
    json_pair_cstr(out, "content_hash", n.hash);
    json_close(out);
    return true;
}

const struct operation move_operation = {"notes.move", "move", sizeof(struct renaming),
                                         read_move, run_move};

bool move_to_type(struct change *c, struct vault *v, const char *path, struct str type,
                  struct err *e)
{
    const struct renaming r = {
        .identifier = str_of(path), .type = type, .guard = {.force = true}};
    struct renamed n;
    return open_renamed(c, v, &r, &n, e) && renamed_perform(&n, &r, e);
}

bool notes_move(struct vault *v, const struct json *options, struct json_writer *out,
                struct err *e)
{
    return write_perform(v, &move_operation, options, out, e);
}
