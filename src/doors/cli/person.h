/* cli/person.h - the page of `cloche serve`, and what it stands on. Private to cli. */
#pragma once
#include "desk/desk.h"

struct catalogue;

struct person {
    struct guard *guard;
    struct approvals *approvals;
    struct catalogue *catalogue;
    char *guest_dir;
    struct desk *desk; /* NULL: there is no page, and the log said why */
};
struct cloche;
/* Never fails: where there is no folder for it, a server serves without a page. */
void person_open(struct person *p, struct cloche *c);
void person_close(struct person *p); /* its server is closed */
/* Prints a link to the page on stderr, once the server listens. */
void person_greet(struct person *p, const char *url);

/* cloche approvals link: prints one. */
bool person_link(const char *url, struct err *e);
