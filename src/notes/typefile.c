/* The text that describes a type: found, read and changed by section. */
#include "notes/typefile.h"

#include <strings.h>

#include "notes/schema.h"
#include "notes/yml.h"

/* ---- lines ---------------------------------------------------------------- */

struct lines {
    struct str left;
    struct str line; /* the current one, without its end */
    const char *at;  /* where it begins */
    bool in_code;    /* also of the fence's own lines */
    char fence;      /* 0: none is open */
};

static bool is_fence(struct str line, char *fence)
{
    line = str_trim(line);
    if (!str_starts(line, "```") && !str_starts(line, "~~~"))
        return false;
    *fence = line.at[0];
    return true;
}

static bool next_line(struct lines *l)
{
    if (!l->left.n)
        return false;
    const char *nl = memchr(l->left.at, '\n', l->left.n);
    size_t n = nl ? (size_t)(nl - l->left.at) : l->left.n;
    l->at = l->left.at;
    l->line = (struct str){l->left.at, n};
    n += nl != NULL;
    l->left = (struct str){l->left.at + n, l->left.n - n};
    char fence = 0;
    l->in_code = l->fence != 0;
    if (is_fence(l->line, &fence) && (!l->fence || fence == l->fence)) {
        l->fence = l->fence ? 0 : fence;
        l->in_code = true;
    }
    return true;
}

/* The heading's level, 1 or 2, and its text; 0: it is none. */
static int heading(const struct lines *l, struct str *text)
{
    struct str s = l->line;
    int level = str_starts(s, "# ") ? 1 : str_starts(s, "## ") ? 2 : 0;
    if (l->in_code || !level)
        return 0;
    *text = str_trim((struct str){s.at + level, s.n - (size_t)level});
    return level;
}

/* ---- sections --------------------------------------------------------------- */

static const char *const names[PART_COUNT][3] = {
    [PART_PURPOSE] = {"Purpose", "Description", NULL},
    [PART_INSTRUCTIONS] = {"Agent Instructions", "Instructions", NULL},
    [PART_SCHEMA] = {"Metadata Schema", "Schema", NULL},
};

static bool is_part(struct str text, enum typefile_part part)
{
    for (size_t i = 0; names[part][i]; i++)
        if (text.n == strlen(names[part][i]) &&
            !strncasecmp(text.at, names[part][i], text.n))
            return true;
    return false;
}

/* The section's heading line and what follows up to the next one; false: none. */
static bool find_section(struct str text, enum typefile_part part, struct str *whole,
                         struct str *content)
{
    struct lines l = {.left = text};
    bool inside = false;
    while (next_line(&l)) {
        struct str title;
        int level = heading(&l, &title);
        if (inside && level) {
            whole->n = (size_t)(l.at - whole->at);
            break;
        }
        if (!inside && level == 2 && is_part(title, part)) {
            inside = true;
            *whole = (struct str){l.at, (size_t)(text.at + text.n - l.at)};
            *content = l.left;
        }
    }
    if (inside)
        content->n = (size_t)(whole->at + whole->n - content->at);
    return inside;
}

/* What stands between the first heading, if there is one, and the first section. */
static struct str preface(struct str text)
{
    struct lines l = {.left = text};
    struct str found = text;
    while (next_line(&l)) {
        struct str title;
        int level = heading(&l, &title);
        if (level == 2) {
            found.n = (size_t)(l.at - found.at);
            break;
        }
        if (level == 1)
            found = l.left;
    }
    return str_trim(found);
}

/* ---- reading ---------------------------------------------------------------- */

/* What stands in the first code block, or all of it. */
static struct str code_of(struct str section)
{
    struct lines l = {.left = section};
    const char *from = NULL;
    while (next_line(&l)) {
        char fence;
        if (!l.in_code || !is_fence(l.line, &fence))
            continue;
        if (from)
            return (struct str){from, (size_t)(l.at - from)};
        from = l.left.at;
    }
    return str_trim(section);
}

