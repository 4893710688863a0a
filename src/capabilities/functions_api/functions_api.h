/* functions_api/functions_api.h - custom functions: to agents as actions
 * (register_custom_function ...), to code as customFunctions.*, to REST and to persons.
 * The room functions keeps them; here they are checked, tested, run and described. Threads:
 * safe. */
#pragma once
#include "capability/capability.h"

extern const struct capability functions_capability;
