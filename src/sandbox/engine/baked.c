/* Guests of ours, as the bake wrote them, and what the build made ready of them.
 *
 * Beside the program lie NAME.bare.wasm, NAME.img (the memory that worlds begin with, which
 * is mapped, not read) and NAME.id (a hash of both, so that nobody has to take one). What a
 * first world makes of a text, such as the table of host calls, is kept in the folder of
 * modules compiled ahead, by the hash of all that it hangs on: one page of head, then the
 * memory. Where there is none of that text, a first world makes it, as the build did. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "engine/internal.h"
#include "os/os.h"

static const char magic[8] = "ready 1";

struct ready_head {
    char magic[sizeof magic];
    uint64_t bytes;
    uint64_t notes[BAKED_NOTES];
};

/* ---- as it was baked ------------------------------------------------------ */

struct parts {
    struct str wasm;
    int image;
    uint64_t image_bytes;
    char id[2 * CRYPTO_HASH_HEX]; /* of the module, of the image; "": not known */
};

static int baked_open_part(int dir, const struct baked_guest *b, const char *ending,
                           uint64_t *bytes, struct err *e)
{
    char name[64];
    struct stat st;
    (void)snprintf(name, sizeof name, "%s%s", b->name, ending);
    int fd = os_open_beneath(dir, name, O_RDONLY, 0, e);
    *bytes = fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    return fd;
}

static void read_id(int dir, const struct baked_guest *b, struct parts *p)
{
    uint64_t bytes;
    struct err none = {0};
    scoped_fd int fd = baked_open_part(dir, b, ".id", &bytes, &none);
    ssize_t n = fd >= 0 ? read(fd, p->id, sizeof p->id - 1) : 0;
    p->id[n == sizeof p->id - 1 ? n : 0] = '\0';
}

static bool baked_open_parts(const struct baked_guest *b, struct parts *p, struct err *e)
{
    char name[64];
    scoped_fd int dir = os_dir_open(b->dir, e);
    (void)snprintf(name, sizeof name, "%s.bare.wasm", b->name);
    if (dir < 0 || !os_map_file(dir, name, &p->wasm, e) ||
        (p->image = baked_open_part(dir, b, ".img", &p->image_bytes, e)) < 0)
        return false;
    read_id(dir, b, p);
    return true;
}

static struct module *open_as_baked(struct engine *g, enum engine_kind kind,
                                    const struct baked_guest *b, const struct parts *p,
                                    const struct image_file *image, struct err *e)
{
    char hash[CRYPTO_HASH_HEX] = "";
    memcpy(hash, p->id, sizeof hash - 1);
    struct module_source source = {.wasm = p->wasm,
                                   .wasm_hash = *hash ? hash : NULL,
                                   .file = image,
                                   .beside = true,
                                   .imports = b->imports,
                                   .import_count = b->import_count};
    return module_open(g, kind, &source, e);
}

/* ---- made ready ------------------------------------------------------------ */

static void name_of(const struct baked_guest *b, enum engine_kind kind,
                    const struct parts *p, char name[static CRYPTO_HASH_HEX + 8])
{
    char text[CRYPTO_HASH_HEX], key[CRYPTO_HASH_HEX];
    scoped_buf struct buf all = buf_of(BUF_LINE);
    crypto_hash_hex(b->first->text, text);
    buf_printf(&all, "%s %s %d", p->id, text, (int)kind);
    crypto_hash_hex(buf_view(&all), key);
    (void)snprintf(name, CRYPTO_HASH_HEX + 8, "%s.ready", key);
}

static struct module *open_ready(struct engine *g, enum engine_kind kind,
                                 const struct baked_guest *b, const struct parts *p,
                                 uint64_t *notes)
{
    char name[CRYPTO_HASH_HEX + 8];
    struct err none = {0};
    struct ready_head head;
    if (!*p->id || !g->options.ahead)
        return NULL;
    name_of(b, kind, p, name);
    scoped_fd int folder = os_dir_open(g->options.ahead, &none);
    scoped_fd int fd =
        folder >= 0 ? os_open_beneath(folder, name, O_RDONLY, 0, &none) : -1;
    if (fd < 0 || pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.magic, magic, sizeof magic) != 0)
        return NULL;
    memcpy(notes, head.notes, sizeof head.notes);
    return open_as_baked(g, kind, b, p, &(struct image_file){fd, PAGE, head.bytes},
                         &none);
}

/* Only the build asks for it. What it could not write is made again at each start. */
static bool write_ready(struct engine *g, const char *name, struct str memory,
                        const uint64_t *notes, struct err *e)
{
    struct ready_head head = {.bytes = memory.n};
    static const char zeros[PAGE];
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.notes, notes, sizeof head.notes);
    scoped_fd int folder = os_dir_open(g->options.ahead, e);
    if (folder < 0)
        return false;
    (void)unlinkat(folder, name, 0);
    scoped_fd int fd =
        os_open_beneath(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0644, e);
    bool ok = fd >= 0 && pwrite(fd, &head, sizeof head, 0) == sizeof head;
    for (size_t at = 0; ok && at < memory.n; at += PAGE)
        ok = memcmp(memory.at + at, zeros, PAGE) == 0 ||
             pwrite(fd, memory.at + at, PAGE, (off_t)(PAGE + at)) == PAGE;
    return (ok && ftruncate(fd, (off_t)(PAGE + memory.n)) == 0) ||
           err_set(e, ERR_IO, "cannot write %s", name);
}

static struct module *baked_make_ready(struct engine *g, enum engine_kind kind,
                                       const struct baked_guest *b, const struct parts *p,
                                       uint64_t *notes, struct err *e)
{
    char name[CRYPTO_HASH_HEX + 8];
    const struct baked_first *first = b->first;
    struct image_file image = {p->image, 0, p->image_bytes};
    scoped(module_close) struct module *bare = open_as_baked(g, kind, b, p, &image, e);
    if (!bare)
        return NULL;
    struct world_limits limits = {.memory_bytes = first->memory_bytes};
    scoped(world_close) struct world *w = world_open(bare, &limits, first->data, e);
    if (!w || !first->prepare(w, first->arg, notes, e))
        return NULL;
    if (g->options.make_ready && *p->id) {
        name_of(b, kind, p, name);
        if (!write_ready(g, name, world_memory(w), notes, e))
            return NULL;
    }
    return module_freeze(w, e);
}

struct module *module_open_baked(struct engine *g, enum engine_kind kind,
                                 const struct baked_guest *b,
                                 uint64_t notes[static BAKED_NOTES], struct err *e)
{
    struct parts p = {.image = -1};
    struct module *m = NULL;
    if (!baked_open_parts(b, &p, e))
        ;
    else if (!b->first)
        m = open_as_baked(g, kind, b, &p, &(struct image_file){p.image, 0, p.image_bytes},
                          e);
    else if (g->options.make_ready || !(m = open_ready(g, kind, b, &p, notes)))
        m = baked_make_ready(g, kind, b, &p, notes, e);
    os_unmap(&p.wasm);
    os_close(p.image);
    return m;
}
