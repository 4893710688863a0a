/* rest/rest.h - the requests of routes/routes.h over HTTP.
 *
 * Carries method, target, media types, preconditions and body in, and status, headers and
 * body out; knows no route. All answers are the caller's alone ("Cache-Control: private,
 * no-cache"). Nothing is said to browsers of other origins: there is no CORS, and http
 * refuses what they send.
 * Source: docs/rest.md.
 */
#pragma once
#include "http/http.h"
#include "routes/routes.h"

#define REST_ROUTES ROUTE_ROOTS
/* Fills in routes of an HTTP server and answers how many; `a` is borrowed until that is
 * closed. What `admit` leaves there for a request must be its `const struct grant *`, or
 * NULL. */
size_t rest_routes(struct actions *a, struct http_route routes[static REST_ROUTES]);

/* Does a path of theirs begin with this part? */
bool rest_begins(struct str part);
/* Answers a request of theirs that came by another path: `below` is what stands before it in
 * the target. Who asks is known; its client is who hears of the answer. */
struct caller;
void rest_answer(struct actions *a, struct http_request *rq, const struct caller *who,
                 const char *below, struct http_response *rs);
