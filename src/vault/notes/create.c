/* Making a note. */
#include <stdio.h>

#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/types.h"
#include "notes/write.h"

struct creation {
    struct str type, folder, title, content;
    bool anywhere;    /* neither a type nor a folder was given */
    bool in_folder;   /* `folder` was given; the type is its first one */
    struct str whole; /* the file as it shall be; `at` NULL: it is made of the others */
    const struct json *metadata;
    char path[PATH_MAX];
    char now[25];
    char own_type[NAME_STEM_MAX + 1], own_title[NAME_TITLE_MAX + 1]; /* of `whole` */
};

static bool copy_given(struct str s, char *to, size_t room, const char *what,
                       struct err *e)
{
    if (s.n >= room)
        return err_set(e, ERR_INVALID,
                       "the %s that markdown gives has %zu bytes; at "
                       "most %zu are kept",
                       what, s.n, room - 1);
    memcpy(to, s.at, s.n);
    to[s.n] = '\0';
    return true;
}

/* A whole file says its title and type itself, where the options do not. */
static bool read_whole(struct creation *c, const struct json *o, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct note n;
    if (!write_parse_whole(o, STR(".md"), a, &n, e))
        return false;
    c->whole = n.bytes;
    struct str type = json_str(json_get(n.front.yml.all, "type"));
    if (!type.n)
        type = json_str(json_get(n.front.yml.all, "class"));
    if (!c->type.n && type.n) {
        if (!copy_given(type, c->own_type, sizeof c->own_type, "type", e))
            return false;
        c->type = str_of(c->own_type);
    }
    if (!c->title.n) {
        struct str title = str_cut(n.title, sizeof c->own_title - 1);
        (void)copy_given(title, c->own_title, sizeof c->own_title, "title", e);
        c->title = str_of(c->own_title);
    }
    return c->title.n ||
           err_set(e, ERR_INVALID,
                   "markdown has no title: begin it with a heading, such as \"# "
                   "Weekly sync\", or also give title");
}

static bool type_of_folder(struct creation *c, struct err *e)
{
    const char *slash = memchr(c->folder.at, '/', c->folder.n);
    struct str first = c->folder;
    first.n = slash ? (size_t)(slash - first.at) : first.n;
    if (!first.n)
        first = STR("note");
    if (c->type.n && !str_eq(c->type, first))
        return err_set(e, ERR_INVALID,
                       "the folder \"%.*s\" is of the type \"%.*s\"; leave type out",
                       STR_ARGS(str_cut(c->folder, 100)), STR_ARGS(str_cut(first, 60)));
    c->type = first;
    return true;
}

static bool creation_place_as(struct creation *c, struct str folder, struct str title,
                              struct err *e)
{
    scoped_buf struct buf name = buf_of(BUF_LINE);
    if (!name_from_title(title, &name))
        return err_set(e, ERR_INVALID,
                       "title must be a string with at least one letter, "
                       "digit or sign that a file name may have");
    int n = snprintf(c->path, sizeof c->path, "%.*s%s%s.md", STR_ARGS(folder),
                     folder.n ? "/" : "", buf_cz(&name));
    return (n > 0 && (size_t)n < sizeof c->path && name_is_path(str_of(c->path))) ||
           err_set(e, ERR_INVALID, "the note's path would be too long");
}

static bool creation_place(struct creation *c, struct str folder, struct err *e)
{
    return creation_place_as(c, folder, c->title, e);
}

static bool read_creation(const struct json *o, void *state, struct err *e)
{
    struct creation *c = state;
    static const char *const refused[] = {"id", "type", "title", "updated", NULL};
    if (!options_check(o, "notes.create", NOTES_CREATE_KEYS, e) ||
        !options_str(o, "type", "type_id", &c->type, e) ||
        !options_folder(o, &c->folder, &c->in_folder, e) ||
        !options_str(o, "title", NULL, &c->title, e) ||
        !options_str(o, "content", NULL, &c->content, e))
        return false;
    c->metadata = json_get(o, "metadata");
    if (!write_check_metadata(c->metadata, refused, e))
        return false;
    struct str given = c->type;
    if (write_has_whole(o) && !read_whole(c, o, e))
        return false;
    if (c->in_folder)
        c->type = given; /* what a file says of its type is no folder's name here */
    if (c->in_folder && !type_of_folder(c, e))
        return false;
    if (!c->type.n &&
        (write_has_whole(o) || (!json_get(o, "type") && !json_get(o, "type_id")))) {
        c->anywhere = true;
        c->type = STR("note");
    }
    if (!name_is_type(c->type))
        return err_set(e, ERR_INVALID,
                       "type \"%.*s\" is not the name of a single folder: letters, "
                       "digits, spaces and other characters except / \\ : * ? \" < > "
                       "| # ^ [ ], no leading dot",
                       STR_ARGS(str_cut(c->type, 60)));
    if (c->content.n > NOTE_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "content is %zu bytes; notes may have at most %u",
                       c->content.n, NOTE_SIZE_MAX);
    return creation_place(c, c->in_folder ? c->folder : c->type, e);
}

