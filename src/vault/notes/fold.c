/* Folding of names, on the tables of libutf8proc. */
#include "notes/fold.h"

#include <utf8proc.h>

/* n bytes of UTF-8 become at most 2 n characters: U+0390 is two bytes, and three. */
#define CHARACTERS_MAX (2 * PATH_MAX)

static utf8proc_int32_t fold_char(utf8proc_int32_t c)
{
    utf8proc_int32_t full[4];
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char(c, full, 4, UTF8PROC_CASEFOLD, &boundary);
    return n == 1 ? full[0] : utf8proc_tolower(c);
}

static bool put_ascii(struct str name, struct buf *out)
{
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.at[i] >= 0x80)
            return false;
    for (size_t i = 0; i < name.n; i++)
        buf_char(out, char_lower(name.at[i]));
    return true;
}

void fold_put(struct str name, struct buf *out)
{
    utf8proc_int32_t characters[CHARACTERS_MAX];
    if (put_ascii(name, out))
        return;
    utf8proc_ssize_t n =
        name.n > PATH_MAX
            ? UTF8PROC_ERROR_OVERFLOW
            : utf8proc_decompose((const utf8proc_uint8_t *)name.at,
                                 (utf8proc_ssize_t)name.n, characters, CHARACTERS_MAX,
                                 UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    if (n < 0 || n > CHARACTERS_MAX) {
        buf_str(out, name);
        return;
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        utf8proc_uint8_t bytes[4];
        utf8proc_ssize_t size = utf8proc_encode_char(fold_char(characters[i]), bytes);
        buf_put(out, bytes, (size_t)size);
    }
}

struct str fold_key(struct str name, struct buf *out)
{
    buf_clear(out);
    fold_put(name, out);
    return buf_view(out);
}

bool fold_is(struct str name, struct str folded)
{
    size_t i = 0;
    while (i < name.n && i < folded.n && (unsigned char)name.at[i] < 0x80) {
        if (char_lower(name.at[i]) != folded.at[i])
            return false;
        i++;
    }
    if (i == name.n || (unsigned char)name.at[i] < 0x80)
        return i == name.n && i == folded.n;
    scoped_buf struct buf text = buf_of(FOLD_KEY_MAX);
    fold_put(name, &text);
    return str_eq(buf_view(&text), folded);
}
