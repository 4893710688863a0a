/* Another name for a function: in its definition, and in its code.
 *
 * Code is renamed word by word where that is sure to mean the same: the new name stands
 * nowhere in it, and the old one nowhere where it could be a property. Else the new name is
 * bound beside the old one, by a line at the end, which is always right. */
#include "functions/internal.h"
#include "functions/tokens.h"

/* A word, with what stands around it. */
struct window {
    struct token before[2], at, after;
};

static bool is_member(const struct window *w)
{
    bool spread = token_is(&w->before[0], ".") && token_is(&w->before[1], ".");
    return (token_is(&w->before[0], ".") && !spread) || token_is(&w->before[0], "?.");
}

/* Could it be the key of a property, a method's name, or both key and value? */
static bool is_unsure(const struct window *w)
{
    static const char *const openers[] = {"{", ",", ";", "}", NULL};
    static const char *const words[] = {
        "get",       "set",   "static", "readonly", "public", "as", "private",
        "protected", "async", "import", "is",       "keyof",  NULL};
    bool opened = false, worded = false;
    for (size_t i = 0; openers[i]; i++)
        opened |= token_is(&w->before[0], openers[i]);
    for (size_t i = 0; words[i]; i++)
        worded |= token_is(&w->before[0], words[i]);
    return opened || worded || token_is(&w->after, ":") || token_is(&w->after, "?");
}

/* In Python a name before '=' may be an argument's, and a formatted string has code. */
static bool is_unsure_python(const struct window *w)
{
    return token_is(&w->after, "=") || token_is(&w->before[0], "import") ||
           token_is(&w->before[0], "global");
}

static bool is_sure(struct str code, bool python, struct str from, struct str to)
{
    struct tokens t = tokens_of(code, python);
    struct window w = {.at = token_next(&t)};
    unsigned bound = 0;
    for (; w.at.kind != TOKEN_END;) {
        w.after = token_next(&t);
        bool word = w.at.kind == TOKEN_WORD;
        if (word && str_eq(w.at.text, to))
            return false;
        if (word && str_eq(w.at.text, from) && !is_member(&w) &&
            (python ? is_unsure_python(&w) : is_unsure(&w)))
            return false;
        if (python && w.at.kind == TOKEN_TEXT &&
            memmem(w.at.text.at, w.at.text.n, from.at, from.n))
            return false;
        bound += word && str_eq(w.at.text, from) && !is_member(&w);
        w = (struct window){.before = {w.at, w.before[0]}, .at = w.after};
    }
    return bound > 0 && !t.odd && !t.nested;
}

static void replace_words(struct str code, bool python, struct str from, struct str to,
                          struct buf *out)
{
    struct tokens t = tokens_of(code, python);
    struct window w = {.at = token_next(&t)};
    const char *copied = code.at;
    while (w.at.kind != TOKEN_END) {
        w.after = token_next(&t);
        if (w.at.kind == TOKEN_WORD && str_eq(w.at.text, from) && !is_member(&w)) {
            buf_put(out, copied, (size_t)(w.at.text.at - copied));
            buf_str(out, to);
            copied = w.at.text.at + w.at.text.n;
        }
        w = (struct window){.before = {w.at, w.before[0]}, .at = w.after};
    }
    buf_put(out, copied, (size_t)(code.at + code.n - copied));
}

static void rename_code(struct str code, bool python, struct str from, struct str to,
                        struct buf *out)
{
    if (is_sure(code, python, from, to)) {
        replace_words(code, python, from, to, out);
        return;
    }
    buf_str(out, code);
    buf_printf(out, python ? "%s%.*s = %.*s\n" : "%sconst %.*s = %.*s;\n",
               str_ends(code, "\n") ? "" : "\n", STR_ARGS(to), STR_ARGS(from));
}

bool function_renamed(const struct function *fn, struct str name, struct arena *a,
                      struct function *out, struct err *e)
{
    struct function given = *fn;
    *out = given;
    if (str_eq(given.name, name))
        return true;
    scoped_buf struct buf code = buf_of(FUNCTION_CODE_MAX);
    rename_code(given.code, given.language == FUNCTION_PYTHON, given.name, name, &code);
    if (!buf_check(&code, "the renamed function's code", e))
        return false;
    out->name = versions_keep(a, name, e);
    out->code = versions_keep(a, buf_view(&code), e);
    return !e->code && function_hash(out, a, e);
}

/* ---- those that it calls ------------------------------------------------- */

/* The name that `text`, a word or a string, means; empty: none. */
static struct str named_by(const struct token *t)
{
    if (t->kind == TOKEN_TEXT && t->text.n >= 2)
        return (struct str){t->text.at + 1, t->text.n - 2};
    return t->kind == TOKEN_WORD ? t->text : (struct str){"", 0};
}

/* customFunctions.NAME, customFunctions?.NAME, customFunctions['NAME'], and Python's
 * custom_functions.NAME */
static bool is_use(const struct window *w, bool python, const struct token *before_that)
{
    bool named = token_is(&w->before[1], "customFunctions") ||
                 (python && token_is(&w->before[1], "custom_functions"));
    if (!named || token_is(before_that, "."))
        return false;
    return w->at.kind == TOKEN_WORD
               ? is_member(w)
               : w->at.kind == TOKEN_TEXT && token_is(&w->before[0], "[") &&
                     token_is(&w->after, "]");
}

static const struct renaming *find_renaming(const struct renaming *all, size_t count,
                                            struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].from, name))
            return &all[i];
    return NULL;
}

bool rename_uses(const struct function *fn, const struct renaming *all, size_t count,
                 struct buf *out)
{
    bool python = fn->language == FUNCTION_PYTHON;
    struct str code = fn->code;
    struct tokens t = tokens_of(code, python);
    struct window w = {.at = token_next(&t)};
    struct token third = {0};
    const char *copied = code.at;
    bool changed = false;
    while (w.at.kind != TOKEN_END) {
        w.after = token_next(&t);
        struct str name = named_by(&w.at);
        const struct renaming *r =
            name.n && is_use(&w, python, &third) ? find_renaming(all, count, name) : NULL;
        if (r) {
            buf_put(out, copied, (size_t)(name.at - copied));
            buf_str(out, r->to);
            copied = name.at + name.n;
            changed = true;
        }
        third = w.before[1];
        w = (struct window){.before = {w.at, w.before[0]}, .at = w.after};
    }
    buf_put(out, copied, (size_t)(code.at + code.n - copied));
    return changed;
}

bool function_uses_renamed(const struct function *fn, struct str from, struct str to,
                           struct arena *a, struct function *out, bool *changed,
                           struct err *e)
{
    const struct renaming one = {from, to};
    scoped_buf struct buf code = buf_of(FUNCTION_CODE_MAX);
    *out = *fn;
    *changed = rename_uses(fn, &one, 1, &code);
    if (!*changed)
        return true;
    if (!buf_check(&code, "the code after renaming", e))
        return false;
    out->code = versions_keep(a, buf_view(&code), e);
    return !e->code && function_hash(out, a, e);
}
