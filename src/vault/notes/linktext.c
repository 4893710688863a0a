#include "notes/linktext.h"

#include <limits.h>

#include "notes/canvas.h"
#include "notes/frontlinks.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/name.h"
#include "notes/ymltext.h"
#include "json/json.h"

#define NAMES_BYTES ((size_t)512 << 20)

struct linktexts {
    struct change *c;
    bool keeps;
    struct arena *arena; /* of the names */
    struct map names;
    struct linkslot **first; /* by the number of a name */
    size_t first_capacity;
    size_t slot_count; /* of all notes */
    struct linktext *all;
    struct buf text, other, key;
    struct str last; /* fresh target, shared by those that follow with the same */
};

struct linktexts *linktexts_new(struct change *c, bool keeps)
{
    struct linktexts *x = mem_new(sizeof *x);
    x->c = c;
    x->keeps = keeps;
    x->arena = arena_new(NAMES_BYTES);
    buf_init(&x->text, PATH_MAX);
    buf_init(&x->other, PATH_MAX);
    buf_init(&x->key, 2 * PATH_MAX + 1);
    return x;
}

void linktexts_free(struct linktexts *x)
{
    if (!x)
        return;
    while (x->all)
        linktext_close(x->all);
    arena_free(x->arena);
    map_done(&x->names);
    free(x->first);
    buf_done(&x->text);
    buf_done(&x->other);
    buf_done(&x->key);
    free(x);
}

/* ---- names --------------------------------------------------------------- */

bool linktexts_key(struct str text, struct str other, struct buf *out)
{
    return buf_str(out, text) && buf_char(out, '\0') && buf_str(out, other);
}

static void slot_unlist(struct linkslot *s)
{
    if (s->name == LINKSLOT_NONE)
        return;
    if (s->before)
        s->before->next = s->next;
    else
        s->text->set->first[s->name] = s->next;
    if (s->next)
        s->next->before = s->before;
    s->next = s->before = NULL;
    s->name = LINKSLOT_NONE;
}

/* The number of the name that stands in x->text and x->other. */
static bool slot_number(struct linktexts *x, size_t *out, struct err *e)
{
    buf_clear(&x->key);
    (void)linktexts_key(buf_view(&x->text), buf_view(&x->other), &x->key);
    struct str key = buf_view(&x->key);
    *out = map_find(&x->names, key);
    if (*out != MAP_NONE)
        return true;
    const char *copy = arena_copy(x->arena, key.at, key.n, e);
    if (!copy || !array_fit(x->first, x->first_capacity, x->names.count, e))
        return false;
    *out = map_add(&x->names, (struct str){copy, key.n}, e);
    if (*out == MAP_NONE)
        return false;
    x->first[*out] = NULL;
    return true;
}

/* Among those of its name. */
static bool enlist(struct linkslot *s, struct err *e)
{
    struct linktexts *x = s->text->set;
    size_t number;
    if (!x->keeps)
        return true;
    slot_unlist(s);
    linkslot_name(s, str_of(s->text->note->to), &x->text, &x->other);
    if (!x->text.n)
        return true;
    if (!slot_number(x, &number, e))
        return false;
    s->name = (uint32_t)number;
    s->next = x->first[number];
    if (s->next)
        s->next->before = s;
    x->first[number] = s;
    return true;
}

struct linkslot *linktexts_named(const struct linktexts *x, struct str key)
{
    size_t number = map_find(&x->names, key);
    return number == MAP_NONE ? NULL : x->first[number];
}

struct link linkslot_link(const struct linkslot *s)
{
    return (struct link){.target = s->target, .kind = s->kind, .image = s->image};
}

void linkslot_name(const struct linkslot *s, struct str path, struct buf *text,
                   struct buf *other)
{
    buf_clear(text);
    buf_clear(other);
    if (s->subnote)
        buf_str(text, s->target);
    else if (s->kind != LINK_EXTERNAL) {
        struct link l = linkslot_link(s);
        link_name(&l, path, text, other);
    }
}

/* ---- reading ------------------------------------------------------------- */

struct reading {
    struct linktext *t;
    struct str path;
    size_t links;    /* that the index counts */
    uint32_t number; /* of the next row */
    struct err *e;
};

static struct linkslot *add_slot(struct linktext *t, struct err *e)
{
    struct linktexts *x = t->set;
    if (x->slot_count == LINKSLOTS_MAX) {
        err_set(e, ERR_LIMIT,
                "the notes of one change may have at most %u links; nothing was written",
                LINKSLOTS_MAX);
        return NULL;
    }
    if (!array_fit(t->slots, t->capacity, t->count, e))
        return NULL;
    x->slot_count++;
    struct linkslot *s = &t->slots[t->count++];
    *s = (struct linkslot){.text = t, .name = LINKSLOT_NONE, .number = LINKSLOT_NONE};
    return s;
}

