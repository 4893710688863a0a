#include "vm/saved.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/copies.h"
#include "os/os.h"

#define MAGIC "cloche-copy1\0\0\0"
#define PIECE ((size_t)1 << 20)
#define SEEN ((size_t)8 << 20)
#define TABLES_MAX ((size_t)192 << 20)

struct saved_run {
    uint64_t at, bytes; /* of memory; its pages follow those of the run before */
};

struct saved_state {
    uint32_t last_id, last_session, unready;
    uint32_t exec_count, session_count, part_bytes;
    uint64_t inbox_bytes;
    uint32_t execs[VM_EXECS_MAX];
    struct copy_session sessions[VM_SESSIONS_MAX];
};

/* ---- sums ------------------------------------------------------------------------ */

/* Each step maps different states to different ones, so that no damage within a word, or
 * within a stretch of one lane, is missed. `n` is a multiple of 64. */
static void sum_add(uint64_t lanes[static SAVED_LANES], const char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += SAVED_LANES * 8) {
        uint64_t words[SAVED_LANES];
        memcpy(words, bytes + at, sizeof words);
        for (size_t i = 0; i < SAVED_LANES; i++) {
            uint64_t x = (lanes[i] ^ words[i]) * 0x9e3779b97f4a7c15u;
            lanes[i] = x << 29 | x >> 35;
        }
    }
}

static void sum_begin(uint64_t lanes[static SAVED_LANES])
{
    for (size_t i = 0; i < SAVED_LANES; i++)
        lanes[i] = 0xa0761d6478bd642fu * (i + 1);
}

static void hash_place(const struct saved_place *p, uint8_t out[static CRYPTO_BLAKE2B])
{
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    buf_printf(&text, "%.*s\n%s\n%.*s", STR_ARGS(p->payer), vm_saved_kind_name(p->kind),
               STR_ARGS(p->name));
    crypto_blake2b(buf_view(&text), out);
}

/* ---- files -------------------------------------------------------------------------- */

