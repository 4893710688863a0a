#define PCRE2_CODE_UNIT_WIDTH 8
#include "spelling/spelling.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdio.h>

/* Words that no binding may have in strict code, and `await`, which stands in async
 * functions for itself. */
static const char *const reserved[] = {
    "arguments", "async",   "await",      "break",     "case",    "catch",
    "class",     "const",   "continue",   "debugger",  "default", "delete",
    "do",        "else",    "enum",       "eval",      "export",  "extends",
    "false",     "finally", "for",        "function",  "if",      "implements",
    "import",    "in",      "instanceof", "interface", "let",     "new",
    "null",      "package", "private",    "protected", "public",  "return",
    "static",    "super",   "switch",     "this",      "throw",   "true",
    "try",       "typeof",  "undefined",  "var",       "void",    "while",
    "with",      "yield",   "NaN",        "Infinity",
};

/* A namespace answers these itself: what looks at an object asks for them. */
static const char *const of_objects[] = {
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "constructor",
    "__lookupSetter__",
    "propertyIsEnumerable",
    "hasOwnProperty",
    "isPrototypeOf",
    "toLocaleString",
    "toString",
    "valueOf",
    "then",
    "catch",
    "finally",
    "toJSON",
    "prototype",
};

/* Globals of a world besides the API: a parameter of that name would hide them. */
static const char *const globals[] = {
    "AbortController",
    "AbortSignal",
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "BigInt",
    "BigInt64Array",
    "BigUint64Array",
    "Boolean",
    "DataView",
    "Date",
    "Error",
    "EvalError",
    "Float32Array",
    "Float64Array",
    "Function",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URIError",
    "URL",
    "URLSearchParams",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "atob",
    "btoa",
    "clearInterval",
    "clearTimeout",
    "console",
    "context",
    "crypto",
    "customFunctions",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "exports",
    "fetch",
    "fs",
    "global",
    "globalThis",
    "host",
    "isFinite",
    "isNaN",
    "main",
    "module",
    "parseFloat",
    "parseInt",
    "process",
    "queueMicrotask",
    "require",
    "self",
    "setInterval",
    "setTimeout",
    "sleep",
    "state",
    "structuredClone",
    "unescape",
    "vm",
    "window",
    "workspace_id",
};

static bool is_one(struct str name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, list[i]))
            return true;
    return false;
}

/* "notes" of "notes.get". */
static bool is_taken(struct str name, const struct name_words *taken)
{
    for (size_t i = 0; taken && i < taken->count; i++) {
        const char *dot = strchrnul(taken->at[i], '.');
        if (str_eq(name, (struct str){taken->at[i], (size_t)(dot - taken->at[i])}))
            return true;
    }
    return false;
}

/* ---- identifiers --------------------------------------------------------- */

static bool name_fits(struct str name, const char *rule)
{
    int error;
    size_t at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)rule, PCRE2_ZERO_TERMINATED, PCRE2_UTF,
                                     &error, &at, NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    must(code && data);
    int rc = pcre2_match(code, (PCRE2_SPTR)name.at, name.n, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return rc >= 0;
}

/* ECMA-262 12.7, by Unicode's own properties. */
static bool is_unicode_identifier(struct str name)
{
    return name_fits(name, "^[\\p{ID_Start}$_][\\p{ID_Continue}$\\x{200c}\\x{200d}]*\\z");
}

static bool is_identifier(struct str name)
{
    bool ascii = true;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.at[i];
        ascii = ascii && c < 0x80;
        if (c < 0x80 && !isalnum(c) && c != '_' && c != '$')
            return false;
    }
    if (isdigit((unsigned char)name.at[0]))
        return false;
    return ascii || (str_is_utf8(name) && is_unicode_identifier(name));
}

/* Joiners, and letters that have no shape. */
static bool has_invisible(struct str name)
{
    const char *at = name.at, *end = name.at + name.n;
    while (at < end) {
        uint32_t c = str_next_char(&at, end);
        if (c == 0x200c || c == 0x200d || c == 0x115f || c == 0x1160 || c == 0x3164 ||
            c == 0xffa0 || c == 0x17b4 || c == 0x17b5 || c == 0x34f ||
            (c >= 0x180b && c <= 0x180f) || (c >= 0xfe00 && c <= 0xfe0f) ||
            (c >= 0xe0100 && c <= 0xe01ef))
            return true;
    }
    return false;
}

