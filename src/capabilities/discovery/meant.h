/* discovery/meant.h - suggestions for the unknown name of a tool. Private to the room. */
#pragma once
#include "capability/capability.h"

capability_meant_fn suggest_meant;
