/* The text that describes a type: found, read and changed by section. */
#include "notes/typefile.h"

#include <strings.h>

#include "notes/blocks.h"
#include "notes/frontmatter.h"
#include "notes/schema.h"

static bool typefile_next_line(struct str *left, struct str *line)
{
    const char *nl = left->n ? memchr(left->at, '\n', left->n) : NULL;
    *line = (struct str){left->at, nl ? (size_t)(nl - left->at) : left->n};
    size_t n = line->n + (nl != NULL);
    bool any = left->n > 0;
    *left = (struct str){left->at + n, left->n - n};
    return any;
}

/* ---- sections --------------------------------------------------------------- */

static const char *const names[PART_COUNT][3] = {
    [PART_PURPOSE] = {"Purpose", "Description", NULL},
    [PART_INSTRUCTIONS] = {"Agent Instructions", "Instructions", NULL},
    [PART_SCHEMA] = {"Metadata Schema", "Schema", NULL},
};

static bool typefile_is_part(struct str text, enum typefile_part part)
{
    for (size_t i = 0; names[part][i]; i++)
        if (text.n == strlen(names[part][i]) &&
            !strncasecmp(text.at, names[part][i], text.n))
            return true;
    return false;
}

/* Only headings of the document itself, of level 1 and 2, divide it. */
static bool divides(const struct block *b)
{
    return b->kind == BLOCK_HEADING && b->level <= 2 && !b->depth;
}

struct search {
    struct str text;
    enum typefile_part part;
    struct str whole, content; /* from the heading on, and what stands beneath it */
    bool found;
};

static bool look_for_section(void *arg, const struct block *b)
{
    struct search *s = arg;
    bool ends = divides(b);
    if (s->found && ends) {
        s->whole.n = b->start - (size_t)(s->whole.at - s->text.at);
        s->content.n = b->start - (size_t)(s->content.at - s->text.at);
    } else if (ends && b->level == 2 && typefile_is_part(b->text, s->part)) {
        s->whole = (struct str){s->text.at + b->start, s->text.n - b->start};
        s->content = (struct str){s->text.at + b->end, s->text.n - b->end};
        s->found = true;
        return true;
    }
    return !s->found || !ends;
}

/* The section's heading and what follows up to the next one; false: none. */
static bool typefile_find_section(struct str text, enum typefile_part part,
                                  struct str *whole, struct str *content)
{
    struct search s = {.text = frontmatter_skip(text), .part = part};
    blocks_scan(s.text, look_for_section, &s);
    *whole = s.whole;
    *content = s.content;
    return s.found;
}

static bool look_for_preface(void *arg, const struct block *b)
{
    struct search *s = arg;
    if (divides(b) && b->level == 1)
        s->content = (struct str){s->text.at + b->end, s->text.n - b->end};
    else if (divides(b))
        s->content.n = b->start - (size_t)(s->content.at - s->text.at);
    return !divides(b) || b->level == 1;
}

/* The text between the first heading, if there is one, and the first section. */
static struct str preface(struct str text)
{
    struct search s = {.text = frontmatter_skip(text)};
    s.content = s.text;
    blocks_scan(s.text, look_for_preface, &s);
    return str_trim(s.content);
}

/* ---- reading ---------------------------------------------------------------- */

static bool take_code(void *arg, const struct block *b)
{
    struct str *code = arg;
    bool found = b->kind == BLOCK_FENCE && !b->open;
    if (found)
        *code = b->text;
    return !found;
}

/* The content of the first code block, or all of the section. */
static struct str section_code(struct str section)
{
    struct str code = str_trim(section);
    blocks_scan(section, take_code, &code);
    return code;
}