/* ---- what it could be taken for ------------------------------------------- */

/* Letters of other scripts that look like Latin ones (TR 39, confusables.txt: those whose
 * prototype is one ASCII letter). */
static const struct {
    uint32_t c;
    char like;
} lookalikes[] = {
    {0x430, 'a'}, {0x435, 'e'}, {0x43e, 'o'}, {0x440, 'p'}, {0x441, 'c'}, {0x443, 'y'},
    {0x445, 'x'}, {0x455, 's'}, {0x456, 'i'}, {0x458, 'j'}, {0x475, 'v'}, {0x4bb, 'h'},
    {0x4cf, 'l'}, {0x501, 'd'}, {0x51b, 'q'}, {0x51d, 'w'}, {0x433, 'r'}, {0x410, 'A'},
    {0x412, 'B'}, {0x415, 'E'}, {0x41a, 'K'}, {0x41c, 'M'}, {0x41d, 'H'}, {0x41e, 'O'},
    {0x420, 'P'}, {0x421, 'C'}, {0x422, 'T'}, {0x423, 'Y'}, {0x425, 'X'}, {0x405, 'S'},
    {0x406, 'I'}, {0x408, 'J'}, {0x4ae, 'Y'}, {0x50c, 'G'}, {0x51a, 'Q'}, {0x51c, 'W'},
    {0x3b1, 'a'}, {0x3b3, 'y'}, {0x3b9, 'i'}, {0x3bd, 'v'}, {0x3bf, 'o'}, {0x3c1, 'p'},
    {0x3c3, 'o'}, {0x3c5, 'u'}, {0x3f2, 'c'}, {0x3f3, 'j'}, {0x391, 'A'}, {0x392, 'B'},
    {0x395, 'E'}, {0x396, 'Z'}, {0x397, 'H'}, {0x399, 'I'}, {0x39a, 'K'}, {0x39c, 'M'},
    {0x39d, 'N'}, {0x39f, 'O'}, {0x3a1, 'P'}, {0x3a4, 'T'}, {0x3a5, 'Y'}, {0x3a7, 'X'},
    {0x566, 'q'}, {0x570, 'h'}, {0x578, 'n'}, {0x57c, 'n'}, {0x57d, 'u'}, {0x581, 'g'},
    {0x584, 'f'}, {0x585, 'o'}, {0x54d, 'U'}, {0x555, 'O'}, {0x131, 'i'}, {0x251, 'a'},
    {0x261, 'g'}, {0x269, 'i'}, {0x28b, 'u'}, {0x5d5, 'l'}, {0x5d8, 'v'}, {0x5df, 'l'},
    {0x5e1, 'o'},
};

/* Other forms of letters that there are already: NFKC makes those of them. */
static const struct {
    uint32_t first, last;
} forms[] = {
    {0x1d2c, 0x1d6a},   {0x1d78, 0x1dbf},   {0x2070, 0x209f},   {0x2100, 0x218f},
    {0x2460, 0x24ff},   {0x2c7c, 0x2c7d},   {0x3300, 0x33ff},   {0xf900, 0xfaff},
    {0xfb00, 0xfdff},   {0xfe70, 0xfeff},   {0xff00, 0xffef},   {0x1d400, 0x1d7ff},
    {0x1ee00, 0x1eeff}, {0x1f100, 0x1f1ff}, {0x1fbf0, 0x1fbf9}, {0x2f800, 0x2fa1f},
};

static char look_of(uint32_t c)
{
    if (c < 0x80)
        return (char)c;
    if (c >= 0xff01 && c <= 0xff5e) /* full width */
        return (char)(c - 0xff01 + '!');
    if (c >= 0x1d400 && c < 0x1d6a4) /* alphabets of mathematics, 52 letters each */
        return (char)((c - 0x1d400) % 52 < 26 ? 'A' + (c - 0x1d400) % 26
                                              : 'a' + (c - 0x1d400) % 26);
    for (size_t i = 0; i < LENGTH(lookalikes); i++)
        if (lookalikes[i].c == c)
            return lookalikes[i].like;
    return '\0';
}

