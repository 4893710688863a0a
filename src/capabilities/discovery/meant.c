/* Names that agents know from elsewhere: of our own calls and actions, spelt otherwise. */
#include "discovery/meant.h"

#include <ctype.h>

#include "actions/actions.h"
#include "api/api.h"
#include "calls/calls.h"

static void put_feature(struct str name, struct buf *out)
{
    size_t count;
    const struct host_call_group *const *groups = host_call_groups(&count);
    for (size_t i = 0; i < count; i++) {
        const struct feature *f = groups[i]->feature;
        for (const char *const *p = f ? f->programs : NULL; p && *p; p++)
            if (str_is(name, *p))
                buf_printf(out, "%s does that in evaluate_note_code, with %s",
                           groups[i]->rows->row.name, f->option);
    }
}

/* "getNote", "get-note" and "get_notes" are get_note. */
static bool put_action(struct actions *a, struct str name, struct buf *out)
{
    char snake[64];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 2 < sizeof snake; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (isupper(c) && i)
            snake[n++] = '_';
        snake[n++] = c == '-' ? '_' : (char)tolower(c);
    }
    bool many = n > 1 && snake[n - 1] == 's';
    for (size_t i = 0; i <= many; i++, n--)
        if (action_named(a, (struct str){snake, n})) {
            buf_printf(out, "%.*s is its name", (int)n, snake);
            return true;
        }
    return false;
}

/* "delete_note" is notes.delete, which code calls. */
static void host_call_put(struct str name, struct buf *out)
{
    char plain[64], near[64];
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 1 < sizeof plain; i++)
        if (name.at[i] != '_' && name.at[i] != '-')
            plain[n++] = name.at[i];
    if (api_nearest((struct str){plain, n}, near) && strchr(near, '.') &&
        !host_call_named(near)->row.feature)
        buf_printf(out, "evaluate_note_code does that: await %s(...)", near);
}

void suggest_meant(struct actions *a, const struct place *place, unsigned vault,
                   const struct capability_name *name, struct buf *out)
{
    (void)place, (void)vault;
    struct str text = name->text;
    if (name->how == MEANT_OTHERWISE && !(name->action && put_action(a, text, out)))
        put_feature(text, out);
    if (name->how == MEANT_NEARLY && text.n &&
        (name->action || memchr(text.at, '_', text.n)))
        host_call_put(text, out);
}
