#include "notes/aliases.h"

#include <strings.h>

#include "notes/fold.h"
#include "notes/name.h"

/* ---- properties at the head ---------------------------------------------- */

/* The line's key, empty where it is no property. */
static struct str property_key(struct str line, struct str *value)
{
    size_t n = 0;
    while (n < line.n && line.at[n] != ':' && line.at[n] != ' ' && line.at[n] != '\t')
        n++;
    if (!n || line.n - n < 2 || memcmp(line.at + n, "::", 2) != 0 ||
        (line.n - n > 2 && line.at[n + 2] != ' ' && line.at[n + 2] != '\t'))
        return STR("");
    *value = str_trim((struct str){line.at + n + 2, line.n - n - 2});
    return (struct str){line.at, n};
}

struct str property_at_head(struct str body, const char *key)
{
    while (body.n) {
        const char *end = memchr(body.at, '\n', body.n);
        struct str line = {body.at, end ? (size_t)(end - body.at) : body.n};
        struct str value, found = property_key(line, &value);
        if (!found.n)
            break;
        if (found.n == strlen(key) && !strncasecmp(found.at, key, found.n))
            return value;
        size_t step = line.n + (end != NULL);
        body = (struct str){body.at + step, body.n - step};
    }
    return STR("");
}

bool property_next(struct str *list, struct str *part)
{
    size_t n = 0;
    bool inside = false;
    if (!list->n)
        return false;
    for (; n < list->n && (inside || list->at[n] != ','); n++)
        if (n + 1 < list->n && list->at[n] == list->at[n + 1])
            inside = list->at[n] == '[' || (inside && list->at[n] != ']');
    *part = str_trim((struct str){list->at, n});
    n += n < list->n;
    *list = (struct str){list->at + n, list->n - n};
    if (str_starts(*part, "[[") && str_ends(*part, "]]") && part->n >= 4)
        *part = str_trim((struct str){part->at + 2, part->n - 4});
    return true;
}

/* ---- aliases ------------------------------------------------------------- */

struct aliases {
    struct map seen;
    struct arena *arena; /* of its keys */
    alias_fn *each;
    void *arg;
};

static void tell_alias(struct aliases *all, struct str alias)
{
    struct err full = {0};
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    alias = str_cut(str_trim(alias), NAME_TITLE_MAX);
    if (!alias.n || all->seen.count == ALIASES_MAX)
        return;
    fold_put(alias, &folded);
    if (map_find(&all->seen, buf_view(&folded)) != MAP_NONE)
        return;
    const char *key = arena_copy(all->arena, folded.at, folded.n, &full);
    if (key && map_add(&all->seen, (struct str){key, folded.n}, &full) != MAP_NONE)
        all->each(all->arg, alias);
}

static void tell_list(struct aliases *all, struct str list)
{
    struct str part;
    while (property_next(&list, &part))
        tell_alias(all, part);
}

/* "aliases: [1984]" is a name as well: people leave the quotes out. */
static void tell_number(struct aliases *all, const struct json *value)
{
    scoped_buf struct buf text = buf_of(BUF_LINE);
    struct json_writer w = json_writer(&text);
    if (!json_is(value, JSON_NUMBER))
        return;
    json_put(&w, value);
    tell_alias(all, buf_view(&text));
}

static void tell_aliases(struct aliases *all, const struct json *value)
{
    tell_list(all, json_str(value));
    tell_number(all, value);
    struct json_iter it = json_iter(json_is(value, JSON_ARRAY) ? value : NULL);
    while (json_next(&it)) {
        tell_alias(all, json_str(it.value));
        tell_number(all, it.value);
    }
}

void note_aliases(const struct note *n, alias_fn *each, void *arg)
{
    static const char *const keys[] = {"aliases", "alias", "Aliases", "Alias"};
    struct str property = property_at_head(n->front.body, "alias");
    if (!n->front.yml.all && !property.n)
        return;
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct aliases all = {.arena = a, .each = each, .arg = arg};
    for (size_t i = 0; i < LENGTH(keys); i++)
        tell_aliases(&all, json_get(n->front.yml.all, keys[i]));
    tell_list(&all, property);
    if (n->by_file) /* other programs may show it */
        tell_alias(&all, json_str(json_get(n->front.yml.all, "title")));
    map_done(&all.seen);
}

static void alias_put(void *arg, struct str alias)
{
    json_put_str(arg, alias);
}

void note_put_aliases(const struct note *n, struct json_writer *w)
{
    json_open_array(w);
    note_aliases(n, alias_put, w);
    json_close(w);
}
