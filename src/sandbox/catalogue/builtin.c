/* The tools that were built with the program, as tools/catalogue.json tells of them:
 * [{"package", "manifest", "wasm_sha256", "wasm_blake2b", "data", "image"}]. They are as trusted as the
 * program is that they lie beside: their manifests were checked when they were built. */
#include <stdio.h>

#include "catalogue/internal.h"
#include "catalogue/manifest.h"
#include "crypto/crypto.h"

#define FILE_NAME "tools/catalogue.json"
#define FILE_MAX ((size_t)16 << 20)

void builtin_id(struct str name, char id[static TOOL_ID])
{
    char all[TOOL_NAME_MAX + 32], hex[CRYPTO_HASH_HEX];
    int n = snprintf(all, sizeof all, "cloche built-in tool %.*s",
                     STR_ARGS(str_cut(name, TOOL_NAME_MAX)));
    crypto_hash_hex((struct str){all, (size_t)n}, hex);
    (void)snprintf(id, TOOL_ID, "%.8s-%.4s-8%.3s-a%.3s-%.12s", hex, hex + 8, hex + 12,
                   hex + 15, hex + 18);
}

static bool share_binary(struct catalogue *c, struct snapshot *s, const struct json *row,
                         struct entry *n, struct err *e)
{
    struct str package = json_str(json_get(row, "package")),
               sha256 = json_str(json_get(row, "wasm_sha256")),
               hash = json_str(json_get(row, "wasm_blake2b"));
    struct arena *a = s->arena;
    struct binary like = {.builtin = true, .sha256 = str_cz(sha256, a, e)};
    like.key = arena_printf(a, e, "%.*s %.*s", STR_ARGS(package), STR_ARGS(sha256));
    like.dir = arena_printf(a, e, "%s/tools/%.*s", c->guest_dir, STR_ARGS(package));
    like.file = arena_printf(a, e, "%.*s.wasm", STR_ARGS(package));
    if (hash.n)
        like.hash = str_cz(hash, a, e);
    if (json_bool(json_get(row, "image"), false))
        like.image = arena_printf(a, e, "%.*s.img", STR_ARGS(package));
    if (json_bool(json_get(row, "data"), false))
        n->tool.data_dir = arena_printf(a, e, "%s/data", like.dir ? like.dir : "");
    if (e->code)
        return false;
    n->binary = binary_share(c, &like);
    n->tool.module_name = n->binary->key;
    n->tool.sha256 = n->binary->sha256;
    return true;
}

static bool load_row(struct catalogue *c, struct snapshot *s, const struct json *row,
                     struct err *e)
{
    const struct json *manifest = json_get(row, "manifest");
    char id[TOOL_ID];
    builtin_id(json_str(json_get(manifest, "name")), id);
    struct entry *n = snapshot_add(s, e);
    if (!n || !manifest_fill(manifest, s->arena, &n->tool, e))
        return false;
    n->tool.builtin = n->tool.enabled = true;
    n->tool.id = arena_copy(s->arena, id, sizeof id - 1, e);
    return n->tool.id && share_binary(c, s, row, n, e);
}

void builtin_load(struct catalogue *c, struct snapshot *s)
{
    struct err e = {0};
    scoped_buf struct buf text = buf_of(FILE_MAX);
    if (c->guest < 0)
        return;
    if (!os_read_file(c->guest, FILE_NAME, &text, NULL, &e)) {
        if (e.code != ERR_NOT_FOUND)
            snapshot_problem(s, "the built-in tools", &e);
        return;
    }
    const struct json *rows = json_read(buf_view(&text), s->arena, &e);
    struct json_iter it = json_iter(rows);
    while (json_next(&it) && load_row(c, s, it.value, &e))
        ;
    if (e.code)
        snapshot_problem(s, "the built-in tools", &e);
}