static bool read_at(int fd, void *to, size_t n, uint64_t at, struct err *e)
{
    for (char *p = to; n > 0;) {
        ssize_t got = pread(fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(e, ERR_IO, "cannot read a saved machine: %m");
        if (got == 0)
            return err_set(e, ERR_INVALID, "it is cut short");
        p += got;
        n -= (size_t)got;
        at += (uint64_t)got;
    }
    return true;
}

/* Pages on their way to the file. */
struct saving {
    int fd;
    uint64_t at, most; /* the end of the file; what it may have */
    struct buf piece;
    struct saved_head *head;
    struct buf runs, numbers;
};

static bool saving_write(struct saving *s, const void *from, size_t n, struct err *e)
{
    if (s->most && s->at + n > s->most)
        return err_set(e, ERR_LIMIT, "it would have more than the %llu MB that are left",
                       (unsigned long long)(s->most >> 20));
    for (const char *p = from; n > 0;) {
        ssize_t put = pwrite(s->fd, p, n, (off_t)s->at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return err_set(e, ERR_IO, "a machine cannot be saved: %m");
        p += put;
        n -= (size_t)put;
        s->at += (uint64_t)put;
    }
    return true;
}

static bool saving_flush(struct saving *s, struct err *e)
{
    struct str all = buf_view(&s->piece);
    sum_add(s->head->data_sum, all.at, all.n);
    bool ok = saving_write(s, all.at, all.n, e);
    buf_clear(&s->piece);
    return ok;
}

static bool saving_put(struct saving *s, const char *page, struct err *e)
{
    buf_put(&s->piece, page, IMAGE_PAGE);
    return s->piece.n < PIECE || saving_flush(s, e);
}

/* ---- writing: memory ------------------------------------------------------------------- */

static bool put_page(struct saving *s, uint64_t at, const char *page, struct err *e)
{
    struct saved_run *last =
        s->runs.n ? (struct saved_run *)(void *)(s->runs.at + s->runs.n) - 1 : NULL;
    if (last && last->at + last->bytes == at)
        last->bytes += IMAGE_PAGE;
    else
        buf_put(&s->runs, &(struct saved_run){at, IMAGE_PAGE}, sizeof *last);
    s->head->page_count++;
    return saving_put(s, page, e);
}

/* The image's bytes there; zeros behind its end. */
static bool image_bytes(const struct baked *b, uint64_t at, char *to, size_t n,
                        struct err *e)
{
    size_t has = at >= b->memory_bytes      ? 0
                 : n > b->memory_bytes - at ? (size_t)(b->memory_bytes - at)
                                            : n;
    memset(to + has, 0, n - has);
    return has == 0 || read_at(b->fd, to, has, IMAGE_PAGE + at, e);
}

static bool write_run(struct saving *s, const struct baked *b, const struct memory_run *r,
                      char *now, char *was, struct err *e)
{
    for (uint64_t done = 0; done < r->bytes;) {
        size_t n = r->bytes - done < PIECE ? (size_t)(r->bytes - done) : PIECE;
        if (!read_at(r->fd, now, n, r->file_at + done, e) ||
            !image_bytes(b, r->at + done, was, n, e))
            return false;
        for (size_t k = 0; k < n; k += IMAGE_PAGE)
            if (memcmp(now + k, was + k, IMAGE_PAGE) != 0 &&
                !put_page(s, r->at + done + k, now + k, e))
                return false;
        done += n;
    }
    return true;
}

static bool write_memory(struct saving *s, const struct machine_copy *m, struct err *e)
{
    scoped(free) char *now = mem_new(PIECE), *was = mem_new(PIECE);
    size_t count;
    const struct memory_run *runs = memory_copy_runs(m->memory, &count);
    for (size_t i = 0; i < count; i++)
        if (!write_run(s, m->of, &runs[i], now, was, e))
            return false;
    return true;
}

/* ---- writing: the disk ------------------------------------------------------------------ */

static bool write_disk(struct saving *s, const struct images *i,
                       const struct machine_copy *m, struct err *e)
{
    char now[DISK_BLOCK], was[DISK_BLOCK];
    struct disk *disks[2];
    scoped_buf struct buf numbers = buf_of(BUF_ANSWER);
    disk_copy_blocks(m->disk, &numbers);
    if (!buf_check(&numbers, "the machine's disk", e))
        return false;
    const uint32_t *all = (const uint32_t *)(const void *)numbers.at;
    images_disks((struct images *)(uintptr_t)i, &m->of->delta, NULL, 0, disks);
    bool ok = true;
    for (size_t k = 0; ok && k < numbers.n / sizeof *all; k++) {
        ok = (disk_copy_read(m->disk, all[k], now) &&
              disk_read(disks[1], (uint64_t)all[k] * DISK_BLOCK, was, DISK_BLOCK)) ||
             err_set(e, ERR_IO, "a machine's disk cannot be read: %m");
        if (!ok || !memcmp(now, was, DISK_BLOCK))
            continue;
        s->head->block_count++;
        buf_put(&s->numbers, &all[k], sizeof all[k]);
        ok = saving_put(s, now, e);
    }
    disk_close(disks[0]);
    disk_close(disks[1]);
    return ok;
}

/* ---- writing: tables and head ------------------------------------------------------------- */

static void put_state(const struct vm_copy *c, struct buf *out)
{
    struct saved_state s = {.last_id = c->last_id,
                            .last_session = c->last_session,
                            .unready = c->unready,
                            .exec_count = (uint32_t)c->exec_count,
                            .session_count = (uint32_t)c->session_count,
                            .part_bytes = (uint32_t)c->part.n,
                            .inbox_bytes = c->machine->inbox.n};
    memcpy(s.execs, c->execs, sizeof s.execs);
    memcpy(s.sessions, c->sessions, sizeof s.sessions);
    buf_put(out, &s, sizeof s);
    buf_str(out, buf_view(&c->part));
    buf_str(out, buf_view(&c->machine->inbox));
    buf_str(out, buf_view(&c->places)); /* files of before have none */
}

static bool write_tables(struct saving *s, const struct vm_copy *c, struct err *e)
{
    scoped_buf struct buf all = buf_of(TABLES_MAX);
    buf_str(&all, buf_view(&s->runs));
    buf_str(&all, buf_view(&s->numbers));
    size_t before = all.n;
    put_state(c, &all);
    s->head->run_count = s->runs.n / sizeof(struct saved_run);
    s->head->state_bytes = all.n - before;
    crypto_blake2b(buf_view(&all), s->head->tables_sum);
    return buf_check(&all, "the machine", e) && saving_write(s, all.at, all.n, e);
}

static bool write_head(struct saving *s, struct err *e)
{
    char page[SAVED_HEAD] = {0};
    memcpy(page, s->head, sizeof *s->head);
    crypto_blake2b((struct str){page, sizeof page - CRYPTO_BLAKE2B},
                   (unsigned char *)page + sizeof page - CRYPTO_BLAKE2B);
    s->at = 0;
    s->most = 0;
    return saving_write(s, page, sizeof page, e) &&
           (fsync(s->fd) == 0 || err_set(e, ERR_IO, "a machine cannot be saved: %m"));
}

bool saved_write(int fd, const struct images *i, const struct saved_place *p,
                 const char *label, const struct vm_copy *c, uint64_t most,
                 struct saved_head *head, struct err *e)
{
    struct saving s = {.fd = fd, .at = SAVED_HEAD, .most = most, .head = head};
    *head = (struct saved_head){.kind = p->kind,
                                .ram_mb = c->ram_mb,
                                .made_ms = os_real_ms(),
                                .memory_bytes = memory_copy_bytes(c->machine->memory),
                                .disk_blocks = images_disk_blocks(i)};
    memcpy(head->magic, MAGIC, sizeof head->magic);
    memcpy(head->key, images_key(i), sizeof head->key);
    hash_place(p, head->place);
    memcpy(head->label, label, strnlen(label, VM_LABEL_MAX));
    sum_begin(head->data_sum);
    buf_init(&s.piece, PIECE + IMAGE_PAGE);
    buf_init(&s.runs, TABLES_MAX);
    buf_init(&s.numbers, TABLES_MAX);
    bool ok = write_memory(&s, c->machine, e) && write_disk(&s, i, c->machine, e) &&
              saving_flush(&s, e) && buf_check(&s.runs, "the machine's memory", e) &&
              write_tables(&s, c, e) && write_head(&s, e);
    buf_done(&s.piece);
    buf_done(&s.runs);
    buf_done(&s.numbers);
    return ok;
}

/* ---- reading ---------------------------------------------------------------------------- */

static bool damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_INVALID, "its %s damaged", what);
}

