#include "catalogue/plain.h"

/* Controls of both sets, joiners and marks of direction, line ends, the byte order mark,
 * tags. */
static bool is_hidden(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < LENGTH(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

void plain_put(struct str s, size_t max, struct buf *out)
{
    s = str_cut(s, max);
    for (const char *at = s.at, *end = s.at + s.n; at < end;) {
        const char *from = at;
        if (is_hidden(str_next_char(&at, end)))
            buf_char(out, '?');
        else
            buf_put(out, from, (size_t)(at - from));
    }
}
