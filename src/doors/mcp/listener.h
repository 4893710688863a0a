/* mcp/listener.h - listeners as they are kept, for listener.c, which opens and ends them, and
 * changes.c, which marks and notifies them. All under the lock of the struct changes, unless
 * said otherwise. Private to these two.
 */
#pragma once
#include "mcp/core.h"

/* A resource that a listener follows. */
struct watch {
    struct watch *next;           /* of its listener */
    struct watch *before, *after; /* of its topic */
    struct listener *listener;
    struct topic *topic;
    bool pending;
    char uri[]; /* as the client calls it */
};

struct topic {
    struct topic *next; /* in its bucket */
    struct watch *first;
    uint64_t hash;
    char uri[]; /* canonical */
};

struct listener {
    struct changes *changes;
    struct listener *before, *after;
    struct listener *dirty_before, *dirty_after;
    struct listener **slot;
    char *id; /* of its request, as JSON; NULL: of the older era */
    struct session session;
    char principal[PRINCIPAL_MAX + 1];
    char **vaults; /* ids, ended by NULL; NULL: all */
    unsigned hears, pending;
    struct watch *watches;
    size_t follows;
    struct sink sink;
    struct beat beat;
    bool started, dirty, dead, beats;
};

/* Before a task's id, in the place of a uri: no uri begins so. */
#define TASK_MARK '\x01'

/* NULL: nobody follows it. */
struct topic *topic_find(const struct changes *c, struct str uri);
/* Marks those who follow it and may hear of that vault (NULL: of any). */
void topic_mark(const struct topic *t, const char *workspace);
/* The same of all topics whose uris begin so. */
void topics_mark_beneath(struct changes *c, struct str begin, const char *workspace);

bool listener_may_hear(const struct listener *l, const char *workspace);
/* Queues it to be notified, or takes it out of the queue. */
void listener_mark(struct listener *l);
void listener_unmark(struct listener *l);
/* Does nobody read what is sent to it, now or later? */
bool listener_is_lost(const struct listener *l);
/* It leaves, and is put before `list`, for listeners_finish(). */
void listener_leave_to(struct listener *l, struct listener **list);
/* Ends the sinks of those that have left, and frees them. Without the lock. */
void listeners_finish(struct listener *list);
void listener_finish(struct listener *l);

/* As listener_follow(). */
bool listener_follow_uri(struct listener *l, struct str uri, struct str canonical,
                         struct err *e);
/* NULL: it has none. */
struct listener *listener_of_session(struct changes *c, const struct session *session);
/* Sends to the streams that the listener's session listens on. */
bool listener_tell_session(void *listener, struct str message);