static bool is_other_form(uint32_t c)
{
    for (size_t i = 0; i < LENGTH(forms); i++)
        if (c >= forms[i].first && c <= forms[i].last)
            return true;
    return false;
}

bool name_confuses(struct str name, char like[static NAME_LIKE_MAX])
{
    const char *at = name.at, *end = name.at + name.n;
    bool ascii = true, looks = true, other = false;
    size_t n = 0;
    like[0] = '\0';
    while (at < end) {
        uint32_t c = str_next_char(&at, end);
        char look = look_of(c);
        ascii = ascii && c < 0x80;
        other = other || is_other_form(c);
        looks = looks && look && n < NAME_LIKE_MAX - 1;
        if (looks)
            like[n++] = look;
    }
    like[looks ? n : 0] = '\0';
    if (ascii || !str_is_utf8(name))
        like[0] = '\0';
    return !ascii && (looks || other || !str_is_utf8(name) ||
                      !name_fits(name, "^(*script_run:.*)\\z"));
}

static bool confuses(struct str name)
{
    char like[NAME_LIKE_MAX];
    return name_confuses(name, like);
}

static size_t length_of(struct str name)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++)
        n += ((unsigned char)name.at[i] & 0xc0) != 0x80;
    return n;
}

enum name_fault name_look(struct str name, const struct name_words *taken)
{
    if (!name.n)
        return NAME_EMPTY;
    if (length_of(name) > NAME_LONGEST)
        return NAME_LONG;
    if (is_one(name, of_objects, LENGTH(of_objects)))
        return NAME_OBJECTS;
    if (!is_identifier(name))
        return NAME_NO_WORD;
    if (has_invisible(name))
        return NAME_INVISIBLE;
    if (confuses(name))
        return NAME_CONFUSING;
    if (is_one(name, reserved, LENGTH(reserved)))
        return NAME_RESERVED;
    return is_one(name, globals, LENGTH(globals)) || is_taken(name, taken) ? NAME_GLOBAL
                                                                           : NAME_FINE;
}

bool name_is_camel(struct str name)
{
    return !isupper((unsigned char)name.at[0]) && name.at[0] != '_' &&
           !memchr(name.at, '_', name.n);
}

/* ---- suggestions ----------------------------------------------------------- */

struct freedom {
    const struct name_words *taken;
    name_used_fn *is_used;
    const void *arg;
};

static bool name_is_free(const struct freedom *f, const char *name)
{
    return name_look(str_of(name), f->taken) == NAME_FINE &&
           !(f->is_used && f->is_used(f->arg, str_of(name)));
}

/* "Create the note" and "create-the-note" become "createTheNote". */
static size_t make_camel(struct str name, char *out, size_t max)
{
    size_t n = 0;
    bool upper = false;
    for (size_t i = 0; i < name.n && n < max; i++) {
        unsigned char c = (unsigned char)name.at[i];
        bool counts = isalnum(c) || c == '$';
        if (counts && (n || !isdigit(c))) {
            out[n] = (char)(n == 0 ? tolower(c) : upper ? toupper(c) : c);
            n++;
        }
        upper = !counts;
    }
    out[n] = '\0';
    return n;
}

void name_suggest(struct str name, const struct name_words *taken, name_used_fn *is_used,
                  const void *arg, char out[static NAME_SUGGESTION_MAX])
{
    const struct freedom f = {taken, is_used, arg};
    char base[NAME_LONGEST];
    size_t n = make_camel(str_cut(name, 200), base, NAME_LONGEST - 12);
    if (!n)
        (void)snprintf(base, sizeof base, "myFunction");
    (void)snprintf(out, NAME_SUGGESTION_MAX, "%s", base);
    if (name_is_free(&f, out))
        return;
    if (name_look(str_of(base), taken) != NAME_FINE) {
        (void)snprintf(out, NAME_SUGGESTION_MAX, "my%c%s",
                       toupper((unsigned char)base[0]), base + 1);
        (void)snprintf(base, sizeof base, "%s", out);
    }
    for (unsigned i = 2; !name_is_free(&f, out) && i < 10000; i++)
        (void)snprintf(out, NAME_SUGGESTION_MAX, "%s%u", base, i);
}
