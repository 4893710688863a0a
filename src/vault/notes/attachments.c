/* attachments.list and attachments.read: files that are no notes, and which links embed them. */
#include <fcntl.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "notes/attached.h"
#include "notes/find.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/sight.h"
#include "notes/write.h"

struct attaching {
    struct vault *v;
    struct str folder, cursor;
    bool orphans;
    int64_t limit;
    struct attached files;
    int64_t *links; /* to each */
    struct buf rows;
};

/* ---- links to each --------------------------------------------------------- */

/* Names that mean no note, of links to files. */
static bool count_links(struct attaching *x, struct db *db, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT m.text, m.other, count(*) FROM broken b"
                 " CROSS JOIN names m ON m.key = b.name CROSS JOIN links l ON"
                 " l.name = m.key WHERE m.note IS NULL AND l.file = 1 GROUP BY m.key",
                 e);
    if (!q)
        return false;
    while (query_next(q, e)) {
        size_t i = attached_find(&x->files, query_str(q, 0), query_str(q, 1));
        if (i != ATTACHED_NONE)
            x->links[i] += query_int(q, 2);
    }
    return e->code == ERR_NONE;
}

/* ---- the list -------------------------------------------------------------- */

static bool is_wanted(const struct attaching *x, size_t i)
{
    struct str path = x->files.all[i].path;
    bool inside = !x->folder.n ||
                  (path.n > x->folder.n && !memcmp(path.at, x->folder.at, x->folder.n) &&
                   path.at[x->folder.n] == '/');
    return inside && !name_is_canvas(path) && (!x->orphans || !x->links[i]) &&
           (!x->cursor.n || str_cmp(path, x->cursor) > 0);
}

static bool attachments_work(struct db *db, void *arg, struct err *e)
{
    struct attaching *x = arg;
    buf_clear(&x->rows);
    if (!attached_read(&x->files, x->v, e))
        return false;
    x->links = arena_get(x->files.arena, (x->files.count + 1) * sizeof *x->links, e);
    if (!x->links || !count_links(x, db, e))
        return false;
    struct json_writer w = json_writer(&x->rows);
    json_open_array(&w);
    int64_t n = 0;
    for (size_t i = 0; i < x->files.count && n < x->limit; i++) {
        const struct attached_file *f = &x->files.all[i];
        if (!is_wanted(x, i))
            continue;
        n++;
        json_open_object(&w);
        json_pair_str(&w, "path", f->path);
        json_pair_int(&w, "size", (int64_t)f->st.size);
        json_pair_time(&w, "updated", f->st.mtime_ns / 1000000);
        json_pair_int(&w, "links", x->links[i]);
        json_close(&w);
    }
    json_close(&w);
    return true;
}

bool attachments_list(struct vault *v, const struct json *o, struct json_writer *out,
                      struct err *e)
{
    struct attaching x = {.v = v, .limit = ATTACHMENTS_LIST_LIMIT_USUAL};
    bool given;
    if (o && !json_is(o, JSON_NULL) &&
        (!options_check(o, "attachments.list", ATTACHMENTS_LIST_KEYS, e) ||
         !options_folder(o, &x.folder, &given, e) ||
         !options_bool(o, "orphans", &x.orphans, e) ||
         !options_str(o, "cursor", NULL, &x.cursor, e) ||
         !options_int(o, "limit", ATTACHMENTS_LIST_LIMIT, &x.limit, e)))
        return false;
    buf_init(&x.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, attachments_work, &x, &x.rows, out, e);
    buf_done(&x.rows);
    attached_done(&x.files);
    return ok;
}

/* ---- one ------------------------------------------------------------------- */

static const char *media_type(struct str path)
{
    static const char *const types[][2] = {
        {".png", "image/png"},         {".jpg", "image/jpeg"},
        {".jpeg", "image/jpeg"},       {".gif", "image/gif"},
        {".webp", "image/webp"},       {".svg", "image/svg+xml"},
        {".bmp", "image/bmp"},         {".avif", "image/avif"},
        {".pdf", "application/pdf"},   {".mp3", "audio/mpeg"},
        {".wav", "audio/wav"},         {".m4a", "audio/mp4"},
        {".ogg", "audio/ogg"},         {".flac", "audio/flac"},
        {".mp4", "video/mp4"},         {".webm", "video/webm"},
        {".csv", "text/csv"},          {".txt", "text/plain"},
        {".json", "application/json"}, {".canvas", "application/json"},
        {".html", "text/html"},        {".zip", "application/zip"},
    };
    for (size_t i = 0; i < LENGTH(types); i++) {
        size_t n = strlen(types[i][0]);
        if (path.n > n &&
            str_same((struct str){path.at + path.n - n, n}, str_of(types[i][0])))
            return types[i][1];
    }
    return "application/octet-stream";
}

