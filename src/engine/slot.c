/* Memory slots: linear memories that start as a baked image.
 *
 * A slot is a reservation of address space whose beginning is mapped privately
 * from the image: its pages that are not zero from a sealed memfd, the others as
 * fresh anonymous memory. What a world wrote is found afterwards
 * (PAGEMAP_SCAN, or the bits of /proc/self/pagemap) and copied back from the
 * image, so that the next world meets no page faults: those, not instantiation,
 * are what a fresh world costs.
 *
 * An image may also be a file on the disk, of a size that resetting would not pay for (a
 * computer's memory): its slots show the file itself, where it is not a hole, and nothing
 * that was written in one outlives it, for it is unmapped.
 *
 * Isolation is this file's duty:
 * - a slot that grew, trapped or was killed, or has more written pages than
 *   RESET_PAGES_MAX, is mapped afresh;
 * - one reset in VERIFY_EVERY (each, where the engine was opened so, as debug
 *   builds and tests do) is compared as a whole with the image; a difference
 *   ends resetting for good;
 * - a slot shows one image only, and is mapped afresh between tenants;
 * - a slot of a file serves one world and is unmapped, whatever that world did.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "engine/internal.h"
#include "os/os.h"

#define RESET_PAGES_MAX 384u /* beyond it, new page faults cost less than copies */
#define FREE_SLOTS_MAX 64u   /* kept for each image; the rest is unmapped */
#define VERIFY_EVERY 1000u

/* Pages from..to, in bytes. Each is a mapping of its own in each slot, so that
 * small gaps of zeros are taken along. */
struct stretch {
    size_t from, to;
};
#define GAP_MAX ((size_t)16 * PAGE)
#define FILE_STRETCHES_MAX 4096u /* the system allows 65,530 mappings a process */

struct image {
    atomic_int users; /* modules, and slots that are in use */
    bool verify_all;
    bool is_file; /* fd is a file, `pristine` and `holds` are NULL */
    int fd;       /* else sealed memfd; -1 where slots are not used */
    off_t fd_at;  /* where the image begins in it */
    size_t size;
    const uint8_t *pristine;   /* shared mapping of fd, or memory of our own */
    uint8_t *holds;            /* for each page: is it not all zero? */
    struct stretch *stretches; /* of pages to map from fd */
    size_t stretch_count;
    pthread_mutex_t lock; /* guards what follows */
    struct slot *free;
    size_t free_count;
    uint64_t resets, remaps, verified, slots;
    uint8_t id[IMAGE_ID];
    bool has_id;
};

/* ---- finding written pages ---------------------------------------------- */

/* The kernel's interface (linux/fs.h since 6.7), spelt out because the headers
 * of older systems lack it. */
