/* The page of `cloche serve`: opening what it shows, and the links that lead to it. */
#include "cli/person.h"

#include <stdio.h>

#include "actions/actions.h"
#include "approvals/approvals.h"
#include "calls/calls.h"
#include "catalogue/catalogue.h"
#include "desk/desk.h"
#include "embed/embed.h"
#include "guard/guard.h"
#include "services/services.h"
#include "uri/uri.h"

void person_open(struct person *p, struct cloche *c)
{
    struct err e = {0};
    struct guard_options options = host_call_guard_options();
    *p = (struct person){.guard = guard_open(&options), .approvals = approvals_open(&e)};
    p->guest_dir = p->approvals ? services_guest_dir(&e) : NULL;
    if (p->guest_dir)
        p->catalogue = catalogue_open(&(struct catalogue_options){
            .guest_dir = p->guest_dir, .taken = actions_name_taken});
    struct desk_options desk = {.guard = p->guard,
                                .approvals = p->approvals,
                                .catalogue = p->catalogue,
                                .actions = embed_actions(c)};
    if (p->catalogue)
        p->desk = desk_open(&desk, &e);
    if (!p->desk)
        log_line(LOG_WARN, "there is no page for approvals: %s%s", e.msg, ERR_ORIGIN(&e));
}

void person_close(struct person *p)
{
    desk_close(p->desk);
    catalogue_close(p->catalogue);
    approvals_close(p->approvals);
    guard_close(p->guard);
    free(p->guest_dir);
    *p = (struct person){0};
}

void person_greet(struct person *p, const char *url)
{
    struct err e = {0};
    char link[DESK_LINK_MAX];
    bool is_socket = !strncmp(url, "unix:", 5);
    /* Browsers know no sockets: what forwards to it has a port of its own. */
    const char *base = is_socket ? "http://localhost" : url;
    if (!p->desk)
        return;
    desk_listens(p->desk, base);
    if (desk_link(base, link, &e))
        fprintf(stderr,
                "cloche: approvals and tools, for you alone: %s (%sgood once, for %u "
                "minutes; 'cloche approvals link' makes another)\n",
                link, is_socket ? "with the port of what forwards to the socket; " : "",
                DESK_LINK_S / 60);
    else
        log_line(LOG_WARN, "no link to the page: %s%s", e.msg, ERR_ORIGIN(&e));
}

bool person_link(const char *url, struct err *e)
{
    char link[DESK_LINK_MAX];
    struct uri u;
    if (url && !(uri_read(str_of(url), &u) && uri_is_web(&u)))
        return err_set(e, ERR_INVALID,
                       "--url: '%.100s' is not a valid URL; for example "
                       "http://127.0.0.1:7878",
                       url);
    if (!desk_link(url, link, e))
        return false;
    printf("%s\n", link);
    return true;
}
