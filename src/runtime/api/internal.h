/* api/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

struct host_call;

/* One call as a section of the reference page, Markdown. */
void api_write_call(const struct host_call *c, struct buf *out);
/* The reference page, Markdown. */
void api_write_reference(struct buf *out);
