/* pattern/internal.h - what tests see of the room. */
#pragma once
#include "pattern/pattern.h"

/* patterns_new() with an engine of its own, and the guest in a folder that it copies. */
struct patterns *patterns_new_alone(const char *guest_dir);
bool patterns_loaded(struct patterns *p); /* is the guest? */
