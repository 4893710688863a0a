/* Names of files in machines. */
#include "machines/machine_names.h"

#include "crypto/crypto.h"

/* Each byte that is no character on its own becomes U+FFFD. */
static void put_readable(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n;) {
        size_t n = 1;
        while (n < 4 && i + n < s.n && !str_is_utf8((struct str){s.at + i, n}))
            n++;
        bool fits = str_is_utf8((struct str){s.at + i, n});
        if (fits)
            buf_put(out, s.at + i, n);
        else
            buf_cstr(out, "\xef\xbf\xbd");
        i += fits ? n : 1;
    }
}

void machine_put_name(const char *key, const char *coded_key, struct str name,
                      struct json_writer *w)
{
    if (str_is_utf8(name)) {
        json_pair_str(w, key, name);
        return;
    }
    scoped_buf struct buf text = buf_of(3 * name.n + 8), coded = buf_of(2 * name.n + 8);
    put_readable(name, &text);
    (void)crypto_base64(name.at, name.n, &coded);
    json_pair_str(w, key, buf_view(&text));
    json_pair_str(w, coded_key, buf_view(&coded));
}

/* "../x" and the like are tar's to refuse; a folder is refused here. */
bool machine_file_name_check(struct str name, struct err *e)
{
    if (!name.n || name.at[name.n - 1] == '/' || memchr(name.at, 0, name.n))
        return err_set(e, ERR_INVALID,
                       "files has '%.*s', which is no name of a file; nothing ran",
                       STR_ARGS(str_cut(name, 60)));
    struct str rest = name;
    while (rest.n) {
        const char *slash = memchr(rest.at, '/', rest.n);
        struct str part = {rest.at, slash ? (size_t)(slash - rest.at) : rest.n};
        if (str_is(part, ".."))
            return err_set(
                e, ERR_INVALID,
                "files has '%.*s'; a name with \"..\" is not accepted; nothing "
                "ran",
                STR_ARGS(str_cut(name, 60)));
        rest = (struct str){rest.at + part.n + (slash != NULL),
                            rest.n - part.n - (slash != NULL)};
    }
    return true;
}