struct page_region {
    __u64 start, end, categories;
};
struct pm_scan_arg {
    __u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    __u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_PAGEMAP _IOWR('f', 16, struct pm_scan_arg)
enum {
    PAGE_FILE = 1 << 2, /* still the image's own page */
    PAGE_PRESENT = 1 << 3,
    PAGE_SWAPPED = 1 << 4, /* written, then moved out of memory */
    PAGE_ZERO = 1 << 5,    /* only ever read */
};

#define REGIONS_MAX 128u

enum finder { FIND_UNKNOWN, FIND_SCAN, FIND_BITS, FIND_NONE };
static atomic_int finder_now = FIND_UNKNOWN;
static int pagemap_fd = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Up to REGIONS_MAX stretches of written pages; -1 when there are more, or the
 * kernel does not answer. */
static int scan_regions(const uint8_t *base, size_t size, struct page_region *out)
{
    struct pm_scan_arg q = {
        .size = sizeof q,
        .start = (uintptr_t)base,
        .end = (uintptr_t)base + size,
        .vec = (uintptr_t)out,
        .vec_len = REGIONS_MAX,
        .category_inverted = PAGE_FILE | PAGE_ZERO,
        .category_mask = PAGE_FILE | PAGE_ZERO,
        .category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
        .return_mask = PAGE_PRESENT | PAGE_SWAPPED,
    };
    int n = ioctl(pagemap_fd, SCAN_PAGEMAP, &q);
    return n >= 0 && q.walk_end == q.end ? n : -1;
}

/* The same from /proc/self/pagemap: bit 63 present, 62 swapped, 61 file or
 * shared. Pages that were only read as zeros look written; harmless. */
static int read_bits(const uint8_t *base, size_t size, struct page_region *out)
{
    int n = 0;
    uint64_t bits[512];
    bool open = false;
    for (size_t page = 0; page < size / PAGE;) {
        size_t want = size / PAGE - page;
        if (want > LENGTH(bits))
            want = LENGTH(bits);
        off_t at = (off_t)(((uintptr_t)base / PAGE + page) * sizeof *bits);
        ssize_t got = pread(pagemap_fd, bits, want * sizeof *bits, at);
        if (got != (ssize_t)(want * sizeof *bits))
            return -1;
        for (size_t i = 0; i < want; i++) {
            bool written = (bits[i] >> 62) != 0 && !(bits[i] >> 61 & 1);
            uint64_t address = (uintptr_t)base + (page + i) * PAGE;
            if (written && !open) {
                if (n == (int)REGIONS_MAX)
                    return -1;
                out[n++] = (struct page_region){.start = address};
            }
            if (written)
                out[n - 1].end = address + PAGE;
            open = written;
        }
        page += want;
    }
    return n;
}

static int find_written(const uint8_t *base, size_t size, struct page_region *out)
{
    switch (atomic_load_explicit(&finder_now, memory_order_relaxed)) {
    case FIND_SCAN:
        return scan_regions(base, size, out);
    case FIND_BITS:
        return read_bits(base, size, out);
    default:
        return -1;
    }
}

/* Tries an interface on a mapping whose written page is known. */
static bool finds_it(enum finder f, int fd)
{
    uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return false;
    *(volatile uint8_t *)p;
    *(volatile uint8_t *)(p + 2 * PAGE) = 1;
    struct page_region r[REGIONS_MAX];
    int n = f == FIND_SCAN ? scan_regions(p, 4 * PAGE, r) : read_bits(p, 4 * PAGE, r);
    bool right =
        n == 1 && r[0].start == (uintptr_t)p + 2 * PAGE && r[0].end == r[0].start + PAGE;
    munmap(p, 4 * PAGE);
    return right;
}

static void choose_finder(void)
{
    enum finder f = FIND_NONE;
    pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    scoped_fd int fd = memfd_create("cloche-probe", MFD_CLOEXEC);
    if (pagemap_fd >= 0 && fd >= 0 && ftruncate(fd, 4 * PAGE) == 0)
        f = finds_it(FIND_SCAN, fd)   ? FIND_SCAN
            : finds_it(FIND_BITS, fd) ? FIND_BITS
                                      : FIND_NONE;
    atomic_store(&finder_now, f);
}

bool slot_supported(void)
{
    pthread_once(&once, choose_finder);
    if (atomic_load(&finder_now) == FIND_NONE)
        return false;
    /* A few reservations as large as wasmtime will ask for each memory. */
    return slot_reservable((size_t)32 << 30);
}

bool slot_reservable(size_t size)
{
    void *p =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, size);
    return true;
}

/* ---- images ------------------------------------------------------------- */

