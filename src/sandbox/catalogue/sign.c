/* Signing: the same ZIP, and a signature in it. */
#include <zip.h>

#include "catalogue/signature.h"
#include "crypto/crypto.h"

static bool zip_failed(struct err *e, zip_error_t *why, const char *doing)
{
    bool answer =
        err_set(e, ERR_IO, "cannot %s the ZIP: %.200s", doing, zip_error_strerror(why));
    zip_error_fini(why);
    return answer;
}

static bool zip_add_file(zip_t *z, const struct buf *text, struct err *e)
{
    zip_source_t *file = zip_source_buffer(z, text->at, text->n, 0);
    if (file &&
        zip_file_add(z, SIGNATURE_FILE, file, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8) >= 0)
        return true;
    zip_source_free(file);
    return err_set(e, ERR_IO, "cannot put the signature into the ZIP: %.200s",
                   zip_strerror(z));
}

/* Reads all that the source holds now. */
static bool read_source(zip_source_t *s, struct buf *out, struct err *e)
{
    if (zip_source_open(s) < 0)
        return err_set(e, ERR_IO, "cannot read the signed ZIP");
    bool ok = true;
    for (;;) {
        char part[65536];
        zip_int64_t got = zip_source_read(s, part, sizeof part);
        ok = got >= 0 && buf_put(out, part, (size_t)got);
        if (!ok || got == 0)
            break;
    }
    (void)zip_source_close(s);
    return ok || err_set(e, ERR_IO, "cannot read the signed ZIP");
}

static bool write_zip(struct str zip, const struct buf *signature, struct buf *out,
                      struct err *e)
{
    zip_error_t why;
    zip_error_init(&why);
    /* A copy that is the library's: what it has written to it frees, whatever it was told
     * (1.7.3). */
    void *copy = malloc(zip.n);
    if (!copy)
        return err_set(e, ERR_LIMIT, "there is no memory for the signed ZIP");
    memcpy(copy, zip.at, zip.n);
    zip_source_t *source = zip_source_buffer_create(copy, zip.n, 1, &why);
    if (!source) {
        free(copy);
        return zip_failed(e, &why, "open");
    }
    zip_source_keep(source);
    zip_t *z = zip_open_from_source(source, 0, &why);
    if (!z) {
        zip_source_free(source);
        zip_source_free(source);
        return zip_failed(e, &why, "open");
    }
    zip_error_fini(&why);
    bool ok = zip_add_file(z, signature, e);
    if (ok && zip_close(z) < 0) {
        ok = err_set(e, ERR_IO, "cannot write the ZIP: %.200s", zip_strerror(z));
        zip_discard(z);
    } else if (!ok) {
        zip_discard(z);
    }
    ok = ok && read_source(source, out, e);
    zip_source_free(source);
    return ok;
}

bool tool_sign(struct str zip, const unsigned char *secret, struct buf *out,
               char key[static TOOL_KEY_TEXT], struct err *e)
{
    struct package p;
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    scoped_buf struct buf signature = buf_of(SIGNATURE_MAX);
    crypto_sign_public(secret, public);
    signature_key_text(public, key);
    bool ok = package_read(zip, &p, e);
    for (size_t i = 0; ok && i < p.count; i++)
        if (!str_is_utf8(p.files[i].name))
            ok = err_set(e, ERR_INVALID,
                         "a name in the ZIP is not UTF-8, which a signed "
                         "package needs");
    ok = ok && signature_make(&p, secret, &signature, e);
    package_done(&p);
    return ok && write_zip(zip, &signature, out, e);
}
