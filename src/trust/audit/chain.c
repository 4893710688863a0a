/* A chain: its head outside, its files, and how records are appended to them.
 *
 * An appender holds the lock on the head file as long as it lives, so that no two
 * processes ever wait for each other: the next one takes the next lane. First the record
 * is written, then the head. A process that dies in between leaves records that the head does
 * not know; the next one takes them in, if they fit. The head has two places, written in
 * turn, so that one torn by a power failure leaves the other. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/chain.h"
#include "os/os.h"

#define SLOT 256u
#define RESERVE ((uint64_t)512 << 10)
#define RESERVE_LEAST ((uint64_t)256 << 10)
#define FOLDER_ENTRIES_MAX 100000u

/* ---- records ------------------------------------------------------------ */

void chain_file_name(const struct chain *c, uint32_t file, char out[static FILE_NAME_MAX])
{
    if (c->lane)
        (void)snprintf(out, FILE_NAME_MAX, "audit-%u-%06" PRIu32 ".jsonl", c->lane, file);
    else
        (void)snprintf(out, FILE_NAME_MAX, "audit-%06" PRIu32 ".jsonl", file);
}

uint32_t chain_file_number(const char *name, unsigned *lane)
{
    struct chain c = {0};
    char again[FILE_NAME_MAX], *end;
    if (strncmp(name, "audit-", 6) != 0)
        return 0;
    unsigned long n = strtoul(name + 6, &end, 10);
    if (*end == '-') {
        c.lane = n < LANES_MAX ? (unsigned)n : 0;
        n = strtoul(end + 1, &end, 10);
    }
    if (n == 0 || n > FILE_MAX)
        return 0;
    chain_file_name(&c, (uint32_t)n, again);
    *lane = c.lane;
    return strcmp(name, again) == 0 ? (uint32_t)n : 0;
}

void chain_mac(const struct chain *c, const char before[static MAC_HEX], struct str body,
               char out[static MAC_HEX])
{
    crypto_hmac_hex(c->key, (struct str){before, MAC_HEX - 1}, body, out, NULL);
}

void chain_first_mac(char out[static MAC_HEX])
{
    memset(out, '0', MAC_HEX - 1);
    out[MAC_HEX - 1] = '\0';
}

bool chain_split(struct str line, struct str *body, struct str *mac)
{
    static const char before[] = ",\"mac\":\"", after[] = "\"}";
    size_t tail = sizeof before - 1 + MAC_HEX - 1 + sizeof after - 1;
    if (line.n < tail + 2)
        return false;
    const char *at = line.at + line.n - tail;
    *body = (struct str){line.at, line.n - tail};
    *mac = (struct str){at + sizeof before - 1, MAC_HEX - 1};
    return !memcmp(at, before, sizeof before - 1) && str_ends(line, after);
}

/* Seals the members as the next record of the head, at the end of `out`. */
static bool put_record(const struct chain *c, struct head *h, struct str members,
                       struct buf *out)
{
    char mac[MAC_HEX];
    size_t from = out->n;
    buf_printf(out, "{\"n\":%" PRIu64 ",", h->count + 1);
    buf_str(out, members);
    if (out->failed)
        return false;
    chain_mac(c, h->mac, (struct str){out->at + from, out->n - from}, mac);
    buf_printf(out, ",\"mac\":\"%s\"}\n", mac);
    memcpy(h->mac, mac, sizeof h->mac);
    h->count++;
    return !out->failed;
}

/* ---- the head ----------------------------------------------------------- */

/* "COUNT FIRST FILE SIZE MAC STATE OPEN FROM SUM", where the sum detects a head that was
 * written in part. Older heads have neither OPEN nor FROM. */
static void write_slot(const struct head *h, char out[static SLOT])
{
    memset(out, ' ', SLOT);
    int n = snprintf(out, SLOT,
                     "%" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %s %s %" PRIu32
                     " %" PRIu32,
                     h->count, h->first, h->file, h->size, h->mac,
                     h->state[0] ? h->state : "-", h->open, h->open_from);
    n += snprintf(out + n, SLOT - (size_t)n, " %016" PRIx64 "\n",
                  hash_fnv(HASH_FNV, (struct str){out, (size_t)n}));
    out[n] = ' ';
    out[SLOT - 1] = '\n';
}

