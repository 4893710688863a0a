/* code/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "calls/calls.h"

extern const struct host_call_group utils_calls;
