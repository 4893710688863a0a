/* connect/newline.h - how the lines of a text end. Private to connect. */
#pragma once
#include "base/base.h"

/* "\r\n" where the first line ends so, else "\n". */
static inline struct str newline_of(struct str text)
{
    const char *at = text.n ? memchr(text.at, '\n', text.n) : NULL;
    return at && at > text.at && at[-1] == '\r' ? STR("\r\n") : STR("\n");
}