bool saved_read_head(int fd, const struct saved_place *p, struct saved_head *head,
                     struct err *e)
{
    char page[SAVED_HEAD];
    uint8_t sum[CRYPTO_BLAKE2B], place[CRYPTO_BLAKE2B];
    if (!read_at(fd, page, sizeof page, 0, e))
        return false;
    memcpy(head, page, sizeof *head);
    crypto_blake2b((struct str){page, sizeof page - sizeof sum}, sum);
    hash_place(p, place);
    if (memcmp(head->magic, MAGIC, sizeof head->magic) != 0 ||
        memcmp(sum, page + sizeof page - sizeof sum, sizeof sum) != 0)
        return damaged(e, "head is");
    if (memcmp(head->place, place, sizeof place) != 0)
        return err_set(e, ERR_INVALID, "it belongs to another name or another caller");
    return true;
}

uint64_t saved_bytes(const struct saved_head *h)
{
    return SAVED_HEAD + (h->page_count + h->block_count) * IMAGE_PAGE +
           h->run_count * sizeof(struct saved_run) + h->block_count * 4 + h->state_bytes;
}

static bool check_sizes(int fd, const struct saved_head *h, const struct images *i,
                        struct err *e)
{
    struct stat st;
    uint64_t pages = h->page_count, blocks = h->block_count;
    uint64_t most = ((uint64_t)VM_RAM_MAX_MB << 20) / IMAGE_PAGE * 2;
    if (fstat(fd, &st) != 0)
        return err_set(e, ERR_IO, "cannot look at a saved machine: %m");
    if (pages > most || blocks > images_disk_blocks(i) || h->run_count > pages ||
        h->state_bytes < sizeof(struct saved_state) || h->state_bytes > TABLES_MAX ||
        h->memory_bytes > most * IMAGE_PAGE || h->disk_blocks != images_disk_blocks(i) ||
        h->ram_mb < VM_RAM_MIN_MB || h->ram_mb > VM_RAM_MAX_MB)
        return damaged(e, "sizes are");
    return (uint64_t)st.st_size == saved_bytes(h) || damaged(e, "length is");
}

