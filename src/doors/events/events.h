/* events/events.h - one stream of events (text/event-stream) for all who listen: a thread
 * looks for what is new while somebody does, and sleeps while nobody does.
 *
 * Knows nothing of what the events say.
 * Threads: safe, except open and close.
 */
#pragma once
#include "base/base.h"
#include "http/http.h"

#define EVENTS_LISTENERS_MAX 64u

struct events;

/* Looks for what is new and says it (events_say()), on the thread of the stream. `begins`:
 * nobody listened before, so what there is by now is not new. */
typedef void events_look_fn(void *arg, struct events *ev, bool begins);

struct events *events_open(events_look_fn *look, void *arg, unsigned every_ms,
                           struct err *e);
/* NULL is fine; the server of its streams is closed. */
void events_close(struct events *ev);
SCOPED(events, events_close);

/* Makes the response a stream on which `hello` (JSON) is said first, from within work().
 * `who`: for events_leave(). false: the response says why. */
bool events_join(struct events *ev, struct http_request *rq, struct http_response *rs,
                 struct str who, struct str hello);
/* Ends the streams of `who`. */
void events_leave(struct events *ev, struct str who);

/* Sends an event to all who listen: its kind, a constant word, and data, JSON in one line. From
 * within the look alone; what one look says is sent together. */
void events_say(struct events *ev, const char *kind, struct str data);