#define OLD_FIELDS "%" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %64s %16s"

static bool read_slot(const char slot[static SLOT], struct head *h)
{
    char text[SLOT + 1];
    uint64_t stated;
    int n = 0;
    memcpy(text, slot, SLOT);
    text[SLOT] = '\0';
    *h = (struct head){0};
    bool ok = sscanf(text, OLD_FIELDS " %" SCNu32 " %" SCNu32 "%n %" SCNx64, &h->count,
                     &h->first, &h->file, &h->size, h->mac, h->state, &h->open,
                     &h->open_from, &n, &stated) == 9;
    if (!ok) {
        *h = (struct head){0};
        ok = sscanf(text, OLD_FIELDS "%n %" SCNx64, &h->count, &h->first, &h->file,
                    &h->size, h->mac, h->state, &n, &stated) == 7;
    }
    if (!strcmp(h->state, "-"))
        h->state[0] = '\0';
    return ok && hash_fnv(HASH_FNV, (struct str){text, (size_t)n}) == stated &&
           strlen(h->mac) == MAC_HEX - 1;
}

bool chain_read_head(const struct chain *c, struct head *out, bool *damaged,
                     struct err *e)
{
    char slots[2 * SLOT] = {0};
    struct head a, b;
    ssize_t n = c->head_fd < 0 ? 0 : pread(c->head_fd, slots, sizeof slots, 0);
    if (n < 0)
        return err_set(e, ERR_IO, "cannot read where the audit trail of %s ends: %m",
                       c->folder);
    bool has_a = read_slot(slots, &a), has_b = read_slot(slots + SLOT, &b);
    *damaged = n > 0 && !has_a && !has_b;
    *out = has_a && (!has_b || a.count > b.count) ? a : b;
    if (has_a || has_b)
        return true;
    *out = (struct head){0};
    chain_first_mac(out->mac);
    return true;
}

static bool write_head(const struct chain *c, const struct head *h, struct err *e)
{
    char slot[SLOT];
    write_slot(h, slot);
    return pwrite(c->head_fd, slot, SLOT, (off_t)(h->count & 1) * SLOT) == SLOT ||
           err_set(e, ERR_IO, "cannot note where the audit trail of %s ends: %m",
                   c->folder);
}

/* ---- opening ------------------------------------------------------------ */

static bool take_up(struct chain *c, struct err *e);

bool chain_open_headless(struct chain *c, unsigned lane, int dir, char *folder,
                         const char *name, const unsigned char key[32])
{
    char hex[MAC_HEX];
    *c = (struct chain){.lane = lane,
                        .folder = folder,
                        .dir = dir,
                        .fd = -1,
                        .head_fd = -1,
                        .heads = -1,
                        .beside = -1};
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    c->rotate_at = (uint64_t)16 << 20;
    /* A key of its own: a record of one trail is not valid in another. */
    crypto_hmac_hex(key, STR("trail "), str_of(name), hex, c->key);
    return true;
}

bool chain_open(struct chain *c, unsigned lane, int dir, char *folder, int heads,
                const char *name, const unsigned char key[32], bool write, struct err *e)
{
    (void)chain_open_headless(c, lane, dir, folder, name, key);
    c->heads = heads;
    c->head_fd = os_open_beneath(
        heads, name, write ? O_RDWR | O_CREAT | O_NOFOLLOW : O_RDONLY | O_NOFOLLOW, 0600,
        e);
    if (c->head_fd >= 0 && (!write || (os_lock_file(c->head_fd, 0, e) && take_up(c, e))))
        return true;
    chain_close(c);
    return false;
}

void chain_close(struct chain *c)
{
    os_close(c->fd);
    os_close(c->beside);
    os_close(c->head_fd);
    os_close(c->dir);
    free(c->folder);
    *c = (struct chain){.dir = -1, .fd = -1, .head_fd = -1, .beside = -1};
}

struct span {
    unsigned lane;
    uint32_t first, last;
    unsigned entries;
    struct buf *numbers; /* uint32_t each; NULL: not wanted */
};