/* The pages of a file, seen where the kernel has them: to copy them takes longer than all else
 * that a restore does. A piece is populated first, which fails where a read would, rather than
 * with a signal. `bytes` NULL: a piece cannot be mapped, and is read. */
struct seen {
    char *bytes;
    size_t n;
};

static void seen_done(struct seen *s)
{
    if (s->bytes)
        (void)munmap(s->bytes, s->n);
    *s = (struct seen){0};
}

static void see(struct seen *s, int fd, uint64_t at, size_t n)
{
    void *bytes = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)at);
    *s = (struct seen){bytes == MAP_FAILED ? NULL : bytes, n};
#ifdef MADV_POPULATE_READ
    if (s->bytes && madvise(s->bytes, n, MADV_POPULATE_READ) != 0)
        seen_done(s);
#else
    seen_done(s);
#endif
}

static bool check_data(int fd, const struct saved_head *h, struct err *e)
{
    scoped(free) char *piece = NULL;
    uint64_t lanes[SAVED_LANES], left = (h->page_count + h->block_count) * IMAGE_PAGE;
    sum_begin(lanes);
    for (uint64_t at = SAVED_HEAD; left > 0;) {
        struct seen seen;
        size_t n = left < SEEN ? (size_t)left : SEEN;
        see(&seen, fd, at, n);
        n = !seen.bytes && n > PIECE ? PIECE : n;
        if (!seen.bytes && !piece)
            piece = mem_new(PIECE);
        bool ok = seen.bytes || read_at(fd, piece, n, at, e);
        if (ok)
            sum_add(lanes, seen.bytes ? seen.bytes : piece, n);
        seen_done(&seen);
        if (!ok)
            return false;
        at += n;
        left -= n;
    }
    return !memcmp(lanes, h->data_sum, sizeof lanes) || damaged(e, "pages are");
}

static bool read_tables(int fd, const struct saved_head *h, struct buf *out,
                        struct err *e)
{
    uint8_t sum[CRYPTO_BLAKE2B];
    size_t n = (size_t)(h->run_count * sizeof(struct saved_run) + h->block_count * 4 +
                        h->state_bytes);
    char *at = buf_room(out, n);
    if (!at)
        return err_set(e, ERR_BUSY, "there is no memory for a saved machine");
    if (!read_at(fd, at, n, SAVED_HEAD + (h->page_count + h->block_count) * IMAGE_PAGE,
                 e))
        return false;
    out->n += n;
    crypto_blake2b(buf_view(out), sum);
    return !memcmp(sum, h->tables_sum, sizeof sum) || damaged(e, "tables are");
}

/* What a program wrote that made wrong sums right is not believed either. */
static struct memory_copy *read_memory(int fd, const struct saved_head *h,
                                       const char *tables, struct err *e)
{
    scoped(free) struct memory_run *runs =
        mem_new(((size_t)h->run_count + 1) * sizeof *runs);
    uint64_t file_at = SAVED_HEAD, least = 0;
    for (size_t k = 0; k < h->run_count; k++) {
        struct saved_run r;
        memcpy(&r, tables + k * sizeof r, sizeof r);
        if (r.at < least || r.at % IMAGE_PAGE || r.bytes % IMAGE_PAGE || !r.bytes ||
            r.at > h->memory_bytes || r.bytes > h->memory_bytes - r.at ||
            r.bytes > SAVED_HEAD + h->page_count * IMAGE_PAGE - file_at)
            return damaged(e, "tables are"), NULL;
        runs[k] = (struct memory_run){r.at, r.bytes, fd, file_at};
        file_at += r.bytes;
        least = r.at + r.bytes;
    }
    return memory_copy_of_file(fd, runs, (size_t)h->run_count, h->memory_bytes, e);
}

