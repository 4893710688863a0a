/* Changing a note's body and metadata. */
#include <stdio.h>

#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/types.h"
#include "notes/write.h"

struct revision {
    struct str identifier;
    struct write_guard guard;
    const struct json *content; /* NULL: stays */
    const struct json *metadata;
    const struct json *whole; /* the options that give the whole file, or NULL */
    char now[25];
};

static bool read_revision(const struct json *o, void *state, struct err *e)
{
    struct revision *r = state;
    static const char *const refused[] = {"id", "type", "updated", NULL};
    struct str content;
    if (!options_check(o, "notes.update", NOTES_UPDATE_KEYS, e) ||
        !options_identifier(o, &r->identifier, e) ||
        !options_str(o, "content", NULL, &content, e))
        return false;
    const struct json *given = json_get(o, "content");
    r->content = json_is(given, JSON_STRING) ? given : NULL;
    r->metadata = json_get(o, "metadata");
    if (!write_check_metadata(r->metadata, refused, e))
        return false;
    r->whole = write_has_whole(o) ? o : NULL;
    if (!r->content && !json_is(r->metadata, JSON_OBJECT) && !r->whole)
        return err_set(e, ERR_INVALID,
                       "nothing to update: give content (a string), "
                       "metadata (an object), or both; or markdown, the whole file");
    return write_read_guard(o, &r->guard, e);
}

/* Lists the changes of the frontmatter. */
static size_t list_changes(const struct revision *r, const struct note *n,
                           bool body_changes, struct arena *a,
                           struct frontmatter_change *changes)
{
    size_t count = 0;
    struct json_iter it = json_iter(r->metadata);
    while (json_next(&it))
        changes[count++] = (struct frontmatter_change){it.key, it.value};
    bool differs = body_changes;
    for (size_t i = 0; i < count && !differs; i++) {
        const struct json *now = json_get_str(n->front.yml.all, changes[i].key);
        bool removed = json_is(changes[i].value, JSON_NULL);
        differs = removed ? now != NULL : !now || !json_equal(now, changes[i].value);
    }
    bool has = json_get(n->front.yml.all, "updated") != NULL;
    bool made = n->front.state == FRONTMATTER_NONE && count;
    if (differs && (has || made)) {
        char text[40];
        (void)snprintf(text, sizeof text, "\"%s\"", r->now);
        struct err none = {0};
        changes[count++] = (struct frontmatter_change){STR("updated"),
                                                       json_read(str_of(text), a, &none)};
    }
    return count;
}

/* The file's new bytes, given as a whole. */
static bool note_replace(struct change *c, struct vault *v, const struct revision *r,
                         const struct note *n, struct arena *a, struct buf *out,
                         struct err *e)
{
    struct note new;
    if (!write_parse_whole(r->whole, n->path, a, &new, e))
        return false;
    const struct types_note whole = {
        .whole = true, .metadata = new.front.yml.all, .body = new.front.body};
    return types_check(c, v, name_type(n->path), &whole, e) &&
           (buf_str(out, new.bytes) || buf_check(out, "the note", e));
}

/* The file's new bytes, of what changes. */
static bool note_revise(struct change *c, struct vault *v, const struct revision *r,
                        const struct note *n, struct arena *a, struct buf *out,
                        struct err *e)
{
    struct str body = r->content ? json_str(r->content) : n->front.body;
    const struct types_note changed = {.metadata = n->front.yml.all,
                                       .changes = r->metadata,
                                       .body = body,
                                       .old_body = n->front.body};
    if (!types_check(c, v, name_type(n->path), &changed, e))
        return false;
    size_t room = json_length(r->metadata) + 1;
    struct frontmatter_change *changes = arena_get(a, room * sizeof *changes, e);
    scoped_buf struct buf head = buf_of(NOTE_SIZE_MAX);
    if (!changes)
        return false;
    size_t count = list_changes(r, n, !str_eq(body, n->front.body), a, changes);
    if (!frontmatter_edit(&n->front, changes, count, a, &head, e))
        return false;
    frontmatter_join(buf_view(&head), body, r->content && frontmatter_is_crlf(n->bytes),
                     out);
    return buf_check(out, "the note", e);
}

static bool run_revision(struct change *c, struct vault *v, void *state,
                         struct json_writer *out, struct err *e)
{
    struct revision *r = state;
    char path[PATH_MAX], hash[HASH_SIZE];
    struct note n;
    if (!vault_need_note(v, c, r->identifier, path, &n, e))
        return false;
    int64_t now = vault_now(v);
    date_format(now, r->now);
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    scoped_buf struct buf fresh = buf_of(NOTE_SIZE_MAX);
    if (!write_check_guard(&r->guard, &n, e) ||
        !(r->whole ? note_replace : note_revise)(c, v, r, &n, a, &fresh, e) ||
        !change_replace(c, path, buf_view(&fresh), e))
        return false;
    change_say(c, path, NULL,
               r->whole                                          ? "the whole file"
               : r->content && json_is(r->metadata, JSON_OBJECT) ? "content and metadata"
               : r->content                                      ? "content"
                                                                 : "metadata");
    change_hash(c, path, hash);
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(path));
    json_pair_bool(out, "updated", true);
    json_pair_time(out, "timestamp", now);
    json_pair_cstr(out, "content_hash", hash);
    json_close(out);
    return true;
}

const struct operation update_operation = {
    "notes.update", "update", sizeof(struct revision), read_revision, run_revision};

bool notes_update(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    return write_perform(v, &update_operation, options, out, e);
}
