/* Packages, and what a person does with them. */
#include <stdio.h>

#include "catalogue/internal.h"
#include "catalogue/keys.h"
#include "catalogue/manifest.h"
#include "catalogue/package.h"
#include "catalogue/records.h"
#include "catalogue/semver.h"
#include "crypto/crypto.h"

#define PACKAGE_MEMORY (4 * MANIFEST_MEMORY)

struct tool_package {
    struct package files;
    struct arena *arena;
    struct buf manifest; /* without what nobody knows */
    struct tool tool;
    char key[TOOL_KEY_TEXT];
    char manifest_sha256[65]; /* as it is kept */
};

/* ---- a package ----------------------------------------------------------- */

static bool package_fill(struct catalogue *c, struct tool_package *p,
                         struct tool_notes *notes, struct err *e)
{
    struct trusted_keys keys;
    struct err none = {0};
    if (!manifest_check(buf_view(&p->files.manifest), notes, &p->manifest, e))
        return err_wrap(e, "manifest.json");
    if (!signature_check(&p->files, p->key, e))
        return false;
    const struct json *m = json_read(buf_view(&p->manifest), p->arena, e);
    if (!m || !manifest_fill(m, p->arena, &p->tool, e))
        return false;
    if (c->taken && c->taken(str_of(p->tool.name)))
        return err_set(e, ERR_CONFLICT,
                       "'%s' is a reserved name; choose another name for the tool",
                       p->tool.name);
    if (p->key[0] && keys_read(c->config, p->arena, &keys, &none))
        p->tool.signer = keys_name(&keys, p->key);
    p->tool.id = "";
    p->tool.enabled = true;
    crypto_sha256_hex(buf_view(&p->manifest), p->manifest_sha256);
    p->tool.sha256 = p->tool.command ? p->manifest_sha256 : p->files.wasm_sha256;
    p->tool.module_name = p->tool.sha256;
    return true;
}

struct tool_package *tool_package_open(struct catalogue *c, struct str zip,
                                       struct tool_notes *notes, struct err *e)
{
    scoped(tool_package_close) struct tool_package *p = mem_new(sizeof *p);
    p->arena = arena_new(PACKAGE_MEMORY);
    buf_init(&p->manifest, MANIFEST_MAX);
    if (!package_read(zip, &p->files, e) || !package_fill(c, p, notes, e))
        return NULL;
    return take(p);
}

void tool_package_close(struct tool_package *p)
{
    if (!p)
        return;
    package_done(&p->files);
    buf_done(&p->manifest);
    arena_free(p->arena);
    free(p);
}

const struct tool *tool_package_tool(const struct tool_package *p)
{
    return &p->tool;
}

const char *tool_package_sha256(const struct tool_package *p)
{
    return p->files.sha256;
}

const char *tool_package_key(const struct tool_package *p)
{
    return p->key;
}

size_t tool_package_size(const struct tool_package *p)
{
    return p->files.wasm.n;
}

/* ---- installing ---------------------------------------------------------- */

/* The tool installed by that name for that very vault, or for all; with the lock held. */
static const struct entry *installed(const struct snapshot *s, const char *name,
                                     const char *vault)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *n = s->all[i];
        bool here = vault ? n->tool.vault && !strcmp(n->tool.vault, vault)
                          : !n->tool.vault && !n->only_in;
        if (here && !n->tool.builtin && !strcmp(n->tool.name, name))
            return n;
    }
    return NULL;
}

struct place {
    const char *vault;
    enum tool_replace replace;
};

/* A tool of that name that is installed, though not in this place. */
static const struct entry *elsewhere(const struct snapshot *s, const char *name,
                                     const struct entry *own)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct entry *n = s->all[i];
        if (n != own && !n->tool.builtin && !n->only_in && !strcmp(n->tool.name, name))
            return n;
    }
    return NULL;
}

/* Another one beside it would leave the first as it is, and be meant here or there. */
static bool refuse_second(const struct entry *n, const struct place *where, struct err *e)
{
    if (!n->tool.vault)
        return err_set(e, ERR_CONFLICT,
                       "a tool '%s' is installed for all vaults, version %.64s; 'cloche "
                       "tool update' without --vault replaces it; to have one for the "
                       "vault %.64s alone, remove it first",
                       n->tool.name, n->tool.version, where->vault);
    return err_set(e, ERR_CONFLICT,
                   "a tool '%s' is installed for the vault %.64s alone, version %.64s; "
                   "'cloche tool update --vault %.64s' replaces it, and 'cloche tool "
                   "install' without --update installs another one beside it",
                   n->tool.name, n->tool.vault, n->tool.version, n->tool.vault);
}

/* An update goes forward, as far as versions can be compared. */
static bool check_newer(const struct tool *now, const struct tool *next, struct err *e)
{
    struct str a = str_of(now->version), b = str_of(next->version);
    return !semver_is(a) || !semver_is(b) || semver_compare(b, a) >= 0 ||
           err_set(e, ERR_CONFLICT,
                   "version %.64s of '%s' is older than the installed version %.64s; "
                   "use 'cloche tool install --update' to downgrade",
                   next->version, next->name, now->version);
}