static struct disk_copy *read_disk(int fd, const struct saved_head *h, const char *tables,
                                   struct err *e)
{
    scoped(free) uint32_t *numbers = mem_new((size_t)h->block_count * 4 + 1);
    memcpy(numbers, tables, (size_t)h->block_count * 4);
    for (size_t k = 0; k < h->block_count; k++)
        if (numbers[k] >= h->disk_blocks || (k && numbers[k] <= numbers[k - 1]))
            return damaged(e, "tables are"), NULL;
    return disk_copy_of_file(fd, SAVED_HEAD + h->page_count * IMAGE_PAGE, numbers,
                             (size_t)h->block_count, h->disk_blocks, e);
}

static bool read_state(struct vm_copy *c, const char *at, uint64_t n, struct err *e)
{
    struct saved_state s;
    memcpy(&s, at, sizeof s);
    if (s.exec_count > VM_EXECS_MAX || s.session_count > VM_SESSIONS_MAX ||
        s.part_bytes > FRAME_HEAD + VM_FRAME_MAX || s.inbox_bytes > n ||
        sizeof s + s.part_bytes + s.inbox_bytes > n)
        return damaged(e, "state is");
    uint64_t known = sizeof s + s.part_bytes + s.inbox_bytes;
    if (n - known > COPY_PLACES_MAX || (n > known && at[n - 1]))
        return damaged(e, "state is");
    c->last_id = s.last_id;
    c->last_session = s.last_session;
    c->unready = s.unready;
    c->exec_count = s.exec_count;
    c->session_count = s.session_count;
    memcpy(c->execs, s.execs, sizeof s.execs);
    memcpy(c->sessions, s.sessions, sizeof s.sessions);
    for (size_t k = 0; k < c->session_count; k++)
        if (strnlen(c->sessions[k].name, sizeof c->sessions[k].name) >
            VM_SESSION_NAME_MAX)
            return damaged(e, "state is");
    return (buf_put(&c->part, at + sizeof s, s.part_bytes) &&
            buf_put(&c->machine->inbox, at + sizeof s + s.part_bytes,
                    (size_t)s.inbox_bytes) &&
            buf_put(&c->places, at + known, (size_t)(n - known))) ||
           err_set(e, ERR_BUSY, "there is no memory for a saved machine");
}

static bool read_parts(int fd, struct images *i, const struct saved_head *h,
                       const char *tables, struct vm_copy *c, struct err *e)
{
    struct machine_copy *m = c->machine = machine_copy_new();
    const char *numbers = tables + h->run_count * sizeof(struct saved_run);
    c->ram_mb = h->ram_mb;
    m->of = images_get(i, h->ram_mb, NULL, e);
    m->memory = m->of ? read_memory(fd, h, tables, e) : NULL;
    m->disk = m->memory ? read_disk(fd, h, numbers, e) : NULL;
    return m->disk && read_state(c, numbers + h->block_count * 4, h->state_bytes, e);
}

struct vm_copy *saved_read(int fd, struct images *i, const struct saved_place *p,
                           struct err *e)
{
    struct saved_head h;
    scoped_buf struct buf tables = buf_of(TABLES_MAX * 2);
    if (!saved_read_head(fd, p, &h, e))
        return NULL;
    if (memcmp(h.key, images_key(i), sizeof h.key) != 0) {
        err_set(e, ERR_CONFLICT,
                "it was made with another version of the machine's image; remove it and "
                "make it again");
        return NULL;
    }
    scoped(vm_copy_drop) struct vm_copy *c = vm_copy_new();
    return check_sizes(fd, &h, i, e) && check_data(fd, &h, e) &&
                   read_tables(fd, &h, &tables, e) &&
                   read_parts(fd, i, &h, tables.at, c, e)
               ? take(c)
               : NULL;
}
