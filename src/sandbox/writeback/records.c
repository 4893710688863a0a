/* Changes as bytes: of a writing that is under way, and of those that are kept.
 *
 * A head, a row for each change, all paths with a NUL behind each, the contents of those that are
 * kept, and a hash over all of it. Numbers are this computer's own: no other reads them. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "writeback/internal.h"

#define MAGIC "clochewb"
#define VERSION 1u
#define PATHS_MAX ((size_t)64 << 20)
#define COUNT_MAX 65536u
#define HASH ((size_t)CRYPTO_HASH_HEX - 1)

enum { DOTS = 1, OWNER_ONLY = 2, LINKS = 4, CONTENTS = 8 };

struct head {
    char magic[8];
    uint32_t version, flags, count, paths_n;
    uint64_t folder;
    int64_t since_ns, made_ms;
};

struct row {
    uint32_t what, type, mode, was_mode;
    uint64_t bytes_n, staged;
    int64_t modified_ns;
    uint64_t unseen, was_inode, was_size;
    int64_t was_modified_ns, was_changed_ns;
};

int records_folder(struct err *e)
{
    return os_state_folder("changes", e);
}

bool record_is(const char *name, const char *ending)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits == WRITEBACK_ID - 1 && !strcmp(name + digits, ending);
}

void record_id(char id[static WRITEBACK_ID])
{
    unsigned char random[(WRITEBACK_ID - 1) / 2];
    os_random(random, sizeof random);
    hex_write(random, sizeof random, id);
}

/* ---- writing ---------------------------------------------------------------------- */

static struct row row_of(const struct vfs_change *c, uint64_t staged, bool contents)
{
    return (struct row){.what = c->what,
                        .type = c->type,
                        .mode = c->mode,
                        .was_mode = c->before.mode,
                        .bytes_n = contents ? c->bytes.n : 0,
                        .staged = staged,
                        .modified_ns = c->modified_ns,
                        .unseen = c->unseen,
                        .was_inode = c->before.inode,
                        .was_size = c->before.size,
                        .was_modified_ns = c->before.modified_ns,
                        .was_changed_ns = c->before.changed_ns};
}

static void put_paths(const struct writeback *w, const char *host, const char *place,
                      struct buf *out)
{
    buf_put(out, host, strlen(host) + 1);
    buf_put(out, place, strlen(place) + 1);
    for (size_t i = 0; i < w->count; i++) {
        buf_str(out, w->changes[i].path);
        buf_char(out, '\0');
    }
}

bool record_put(const struct writeback *w, const char *host, const char *place,
                const uint64_t *staged, struct buf *out, struct err *e)
{
    struct os_stat st;
    char hash[CRYPTO_HASH_HEX];
    scoped_buf struct buf paths = buf_of(PATHS_MAX);
    if (!os_stat_fd(w->dir, &st, e))
        return false;
    put_paths(w, host, place, &paths);
    if (!buf_check(&paths, "the changes", e))
        return false;
    struct head h = {.version = VERSION,
                     .flags = (w->dots ? DOTS : 0u) | (w->owner_only ? OWNER_ONLY : 0u) |
                              (w->links ? LINKS : 0u) | (staged ? 0u : CONTENTS),
                     .count = (uint32_t)w->count,
                     .paths_n = (uint32_t)paths.n,
                     .folder = st.inode,
                     .since_ns = w->since_ns,
                     .made_ms = os_real_ms()};
    memcpy(h.magic, MAGIC, sizeof h.magic);
    buf_put(out, &h, sizeof h);
    for (size_t i = 0; i < w->count; i++) {
        struct row r = row_of(&w->changes[i], staged ? staged[i] : 0, !staged);
        buf_put(out, &r, sizeof r);
    }
    buf_str(out, buf_view(&paths));
    for (size_t i = 0; !staged && i < w->count; i++)
        buf_str(out, w->changes[i].bytes);
    if (!buf_check(out, "the changes", e))
        return false;
    crypto_hash_hex(buf_view(out), hash);
    buf_put(out, hash, HASH);
    return buf_check(out, "the changes", e);
}

