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

/* What the world has besides the API; its code would hide them from itself. */
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

/* ECMA-262 12.7, by Unicode's own properties. */
static bool is_unicode_identifier(struct str name)
{
    static const char rule[] =
        "^[\\p{ID_Start}$_][\\p{ID_Continue}$\\x{200c}\\x{200d}]*\\z";
    int error;
    size_t at;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)rule, sizeof rule - 1, PCRE2_UTF, &error, &at, NULL);
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    must(code && data);
    int rc = pcre2_match(code, (PCRE2_SPTR)name.at, name.n, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return rc >= 0;
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

static bool is_free(const struct freedom *f, const char *name)
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
    if (is_free(&f, out))
        return;
    if (name_look(str_of(base), taken) != NAME_FINE) {
        (void)snprintf(out, NAME_SUGGESTION_MAX, "my%c%s",
                       toupper((unsigned char)base[0]), base + 1);
        (void)snprintf(base, sizeof base, "%s", out);
    }
    for (unsigned i = 2; !is_free(&f, out) && i < 10000; i++)
        (void)snprintf(out, NAME_SUGGESTION_MAX, "%s%u", base, i);
}