/* The path that the caller names: itself, or as a link would. */
static bool attachment_find(struct vault *v, struct str wanted,
                            char path[static PATH_MAX], struct err *e)
{
    struct os_stat st;
    struct err none = {0};
    scoped_attached struct attached files = {0};
    if (name_is_file(wanted) && !name_is_path(wanted)) {
        (void)snprintf(path, PATH_MAX, "%.*s", STR_ARGS(wanted));
        if (os_stat_beneath(v->dir, path, &st, &none) && st.is_file)
            return true;
        if (!attached_read(&files, v, e))
            return false;
        size_t i = attached_find(&files, wanted, STR(""));
        if (i != ATTACHED_NONE) {
            (void)snprintf(path, PATH_MAX, "%.*s", STR_ARGS(files.all[i].path));
            return true;
        }
    }
    return err_set(e, ERR_NOT_FOUND,
                   "there is no attachment \"%.*s\"; attachments.list has their paths",
                   STR_ARGS(str_cut(wanted, 200)));
}

static bool put_attachment(const char *path, struct str bytes, bool as_text,
                           struct json_writer *out, struct err *e)
{
    char hash[HASH_SIZE];
    scoped_buf struct buf coded = buf_of(ATTACHMENT_READ_MAX * 2);
    if (as_text && !str_is_utf8(bytes))
        return err_set(e, ERR_INVALID,
                       "\"%.200s\" is no text (UTF-8); without as it comes in base64",
                       path);
    if (!as_text && !crypto_base64(bytes.at, bytes.n, &coded))
        return buf_check(&coded, "the attachment", e);
    note_hash(bytes, hash);
    json_open_object(out);
    json_pair_cstr(out, "path", path);
    json_pair_cstr(out, "media_type", media_type(str_of(path)));
    json_pair_int(out, "size", (int64_t)bytes.n);
    json_pair_cstr(out, "content_hash", hash);
    json_pair_str(out, as_text ? "text" : "base64", as_text ? bytes : buf_view(&coded));
    json_close(out);
    return buf_check(out->out, "the attachment", e);
}

bool attachments_read(struct vault *v, const struct json *o, struct json_writer *out,
                      struct err *e)
{
    struct str wanted = json_str(o), as = STR("");
    char path[PATH_MAX];
    if (json_is(o, JSON_OBJECT) &&
        (!options_check(o, "attachments.read", ATTACHMENTS_READ_KEYS, e) ||
         !options_str(o, "path", NULL, &wanted, e) ||
         !options_str(o, "as", NULL, &as, e)))
        return false;
    if (!wanted.n || (as.n && !str_is(as, "text") && !str_is(as, "base64")))
        return err_set(e, ERR_INVALID,
                       "attachments.read takes a path, or {path, as: 'base64' | 'text'}");
    if (sight_hides(v, SIGHT_NOTES)) /* a canvas has texts, too */
        return err_set(e, ERR_DENIED,
                       "attachments.read needs notes.get, which is not permitted");
    if (!vault_permits(v, "attachments.read", e) || !attachment_find(v, wanted, path, e))
        return false;
    scoped_fd int fd = os_open_beneath(
        v->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, e);
    struct os_stat st;
    if (fd < 0 || !os_stat_fd(fd, &st, e))
        return false;
    if (!st.is_file || st.size > ATTACHMENT_READ_MAX)
        return err_set(e, ERR_LIMIT,
                       "\"%.200s\" has %llu bytes; at most %u are read at once", path,
                       (unsigned long long)st.size, ATTACHMENT_READ_MAX);
    scoped_buf struct buf bytes = buf_of(ATTACHMENT_READ_MAX + 4096);
    if (!os_read_fd(fd, &bytes, e))
        return false;
    return put_attachment(path, buf_view(&bytes), str_is(as, "text"), out, e);
}
