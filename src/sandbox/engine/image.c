/* Images: what linear memories begin as. Bytes, which are copied into a sealed memfd; or a
 * file, which is mapped as it is. slot.c lays them over memories. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "engine/image.h"
#include "os/os.h"

#define GAP_MAX ((size_t)16 * PAGE)
#define FILE_STRETCHES_MAX 4096u /* the system allows 65,530 mappings a process */

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

/* Where memfd_create is refused, the image is plain memory, and no slot will
 * ask for its descriptor. */
static bool image_fill(struct image *i, const uint8_t *bytes, struct err *e)
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
    if (image_fill(i, bytes, e))
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

static bool image_check_file(const struct image_file *f, struct err *e)
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
    if (!image_check_file(f, e))
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

/* A file that is trusted as the program's own is mapped itself: none of it is copied, and
 * pages that nobody writes are shared with all other processes. */
static bool show_program_file(struct image *i, struct err *e)
{
    void *p = mmap(NULL, i->size, PROT_READ, MAP_SHARED, i->fd, i->fd_at);
    if (p == MAP_FAILED)
        return err_set(e, ERR_IO, "cannot map an image of memory: %m");
    i->pristine = p;
    i->holds = mem_new(i->size / PAGE);
    for (size_t k = 0; k < i->stretch_count; k++)
        memset(i->holds + i->stretches[k].from / PAGE, 1,
               (i->stretches[k].to - i->stretches[k].from) / PAGE);
    return true;
}

struct image *image_of_program(const struct image_file *f, bool verify_all, struct err *e)
{
    struct image *i = image_of_file(f, e);
    if (!i)
        return NULL;
    i->is_file = false;
    i->verify_all = verify_all;
    if (show_program_file(i, e))
        return i;
    image_drop(i);
    return NULL;
}

void image_set_verifier(struct image *i, struct verifier *v)
{
    i->verifier = v;
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
static void image_make_id(struct image *i)
{
    scoped_buf struct buf sums = buf_of(SIZE_MAX / 2);
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
        image_make_id(i);
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
