/* Another name for a tag, in all notes that have it, as one change. */
#include <stdio.h>

#include "notes/aliases.h"
#include "notes/fold.h"
#include "notes/index.h"
#include "notes/markdown.h"
#include "notes/notes.api.h"
#include "notes/sight.h"
#include "notes/write.h"
#include "notes/ymltext.h"

#define TAG_NAME_MAX 200u /* bytes of a new tag */
#define SPOTS_MAX 20000u  /* of one note */
#define RETAG_ARENA ((size_t)256 << 20)

struct retag {
    struct str tag, fresh; /* without their signs */
    struct buf key;        /* `tag`, folded */
    struct arena *arena;
    const char **paths; /* of the notes that have it */
    size_t count, capacity;
    size_t notes, spots; /* that were changed */
};

static struct str without_sign(struct str tag)
{
    tag = str_trim(tag);
    if (str_starts(tag, "#"))
        tag.at++, tag.n--;
    if (str_ends(tag, "/"))
        tag.n--;
    return tag;
}

/* ---- which notes ----------------------------------------------------------- */

/* The bytes of `tag` that are the name or stand for it: "a" of "a" and of "a/b"; else 0. */
static size_t stands_for(const struct retag *r, struct str tag)
{
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    for (size_t i = 0; i <= tag.n; i++) {
        if (i < tag.n && tag.at[i] != '/')
            continue;
        buf_clear(&folded);
        fold_put((struct str){tag.at, i}, &folded);
        if (str_eq(buf_view(&folded), buf_view(&r->key)))
            return i;
    }
    return 0;
}

static bool add_path(struct retag *r, struct str path, struct err *e)
{
    if (r->count && str_is(path, r->paths[r->count - 1]))
        return true;
    if (!array_fit(r->paths, r->capacity, r->count, e))
        return false;
    r->paths[r->count] = arena_copy(r->arena, path.at, path.n, e);
    return r->paths[r->count++] != NULL;
}

static bool list_tagged(struct db *db, void *arg, struct err *e)
{
    struct retag *r = arg;
    scoped(query_end) struct query *q = db_query(
        db, "SELECT n.path, t.tag FROM notes n JOIN tags t ON t.note = n.key ORDER BY 1",
        e);
    if (!q)
        return false;
    while (query_next(q, e))
        if (stands_for(r, query_str(q, 1)) && !add_path(r, query_str(q, 0), e))
            return false;
    return e->code == ERR_NONE;
}

/* ---- where in a note ------------------------------------------------------- */

struct spot {
    size_t at, length; /* in the note's bytes */
    char quote;        /* as ymltext.h has it; '\0' in its text */
};

struct spots {
    const struct retag *r;
    struct str bytes;
    struct spot *all;
    size_t count;
};

static void add_spot(struct spots *s, struct str tag, char quote)
{
    size_t n = stands_for(s->r, tag), at = (size_t)(tag.at - s->bytes.at);
    for (size_t i = s->count; n && i-- && s->all[i].at >= at;)
        if (s->all[i].at == at)
            return; /* "tags:: #a" has it as a property, too */
    if (n && s->count < SPOTS_MAX)
        s->all[s->count++] = (struct spot){at, n, quote};
}

static void add_tag(void *arg, struct str tag)
{
    add_spot(arg, tag, '\0');
}

static bool parts_tags(char c)
{
    return strchr(" \t\r\n,[]{}\"'#", c);
}

/* The tags in the value of one key; the key itself is passed over. */
static void spots_of_value(struct spots *s, struct str value)
{
    struct ymltext y = {.text = value, .quote = YMLTEXT_PLAIN};
    const char *colon = memchr(value.at, ':', value.n);
    y.at = colon ? (size_t)(colon - value.at) + 1 : value.n;
    for (bool more = y.at < value.n; more;) {
        size_t n = 0;
        while (y.at + n < value.n && !parts_tags(value.at[y.at + n]))
            n++;
        if (n)
            add_spot(s, (struct str){value.at + y.at, n}, y.quote);
        for (size_t end = y.at + (n ? n : 1); more && y.at < end;)
            more = ymltext_next(&y);
    }
}

static bool spots_of_frontmatter(struct spots *s, const struct note *n, struct arena *a,
                                 struct err *e)
{
    static const char *const keys[] = {"tags", "tag", "Tags", "Tag", NULL};
    const struct yml *y = &n->front.yml;
    size_t count;
    if (n->front.state != FRONTMATTER_GOOD || !y->by_lines)
        return true;
    size_t *lines = yml_lines(n->front.yaml, a, &count, e);
    for (size_t k = 0; lines && k < y->key_count; k++) {
        size_t end = k + 1 < y->key_count ? y->keys[k + 1].line : count;
        struct str value = {n->front.yaml.at + lines[y->keys[k].line],
                            lines[end] - lines[y->keys[k].line]};
        if (str_is_one_of(y->keys[k].name, keys))
            spots_of_value(s, value);
    }
    return lines != NULL;
}

