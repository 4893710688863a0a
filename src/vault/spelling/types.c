#include "spelling/spelling.h"

#include "spelling/lexer.h"

/* ---- whole ----------------------------------------------------------------- */

/* Tokens that no type has outside of brackets. A comma or "=" would begin another parameter, or
 * a default; words such as "function" something else altogether. */
static const char *fault_of(const struct lexer *l, struct token t)
{
    static const char *const words[] = {"function", "class",  "const", "let",
                                        "var",      "return", "await", "import",
                                        "export",   "declare"};
    if (t.kind == TOKEN_COMMENT)
        return "it contains a comment";
    if (t.kind == TOKEN_PATTERN || t.kind == TOKEN_BAD)
        return "its brackets or quotes do not come in pairs";
    if (t.kind == TOKEN_SIGN && !l->depth && t.text.n == 1 && strchr(";,=", t.text.at[0]))
        return "there is text after the type";
    for (size_t i = 0; t.kind == TOKEN_WORD && i < LENGTH(words); i++)
        if (str_is(t.text, words[i]) && (!l->depth || str_is(t.text, "import")))
            return "it is not a type";
    return NULL;
}

bool type_is_whole(struct str type, const char **why)
{
    struct lexer l;
    lexer_init(&l, type, true);
    *why = !str_trim(type).n ? "it is empty"
           : memchr(type.at, '\n', type.n) || memchr(type.at, '\r', type.n)
               ? "it has more than one line"
               : NULL;
    while (!*why) {
        struct token t = lexer_next(&l);
        if (t.kind == TOKEN_END)
            return true;
        *why = fault_of(&l, t);
    }
    return false;
}

/* ---- what fits ---------------------------------------------------------------- */

static bool is_plain_array(struct str type, struct str *item)
{
    if (str_ends(type, "[]"))
        *item = (struct str){type.at, type.n - 2};
    else if (str_starts(type, "Array<") && str_ends(type, ">"))
        *item = (struct str){type.at + 6, type.n - 7};
    else
        return false;
    return true;
}

/* A name of the language's own, a literal, or an array of these: what is known. */
static bool holds_word(struct str type, const struct json *v, bool *known)
{
    static const struct {
        const char *name;
        enum json_type type;
    } words[] = {
        {"string", JSON_STRING}, {"number", JSON_NUMBER},    {"boolean", JSON_BOOL},
        {"null", JSON_NULL},     {"undefined", JSON_ABSENT}, {"void", JSON_ABSENT},
        {"never", JSON_ABSENT},  {"bigint", JSON_ABSENT},    {"Date", JSON_ABSENT}};
    *known = true;
    for (size_t i = 0; i < LENGTH(words); i++)
        if (str_is(type, words[i].name))
            return json_type(v) == words[i].type;
    if (str_is(type, "true") || str_is(type, "false"))
        return json_is(v, JSON_BOOL) && json_bool(v, false) == str_is(type, "true");
    if (str_is(type, "object") || str_starts(type, "Record<string,"))
        return json_is(v, JSON_OBJECT) ||
               (str_is(type, "object") && json_is(v, JSON_ARRAY));
    bool quoted = type.n >= 2 && strchr("\"'", type.at[0]) &&
                  type.at[type.n - 1] == type.at[0] && !memchr(type.at, '\\', type.n);
    if (quoted)
        return json_is(v, JSON_STRING) &&
               str_eq(json_str(v), (struct str){type.at + 1, type.n - 2});
    *known = false;
    return true;
}

/* The parts of a union, as far as it is one: "a" | "b". */
static bool types_next_part(struct lexer *l, struct str *part, bool *more)
{
    const char *begin = NULL, *end = NULL;
    for (;;) {
        struct token t = lexer_next(l);
        *more = t.kind != TOKEN_END && t.kind != TOKEN_BAD;
        if (!*more || (lexer_is(t, "|") && !l->depth))
            break;
        begin = begin ? begin : t.text.at;
        end = t.text.at + t.text.n;
    }
    *part = (struct str){begin, begin ? (size_t)(end - begin) : 0};
    return begin != NULL;
}

/* "=>", "&", "?" and words such as keyof make another thing of what stands beside. */
static bool is_union_of_words(struct str type)
{
    static const char *const others[] = {"=>",     "&",       "?", "keyof",
                                         "typeof", "extends", "is"};
    struct lexer l;
    lexer_init(&l, type, true);
    for (;;) {
        struct token t = lexer_next(&l);
        if (t.kind == TOKEN_END)
            return true;
        for (size_t i = 0; i < LENGTH(others); i++)
            if (lexer_is(t, others[i]))
                return false;
        if (t.kind == TOKEN_BAD || t.kind == TOKEN_COMMENT)
            return false;
    }
}

static bool holds_array(struct str item, const struct json *v)
{
    if (!json_is(v, JSON_ARRAY))
        return false;
    item = str_trim(item);
    if (item.n > 1 && item.at[0] == '(' && item.at[item.n - 1] == ')')
        item = (struct str){item.at + 1, item.n - 2};
    struct str inner;
    bool known, fits = true;
    struct json_iter it = json_iter(v);
    if (is_plain_array(item, &inner) || memchr(item.at, '|', item.n))
        return true; /* arrays of more than words are the checker's */
    while (fits && json_next(&it))
        fits = holds_word(item, it.value, &known);
    return fits;
}

bool type_may_hold(struct str type, const struct json *v)
{
    if (!is_union_of_words(type))
        return true;
    struct lexer l;
    lexer_init(&l, type, true);
    struct str part, item;
    bool more = true, known;
    while (more) {
        if (!types_next_part(&l, &part, &more))
            continue;
        if (is_plain_array(part, &item) ? holds_array(item, v)
                                        : holds_word(part, v, &known))
            return true;
    }
    return false;
}