static void read_schema(struct str section, struct arena *a, struct typefile *out)
{
    struct str code = str_trim(section_code(section));
    struct err why = {0};
    struct yml y;
    if (!code.n)
        return;
    if (code.n > SCHEMA_TEXT_MAX)
        err_set(&why, ERR_LIMIT, "its schema has more than %u bytes", SCHEMA_TEXT_MAX);
    else if (code.at[0] == '{')
        out->schema = json_read(code, a, &why);
    else if (yml_read(code, a, &y, &why))
        out->schema = json_length(y.all) ? y.all : NULL; /* words in comments only */
    if (out->schema && !(out->checked = schema_read(out->schema, a, &why)))
        out->schema = NULL;
    memcpy(out->damage, why.msg, sizeof out->damage);
}

bool typefile_read(struct str text, struct arena *a, struct typefile *out, struct err *e)
{
    *out = (struct typefile){0};
    char *copy = arena_copy(a, text.at, text.n, e);
    if (!copy)
        return false;
    text = (struct str){copy, text.n};
    struct str whole, content;
    out->purpose = typefile_find_section(text, PART_PURPOSE, &whole, &content)
                       ? str_trim(content)
                       : preface(text);
    if (typefile_find_section(text, PART_INSTRUCTIONS, &whole, &content))
        out->instructions = str_trim(content);
    if (typefile_find_section(text, PART_SCHEMA, &whole, &content))
        read_schema(content, a, out);
    return true;
}

static bool is_item(struct str line)
{
    return str_starts(line, "- ") || str_starts(line, "* ");
}

static bool is_no_code(void *arg, const struct block *b)
{
    bool *code = arg;
    *code = *code || b->kind == BLOCK_FENCE;
    return !*code;
}

/* Each line begins an item or belongs to the one before. */
static bool is_one_list(struct str text)
{
    struct str line;
    bool code = false;
    blocks_scan(text, is_no_code, &code);
    for (bool first = true; typefile_next_line(&text, &line); first = false)
        if (code || (first && !is_item(line)) ||
            (!is_item(line) && str_trim(line).n && !str_starts(line, "  ")))
            return false;
    return true;
}

void typefile_put_instructions(const struct typefile *t, struct json_writer *w)
{
    if (t->instructions.n && !is_one_list(t->instructions)) {
        json_put_str(w, t->instructions);
        return;
    }
    json_open_array(w);
    scoped_buf struct buf item = buf_of(TYPEFILE_MAX);
    struct str left = t->instructions, line;
    while (typefile_next_line(&left, &line)) {
        bool begins = is_item(line);
        if (begins && item.n)
            json_put_str(w, str_trim(buf_view(&item)));
        if (begins)
            buf_clear(&item);
        size_t skip = line.n < 2 ? line.n : 2;
        buf_cstr(&item, begins ? "" : "\n");
        buf_str(&item, (struct str){line.at + skip, line.n - skip});
    }
    if (item.n)
        json_put_str(w, str_trim(buf_view(&item)));
    json_close(w);
}

/* ---- writing ---------------------------------------------------------------- */

static void typefile_put_section(enum typefile_part part, struct str with,
                                 struct buf *out)
{
    buf_printf(out, "## %s\n\n", names[part][0]);
    buf_str(out, with);
    buf_cstr(out, "\n");
}

void typefile_replace(struct str text, enum typefile_part part, struct str with,
                      struct buf *out)
{
    struct str whole, content;
    bool found = typefile_find_section(text, part, &whole, &content);
    struct str before =
        found ? (struct str){text.at, (size_t)(whole.at - text.at)} : text;
    struct str after = STR("");
    if (found)
        after = (struct str){whole.at + whole.n, text.n - before.n - whole.n};
    while (before.n && strchr(" \t\r\n", before.at[before.n - 1]))
        before.n--;
    buf_str(out, before);
    if (before.n && (with.n || after.n))
        buf_cstr(out, "\n\n");
    if (with.n)
        typefile_put_section(part, with, out);
    if (with.n && after.n)
        buf_cstr(out, "\n");
    buf_str(out, after);
    if (out->n && out->at[out->n - 1] != '\n')
        buf_char(out, '\n');
}

