/* rest/rest.h - the requests of workspaces.h over HTTP: /workspaces, /tools, /vm and /openapi.json.
 *
 * Carries method, target, media types, preconditions and body in, and status, headers and
 * body out; knows no route. All answers are the caller's alone ("Cache-Control: private,
 * no-cache"). Nothing is said to browsers of other origins: there is no CORS, and http
 * refuses what they send.
 * Source: docs/rest.md.
 */
#pragma once
#include "http/http.h"
#include "workspaces/workspaces.h"

#define REST_ROUTES 4u
/* Fills in the routes of an HTTP server; `w` is borrowed until that is closed. What
 * `admit` leaves there for a request must be its `const struct grant *`, or NULL. */
void rest_routes(struct workspaces *w, struct http_route routes[static REST_ROUTES]);
