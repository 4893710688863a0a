/* What is installed beside the program. */
#include <stdio.h>

#include "actions/actions.h"
#include "actions/internal.h"
#include "calls/calls.h"
#include "catalogue/catalogue.h"
#include "vm/vm.h"

struct actions_parts actions_parts(struct actions *a)
{
    struct err none = {0};
    const char *guests = services_guests(a->services, &none);
    scoped(free) char *image = NULL;
    if (!guests)
        return (struct actions_parts){0};
    must(asprintf(&image, "%s/../vm", guests) > 0);
    return (struct actions_parts){.tools = catalogue_is_filled(guests),
                                  .machine = vm_is_installed(image)};
}

bool parts_have_machine(const struct actions_parts *p)
{
    return p->machine;
}

bool parts_suffice(const struct actions_parts *p, const struct action_row *row)
{
    const struct host_call *call = row->needs ? host_call_named(row->needs) : NULL;
    const struct host_call_group *group = call ? host_call_group_of(call) : NULL;
    return !group || !group->is_installed || group->is_installed(p);
}

void parts_describe(const struct actions_parts *p, const char *description,
                    struct buf *out)
{
    struct str rest = str_of(description);
    const struct {
        bool there;
        const char *text;
    } fragments[] = {{p->tools, TELLS_OF_TOOLS}, {p->machine, TELLS_OF_MACHINE}};
    for (size_t i = 0; i < LENGTH(fragments); i++) {
        size_t n = strlen(fragments[i].text);
        const char *at =
            fragments[i].there ? NULL : memmem(rest.at, rest.n, fragments[i].text, n);
        if (!at)
            continue;
        buf_put(out, rest.at, (size_t)(at - rest.at));
        rest.n -= (size_t)(at - rest.at) + n;
        rest.at = at + n;
    }
    buf_str(out, rest);
}

void parts_put_missing(const struct actions_parts *p, struct json_writer *w)
{
    if (p->tools && p->machine)
        return;
    json_key(w, "notInstalled");
    json_open_object(w);
    if (!p->tools)
        json_pair_cstr(w, "command-line tools",
                       "a person adds them with 'make tools' in Cloche's own folder");
    if (!p->machine)
        json_pair_cstr(w, "Linux machine",
                       "a person adds it with 'make vm' in Cloche's own folder");
    json_close(w);
}