static bool look_at(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct span *s = arg;
    unsigned lane;
    uint32_t n = chain_file_number(name, &lane);
    if (++s->entries > FOLDER_ENTRIES_MAX)
        return err_set(e, ERR_LIMIT,
                       "the folder of the audit trail has more than %u files",
                       FOLDER_ENTRIES_MAX);
    if (!st->is_file || n == 0 || lane != s->lane)
        return true;
    if (s->first == 0 || n < s->first)
        s->first = n;
    if (n > s->last)
        s->last = n;
    return !s->numbers || buf_put(s->numbers, &n, sizeof n);
}

bool chain_files(const struct chain *c, uint32_t *first, uint32_t *last, struct err *e)
{
    struct span s = {.lane = c->lane};
    if (!os_walk(c->dir, look_at, &s, e))
        return false;
    *first = s.first;
    *last = s.last;
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

bool chain_list(const struct chain *c, struct file_list *out, struct err *e)
{
    struct span s = {.lane = c->lane, .numbers = &out->numbers};
    buf_init(&out->numbers, FOLDER_ENTRIES_MAX * sizeof(uint32_t));
    out->count = 0;
    if (!os_walk(c->dir, look_at, &s, e)) {
        buf_done(&out->numbers);
        return false;
    }
    out->count = out->numbers.n / sizeof(uint32_t);
    out->at = (const uint32_t *)(const void *)out->numbers.at;
    if (out->count)
        qsort(out->numbers.at, out->count, sizeof *out->at, by_number);
    return true;
}

void file_list_done(struct file_list *l)
{
    buf_done(&l->numbers);
}

uint32_t file_list_from(const struct file_list *l, uint32_t file)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->at[middle] < file)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count ? l->at[low] : 0;
}

/* ---- the file that is appended to --------------------------------------- */

static void drop_file(struct chain *c)
{
    os_close(c->fd);
    c->fd = -1;
    c->reserved = 0;
}

/* The file's size; UINT64_MAX where it is not there, or is another than it should be. */
static uint64_t size_of_file(struct chain *c, const char *name, struct err *e)
{
    struct stat st;
    if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        st.st_nlink != 1)
        return UINT64_MAX;
    if (c->fd >= 0 && (c->fd_file != c->head.file || c->fd_inode != st.st_ino))
        drop_file(c);
    if (c->fd >= 0)
        return (uint64_t)st.st_size;
    c->fd =
        os_open_beneath(c->dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0, e);
    if (c->fd < 0 || fstat(c->fd, &st) < 0)
        return UINT64_MAX;
    c->fd_file = c->head.file;
    c->fd_inode = st.st_ino;
    return (uint64_t)st.st_size;
}

static void count_open(struct head *h, enum trail_kind kind)
{
    if (kind == TRAIL_INTENT && h->open++ == 0)
        h->open_from = h->file;
    if (kind == TRAIL_END && h->open > 0 && --h->open == 0)
        h->open_from = 0;
}

/* Takes over the records behind the head's end, left by a process that died. false: these
 * are not valid records. */
static bool take_in(struct chain *c, uint64_t size)
{
    struct records l;
    struct str line, body, stated;
    bool whole;
    struct head h = c->head;
    char mac[MAC_HEX], start[40];
    bool torn = false;
    records_init(&l, c->fd, h.size);
    while (records_next(&l, &line, &whole)) {
        torn = !whole;
        if (torn || !chain_split(line, &body, &stated))
            break;
        chain_mac(c, h.mac, body, mac);
        (void)snprintf(start, sizeof start, "{\"n\":%" PRIu64 ",", h.count + 1);
        if (!str_is(stated, mac) || !str_starts(body, start))
            break;
        memcpy(h.mac, mac, sizeof h.mac);
        h.count++;
        h.size += line.n + 1;
        count_open(&h, chain_kind(line));
    }
    records_done(&l);
    h.state[0] = '\0'; /* not known: it is recorded once more */
    /* A record that was written in part, by a process that was killed, was never
     * acknowledged. */
    if (h.size != size && (!torn || ftruncate(c->fd, (off_t)h.size) < 0))
        return false;
    c->head = h;
    return true;
}

/* A process that died may have made the next file and not noted it: it holds the one record
 * that begins it, and is ours by its MAC. */
