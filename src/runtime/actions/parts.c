/* What is installed beside the program. */
#include "actions/actions.h"
#include "actions/internal.h"
#include "calls/calls.h"

/* That of the capability of this number, where it is not there; NULL: nothing is missing. */
static const struct capability_part *missing(struct actions *a, size_t i)
{
    const struct capability_part *part = capability_list[i]->part;
    return part && !part->is_installed(a) ? part : NULL;
}

uint64_t parts_state(struct actions *a)
{
    uint64_t state = 0;
    for (size_t i = 0; i < capability_count; i++)
        state |= (uint64_t)(missing(a, i) != NULL) << i;
    return state;
}

bool parts_suffice(struct actions *a, const struct action_row *row)
{
    const struct host_call *call = row->needs ? host_call_named(row->needs) : NULL;
    const struct host_call_group *group = call ? host_call_group_of(call) : NULL;
    return !group || !group->is_installed || group->is_installed(a);
}

void parts_describe(struct actions *a, const char *description, struct buf *out)
{
    struct str rest = str_of(description);
    for (size_t i = 0; i < capability_count; i++) {
        const struct capability_part *part = missing(a, i);
        size_t n = part ? strlen(part->tells) : 0;
        const char *at = part ? memmem(rest.at, rest.n, part->tells, n) : NULL;
        if (!at)
            continue;
        buf_put(out, rest.at, (size_t)(at - rest.at));
        rest.n -= (size_t)(at - rest.at) + n;
        rest.at = at + n;
    }
    buf_str(out, rest);
}

void parts_put_missing(struct actions *a, struct json_writer *w)
{
    if (!parts_state(a))
        return;
    json_key(w, "notInstalled");
    json_open_object(w);
    for (size_t i = 0; i < capability_count; i++)
        if (missing(a, i))
            json_pair_cstr(w, missing(a, i)->name, missing(a, i)->how);
    json_close(w);
}