static bool check_free(const struct snapshot *s, const struct tool *t,
                       const struct place *where, struct err *e)
{
    struct str vault = str_of(where->vault);
    const struct entry *own = installed(s, t->name, where->vault),
                       *meant = snapshot_find(s, str_of(t->name), vault),
                       *other = elsewhere(s, t->name, own);
    if (!own && other && (where->replace != TOOL_NEW || other == meant))
        return refuse_second(other, where, e);
    if (where->replace == TOOL_MUST_REPLACE && !own)
        return err_set(e, ERR_NOT_FOUND,
                       "no tool '%s' is installed%s; 'cloche tool install' does that",
                       t->name, where->vault ? " for this vault" : "");
    if (where->replace == TOOL_MUST_REPLACE)
        return check_newer(&own->tool, t, e);
    if (where->replace != TOOL_NEW || !meant)
        return true;
    if (meant->tool.builtin)
        return err_set(e, ERR_CONFLICT,
                       "'%s' is a built-in tool; give yours another name, or put it in "
                       "that one's place with --update",
                       t->name);
    return err_set(
        e, ERR_CONFLICT,
        "a tool '%s' is installed already, version %.64s; --update replaces it", t->name,
        meant->tool.version);
}

/* Another signer who took over a tool's name would inherit its permissions. */
static bool check_signer(const struct entry *own, const struct tool_package *p,
                         struct err *e)
{
    if (!own || !own->key || !strcmp(own->key, p->key))
        return true;
    return err_set(e, ERR_DENIED,
                   "the installed '%s' was signed by %s, and this package %s%s; remove "
                   "the tool first, if another shall take its place",
                   p->tool.name, own->key, p->key[0] ? "by " : "is not signed", p->key);
}

