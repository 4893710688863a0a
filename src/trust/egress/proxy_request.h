/* egress/proxy_request.h - a request as a program says it to the proxy. Private to the room egress. */
#pragma once
#include "egress/internal.h"

#define PROXY_HEAD_MAX ((size_t)64 << 10)
#define PROXY_BODY_MAX ((size_t)4 << 20)

/* What comes on a connection, one request behind the other. */
struct proxy_input {
    /* As recv(): 0 or less is the end. */
    ssize_t (*read)(void *arg, void *to, size_t n);
    void *arg;
    size_t at, n; /* of `bytes`: what was read and not taken yet */
    char bytes[8192];
};
/* Waits for the first byte of another request. false: there is none. */
bool proxy_input_begins(struct proxy_input *in);

struct proxy_request {
    struct buf head, body;
    struct egress_header headers[EGRESS_HEADERS_MAX];
    struct egress_request q; /* borrows from the other members */
    int64_t length;          /* of the body; -1: none is said */
    bool chunked, expects, http10;
    bool keep;          /* another request may follow */
    const char *status; /* of a refusal, where its error's kind says less; else NULL */
};
void proxy_request_init(struct proxy_request *x);
void proxy_request_done(struct proxy_request *x);
/* Its head, and all that it says. false and ERR_INVALID or ERR_LIMIT: no more can be read. */
bool proxy_read_head(struct proxy_request *x, struct proxy_input *in, struct err *e);
/* Its body, decoded; behind a 100 (Continue), where that is expected. The same. */
bool proxy_read_body(struct proxy_request *x, struct proxy_input *in, struct err *e);
/* A Content-Length; *length is -1 before the first one. false: it is none, or another than before. */
bool proxy_read_length(struct str value, int64_t *length);