static void add_link(void *arg, const struct link *l)
{
    struct reading *r = arg;
    struct linkslot *s = r->e->code ? NULL : add_slot(r->t, r->e);
    if (!s)
        return;
    struct linktexts *x = r->t->set;
    s->target = l->target;
    s->at = (uint32_t)(l->target.at - r->t->bytes.at);
    s->length = (uint32_t)l->target.n;
    s->kind = (uint8_t)l->kind;
    s->image = l->image;
    /* As the index counts them: see linker_write(). */
    if (!canvas_counts(l) || r->links++ >= LINKS_MAX)
        return;
    linkslot_name(s, r->path, &x->text, &x->other);
    if (l->kind == LINK_EXTERNAL || x->text.n)
        s->number = r->number++;
}

static void add_canvas_link(void *arg, const struct canvas_link *l)
{
    struct reading *r = arg;
    size_t before = r->t->count;
    r->links = 0; /* all of them have rows */
    add_link(arg, &l->link);
    if (r->t->count == before)
        return;
    struct linkslot *s = &r->t->slots[before];
    s->at = (uint32_t)l->at;
    s->length = (uint32_t)l->length;
    s->canvas = true;
    s->rooted = l->node;
}

/* The index has them before those of the text. */
static void add_frontlink(void *arg, const struct frontlink *l)
{
    struct reading *r = arg;
    struct linkslot *s = r->e->code ? NULL : add_slot(r->t, r->e);
    if (!s)
        return;
    s->target = l->link.target;
    s->at = (uint32_t)(l->at - r->t->bytes.at);
    s->length = (uint32_t)l->length;
    s->kind = (uint8_t)l->link.kind;
    s->quote = l->quote;
    linkslot_name(s, r->path, &r->t->set->text, &r->t->set->other);
    if (r->t->set->text.n)
        s->number = r->number++;
}

static bool add_subnotes(struct linktext *t, const struct json *list, struct err *e)
{
    struct linktexts *x = t->set;
    if (!json_is(list, JSON_ARRAY))
        return true;
    t->subnote_count = json_length(list);
    t->subnotes = arena_get(x->c->arena, (t->subnote_count + 1) * sizeof *t->subnotes, e);
    struct json_iter it = json_iter(list);
    for (uint32_t i = 0; t->subnotes && json_next(&it); i++) {
        t->subnotes[i] = it.value;
        buf_clear(&x->text);
        if (!subnote_name(it.value, &x->text))
            continue;
        struct linkslot *s = add_slot(t, e);
        const char *copy = s ? arena_copy(x->c->arena, x->text.at, x->text.n, e) : NULL;
        if (!copy)
            return false;
        s->target = (struct str){copy, x->text.n};
        s->at = i;
        s->number = i < SUBNOTES_MAX ? i : LINKSLOT_NONE;
        s->subnote = true;
    }
    return t->subnotes != NULL;
}

static bool read_slots(struct linktext *t, struct err *e)
{
    struct note note;
    bool found;
    const char *path = t->note->to;
    if (!change_read(t->set->c, path, &note, &found, e))
        return false;
    must(found);
    t->bytes = t->note->now;
    t->body = (size_t)(note.front.body.at - t->bytes.at);
    struct reading r = {.t = t, .path = note.path, .e = e};
    if (name_is_canvas(note.path) &&
        !canvas_links(t->bytes, t->set->c->arena, add_canvas_link, &r, e))
        return false;
    if (!add_subnotes(t, json_get(note.front.yml.all, SUBNOTES_KEY), e))
        return false;
    /* The arena of the change keeps names that are written with escapes. */
    if (!frontlinks_read(&note.front, t->set->c->arena, add_frontlink, &r, e))
        return false;
    markdown_targets(note.front.body, add_link, &r);
    for (size_t i = 0; i < t->count && !e->code; i++)
        (void)enlist(&t->slots[i], e);
    return e->code == ERR_NONE;
}

struct linktext *linktext_open(struct linktexts *x, struct entry *n, struct err *e)
{
    if (n->links)
        return n->links;
    struct linktext *t = mem_new(sizeof *t);
    t->set = x;
    t->c = x->c;
    t->note = n;
    t->next = x->all;
    if (x->all)
        x->all->before = t;
    x->all = t;
    if (!read_slots(t, e)) {
        linktext_close(t);
        return NULL;
    }
    n->links = t;
    return t;
}

void linktext_close(struct linktext *t)
{
    if (!t)
        return;
    struct linktexts *x = t->set;
    for (size_t i = 0; i < t->count; i++)
        slot_unlist(&t->slots[i]);
    if (t->before)
        t->before->next = t->next;
    else
        x->all = t->next;
    if (t->next)
        t->next->before = t->before;
    x->slot_count -= t->count;
    if (t->note->links == t)
        t->note->links = NULL;
    free(t->slots);
    free(t);
}

