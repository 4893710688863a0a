/* discovery/discovery.h - finding what there is: api.search and api.describe, to code and
 * as actions, and what is meant by a name that is not there. */
#pragma once
#include "capability/capability.h"

extern const struct capability discovery_capability;