static bool page_is_zero(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

/* Adds a stretch, or lengthens the last one where the gap is small. */
static void add_stretch(struct image *i, size_t from, size_t to, size_t gap_max)
{
    struct stretch *last = i->stretch_count ? &i->stretches[i->stretch_count - 1] : NULL;
    if (last && from - last->to <= gap_max)
        last->to = to;
    else
        i->stretches[i->stretch_count++] = (struct stretch){from, to};
}

/* Notes which pages hold something, and the stretches that they make. */
static void survey(struct image *i, const uint8_t *bytes)
{
    i->holds = mem_new(i->size / PAGE);
    i->stretches = mem_new((i->size / PAGE) * sizeof *i->stretches);
    for (size_t at = 0; at < i->size; at += PAGE) {
        if (page_is_zero(bytes + at))
            continue;
        i->holds[at / PAGE] = 1;
        add_stretch(i, at, at + PAGE, GAP_MAX);
    }
}

/* One page as the image has it. */
static void copy_page(const struct image *i, size_t at, uint8_t *to)
{
    if (i->holds[at / PAGE])
        memcpy(to, i->pristine + at, PAGE);
    else
        memset(to, 0, PAGE);
}

/* Where memfd_create is refused, the image is plain memory, and no slot will
 * ask for its descriptor. */
static bool fill(struct image *i, const uint8_t *bytes, struct err *e)
{
    i->fd = memfd_create("cloche-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool shared = i->fd >= 0 && ftruncate(i->fd, (off_t)i->size) == 0;
    uint8_t *p =
        mmap(NULL, i->size, PROT_READ | PROT_WRITE,
             shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, shared ? i->fd : -1, 0);
    if (p == MAP_FAILED)
        return err_set(e, ERR_IO, "no memory for a guest's image of %zu bytes: %m",
                       i->size);
    i->pristine = p;
    for (size_t at = 0; at < i->size; at += PAGE)
        if (i->holds[at / PAGE])
            memcpy(p + at, bytes + at, PAGE);
    (void)mprotect(p, i->size, PROT_READ);
    if (shared)
        (void)fcntl(i->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return true;
}

static struct image *image_empty(size_t size)
{
    struct image *i = mem_new(sizeof *i);
    i->size = size;
    i->fd = -1;
    atomic_init(&i->users, 1);
    pthread_mutex_init(&i->lock, NULL);
    return i;
}

struct image *image_new(const void *bytes, size_t size, bool verify_all, struct err *e)
{
    must(size % PAGE == 0 && size > 0);
    struct image *i = image_empty(size);
    i->verify_all = verify_all;
    survey(i, bytes);
    if (fill(i, bytes, e))
        return i;
    image_drop(i);
    return NULL;
}

/* Stretches of the file that are no holes; false when there are more than we map, with
 * gaps of that size taken along. */
static bool survey_file(struct image *i, size_t gap_max)
{
    i->stretch_count = 0;
    off_t end = i->fd_at + (off_t)i->size;
    for (off_t at = i->fd_at; at < end;) {
        off_t from = lseek(i->fd, at, SEEK_DATA);
        if (from < 0 && errno == ENXIO) /* only a hole is left */
            return true;
        off_t to = from < 0 ? -1 : lseek(i->fd, from, SEEK_HOLE);
        if (to < 0) { /* a file system that does not know: all of it */
            from = at;
            to = end;
        }
        if (from >= end)
            return true;
        to = to < end ? to : end;
        if (i->stretch_count == FILE_STRETCHES_MAX)
            return false;
        size_t first = (size_t)(from - i->fd_at) / PAGE * PAGE;
        add_stretch(i, first, ((size_t)(to - i->fd_at) + PAGE - 1) / PAGE * PAGE,
                    gap_max);
        at = to;
    }
    return true;
}

static bool check_file(const struct image_file *f, struct err *e)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return err_set(e, ERR_IO, "cannot look at an image of memory: %m");
    if (!S_ISREG(st.st_mode) || f->at % PAGE != 0 || f->bytes % PAGE != 0 ||
        f->bytes == 0 || f->at > (uint64_t)st.st_size ||
        f->bytes > (uint64_t)st.st_size - f->at)
        return err_set(e, ERR_INVALID,
                       "an image of %llu bytes of memory does not lie in a file of %llu",
                       (unsigned long long)f->bytes, (unsigned long long)st.st_size);
    return true;
}

struct image *image_of_file(const struct image_file *f, struct err *e)
{
    if (!check_file(f, e))
        return NULL;
    struct image *i = image_empty((size_t)f->bytes);
    i->is_file = true;
    i->fd_at = (off_t)f->at;
    i->fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
    if (i->fd < 0) {
        err_set(e, ERR_IO, "cannot hold an image of memory open: %m");
        image_drop(i);
        return NULL;
    }
    i->stretches = mem_new(FILE_STRETCHES_MAX * sizeof *i->stretches);
    for (size_t gap = GAP_MAX; !survey_file(i, gap); gap *= 2) {
    }
    return i;
}

bool image_is_file(const struct image *i)
{
    return i->is_file;
}

struct image *image_share(struct image *i)
{
    atomic_fetch_add(&i->users, 1);
    return i;
}

static void slot_unmap(struct slot *s)
{
    guard_off(s->guarded);
    munmap(s->base, s->reserved);
    free(s);
}

void image_drop(struct image *i)
{
    if (!i || atomic_fetch_sub(&i->users, 1) > 1)
        return;
    for (struct slot *s = i->free, *next; s; s = next) {
        next = s->next;
        slot_unmap(s);
    }
    if (i->pristine)
        munmap((void *)(uintptr_t)i->pristine, i->size);
    free(i->holds);
    free(i->stretches);
    os_close(i->fd);
    pthread_mutex_destroy(&i->lock);
    free(i);
}

/* Over the stretches that hold something, and where they lie. Sums, because nobody gains
 * by forging one, and hashes would take ten times as long. */
static void make_id(struct image *i)
{
    scoped_buf struct buf sums;
    buf_init(&sums, SIZE_MAX / 2);
    buf_put(&sums, &i->size, sizeof i->size);
    for (size_t k = 0; k < i->stretch_count; k++) {
        const struct stretch *t = &i->stretches[k];
        char sum[CRYPTO_SUM_HEX];
        crypto_sum_hex(STR("image"),
                       (struct str){(const char *)i->pristine + t->from, t->to - t->from},
                       sum);
        buf_put(&sums, t, sizeof *t);
        buf_put(&sums, sum, sizeof sum);
    }
    crypto_blake2b(buf_view(&sums), i->id);
    i->has_id = true;
}

const uint8_t *image_id(struct image *i)
{
    pthread_mutex_lock(&i->lock);
    if (!i->has_id) {
        make_id(i);
    }
    pthread_mutex_unlock(&i->lock);
    return i->id;
}

const uint8_t *image_page(const struct image *i, size_t at)
{
    return at < i->size && i->holds[at / PAGE] ? i->pristine + at : NULL;
}

static bool copy_file(const struct image *i, uint8_t *to, struct err *e)
{
    for (size_t k = 0; k < i->stretch_count; k++) {
        const struct stretch *t = &i->stretches[k];
        for (size_t at = t->from; at < t->to;) {
            ssize_t n = pread(i->fd, to + at, t->to - at, i->fd_at + (off_t)at);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return err_set(e, ERR_IO, "cannot read an image of memory: %s",
                               n ? strerror(errno) : "it was cut short");
            at += (size_t)n;
        }
    }
    return true;
}

bool image_copy(const struct image *i, void *to, struct err *e)
{
    if (i->is_file)
        return copy_file(i, to, e);
    for (size_t at = 0; at < i->size; at += PAGE)
        if (i->holds[at / PAGE])
            memcpy((uint8_t *)to + at, i->pristine + at, PAGE);
    return true;
}

void image_count(const struct image *i, struct module_counts *out)
{
    pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&i->lock);
    out->resets = i->resets;
    out->remaps = i->remaps;
    out->verified = i->verified;
    out->slots = i->slots;
    pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&i->lock);
}

