/* TypeScript declarations and the reference page, made from the table. */
#include <ctype.h>
#include <stdio.h>

#include "api/api.h"
#include "api/internal.h"
#include "caller/caller.h"
#include "calls/calls.h"

/* ---- globals ------------------------------------------------------------- */

/* Globals of all code, besides the libraries of ES2023. */
static const char world[] =
    "// What code of evaluate_note_code finds, for lib ES2023. Made by `cloche api --types`.\n"
    "\n"
    "declare const console: {\n"
    "  log(...values: any[]): void; info(...values: any[]): void; warn(...values: any[]): void;\n"
    "  error(...values: any[]): void; debug(...values: any[]): void; trace(...values: any[]): void;\n"
    "  dir(value: any): void; table(value: any): void; assert(ok: any, ...values: any[]): void;\n"
    "  count(label?: string): void; group(...values: any[]): void; groupEnd(): void;\n"
    "  time(label?: string): void; timeEnd(label?: string): void;\n"
    "};\n"
    "/** The values that were given with the call, each of which is a variable too. */\n"
    "declare const context: {[key: string]: any};\n"
    "declare function sleep(ms: number): Promise<void>;\n"
    "declare function setTimeout(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;\n"
    "declare function setInterval(run: (...args: any[]) => void, ms?: number, ...args: any[]): number;\n"
    "declare function clearTimeout(id?: number): void;\n"
    "declare function clearInterval(id?: number): void;\n"
    "declare function queueMicrotask(run: () => void): void;\n"
    "declare function structuredClone<T>(value: T): T;\n"
    "declare function atob(text: string): string;\n"
    "declare function btoa(text: string): string;\n"
    "declare const performance: {now(): number; readonly timeOrigin: number};\n"
    "declare const crypto: {\n"
    "  randomUUID(): string;\n"
    "  getRandomValues<T extends ArrayBufferView>(array: T): T;\n"
    "};\n"
    "declare class TextEncoder {\n"
    "  readonly encoding: string;\n"
    "  encode(text?: string): Uint8Array;\n"
    "  encodeInto(text: string, target: Uint8Array): {read: number; written: number};\n"
    "}\n"
    "declare class TextDecoder {\n"
    "  constructor(label?: string, options?: {fatal?: boolean; ignoreBOM?: boolean});\n"
    "  readonly encoding: string; readonly fatal: boolean; readonly ignoreBOM: boolean;\n"
    "  decode(input?: ArrayBuffer | ArrayBufferView, options?: {stream?: boolean}): string;\n"
    "}\n"
    "declare class URLSearchParams {\n"
    "  constructor(init?: string | [string, string][] | {[key: string]: string} | URLSearchParams);\n"
    "  readonly size: number;\n"
    "  append(name: string, value: string): void; delete(name: string, value?: string): void;\n"
    "  get(name: string): string | null; getAll(name: string): string[];\n"
    "  has(name: string, value?: string): boolean; set(name: string, value: string): void;\n"
    "  sort(): void; toString(): string;\n"
    "  keys(): IterableIterator<string>; values(): IterableIterator<string>;\n"
    "  entries(): IterableIterator<[string, string]>;\n"
    "  [Symbol.iterator](): IterableIterator<[string, string]>;\n"
    "}\n"
    "declare class URL {\n"
    "  constructor(url: string, base?: string | URL);\n"
    "  static canParse(url: string, base?: string): boolean;\n"
    "  href: string; protocol: string; username: string; password: string; host: string;\n"
    "  hostname: string; port: string; pathname: string; search: string; hash: string;\n"
    "  readonly origin: string; readonly searchParams: URLSearchParams;\n"
    "  toString(): string; toJSON(): string;\n"
    "}\n"
    "declare class Event {\n"
    "  constructor(type: string, init?: {[key: string]: any});\n"
    "  readonly type: string; target: any;\n"
    "}\n"
    "declare class EventTarget {\n"
    "  addEventListener(type: string, run: (event: Event) => void, options?: {once?: boolean}): void;\n"
    "  removeEventListener(type: string, run: (event: Event) => void): void;\n"
    "  dispatchEvent(event: Event): boolean;\n"
    "}\n"
    "declare class AbortSignal extends EventTarget {\n"
    "  readonly aborted: boolean; readonly reason: any; onabort: ((event: Event) => void) | null;\n"
    "  throwIfAborted(): void;\n"
    "  static abort(reason?: any): AbortSignal; static timeout(ms: number): AbortSignal;\n"
    "  static any(signals: AbortSignal[]): AbortSignal;\n"
    "}\n"
    "declare class AbortController { readonly signal: AbortSignal; abort(reason?: any): void; }\n";

/* ---- pieces -------------------------------------------------------------- */

