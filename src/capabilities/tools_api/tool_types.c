/* Command-line tools as methods of `tools`: api.describe of one, and TypeScript
 * declarations. */
#include <ctype.h>

#include "services/services.h"
#include "tools_api/tooling.h"
#include "tools_api/tools_api.h"

#define DECLARED_MAX 256u
#define ABOUT_MAX 200u /* bytes of a comment */
#define PARAMETERS_MAX ((size_t)16 << 10)

bool tooling_is_name(struct str name)
{
    return str_starts(name, "tools.") && name.n > sizeof "tools." - 1 &&
           !api_call_named(name) && !str_ends(name, "*");
}

/* ---- types ----------------------------------------------------------------- */

static const char *type_name(enum tool_type t)
{
    static const char *const names[] = {"string", "number", "boolean", "any[]"};
    return names[t];
}

static bool name_is_identifier(const char *s)
{
    bool ok = !isdigit((unsigned char)*s);
    for (; *s && ok; s++)
        ok = isalnum((unsigned char)*s) || *s == '_';
    return ok;
}

static void member_put_key(const char *name, struct buf *out)
{
    buf_printf(out, name_is_identifier(name) ? "%s" : "'%s'", name);
}

static void parameter_put_type(const struct tool_parameter *p, struct buf *out)
{
    struct json_iter it = json_iter(p->choices);
    bool any = false;
    while (json_next(&it)) {
        struct json_writer w = json_writer(out);
        buf_cstr(out, any ? " | " : "");
        json_put(&w, it.value);
        any = true;
    }
    if (any)
        return;
    if (p->type == TOOL_ARRAY)
        buf_printf(out, "%s[]", type_name(p->items));
    else
        buf_cstr(out, type_name(p->type));
}

/* "(options?: ToolOptions & {filter?: string}): Promise<ToolResult>": with `args` nothing
 * else is required. */
static void tool_put_signature(const struct tool *t, struct buf *out)
{
    buf_cstr(out, "(options?: ToolOptions & {");
    for (size_t i = 0; i < t->parameter_count; i++) {
        buf_cstr(out, i ? ", " : "");
        member_put_key(t->parameters[i].name, out);
        buf_cstr(out, "?: ");
        parameter_put_type(&t->parameters[i], out);
    }
    buf_cstr(out, "}): Promise<ToolResult>");
}

/* ---- declarations ------------------------------------------------------------ */

/* Escapes what would end the comment. */
static void put_about(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++)
        buf_char(out,
                 (text.at[i] == '/' && i && text.at[i - 1] == '*') || text.at[i] < ' '
                     ? ' '
                     : text.at[i]);
}

static void put_camel(const char *name, struct buf *out)
{
    for (; *name; name++)
        if (*name == '-' && name[1])
            buf_char(out, (char)toupper((unsigned char)*++name));
        else
            buf_char(out, *name);
}

static void put_method(const struct tool *t, struct buf *out)
{
    buf_cstr(out, "  /** ");
    put_about(str_cut(str_of(t->description), ABOUT_MAX), out);
    buf_cstr(out, " */\n  ");
    member_put_key(t->name, out);
    tool_put_signature(t, out);
    buf_cstr(out, ";\n");
    if (!strchr(t->name, '-'))
        return;
    buf_cstr(out, "  ");
    put_camel(t->name, out);
    tool_put_signature(t, out);
    buf_cstr(out, ";\n");
}

void tooling_write_types(struct buf *out)
{
    struct err none = {0};
    struct tool_list list;
    scoped(free) char *guests = services_guest_dir(&none);
    scoped(catalogue_close) struct catalogue *c =
        guests ? catalogue_open(&(struct catalogue_options){.guest_dir = guests}) : NULL;
    if (!c || !tool_list(c, STR(""), &list, &none))
        return;
    for (size_t i = 0; i < list.count && i < DECLARED_MAX; i++)
        if (list.tools[i]->enabled)
            put_method(list.tools[i], out);
    tool_list_release(c, &list);
}

/* ---- api.describe --------------------------------------------------------------- */

bool tooling_describe_call(struct actions *a, const struct place *place, struct str name,
                           struct json_writer *out, struct err *e)
{
    size_t head = sizeof "tools." - 1;
    const struct tool *t =
        tooling_find(a, place->vault, (struct str){name.at + head, name.n - head}, e);
    if (!t)
        return false;
    scoped_buf struct buf signature;
    buf_init(&signature, PARAMETERS_MAX);
    buf_printf(&signature, strchr(t->name, '-') ? "tools['%s']" : "tools.%s", t->name);
    tool_put_signature(t, &signature);
    json_open_object(out);
    json_pair_str(out, "signature", buf_view(&signature));
    tooling_describe(t, true, out);
    json_close(out);
    tool_release(actions_catalogue(a, e), t);
    return true;
}
