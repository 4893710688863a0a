/* YAML is read: what libyaml parses becomes JSON. */
#include "notes/yml.h"

#include <math.h>
#include <yaml.h>

/* ---- scalars by the core schema ----------------------------------------- */

static size_t digits(struct str s, size_t from, const char *accepted)
{
    size_t n = 0;
    while (from + n < s.n && s.at[from + n] && strchr(accepted, s.at[from + n]))
        n++;
    return n;
}

#define DECIMAL "0123456789"

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool yml_is_number(struct str s, bool *whole)
{
    size_t i = s.n && (s.at[0] == '-' || s.at[0] == '+');
    size_t before = digits(s, i, DECIMAL), after = 0;
    i += before;
    *whole = i == s.n;
    if (i < s.n && s.at[i] == '.') {
        after = digits(s, i + 1, DECIMAL);
        i += 1 + after;
    }
    if (before + after == 0)
        return false;
    if (i < s.n && (s.at[i] == 'e' || s.at[i] == 'E')) {
        i++;
        i += i < s.n && (s.at[i] == '-' || s.at[i] == '+');
        size_t n = digits(s, i, DECIMAL);
        if (n == 0)
            return false;
        i += n;
    }
    return i == s.n;
}

/* 0o17 and 0x1f */
static bool based_number(struct str s, double *out)
{
    bool octal = str_starts(s, "0o"), hex = str_starts(s, "0x");
    const char *accepted = octal ? "01234567" : "0123456789abcdefABCDEF";
    if ((!octal && !hex) || s.n < 3 || digits(s, 2, accepted) != s.n - 2 || s.n > 20)
        return false;
    char text[24] = "";
    memcpy(text, s.at + 2, s.n - 2);
    *out = (double)strtoull(text, NULL, octal ? 8 : 16);
    return true;
}

static bool number_value(struct str s, double *out)
{
    bool whole;
    if (based_number(s, out))
        return fabs(*out) < YML_WHOLE_MAX;
    if (s.n == 0 || s.n > 300 || !yml_is_number(s, &whole))
        return false;
    char text[304];
    memcpy(text, s.at, s.n);
    text[s.n] = '\0';
    *out = strtod(text, NULL);
    return isfinite(*out) && (!whole || fabs(*out) < YML_WHOLE_MAX);
}

static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", NULL};
static const char *const falses[] = {"false", "False", "FALSE", NULL};

static void put_plain(struct json_writer *w, struct str s)
{
    double number;
    if (str_is_one_of(s, nulls))
        json_put_null(w);
    else if (str_is_one_of(s, trues))
        json_put_bool(w, true);
    else if (str_is_one_of(s, falses))
        json_put_bool(w, false);
    else if (number_value(s, &number))
        json_put_number(w, number);
    else
        json_put_str(w, s);
}

/* ---- reading ------------------------------------------------------------ */

struct anchor {
    const char *name;
    size_t from, to; /* in the JSON text; `to` is 0 while it is open */
    struct anchor *next;
};

struct level {
    bool mapping, wants_key;
    struct anchor *anchor;
};

struct reader {
    yaml_parser_t parser;
    struct arena *arena;
    struct buf json;
    struct json_writer w;
    struct level levels[YML_DEPTH_MAX + 1];
    unsigned depth;
    unsigned nodes;
    struct anchor *anchors;
    unsigned anchor_count;
    struct yml *out;
    size_t key_capacity;
    struct err *e;
};

static bool yml_refuse(struct reader *r, const yaml_mark_t *at, const char *what)
{
    return err_set(r->e, ERR_INVALID, "%s (line %zu)", what, at->line + 1);
}

static bool add_key(struct reader *r, struct str name, const yaml_mark_t *at)
{
    struct yml *y = r->out;
    if (y->key_count == r->key_capacity) {
        size_t more = r->key_capacity ? 2 * r->key_capacity : 16;
        struct yml_key *grown = arena_get(r->arena, more * sizeof *grown, r->e);
        if (!grown)
            return false;
        if (y->key_count)
            memcpy(grown, y->keys, y->key_count * sizeof *grown);
        y->keys = grown;
        r->key_capacity = more;
    }
    char *copy = arena_copy(r->arena, name.at, name.n, r->e);
    if (!copy)
        return false;
    if (y->key_count == 0)
        y->column = at->column;
    else if (y->keys[y->key_count - 1].line == at->line)
        y->by_lines = false;
    y->keys[y->key_count++] = (struct yml_key){{copy, name.n}, at->line, at->line + 1};
    return true;
}

