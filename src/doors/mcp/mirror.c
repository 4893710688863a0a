#include "mcp/mirror.h"

#include <ctype.h>
#include <strings.h>

#include "crypto/crypto.h"
#include "mcp/core.h"

#define ANNOTATION "x-mcp-header"
#define PREFIX "Mcp-Param-"
#define PARAM_MAX 4096u /* bytes of one header's decoded value: more than a line holds */
/* Beyond these a double no longer tells whole numbers apart. */
#define SAFE_MAX 9007199254740991.0

struct mirror {
    struct mirror *next;
    const struct action *tool;
    char *header; /* "Mcp-Param-Region" */
    char *path[MIRROR_DEPTH];
    size_t depth;
};

static void mirror_free(struct mirror *m)
{
    for (size_t i = 0; i < m->depth; i++)
        free(m->path[i]);
    free(m->header);
    free(m);
}

void mirrors_done(struct mirrors *m)
{
    while (m->first) {
        struct mirror *gone = m->first;
        m->first = gone->next;
        mirror_free(gone);
    }
}

/* ---- a tool's schema ---------------------------------------------------- */

/* Where a walk through a schema is: in it, in its "properties", or anywhere else. */
enum region { IN_SCHEMA, IN_PROPERTIES, ELSEWHERE };

struct step {
    struct json_iter rest;
    enum region region;
    struct str property; /* whose schema this is, if `named` */
    bool named;
};

struct walk {
    struct mirrors *mirrors;
    const struct action *tool;
    struct step steps[JSON_DEPTH_MAX];
    size_t depth;
};

static bool mirror_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.at[i]) &&
            !(s.at[i] && strchr("!#$%&'*+-.^_`|~", s.at[i])))
            return false;
    return s.n > 0;
}

static bool header_is_taken(const struct walk *w, const char *header)
{
    for (const struct mirror *m = w->mirrors->first; m; m = m->next)
        if (m->tool == w->tool && !strcasecmp(m->header, header))
            return true;
    return false;
}

static bool is_primitive(const struct json *schema)
{
    struct str type = json_str(json_get(schema, "type"));
    return str_is(type, "string") || str_is(type, "integer") || str_is(type, "boolean");
}

static bool mirror_refuse(const struct walk *w, struct str name, const char *why,
                          struct err *e)
{
    return err_set(e, ERR_BUG, ANNOTATION " '%.*s' of the tool %s %s",
                   STR_ARGS(str_cut(name, 60)), w->tool->name, why);
}

/* The schema on top of the walk has this annotation. */
static bool take_annotation(struct walk *w, const struct json *schema,
                            const struct json *value, struct err *e)
{
    struct str name = json_str(value);
    const struct step *top = &w->steps[w->depth - 1];
    if (!mirror_is_token(name))
        return mirror_refuse(w, name, "is not a header's name", e);
    if (top->region != IN_SCHEMA || !top->named)
        return mirror_refuse(w, name,
                             "stands at what cannot be reached by properties alone", e);
    if (!is_primitive(schema))
        return mirror_refuse(w, name,
                             "stands at what is not a string, integer or "
                             "boolean",
                             e);

    struct mirror *m = mem_new(sizeof *m);
    m->tool = w->tool;
    for (size_t i = 0; i < w->depth; i++) {
        const struct step *s = &w->steps[i];
        if (!s->named)
            continue;
        if (m->depth == MIRROR_DEPTH) {
            mirror_free(m);
            return mirror_refuse(w, name, "lies too deep", e);
        }
        m->path[m->depth] = mem_new(s->property.n + 1);
        memcpy(m->path[m->depth++], s->property.at, s->property.n);
    }
    m->header = mem_new(sizeof PREFIX + name.n);
    memcpy(m->header, PREFIX, sizeof PREFIX - 1);
    memcpy(m->header + sizeof PREFIX - 1, name.at, name.n);
    if (header_is_taken(w, m->header)) {
        mirror_free(m);
        return mirror_refuse(w, name, "is there twice", e);
    }
    m->next = w->mirrors->first;
    w->mirrors->first = m;
    return true;
}

/* Where what stands under `key` in this region is. */
static enum region region_of(enum region outer, struct str key)
{
    if (outer == IN_PROPERTIES)
        return IN_SCHEMA;
    return outer == IN_SCHEMA && str_is(key, "properties") ? IN_PROPERTIES : ELSEWHERE;
}

