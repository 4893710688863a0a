/* code/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "calls/calls.h"
#include "routes/routes.h"

extern const struct host_call_group utils_calls;
extern const struct route_group code_routes;