static void tool_id_make(char id[static TOOL_ID])
{
    unsigned char r[16];
    os_random(r, sizeof r);
    r[6] = (unsigned char)(0x40 | (r[6] & 0x0f)); /* RFC 9562, version 4 */
    r[8] = (unsigned char)(0x80 | (r[8] & 0x3f));
    for (size_t i = 0, at = 0; i < sizeof r; i++)
        at += (size_t)snprintf(id + at, TOOL_ID - at, "%02x%s", r[i],
                               i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
}

/* Fills the new record with the lasting parts of the old one, if there is one. */
static bool plan(struct catalogue *c, const struct tool_package *p,
                 const struct place *where, struct record *r, char id[static TOOL_ID],
                 struct err *e)
{
    *r = (struct record){.vault = where->vault,
                         .manifest = buf_view(&p->manifest),
                         .wasm_sha256 = p->files.wasm_sha256,
                         .wasm_bytes = p->files.wasm.n,
                         .key = p->key,
                         .enabled = true,
                         .updated_ms = os_real_ms()};
    tool_id_make(id);
    pthread_mutex_lock(&c->lock);
    const struct snapshot *s = catalogue_current(c);
    const struct entry *own = installed(s, p->tool.name, where->vault);
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        count += !s->all[i]->tool.builtin && !s->all[i]->only_in;
    bool ok = check_free(s, &p->tool, where, e) && check_signer(own, p, e);
    if (ok && !own && count >= RECORDS_MAX)
        ok = err_set(e, ERR_LIMIT, "%u tools are installed, and more are not accepted",
                     RECORDS_MAX);
    if (own) {
        memcpy(id, own->tool.id, TOOL_ID);
        r->enabled = own->tool.enabled;
        r->installed_ms = own->tool.installed_ms;
    }
    pthread_mutex_unlock(&c->lock);
    r->id = id;
    /* A clock that was put back must not make a record that nobody believes. */
    if (!r->installed_ms)
        r->installed_ms = r->updated_ms;
    if (r->updated_ms < r->installed_ms)
        r->updated_ms = r->installed_ms;
    return ok;
}

/* Can it run, within what its manifest allows? A command is looked for when it runs: the
 * machine may be installed later. */
static bool check_module(struct catalogue *c, const struct tool_package *p,
                         const struct tool_watch *watch, struct err *e)
{
    if (p->tool.command)
        return true;
    uint64_t most = p->tool.execution.memory_bytes;
    struct work work = {p->tool.name, buf_view(&p->files.wasm), watch};
    scoped(module_close) struct module *m = binary_open(c, &work, e);
    uint64_t least = m ? module_memory_bytes(m) : 0;
    return m && (least <= most ||
                 err_set(e, ERR_INVALID,
                         "execution.memoryLimit is %llu, and the module begins with %llu "
                         "bytes of memory, so that it would never run; more than that is "
                         "accepted",
                         (unsigned long long)most, (unsigned long long)least));
}

bool tool_install(struct catalogue *c, const struct tool_package *p, const char *vault,
                  enum tool_replace replace, const struct tool_watch *watch,
                  char id[static TOOL_ID], struct err *e)
{
    struct place where = {vault, replace};
    struct record r;
    struct edit ed;
    struct str wasm = buf_view(&p->files.wasm);
    /* Looked at before it is compiled, which takes long, and again when nobody else can
     * change it any more. */
    if ((vault && !vault_id_check(vault, e)) || !plan(c, p, &where, &r, id, e) ||
        !check_module(c, p, watch, e))
        return false;
    bool ok = edit_begin(c, &ed, e) && plan(c, p, &where, &r, id, e) &&
              (p->tool.command || module_write(&ed, r.wasm_sha256, wasm, e)) &&
              record_write(&ed, &r, e);
    edit_end(&ed);
    return ok;
}

/* ---- removing and switching ---------------------------------------------- */

/* Fills in a copy that outlives the lock. */
static bool find_own(struct catalogue *c, const char *name, const char *vault,
                     struct entry *out, struct arena *a, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    const struct snapshot *s = catalogue_current(c);
    const struct entry *n = installed(s, name, vault);
    if (!n)
        n = snapshot_find(s, str_of(name), str_of(vault));
    if (n) {
        *out = *n;
        out->owner = NULL;
        out->tool.name = arena_copy(a, n->tool.name, strlen(n->tool.name), e);
        out->tool.id = arena_copy(a, n->tool.id, strlen(n->tool.id), e);
        out->tool.sha256 = arena_copy(a, n->tool.sha256, 64, e);
        out->key = arena_copy(a, n->key ? n->key : "", n->key ? strlen(n->key) : 0, e);
        out->tool.vault = n->tool.vault ? vault : NULL;
    } else {
        (void)snapshot_none(s, str_of(name), str_of(vault), e);
    }
    pthread_mutex_unlock(&c->lock);
    return n && !e->code;
}

/* Begins an edit of the tool's record; edit_end() is the caller's if it is true. */
static bool edit_own(struct catalogue *c, const char *name, const char *vault,
                     struct edit *ed, struct entry *out, struct arena *a, struct err *e)
{
    if ((vault && !vault_id_check(vault, e)) || !edit_begin(c, ed, e))
        return false;
    bool ok = find_own(c, name, vault, out, a, e);
    if (!ok)
        edit_end(ed);
    return ok;
}

bool tool_remove(struct catalogue *c, const char *name, const char *vault, struct err *e)
{
    struct entry n;
    struct edit ed;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    if (!edit_own(c, name, vault, &ed, &n, a, e))
        return false;
    bool ok = true;
    if (n.tool.builtin)
        ok = err_set(e, ERR_INVALID,
                     "'%s' is built in and cannot be removed; 'cloche tool disable %s' "
                     "takes it away from agents",
                     n.tool.name, n.tool.name);
    else if (vault && !n.tool.vault)
        ok = err_set(e, ERR_NOT_FOUND,
                     "'%s' is installed for all vaults, not for this one alone; 'cloche "
                     "tool disable --vault' takes it away from one",
                     n.tool.name);
    ok = ok && record_remove(&ed, &n.tool, e);
    edit_end(&ed);
    return ok;
}

static bool switch_record(struct catalogue *c, struct edit *ed, const char *name,
                          const char *vault, bool on, struct err *e)
{
    scoped_buf struct buf manifest = buf_of(MANIFEST_MAX);
    pthread_mutex_lock(&c->lock);
    const struct entry *n = installed(catalogue_current(c), name, vault);
    struct record r = {0};
    char id[TOOL_ID], sha256[65], key[TOOL_KEY_TEXT] = "";
    if (n) {
        struct json_writer w = json_writer(&manifest);
        json_put(&w, n->tool.manifest);
        (void)snprintf(id, sizeof id, "%s", n->tool.id);
        (void)snprintf(sha256, sizeof sha256, "%s",
                       n->tool.command ? "" : n->tool.sha256);
        (void)snprintf(key, sizeof key, "%s", n->key ? n->key : "");
        r = (struct record){.id = id,
                            .vault = vault,
                            .manifest = buf_view(&manifest),
                            .wasm_sha256 = sha256,
                            .wasm_bytes = n->wasm_bytes,
                            .key = key,
                            .enabled = on,
                            .installed_ms = n->tool.installed_ms,
                            .updated_ms = n->tool.updated_ms};
    }
    pthread_mutex_unlock(&c->lock);
    return n && buf_check(&manifest, "the manifest", e) && record_write(ed, &r, e);
}

bool tool_switch(struct catalogue *c, const char *name, const char *vault, bool on,
                 struct err *e)
{
    struct entry n;
    struct edit ed;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    if (!edit_own(c, name, vault, &ed, &n, a, e))
        return false;
    /* A record says it of its own vault, or of all; the switches say the rest. */
    bool own = !n.tool.builtin && (!vault || n.tool.vault);
    bool ok = own ? switch_record(c, &ed, name, vault, on, e)
                  : switch_write(&ed, n.tool.id, vault, on, e);
    edit_end(&ed);
    return ok;
}