static bool descend(struct walk *w, const struct json *value, enum region region,
                    struct str property, bool named, struct err *e)
{
    if (w->depth == LENGTH(w->steps))
        return err_set(e, ERR_BUG, "the schema of the tool %s is nested too deeply",
                       w->tool->name);
    w->steps[w->depth++] = (struct step){json_iter(value), region, property, named};
    /* In "properties" it is the name of a parameter. */
    const struct json *annotation =
        region == IN_PROPERTIES ? NULL : json_get(value, ANNOTATION);
    return !annotation || take_annotation(w, value, annotation, e);
}

bool mirrors_read(struct mirrors *m, const struct action *tool, const struct json *schema,
                  struct err *e)
{
    struct walk w = {.mirrors = m, .tool = tool};
    if (!descend(&w, schema, IN_SCHEMA, (struct str){0}, false, e))
        return false;
    while (w.depth) {
        struct step *top = &w.steps[w.depth - 1];
        if (!json_next(&top->rest)) {
            w.depth--;
            continue;
        }
        const struct json *value = top->rest.value;
        if (!json_is(value, JSON_OBJECT) && !json_is(value, JSON_ARRAY))
            continue;
        enum region region = region_of(top->region, top->rest.key);
        bool named = top->region == IN_PROPERTIES;
        if (!descend(&w, value, region, top->rest.key, named, e))
            return false;
    }
    return true;
}

/* ---- a request's headers ------------------------------------------------ */

/* Visible ASCII, space and tab: RFC 9110, 5.5. */
static bool is_clean(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < ' ' && c != '\t') || c > '~')
            return false;
    }
    return true;
}

bool header_decode(struct str header, struct buf *out)
{
    static const size_t before = sizeof "=?base64?" - 1, behind = sizeof "?=" - 1;
    if (!is_clean(header))
        return false;
    if (header.n < before + behind || !str_starts(header, "=?base64?") ||
        !str_ends(header, "?="))
        return buf_str(out, header);
    /* Strictly, in the one form that an encoder makes: with several spellings of one
     * value, who looks at headers could be shown another than we see. */
    struct err ignored = {0};
    struct str coded = {header.at + before, header.n - before - behind};
    return crypto_base64_read(coded, out, &ignored);
}

/* Numbers by value, 42.0 is 42; only those that a double holds exactly. */
static bool mirror_is_number(struct str text, const struct json *value)
{
    scoped(arena_free) struct arena *arena = arena_new(4 * PARAM_MAX);
    struct err ignored = {0};
    const struct json *read = json_read(text, arena, &ignored);
    double there = json_number(value, 0);
    return json_is(read, JSON_NUMBER) && there >= -SAFE_MAX && there <= SAFE_MAX &&
           json_number(read, SAFE_MAX + 1) == there;
}

static bool says_the_same(struct str text, const struct json *value)
{
    switch (json_type(value)) {
    case JSON_STRING:
        return str_eq(text, json_str(value));
    case JSON_BOOL:
        return str_is(text, json_bool(value, false) ? "true" : "false");
    case JSON_NUMBER:
        return mirror_is_number(text, value);
    default: /* what has no text cannot be repeated either */
        return false;
    }
}

static bool mirror_check_one(struct exchange *x, const struct mirror *m,
                             const struct json *value)
{
    const struct envelope *env = x->env;
    size_t count = 0;
    struct str there = {0};
    if (env->header)
        there = env->header(env->header_arg, m->header, &count);
    bool given = value && !json_is(value, JSON_NULL);
    if (!given && !there.at)
        return true;
    const char *place = m->path[m->depth - 1];
    if (!given)
        return reply_error(x, MCP_HEADER_MISMATCH,
                           "Header mismatch: %s is there, but the arguments have no '%s'",
                           m->header, place);
    if (!there.at)
        return reply_error(x, MCP_HEADER_MISMATCH,
                           "Header mismatch: %s is missing; it must repeat the argument "
                           "'%s'",
                           m->header, place);
    scoped_buf struct buf text = buf_of(there.n + PARAM_MAX);
    if (count == 1 && header_decode(there, &text) &&
        says_the_same(buf_view(&text), value))
        return true;
    return reply_error(x, MCP_HEADER_MISMATCH,
                       "Header mismatch: %s '%.*s' does not repeat the argument '%s'",
                       m->header, STR_ARGS(str_cut(there, 100)), place);
}

bool mirrors_check(struct exchange *x, const struct action *tool,
                   const struct json *arguments)
{
    for (const struct mirror *m = x->m->mirrors.first; m; m = m->next) {
        if (m->tool != tool)
            continue;
        const struct json *value = arguments;
        for (size_t i = 0; i < m->depth; i++)
            value = json_get(value, m->path[i]);
        if (!mirror_check_one(x, m, value))
            return false;
    }
    return true;
}
