#include "vm/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/bake.h"
#include "vm/computer.h"
#include "vm/tidy.h"
#include "vm/vm.h"

#define FORMAT "cloche-machine1" /* with its NUL 16 bytes */
#define KERNEL "Image"
#define ROOT "root.erofs"
#define DISK "disk.ext4"
#define EMULATOR "vm.bare.wasm"
#define EMULATOR_IMAGE "vm.img"
#define SAMPLES 16u /* pages of a file in its fingerprint */
#define BAKE_WAIT_MS 100u

struct images {
    struct engine *engine;
    struct engine *own_engine; /* used if the given one cannot have such memories */
    char *cache;               /* NULL: none */
    int folder, guest;         /* open folders */
    int root_fd, disk_fd, cache_fd;
    uint64_t root_bytes, disk_bytes;
    unsigned char key[CRYPTO_BLAKE2B];
    char wasm_hash[CRYPTO_HASH_HEX];
    pthread_mutex_t lock;   /* guards `first` */
    pthread_mutex_t baking; /* one at a time in a process */
    struct baked *first;
};

/* ---- opening ---------------------------------------------------------------- */

static int image_open_part(int folder, const char *name, uint64_t *bytes, struct err *e)
{
    struct err why = {0};
    scoped_fd int fd = os_open_beneath(folder, name, O_RDONLY, 0, &why);
    struct stat st;
    if (fd < 0) {
        err_set(e, why.code == ERR_NOT_FOUND ? ERR_NOT_FOUND : ERR_IO,
                "the machine's image lacks '%s': %s", name, why.msg);
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
        err_set(e, ERR_INVALID, "'%s' of the machine's image is not a file", name);
        return -1;
    }
    *bytes = (uint64_t)st.st_size;
    int out = fd;
    fd = -1;
    return out;
}

/* A fingerprint to tell a file from another build's without reading all of it; no
 * protection against tampering: the folder is trusted like the program. */
static bool put_fingerprint(struct buf *out, int fd, uint64_t bytes)
{
    char page[IMAGE_PAGE];
    buf_put(out, &bytes, sizeof bytes);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        ssize_t n = pread(fd, page, sizeof page,
                          (off_t)(bytes / SAMPLES * i / IMAGE_PAGE * IMAGE_PAGE));
        if (n < 0)
            return false;
        buf_put(out, page, (size_t)n);
    }
    return true;
}

static bool make_key(struct images *i, struct err *e)
{
    scoped_buf struct buf all, wasm;
    buf_init(&all, (SAMPLES * 3 + 1) * IMAGE_PAGE);
    buf_init(&wasm, BUF_ANSWER);
    uint64_t kernel_bytes;
    scoped_fd int kernel = image_open_part(i->folder, KERNEL, &kernel_bytes, e);
    if (kernel < 0 || !os_read_file(i->guest, EMULATOR, &wasm, NULL, e))
        return false;
    crypto_hash_hex(buf_view(&wasm), i->wasm_hash);
    buf_put(&all, FORMAT, sizeof FORMAT);
    buf_cstr(&all, i->wasm_hash);
    if (!put_fingerprint(&all, kernel, kernel_bytes) ||
        !put_fingerprint(&all, i->root_fd, i->root_bytes) ||
        !put_fingerprint(&all, i->disk_fd, i->disk_bytes))
        return err_set(e, ERR_IO, "cannot read the machine's image: %m");
    crypto_blake2b(buf_view(&all), i->key);
    return true;
}

/* wasmtime's pool has no memories as large as a machine's. */
static bool choose_engine(struct images *i, struct engine *g, struct err *e)
{
    i->engine = g;
    if (engine_memory_used(g) != ENGINE_MEMORY_POOL)
        return true;
    struct engine_options o = {.memory = ENGINE_MEMORY_SMALL};
    i->engine = i->own_engine = engine_open(&o, e);
    return i->engine != NULL;
}

