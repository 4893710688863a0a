/* connect/jsonc.h - edits of a JSON text with comments, as VS Code and Zed write it: one member
 * is set or removed, and every other byte stays as it is. Private to connect.
 */
#pragma once
#include "base/base.h"

/* The member at keys[0] . keys[1] ... of the text's object; the value is the text's. ok false
 * and ERR_INVALID: the text is no such JSON, or a value on the way is no object. A text of
 * spaces and comments alone counts as an empty object. Keys have no characters that JSON escapes. */
bool jsonc_get(struct str text, const char *const *keys, size_t depth, struct str *value,
               bool *there, struct err *e);
/* Appends the text with that member. Objects on the way are made. `value` is JSON; a line end
 * in it, and each tab behind one, are written as the text's own indentation. */
bool jsonc_set(struct str text, const char *const *keys, size_t depth, struct str value,
               struct buf *out, struct err *e);
/* Appends the text without it; as it is where there is none. */
bool jsonc_remove(struct str text, const char *const *keys, size_t depth, struct buf *out,
                  struct err *e);
