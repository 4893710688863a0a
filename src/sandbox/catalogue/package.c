/* Takes a ZIP apart with libzip, after layout.c has looked how it is laid out. Whatever
 * the directory says of sizes, what comes out is counted while it is expanded. */
#include "catalogue/package.h"

#include <zip.h>

#include "catalogue/layout.h"
#include "catalogue/manifest.h"
#include "catalogue/plain.h"
#include "catalogue/signature.h"
#include "crypto/crypto.h"

#define LAYOUT_MEMORY ((size_t)4 << 20)
#define PART ((size_t)64 << 10)

struct reading {
    struct package *p;
    struct layout layout;
    zip_t *zip;
    uint64_t expanded, most;       /* bytes of all files so far, and that may be */
    int manifest, wasm, signature; /* of the layout's entries; -1: not seen */
};

/* ---- the files ----------------------------------------------------------- */

static bool ends_in(struct str name, const char *suffix)
{
    size_t n = strlen(suffix);
    return name.n >= n && strncasecmp(name.at + name.n - n, suffix, n) == 0;
}

/* Its last component alone; "x-manifest.json" is another file. */
static bool path_is_named(struct str path, const char *name)
{
    size_t n = strlen(name);
    return ends_in(path, name) && (path.n == n || path.at[path.n - n - 1] == '/');
}

static bool find_files(struct reading *r, struct err *e)
{
    for (size_t i = 0; i < r->layout.count; i++) {
        const struct layout_entry *n = &r->layout.all[i];
        /* macOS packs each file's attributes beside it, under its name. */
        if (n->is_folder || str_starts(n->name, "__MACOSX/"))
            continue;
        if (path_is_named(n->name, "manifest.json")) {
            if (r->manifest >= 0)
                return err_set(
                    e, ERR_INVALID,
                    "WASM tool ZIP must contain exactly one manifest.json file");
            r->manifest = (int)i;
        } else if (ends_in(n->name, ".wasm")) {
            if (r->wasm >= 0)
                return err_set(e, ERR_INVALID,
                               "WASM tool ZIP must contain exactly one .wasm file");
            r->wasm = (int)i;
        } else if (str_is(n->name, SIGNATURE_FILE)) {
            r->signature = (int)i;
        }
    }
    if (r->manifest < 0)
        return err_set(e, ERR_INVALID, "WASM tool ZIP is missing manifest.json");
    return true;
}

/* By what the directory says: refused before anything is expanded. */
static bool check_sizes(struct reading *r, size_t zip_bytes, struct err *e)
{
    uint64_t all = 0;
    for (size_t i = 0; i < r->layout.count; i++)
        all += r->layout.all[i].size;
    r->most = (uint64_t)zip_bytes * PACKAGE_RATIO_MAX;
    if (all > PACKAGE_EXPANDED_MAX)
        return err_set(
            e, ERR_LIMIT, "ZIP would expand to %llu bytes; at most %llu MB are accepted",
            (unsigned long long)all, (unsigned long long)(PACKAGE_EXPANDED_MAX >> 20));
    if (all > r->most)
        return err_set(e, ERR_LIMIT,
                       "ZIP would expand to %llu bytes, more than %u times its own size, "
                       "as only a ZIP bomb does",
                       (unsigned long long)all, PACKAGE_RATIO_MAX);
    if (r->wasm >= 0 && r->layout.all[r->wasm].size > PACKAGE_WASM_MAX)
        return err_set(e, ERR_LIMIT, "WASM binary exceeds maximum size of %zu MB",
                       PACKAGE_WASM_MAX >> 20);
    if (r->layout.all[r->manifest].size > MANIFEST_MAX)
        return err_set(e, ERR_LIMIT,
                       "the manifest has %llu bytes; at most %zu are accepted",
                       (unsigned long long)r->layout.all[r->manifest].size, MANIFEST_MAX);
    return true;
}

/* ---- expanding ----------------------------------------------------------- */

static bool package_unreadable(const struct layout_entry *n, const char *why,
                               struct err *e)
{
    scoped_buf struct buf name = buf_of(BUF_LINE);
    if (str_is_utf8(n->name))
        plain_put(n->name, 120, &name);
    return err_set(e, ERR_INVALID, "the ZIP's entry '%s' cannot be expanded: %.100s",
                   buf_cz(&name), why);
}

