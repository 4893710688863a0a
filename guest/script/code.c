/* An agent's code as one promise of one result.
 *
 * The result is the value of a top-level `return`; else, where a top-level
 * function `main` is declared, what `main()` answers; else the value of the last
 * expression statement. JavaScript itself knows completion values only for
 * scripts, and `return` only in functions, so there are two forms:
 *
 *   script     { __main(() => typeof main ...); CODE }    where there is no return
 *   function   (async function () { __main(...); CODE     where there is one
 *              ; return __nothing })
 *
 * The block keeps top-level variables local, which is several times faster than
 * globals. In the function form the last expression statement, if it can be
 * told apart, is turned into a return.
 *
 * In a session the code is a script without the block, whose names are globals, and in
 * which `return` is allowed (quickjs/own.c).
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs/own.h"
#include "script/guest.h"

/* The code begins on a line of its own, with number 1. QuickJS takes 0 for "not given". */
#define FIRST_LINE -1
#define NOTE_MAIN "__main(()=>typeof main=='function'?main:void 0)"
static const char script_head[] = "{" NOTE_MAIN ";\n\n", script_head_plain[] = "{\n\n";
static const char script_tail[] = "\n}";
static const char function_head[] = "(async function(){" NOTE_MAIN ";\n\n",
                  function_head_plain[] = "(async function(){\n\n";
static const char function_tail[] = "\n;return __nothing})";

#define FLAGS_SCRIPT (JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC)
#define FLAGS_FUNCTION JS_EVAL_TYPE_GLOBAL

/* JS_EVAL_FLAG_STRICT where the code begins with 'use strict': our own text before
 * it would make that directive a mere string. */
static int strictness;

static JSValue compile(JSContext *ctx, const char *text, size_t n, int flags)
{
    JSEvalOptions o = {.version = JS_EVAL_OPTIONS_VERSION,
                       .eval_flags = flags | strictness | JS_EVAL_FLAG_COMPILE_ONLY,
                       .filename = "code.js",
                       .line_num = FIRST_LINE};
    return JS_Eval2(ctx, text, n, &o);
}

/* head + parts + tail, NUL-terminated as JS_Eval wants it. */
static struct bytes glue(const char *head, const char *code, size_t n, const char *tail)
{
    struct bytes b = {.ceiling = UINT32_MAX / 4};
    bytes_text(&b, head);
    bytes_put(&b, code, n);
    bytes_put(&b, tail, strlen(tail) + 1);
    b.n--;
    return b;
}

static void forget_exception(JSContext *ctx)
{
    JS_FreeValue(ctx, JS_GetException(ctx));
}

/* Does it compile? For trials only: an exception is forgotten. */
static bool compiles(JSContext *ctx, const char *head, const char *code, size_t n,
                     const char *tail)
{
    struct bytes b = glue(head, code, n, tail);
    JSValue f = b.failed ? JS_EXCEPTION : compile(ctx, b.at, b.n, FLAGS_FUNCTION);
    free(b.at);
    if (JS_IsException(f)) {
        forget_exception(ctx);
        return false;
    }
    JS_FreeValue(ctx, f);
    return true;
}

static bool starts_with_word(const char *s, size_t n, const char *word)
{
    size_t length = strlen(word);
    return n >= length && !memcmp(s, word, length) &&
           (n == length ||
            !(isalnum((unsigned char)s[length]) || s[length] == '_' || s[length] == '$'));
}

/* ---- which form --------------------------------------------------------- */

/* Skips a string, template or comment that begins at `i`; answers its end, or
 * `i` where there is none. Regular expressions are not known: this is a guess
 * about which form to try first, nothing more. */
static size_t skip_quoted(const char *s, size_t i, size_t n)
{
    char c = s[i];
    if (c == '"' || c == '\'' || c == '`') {
        for (size_t k = i + 1; k < n; k++) {
            if (s[k] == '\\')
                k++;
            else if (s[k] == c)
                return k + 1;
        }
        return n;
    }
    if (c != '/' || i + 1 == n)
        return i;
    const char *end = s[i + 1] == '/'   ? memchr(s + i, '\n', n - i)
                      : s[i + 1] == '*' ? memmem(s + i + 2, n - i - 2, "*/", 2)
                                        : s + i;
    return end ? (size_t)(end - s) + (s[i + 1] == '*' ? 2 : 0) : n;
}

