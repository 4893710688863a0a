/* evaluation/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "base/base.h"

/* Is it past when its calls come to an end? */
bool evaluation_is_due(void *v);
