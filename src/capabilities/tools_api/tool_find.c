/* Finds what is not listed: command-line tools, and rarely needed actions. */
#include "actions/actions.h"
#include "tools_api/tooling.h"

#define TEXTS_MAX ((size_t)64 << 10) /* of all parameters of one tool */
#define SHORT 160u                   /* bytes of a parameter's description */
#define TOLD 400u                    /* and of the tool's own */
#define MORE 20u                     /* names of further ones */

/* ---- results ------------------------------------------------------------------- */

static void tool_put_parameter(const struct tool_parameter *p, size_t most,
                               struct json_writer *w)
{
    json_key(w, p->name);
    json_open_object(w);
    json_pair_cstr(w, "type", tool_type_name(p->type));
    if (p->type == TOOL_ARRAY) {
        json_key(w, "items");
        json_open_object(w);
        json_pair_cstr(w, "type", tool_type_name(p->items));
        json_close(w);
    }
    json_pair_str(w, "description", str_cut(str_of(p->description), most));
    if (p->choices)
        json_pair(w, "enum", p->choices);
    if (p->default_value)
        json_pair(w, "default", p->default_value);
    json_close(w);
}

static void tool_put_parameters(const struct tool *t, size_t most, struct json_writer *w)
{
    bool any = false;
    json_key(w, "parameters");
    json_open_object(w);
    json_key(w, "properties");
    json_open_object(w);
    for (size_t i = 0; i < t->parameter_count; i++)
        tool_put_parameter(&t->parameters[i], most, w);
    json_close(w);
    for (size_t i = 0; i < t->parameter_count; i++) {
        if (!t->parameters[i].required)
            continue;
        if (!any) {
            json_key(w, "required");
            json_open_array(w);
        }
        any = true;
        json_put_cstr(w, t->parameters[i].name);
    }
    if (any)
        json_close(w);
    json_close(w);
}

static void put_if(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_pair_cstr(w, key, text);
}

void tooling_describe(const struct tool *t, bool whole, struct json_writer *out)
{
    const struct json *examples = json_get(t->manifest, "examples");
    json_pair_cstr(out, "name", t->name);
    json_pair_str(out, "description",
                  str_cut(str_of(t->description), whole ? SIZE_MAX : TOLD));
    json_pair_cstr(out, "category", t->category);
    json_pair_cstr(out, "fileAccess", tool_access_name(t->execution.access));
    if (whole) {
        json_pair_cstr(out, "version", t->version);
        json_pair_cstr(out, "source", t->builtin ? "builtin" : "user");
        put_if(out, "license", t->license);
        put_if(out, "homepage", t->homepage);
        put_if(out, "signer", t->signer);
        json_pair_cstr(out, "runtime",
                       t->command ? TOOL_RUNTIME_MACHINE : TOOL_RUNTIME_MODULE);
        json_pair_int(out, "timeout", t->execution.timeout_ms);
        json_pair_int(out, "memoryLimit", (int64_t)t->execution.memory_bytes);
        json_pair_cstr(out, "returns", t->returns_object ? "object" : "string");
    }
    tool_put_parameters(t, whole ? SIZE_MAX : SHORT, out);
    if (whole && examples)
        json_pair(out, "examples", examples);
    else if (json_at(examples, 0))
        json_pair(out, "example", json_at(examples, 0));
}

/* ---- search ----------------------------------------------------------------------- */

struct found {
    const struct tool *tool;     /* one of both */
    const struct action *action; /* that is not listed */
    double score;
};

static double worth_of_tool(const struct tool *t, struct str words)
{
    scoped_buf struct buf names, about;
    buf_init(&names, TEXTS_MAX);
    buf_init(&about, TEXTS_MAX);
    for (size_t i = 0; i < t->parameter_count; i++) {
        buf_printf(&names, "%s ", t->parameters[i].name);
        buf_printf(&about, "%s ", t->parameters[i].description);
    }
    const struct api_text texts[] = {{str_of(t->name), 10},
                                     {str_of(t->category), 5},
                                     {str_of(t->description), 5},
                                     {buf_view(&names), 3},
                                     {buf_view(&about), 1.5}};
    return api_worth(words, texts, LENGTH(texts));
}

static double worth_of_action(const struct action *a, struct str words)
{
    const struct api_text texts[] = {{str_of(a->name), 10},
                                     {str_of(a->title), 6},
                                     {str_of(a->description), 4},
                                     {str_of(a->input_schema), 1.5}};
    return api_worth(words, texts, LENGTH(texts));
}

/* A schema with line breaks is written on one line. */
static void put_schema(const char *text, struct json_writer *out)
{
    struct err none = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    json_pair(out, "parameters", json_read(str_of(text), arena, &none));
}

static void put_found(const struct found *f, struct json_writer *out)
{
    json_open_object(out);
    if (f->tool) {
        tooling_describe(f->tool, false, out);
    } else {
        json_pair_cstr(out, "name", f->action->name);
        json_pair_str(out, "description", str_cut(str_of(f->action->description), TOLD));
        json_pair_cstr(out, "category", "cloche");
        put_schema(f->action->input_schema, out);
    }
    json_close(out);
}

static size_t add_tools(const struct tool_list *l, const struct policy *policy,
                        struct str words, struct str category, struct found *all)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct tool *t = l->tools[i];
        if (tooling_offers(policy, t) && (!category.n || str_is(category, t->category)))
            all[n++] = (struct found){.tool = t, .score = worth_of_tool(t, words)};
    }
    return n;
}

static size_t add_actions(struct actions *a, struct str words, struct str category,
                          struct found *all)
{
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->rows[i].seldom && parts_installed(a, &a->rows[i]) &&
            (!category.n || str_is(category, "cloche")))
            all[n++] = (struct found){.action = &a->shown[i],
                                      .score = worth_of_action(&a->shown[i], words)};
    return n;
}

/* Writes the best first; those that score much lower than the best are left out. Names
 * only, where there is no room for more. */
static void put_best(struct found *all, size_t count, size_t max, struct json_writer *out)
{
    double least = API_FITS;
    json_key(out, "results");
    json_open_array(out);
    for (size_t n = 0; n < max + MORE; n++) {
        struct found *best = NULL;
        for (size_t i = 0; i < count; i++)
            if (!best || all[i].score > best->score)
                best = &all[i];
        if (!best || best->score < least)
            break;
        if (n == 0 && best->score > 3 * API_FITS)
            least = best->score / 3;
        if (n == max) {
            json_close(out);
            json_key(out, "more");
            json_open_array(out);
        }
        if (n < max)
            put_found(best, out);
        else
            json_put_cstr(out, best->tool ? best->tool->name : best->action->name);
        best->score = -1;
    }
    json_close(out);
}

bool tooling_found(struct actions *a, const struct place *place, struct str words,
                   struct str category, size_t max, struct json_writer *out,
                   struct err *e)
{
    struct tool_list list;
    if (!tooling_list(a, place->vault, &list, e))
        return false;
    struct found *all = mem_new((list.count + a->count + 1) * sizeof *all);
    size_t n = add_tools(&list, place->permit.policy, words, category, all);
    n += add_actions(a, words, category, all + n);
    put_best(all, n, max, out);
    parts_put_missing(a, out);
    free(all);
    tooling_list_release(a, &list);
    return true;
}