static bool images_open_parts(struct images *i, const char *folder, struct err *e)
{
    char path[4096];
    struct err why = {0}; /* names the folder, which is hidden from callers */
    int n = snprintf(path, sizeof path, "%s/../guest", folder);
    if (n < 0 || n >= (int)sizeof path)
        return err_set(e, ERR_INVALID, "the path of the machine's image is too long");
    i->folder = os_dir_open(folder, &why);
    if (i->folder < 0)
        return err_set(e, ERR_NOT_FOUND,
                       "no Linux machine is installed: 'make vm' in Cloche's own folder "
                       "adds it") ||
               err_because(e, CAUSE_NOT_INSTALLED);
    i->guest = os_dir_open(path, &why);
    if (i->guest < 0)
        return err_set(e, ERR_NOT_FOUND,
                       "the guests beside the Linux machine's image are missing: 'make "
                       "all' in Cloche's own folder builds them") ||
               err_because(e, CAUSE_NOT_INSTALLED);
    i->root_fd = i->guest < 0 ? -1 : image_open_part(i->folder, ROOT, &i->root_bytes, e);
    i->disk_fd =
        i->root_fd < 0 ? -1 : image_open_part(i->folder, DISK, &i->disk_bytes, e);
    if (i->disk_fd < 0)
        return false;
    if (i->disk_bytes % DISK_BLOCK || i->disk_bytes > DISK_MAX)
        return err_set(e, ERR_INVALID, "'" DISK "' of the machine's image has %llu bytes",
                       (unsigned long long)i->disk_bytes);
    return make_key(i, e);
}

bool vm_is_installed(const char *folder)
{
    struct err none = {0};
    scoped_fd int dir = os_dir_open(folder, &none);
    return dir >= 0 && os_stamp(dir, ROOT).inode && os_stamp(dir, DISK).inode;
}

struct images *images_open_raw(struct engine *g, const char *folder, const char *cache,
                               struct err *e)
{
    scoped(images_close) struct images *i = mem_new(sizeof *i);
    i->folder = i->guest = i->root_fd = i->disk_fd = i->cache_fd = -1;
    i->cache = cache ? mem_strdup(cache) : NULL;
    pthread_mutex_init(&i->lock, NULL);
    pthread_mutex_init(&i->baking, NULL);
    if (!choose_engine(i, g, e) || !images_open_parts(i, folder, e))
        return NULL;
    struct err none = {0}; /* written blocks are in memory then */
    i->cache_fd = cache ? os_dir_make(cache, 0700, &none) : -1;
    return take(i);
}

static void baked_free(struct baked *b)
{
    module_close(b->module);
    os_close(b->fd);
    free(b->numbers);
    free(b);
}

void images_close(struct images *i)
{
    if (!i)
        return;
    for (struct baked *b = i->first, *next; b; b = next) {
        next = b->next;
        baked_free(b);
    }
    os_close(i->folder);
    os_close(i->guest);
    os_close(i->root_fd);
    os_close(i->disk_fd);
    os_close(i->cache_fd);
    engine_close(i->own_engine);
    pthread_mutex_destroy(&i->lock);
    pthread_mutex_destroy(&i->baking);
    free(i->cache);
    free(i);
}

const unsigned char *images_key(const struct images *i)
{
    return i->key;
}

uint64_t images_disk_blocks(const struct images *i)
{
    return i->disk_bytes / DISK_BLOCK;
}