static int spot_order(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* ---- one note -------------------------------------------------------------- */

/* Has the note the tag? */
static bool is_tagged(const struct retag *r, const struct note *n, struct arena *a,
                      bool *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(YML_JSON_MAX * 2);
    struct json_writer w = json_writer(&text);
    note_put_tags(n, &w);
    const struct json *tags =
        buf_check(&text, "a note's tags", e) ? json_read(buf_view(&text), a, e) : NULL;
    struct json_iter it = json_iter(tags);
    for (*out = false; !*out && json_next(&it);)
        *out = stands_for(r, json_str(it.value)) > 0;
    return tags != NULL;
}

static void put_retagged(const struct spots *s, struct buf *out)
{
    size_t done = 0;
    struct str fresh = s->r->fresh;
    for (size_t i = 0; i < s->count; i++) {
        buf_put(out, s->bytes.at + done, s->all[i].at - done);
        if (s->all[i].quote)
            ymltext_put(out, s->all[i].quote, fresh);
        else
            buf_str(out, fresh);
        done = s->all[i].at + s->all[i].length;
    }
    buf_put(out, s->bytes.at + done, s->bytes.n - done);
}

/* Replaces the tag in the note's bytes; nothing where it does not stand there any more. */
static bool put_note(struct retag *r, const struct vault *v, const struct note *n,
                     struct arena *a, struct buf *out, size_t *count, struct err *e)
{
    struct spots s = {.r = r, .bytes = n->bytes};
    struct note now;
    bool tagged = false;
    s.all = arena_get(a, SPOTS_MAX * sizeof *s.all, e);
    if (!s.all || !spots_of_frontmatter(&s, n, a, e))
        return false;
    struct str property = property_at_head(n->front.body, "tags"), tag;
    while (property_next(&property, &tag))
        add_spot(&s, without_sign(tag), '\0');
    markdown_tags(n->front.body, add_tag, &s);
    qsort(s.all, s.count, sizeof *s.all, spot_order);
    put_retagged(&s, out);
    *count = s.count;
    if (!buf_check(out, "the note", e) ||
        !note_parse(v, n->path, buf_view(out), &n->st, a, &now, e))
        return false;
    /* Of "a" that becomes "a/b" there is always some left. */
    if (!stands_for(r, r->fresh) && !is_tagged(r, &now, a, &tagged, e))
        return false;
    return !tagged || err_set(e, ERR_INVALID,
                              "the tag was not renamed: \"%.*s\" has it in a place where "
                              "it cannot be replaced safely; edit that file by hand",
                              STR_ARGS(n->path));
}

static bool retag_note(struct change *c, struct vault *v, struct retag *r,
                       const char *path, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    scoped_buf struct buf out = buf_of(NOTE_SIZE_MAX);
    struct note n;
    bool found;
    size_t count = 0;
    char summary[2 * TAG_NAME_MAX + 40];
    if (!vault_goes_on(v, e) || !change_read(c, path, &n, &found, e) ||
        (found && !put_note(r, v, &n, a, &out, &count, e)))
        return false;
    if (!count)
        return true;
    r->notes++;
    r->spots += count;
    (void)snprintf(summary, sizeof summary, "tag %.*s is %.*s",
                   STR_ARGS(str_cut(r->tag, TAG_NAME_MAX)), STR_ARGS(r->fresh));
    if (!change_replace(c, path, buf_view(&out), e))
        return false;
    change_say(c, path, "retag", summary);
    return true;
}

/* ---- the call -------------------------------------------------------------- */

static bool read_retag(const struct json *o, void *state, struct err *e)
{
    struct retag *r = state;
    if (!options_check(o, "notes.renameTag", NOTES_RENAME_TAG_KEYS, e) ||
        !options_str(o, "tag", NULL, &r->tag, e) ||
        !options_str(o, "new_tag", NULL, &r->fresh, e))
        return false;
    r->tag = without_sign(r->tag);
    r->fresh = without_sign(r->fresh);
    if (!r->tag.n)
        return err_set(e, ERR_INVALID,
                       "notes.renameTag: tag is a tag, such as 'project'");
    if (r->fresh.n > TAG_NAME_MAX || !r->fresh.n || !markdown_is_tag(r->fresh))
        return err_set(e, ERR_INVALID,
                       "notes.renameTag: new_tag \"%.*s\" is no tag; it has letters, "
                       "digits, '-', '_' and '/', at least one that is no digit, and at "
                       "most %u bytes",
                       STR_ARGS(str_cut(r->fresh, 80)), TAG_NAME_MAX);
    return true;
}

static bool run_retag(struct change *c, struct vault *v, void *state,
                      struct json_writer *out, struct err *e)
{
    struct retag *r = state;
    bool hidden = sight_hides(v, SIGHT_NOTES);
    fold_put(r->tag, &r->key);
    change_looks(c);
    if (!index_use(v, list_tagged, r, e))
        return false;
    if (!r->count && !hidden)
        return err_set(e, ERR_NOT_FOUND,
                       "no note has the tag \"%.*s\"; nothing was changed",
                       STR_ARGS(str_cut(r->tag, 100)));
    for (size_t i = 0; i < r->count; i++)
        if (!retag_note(c, v, r, r->paths[i], e))
            return false;
    json_open_object(out);
    json_pair_str(out, "tag", r->tag);
    json_pair_str(out, "new_tag", r->fresh);
    if (hidden) {
        sight_put_hidden(SIGHT_NOTES, out);
    } else {
        json_pair_int(out, "notes", (int64_t)r->notes);
        json_pair_int(out, "replaced", (int64_t)r->spots);
    }
    json_pair_time(out, "timestamp", vault_now(v));
    json_close(out);
    return true;
}

bool notes_rename_tag(struct vault *v, const struct json *options,
                      struct json_writer *out, struct err *e)
{
    static const struct operation operation = {
        "notes.renameTag", "retag", sizeof(struct retag), read_retag, run_retag};
    scoped(arena_free) struct arena *a = arena_new(RETAG_ARENA);
    struct retag r = {.arena = a, .key = buf_of(FOLD_KEY_MAX)};
    bool ok = write_perform_in(v, &operation, options, &r, out, e);
    buf_done(&r.key);
    free(r.paths);
    return ok;
}
