/* The first bytes of a machine's connection, as they come one after another. The input: a byte, odd
 * for TLS and even for HTTP, then they. A name that is found is a text with an end, of what was
 * there. */
#include "vm/peek.h"
#include "driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[PEEK_NAME];
    enum peek found = PEEK_MORE;
    bool tls = size && data[0] & 1;
    size_t most = size ? size - 1 : 0;
    most = most < PEEK_MAX ? most : PEEK_MAX;
    for (size_t n = 1; n <= most && found == PEEK_MORE; n++) {
        char *bytes = mem_new(n); /* of just that size: what is read behind it shows */
        memcpy(bytes, data + 1, n);
        memset(name, 'x', sizeof name);
        found = tls ? peek_tls((struct str){bytes, n}, name)
                    : peek_http((struct str){bytes, n}, name);
        if (found == PEEK_FOUND) {
            size_t length = strnlen(name, sizeof name);
            holds(length > 0 && length < sizeof name);
            holds(memmem(bytes, n, name, length) || tls); /* records may cut it */
        }
        free(bytes);
    }
    return 0;
}