/* ---- replacing ----------------------------------------------------------- */

/* Behind the sign that stood before it, which tells how it was written. */
static bool keep_target(struct linktexts *x, char sign, struct str target,
                        struct str *out, struct err *e)
{
    if (!x->last.n || !str_eq(x->last, target) || x->last.at[-1] != sign) {
        char *copy = arena_get(x->c->arena, target.n + 1, e);
        if (!copy)
            return false;
        copy[0] = sign;
        memcpy(copy + 1, target.at, target.n);
        x->last = (struct str){copy + 1, target.n};
    }
    *out = x->last;
    return true;
}

static bool replace_subnote(struct linkslot *s, struct str fresh, struct err *e)
{
    struct linktexts *x = s->text->set;
    const struct json *entry = frontmatter_text(fresh, x->c->arena, e);
    buf_clear(&x->text);
    if (!entry)
        return false;
    (void)subnote_name(entry, &x->text);
    s->text->subnotes[s->at] = entry;
    s->text->pending_subnotes = true;
    return keep_target(x, ' ', buf_view(&x->text), &s->target, e);
}

bool linkslot_replace(struct linkslot *s, struct str part, struct str fresh,
                      struct err *e)
{
    struct linktexts *x = s->text->set;
    scoped_buf struct buf whole = buf_of(5 * PATH_MAX + s->target.n);
    if (s->subnote) {
        if (!replace_subnote(s, fresh, e))
            return false;
    } else {
        size_t tail = (size_t)(part.at - s->target.at) + part.n;
        buf_put(&whole, s->target.at, (size_t)(part.at - s->target.at));
        buf_str(&whole, fresh);
        buf_put(&whole, s->target.at + tail, s->target.n - tail);
        if (!buf_check(&whole, "a link's target", e) ||
            !keep_target(x, s->target.at[-1], buf_view(&whole), &s->target, e))
            return false;
    }
    s->text->pending = s->replaced = true;
    entry_touch(x->c, s->text->note);
    return enlist(s, e);
}

/* ---- writing ------------------------------------------------------------- */

/* The bytes [from, to) of the note with what was replaced in them. */
static void put_replaced(const struct linktext *t, size_t from, size_t to,
                         struct buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct linkslot *s = &t->slots[i];
        if (s->subnote || !s->replaced || s->at < from || s->at >= to)
            continue;
        buf_put(out, t->bytes.at + from, s->at - from);
        if (s->canvas)
            canvas_put(out, s->target);
        else if (s->quote)
            ymltext_put(out, s->quote, s->target);
        else
            buf_str(out, s->target);
        from = s->at + s->length;
    }
    buf_put(out, t->bytes.at + from, to - from);
}

static bool linktext_put_head(struct linktext *t, struct buf *out, struct err *e)
{
    scoped_buf struct buf head = buf_of(NOTE_SIZE_MAX), text = buf_of(YML_JSON_MAX * 2);
    if (!t->pending_subnotes) {
        put_replaced(t, 0, t->body, out);
        return buf_check(out, "the note", e);
    }
    struct arena *a = t->set->c->arena;
    struct frontmatter front;
    put_replaced(t, 0, t->body, &head);
    const char *copy =
        buf_check(&head, "the note", e) ? arena_copy(a, buf_cz(&head), head.n, e) : NULL;
    if (!copy || !frontmatter_read((struct str){copy, head.n}, a, &front, e))
        return false;
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < t->subnote_count; i++)
        json_put(&w, t->subnotes[i]);
    json_close(&w);
    const struct json *list =
        buf_check(&text, "the subnotes", e) ? json_read(buf_view(&text), a, e) : NULL;
    struct frontmatter_change change = {STR(SUBNOTES_KEY), list};
    return list && frontmatter_edit(&front, &change, 1, a, out, e);
}

bool linktext_write(struct linktext *t, struct err *e)
{
    struct linktexts *x = t->set;
    struct entry *n = t->note;
    if (!t->pending)
        return true;
    scoped_buf struct buf out = buf_of(NOTE_SIZE_MAX);
    if (!linktext_put_head(t, &out, e))
        return false;
    put_replaced(t, t->body, t->bytes.n, &out);
    return buf_check(&out, "a note with rewritten links", e) &&
           entry_set(x->c, n, buf_view(&out), e); /* closes it */
}

bool linktexts_write(struct linktexts *x, struct err *e)
{
    for (struct linktext *t = x->all, *next; t; t = next) {
        next = t->next;
        if (!linktext_write(t, e))
            return false;
    }
    return true;
}
