/* A tool's words, of what it is called with. */
#include "tools/internal.h"

bool command_make(const struct tool_stage *s, struct arena *a, struct command *out,
                  struct err *e)
{
    *out = (struct command){0};
    out->words = arena_get(a, (s->arg_count + 1) * sizeof *out->words, e);
    if (!out->words)
        return false;
    out->words[out->count++] = s->tool->name;
    for (size_t i = 0; i < s->arg_count; i++)
        out->words[out->count++] = s->args[i];
    return true;
}