static bool is_leftover(const struct chain *c, uint32_t file)
{
    static const char key[] = "\"previous\":\"";
    scoped_fd int fd = chain_open_file(c, file);
    struct records l;
    struct str line, more, body, stated;
    bool whole, ours = false;
    records_init(&l, fd, 0);
    if (fd >= 0 && records_next(&l, &line, &whole) && whole &&
        chain_split(line, &body, &stated)) {
        char before[MAC_HEX] = "", mac[MAC_HEX];
        const char *at = memmem(body.at, body.n, key, sizeof key - 1);
        if (at && (size_t)(body.at + body.n - at) >= sizeof key - 1 + MAC_HEX - 1)
            memcpy(before, at + sizeof key - 1, MAC_HEX - 1);
        chain_mac(c, before, body, mac);
        ours = str_is(stated, mac) && !records_next(&l, &more, &whole) && !l.too_long;
    }
    records_done(&l);
    return ours;
}

/* Makes the first file from number `*file` on that is not there; -1 and *e. */
static int make_file(const struct chain *c, uint32_t *file, struct err *e)
{
    for (unsigned tries = 0;; tries++, ++*file) {
        char name[FILE_NAME_MAX];
        struct err why = {0};
        chain_file_name(c, *file, name);
        if (*file > c->head.file && is_leftover(c, *file))
            (void)unlinkat(c->dir, name, 0);
        int fd = os_open_beneath(
            c->dir, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &why);
        if (fd >= 0)
            return fd;
        if (why.code == ERR_CONFLICT && tries < 1000 && *file < FILE_MAX)
            continue;
        err_set(e, why.code, "the audit trail %s cannot be continued: %s", c->folder,
                why.msg);
        return -1;
    }
}

/* Begins a new file, whose first record says why and what came before it: so that it
 * can be checked where the others are gone. */
static bool begin_file(struct chain *c, const char *why, uint64_t found, struct err *e)
{
    uint32_t first, last;
    char name[FILE_NAME_MAX], now[25];
    struct head h = c->head;
    struct stat st;
    if (!chain_files(c, &first, &last, e))
        return false;
    /* A process that died before it noted its first file: the file is begun again. */
    for (; h.file == 0 && last && is_leftover(c, last); last--) {
        chain_file_name(c, last, name);
        (void)unlinkat(c->dir, name, 0);
    }
    /* A new trail leaves existing files alone: those of a vault that was moved, or came
     * from elsewhere. */
    h.file = h.file ? h.file + 1 : last < FILE_MAX / 2 ? last + 1 : 1;
    scoped_fd int fd = make_file(c, &h.file, e);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_IO, "cannot look at the audit trail %s: %m", c->folder);
    h.first = h.first ? h.first : h.file;
    chain_file_name(c, h.file, name);
    scoped_buf struct buf members, text;
    buf_init(&members, BUF_LINE);
    buf_init(&text, BUF_PAGE);
    date_format(os_real_ms(), now);
    buf_printf(&members,
               "\"time\":\"%s\",\"event\":\"file\",\"file\":%" PRIu32 ",\"why\":\"%s\","
               "\"previous\":\"%s\"",
               now, h.file, why, h.mac);
    if (found != UINT64_MAX)
        buf_printf(&members, ",\"expected_bytes\":%" PRIu64 ",\"found_bytes\":%" PRIu64,
                   h.size, found);
    must(put_record(c, &h, buf_view(&members), &text));
    h.size = text.n;
    if (write(fd, text.at, text.n) != (ssize_t)text.n || fsync(fd) < 0) {
        err_set(e, ERR_IO, "cannot write the audit trail %s: %m", c->folder);
        (void)unlinkat(c->dir, name, 0);
        return false;
    }
    (void)fsync(c->dir); /* or a power failure could take the name of the file */
    if (!write_head(c, &h, e))
        return false;
    if (c->fd >= 0)
        (void)fdatasync(c->fd);
    drop_file(c);
    c->head = h;
    c->fd = fd;
    fd = -1;
    c->fd_file = h.file;
    c->fd_inode = st.st_ino;
    return true;
}

/* Is the open file as it should be? Quicker than by its name, which is asked for only
 * now and then: a file that was moved away is noticed later than one that was cut. Who
 * asks for its times makes the next write note a new one, so they are not asked for. */
static bool is_as_left(struct chain *c)
{
    struct statx st;
    return c->fd >= 0 && c->fd_file == c->head.file && ++c->looks % 64 != 0 &&
           statx(c->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &st) == 0 &&
           st.stx_nlink == 1 && st.stx_size == c->head.size;
}