/* Without a type or a folder it goes where the vault has new notes. */
static bool place_by_vault(struct creation *c, struct vault *v, struct err *e)
{
    const struct conventions *own = &v->settings.own;
    scoped_buf struct buf title = buf_of(3 * NAME_TITLE_MAX);
    bool moves = c->anywhere && own->has_new_folder;
    if (!own->logseq &&
        !write_check_title(v, c->title, "give folder and a shorter title", e))
        return false;
    if (!moves && !own->logseq)
        return true;
    if (moves) {
        c->in_folder = true;
        c->folder = own->new_folder;
        c->type = STR("");
    }
    if (own->logseq)
        conventions_stem(str_cut(c->title, NAME_TITLE_MAX), &title);
    return (!moves || type_of_folder(c, e)) &&
           creation_place_as(c, c->in_folder ? c->folder : c->type,
                             own->logseq ? buf_view(&title) : c->title, e);
}

static void put_own_keys(const struct creation *c, enum settings_keys added,
                         bool with_title, struct buf *out)
{
    unsigned char random[8];
    char uid[20] = "n-";
    os_random(random, sizeof random);
    hex_write(random, sizeof random, uid + 2);
    scoped_buf struct buf title = buf_of(NAME_TITLE_MAX);
    name_put_title(c->title, &title);
    const struct json *created = json_get(c->metadata, "created");

    bool all = added == SETTINGS_ALL;
    if (added != SETTINGS_NONE)
        yml_put_string(out, 0, "\n", "id", str_of(uid));
    if (all)
        yml_put_string(out, 0, "\n", "type", c->type);
    if (all || with_title)
        yml_put_string(out, 0, "\n", "title", buf_view(&title));
    if (all || json_is(created, JSON_STRING))
        yml_put_string(out, 0, "\n", "created",
                       json_is(created, JSON_STRING) ? json_str(created)
                                                     : str_of(c->now));
    if (all)
        yml_put_string(out, 0, "\n", "updated", str_of(c->now));
}

/* The file, made of its parts. */
static void put_parts(const struct creation *c, enum settings_keys added, bool with_title,
                      struct buf *out)
{
    buf_cstr(out, "---\n");
    size_t begun = out->n;
    put_own_keys(c, added, with_title, out);
    const struct json *tags = json_get(c->metadata, "tags");
    if (tags && !json_is(tags, JSON_NULL))
        yml_put_pair(out, 0, "\n", STR("tags"), tags);
    struct json_iter it = json_iter(c->metadata);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) && !str_is(it.key, "tags") &&
            !str_is(it.key, "created"))
            yml_put_pair(out, 0, "\n", it.key, it.value);
    if (out->n == begun)
        buf_clear(out);
    else
        buf_cstr(out, "---\n\n");
    buf_str(out, c->content);
}

/* The title stands in the frontmatter where nothing else would say it. */
static bool put_new(struct vault *v, const struct creation *c, struct buf *out,
                    struct err *e)
{
    enum settings_keys added = v->settings.new_notes;
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    scoped_buf struct buf title = buf_of(NAME_TITLE_MAX);
    struct os_stat st = {0};
    struct note n;
    put_parts(c, added, false, out);
    if (added == SETTINGS_ALL || v->settings.titles_by_file)
        return true;
    name_put_title(c->title, &title);
    if (!note_parse(v, str_of(c->path), buf_view(out), &st, a, &n, e))
        return false;
    if (str_eq(n.title, buf_view(&title)))
        return true;
    buf_clear(out);
    put_parts(c, added, true, out);
    return true;
}

