/* The certificates are not read as such: machines do that. What is checked is that they are
 * whole, so that a mistake in the file is told to the person and not to each program. */
#include "vm/certificates.h"

#include "crypto/crypto.h"
#include "os/os.h"

#define FILE_MAX ((size_t)4 << 20)
#define DER_SEQUENCE 0x30

static struct str next_line(struct str *text)
{
    const char *end = memchr(text->at, '\n', text->n);
    size_t n = end ? (size_t)(end - text->at) + 1 : text->n;
    struct str line = {text->at, n};
    *text = (struct str){text->at + n, text->n - n};
    return str_trim(line);
}

static bool is_certificate(struct str base64)
{
    struct err why = {0};
    scoped_buf struct buf der;
    buf_init(&der, FILE_MAX);
    return crypto_base64_read(base64, &der, &why) && der.n > 2 &&
           (unsigned char)der.at[0] == DER_SEQUENCE;
}

/* From behind its BEGIN line. */
static bool put_one(struct str *text, struct buf *out, struct err *e)
{
    scoped_buf struct buf base64;
    buf_init(&base64, FILE_MAX);
    buf_cstr(out, "-----BEGIN CERTIFICATE-----\n");
    while (text->n) {
        struct str line = next_line(text);
        buf_str(out, line);
        buf_cstr(out, "\n");
        if (str_is(line, "-----END CERTIFICATE-----"))
            return is_certificate(buf_view(&base64)) ||
                   err_set(e, ERR_INVALID, "a certificate is not valid");
        buf_str(&base64, line);
    }
    return err_set(e, ERR_INVALID, "the last certificate has no END line");
}

static bool put_all(struct str text, struct buf *out, struct err *e)
{
    unsigned count = 0;
    while (text.n) {
        if (!str_is(next_line(&text), "-----BEGIN CERTIFICATE-----"))
            continue;
        if (!put_one(&text, out, e))
            return false;
        count++;
    }
    if (!count)
        return err_set(e, ERR_INVALID, "it has no certificate in PEM");
    return buf_check(out, "its certificates", e);
}

bool certificates_read(int folder, struct buf *out, struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, FILE_MAX);
    bool read = os_read_file(folder, CERTIFICATES_FILE, &text, NULL, e);
    if (!read && e->code == ERR_NOT_FOUND) {
        *e = (struct err){0};
        return true;
    }
    return (read && put_all(buf_view(&text), out, e)) ||
           err_wrap(e, "%s in the configuration", CERTIFICATES_FILE);
}