/* A value of the outermost mapping ends here for sure. */
static void value_ends(struct reader *r, const yaml_mark_t *at)
{
    if (r->depth == 1 && r->out->key_count &&
        at->line >= r->out->keys[r->out->key_count - 1].stop)
        r->out->keys[r->out->key_count - 1].stop = at->line + 1;
}

/* The offset at which the text of the next value begins. */
static size_t value_start(const struct reader *r)
{
    return r->json.n + (r->w.comma && !r->w.after_key);
}

static bool new_anchor(struct reader *r, const yaml_char_t *name, struct anchor **out)
{
    *out = NULL;
    if (!name)
        return true;
    if (++r->anchor_count > YML_ANCHORS_MAX)
        return err_set(r->e, ERR_INVALID, "more than %u anchors", YML_ANCHORS_MAX);
    struct anchor *a = arena_get(r->arena, sizeof *a, r->e);
    if (!a)
        return false;
    a->name = arena_copy(r->arena, name, strlen((const char *)name), r->e);
    if (!a->name)
        return false;
    a->from = value_start(r);
    a->next = r->anchors;
    r->anchors = a;
    *out = a;
    return true;
}

static void end_anchor(struct reader *r, struct anchor *a)
{
    if (a)
        a->to = r->json.n;
}

static bool put_anchored(struct reader *r, const yaml_event_t *ev)
{
    const char *name = (const char *)ev->data.alias.anchor;
    for (struct anchor *a = r->anchors; a; a = a->next) {
        if (strcmp(a->name, name) != 0)
            continue;
        if (!a->to)
            return yml_refuse(r, &ev->start_mark, "an alias is inside its own anchor");
        /* The buf may move while it grows: copy from a copy. */
        size_t n = a->to - a->from;
        if (n > r->json.ceiling - r->json.n)
            return yml_refuse(r, &ev->start_mark,
                              "its aliases expand to more than it may hold");
        char *copy = malloc(n ? n : 1);
        must(copy != NULL);
        memcpy(copy, r->json.at + a->from, n);
        json_put_raw(&r->w, (struct str){copy, n});
        free(copy);
        return true;
    }
    return yml_refuse(r, &ev->start_mark, "an alias without its anchor");
}

static bool put_key(struct reader *r, const yaml_event_t *ev)
{
    if (ev->type != YAML_SCALAR_EVENT)
        return yml_refuse(r, &ev->start_mark, "a key that is not plain text");
    struct str name = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    if (ev->data.scalar.anchor)
        return yml_refuse(r, &ev->start_mark, "an anchor at a key");
    if (r->depth == 1 && !add_key(r, name, &ev->start_mark))
        return false;
    json_key_str(&r->w, name);
    return true;
}

static bool put_scalar(struct reader *r, const yaml_event_t *ev)
{
    struct anchor *anchor;
    if (!new_anchor(r, ev->data.scalar.anchor, &anchor))
        return false;
    struct str s = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                 ev->data.scalar.plain_implicit;
    const char *tag = (const char *)ev->data.scalar.tag;
    bool typed = tag && (!strcmp(tag, YAML_INT_TAG) || !strcmp(tag, YAML_FLOAT_TAG) ||
                         !strcmp(tag, YAML_BOOL_TAG) || !strcmp(tag, YAML_NULL_TAG));
    if (plain || typed)
        put_plain(&r->w, s);
    else
        json_put_str(&r->w, s);
    end_anchor(r, anchor);
    bool exact = ev->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                 ev->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (exact)
        value_ends(r, &ev->end_mark);
    return true;
}

static bool open_level(struct reader *r, const yaml_event_t *ev)
{
    bool mapping = ev->type == YAML_MAPPING_START_EVENT;
    if (r->depth == YML_DEPTH_MAX)
        return yml_refuse(r, &ev->start_mark, "nested too deeply");
    struct anchor *anchor;
    if (!new_anchor(
            r, mapping ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor,
            &anchor))
        return false;
    if (r->depth == 0)
        r->out->by_lines = ev->data.mapping_start.style != YAML_FLOW_MAPPING_STYLE &&
                           !ev->data.mapping_start.anchor && !ev->data.mapping_start.tag;
    if (mapping)
        json_open_object(&r->w);
    else
        json_open_array(&r->w);
    r->levels[++r->depth] = (struct level){mapping, mapping, anchor};
    return true;
}

static void close_level(struct reader *r, const yaml_event_t *ev)
{
    json_close(&r->w);
    end_anchor(r, r->levels[r->depth].anchor);
    r->depth--;
    /* A block's end is where the next token stands; a flow's is exact. */
    if (ev->end_mark.index > ev->start_mark.index)
        value_ends(r, &ev->end_mark);
}

