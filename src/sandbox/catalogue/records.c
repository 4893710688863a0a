/* Reading the records. What is damaged is named and left out: no tool is better than one
 * that nobody installed. */
#include "catalogue/records.h"

#include <fcntl.h>
#include <stdio.h>

#include "catalogue/keys.h"
#include "catalogue/manifest.h"
#include "crypto/crypto.h"

#define RECORD_MAX (MANIFEST_MAX + 4096u) /* bytes */

struct loading {
    struct catalogue *c;
    struct snapshot *s;
    struct trusted_keys keys;
    size_t count;
};

bool vault_id_check(const char *vault, struct err *e)
{
    return str_is_name(str_of(vault), "._-", VAULT_NAME_MAX) ||
           err_set(e, ERR_INVALID,
                   "'%.80s' is not the id of a vault; 'cloche vault list' shows them",
                   vault);
}

/* ---- a record ------------------------------------------------------------ */

static bool record_damaged(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "it is damaged (%s) and left out", why);
}

static bool is_sha256(struct str s)
{
    return s.n == CRYPTO_SHA256_HEX - 1 && str_is_hex(s);
}

/* The manifest is checked again: the file may have been damaged, or written by another
 * version that knew more. */
static bool fill_manifest(struct loading *l, const struct json *record, struct tool *t,
                          struct err *e)
{
    struct tool_notes notes;
    scoped_buf struct buf text, clean;
    buf_init(&text, MANIFEST_MAX);
    buf_init(&clean, MANIFEST_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, json_get(record, "manifest"));
    tool_notes_init(&notes);
    bool ok = buf_check(&text, "the manifest", e) &&
              manifest_check(buf_view(&text), &notes, &clean, e);
    tool_notes_done(&notes);
    const struct json *m = ok ? json_read(buf_view(&clean), l->s->arena, e) : NULL;
    char sha256[CRYPTO_SHA256_HEX];
    crypto_sha256_hex(buf_view(&clean), sha256);
    t->sha256 = arena_copy(l->s->arena, sha256, sizeof sha256 - 1, e);
    return m && t->sha256 && manifest_fill(m, l->s->arena, t, e);
}

static bool fill_signer(struct loading *l, const struct json *program, struct entry *n,
                        struct err *e)
{
    struct str key = json_str(json_get(program, "signedBy"));
    n->key = key.n ? str_cz(key, l->s->arena, e) : NULL;
    n->tool.signer = n->key ? keys_name(&l->keys, n->key) : NULL;
    return !e->code;
}

/* A command of the machine: it has no module, and its hash is that of its manifest. */
static bool fill_machine(struct loading *l, const struct json *record, struct entry *n,
                         struct err *e)
{
    const struct json *machine = json_get(record, "machine");
    n->tool.module_name = n->tool.sha256;
    if (!json_is(machine, JSON_OBJECT) || json_get(record, "wasmBinary"))
        return record_damaged(e, "machine");
    return fill_signer(l, machine, n, e);
}

static bool fill_binary(struct loading *l, const struct json *binary, struct entry *n,
                        struct err *e)
{
    struct arena *a = l->s->arena;
    struct str sha256 = json_str(json_get(binary, "sha256"));
    if (!is_sha256(sha256))
        return record_damaged(e, "wasmBinary.sha256 is none");
    struct binary like = {.sha256 = str_cz(sha256, a, e)};
    like.key = like.sha256;
    like.dir = arena_printf(a, e, RECORDS_DIR "/modules");
    like.file = arena_printf(a, e, "%.*s.wasm", STR_ARGS(sha256));
    n->wasm_bytes = (uint64_t)json_int(json_get(binary, "size"), 0);
    if (e->code || !fill_signer(l, binary, n, e))
        return false;
    n->binary = binary_share(l->c, &like);
    n->tool.module_name = n->binary->key;
    n->tool.sha256 = n->binary->sha256;
    return true;
}

/* "ID" and, behind '@', the vault. */
static bool read_name(struct str name, struct arena *a, struct tool *t, struct err *e)
{
    size_t n = TOOL_ID - 1;
    bool scoped = name.n > n + 1 && name.at[n] == '@';
    if (name.n != n && !scoped)
        return record_damaged(e, "its name is none");
    t->id = arena_copy(a, name.at, n, e);
    t->vault = scoped ? arena_copy(a, name.at + n + 1, name.n - n - 1, e) : NULL;
    return !e->code && (!scoped || vault_id_check(t->vault, e));
}

