/* Memory slots: linear memories that start as a baked image.
 *
 * A slot is a reservation of address space whose beginning is mapped privately
 * from the image: its pages that are not zero from a sealed memfd, the others as
 * fresh anonymous memory. What a world wrote is found afterwards
 * (PAGEMAP_SCAN, or the bits of /proc/self/pagemap) and copied back from the
 * image, so that the next world meets no page faults: those, not instantiation,
 * are what a fresh world costs. A page that was written stays one of the slot's own,
 * and another becomes one only by a page fault: where the thread had none since the
 * slot was taken, the pages to be copied back are those of the last search.
 *
 * An image may also be a file on the disk, of a size that resetting would not pay for (a
 * computer's memory): its slots show the file itself, where it is not a hole, and nothing
 * that was written in one outlives it, for it is unmapped.
 *
 * Isolation is this file's duty:
 * - a slot that grew, trapped or was killed, or has more written pages than
 *   RESET_PAGES_MAX, is mapped afresh;
 * - one reset in VERIFY_EVERY is compared as a whole with the image, by another thread
 *   before the slot is used again (each, and at once, where the engine was opened so, as
 *   debug builds and tests do); a difference ends resetting for good;
 * - a slot shows one image only, and is mapped afresh between tenants;
 * - a slot of a file serves one world and is unmapped, whatever that world did.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/copy.h"
#include "os/os.h"

#define RESET_PAGES_MAX 1024u /* beyond it, new page faults cost less than copies */
#define FREE_SLOTS_MAX 64u    /* kept for each image; the rest is unmapped */
#define VERIFY_EVERY 1000u
#define STAYS_MAPPED_MAX ((size_t)8 << 20) /* of an image whose slot was compared */

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

#define REGIONS_MAX 512u

enum finder { FIND_UNKNOWN, FIND_SCAN, FIND_BITS, FIND_NONE };
static atomic_int finder_now = FIND_UNKNOWN;
static atomic_bool faults_are_counted; /* does this system tell of them? */
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

/* Page faults of this thread until now, those within its system calls included. */
static uint64_t faults_now(void)
{
    struct rusage u = {0};
    (void)getrusage(RUSAGE_THREAD, &u);
    return (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
}

/* Does a first write to a page that was read count as one? */
static bool counts_faults(int fd)
{
    uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return false;
    *(volatile uint8_t *)p;
    uint64_t before = faults_now();
    *(volatile uint8_t *)p = 1;
    uint64_t after = faults_now();
    munmap(p, PAGE);
    return after > before;
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
    atomic_store(&faults_are_counted, f != FIND_NONE && counts_faults(fd));
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

/* ---- slots -------------------------------------------------------------- */

void slot_unmap(struct slot *s)
{
    guard_off(s->guarded);
    munmap(s->base, s->reserved);
    slot_bare(s);
    free(s->written);
    free(s);
}

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
    /* A large page, which the system may make of small ones at any time, would be the
     * slot's own without a fault. */
    s->faults_tell = i && !i->is_file && madvise(s->base, size, MADV_NOHUGEPAGE) == 0;
    s->size = size;
    s->spoilt = false;
    s->searched = false;
    return true;
}

bool slot_remap(struct slot *s)
{
    size_t size = s->size;
    return slot_map(s) && (size <= s->size || slot_grow(s, size)) && slot_lay(s);
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
    if ((guarded && !s->guarded) || !slot_map(s) || (guarded && !slot_lay(s))) {
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
    s->taker = pthread_self();
    s->faults = faults_now();
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

/* Bytes from..to, whole pages, as the image has them. */
static void copy_pages(const struct image *i, size_t from, size_t to, uint8_t *base)
{
    for (size_t at = from, end; at < to; at = end) {
        bool holds = i->holds[at / PAGE];
        for (end = at + PAGE; end < to && i->holds[end / PAGE] == holds;)
            end += PAGE;
        if (holds)
            memcpy(base + at, i->pristine + at, end - at);
        else
            memset(base + at, 0, end - at);
    }
}

/* Were all written pages found by the last search? What another thread wrote would count
 * as its faults: the one that took the slot is the only one that writes. */
static bool none_is_new(const struct slot *s)
{
    return s->searched && s->faults_tell &&
           atomic_load_explicit(&faults_are_counted, memory_order_relaxed) &&
           pthread_equal(s->taker, pthread_self()) && s->faults == faults_now();
}

static bool search_written(struct slot *s)
{
    if (!s->written)
        s->written = mem_new(REGIONS_MAX * sizeof *s->written);
    int n = find_written(s->base, s->size, s->written);
    s->searched = n >= 0;
    s->written_count = n < 0 ? 0 : (size_t)n;
    return s->searched;
}

/* Copies the image back over what was written. false: map afresh instead. */
static bool slot_reset(struct slot *s)
{
    if (atomic_load_explicit(&finder_now, memory_order_relaxed) == FIND_NONE ||
        (!none_is_new(s) && !search_written(s)))
        return false;
    size_t pages = 0;
    for (size_t i = 0; i < s->written_count; i++)
        pages += (size_t)(s->written[i].end - s->written[i].start) / PAGE;
    if (pages > RESET_PAGES_MAX)
        return false;
    for (size_t i = 0; i < s->written_count; i++)
        copy_pages(s->image, (size_t)(s->written[i].start - (uintptr_t)s->base),
                   (size_t)(s->written[i].end - (uintptr_t)s->base), s->base);
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
    *bytes += slot_file_bytes(s);
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

/* Comparing all of it has mapped all of it, which a search has to walk, and takes for
 * written by the older interface. Mapping it afresh costs more than a few such searches. */
static bool may_stay_mapped(const struct image *i)
{
    return i->size <= STAYS_MAPPED_MAX &&
           atomic_load_explicit(&finder_now, memory_order_relaxed) == FIND_SCAN;
}

/* After comparing: every page is mapped, and none is the slot's own. Those that worlds have
 * written are written here, as they are, or the next world would meet their faults. */
static bool slot_renew(struct slot *s)
{
    /* Takes less of what other threads wait for than mapping over it. */
    (void)madvise(s->base, s->size, MADV_DONTNEED);
    if (!slot_map(s))
        return false;
    for (size_t i = 0; i < s->written_count; i++)
        for (uint64_t at = s->written[i].start; at < s->written[i].end; at += PAGE) {
            volatile uint8_t *page = (uint8_t *)(uintptr_t)at;
            *page = *page;
        }
    return true;
}

/* Hands a slot to the next world, or unmaps it. */
static void slot_offer(struct slot *s, bool usable)
{
    struct image *image = s->image;
    pthread_mutex_lock(&image->lock);
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

void slot_compare(struct slot *s)
{
    struct image *image = s->image;
    bool clean = slot_verify(s);
    pthread_mutex_lock(&image->lock);
    image->verified++;
    image->resets -= !clean;
    image->remaps += !clean;
    pthread_mutex_unlock(&image->lock);
    slot_offer(s, clean ? may_stay_mapped(image) || slot_renew(s) : slot_map(s));
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
    image->resets += reset;
    image->remaps += !reset;
    pthread_mutex_unlock(&image->lock);
    if (!reset)
        slot_offer(s, !image->is_file && slot_map(s));
    else if (!image->verify_all && turn % VERIFY_EVERY != VERIFY_EVERY - 1)
        slot_offer(s, true);
    else if (image->verify_all || !image->verifier || !verifier_take(image->verifier, s))
        slot_compare(s);
}