/* The written parts must be read back as they were given. */
static bool check_parts(const struct creation *c, struct str bytes, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct frontmatter f;
    if (!frontmatter_read(bytes, a, &f, e))
        return false;
    bool bare = str_eq(bytes, c->content);
    if (bare && f.state != FRONTMATTER_NONE)
        return err_set(
            e, ERR_INVALID,
            "content begins with frontmatter: give its keys as metadata, or the "
            "whole file as markdown");
    bool ok = (bare || f.state == FRONTMATTER_GOOD) && str_eq(f.body, c->content);
    struct json_iter it = json_iter(c->metadata);
    while (ok && json_next(&it))
        ok = json_is(it.value, JSON_NULL) ||
             json_equal(it.value, json_get_str(f.yml.all, it.key));
    return ok || err_set(e, ERR_INVALID, "metadata cannot be kept as YAML: %.200s",
                         f.error[0] ? f.error : "it would be read back differently");
}

/* Appends the file that shall be, and looks whether its type allows it. */
static bool put_created(struct change *g, struct vault *v, const struct creation *c,
                        struct buf *out, struct err *e)
{
    if (!c->whole.at) {
        if (!put_new(v, c, out, e))
            return false;
        const struct types_note made = {
            .whole = true, .metadata = c->metadata, .body = c->content};
        return types_check(g, v, c->type, &made, e) && buf_check(out, "the note", e) &&
               check_parts(c, buf_view(out), e);
    }
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct frontmatter f;
    buf_str(out, c->whole);
    if (!frontmatter_read(c->whole, a, &f, e))
        return false;
    const struct types_note given = {
        .whole = true, .metadata = f.yml.all, .body = f.body};
    return types_check(g, v, c->type, &given, e) && buf_check(out, "the note", e);
}

static bool create_refuse_taken(struct vault *v, const struct creation *c,
                                struct str path, struct err *e)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    vault_put_id(v, path, &id);
    return err_set(e, ERR_CONFLICT,
                   "a note of that name exists: its id is \"%s\". Take "
                   "another title than \"%.*s\", or update that note",
                   buf_cz(&id), STR_ARGS(str_cut(c->title, 60))) ||
           err_because(e, CAUSE_TAKEN);
}

/* Within the change itself, too, two notes may not have one name. */
static bool check_free(struct change *g, struct vault *v, const struct creation *c,
                       struct err *e)
{
    struct str path = str_of(c->path);
    char root[PATH_MAX];
    if (name_other_home(path, root) && change_has(g, root))
        return create_refuse_taken(v, c, str_of(root), e);
    return !change_has(g, c->path) || create_refuse_taken(v, c, path, e);
}

static bool run_creation(struct change *g, struct vault *v, void *state,
                         struct json_writer *out, struct err *e)
{
    struct creation *c = state;
    if (!place_by_vault(c, v, e) || !check_free(g, v, c, e))
        return false;
    int64_t now = vault_now(v);
    date_format(now, c->now);
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX);
    if (!put_created(g, v, c, &bytes, e) ||
        !change_create(g, c->path, buf_view(&bytes), e))
        return false;

    int64_t created = now;
    (void)date_read(json_str(json_get(c->metadata, "created")), &created);
    scoped_buf struct buf title = buf_of(NAME_TITLE_MAX);
    scoped_buf struct buf shown = buf_of(PATH_MAX);
    if (v->settings.own.logseq)
        conventions_title(&v->settings.own, str_of(c->path), &shown);
    else
        buf_str(&shown,
                v->settings.titles_by_file ? name_stem(str_of(c->path)) : c->title);
    name_put_title(buf_view(&shown), &title);
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(c->path));
    json_pair_str(out, "type", c->type);
    json_pair_str(out, "title", buf_view(&title));
    json_pair_str(out, "filename", name_file(str_of(c->path)));
    json_pair_cstr(out, "path", c->path);
    json_pair_time(out, "created", created);
    json_close(out);
    return true;
}

const struct operation create_operation = {
    "notes.create", "create", sizeof(struct creation), read_creation, run_creation};

bool notes_create(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    return write_perform(v, &create_operation, options, out, e);
}