/* Compares the file with where it should end. */
static bool chain_compare(struct chain *c, bool may_have_more, struct err *e)
{
    struct err none = {0};
    char name[FILE_NAME_MAX];
    const struct head *h = &c->head;
    chain_file_name(c, h->file, name);
    uint64_t size = size_of_file(c, name, &none);
    if (size == h->size)
        return h->size < c->rotate_at ||
               begin_file(c, "the last one is full", UINT64_MAX, e);
    if (may_have_more && size != UINT64_MAX && size > h->size && take_in(c, size))
        return true;
    return begin_file(c,
                      size == UINT64_MAX ? "the last one is gone"
                      : size < h->size   ? "the last one was cut"
                                         : "the last one was added to",
                      size == UINT64_MAX ? 0 : size, e);
}

static bool take_up(struct chain *c, struct err *e)
{
    bool damaged;
    if (!chain_read_head(c, &c->head, &damaged, e))
        return false;
    if (c->head.file == 0)
        return begin_file(c, damaged ? "the head was damaged" : "the beginning",
                          UINT64_MAX, e);
    return chain_compare(c, true, e);
}

bool chain_look(struct chain *c, struct err *e)
{
    return (c->head.size < c->rotate_at && is_as_left(c)) || chain_compare(c, false, e);
}

/* ---- appending ---------------------------------------------------------- */

bool chain_reserve(struct chain *c, struct err *e)
{
    struct stat st;
    /* Room for the end of every intent, however full the disk is by then. */
    uint64_t owed = ((uint64_t)c->head.open + 1) * AUDIT_RECORD_MAX;
    uint64_t least = c->head.size + RESERVE_LEAST + owed;
    if (!c->failed && least <= c->reserved)
        return true;
    if (!c->failed && fstat(c->fd, &st) == 0)
        c->reserved = (uint64_t)st.st_blocks * 512;
    if (!c->failed && least <= c->reserved)
        return true;
    if (fallocate(c->fd, FALLOC_FL_KEEP_SIZE, (off_t)c->head.size,
                  (off_t)(RESERVE + owed)) == 0)
        c->reserved = c->head.size + RESERVE + owed;
    else if (errno == EOPNOTSUPP || errno == ENOSYS)
        c->reserved = UINT64_MAX / 2; /* a file system that cannot promise */
    else
        return err_set(e, ERR_IO, "the audit trail %s cannot be written: %m", c->folder);
    c->failed = false;
    return true;
}

bool chain_append(struct chain *c, const struct entry *entry, struct err *e)
{
    struct head h = c->head;
    bool changed = strcmp(h.state, entry->state) != 0;
    scoped_buf struct buf text = buf_of(3 * AUDIT_RECORD_MAX);
    (void)buf_room(&text, entry->members.n + 256);
    if ((changed && entry->before.n && !put_record(c, &h, entry->before, &text)) ||
        !put_record(c, &h, entry->members, &text))
        return err_set(e, ERR_LIMIT, "a record of the audit trail is too long");
    count_open(&h, entry->kind);
    if (changed)
        (void)snprintf(h.state, sizeof h.state, "%s", entry->state);
    ssize_t n = write(c->fd, text.at, text.n);
    if (n != (ssize_t)text.n)
        err_set(e, ERR_IO, "cannot write the audit trail %s: %s", c->folder,
                n < 0 ? strerrordesc_np(errno) : "the disk is full");
    h.size += text.n;
    if (!e->code && write_head(c, &h, e)) {
        c->head = h;
        return true;
    }
    c->failed = true;
    (void)!ftruncate(c->fd, (off_t)c->head.size);
    return false;
}

bool chain_forget_open(struct chain *c, struct err *e)
{
    struct head h = c->head;
    h.open = h.open_from = 0;
    if (!write_head(c, &h, e))
        return false;
    c->head = h;
    return true;
}

bool chain_grew(const struct chain *c, const struct head *h)
{
    struct stat st;
    char name[FILE_NAME_MAX];
    chain_file_name(c, h->file, name);
    return c->dir >= 0 && fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (uint64_t)st.st_size > h->size;
}

bool chain_next_file(struct chain *c, const char *why, struct err *e)
{
    return begin_file(c, why, UINT64_MAX, e);
}
