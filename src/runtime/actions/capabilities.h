/* actions/capabilities.h - the one list of what there is. A capability NAME is the value
 * NAME_capability, in a source of its own. */
#pragma once

#define CAPABILITIES(CAPABILITY) \
    CAPABILITY(notes)            \
    CAPABILITY(code)             \
    CAPABILITY(vaults)           \
    CAPABILITY(fetch)            \
    CAPABILITY(files)            \
    CAPABILITY(discovery)        \
    CAPABILITY(tools)            \
    CAPABILITY(machines)         \
    CAPABILITY(functions)
