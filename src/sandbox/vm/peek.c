/* TLS: nothing but the name is read. */
#include "vm/peek.h"

/* ---- TLS ------------------------------------------------------------------------ */

/* What is left of a message; a length that passes its end makes it `bad`. */
struct left {
    const unsigned char *at;
    size_t n;
    bool bad;
};

static struct left part(struct left *l, size_t n)
{
    if (l->bad || n > l->n) {
        l->bad = true;
        return (struct left){.bad = true};
    }
    struct left out = {l->at, n, false};
    l->at += n;
    l->n -= n;
    return out;
}

static size_t number(struct left *l, size_t bytes)
{
    size_t n = 0;
    struct left of = part(l, bytes);
    for (size_t i = 0; i < of.n; i++)
        n = n << 8 | of.at[i];
    return n;
}

static struct left vector(struct left *l, size_t bytes)
{
    size_t n = number(l, bytes);
    return part(l, n);
}

enum peek peek_take(const char *at, size_t n, char name[static PEEK_NAME])
{
    if (!n || n >= PEEK_NAME || memchr(at, 0, n))
        return PEEK_NOTHING;
    memcpy(name, at, n);
    name[n] = '\0';
    return PEEK_FOUND;
}

static enum peek read_hello(struct left hello, char name[static PEEK_NAME])
{
    (void)part(&hello, 2 + 32);
    (void)vector(&hello, 1);
    (void)vector(&hello, 2);
    (void)vector(&hello, 1);
    struct left extensions = vector(&hello, 2), found = {0};
    while (!extensions.bad && extensions.n) {
        size_t type = number(&extensions, 2);
        struct left body = vector(&extensions, 2);
        if (type == 0 && found.at)
            return PEEK_NOTHING;
        if (type == 0)
            found = body;
    }
    struct left list = vector(&found, 2);
    size_t kind = number(&list, 1);
    struct left host = vector(&list, 2);
    if (extensions.bad || host.bad || kind != 0 || list.n)
        return PEEK_NOTHING;
    return peek_take((const char *)host.at, host.n, name);
}

enum peek peek_tls(struct str bytes, char name[static PEEK_NAME])
{
    enum { HANDSHAKE = 22, CLIENT_HELLO = 1, RECORD_MAX = 16384 };
    unsigned char message[PEEK_MAX];
    size_t n = 0;
    struct left all = {(const unsigned char *)bytes.at, bytes.n, false};
    while (all.n >= 5) {
        if (all.at[0] != HANDSHAKE || all.at[1] != 3)
            return PEEK_NOTHING;
        size_t length = (size_t)all.at[3] << 8 | all.at[4];
        if (!length || length > RECORD_MAX)
            return PEEK_NOTHING;
        (void)part(&all, 5);
        size_t there = length < all.n ? length : all.n;
        memcpy(message + n, all.at, there); /* fewer than `bytes` has */
        n += there;
        (void)part(&all, there);
    }
    if (all.n && all.at[0] != HANDSHAKE)
        return PEEK_NOTHING;
    if (n && message[0] != CLIENT_HELLO)
        return PEEK_NOTHING;
    struct left hello = {message, n, false};
    (void)part(&hello, 1);
    struct left body = vector(&hello, 3);
    if (body.bad)
        return bytes.n < PEEK_MAX ? PEEK_MORE : PEEK_NOTHING;
    return read_hello(body, name);
}
