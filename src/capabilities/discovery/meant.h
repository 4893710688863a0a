/* discovery/meant.h - what is meant by the name of a tool that is not there. Private to
 * the room. */
#pragma once
#include "capability/capability.h"

capability_meant_fn meant_tell;
