/* Names of command-line tools that agents know from elsewhere. */
#include "catalogue/catalogue.h"
#include "place/place.h"
#include "tools_api/tooling.h"

/* Tools by alternative names, or by programs with the same purpose. */
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

/* "jq .a": a line of a shell. */
static void put_line(struct actions *a, unsigned vault, struct str name, struct buf *out)
{
    const char *end = name.n ? memchr(name.at, ' ', name.n) : NULL;
    struct str first = {name.at, end ? (size_t)(end - name.at) : 0};
    if (!first.n || !is_tool(a, vault, first))
        return;
    buf_printf(out,
               "the name is only '%.*s'; put the rest into args, an array of strings",
               STR_ARGS(first));
}

static void put_tool_alias(struct actions *a, unsigned vault,
                           const struct capability_name *name, struct buf *out)
{
    for (size_t i = 0; i < LENGTH(aliases); i++)
        if (str_is(name->text, aliases[i].name) &&
            is_tool(a, vault, str_of(aliases[i].tool))) {
            put_tool(str_of(aliases[i].tool), name->action, out);
            return;
        }
    put_line(a, vault, name->text, out);
}

void tooling_meant(struct actions *a, const struct place *place, unsigned vault,
                   const struct capability_name *name, struct buf *out)
{
    (void)place;
    if (name->how == MEANT_EXACTLY && name->action && is_tool(a, vault, name->text))
        put_tool(name->text, true, out);
    if (name->how == MEANT_OTHERWISE)
        put_tool_alias(a, vault, name, out);
}