/* ---- slots -------------------------------------------------------------- */

static bool map_fresh(uint8_t *at, size_t size, int protection)
{
    return size == 0 || mmap(at, size, protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                             0) != MAP_FAILED;
}

/* Lays the image over the beginning of the slot and forbids the rest. */
static bool slot_map(struct slot *s)
{
    const struct image *i = s->image;
    size_t size = i ? i->size : 0;
    if (!map_fresh(s->base, size, PROT_READ | PROT_WRITE) ||
        (s->size > size && !map_fresh(s->base + size, s->size - size, PROT_NONE)))
        return false;
    for (size_t k = 0; i && k < i->stretch_count; k++) {
        const struct stretch *t = &i->stretches[k];
        if (mmap(s->base + t->from, t->to - t->from, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, i->fd,
                 i->fd_at + (off_t)t->from) == MAP_FAILED)
            return false;
    }
    s->size = size;
    s->spoilt = false;
    return true;
}

static struct slot *slot_new(struct image *image, size_t reserved, uint64_t tenant)
{
    struct slot *s = mem_new(sizeof *s);
    void *p = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) {
        free(s);
        return NULL;
    }
    s->base = p;
    s->reserved = reserved;
    s->image = image;
    s->tenant = tenant;
    bool guarded = image && image->is_file;
    if (guarded)
        s->guarded = guard_on(s->base, image->size);
    if ((guarded && !s->guarded) || !slot_map(s)) {
        slot_unmap(s);
        return NULL;
    }
    if (image)
        image->slots++;
    return s;
}

struct slot *slot_take(struct image *image, size_t size, size_t reserved, uint64_t tenant)
{
    struct slot *s = NULL;
    if (image) {
        pthread_mutex_lock(&image->lock);
        s = image->free;
        if (s) {
            image->free = s->next;
            image->free_count--;
        } else {
            s = slot_new(image, reserved, tenant);
        }
        pthread_mutex_unlock(&image->lock);
    } else {
        s = slot_new(NULL, reserved, tenant);
    }
    if (!s)
        return NULL;
    if (image)
        image_share(image);
    if (s->tenant != tenant && !slot_map(s)) {
        s->spoilt = true;
        slot_give_back(s);
        return NULL;
    }
    s->tenant = tenant;
    if (size > s->size && !slot_grow(s, size)) {
        slot_give_back(s);
        return NULL;
    }
    return s;
}