/* `out` may be NULL: the bytes are only counted and summed. */
static bool expand_open(struct reading *r, zip_file_t *f, const struct layout_entry *n,
                        struct buf *out, char hex[static 65], struct err *e)
{
    scoped(crypto_sha256_free) struct crypto_sha256 *sum = crypto_sha256_new();
    scoped(free) char *part = mem_new(PART);
    uint64_t size = 0;
    for (;;) {
        zip_int64_t got = zip_fread(f, part, PART);
        if (got < 0)
            return package_unreadable(n, zip_file_strerror(f), e);
        if (got == 0)
            break;
        size += (uint64_t)got;
        r->expanded += (uint64_t)got;
        if (size > n->size || r->expanded > r->most)
            return package_unreadable(n, "it holds more bytes than the ZIP says", e);
        crypto_sha256_put(sum, (struct str){part, (size_t)got});
        if (out && !buf_put(out, part, (size_t)got))
            return buf_check(out, "a file of the ZIP", e);
    }
    crypto_sha256_end(sum, hex);
    return size == n->size ||
           package_unreadable(n, "it holds fewer bytes than the ZIP says", e);
}

static bool expand(struct reading *r, size_t i, struct buf *out, char hex[static 65],
                   struct err *e)
{
    const struct layout_entry *n = &r->layout.all[i];
    zip_file_t *f = zip_fopen_index(r->zip, i, 0);
    if (!f)
        return package_unreadable(n, zip_strerror(r->zip), e);
    bool ok = expand_open(r, f, n, out, hex, e);
    (void)zip_fclose(f);
    return ok;
}

static bool expand_all(struct reading *r, struct err *e)
{
    struct package *p = r->p;
    p->files = arena_get(p->arena, (r->layout.count + 1) * sizeof *p->files, e);
    for (size_t i = 0; p->files && i < r->layout.count; i++) {
        const struct layout_entry *n = &r->layout.all[i];
        struct package_file *file = &p->files[p->count];
        struct buf *out = (int)i == r->manifest    ? &p->manifest
                          : (int)i == r->wasm      ? &p->wasm
                          : (int)i == r->signature ? &p->signature
                                                   : NULL;
        if (n->is_folder)
            continue;
        file->name =
            (struct str){arena_copy(p->arena, n->name.at, n->name.n, e), n->name.n};
        if (!file->name.at || !expand(r, i, out, file->sha256, e))
            return false;
        if ((int)i == r->wasm) {
            p->wasm_name = file->name;
            memcpy(p->wasm_sha256, file->sha256, sizeof p->wasm_sha256);
        }
        p->count++;
    }
    return p->files != NULL;
}

/* ---- whole --------------------------------------------------------------- */

/* A module, or a command of the Linux machine: whoever signs or installs it has one of
 * both before him. The manifest itself is checked later. */
static bool check_program(const struct package *p, struct err *e)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(MANIFEST_MEMORY);
    const struct json *m = json_read(buf_view(&p->manifest), a, &none);
    bool command = manifest_is_command(m);
    if (!p->wasm_name.n && !command)
        return err_set(e, ERR_INVALID, "WASM tool ZIP is missing a .wasm file");
    return !p->wasm_name.n || !command ||
           err_set(e, ERR_INVALID,
                   "the ZIP has a .wasm file, and its manifest names a command of the "
                   "Linux machine (runtime \"vm\"); one of both is accepted");
}

static zip_t *open_zip(struct str zip, struct err *e)
{
    zip_error_t why;
    zip_error_init(&why);
    zip_source_t *source = zip_source_buffer_create(zip.at, zip.n, 0, &why);
    zip_t *z =
        source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why) : NULL;
    if (!z) {
        zip_source_free(source);
        err_set(e, ERR_INVALID, "not a ZIP archive that can be used: %.200s",
                zip_error_strerror(&why));
    }
    zip_error_fini(&why);
    return z;
}

static bool read_layout(struct str zip, struct reading *r, struct err *e)
{
    if (zip.n > TOOL_ZIP_MAX)
        return err_set(e, ERR_LIMIT, "ZIP file exceeds maximum size of %zu MB",
                       TOOL_ZIP_MAX >> 20);
    return layout_read(zip, r->p->arena, &r->layout, e) && find_files(r, e) &&
           check_sizes(r, zip.n, e);
}

bool package_read(struct str zip, struct package *p, struct err *e)
{
    *p = (struct package){.arena = arena_new(LAYOUT_MEMORY)};
    buf_init(&p->manifest, MANIFEST_MAX);
    buf_init(&p->wasm, PACKAGE_WASM_MAX);
    buf_init(&p->signature, SIGNATURE_MAX);
    struct reading r = {.p = p, .manifest = -1, .wasm = -1, .signature = -1};
    if (!read_layout(zip, &r, e) || !(r.zip = open_zip(zip, e)))
        return false;
    bool ok = zip_get_num_entries(r.zip, 0) == (zip_int64_t)r.layout.count
                  ? expand_all(&r, e)
                  : err_set(e, ERR_INVALID,
                            "not a ZIP archive that can be used: two "
                            "readers count its entries differently");
    zip_discard(r.zip);
    crypto_sha256_hex(zip, p->sha256);
    return ok && check_program(p, e);
}

void package_done(struct package *p)
{
    buf_done(&p->manifest);
    buf_done(&p->wasm);
    buf_done(&p->signature);
    arena_free(p->arena);
}
