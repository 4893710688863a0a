/* The cache of compiled modules.
 *
 * $XDG_CACHE_HOME/cloche/modules, mode 0700, holds for each key K the files
 * K.cwasm and K.sum. The key is a hash over the module's bytes, how they are
 * compiled, wasmtime's version and the CPU's features; K.sum is a checksum of
 * K.cwasm. wasmtime maps K.cwasm as code and runs it: it notices other settings
 * but not damaged code, so that only our own sum decides. Whatever does not
 * match is compiled again. Both files take the time of each use; when a module is added,
 * the least recently used go until the rest fits. A folder of what was compiled ahead,
 * when the program was built, is laid out alike; its modules are not copied.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache.h"
#include "crypto/crypto.h"
#include "engine/internal.h"
#include "os/os.h"

#if defined(__x86_64__)
#include <cpuid.h>
static void cpu_features(struct buf *out)
{
    unsigned leaves[][2] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};
    for (size_t i = 0; i < LENGTH(leaves); i++) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        __get_cpuid_count(leaves[i][0], leaves[i][1], &a, &b, &c, &d);
        if (leaves[i][0] == 1)
            b = 0; /* which core this is, not what it can do */
        buf_printf(out, "%x %x %x ", b, c, d);
    }
}
#else
#include <sys/auxv.h>
static void cpu_features(struct buf *out)
{
    buf_printf(out, "%lx %lx ", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
}
#endif

#define KEY_SIZE CRYPTO_HASH_HEX
#define MODULES_BYTES ((uint64_t)2 << 30) /* of all files of the cache */
#define USE_SECONDS 3600 /* a use is noted where the last one was noted longer ago */

/* `hash` is of those bytes; NULL: it is taken here. */
static void cache_key(const struct engine *g, enum engine_kind kind, struct str wasm,
                      const char *hash, char key[static KEY_SIZE])
{
    char content[CRYPTO_HASH_HEX];
    if (!hash)
        crypto_hash_hex(wasm, content);
    scoped_buf struct buf all = buf_of(BUF_PAGE);
    buf_printf(&all, "%.64s %d %d %s 4 ", hash ? hash : content, (int)kind,
               (int)g->memory, engine_version());
    cpu_features(&all);
    crypto_hash_hex(buf_view(&all), key);
}

/* -1: there is no cache; everything is compiled anew. */
static int cache_folder(const struct engine *g)
{
    if (g->options.no_cache)
        return -1;
    struct err e = {0};
    scoped_fd int base = os_cache_dir(NULL, &e);
    if (base < 0)
        return -1;
    if (!os_make_dirs(base, "modules", &e))
        return -1;
    scoped_fd int folder =
        os_open_beneath(base, "modules", O_RDONLY | O_DIRECTORY, 0, &e);
    struct stat st;
    if (folder < 0 || fstat(folder, &st) != 0 || st.st_uid != geteuid() ||
        st.st_mode & 022)
        return -1; /* who may write there could make a sum that matches, too */
    int ours = folder;
    folder = -1;
    return ours;
}

static bool sum_matches(int folder, const char *key, int fd)
{
    char name[KEY_SIZE + 8];
    (void)snprintf(name, sizeof name, "%s.sum", key);
    struct err e = {0};
    scoped_buf struct buf sum = buf_of(CRYPTO_SUM_HEX);
    struct stat st;
    if (!os_read_file(folder, name, &sum, NULL, &e) || fstat(fd, &st) != 0 ||
        st.st_size <= 0)
        return false;
    size_t size = (size_t)st.st_size;
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return false;
    char now[CRYPTO_SUM_HEX];
    crypto_sum_hex(str_of(key), (struct str){p, size}, now);
    munmap(p, size);
    return str_is(buf_view(&sum), now);
}

static wasmtime_module_t *module_map(wasm_engine_t *native, int folder, const char *key)
{
    char name[KEY_SIZE + 8], path[64];
    (void)snprintf(name, sizeof name, "%s.cwasm", key);
    struct err e = {0};
    scoped_fd int fd = os_open_beneath(folder, name, O_RDONLY, 0, &e);
    if (fd < 0 || !sum_matches(folder, key, fd))
        return NULL;
    /* By the descriptor, so that it is the file whose sum was taken. */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    wasmtime_module_t *m = NULL;
    wasmtime_error_t *error = wasmtime_module_deserialize_file(native, path, &m);
    if (!error)
        return m;
    wasmtime_error_delete(error);
    return NULL;
}

static bool store(wasmtime_module_t *m, int folder, const char *key, unsigned mode,
                  struct err *e)
{
    wasm_byte_vec_t bytes;
    wasmtime_error_t *error = wasmtime_module_serialize(m, &bytes);
    if (error)
        return engine_failure(e, ERR_IO, "cannot keep a compiled module", error, NULL);
    struct str all = {bytes.data, bytes.size};
    char sum[CRYPTO_SUM_HEX], name[KEY_SIZE + 8];
    crypto_sum_hex(str_of(key), all, sum);
    (void)snprintf(name, sizeof name, "%s.cwasm", key);
    bool ok = os_write_file(folder, name, all, OS_REPLACE, mode, NULL, e);
    (void)snprintf(name, sizeof name, "%s.sum", key);
    ok = ok && os_write_file(folder, name, str_of(sum), OS_REPLACE, mode, NULL, e);
    wasm_byte_vec_delete(&bytes);
    return ok;
}

static wasmtime_module_t *load_ahead(const struct engine *g, wasm_engine_t *native,
                                     const char *key)
{
    struct err none = {0};
    scoped_fd int folder = g->options.ahead ? os_dir_open(g->options.ahead, &none) : -1;
    return folder < 0 ? NULL : module_map(native, folder, key);
}

static void module_note_use(int folder, const char *key)
{
    static const char *const endings[] = {"cwasm", "sum"};
    struct stat st;
    for (size_t i = 0; i < LENGTH(endings); i++) {
        char name[KEY_SIZE + 8];
        (void)snprintf(name, sizeof name, "%s.%s", key, endings[i]);
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            os_real_ms() / 1000 - st.st_mtime > USE_SECONDS)
            (void)utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

/* `folder`: of the cache, -1 where there is none. */
static wasmtime_module_t *cache_find_module(const struct engine *g, wasm_engine_t *native,
                                            int folder, const char *key)
{
    wasmtime_module_t *m = folder >= 0 ? module_map(native, folder, key) : NULL;
    if (m)
        module_note_use(folder, key);
    return m ? m : load_ahead(g, native, key);
}

static wasmtime_module_t *module_compile(wasm_engine_t *native, struct str wasm,
                                         struct err *e)
{
    wasmtime_module_t *m = NULL;
    wasmtime_error_t *error =
        wasmtime_module_new(native, (const uint8_t *)wasm.at, wasm.n, &m);
    if (error)
        engine_failure(e, ERR_INVALID, "not a Wasm module that can be used", error, NULL);
    return error ? NULL : m;
}

bool module_compile_ahead(struct engine *g, enum engine_kind kind, struct str wasm,
                          int dir, struct err *e)
{
    char key[KEY_SIZE];
    wasm_engine_t *native = engine_native(g, kind, e);
    if (!native)
        return false;
    cache_key(g, kind, wasm, NULL, key);
    wasmtime_module_t *m = module_map(native, dir, key);
    bool ok = m != NULL;
    if (!ok && (m = module_compile(native, wasm, e)))
        ok = store(m, dir, key, 0644, e);
    if (m)
        wasmtime_module_delete(m);
    return ok;
}

static wasmtime_module_t *take_in(wasm_engine_t *native, struct str compiled,
                                  struct err *e)
{
    wasmtime_module_t *m = NULL;
    wasmtime_error_t *error =
        wasmtime_module_deserialize(native, (const uint8_t *)compiled.at, compiled.n, &m);
    if (error)
        engine_failure(e, ERR_IO, "cannot take in a compiled module", error, NULL);
    return error ? NULL : m;
}

wasmtime_module_t *cache_compile(struct engine *g, enum engine_kind kind,
                                 const struct module_source *s, struct err *e)
{
    wasm_engine_t *native = engine_native(g, kind, e);
    if (!native)
        return NULL;
    char key[KEY_SIZE];
    scoped_fd int folder = cache_folder(g);
    cache_key(g, kind, s->wasm, s->wasm_hash, key);
    wasmtime_module_t *m = cache_find_module(g, native, folder, key);
    if (!m && s->wasm_hash) {
        /* Never to be kept under a hash that is not its own. */
        cache_key(g, kind, s->wasm, NULL, key);
        m = cache_find_module(g, native, folder, key);
    }
    if (m)
        return m;
    if (s->never_compile) {
        err_set(e, ERR_NOT_FOUND, "the module was not compiled yet");
        return NULL;
    }
    m = s->compiled.n ? take_in(native, s->compiled, e)
                      : module_compile(native, s->wasm, e);
    if (!m || folder < 0)
        return m;
    /* Best effort: a full disk must not keep a module from running. The mapped file
     * is better than our copy of it: its pages can be given back and are shared
     * between processes. */
    struct err none = {0};
    wasmtime_module_t *mapped =
        store(m, folder, key, 0600, &none) ? module_map(native, folder, key) : NULL;
    cache_trim(folder, g->options.cache_bytes ? g->options.cache_bytes : MODULES_BYTES);
    if (!mapped)
        return m;
    wasmtime_module_delete(m);
    return mapped;
}
