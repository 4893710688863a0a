/* vm/follow.h - the requests of a connection of HTTP/1, one after the other: each names its server by
 * Host, and what belongs to its body is known. Private to the room vm. Threads: safe. */
#pragma once
#include "vm/peek.h"

/* Of zeros: the first request begins. */
struct follow {
    enum {
        FOLLOW_HEAD,
        FOLLOW_BODY,
        FOLLOW_SIZE, /* of a chunk: a line */
        FOLLOW_CHUNK,
        FOLLOW_CHUNK_END,
        FOLLOW_TRAILER, /* a line behind the last chunk */
    } state;
    uint64_t left; /* bytes of a body, or a chunk */
    bool used;     /* there was a request */
    /* The last request asks for another protocol (Upgrade): behind it nothing can be followed until
     * its answer is known. */
    bool asks;
    struct {
        uint8_t at, end; /* bytes of `first`; of CR LF CR LF behind it */
        char first[13];  /* of a status line */
    } answer;
};

/* What the server answers, from the first byte on, while the request asks. PEEK_FOUND: it speaks the
 * other protocol from then on. PEEK_NOTHING: it does not, and requests are followed as before. */
enum peek follow_answer(struct follow *f, struct str bytes);

/* So many bytes come that belong to a body, whatever they are. 0: a part comes. */
uint64_t follow_body(const struct follow *f);
void follow_passed(struct follow *f, uint64_t n); /* so many of them have come */
/* `bytes` are all so far of a part that is read as a whole, at most PEEK_MAX: a head, or a line.
 * PEEK_FOUND: it has *used bytes, and of a head `name` is the Host, without its port, and any bytes
 * but NUL; else "". PEEK_NOTHING: *why (a constant) says why it cannot be followed. */
enum peek follow_part(struct follow *f, struct str bytes, size_t *used,
                      char name[static PEEK_NAME], const char **why);
