/* Reading a chain: its lines, those that come, and whether all are as
 * they were written. The files may hold anything. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/chain.h"
#include "os/os.h"

#define PIECE ((size_t)64 << 10)

/* ---- lines -------------------------------------------------------------- */

void records_init(struct records *l, int fd, uint64_t offset)
{
    *l = (struct records){.fd = fd, .offset = offset};
    buf_init(&l->buf, AUDIT_RECORD_MAX + 2 * PIECE);
}

void records_done(struct records *l)
{
    buf_done(&l->buf);
}

/* Puts what is left to the front and reads on. */
static void records_fill(struct records *l)
{
    size_t left = l->buf.n - l->used;
    if (l->used)
        memmove(l->buf.at, l->buf.at + l->used, left);
    l->buf.n = left;
    l->used = 0;
    char *room = buf_room(&l->buf, PIECE);
    ssize_t n = room ? pread(l->fd, room, PIECE, (off_t)(l->offset + left)) : -1;
    l->failed |= n < 0;
    l->ended |= n <= 0;
    if (n > 0)
        l->buf.n += (size_t)n;
}

bool records_next(struct records *l, struct str *line, bool *whole)
{
    for (;;) {
        const char *at = l->buf.at ? l->buf.at + l->used : "";
        size_t left = l->buf.n - l->used;
        const char *end = memchr(at, '\n', left);
        /* A file of nothing but a hole, however large, ends here as well. */
        l->too_long |= (end ? (size_t)(end - at) : left) > AUDIT_RECORD_MAX;
        if (l->too_long)
            return false;
        if (!end && !l->ended) {
            records_fill(l);
            continue;
        }
        if (!end && left == 0)
            return false;
        *whole = end != NULL;
        *line = (struct str){at, end ? (size_t)(end - at) : left};
        size_t step = line->n + *whole;
        l->used += step;
        l->offset += step;
        return true;
    }
}

int chain_open_file(const struct chain *c, uint32_t file)
{
    struct err none = {0};
    char name[FILE_NAME_MAX];
    chain_file_name(c, file, name);
    return os_open_beneath(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &none);
}

/* ---- lines of files ----------------------------------------------------- */

void chain_note_odd(const struct chain *c, uint32_t file, struct err *odd)
{
    char name[FILE_NAME_MAX];
    chain_file_name(c, file, name);
    if (!odd->code)
        err_set(odd, ERR_LIMIT,
                "%s/%s has a line longer than %zu bytes, which is not a record; the "
                "rest of the file was skipped",
                c->folder, name, AUDIT_RECORD_MAX);
}

/* The lines of one file from `offset` on; where it ended. */
static bool give_lines(const struct chain *c, uint32_t file, uint64_t *offset,
                       trail_line_fn *each, void *arg, struct err *odd, struct err *e)
{
    scoped_fd int fd = chain_open_file(c, file);
    struct records l;
    struct str line;
    bool whole, ok = true;
    records_init(&l, fd, *offset);
    while (ok && fd >= 0 && records_next(&l, &line, &whole)) {
        if (!whole)
            continue;
        ok = each(arg, line, e);
        *offset = l.offset;
    }
    if (l.too_long)
        chain_note_odd(c, file, odd);
    records_done(&l);
    return ok;
}

bool chain_file_lines(const struct chain *c, uint32_t file, trail_line_fn *each,
                      void *arg, struct err *odd, struct err *e)
{
    uint64_t offset = 0;
    return give_lines(c, file, &offset, each, arg, odd, e);
}

bool chain_lines(const struct chain *c, trail_line_fn *each, void *arg, struct err *odd,
                 struct err *e)
{
    scoped_file_list struct file_list files = {0};
    if (!chain_list(c, &files, e))
        return false;
    for (size_t i = 0; i < files.count; i++)
        if (!chain_file_lines(c, files.at[i], each, arg, odd, e))
            return false;
    return true;
}