/* "it does" -> "It does." */
static void put_sentence(const char *text, struct buf *out)
{
    size_t n = strlen(text);
    buf_char(out, (char)toupper((unsigned char)text[0]));
    buf_cstr(out, text + 1);
    if (text[n - 1] != '.')
        buf_char(out, '.');
}

static bool is_object(const struct api_type *t)
{
    return t->definition[0] == '{' && t->definition[1] != '[';
}

static void type_declare(const struct api_type *t, struct buf *out)
{
    if (!is_object(t)) {
        buf_printf(out, "type %s = %s;\n", t->name, t->definition);
        return;
    }
    buf_printf(out, "interface %s {\n", t->name);
    struct str members = api_members(str_of(t->definition));
    struct api_field field;
    while (api_next_field(&members, &field))
        buf_printf(out, "  %.*s%s: %.*s;\n", STR_ARGS(field.name),
                   field.optional ? "?" : "", STR_ARGS(field.type));
    buf_cstr(out, "}\n");
}

/* A name without its namespace: "get", or a global's whole name. */
static const char *method_of(const struct host_call *c)
{
    size_t n = api_namespace(c).n;
    return c->row.name + n + (c->row.name[n] == '.');
}

static bool is_global(const struct host_call *c)
{
    return !strchr(c->row.name, '.');
}

/* ---- declarations -------------------------------------------------------- */

static void put_comment(const struct host_call *c, const char *indent, struct buf *out)
{
    buf_printf(out, "%s/** ", indent);
    put_sentence(c->summary, out);
    if (c->details)
        buf_printf(out, " %s", c->details);
    if (c->errors)
        buf_printf(out, " Fails with: %s", c->errors);
    buf_cstr(out, " */\n");
}

/* Appends the text with each `from` replaced by `to`. */
static void put_replaced(struct str text, const char *from, const char *to,
                         struct buf *out)
{
    size_t n = strlen(from);
    for (const char *at; (at = memmem(text.at, text.n, from, n));) {
        buf_put(out, text.at, (size_t)(at - text.at));
        buf_cstr(out, to);
        text = (struct str){at + n, text.n - n - (size_t)(at - text.at)};
    }
    buf_str(out, text);
}

#define DRY_OPTION "dry_run?: boolean"
#define DRY_ANSWER " | DryRun>"

/* Writes one overload. A call with another answer in a dry run gets two overloads, so
 * that code without dry runs need not tell the answers apart. */
static void put_overload(const char *head, struct str line, struct buf *out)
{
    struct str answer = api_signature_read(line).returns;
    struct str left = {line.at, (size_t)(answer.at - line.at)};
    if (!memmem(answer.at, answer.n, DRY_ANSWER, sizeof DRY_ANSWER - 1)) {
        buf_printf(out, "%s%.*s;\n", head, STR_ARGS(line));
        return;
    }
    buf_cstr(out, head);
    put_replaced(left, DRY_OPTION, "dry_run?: false", out);
    put_replaced(answer, DRY_ANSWER, ">", out);
    buf_printf(out, ";\n%s", head);
    put_replaced(left, DRY_OPTION, "dry_run: true", out);
    buf_cstr(out, "Promise<DryRun>;\n");
}

static void put_twin(const char *head, struct str line, struct buf *out)
{
    struct str answer = api_signature_read(line).returns;
    struct str left = {line.at, (size_t)(answer.at - line.at)};
    bool promise = str_starts(answer, "Promise<") && str_ends(answer, ">");
    size_t skip = promise ? sizeof "Promise<" - 1 : 0;
    buf_printf(out, "%sSync%.*s%.*s;\n", head, STR_ARGS(left),
               (int)(answer.n - skip - promise), answer.at + skip);
}

static void put_declaration(const struct host_call *c, struct buf *out)
{
    char head[100];
    (void)snprintf(head, sizeof head, "%s%s", is_global(c) ? "declare function " : "  ",
                   is_global(c) ? c->row.name : method_of(c));
    put_comment(c, is_global(c) ? "" : "  ", out);
    struct str rest = str_of(c->signature), line;
    while (api_next_line(&rest, &line))
        put_overload(head, line, out);
    rest = str_of(c->signature);
    while (host_call_group_of(c)->interface && api_next_line(&rest, &line))
        put_twin(head, line, out);
}

static void open_namespace(const struct host_call *first, struct buf *out)
{
    const struct host_call_group *group = host_call_group_of(first);
    if (group->interface)
        buf_printf(out, "\ninterface %s {\n", group->interface);
    else
        buf_printf(out, "\ndeclare const %.*s: {\n", STR_ARGS(api_namespace(first)));
    if (group->interface && group->declare)
        group->declare(out);
}

/* `first`: of the open namespace; NULL: none is open. */
static void close_namespace(const struct host_call *first, struct buf *out)
{
    const struct host_call_group *group = first ? host_call_group_of(first) : NULL;
    if (group && group->interface)
        buf_printf(out, "}\ndeclare const %.*s: %s;\n", STR_ARGS(api_namespace(first)),
                   group->interface);
    else if (group && group->declare)
        group->declare(out);
    if (group && !group->interface)
        buf_cstr(out, "};\n");
}

