/* trends/internal.h - for the tests of this room. Private to it. */
#pragma once
#include "trends/trends.h"

/* Counts a record of a call; others are ignored. `now_ms`: since 1970. */
void trends_add(struct trends *t, const struct json *record, int64_t now_ms);