bool chain_follow(const struct chain *c, uint32_t *file, uint64_t *offset, bool begun,
                  trail_line_fn *each, void *arg, struct err *odd, struct err *e)
{
    scoped_file_list struct file_list files = {0};
    struct os_stat st;
    if (!chain_list(c, &files, e))
        return false;
    if (!begun) {
        uint32_t last = files.count ? files.at[files.count - 1] : 0;
        scoped_fd int fd = last ? chain_open_file(c, last) : -1;
        *file = last;
        *offset = fd >= 0 && os_stat_fd(fd, &st, e) ? st.size : 0;
        return !e->code;
    }
    for (;;) {
        if (*file && !give_lines(c, *file, offset, each, arg, odd, e))
            return false;
        uint32_t next = file_list_from(&files, *file + 1);
        if (!next)
            return true;
        *file = next;
        *offset = 0;
    }
}

/* ---- verifying ---------------------------------------------------------- */

struct check {
    const struct chain *chain;
    const struct head *head;
    uint64_t count, records; /* the last number; how many were read */
    char mac[MAC_HEX];
    bool knows_mac; /* else a file's first record has to say what came before it */
    bool is_bad;
    uint64_t bad_record, line;
    uint32_t bad_file, file;
    uint64_t bad_line;
    char why[120];
};

static void found_bad(struct check *k, uint64_t record, const char *why)
{
    if (k->is_bad)
        return;
    k->is_bad = true;
    k->bad_record = record;
    k->bad_file = k->file;
    k->bad_line = k->line;
    (void)snprintf(k->why, sizeof k->why, "%s", why);
}

/* The number that a record states: its bytes begin with {"n":NUMBER, ... */
static uint64_t file_number(struct str body)
{
    char text[32];
    if (!str_starts(body, "{\"n\":"))
        return 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)(body.n < 31 ? body.n : 31), body.at);
    return strtoull(text + 5, NULL, 10);
}

/* The first record of a file whose predecessors are gone states their last MAC. */
static void take_previous(struct check *k, struct str body)
{
    static const char key[] = "\"previous\":\"";
    const char *at = memmem(body.at, body.n, key, sizeof key - 1);
    if (!at || (size_t)(body.at + body.n - at) < sizeof key - 1 + MAC_HEX - 1)
        return;
    memcpy(k->mac, at + sizeof key - 1, MAC_HEX - 1);
    k->mac[MAC_HEX - 1] = '\0';
}

static void record_check_line(struct check *k, struct str line, bool whole)
{
    struct str body, stated;
    char mac[MAC_HEX];
    k->line++;
    /* Behind the last acknowledged one: left by a process that was killed. */
    if (!whole && k->file == k->head->file && k->count >= k->head->count)
        return;
    if (!whole || !chain_split(line, &body, &stated)) {
        found_bad(k, k->count + 1,
                  whole ? "this line is not a record" : "this record is cut off");
        return;
    }
    uint64_t n = file_number(body);
    if (!k->knows_mac && n) {
        take_previous(k, body);
        k->knows_mac = true;
        k->count = n - 1;
    }
    chain_mac(k->chain, k->mac, body, mac);
    if (!str_is(stated, mac)) {
        found_bad(k, n == k->count + 1 ? n : k->count + 1,
                  "its MAC does not fit: it was changed, or what stood before it was");
        /* The following records may still match this one's stated MAC. */
        memcpy(mac, stated.at, MAC_HEX - 1);
    } else if (n != k->count + 1) {
        found_bad(k, k->count + 1, "its number is not the next one");
    }
    memcpy(k->mac, mac, MAC_HEX - 1);
    k->count = n > k->count ? n : k->count + 1;
    k->records++;
}

static void audit_check_file(struct check *k, uint32_t file)
{
    scoped_fd int fd = chain_open_file(k->chain, file);
    struct records l;
    struct str line;
    bool whole;
    k->file = file;
    k->line = 0;
    if (fd < 0) {
        k->line = 1;
        found_bad(k, k->count + 1, "this file of the trail is not there");
        k->knows_mac = false;
        return;
    }
    records_init(&l, fd, 0);
    while (records_next(&l, &line, &whole))
        record_check_line(k, line, whole);
    k->line += l.too_long;
    if (l.too_long)
        found_bad(k, k->count + 1,
                  "this line is longer than any record, and the rest was not read");
    if (l.failed)
        found_bad(k, k->count + 1, "this file cannot be read");
    records_done(&l);
}

