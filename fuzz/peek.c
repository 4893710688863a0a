/* What a machine says on a connection, as it comes, a byte after another. The input: a byte, odd for
 * TLS and even for HTTP, then they. A name that is found is a text with an end; of HTTP all parts
 * are read one behind the other, and none is read beyond its end; the same bytes as an answer say the
 * same whatever pieces they come in. */
#include "driver.h"
#include "vm/follow.h"

static void holds_name(const char name[static PEEK_NAME], bool none)
{
    size_t length = strnlen(name, PEEK_NAME);
    holds(length < PEEK_NAME && (length > 0 || none));
}

/* One part from the beginning of `all`. How many bytes it has; 0: it is not whole, or refused. */
static size_t one_part(struct follow *f, struct str all)
{
    char name[PEEK_NAME];
    const char *why;
    size_t used = 0;
    enum peek found = PEEK_MORE;
    size_t most = all.n < PEEK_MAX ? all.n : PEEK_MAX;
    bool head = f->state == FOLLOW_HEAD;
    for (size_t n = 1; n <= most && found == PEEK_MORE; n++) {
        char *bytes = mem_new(n); /* of just that size: what is read behind it shows */
        memcpy(bytes, all.at, n);
        memset(name, 'x', sizeof name);
        found = follow_part(f, (struct str){bytes, n}, &used, name, &why);
        holds(found != PEEK_NOTHING || why);
        if (found == PEEK_FOUND) {
            holds_name(name, !head);
            holds(used == n && bytes[n - 1] == '\n');
            holds(!*name || memmem(bytes, n, name, strlen(name)));
        }
        free(bytes);
    }
    return found == PEEK_FOUND ? used : 0;
}

static void requests(struct str left)
{
    struct follow f = {0};
    while (left.n) {
        uint64_t body = follow_body(&f);
        size_t n = body < left.n ? (size_t)body : left.n;
        if (body)
            follow_passed(&f, n);
        else
            n = one_part(&f, left);
        if (!n)
            return;
        left = (struct str){left.at + n, left.n - n};
    }
}

/* Of a request that asks for another protocol. */
static void answers(struct str all)
{
    struct follow one = {.asks = true}, other = {.asks = true};
    enum peek found = PEEK_MORE, whole = follow_answer(&one, all);
    for (size_t i = 0; i < all.n && found == PEEK_MORE; i++)
        found = follow_answer(&other, (struct str){all.at + i, 1});
    holds(found == whole);
    holds(one.asks == (found == PEEK_MORE) && other.asks == one.asks);
    if (found == PEEK_FOUND)
        holds(memmem(all.at, all.n, "HTTP/1.1 101", 12) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[PEEK_NAME];
    enum peek found = PEEK_MORE;
    size_t most = size ? size - 1 : 0;
    most = most < PEEK_MAX ? most : PEEK_MAX;
    if (size && !(data[0] & 1))
        answers((struct str){(const char *)data + 1, most});
    if (size && !(data[0] & 1))
        requests((struct str){(const char *)data + 1, most});
    for (size_t n = 1; size && data[0] & 1 && n <= most && found == PEEK_MORE; n++) {
        char *bytes = mem_new(n);
        memcpy(bytes, data + 1, n);
        memset(name, 'x', sizeof name);
        found = peek_tls((struct str){bytes, n}, name);
        if (found == PEEK_FOUND)
            holds_name(name, false);
        free(bytes);
    }
    return 0;
}
