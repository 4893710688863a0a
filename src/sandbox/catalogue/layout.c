#include "catalogue/layout.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "catalogue/plain.h"

#define END_SIGN 0x06054b50u
#define END_SIZE 22u
#define ENTRY_SIGN 0x02014b50u
#define ENTRY_SIZE 46u
#define HEADER_SIGN 0x04034b50u
#define HEADER_SIZE 30u
#define PATH_BYTES_MAX 1024u /* bytes */

/* General purpose flags. */
#define FLAG_ENCRYPTED 0x0001u
#define FLAG_LATER 0x0008u /* sizes stand behind the data */
#define FLAG_PATCH 0x0020u
#define FLAG_STRONG 0x0040u
#define FLAG_MASKED 0x2000u
#define DESCRIPTOR_MAX 24u /* with a sign, and sizes of 8 bytes */

#define METHOD_STORED 0u
#define METHOD_DEFLATED 8u

static uint32_t u16(struct str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.at + at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(struct str s, size_t at)
{
    return u16(s, at) | u16(s, at + 2) << 16;
}

static bool layout_damaged(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "not a ZIP archive that can be used: %s", why);
}

static bool entry_refuse(const struct layout_entry *n, struct err *e, const char *why)
{
    scoped_buf struct buf name = buf_of(BUF_LINE);
    if (str_is_utf8(n->name))
        plain_put(n->name, 120, &name);
    return err_set(e, ERR_INVALID, "the ZIP's entry '%s' %s", buf_cz(&name), why);
}

/* ---- the end, and the directory ----------------------------------------- */

struct directory {
    size_t from, to;
    uint32_t count;
};

/* The record must end where the ZIP does; a second one behind it, in its comment, would
 * be another archive for another reader. */
static bool layout_find_end(struct str zip, size_t *at, struct err *e)
{
    if (zip.n < END_SIZE)
        return layout_damaged(e, "it is too short");
    size_t furthest = zip.n - END_SIZE, least = furthest > 65535 ? furthest - 65535 : 0;
    for (*at = furthest;; --*at) {
        if (u32(zip, *at) == END_SIGN)
            break;
        if (*at == least)
            return layout_damaged(e, "it has no directory at its end");
    }
    if (*at + END_SIZE + u16(zip, *at + 20) != zip.n)
        return layout_damaged(e,
                              "there is data after its end, or its directory is cut off");
    return true;
}

static bool find_directory(struct str zip, struct directory *d, struct err *e)
{
    size_t end = 0;
    if (!layout_find_end(zip, &end, e))
        return false;
    uint32_t size = u32(zip, end + 12), from = u32(zip, end + 16);
    *d = (struct directory){from, end, u16(zip, end + 10)};
    if (u16(zip, end + 4) || u16(zip, end + 6) || u16(zip, end + 8) != d->count)
        return layout_damaged(e, "it is one of several volumes");
    if (size == UINT32_MAX || from == UINT32_MAX || d->count == UINT16_MAX)
        return layout_damaged(e,
                              "it is in the zip64 format, which its size does not need");
    if (from > end || size != end - from)
        return layout_damaged(
            e, "its directory is not where it should be, or there are two");
    if (d->count > LAYOUT_ENTRIES_MAX)
        return err_set(e, ERR_LIMIT, "ZIP contains too many files (max: %u)",
                       LAYOUT_FILES_MAX);
    return true;
}

/* ---- an entry ------------------------------------------------------------ */

static bool is_bad_path(struct str name)
{
    bool drive = name.n > 1 && name.at[1] == ':';
    if (!name.n || name.n > PATH_BYTES_MAX || name.at[0] == '/' || drive ||
        memmem(name.at, name.n, "..", 2))
        return true;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (c < ' ' || c == 0x7f || c == '\\')
            return true;
    }
    return false;
}

static bool entry_check_path(const struct layout_entry *n, struct err *e)
{
    scoped_buf struct buf name = buf_of(BUF_PAGE);
    if (!is_bad_path(n->name))
        return true;
    plain_put(str_is_utf8(n->name) ? n->name : STR("?"), 240, &name);
    return err_set(e, ERR_INVALID, "Invalid file path in ZIP: %s", buf_cz(&name));
}

static bool layout_check_kind(struct str entry, const struct layout_entry *n,
                              struct err *e)
{
    uint32_t flags = u16(entry, 8), method = u16(entry, 10);
    mode_t mode = (mode_t)(u32(entry, 38) >> 16);
    if (flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED))
        return entry_refuse(n, e, "is encrypted; a tool's package is not");
    if (S_ISLNK(mode))
        return entry_refuse(n, e, "is a symbolic link; files and folders are accepted");
    if ((mode & S_IFMT) && !S_ISREG(mode) && !S_ISDIR(mode))
        return entry_refuse(n, e,
                            "is not a regular file; files and folders are "
                            "accepted");
    if ((method != METHOD_STORED && method != METHOD_DEFLATED) || flags & FLAG_PATCH)
        return entry_refuse(n, e,
                            "is compressed in a way that is not known here; stored and "
                            "deflated ones are accepted");
    if (method == METHOD_STORED && n->packed != n->size)
        return entry_refuse(n, e, "is stored, and has two sizes");
    if (n->is_folder && n->size)
        return entry_refuse(n, e, "is a folder, and holds bytes");
    return true;
}

