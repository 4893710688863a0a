/* Sections, and properties made of them and of the frontmatter. */
#include "notes/outline.h"

bool outline_read(struct str body, struct arena *a, struct outline *o, struct err *e)
{
    *o = (struct outline){.body = body};
    o->headings = blocks_headings(body, a, &o->heading_count, e);
    o->sections = o->headings
                      ? arena_get(a, (o->heading_count + 1) * sizeof *o->sections, e)
                      : NULL;
    if (!o->sections)
        return false;
    struct section *open = NULL;
    for (size_t i = 0; i < o->heading_count; i++) {
        const struct heading *h = &o->headings[i];
        if (h->level > SECTION_LEVEL)
            continue;
        if (open)
            open->end = h->start;
        open = h->level == SECTION_LEVEL ? &o->sections[o->count++] : NULL;
        if (open)
            *open = (struct section){h, body.n};
    }
    return true;
}

struct str outline_text(const struct outline *o, const struct section *s)
{
    size_t from = s->heading->end;
    return str_trim((struct str){o->body.at + from, s->end - from});
}

/* ---- properties ----------------------------------------------------------- */

struct properties {
    const struct note *note;
    struct json_writer *w, *cut; /* cut: NULL where all is told */
    size_t left;                 /* bytes that sections may still take */
};

static void outline_put_section(struct properties *p, const struct outline *o,
                                const struct section *s)
{
    struct str key = s->heading->text, text = outline_text(o, s);
    struct str some = text;
    if (p->cut) {
        some = str_cut(text, p->left < PROPERTY_MAX ? p->left : PROPERTY_MAX);
        p->left -= some.n;
    }
    json_key_str(p->w, key);
    if (some.n == text.n) {
        json_put_str(p->w, text);
        return;
    }
    scoped_buf struct buf marked = buf_of(PROPERTY_MAX + 4);
    buf_str(&marked, some);
    buf_cstr(&marked, "...");
    json_put_str(p->w, buf_view(&marked));
    json_put_str(p->cut, key);
}

static bool outline_leaves_out(struct properties *p, struct str key)
{
    if (!p->cut)
        return false;
    bool out = key.n >= p->left;
    p->left -= out ? 0 : key.n;
    return out;
}

/* The keys of sections are taken then: in a table, since a stranger's note may have as many
 * headings as it likes. */
static bool outline_put_sections(struct properties *p, const struct outline *o,
                                 struct map *taken)
{
    struct err full = {0};
    for (size_t i = 0; i < o->count; i++) {
        const struct section *s = &o->sections[i];
        struct str key = s->heading->text;
        if (!key.n || map_find(taken, key) != MAP_NONE || outline_leaves_out(p, key))
            continue;
        if (map_add(taken, key, &full) == MAP_NONE)
            return false;
        outline_put_section(p, o, s);
    }
    return true;
}

static void outline_put_properties(struct properties *p, struct arena *a)
{
    struct err ignored = {0};
    struct outline o = {0};
    scoped_map struct map taken = {0};
    json_open_object(p->w);
    bool told = outline_read(p->note->front.body, a, &o, &ignored) &&
                outline_put_sections(p, &o, &taken);
    struct json_iter it = json_iter(p->note->front.yml.all);
    while (json_next(&it)) {
        if (note_is_own_key(it.key) || (told && map_find(&taken, it.key) != MAP_NONE))
            continue;
        json_key_str(p->w, it.key);
        json_put(p->w, it.value);
    }
    json_close(p->w);
}

void note_put_properties(const struct note *n, struct arena *a, struct json_writer *w)
{
    struct properties p = {.note = n, .w = w};
    outline_put_properties(&p, a);
}

void note_put_short_properties(const struct note *n, struct arena *a,
                               struct json_writer *w, struct buf *cut)
{
    struct json_writer c = json_writer(cut);
    struct properties p = {.note = n, .w = w, .cut = &c, .left = PROPERTIES_MAX};
    json_open_array(&c);
    outline_put_properties(&p, a);
    json_close(&c);
}
