/* The policy of command-line tools: its keys, and whether a tool may be run. */
#include <stdio.h>

#include "caller/caller.h"
#include "catalogue/catalogue.h"
#include "guard/guard.h"
#include "policy/policy.h"
#include "programs/internal.h"
#include "json/json.h"

/* ---- its keys --------------------------------------------------------------- */

#define NAME_PATTERN "^[a-z][a-z0-9_-]{0,63}$"

bool tool_name_fits(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool letter = c >= 'a' && c <= 'z';
        if (!letter && (i == 0 || !(c == '-' || c == '_' || char_is_digit(c))))
            return false;
    }
    return name.n > 0 && name.n <= 64;
}

static bool check_name(struct str name, const struct json *v, struct err *e)
{
    (void)v;
    return tool_name_fits(name) ||
           err_set(e, ERR_INVALID,
                   "has '%.*s'; the name of a tool is accepted (small letters, digits, "
                   "'-' and '_')",
                   STR_ARGS(str_cut(name, 64)));
}

static bool check_entry(struct str name, const struct json *v, struct err *e)
{
    (void)name;
    return entry_check_text(v, "the name of a tool", e) && check_name(json_str(v), v, e);
}

static const struct key_shape by_name = {.what = "tools",
                                         .wanted =
                                             "an object {TOOL: always | ask | never}",
                                         .schema = NAME_PATTERN,
                                         .check = check_name},
                              names = {
                                  .schema =
                                      "{\"type\":\"string\",\"pattern\":\"" NAME_PATTERN
                                      "\"}",
                                  .check = check_entry};
static const char *const exposure_words[] = {"search", "listed", "all", NULL};

#define TOOLS(...) KEY(struct tools_policy, __VA_ARGS__)

static const struct key keys[] = {
    TOOLS(
        "tools.permissions", PERMISSIONS, ALSO, permissions, "{}",
        "{TOOL: 'always' | 'ask' | 'never'}: may an agent run it, and is a person asked "
        "before",
        .high = 1000, .words = permission_words + 1, .shape = &by_name, .order = 70),
    TOOLS(
        "tools.default", WORD, ALSO, usual, "\"usual\"",
        "the same for tools that are not named; usual: always for built-in ones in calls "
        "that show them no files, ask for all others",
        .words = permission_words),
    TOOLS("tools.exposure", WORD, LOWER, exposure, "\"search\"",
          "which tools MCP clients find in their list: all, those of tools.listed, or "
          "these and a search",
          .words = exposure_words),
    TOOLS("tools.listed", NAMES, EITHER, listed, "[]",
          "tools in that list, each callable whether it is there or not", .high = 64,
          .shape = &names),
    TOOLS("tools.disabled", NAMES, EITHER, disabled, "[]", "tools that are not there",
          .high = 1000, .shape = &names),
    TOOLS("tools.requireSignature", BOOL, HIGHER, require_signature, "false",
          "installed tools need the signature of a key that you trust"),
};
const struct policy_group tools_policy = POLICY_GROUP(keys, struct tools_policy);
_Static_assert(sizeof(enum exposure) == sizeof(uint32_t),
               "a word's number fits its enum");

struct action_exposure tools_exposure(const struct policy *p)
{
    const struct tools_policy *tools = policy_values(p, &tools_policy);
    return (struct action_exposure){tools->exposure, tools->listed};
}

/* ---- a tool ------------------------------------------------------------------- */

struct tool_files tool_files(const struct tool *t, bool sees)
{
    enum tool_access access = sees ? t->execution.access : TOOL_NO_FILES;
    return (struct tool_files){.reads = access == TOOL_READ || access == TOOL_READWRITE,
                               .writes =
                                   access == TOOL_WRITE || access == TOOL_READWRITE};
}

/* The permission that one of both files states; PERMISSION_USUAL: nothing. */
static enum permission word_of(const struct tools_policy *p, size_t which,
                               const char *name)
{
    const struct policy_permissions *list = &p->permissions[which];
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->at[i].name, name))
            return list->at[i].permission;
    return p->usual[which];
}