/* The file's own header must agree with the directory. */
static bool check_header(struct str zip, struct str entry, struct layout_entry *n,
                         size_t directory, struct err *e)
{
    if (n->from > directory || directory - n->from < HEADER_SIZE ||
        u32(zip, n->from) != HEADER_SIGN)
        return entry_refuse(n, e, "is not where the directory says");
    struct str header = {zip.at + n->from, HEADER_SIZE};
    size_t name = u16(header, 26), more = name + u16(header, 28);
    size_t left = directory - n->from - HEADER_SIZE;
    if (more > left || n->packed > left - more)
        return entry_refuse(n, e, "reaches beyond the end of the files");
    bool later = u16(header, 6) & FLAG_LATER;
    bool same = u16(header, 6) == u16(entry, 8) && u16(header, 8) == u16(entry, 10) &&
                str_eq((struct str){zip.at + n->from + HEADER_SIZE, name}, n->name);
    if (!later)
        same = same && u32(header, 14) == u32(entry, 16) &&
               u32(header, 18) == n->packed && u32(header, 22) == n->size;
    n->to = n->from + HEADER_SIZE + more + n->packed;
    return same ||
           entry_refuse(n, e, "has a local header that differs from its directory entry");
}

static bool layout_read_entry(struct str zip, const struct directory *d, size_t *at,
                              struct layout_entry *n, struct err *e)
{
    if (d->to - *at < ENTRY_SIZE || u32(zip, *at) != ENTRY_SIGN)
        return layout_damaged(e, "its directory is damaged");
    struct str entry = {zip.at + *at, ENTRY_SIZE};
    size_t name = u16(entry, 28), all = name + u16(entry, 30) + u16(entry, 32);
    if (d->to - *at - ENTRY_SIZE < all)
        return layout_damaged(e, "its directory is damaged");
    *n = (struct layout_entry){.name = {zip.at + *at + ENTRY_SIZE, name},
                               .packed = u32(entry, 20),
                               .size = u32(entry, 24),
                               .from = u32(entry, 42)};
    n->is_folder = name && n->name.at[name - 1] == '/';
    *at += ENTRY_SIZE + all;
    if (u16(entry, 34) || n->packed == UINT32_MAX || n->size == UINT32_MAX)
        return entry_refuse(n, e, "is in the zip64 format, which its size does not need");
    return entry_check_path(n, e) && layout_check_kind(entry, n, e) &&
           check_header(zip, entry, n, d->from, e);
}

/* ---- all of them together ------------------------------------------------ */

static int entries_by_place(const void *a, const void *b)
{
    const struct layout_entry *x = *(struct layout_entry *const *)a,
                              *y = *(struct layout_entry *const *)b;
    return (x->from > y->from) - (x->from < y->from);
}

/* They lie one behind the other, and nothing else lies between: bytes that two entries
 * share are how a small ZIP becomes a large one, and what lies between is for another
 * reader. */
static bool check_places(struct layout_entry **sorted, size_t count, size_t directory,
                         struct str zip, struct err *e)
{
    uint64_t end = 0;
    bool later = false;
    qsort(sorted, count, sizeof *sorted, entries_by_place);
    for (size_t i = 0; i <= count; i++) {
        uint64_t from = i < count ? sorted[i]->from : directory;
        if (from < end)
            return entry_refuse(sorted[i ? i - 1 : 0], e, "overlaps another");
        if (from - end > (later ? DESCRIPTOR_MAX : 0))
            return layout_damaged(e, "there is data between its files");
        if (i == count)
            break;
        end = sorted[i]->to;
        later = u16(zip, (size_t)from + 6) & FLAG_LATER;
    }
    return true;
}

static unsigned char char_folded(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

/* By case, too, and whether folder or file. */
static int entries_by_name(const void *a, const void *b)
{
    const struct layout_entry *x = *(struct layout_entry *const *)a,
                              *y = *(struct layout_entry *const *)b;
    size_t n = x->name.n - x->is_folder, m = y->name.n - y->is_folder;
    for (size_t i = 0; i < n && i < m; i++) {
        int order = char_folded((unsigned char)x->name.at[i]) -
                    char_folded((unsigned char)y->name.at[i]);
        if (order)
            return order;
    }
    return (n > m) - (n < m);
}

static bool layout_check_names(struct layout_entry **sorted, size_t count, struct err *e)
{
    qsort(sorted, count, sizeof *sorted, entries_by_name);
    for (size_t i = 1; i < count; i++)
        if (entries_by_name(&sorted[i - 1], &sorted[i]) == 0)
            return entry_refuse(sorted[i], e, "is there twice, or differs only in case");
    return true;
}

bool layout_read(struct str zip, struct arena *a, struct layout *out, struct err *e)
{
    struct directory d;
    if (!find_directory(zip, &d, e))
        return false;
    size_t files = 0, at = d.from;
    out->all = arena_get(a, (d.count + 1) * sizeof *out->all, e);
    struct layout_entry **sorted = arena_get(a, (d.count + 1) * sizeof *sorted, e);
    if (!out->all || !sorted)
        return false;
    for (out->count = 0; out->count < d.count; out->count++) {
        struct layout_entry *n = sorted[out->count] = &out->all[out->count];
        if (!layout_read_entry(zip, &d, &at, n, e))
            return false;
        files += !n->is_folder;
    }
    if (at != d.to)
        return layout_damaged(e, "its directory has more in it than it says");
    if (files > LAYOUT_FILES_MAX)
        return err_set(e, ERR_LIMIT, "ZIP contains too many files (max: %u)",
                       LAYOUT_FILES_MAX);
    return check_places(sorted, out->count, d.from, zip, e) &&
           layout_check_names(sorted, out->count, e);
}