static bool put_node(struct reader *r, const yaml_event_t *ev)
{
    struct level *l = &r->levels[r->depth];
    if (++r->nodes > YML_NODES_MAX)
        return yml_refuse(r, &ev->start_mark, "more values than it may hold");
    if (r->depth && l->mapping && l->wants_key) {
        l->wants_key = false;
        return put_key(r, ev);
    }
    l->wants_key = true;
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        return put_scalar(r, ev);
    case YAML_ALIAS_EVENT:
        value_ends(r, &ev->end_mark);
        return put_anchored(r, ev);
    default:
        return open_level(r, ev);
    }
}

/* The outermost value: a mapping, or nothing at all. */
static bool put_root(struct reader *r, const yaml_event_t *ev)
{
    if (ev->type == YAML_MAPPING_START_EVENT)
        return put_node(r, ev);
    struct str s = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    if (ev->type == YAML_SCALAR_EVENT && str_is_one_of(s, nulls) &&
        ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        r->out->by_lines = s.n == 0; /* a "~" is in the way of keys */
        return true;
    }
    return yml_refuse(r, &ev->start_mark, "not a list of \"key: value\" lines");
}

static bool one_event(struct reader *r, const yaml_event_t *ev, unsigned *documents)
{
    switch (ev->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++*documents == 1
                   ? true
                   : yml_refuse(r, &ev->start_mark, "more than one document");
    case YAML_SCALAR_EVENT:
    case YAML_ALIAS_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return r->depth ? put_node(r, ev) : put_root(r, ev);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(r, ev);
        return true;
    default:
        return true;
    }
}

static bool all_events(struct reader *r)
{
    unsigned documents = 0;
    for (bool end = false; !end;) {
        yaml_event_t ev;
        if (!yaml_parser_parse(&r->parser, &ev))
            return yml_refuse(r, &r->parser.problem_mark,
                              r->parser.problem ? r->parser.problem : "not YAML");
        bool ok = one_event(r, &ev, &documents);
        end = ev.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&ev);
        if (!ok)
            return false;
        if (r->json.failed)
            return err_set(r->e, ERR_INVALID, "expands to more than %u bytes",
                           YML_JSON_MAX);
    }
    return true;
}

bool yml_read(struct str text, struct arena *a, struct yml *out, struct err *e)
{
    *out = (struct yml){.by_lines = true};
    if (text.n > YML_TEXT_MAX)
        return err_set(e, ERR_INVALID, "longer than %u bytes", YML_TEXT_MAX);
    if (!str_is_utf8(text))
        return err_set(e, ERR_INVALID, "not valid UTF-8");
    struct reader *r = mem_new(sizeof *r);
    r->arena = a;
    r->out = out;
    r->e = e;
    buf_init(&r->json, YML_JSON_MAX);
    r->w = json_writer(&r->json);
    must(yaml_parser_initialize(&r->parser));
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)text.at, text.n);

    bool ok = all_events(r);
    /* Reading it once more finds keys that stand twice, at every depth. */
    if (ok)
        out->all = json_read(r->json.n ? buf_view(&r->json) : STR("{}"), a, e);
    yaml_parser_delete(&r->parser);
    buf_done(&r->json);
    free(r);
    return ok && out->all;
}

/* Bytes of the line end at `p`, 0 if there is none. */
static size_t line_end(const unsigned char *p, size_t left)
{
    if (p[0] == '\r')
        return left > 1 && p[1] == '\n' ? 2 : 1;
    if (p[0] == '\n')
        return 1;
    if (left > 1 && p[0] == 0xc2 && p[1] == 0x85)
        return 2;
    bool separator = left > 2 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] & 0xfe) == 0xa8;
    return separator ? 3 : 0;
}

size_t *yml_lines(struct str text, struct arena *a, size_t *count, struct err *e)
{
    const unsigned char *p = (const unsigned char *)text.at;
    size_t *starts = NULL;
    for (int counting = 1; counting >= 0; counting--) {
        size_t n = 0, line = 0;
        for (size_t i = 0; i < text.n;) {
            size_t end = line_end(p + i, text.n - i);
            i += end ? end : 1;
            if (!end && i < text.n)
                continue;
            if (starts)
                starts[n] = line;
            n++;
            line = i;
        }
        if (starts)
            starts[n] = text.n;
        else if (!(starts = arena_get(a, (n + 1) * sizeof *starts, e)))
            return NULL;
        *count = n;
    }
    return starts;
}
