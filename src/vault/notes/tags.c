/* A note's tags: those of its frontmatter, in the spellings that programs read there, and the
 * #tags of its text; each once, whatever its case, as it is spelt first. */
#include <stdio.h>

#include "notes/aliases.h"
#include "notes/fold.h"
#include "notes/markdown.h"
#include "notes/vault.h"

#define TAGS_MAX 10000u /* of one note */
#define TAG_MAX 400u    /* bytes that are compared */

struct tags {
    struct map seen;
    struct arena *arena; /* of its keys */
    struct json_writer *w;
};

static void put_tag(void *arg, struct str tag)
{
    struct tags *t = arg;
    struct err full = {0};
    scoped_buf struct buf folded = buf_of(4 * PATH_MAX);
    tag = str_trim(tag);
    while (tag.n && tag.at[0] == '#')
        tag.at++, tag.n--;
    while (tag.n && tag.at[tag.n - 1] == '/')
        tag.n--;
    if (!tag.n || t->seen.count == TAGS_MAX)
        return;
    fold_put(str_cut(tag, TAG_MAX), &folded);
    if (map_find(&t->seen, buf_view(&folded)) != MAP_NONE)
        return;
    const char *key = arena_copy(t->arena, folded.at, folded.n, &full);
    if (key && map_add(&t->seen, (struct str){key, folded.n}, &full) != MAP_NONE)
        json_put_str(t->w, tag);
}

/* "a, b" and "a b" mean two. */
static void put_text(struct tags *t, struct str text)
{
    bool commas = text.n && memchr(text.at, ',', text.n);
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && !(commas ? text.at[i + n] == ','
                                          : strchr(" \t\r\n", text.at[i + n]) != NULL))
            n++;
        put_tag(t, (struct str){text.at + i, n});
        i += n + 1;
    }
}

static void tags_put_value(struct tags *t, const struct json *tags)
{
    char number[40];
    put_text(t, json_str(tags));
    struct json_iter it = json_iter(json_is(tags, JSON_ARRAY) ? tags : NULL);
    while (json_next(&it)) {
        if (json_is(it.value, JSON_STRING)) {
            put_tag(t, json_str(it.value));
        } else if (json_is(it.value, JSON_NUMBER)) {
            (void)snprintf(number, sizeof number, "%.15g", json_number(it.value, 0));
            put_tag(t, str_of(number));
        }
    }
}

void note_put_tags(const struct note *n, struct json_writer *w)
{
    static const char *const keys[] = {"tags", "tag", "Tags", "Tag"};
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct tags t = {.w = w, .arena = a};
    json_open_array(w);
    for (size_t i = 0; i < LENGTH(keys); i++)
        tags_put_value(&t, json_get(n->front.yml.all, keys[i]));
    struct str property = property_at_head(n->front.body, "tags"), tag;
    while (property_next(&property, &tag))
        put_tag(&t, tag);
    if (markdown_may_have_tags(n->front.body))
        markdown_tags(n->front.body, put_tag, &t);
    json_close(w);
    map_done(&t.seen);
}