static bool entry_fill_record(struct loading *l, struct str name,
                              const struct json *record, struct entry *n, struct err *e)
{
    struct tool *t = &n->tool;
    if (!read_name(name, l->s->arena, t, e) || !fill_manifest(l, record, t, e))
        return false;
    if (!str_is(json_str(json_get(record, "id")), t->id) ||
        !str_is(json_str(json_get(record, "source")), "user") ||
        !json_is(json_get(record, "enabled"), JSON_BOOL))
        return record_damaged(e, "id, source or enabled");
    t->enabled = json_bool(json_get(record, "enabled"), false);
    t->installed_ms = json_int(json_get(record, "installedAt"), 0);
    t->updated_ms = json_int(json_get(record, "updatedAt"), 0);
    if (t->installed_ms <= 0 || t->updated_ms < t->installed_ms)
        return record_damaged(e, "installedAt or updatedAt");
    return t->command ? fill_machine(l, record, n, e)
                      : fill_binary(l, json_get(record, "wasmBinary"), n, e);
}

static bool load_record(struct loading *l, const char *path, struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf text;
    scoped(arena_free) struct arena *a = arena_new(MANIFEST_MEMORY);
    buf_init(&text, RECORD_MAX);
    const char *slash = strrchr(path, '/');
    struct str name = str_of(slash ? slash + 1 : path);
    if (!str_ends(name, ".json"))
        return true;
    name.n -= strlen(".json");
    if (l->count >= RECORDS_MAX)
        return err_set(e, ERR_LIMIT, "more than %u tools are installed", RECORDS_MAX);
    struct entry *n = snapshot_add(l->s, e);
    if (!n)
        return false;
    const struct json *record = os_read_file(l->c->data, path, &text, NULL, &why)
                                    ? json_read(buf_view(&text), a, &why)
                                    : NULL;
    if (record && entry_fill_record(l, name, record, n, &why)) {
        l->count++;
        return true;
    }
    binary_drop(l->c, n->binary);
    l->s->count--;
    if (why.code != ERR_NOT_FOUND) /* it went meanwhile */
        snapshot_problem(l->s, path, &why);
    return true;
}

static bool each(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    return !st->is_file || load_record(arg, name, e);
}

/* ---- switches ------------------------------------------------------------ */

/* A copy of the row, which is meant in that vault before the row itself. */
static bool switch_off(struct loading *l, const struct entry *n, const char *vault,
                       struct err *e)
{
    struct entry *copy = snapshot_add(l->s, e);
    if (!copy)
        return false;
    *copy = *n;
    copy->only_in = vault;
    copy->tool.enabled = false;
    if (copy->binary)
        copy->binary->refs++;
    return true;
}

static bool load_switches(struct loading *l, struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf text = buf_of(BUF_LIST);
    if (!os_read_file(l->c->data, RECORDS_DIR "/off.json", &text, NULL, &why))
        return why.code == ERR_NOT_FOUND || err_pass(e, &why);
    const struct json *file = json_read(buf_view(&text), l->s->arena, e);
    struct json_iter it = json_iter(json_get(file, "off"));
    size_t rows = l->s->count;
    while (json_next(&it)) {
        struct str id = json_str(json_get(it.value, "id"));
        const struct json *vault = json_get(it.value, "vault");
        for (size_t i = 0; i < rows; i++) {
            struct entry *n = l->s->all[i];
            if (!str_is(id, n->tool.id))
                continue;
            const char *only = vault ? str_cz(json_str(vault), l->s->arena, e) : NULL;
            if (!vault)
                n->tool.enabled = false;
            else if (!only || !switch_off(l, n, only, e))
                return false;
        }
    }
    return file != NULL;
}

void records_load(struct catalogue *c, struct snapshot *s)
{
    struct err e = {0};
    struct loading l = {.c = c, .s = s};
    if (c->data < 0)
        return;
    if (!keys_read(c->config, s->arena, &l.keys, &e)) {
        snapshot_problem(s, KEYS_FILE, &e);
        e = (struct err){0};
    }
    if (!os_walk_from(c->data, RECORDS_DIR "/records", each, &l, &e) &&
        e.code != ERR_NOT_FOUND)
        snapshot_problem(s, "the installed tools", &e);
    e = (struct err){0};
    if (load_switches(&l, &e))
        return;
    /* The list of switched-off tools is not guessed. */
    err_wrap(&e, "no tool runs until it is mended or removed");
    snapshot_problem(s, RECORDS_DIR "/off.json", &e);
    for (size_t i = 0; i < s->count; i++)
        s->all[i]->tool.enabled = false;
}