bool slot_grow(struct slot *s, size_t size)
{
    if (size > s->reserved ||
        mprotect(s->base + s->size, size - s->size, PROT_READ | PROT_WRITE) != 0)
        return false;
    s->size = size;
    s->spoilt = true;
    return true;
}

void slot_forbid(struct slot *s)
{
    (void)mprotect(s->base, s->reserved, PROT_NONE);
}

void slot_uncover(struct slot *s)
{
    (void)mprotect(s->base, s->size, PROT_READ);
    s->spoilt = true;
}

/* Copies the image back over what was written. false: map afresh instead. */
static bool slot_reset(struct slot *s)
{
    struct page_region r[REGIONS_MAX];
    int n = find_written(s->base, s->size, r);
    if (n < 0)
        return false;
    size_t pages = 0;
    for (int i = 0; i < n; i++)
        pages += (size_t)(r[i].end - r[i].start) / PAGE;
    if (pages > RESET_PAGES_MAX)
        return false;
    for (int i = 0; i < n; i++) {
        size_t end = (size_t)(r[i].end - (uintptr_t)s->base);
        for (size_t at = (size_t)(r[i].start - (uintptr_t)s->base); at < end; at += PAGE)
            copy_page(s->image, at, s->base + at);
    }
    return true;
}

/* Windows small enough for find_written() to name every stretch in them. */
#define WINDOW ((size_t)2 * REGIONS_MAX * PAGE)

void slot_written(const struct slot *s, void (*each)(void *arg, size_t from, size_t to),
                  void *arg)
{
    for (size_t at = 0; at < s->size; at += WINDOW) {
        struct page_region r[REGIONS_MAX];
        size_t size = s->size - at < WINDOW ? s->size - at : WINDOW;
        int n = find_written(s->base + at, size, r);
        if (n < 0)
            each(arg, at, at + size);
        for (int i = 0; i < n; i++)
            each(arg, (size_t)(r[i].start - (uintptr_t)s->base),
                 (size_t)(r[i].end - (uintptr_t)s->base));
    }
}

static void add_up(void *arg, size_t from, size_t to)
{
    *(uint64_t *)arg += to - from;
}

bool slot_touched(const struct slot *s, uint64_t *bytes)
{
    if (atomic_load(&finder_now) == FIND_NONE)
        return false;
    slot_written(s, add_up, bytes);
    return true;
}

static bool same_as_image(const struct slot *s)
{
    const struct image *i = s->image;
    for (size_t at = 0; at < i->size; at += PAGE)
        if (i->holds[at / PAGE] ? memcmp(s->base + at, i->pristine + at, PAGE) != 0
                                : !page_is_zero(s->base + at))
            return false;
    return true;
}

/* Compares the whole slot with the image. A difference means that the kernel's
 * answer cannot be trusted: then never reset again. */
static bool slot_verify(struct slot *s)
{
    if (same_as_image(s))
        return true;
    log_line(LOG_ERROR, "a guest's memory was not clean after its reset; from now on "
                        "every world gets freshly mapped memory");
    atomic_store(&finder_now, FIND_NONE);
    return false;
}

void slot_give_back(struct slot *s)
{
    struct image *image = s->image;
    if (!image) {
        slot_unmap(s);
        return;
    }
    bool reset = !s->spoilt && !image->is_file && slot_reset(s);
    pthread_mutex_lock(&image->lock);
    uint64_t turn = image->resets + image->remaps;
    pthread_mutex_unlock(&image->lock);
    bool compare =
        reset && (image->verify_all || turn % VERIFY_EVERY == VERIFY_EVERY - 1);
    if (compare && !slot_verify(s))
        reset = false;
    /* Reading all of it has mapped all of it, which the next scan would have to
     * walk: so what was compared is mapped afresh, too. */
    bool usable = !image->is_file && ((reset && !compare) || slot_map(s));

    pthread_mutex_lock(&image->lock);
    image->resets += reset;
    image->remaps += !reset;
    image->verified += compare;
    if (usable && image->free_count < FREE_SLOTS_MAX) {
        s->next = image->free;
        image->free = s;
        image->free_count++;
        s = NULL;
    } else {
        image->slots--;
    }
    pthread_mutex_unlock(&image->lock);
    if (s)
        slot_unmap(s);
    /* The slot's own share of the image; a free slot keeps none, or image_drop()
     * could never be the last. */
    image_drop(image);
}
