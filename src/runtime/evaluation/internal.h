/* evaluation/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

/* Whether the deadline of its calls is past. */
bool evaluation_is_past_deadline(void *v);