static void put_calls(uint32_t feature, struct buf *out)
{
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    const struct host_call *open = NULL;
    for (size_t i = 0; i < count; i++) {
        if (calls[i]->row.feature != feature)
            continue;
        bool begins = !open || !str_eq(api_namespace(calls[i]), api_namespace(open));
        if (begins)
            close_namespace(open, out);
        if (begins)
            open = is_global(calls[i]) ? NULL : calls[i];
        if (begins && open)
            open_namespace(open, out);
        put_declaration(calls[i], out);
    }
    close_namespace(open, out);
}

void api_write_part(uint32_t feature, struct buf *out)
{
    const char *with = feature ? feature_of(feature)->world : world;
    if (with)
        buf_cstr(out, with);
    size_t count;
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; !feature && i < count; i++) {
        buf_cstr(out, "\n/** ");
        put_sentence(types[i].about, out);
        buf_cstr(out, " */\n");
        type_declare(&types[i], out);
    }
    put_calls(feature, out);
}

void api_write_types(struct buf *out)
{
    api_write_part(0, out);
    for (uint32_t bit = 1; bit < 1u << FEATURES; bit <<= 1)
        api_write_part(bit, out);
}

/* ---- the reference ------------------------------------------------------- */

void api_write_call(const struct host_call *c, struct buf *out)
{
    buf_printf(out, "### %s\n\n", c->row.name);
    put_sentence(c->summary, out);
    if (c->details)
        buf_printf(out, " %s", c->details);
    buf_cstr(out, "\n\n```typescript\n");
    struct str rest = str_of(c->signature), line;
    while (api_next_line(&rest, &line))
        buf_printf(out, "%s%.*s\n", c->row.name, STR_ARGS(line));
    buf_cstr(out, "```\n\n");
    if (c->example)
        buf_printf(out, "```javascript\n%s\n```\n\n", c->example);
    if (c->errors)
        buf_printf(out, "Errors: %s\n\n", c->errors);
    buf_printf(out, "Level: %s%s.\n\n", level_name(c->level),
               c->row.writes ? "; changes the vault" : "");
}

void api_write_reference(struct buf *out)
{
    buf_cstr(out,
             "# The API of evaluated code\n\nGenerated from the table of host calls by "
             "`make reference`; do not edit. Inside an\nevaluation `api.search('words')` "
             "and `api.describe('notes.get')` use the\nsame table; `cloche api --types` "
             "prints it as TypeScript declarations. The world\naround it, limits and "
             "errors: [evaluating.md](evaluating.md).\n\nA method is called at its level "
             "or a more trusted one (zero, limited, full).\n");
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    struct str open = {0};
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(api_namespace(calls[i]), open)) {
            open = api_namespace(calls[i]);
            buf_printf(out, "\n## %.*s\n\n", STR_ARGS(open));
        }
        api_write_call(calls[i], out);
    }
    buf_cstr(out, "## Types\n\n```typescript\n");
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s// ", i ? "\n" : "");
        put_sentence(types[i].about, out);
        buf_char(out, '\n');
        type_declare(&types[i], out);
    }
    buf_cstr(out, "```\n");
}

/* ---- for people ---------------------------------------------------------- */

static void call_put_line(const struct host_call *c, struct buf *out)
{
    buf_printf(out, "%-34s %s\n", c->row.name, c->summary);
}

static bool put_matching(struct str name, struct buf *out)
{
    size_t count, found = 0;
    const struct host_call *const *calls = host_calls_listed(&count);
    for (size_t i = 0; i < count; i++)
        if (!name.n || str_eq(api_namespace(calls[i]), name)) {
            call_put_line(calls[i], out);
            found++;
        }
    return found > 0;
}

bool api_write_document(enum api_document what, struct str words, struct buf *out,
                        struct err *e)
{
    const struct host_call *found[API_FOUND_MAX];
    const struct host_call *one = api_call_named(words);
    if (what == API_DOCUMENT_TYPES)
        api_write_types(out);
    else if (what == API_DOCUMENT_REFERENCE)
        api_write_reference(out);
    else if (one)
        api_write_call(one, out);
    else if (api_type_named(words))
        type_declare(api_type_named(words), out);
    else if (!put_matching(words, out)) {
        size_t n = api_find(words, found, 8);
        for (size_t i = 0; i < n; i++)
            call_put_line(found[i], out);
        if (!n)
            return err_set(e, ERR_NOT_FOUND,
                           "nothing is called '%.*s', or does that; 'cloche api' lists "
                           "everything",
                           STR_ARGS(str_cut(words, 60)));
    }
    return buf_check(out, "the API's text", e);
}