static void put_bad(const struct check *k, struct json_writer *out)
{
    char name[FILE_NAME_MAX];
    chain_file_name(k->chain, k->bad_file, name);
    json_key(out, "bad");
    json_open_object(out);
    json_pair_int(out, "record", (int64_t)k->bad_record);
    json_pair_cstr(out, "file", name);
    json_pair_int(out, "line", (int64_t)k->bad_line);
    json_pair_cstr(out, "why", k->why);
    json_close(out);
}

static void put_missing(uint64_t from, uint64_t to, const char *why,
                        struct json_writer *out)
{
    json_key(out, "missing");
    json_open_object(out);
    json_pair_int(out, "from", (int64_t)from);
    json_pair_int(out, "to", (int64_t)to);
    json_pair_cstr(out, "why", why);
    json_close(out);
}

/* Compares the end that was reached with the one that was noted; true: it is that. */
static bool put_end(const struct check *k, const struct head *head, bool damaged,
                    struct json_writer *out)
{
    /* A process that died had made its first file, and not yet noted it. */
    bool unborn = k->chain->head_fd >= 0 && k->records <= 1 && !k->is_bad;
    if (damaged || (head->file == 0 && k->records && !unborn)) {
        json_pair_cstr(out, "note",
                       damaged ? "where this trail ended was noted, but cannot be read"
                               : "no end was noted for it here: it came from elsewhere, "
                                 "or the note was removed");
        return false;
    }
    if (k->count < head->count) {
        put_missing(k->count + 1, head->count,
                    "the end is missing: it was cut off, or lost in a power failure",
                    out);
        return false;
    }
    if (k->count == head->count && strcmp(k->mac, head->mac) != 0 && !k->is_bad) {
        put_missing(k->count, head->count,
                    "the last record is not the one that was noted", out);
        return false;
    }
    return true;
}

/* Skips a run of missing files: one finding is enough. */
static uint32_t next_to_check(const struct file_list *files, uint32_t file)
{
    uint32_t next = file_list_from(files, file + 1);
    if (file_list_from(files, file) == file)
        return file + 1;
    return next ? next : UINT32_MAX;
}

bool chain_verify(struct chain *c, struct json_writer *out, bool *sound, struct err *e)
{
    struct head head;
    struct check k = {.chain = c, .head = &head, .knows_mac = true};
    scoped_file_list struct file_list files = {0};
    bool damaged;
    chain_first_mac(k.mac);
    /* The head first: what is appended meanwhile is more than it says, never less. */
    if (!chain_read_head(c, &head, &damaged, e) ||
        (c->dir >= 0 && !chain_list(c, &files, e)))
        return false;
    uint32_t first = files.count ? files.at[0] : 0;
    uint32_t last = files.count ? files.at[files.count - 1] : 0;
    if (first == 0 && head.file == 0 && !damaged)
        return true;
    /* Without a head: whatever is there. */
    uint32_t from = head.file ? head.first : first, to = head.file ? head.file : last;
    struct base base;
    if (!chain_read_base(c, &base, e))
        return false;
    if (base.first > from) {
        from = base.first;
        k.count = base.count;
        memcpy(k.mac, base.mac, sizeof k.mac);
    }
    for (uint32_t file = from; file && file <= to && file <= FILE_MAX;
         file = next_to_check(&files, file))
        audit_check_file(&k, file);
    json_open_object(out);
    json_pair_cstr(out, "folder", c->folder);
    if (c->lane)
        json_pair_int(out, "lane", c->lane);
    json_pair_int(out, "records", (int64_t)k.records);
    if (base.first)
        json_pair_int(out, "exported_to", (int64_t)base.count);
    if (head.file && first && first < head.first)
        json_pair_cstr(out, "before",
                       "files with lower numbers are of another trail, as "
                       "of a vault that was moved; they are not checked");
    if (k.is_bad)
        put_bad(&k, out);
    bool whole = put_end(&k, &head, damaged, out);
    json_pair_bool(out, "ok", whole && !k.is_bad);
    json_close(out);
    *sound = *sound && whole && !k.is_bad;
    return true;
}
