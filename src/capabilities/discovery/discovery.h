/* discovery/discovery.h - discovery of the API: api.search and api.describe, in code and
 * as actions, and suggestions for unknown names. */
#pragma once
#include "capability/capability.h"

extern const struct capability discovery_capability;
