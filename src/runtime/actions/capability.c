#include "actions/capability.h"

#define ENTRY(name) &name##_capability,
const struct capability *const capabilities[] = {CAPABILITIES(ENTRY)};
const size_t capability_count = LENGTH(capabilities);

const struct action_group *action_group_after(unsigned order)
{
    const struct action_group *next = NULL;
    for (size_t i = 0; i < capability_count; i++)
        for (const struct action_group *const *g = capabilities[i]->actions; g && *g; g++)
            if ((*g)->order > order && (!next || (*g)->order < next->order))
                next = *g;
    return next;
}
