/* Names that agents know from elsewhere: of shells, of other servers, of our own calls. */
#include "discovery/meant.h"

#include <ctype.h>

#include "actions/actions.h"
#include "api/api.h"
#include "calls/calls.h"
#include "catalogue/catalogue.h"
#include "functions/functions.h"
#include "functions_api/functions_api.h"
#include "machines/machines.h"
#include "place/place.h"
#include "tools_api/tools_api.h"

/* Tools by another name of theirs, or of what does the same. */
static const struct {
    const char *name, *tool;
} aliases[] = {
    {"rg", "ripgrep"},         {"ack", "ripgrep"},
    {"egrep", "grep"},         {"fgrep", "grep"},
    {"gawk", "awk"},           {"mawk", "awk"},
    {"gsed", "sed"},           {"bat", "cat"},
    {"less", "cat"},           {"more", "cat"},
    {"sqlite", "sqlite3"},     {"fd", "find"},
    {"md5", "md5sum"},         {"shasum", "sha256sum"},
    {"pdf2text", "pdftotext"}, {"prettier", "clang-format"},
    {"cmark", "markdown"},     {"7z", "unzip"},
};

static const char *const machine_programs[] = {"python", "python3", "bash", "sh", "git"};
static const char *const code_programs[] = {
    "node", "deno", "bun", "javascript", "js", "typescript", "ts", "eval", "run_code"};

static bool is_one(struct str name, const char *const *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, all[i]))
            return true;
    return false;
}

static bool is_tool(struct actions *a, unsigned vault, struct str name)
{
    struct err none = {0};
    char id[VAULT_ID_MAX + 1];
    struct catalogue *c = actions_catalogue(a, &none);
    vault_set_id(a->vaults, vault, id);
    return c && tool_find(c, name, str_of(id), &none);
}

static void put_tool(struct str tool, bool action, struct buf *out)
{
    if (action)
        buf_printf(out, "run_tool {name: '%.*s'} does that", STR_ARGS(tool));
    else
        buf_printf(out, "'%.*s' does that", STR_ARGS(tool));
}

static void put_feature(struct str name, struct buf *out)
{
    size_t count;
    const struct host_call_group *const *groups = host_call_groups(&count);
    for (size_t i = 0; i < count; i++) {
        const struct feature *f = groups[i]->feature;
        for (const char *const *p = f ? f->programs : NULL; p && *p; p++)
            if (str_is(name, *p))
                buf_printf(out, "%s does that in evaluate_note_code, with %s",
                           groups[i]->rows->row.name, f->option);
    }
}

/* Programs of a shell; false: it is none that we know. */
static bool put_program(struct actions *a, unsigned vault, struct str name, bool action,
                        struct buf *out)
{
    struct err none = {0};
    for (size_t i = 0; i < LENGTH(aliases); i++)
        if (str_is(name, aliases[i].name) && is_tool(a, vault, str_of(aliases[i].tool))) {
            put_tool(str_of(aliases[i].tool), action, out);
            return true;
        }
    if (is_one(name, machine_programs, LENGTH(machine_programs)) &&
        machines_ready(a, &none))
        buf_printf(out, "vm_exec runs %.*s in a Linux machine", STR_ARGS(name));
    else if (is_one(name, code_programs, LENGTH(code_programs)))
        buf_cstr(out, "evaluate_note_code runs JavaScript and TypeScript");
    else
        put_feature(name, out);
    return out->n > 0;
}

/* "jq .a": a line of a shell. */
static bool put_line(struct actions *a, unsigned vault, struct str name, struct buf *out)
{
    const char *end = name.n ? memchr(name.at, ' ', name.n) : NULL;
    struct str first = {name.at, end ? (size_t)(end - name.at) : 0};
    if (!first.n || !is_tool(a, vault, first))
        return false;
    buf_printf(out,
               "the name is '%.*s' alone, and what stands behind it goes into args, an "
               "array of strings",
               STR_ARGS(first));
    return true;
}

/* "getNote", "get-note" and "get_notes" are get_note. */
static bool put_action(struct actions *a, struct str name, struct buf *out)
{
    char snake[64];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 2 < sizeof snake; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (isupper(c) && i)
            snake[n++] = '_';
        snake[n++] = c == '-' ? '_' : (char)tolower(c);
    }
    bool many = n > 1 && snake[n - 1] == 's';
    for (size_t i = 0; i <= many; i++, n--)
        if (action_named(a, (struct str){snake, n})) {
            buf_printf(out, "%.*s is its name", (int)n, snake);
            return true;
        }
    return false;
}

/* "delete_note" is notes.delete, which code calls. */
static void put_call(struct str name, struct buf *out)
{
    char plain[64], near[64];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 1 < sizeof plain; i++)
        if (name.at[i] != '_' && name.at[i] != '-')
            plain[n++] = name.at[i];
    if (api_nearest((struct str){plain, n}, near) && strchr(near, '.') &&
        !host_call_named(near)->row.feature)
        buf_printf(out, "evaluate_note_code does that: await %s(...)", near);
}

static bool is_function(struct actions *a, const struct place *place, struct str name)
{
    struct err none = {0};
    scoped_set const struct function_set *all =
        place ? functioning_now(a, place, NULL, &none) : NULL;
    return all && function_named(all, name);
}

void meant_tell(struct actions *a, const struct place *place, unsigned vault,
                struct str name, bool action, struct buf *out)
{
    bool several = name.n && (memchr(name.at, '_', name.n) || action);
    if (action && is_tool(a, vault, name))
        put_tool(name, true, out);
    else if (action && is_function(a, place, name))
        buf_printf(out, "evaluate_note_code does that: await customFunctions.%.*s(...)",
                   STR_ARGS(name));
    else if (!(action && put_action(a, name, out)) &&
             !put_program(a, vault, name, action, out) &&
             !put_line(a, vault, name, out) && several)
        put_call(name, out);
}