static bool lacks_signature(const struct tools_policy *p, const struct tool *t)
{
    return p->require_signature && !t->builtin && !t->signer;
}

static struct permit_use use_of(const struct tools_policy *p, const struct tool *t,
                                bool sees)
{
    struct tool_files files = tool_files(t, sees);
    bool harmless = t->builtin && !files.reads && !files.writes;
    return (struct permit_use){.name = t->name,
                               .words = {word_of(p, 0, t->name), word_of(p, 1, t->name)},
                               .usual = harmless ? PERMISSION_ALWAYS : PERMISSION_ASK,
                               .change = "cloche tool permit"};
}

/* Whoever may use no machine gets none by a tool. false: it is a module, and needs none. */
static bool machine_use(const struct policy *p, const struct tool *t,
                        struct permit_use *out)
{
    static const struct permit_use none = {
        .name = "the Linux machine",
        .usual = PERMISSION_NEVER,
        .need = {.name = "vm.exec", .least = LEVEL_FULL}};
    const struct tool_runner *runner = t->command ? capability_tool_runner() : NULL;
    *out = runner ? runner->use(p) : none;
    return t->command != NULL;
}

bool tool_asks_for_machine(const struct policy *p, const struct tool *t)
{
    struct permit_use machine;
    return machine_use(p, t, &machine) &&
           permission_for(&machine, NULL) != PERMISSION_ALWAYS;
}

/* The one that lets it do less. */
static enum permission stricter(enum permission a, enum permission b)
{
    bool never = a == PERMISSION_NEVER || b == PERMISSION_NEVER;
    bool ask = a == PERMISSION_ASK || b == PERMISSION_ASK;
    return never ? PERMISSION_NEVER : ask ? PERMISSION_ASK : PERMISSION_ALWAYS;
}

enum permission tool_permission(const struct policy *p, const struct tool *t, bool sees,
                                const char **from)
{
    struct permit_use use = use_of(policy_values(p, &tools_policy), t, sees), machine;
    const char *tool_from, *machine_from = NULL;
    enum permission word = permission_for(&use, &tool_from), both = word;
    if (machine_use(p, t, &machine))
        both = stricter(word, permission_for(&machine, &machine_from));
    if (from)
        *from = both == word ? tool_from : machine_from;
    return both;
}

bool permit_tool(const struct permit *p, const struct tool *t, bool sees,
                 enum permission *out, struct err *e)
{
    char call[sizeof "tools." + TOOL_NAME_MAX];
    const struct tools_policy *policy = policy_values(p->policy, &tools_policy);
    struct permit_use use = use_of(policy, t, sees);
    (void)snprintf(call, sizeof call, "tools.%s", t->name);
    use.need = (struct permit_need){.name = call,
                                    .least = LEVEL_FULL,
                                    .writes = tool_files(t, sees).writes && !p->read_only,
                                    .in_history = true};
    if (policy_names_have(&policy->disabled, t->name))
        use.refused = "is among the policy's tools.disabled";
    else if (lacks_signature(policy, t))
        use.refused = "is not signed by a key that the user trusts, which the policy's "
                      "tools.requireSignature demands";
    struct permit_use machine;
    enum permission also = PERMISSION_ALWAYS;
    if (!permit_run(p, &use, out, e) ||
        (machine_use(p->policy, t, &machine) && !permit_run(p, &machine, &also, e)))
        return false;
    *out = stricter(*out, also);
    return true;
}

struct tool_standing tool_standing(const struct policy *p, const struct tool *t)
{
    const struct tools_policy *tools = policy_values(p, &tools_policy);
    struct tool_standing s = {.is_disabled = policy_names_have(&tools->disabled, t->name),
                              .lacks_signature = lacks_signature(tools, t)};
    struct permit_use machine;
    if (machine_use(p, t, &machine))
        s.machine = permission_for(&machine, NULL);
    s.permission = tool_permission(p, t, true, &s.from);
    s.asks_for_files = s.permission == PERMISSION_ASK &&
                       tool_permission(p, t, false, NULL) == PERMISSION_ALWAYS;
    return s;
}