static void read_schema(struct str section, struct arena *a, struct typefile *out)
{
    struct str code = str_trim(code_of(section));
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
    out->purpose = find_section(text, PART_PURPOSE, &whole, &content) ? str_trim(content)
                                                                      : preface(text);
    if (find_section(text, PART_INSTRUCTIONS, &whole, &content))
        out->instructions = str_trim(content);
    if (find_section(text, PART_SCHEMA, &whole, &content))
        read_schema(content, a, out);
    return true;
}

static bool is_item(struct str line)
{
    return str_starts(line, "- ") || str_starts(line, "* ");
}

/* Each line begins an item or belongs to the one before. */
static bool is_one_list(struct str text)
{
    struct lines l = {.left = text};
    bool first = true;
    while (next_line(&l)) {
        if (l.in_code || (first && !is_item(l.line)) ||
            (!is_item(l.line) && str_trim(l.line).n && !str_starts(l.line, "  ")))
            return false;
        first = false;
    }
    return true;
}

void typefile_put_instructions(const struct typefile *t, struct json_writer *w)
{
    if (t->instructions.n && !is_one_list(t->instructions)) {
        json_put_str(w, t->instructions);
        return;
    }
    json_open_array(w);
    scoped_buf struct buf item;
    buf_init(&item, TYPEFILE_MAX);
    struct lines l = {.left = t->instructions};
    while (next_line(&l)) {
        bool begins = is_item(l.line);
        if (begins && item.n)
            json_put_str(w, str_trim(buf_view(&item)));
        if (begins)
            buf_clear(&item);
        size_t skip = l.line.n < 2 ? l.line.n : 2;
        buf_cstr(&item, begins ? "" : "\n");
        buf_str(&item, (struct str){l.line.at + skip, l.line.n - skip});
    }
    if (item.n)
        json_put_str(w, str_trim(buf_view(&item)));
    json_close(w);
}

/* ---- writing ---------------------------------------------------------------- */

static void put_section(enum typefile_part part, struct str with, struct buf *out)
{
    buf_printf(out, "## %s\n\n", names[part][0]);
    buf_str(out, with);
    buf_cstr(out, "\n");
}

void typefile_replace(struct str text, enum typefile_part part, struct str with,
                      struct buf *out)
{
    struct str whole, content;
    bool found = find_section(text, part, &whole, &content);
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
        put_section(part, with, out);
    if (with.n && after.n)
        buf_cstr(out, "\n");
    buf_str(out, after);
    if (out->n && out->at[out->n - 1] != '\n')
        buf_char(out, '\n');
}

/* Would the text end its section, or take the next one into its code? */
static bool check_text(struct str text, const char *field, struct err *e)
{
    struct lines l = {.left = text};
    while (next_line(&l)) {
        struct str title;
        if (heading(&l, &title))
            return err_set(
                e, ERR_INVALID,
                "%s may not hold a heading of level 1 or 2 (\"%.*s\"); from ### "
                "on they are accepted",
                field, STR_ARGS(str_cut(l.line, 60)));
    }
    return !l.fence ||
           err_set(e, ERR_INVALID, "%s holds a code block that does not end", field);
}

static void put_item(struct str text, struct buf *out)
{
    struct lines l = {.left = str_trim(text)};
    for (bool first = true; next_line(&l); first = false) {
        buf_cstr(out, first ? (out->n ? "\n- " : "- ") : "\n  ");
        buf_str(out, l.line);
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
        put_item(json_str(it.value), out);
    }
    if (!list && !json_is(given, JSON_STRING))
        return err_set(e, ERR_INVALID, "%s must be a string, not a value of type %s",
                       field, json_type_name(json_type(given)));
    if (!list)
        buf_str(out, str_trim(json_str(given)));
    if (out->failed)
        return err_set(e, ERR_LIMIT, "%s is longer than %zu bytes", field, out->ceiling);
    return check_text(buf_view(out), field, e);
}

/* As people lay JSON out. As deep as schemas go. */
static void put_pretty(const struct json *v, unsigned indent, struct buf *out)
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
            put_pretty(it.value, indent + 1, out);
        } else if (indent < 2 * SCHEMA_DEPTH_MAX && str_is(it.key, "fields")) {
            put_pretty(it.value, indent + 1, out);
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
    put_pretty(schema, 0, out);
    buf_cstr(out, "\n```");
}