/* ---- reading ----------------------------------------------------------------------- */

static bool is_whole(struct str all)
{
    char hash[CRYPTO_HASH_HEX];
    if (all.n < sizeof(struct head) + HASH)
        return false;
    crypto_hash_hex((struct str){all.at, all.n - HASH}, hash);
    return memcmp(all.at + all.n - HASH, hash, HASH) == 0;
}

/* The next path; NULL: there is none. */
static const char *next_path(struct str *left)
{
    const char *end = left->n ? memchr(left->at, 0, left->n) : NULL;
    const char *at = left->at;
    if (!end)
        return NULL;
    left->n -= (size_t)(end + 1 - at);
    left->at = end + 1;
    return at;
}

static bool read_row(const struct row *r, const char *path, struct str *contents,
                     struct vfs_change *c)
{
    if (!path || !path_is_sound(str_of(path)) || r->what > VFS_REMOVED ||
        r->type > VFS_LINK || r->bytes_n > contents->n)
        return false;
    *c = (struct vfs_change){.what = (enum vfs_changed)r->what,
                             .type = (enum vfs_type)r->type,
                             .path = str_of(path),
                             .bytes = {contents->at, (size_t)r->bytes_n},
                             .modified_ns = r->modified_ns,
                             .mode = r->mode & 0777,
                             .unseen = r->unseen,
                             .before = {.type = (enum vfs_type)r->type,
                                        .mode = r->was_mode & 0777,
                                        .inode = r->was_inode,
                                        .size = r->was_size,
                                        .modified_ns = r->was_modified_ns,
                                        .changed_ns = r->was_changed_ns}};
    contents->at += r->bytes_n;
    contents->n -= (size_t)r->bytes_n;
    return true;
}

static bool read_rows(struct record *r, const struct head *h, struct str body,
                      struct err *e)
{
    size_t rows_n = h->count * sizeof(struct row);
    if (h->count > COUNT_MAX || body.n < rows_n || body.n - rows_n < h->paths_n)
        return false;
    struct str paths = {body.at + rows_n, h->paths_n};
    struct str contents = {paths.at + paths.n, body.n - rows_n - paths.n};
    r->changes = arena_get(r->arena, (h->count + 1) * sizeof *r->changes, e);
    r->staged = arena_get(r->arena, (h->count + 1) * sizeof *r->staged, e);
    r->host = next_path(&paths);
    r->place = next_path(&paths);
    if (!r->changes || !r->staged || !r->place)
        return false;
    for (size_t i = 0; i < h->count; i++) {
        struct row row;
        memcpy(&row, body.at + i * sizeof row, sizeof row);
        r->staged[i] = row.staged;
        if (!read_row(&row, next_path(&paths), &contents, &r->changes[i]))
            return false;
    }
    return true;
}

bool record_read(int records, const char *name, struct record *r, struct err *e)
{
    struct head h;
    *r = (struct record){.bytes = buf_of(WRITEBACK_KEPT_MAX + PATHS_MAX)};
    if (!os_read_file(records, name, &r->bytes, NULL, e))
        return false;
    struct str all = buf_view(&r->bytes);
    bool whole = is_whole(all);
    if (whole)
        memcpy(&h, all.at, sizeof h);
    r->arena = arena_new(PATHS_MAX);
    if (!whole || memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.version != VERSION ||
        !read_rows(r, &h, (struct str){all.at + sizeof h, all.n - sizeof h - HASH}, e))
        return err_set(e, ERR_INVALID, "the changes %.16s are damaged", name);
    r->folder = h.folder;
    r->made_ms = h.made_ms;
    r->of = (struct writeback){.dir = -1,
                               .dots = h.flags & DOTS,
                               .owner_only = h.flags & OWNER_ONLY,
                               .links = h.flags & LINKS,
                               .since_ns = h.since_ns,
                               .changes = r->changes,
                               .count = h.count};
    return true;
}

void record_done(struct record *r)
{
    buf_done(&r->bytes);
    arena_free(r->arena);
}
