/* uri/uri.h - URIs in their parts (RFC 3986), and percent-encoding. Nothing is allocated, and
 * a part is told as it stands: not decoded, not normalised. What is connected to is read by
 * egress, as the library reads it that connects.
 */
#pragma once
#include "base/base.h"

struct uri {
    struct str scheme;     /* "https" */
    struct str origin;     /* "https://[::1]:8443" */
    struct str authority;  /* "[::1]:8443" */
    struct str host, port; /* "[::1]" and "8443"; port.at is NULL where no colon is */
    struct str rest;       /* path, query and fragment */
};
/* false: it has no "SCHEME://", or no host behind that, or a '@', which a reader may take for
 * the end of a user's name. */
bool uri_read(struct str text, struct uri *out);
bool uri_is_web(const struct uri *u); /* http or https? */
/* "HOST", "HOST:PORT", "[V6]" or "[V6]:PORT"; false: none of these. */
bool uri_read_authority(struct str text, struct str *host, struct str *port);

/* Appends it so that it may stand between any separators. */
void uri_escape(struct str text, struct buf *out);
#define URI_WRONG SIZE_MAX
/* Decodes to `out`, which has room for text.n bytes and may be where they stand; `form`: a '+' is a blank. Answers how many
 * bytes it came to, any bytes; URI_WRONG: a '%' without two hexadecimal digits. */
size_t uri_unescape(struct str text, bool form, char *out);
/* Appends it decoded. false: it cannot be, or comes to what is no UTF-8, or has NUL bytes. */
bool uri_decode(struct str text, bool form, struct buf *out);