struct check {
    struct str text;
    const char *field;
    struct err *e;
};

/* Would the text end its section, or take the next one into a block of its own? */
static bool check_block(void *arg, const struct block *b)
{
    const struct check *c = arg;
    const char *from = c->text.at + b->start;
    struct str heading = {from, (size_t)(b->text.at + b->text.n - from)};
    if (divides(b))
        return err_set(c->e, ERR_INVALID,
                       "%s may not hold a heading of level 1 or 2 (\"%.*s\"); from ### "
                       "on they are accepted",
                       c->field, STR_ARGS(str_cut(heading, 60)));
    return !b->open ||
           err_set(c->e, ERR_INVALID, "%s holds %s that does not end", c->field,
                   b->kind == BLOCK_FENCE ? "a code block" : "HTML");
}

static bool typefile_check_text(struct str text, const char *field, struct err *e)
{
    struct check c = {text, field, e};
    blocks_scan(text, check_block, &c);
    return e->code == ERR_NONE;
}

static void typefile_put_item(struct str text, struct buf *out)
{
    struct str left = str_trim(text), line;
    for (bool first = true; typefile_next_line(&left, &line); first = false) {
        buf_cstr(out, first ? (out->n ? "\n- " : "- ") : "\n  ");
        buf_str(out, line);
    }
}

bool typefile_section(const struct json *given, const char *field, struct buf *out,
                      struct err *e)
{
    struct json_iter it = json_iter(json_is(given, JSON_ARRAY) ? given : NULL);
    bool list = json_is(given, JSON_ARRAY);
    while (json_next(&it)) {
        if (!json_is(it.value, JSON_STRING))
            return err_set(e, ERR_INVALID, "%s must be a string or a list of strings",
                           field);
        typefile_put_item(json_str(it.value), out);
    }
    if (!list && !json_is(given, JSON_STRING))
        return err_set(e, ERR_INVALID, "%s must be a string, not a value of type %s",
                       field, json_type_name(json_type(given)));
    if (!list)
        buf_str(out, str_trim(json_str(given)));
    if (out->failed)
        return err_set(e, ERR_LIMIT, "%s is longer than %zu bytes", field, out->ceiling);
    return typefile_check_text(buf_view(out), field, e);
}

/* As people lay JSON out. As deep as schemas go. */
static void typefile_put_pretty(const struct json *v, unsigned indent, struct buf *out)
{
    struct json_writer w = json_writer(out);
    bool object = json_is(v, JSON_OBJECT);
    if (!json_length(v) || (!object && !json_is(v, JSON_ARRAY))) {
        json_put(&w, v);
        return;
    }
    buf_char(out, object ? '{' : '[');
    struct json_iter it = json_iter(v);
    for (bool first = true; json_next(&it); first = false) {
        buf_cstr(out, first ? "\n" : ",\n");
        for (unsigned i = 0; i <= indent; i++)
            buf_cstr(out, "  ");
        if (object) {
            struct json_writer key = json_writer(out);
            json_put_str(&key, it.key);
            buf_cstr(out, ": ");
        }
        if (indent < 2 * SCHEMA_DEPTH_MAX && json_is(it.value, JSON_OBJECT)) {
            typefile_put_pretty(it.value, indent + 1, out);
        } else if (indent < 2 * SCHEMA_DEPTH_MAX && str_is(it.key, "fields")) {
            typefile_put_pretty(it.value, indent + 1, out);
        } else {
            struct json_writer value = json_writer(out);
            json_put(&value, it.value);
        }
    }
    buf_char(out, '\n');
    for (unsigned i = 0; i < indent; i++)
        buf_cstr(out, "  ");
    buf_char(out, object ? '}' : ']');
}

void typefile_schema_section(const struct json *schema, struct buf *out)
{
    buf_cstr(out, "```json\n");
    typefile_put_pretty(schema, 0, out);
    buf_cstr(out, "\n```");
}