static bool begins_strict(const char *s, size_t n)
{
    size_t i = 0;
    for (;;) {
        while (i < n && isspace((unsigned char)s[i]))
            i++;
        if (i + 1 >= n || s[i] != '/' || (s[i + 1] != '/' && s[i + 1] != '*'))
            break;
        i = skip_quoted(s, i, n);
    }
    return n - i >= 12 &&
           (!memcmp(s + i, "'use strict'", 12) || !memcmp(s + i, "\"use strict\"", 12));
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/* Is there, as far as can be seen without parsing, a `return` outside all
 * braces? */
static bool seems_to_return(const char *s, size_t n)
{
    int depth = 0;
    for (size_t i = 0; i < n;) {
        size_t skipped = skip_quoted(s, i, n);
        if (skipped != i) {
            i = skipped;
            continue;
        }
        depth += (s[i] == '{') - (s[i] == '}');
        if (depth == 0 && s[i] == 'r' && (i == 0 || !in_word(s[i - 1])) &&
            starts_with_word(s + i, n - i, "return"))
            return true;
        i++;
    }
    return false;
}

/* Does it seem to close a brace or parenthesis that it has not opened? The forms put
 * some around it, which are not its own to close. */
static bool seems_to_break_out(const char *s, size_t n)
{
    int depth = 0;
    for (size_t i = 0; i < n && depth >= 0;) {
        size_t skipped = skip_quoted(s, i, n);
        if (skipped == i) {
            depth += (s[i] == '{' || s[i] == '(') - (s[i] == '}' || s[i] == ')');
            skipped++;
        }
        i = skipped;
    }
    return depth < 0;
}

/* ---- the last expression statement of the function form ----------------- */

/* Could a statement that begins so be an expression, and could it not be the
 * rest of the statement before it? */
static bool may_begin_expression(const char *s, size_t n, bool after_end)
{
    static const char *const declarations[] = {"function", "class", "async",
                                               "let",      "const", "var"};
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        if (starts_with_word(s, n, declarations[i]))
            return false;
    if (s[0] == '{')
        return false;
    return after_end || !strchr("([`+-*/.,?<>=&|^%:)]}", s[0]);
}

/* Where the last expression statement begins, or n. Tries the beginnings of
 * lines, and what follows a semicolon, from the end: the text before must be
 * whole statements, and the rest one expression. */
static size_t find_last_expression(JSContext *ctx, const char *code, size_t n)
{
    size_t all = n;
    while (n && (isspace((unsigned char)code[n - 1]) || code[n - 1] == ';'))
        n--;
    int tries = 20;
    for (size_t at = n; at-- > 0 && tries > 0;) {
        size_t before = at; /* where the text before it ends */
        while (before > 0 && isspace((unsigned char)code[before - 1]))
            before--;
        bool after_end =
            before == 0 || code[before - 1] == ';' || code[before - 1] == '}';
        if (isspace((unsigned char)code[at]) ||
            (!after_end && !memchr(code + before, '\n', at - before)))
            continue;
        if (starts_with_word(code + at, n - at, "return")) {
            /* The common end of such code, if it is not inside a function. */
            if (compiles(ctx, "(async function(){", code, at, "\n})"))
                return all;
            tries--;
            continue;
        }
        if (!may_begin_expression(code + at, n - at, after_end))
            continue;
        tries--;
        if (compiles(ctx, "(async function(){return(\n", code + at, n - at, "\n)})") &&
            compiles(ctx, "(async function(){", code, at, "\n})"))
            return at;
    }
    return all;
}

/* ---- running ------------------------------------------------------------ */

struct shift code_shift;

/* Most code has no main, and reading our arrow function would be a quarter of what
 * a small evaluation costs. An identifier may be spelt with escapes. */
static bool may_declare_main(const char *code, size_t n)
{
    return memmem(code, n, "main", 4) || memmem(code, n, "\\u", 2);
}

static JSValue run_function(JSContext *ctx, const char *code, size_t n)
{
    static const char wrap[] = "return __last(";
    size_t at = find_last_expression(ctx, code, n);
    struct bytes b = {.ceiling = UINT32_MAX / 4};
    bytes_text(&b, may_declare_main(code, n) ? function_head : function_head_plain);
    bytes_put(&b, code, at);
    if (at < n) {
        size_t end = n;
        while (isspace((unsigned char)code[end - 1]) || code[end - 1] == ';')
            end--;
        bytes_text(&b, wrap);
        bytes_put(&b, code + at, end - at);
        bytes_text(&b, "\n)");
        code_shift = (struct shift){.line = 1, .by = sizeof wrap - 1};
        for (size_t i = 0; i < at; i++) {
            code_shift.from++;
            if (code[i] == '\n') {
                code_shift.line++;
                code_shift.from = 0;
            }
        }
    }
    bytes_put(&b, function_tail, sizeof function_tail);
    b.n--;
    JSValue function = compile(ctx, b.at, b.n, FLAGS_FUNCTION);
    if (JS_IsException(function))
        return function;
    JSValue made = JS_EvalFunction(ctx, function);
    if (JS_IsException(made))
        return made;
    JSValue promise = JS_Call(ctx, made, JS_UNDEFINED, 0, NULL);
    JS_FreeValue(ctx, made);
    return promise;
}

/* A promise of {value: the completion value}. */
static JSValue run_script(JSContext *ctx, const char *code, size_t n)
{
    const char *head = may_declare_main(code, n) ? script_head : script_head_plain;
    struct bytes b = glue(head, code, n, script_tail);
    JSValue function = compile(ctx, b.at, b.n, FLAGS_SCRIPT);
    if (!JS_IsException(function))
        return JS_EvalFunction(ctx, function);
    return function;
}

/* Says what is wrong with the text as it stands. */
static JSValue throw_syntax_error(JSContext *ctx, const char *code, size_t n)
{
    struct bytes b = glue("(async function(){\n\n", code, n, "\n})");
    JSValue function = compile(ctx, b.at, b.n, FLAGS_FUNCTION);
    if (!JS_IsException(function))
        return JS_ThrowSyntaxError(ctx, "Unexpected token '}'");
    return function;
}

JSValue code_source(JSContext *ctx, const char *text, size_t n, const char *file)
{
    struct bytes b = glue("(function(){\n\n", text, n, "\n})");
    JSEvalOptions o = {.version = JS_EVAL_OPTIONS_VERSION,
                       .eval_flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT,
                       .filename = file,
                       .line_num = FIRST_LINE};
    JSValue made = b.failed ? JS_ThrowOutOfMemory(ctx) : JS_Eval2(ctx, b.at, b.n, &o);
    free(b.at);
    return made;
}

bool code_declares_main;

/* What it declares may have been declared before. */
JSValue code_run_in_session(JSContext *ctx, const char *code, size_t n, unsigned count)
{
    char name[24];
    (void)snprintf(name, sizeof name, "call-%u.js", count);
    strictness = begins_strict(code, n) ? JS_EVAL_FLAG_STRICT : 0;
    struct bytes b = glue("", code, n, "\n");
    JSEvalOptions o = {.version = JS_EVAL_OPTIONS_VERSION,
                       .eval_flags =
                           FLAGS_SCRIPT | strictness | JS_EVAL_FLAG_COMPILE_ONLY,
                       .filename = name,
                       .line_num = 1};
    JSValue function =
        b.failed ? JS_ThrowOutOfMemory(ctx) : own_compile(ctx, b.at, b.n, &o);
    free(b.at);
    if (JS_IsException(function))
        return function;
    code_declares_main = own_free_names(ctx, function, "main");
    return JS_EvalFunction(ctx, function);
}

JSValue code_run(JSContext *ctx, const char *code, size_t n, bool *is_script)
{
    strictness = begins_strict(code, n) ? JS_EVAL_FLAG_STRICT : 0;
    *is_script = !seems_to_return(code, n);
    /* What is whole stays so within other brackets than those it is run in. */
    if (seems_to_break_out(code, n) &&
        (!compiles(ctx, "(async function(){\n", code, n, "\n})") ||
         !compiles(ctx, "(async function(){{\n", code, n, "\n}})")))
        return throw_syntax_error(ctx, code, n);
    JSValue promise = *is_script ? run_script(ctx, code, n) : run_function(ctx, code, n);
    if (!JS_IsException(promise))
        return promise;
    forget_exception(ctx);

    /* A script can begin with declarations only: an exception is a matter of
     * syntax. Where the guess was a script, a return may be the reason. */
    if (*is_script && compiles(ctx, function_head, code, n, function_tail)) {
        *is_script = false;
        return run_function(ctx, code, n);
    }
    return throw_syntax_error(ctx, code, n);
}