void images_disks(struct images *i, const struct disk_delta *delta,
                  struct disk_copy *copy, uint64_t quota_bytes, struct disk *out[2])
{
    uint64_t whole = (i->root_bytes + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK;
    out[0] = disk_open(&(struct disk_options){
        .base = i->root_fd, .bytes = whole, .read_only = true, .folder = -1});
    out[1] = disk_open(
        &(struct disk_options){.base = i->disk_fd,
                               .bytes = i->disk_bytes,
                               .quota_bytes = quota_bytes,
                               .folder = i->cache_fd,
                               .copy = copy,
                               .delta = delta ? *delta : (struct disk_delta){.fd = -1}});
}

/* ---- modules ------------------------------------------------------------------- */

/* Opens the emulator's module with the memory of `file`, or (NULL) as built. */
static struct module *open_module(struct images *i, const struct image_file *file,
                                  struct err *e)
{
    struct str wasm = {0}, image = {0};
    struct module *m = NULL;
    if (os_map_file(i->guest, EMULATOR, &wasm, e) &&
        (file || os_map_file(i->guest, EMULATOR_IMAGE, &image, e))) {
        struct module_source s = {
            .wasm = wasm, .wasm_hash = i->wasm_hash, .image = image, .file = file};
        s.imports = computer_imports(&s.import_count);
        m = module_open(i->engine, ENGINE_OWN, &s, e);
    }
    os_unmap(&wasm);
    os_unmap(&image);
    return m;
}

/* ---- .mem files ------------------------------------------------------------------- */

static void file_name(const struct images *i, uint32_t ram_mb, bool cached,
                      char out[static 64])
{
    uint64_t key;
    memcpy(&key, i->key, sizeof key);
    if (cached)
        (void)snprintf(out, 64, "machine-%u-%016llx.mem", ram_mb,
                       (unsigned long long)key);
    else
        (void)snprintf(out, 64, "machine-%u.mem", ram_mb);
}

static void sum_head(const struct image_head *h, unsigned char out[static CRYPTO_BLAKE2B])
{
    crypto_blake2b((struct str){(const char *)h, offsetof(struct image_head, sum)}, out);
}

static bool head_check(const struct images *i, int fd, uint32_t ram_mb,
                       const struct image_head *h, struct err *e)
{
    unsigned char sum[CRYPTO_BLAKE2B];
    struct stat st;
    sum_head(h, sum);
    if (fstat(fd, &st) != 0)
        return err_set(e, ERR_IO, "cannot look at a machine's memory: %m");
    uint64_t size = (uint64_t)st.st_size;
    bool sound = S_ISREG(st.st_mode) && !memcmp(h->magic, FORMAT, sizeof h->magic) &&
                 !memcmp(h->sum, sum, sizeof sum) && h->ram_mb == ram_mb &&
                 h->memory_at == IMAGE_PAGE &&
                 h->memory_bytes == VM_RAM_AT + ((uint64_t)ram_mb << 20) &&
                 h->numbers_at == h->memory_at + h->memory_bytes &&
                 h->block_count <= i->disk_bytes / DISK_BLOCK &&
                 h->blocks_at >= h->numbers_at + (uint64_t)h->block_count * 4 &&
                 h->blocks_at <= size &&
                 size - h->blocks_at >= (uint64_t)h->block_count * DISK_BLOCK;
    if (!sound)
        return err_set(e, ERR_INVALID,
                       "the image of a machine with %u MB is damaged or cut short",
                       ram_mb);
    if (memcmp(h->key, i->key, sizeof h->key) != 0)
        return err_set(
            e, ERR_INVALID,
            "the image of a machine with %u MB is another build's; `make vm` makes it "
            "anew",
            ram_mb);
    return true;
}

static bool read_numbers(struct baked *b, const struct image_head *h, struct err *e)
{
    size_t n = (size_t)h->block_count * sizeof *b->numbers;
    b->numbers = mem_new(n + 1); /* bounded by the disk's size, checked by head_check() */
    if (pread(b->fd, b->numbers, n, (off_t)h->numbers_at) != (ssize_t)n)
        return err_set(e, ERR_IO, "cannot read a machine's image: %m");
    for (uint32_t k = 1; k < h->block_count; k++)
        if (b->numbers[k] <= b->numbers[k - 1])
            return err_set(e, ERR_INVALID, "a machine's image is damaged");
    b->delta = (struct disk_delta){b->fd, h->blocks_at, b->numbers, h->block_count};
    return true;
}

/* NULL with *e; owns the descriptor. */
static struct baked *image_load(struct images *i, int fd, uint32_t ram_mb, struct err *e)
{
    struct baked *b = mem_new(sizeof *b);
    struct image_head h;
    b->fd = fd;
    b->ram_mb = ram_mb;
    ssize_t n = pread(fd, &h, sizeof h, 0);
    bool ok = (n == (ssize_t)sizeof h ||
               err_set(e, ERR_INVALID, "a machine's image is cut short")) &&
              head_check(i, fd, ram_mb, &h, e) && read_numbers(b, &h, e);
    b->memory_bytes = ok ? h.memory_bytes : 0;
    if (ok)
        b->module =
            open_module(i, &(struct image_file){fd, h.memory_at, h.memory_bytes}, e);
    if (b->module)
        return b;
    baked_free(b);
    return NULL;
}

/* NULL without *e: none. */
static struct baked *load_from(struct images *i, int folder, uint32_t ram_mb, bool cached,
                               struct err *e)
{
    char name[64];
    struct err why = {0};
    file_name(i, ram_mb, cached, name);
    int fd = os_open_beneath(folder, name, O_RDONLY | O_NOFOLLOW, 0, &why);
    if (fd < 0)
        return NULL;
    return image_load(i, fd, ram_mb, e);
}

/* ---- writing images ---------------------------------------------------------------- */

static bool write_at(int fd, const void *from, size_t n, uint64_t at, struct err *e)
{
    for (const char *p = from; n > 0;) {
        ssize_t put = pwrite(fd, p, n, (off_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return err_set(e, ERR_IO, "cannot write a machine's image: %m");
        p += put;
        n -= (size_t)put;
        at += (uint64_t)put;
    }
    return true;
}

static bool is_zero(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, IMAGE_PAGE - 1) == 0;
}

/* Pages of zeros become holes. */
static bool write_sparse(int fd, struct str bytes, uint64_t at, struct err *e)
{
    for (size_t from = 0, to; from < bytes.n; from = to) {
        to = from + IMAGE_PAGE;
        if (is_zero(bytes.at + from))
            continue;
        while (to < bytes.n && !is_zero(bytes.at + to))
            to += IMAGE_PAGE;
        if (!write_at(fd, bytes.at + from, to - from, at + from, e))
            return false;
    }
    return true;
}

static bool image_write_blocks(int fd, struct disk *d, const struct image_head *h,
                               const uint32_t *numbers, struct err *e)
{
    char block[DISK_BLOCK];
    for (uint32_t k = 0; k < h->block_count; k++) {
        if (!disk_read(d, (uint64_t)numbers[k] * DISK_BLOCK, block, sizeof block))
            return err_set(e, ERR_IO, "cannot read a machine's disk: %m");
        if (!write_at(fd, block, sizeof block, h->blocks_at + (uint64_t)k * DISK_BLOCK,
                      e))
            return false;
    }
    return true;
}

static bool write_memory_file(const struct images *i, uint32_t ram_mb, struct computer *c,
                              struct disk *d, int fd, struct err *e)
{
    scoped_buf struct buf numbers;
    buf_init(&numbers, BUF_ANSWER);
    disk_changed(d, &numbers);
    if (!buf_check(&numbers, "the machine's disk", e))
        return false;
    struct str memory = computer_memory(c);
    struct image_head h = {.ram_mb = ram_mb,
                           .block_count = (uint32_t)(numbers.n / 4),
                           .memory_at = IMAGE_PAGE,
                           .memory_bytes = memory.n,
                           .numbers_at = IMAGE_PAGE + memory.n};
    h.blocks_at = (h.numbers_at + numbers.n + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
    memcpy(h.magic, FORMAT, sizeof h.magic);
    memcpy(h.key, i->key, sizeof h.key);
    sum_head(&h, h.sum);
    uint64_t end = h.blocks_at + (uint64_t)h.block_count * DISK_BLOCK;
    if (ftruncate(fd, (off_t)end) != 0)
        return err_set(e, ERR_IO, "cannot write a machine's image: %m");
    return write_sparse(fd, memory, h.memory_at, e) &&
           write_at(fd, numbers.at, numbers.n, h.numbers_at, e) &&
           image_write_blocks(fd, d, &h, (const uint32_t *)(const void *)numbers.at, e) &&
           write_at(fd, &h, sizeof h, 0, e) &&
           (fsync(fd) == 0 || err_set(e, ERR_IO, "cannot write a machine's image: %m"));
}

/* Boots a machine and writes its image into an open file. */
static bool bake_into(struct images *i, uint32_t ram_mb, int fd, struct cancel *cancel,
                      struct err *e)
{
    struct str kernel = {0};
    struct bake b = {.ram_mb = ram_mb, .cancel = cancel};
    scoped(module_close) struct module *m = open_module(i, NULL, e);
    if (!m || !os_map_file(i->folder, KERNEL, &kernel, e))
        return false;
    b.module = m;
    b.kernel = kernel;
    images_disks(i, NULL, NULL, i->disk_bytes, b.disks);
    struct computer *c = bake_machine(&b, e);
    bool ok = c && write_memory_file(i, ram_mb, c, b.disks[1], fd, e);
    computer_close(c);
    disk_close(b.disks[0]);
    disk_close(b.disks[1]);
    os_unmap(&kernel);
    return ok;
}

/* Writes `name` in the folder, read-only and atomically. */
static bool bake_as(struct images *i, uint32_t ram_mb, int folder, const char *name,
                    struct cancel *cancel, struct err *e)
{
    char draft[96];
    (void)snprintf(draft, sizeof draft, ".%s.%d.tmp", name, (int)getpid());
    (void)unlinkat(folder, draft, 0);
    scoped_fd int fd =
        os_open_beneath(folder, draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0444, e);
    if (fd < 0)
        return false;
    bool ok = bake_into(i, ram_mb, fd, cancel, e) &&
              (renameat(folder, draft, folder, name) == 0 ||
               err_set(e, ERR_IO, "cannot keep a machine's image: %m"));
    if (!ok)
        (void)unlinkat(folder, draft, 0);
    return ok;
}

bool images_bake(struct images *i, uint32_t ram_mb, struct err *e)
{
    char name[64];
    file_name(i, ram_mb, false, name);
    return bake_as(i, ram_mb, i->folder, name, NULL, e);
}

/* ---- images made on demand ------------------------------------------------------------ */

/* Only one process bakes; the others wait for its image. */
static int wait_for_turn(struct images *i, uint32_t ram_mb, struct cancel *cancel,
                         struct err *e)
{
    for (;;) {
        struct err why = {0};
        int lock = os_lock(i->cache_fd, "machines.lock", ram_mb, BAKE_WAIT_MS, &why);
        if (lock >= 0)
            return lock;
        if (why.code != ERR_BUSY)
            return err_pass(e, &why), -1;
        if (cancel_fired(cancel))
            return err_set(e, ERR_CANCELLED, "cancelled while a machine was made ready"),
                   -1;
    }
}

static struct baked *load_or_bake(struct images *i, uint32_t ram_mb,
                                  struct cancel *cancel, struct err *e)
{
    char name[64];
    struct err unfit = {0};
    if (i->cache_fd < 0) {
        err_set(e, ERR_IO, "'%.200s' cannot be opened, where it would be kept", i->cache);
        return NULL;
    }
    scoped_fd int lock = wait_for_turn(i, ram_mb, cancel, e);
    if (lock < 0)
        return NULL;
    struct baked *b = load_from(i, i->cache_fd, ram_mb, true, &unfit);
    if (b) {
        tidy_used(b->fd);
        return b;
    }
    file_name(i, ram_mb, true, name);
    tidy_drafts(i->cache_fd, ram_mb);
    if (!bake_as(i, ram_mb, i->cache_fd, name, cancel, e))
        return NULL;
    tidy_images(i->cache_fd, IMAGE_SIZES_MAX);
    return load_from(i, i->cache_fd, ram_mb, true, e);
}

/* ---- lookup --------------------------------------------------------------------------- */

static struct baked *baked_find(struct images *i, uint32_t ram_mb)
{
    struct baked *b = i->first;
    while (b && b->ram_mb != ram_mb)
        b = b->next;
    return b;
}

/* Each open image has descriptors and a compiled module. */
static bool is_room(struct images *i, struct err *e)
{
    unsigned count = 0;
    pthread_mutex_lock(&i->lock);
    for (const struct baked *b = i->first; b; b = b->next)
        count++;
    pthread_mutex_unlock(&i->lock);
    return count < IMAGE_SIZES_MAX ||
           err_set(
               e, ERR_LIMIT,
               "machines of %u different sizes of memory were started already, as many "
               "as may be: choose a size that was used before, or none",
               count);
}

/* The existing image. NULL without *e: none of that size. */
static struct baked *find_or_load(struct images *i, uint32_t ram_mb, struct err *e)
{
    pthread_mutex_lock(&i->lock);
    struct baked *b = baked_find(i, ram_mb);
    if (!b && (b = load_from(i, i->folder, ram_mb, false, e))) {
        b->next = i->first;
        i->first = b;
    }
    pthread_mutex_unlock(&i->lock);
    return b;
}

static const struct baked *image_make(struct images *i, uint32_t ram_mb,
                                      struct cancel *cancel, struct err *e)
{
    pthread_mutex_lock(&i->baking);
    pthread_mutex_lock(&i->lock);
    struct baked *b = baked_find(i, ram_mb);
    pthread_mutex_unlock(&i->lock);
    if (!b && is_room(i, e) && (b = load_or_bake(i, ram_mb, cancel, e))) {
        pthread_mutex_lock(&i->lock);
        b->next = i->first;
        i->first = b;
        pthread_mutex_unlock(&i->lock);
    }
    pthread_mutex_unlock(&i->baking);
    return b;
}

const struct baked *images_get(struct images *i, uint32_t ram_mb, struct cancel *cancel,
                               struct err *e)
{
    if (ram_mb < VM_RAM_MIN_MB || ram_mb > VM_RAM_MAX_MB) {
        err_set(e, ERR_INVALID, "a machine has %u to %u MB of RAM, not %u", VM_RAM_MIN_MB,
                VM_RAM_MAX_MB, ram_mb);
        return NULL;
    }
    const struct baked *b = find_or_load(i, ram_mb, e);
    if (b || e->code)
        return b;
    if (!i->cache) {
        err_set(e, ERR_NOT_FOUND,
                "no image of a machine with %u MB of RAM is there, and no cache to make "
                "one in",
                ram_mb);
        return NULL;
    }
    return image_make(i, ram_mb, cancel, e);
}

struct images *images_open(struct engine *g, const char *folder, const char *cache,
                           struct err *e)
{
    scoped(images_close) struct images *i = images_open_raw(g, folder, cache, e);
    return i && (images_get(i, VM_RAM_DEFAULT_MB, NULL, e) ||
                 (e->code == ERR_NONE && err_set(e, ERR_NOT_FOUND, "no machine")))
               ? take(i)
               : NULL;
}
