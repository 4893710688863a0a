#include "capability/capability.h"

const struct action_group *action_group_after(unsigned order)
{
    const struct action_group *next = NULL;
    for (size_t i = 0; i < capability_count; i++)
        for (const struct action_group *const *g = capability_list[i]->actions; g && *g;
             g++)
            if ((*g)->order > order && (!next || (*g)->order < next->order))
                next = *g;
    return next;
}

size_t capability_number(const struct capability *c)
{
    size_t i = 0;
    must(capability_count <= CAPABILITIES_MAX);
    while (i < capability_count && capability_list[i] != c)
        i++;
    must(i < capability_count);
    return i;
}

void *capability_own(const struct actions *a, const struct capability *c)
{
    return a->own[capability_number(c)];
}

void capability_meant(struct actions *a, const struct place *place, unsigned vault,
                      struct str name, bool action, struct buf *out)
{
    struct capability_name asked = {.text = name, .action = action};
    for (; asked.how < MEANT_WAYS; asked.how++)
        for (size_t i = 0; i < capability_count && !out->n; i++)
            if (capability_list[i]->meant)
                capability_list[i]->meant(a, place, vault, &asked, out);
}

const struct action_family *capability_family(void)
{
    size_t i = 0;
    while (i < capability_count && !capability_list[i]->family)
        i++;
    return i < capability_count ? capability_list[i]->family : NULL;
}

const struct custom_code *capability_custom(void)
{
    size_t i = 0;
    while (i < capability_count && !capability_list[i]->custom)
        i++;
    return i < capability_count ? capability_list[i]->custom : NULL;
}

const struct tool_runner *capability_tool_runner(void)
{
    size_t i = 0;
    while (i < capability_count && !capability_list[i]->tool_runner)
        i++;
    return i < capability_count ? capability_list[i]->tool_runner : NULL;
}
