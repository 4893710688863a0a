/* Optional parts: which are installed beside the program. */
#include "actions/actions.h"
#include "actions/internal.h"
#include "calls/calls.h"

/* The part of this capability if it is not installed, else NULL. */
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

bool parts_installed(struct actions *a, const struct action_row *row)
{
    const struct host_call *call = row->needs ? host_call_named(row->needs) : NULL;
    const struct host_call_group *group = call ? host_call_group_of(call) : NULL;
    return !group || !group->is_installed || group->is_installed(a);
}

const char *parts_compose(struct actions *a, const struct action_row *row, struct err *e)
{
    const char *whole = row->shown.description, *at = strstr(whole, row->parts_before);
    must(at);
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_put(&text, whole, (size_t)(at - whole));
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->part && capability_list[i]->part->tells)
            buf_cstr(&text, capability_list[i]->part->tells);
    buf_cstr(&text, at);
    return buf_check(&text, "a description", e) ? str_cz(buf_view(&text), a->schemas, e)
                                                : NULL;
}

void parts_describe(struct actions *a, const char *description, struct buf *out)
{
    struct str rest = str_of(description);
    for (size_t i = 0; i < capability_count; i++) {
        const struct capability_part *part = missing(a, i);
        size_t n = part && part->tells ? strlen(part->tells) : 0;
        const char *at = n ? memmem(rest.at, rest.n, part->tells, n) : NULL;
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

void actions_instruct(struct actions *a, struct buf *out)
{
    for (size_t i = 0; i < capability_count; i++) {
        const struct capability_part *part = capability_list[i]->part;
        if (part && part->instructs && part->is_installed(a))
            buf_cstr(out, part->instructs);
    }
}
