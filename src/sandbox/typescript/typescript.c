/* The door: what was done before is found by its hash, all else is translated. */
#include "typescript/typescript.h"

#include "crypto/crypto.h"
#include "typescript/internal.h"

#define WORKING_MEMORY ((size_t)192 << 20)

static const struct cache_limits usual = {.entries = 64,
                                          .bytes = (size_t)16 << 20,
                                          .folder = "typescript",
                                          .disk_bytes = (uint64_t)64 << 20,
                                          .file_bytes = STORE_FILE_BYTES};

struct typescript {
    struct guest *guest;
    struct cache *store;
    struct buf version; /* of what makes the code: another makes other code */
    _Atomic uint64_t from_memory, from_disk, made;
};

struct typescript *typescript_new(struct engine *g, const char *guest_dir)
{
    struct typescript *t = mem_new(sizeof *t);
    t->guest = guest_new(g, guest_dir, &esbuild, STR(""));
    t->store = cache_new(&usual);
    buf_init(&t->version, BUF_NAME);
    guest_put_version(t->guest, &t->version);
    return t;
}

void typescript_free(struct typescript *t)
{
    if (!t)
        return;
    cache_free(t->store);
    guest_free(t->guest);
    buf_done(&t->version);
    free(t);
}

void typescript_warm(struct typescript *t)
{
    struct err none = {0};
    (void)guest_prepare(t->guest, &none);
}

struct typescript_counts typescript_count(const struct typescript *t)
{
    return (struct typescript_counts){
        .from_memory = t->from_memory, .from_disk = t->from_disk, .made = t->made};
}

static bool translation_key(const struct typescript *t, struct str source,
                            char key[CACHE_FILE_KEY], struct err *e)
{
    scoped_buf struct buf all = buf_of(source.n + 1024);
    buf_str(&all, buf_view(&t->version));
    buf_char(&all, '\n');
    buf_str(&all, source);
    crypto_hash_hex(buf_view(&all), key);
    return buf_check(&all, "the code", e);
}

static void tell_nested(struct str source, struct err *e)
{
    struct err said = *e;
    uint32_t line, column;
    if (!guest_code_is_nested(source, GUEST_NESTED_MAX, &line, &column))
        return;
    *e = (struct err){0};
    err_set(e, said.code, "%s, at line %u, column %u", said.msg, line, column);
}

static const struct typescript_code *code_make(struct typescript *t, struct str source,
                                               const struct typescript_limits *limits,
                                               struct typescript_place *where,
                                               struct err *e)
{
    const struct guest_limits all = {.compute_ns = limits->compute_ms * UINT64_C(1000000),
                                     .until_ns = limits->until_ns,
                                     .tenant = limits->tenant,
                                     .cancel = {limits->cancel}};
    scoped(guest_close) struct guest_world *w = guest_open(t->guest, &all, e);
    if (!w)
        return NULL;
    scoped(arena_free) struct arena *a = arena_new(WORKING_MEMORY);
    t->made++;
    const struct typescript_code *made = translate(w, source, a, where, e);
    if (!made && e->code == ERR_STACK)
        tell_nested(source, e);
    return made;
}

const struct typescript_code *typescript_transpile(struct typescript *t,
                                                   struct str source,
                                                   const struct typescript_limits *limits,
                                                   struct typescript_place *where,
                                                   struct err *e)
{
    char key[CACHE_FILE_KEY];
    bool on_disk;
    *where = (struct typescript_place){0};
    if (!str_is_utf8(source)) {
        err_set(e, ERR_INVALID, "code is not UTF-8 text");
        return NULL;
    }
    if (!translation_key(t, source, key, e))
        return NULL;
    const struct typescript_code *c = store_find(t->store, key, source, &on_disk);
    if (c) {
        t->from_disk += on_disk;
        t->from_memory += !on_disk;
        return c;
    }
    c = code_make(t, source, limits, where, e);
    if (c)
        store_keep(t->store, key, c);
    return c;
}
