#include "catalogue/signature.h"

#include "catalogue/plain.h"
#include "crypto/crypto.h"

#define FIRST_LINE "cloche tool signature 1\n"
#define KEY_PREFIX "ed25519:"
#define TEXT_MAX ((size_t)256 << 10)

/* ---- keys ---------------------------------------------------------------- */

bool signature_key_read(struct str text, unsigned char *key, struct err *e)
{
    struct err none = {0};
    scoped_buf struct buf bytes = buf_of(BUF_NAME);
    size_t prefix = strlen(KEY_PREFIX);
    bool ok = text.n == TOOL_KEY_TEXT - 1 && str_starts(text, KEY_PREFIX) &&
              crypto_base64url_read((struct str){text.at + prefix, text.n - prefix},
                                    &bytes, &none) &&
              bytes.n == CRYPTO_SIGN_PUBLIC;
    if (!ok)
        return err_set(e, ERR_INVALID,
                       "'%.*s' is not a public key; " KEY_PREFIX
                       " and 43 characters of base64url are accepted, as 'cloche tool "
                       "sign' prints them",
                       STR_ARGS(str_cut(text, 60)));
    memcpy(key, bytes.at, bytes.n);
    return true;
}

void signature_key_text(const unsigned char *key, char out[static TOOL_KEY_TEXT])
{
    scoped_buf struct buf text = buf_of(TOOL_KEY_TEXT);
    buf_cstr(&text, KEY_PREFIX);
    crypto_base64url(key, CRYPTO_SIGN_PUBLIC, &text);
    memcpy(out, buf_cz(&text), TOOL_KEY_TEXT);
}

/* ---- the signed text ----------------------------------------------------- */

static int files_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct package_file *)a)->name,
                   ((const struct package_file *)b)->name);
}

/* The other files, by name; the caller frees. */
static struct package_file *sorted(const struct package *p, size_t *count)
{
    struct package_file *all = mem_new((p->count + 1) * sizeof *all);
    *count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (!str_is(p->files[i].name, SIGNATURE_FILE))
            all[(*count)++] = p->files[i];
    qsort(all, *count, sizeof *all, files_by_name);
    return all;
}

static void files_put(const struct package_file *files, size_t count, struct buf *out)
{
    buf_cstr(out, FIRST_LINE);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%s  %.*s\n", files[i].sha256, STR_ARGS(files[i].name));
}

/* ---- checking ------------------------------------------------------------ */

static bool signature_unreadable(const char *why, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "the package's " SIGNATURE_FILE
                   " cannot be used (%s); sign it again, or leave it out",
                   why);
}

static bool signature_changed(struct str name, struct str said, const char *is,
                              struct err *e)
{
    scoped_buf struct buf shown = buf_of(BUF_LINE);
    plain_put(str_is_utf8(name) ? name : STR("?"), 60, &shown);
    return err_set(e, ERR_DENIED,
                   "the package was changed after it was signed: the SHA-256 of '%s' is "
                   "%s, and %.*s was signed",
                   buf_cz(&shown), is, STR_ARGS(str_cut(said, 64)));
}

static bool check_files(const struct package_file *files, size_t count,
                        const struct json *list, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        const struct json *own = json_get_str(list, files[i].name);
        struct str said = own ? json_str(own) : STR("no such file");
        if (!str_is(said, files[i].sha256))
            return signature_changed(files[i].name, said, files[i].sha256, e);
    }
    struct json_iter it = json_iter(list);
    while (json_length(list) != count && json_next(&it)) {
        bool found = false;
        for (size_t i = 0; i < count && !found; i++)
            found = str_eq(files[i].name, it.key);
        if (!found)
            return signature_changed(it.key, json_str(it.value),
                                     "of nothing, it is not there", e);
    }
    return true;
}

static bool check_signature(const struct json *file, const struct package_file *files,
                            size_t count, char key[static TOOL_KEY_TEXT], struct err *e)
{
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    struct str name = json_str(json_get(file, "key"));
    scoped_buf struct buf signature, text;
    buf_init(&signature, 2 * CRYPTO_SIGNATURE);
    buf_init(&text, TEXT_MAX);
    struct err why = {0};
    if (!signature_key_read(name, public, &why) ||
        !crypto_base64url_read(json_str(json_get(file, "signature")), &signature, &why) ||
        signature.n != CRYPTO_SIGNATURE)
        return signature_unreadable(why.code ? why.msg : "it holds no signature", e);
    files_put(files, count, &text);
    if (!buf_check(&text, "the list of signed files", e))
        return false;
    if (!crypto_signed(public, buf_view(&text), (const unsigned char *)signature.at)) {
        char hex[CRYPTO_SHA256_HEX];
        crypto_sha256_hex(buf_view(&text), hex);
        return err_set(e, ERR_DENIED,
                       "the package was changed after it was signed: its list of files "
                       "(SHA-256 %s) is not what the key %.*s signed",
                       hex, STR_ARGS(name));
    }
    signature_key_text(public, key);
    return true;
}

bool signature_check(const struct package *p, char key[static TOOL_KEY_TEXT],
                     struct err *e)
{
    key[0] = '\0';
    if (!p->signature.n)
        return true;
    struct err why = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *file = json_read(buf_view(&p->signature), a, &why);
    if (!file)
        return signature_unreadable(why.msg, e);
    if (json_int(json_get(file, "version"), 0) != 1 ||
        !str_is(json_str(json_get(file, "algorithm")), "ed25519") ||
        !json_is(json_get(file, "files"), JSON_OBJECT))
        return signature_unreadable(
            "version 1, algorithm \"ed25519\" and files are accepted", e);
    size_t count;
    scoped(free) struct package_file *files = sorted(p, &count);
    return check_files(files, count, json_get(file, "files"), e) &&
           check_signature(file, files, count, key, e);
}

/* ---- making -------------------------------------------------------------- */

bool signature_make(const struct package *p, const unsigned char *secret, struct buf *out,
                    struct err *e)
{
    unsigned char public[CRYPTO_SIGN_PUBLIC], made[CRYPTO_SIGNATURE];
    char key[TOOL_KEY_TEXT];
    size_t count;
    scoped(free) struct package_file *files = sorted(p, &count);
    scoped_buf struct buf text, shown;
    buf_init(&text, TEXT_MAX);
    buf_init(&shown, BUF_NAME);
    files_put(files, count, &text);
    crypto_sign_public(secret, public);
    crypto_sign_text(secret, buf_view(&text), made);
    crypto_base64url(made, sizeof made, &shown);
    signature_key_text(public, key);
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_int(&w, "version", 1);
    json_pair_cstr(&w, "algorithm", "ed25519");
    json_pair_cstr(&w, "key", key);
    json_key(&w, "files");
    json_open_object(&w);
    for (size_t i = 0; i < count; i++) {
        json_key_str(&w, files[i].name);
        json_put_cstr(&w, files[i].sha256);
    }
    json_close(&w);
    json_pair_str(&w, "signature", buf_view(&shown));
    json_close(&w);
    buf_char(out, '\n');
    return buf_check(&text, "the list of signed files", e) &&
           buf_check(out, SIGNATURE_FILE, e);
}
