#include "programs/tool_vault.h"

#include <errno.h>
#include <time.h>

#include "calls/calls.h"
#include "crypto/crypto.h"
#include "effect/effect.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "notes/copies.h"
#include "os/os.h"
#include "permits/permits.h"
#include "place/place.h"
#include "programs/programs.h"
#include "vfs/vfs.h"
#include "json/json.h"

#define KEPT_MAX ((size_t)256 << 10)
#define PATHS_NAMED_MAX 200u /* paths named in the answer */
#define FILES_MAX 65536u
#define BYTES_MAX ((size_t)300 << 20) /* of changed files; the tree has a lower limit */

/* ---- permission --------------------------------------------------------------- */

/* The policy on notes, whatever the call's allowedAPIs say: those name tools, and the
 * manifest says what a tool may do with files. */
static bool lets(const struct place *place, struct permit_need need, struct err *e)
{
    struct permit whole = place->permit;
    whole.wish = (struct policy_names){0};
    need.least = LEVEL_FULL;
    return permit_call(&whole, &need, e);
}

static struct permit_need need_of(enum right r)
{
    return host_call_need(host_call_of_right(r));
}

static bool allows_silently(const struct place *place, enum right r)
{
    struct err ignored = {0};
    return lets(place, need_of(r), &ignored);
}

static bool vault_may_read(const struct place *p)
{
    return allows_silently(p, RIGHT_READ_NOTES) && allows_silently(p, RIGHT_LIST_NOTES);
}

static bool may_write(const struct place *p)
{
    return allows_silently(p, RIGHT_CREATE_NOTES) ||
           allows_silently(p, RIGHT_CHANGE_NOTES) ||
           allows_silently(p, RIGHT_DELETE_NOTES);
}

/* Whether a mount of the policy has this place in the tree. */
static bool is_taken(const struct vfs_mount *mounts, size_t count)
{
    size_t n = sizeof TOOL_VAULT - 1;
    for (size_t i = 0; i < count; i++) {
        const char *at = mounts[i].at;
        if (!strncmp(at, TOOL_VAULT, n) && (!at[n] || at[n] == '/'))
            return true;
    }
    return false;
}

static int64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct dry *dry_of(const struct tool_call *c)
{
    return c->code ? c->code->dry : NULL;
}

/* The folder of the notes that the tool is shown; NULL: none, or *e. */
static char *folder_of(const struct tool_call *c, bool writes, struct err *e)
{
    unsigned vault = c->place->vault;
    return vault && dry_of(c) ? dry_folder(c->code, vault, writes, e)
                              : vault_set_path(c->actions->vaults, vault);
}

bool tool_vault_open(struct tool_vault *t, const struct tool_call *c,
                     enum tool_access access, struct vfs_mount *mounts, size_t *count,
                     struct err *e)
{
    *t = (struct tool_vault){.call = c};
    buf_init(&t->kept, KEPT_MAX);
    bool reads = access == TOOL_READ || access == TOOL_READWRITE;
    bool writes = access == TOOL_WRITE || access == TOOL_READWRITE;
    writes = writes && may_write(c->place);
    scoped(free) char *path = folder_of(c, writes, e);
    if (e->code)
        return false;
    if (!path || is_taken(mounts, *count) || (reads && !vault_may_read(c->place)) ||
        (!reads && !writes))
        return true;
    int dir = os_dir_open(path, e);
    if (dir < 0)
        return err_wrap(e, "the vault");
    mounts[(*count)++] = (struct vfs_mount){.at = TOOL_VAULT,
                                            .dir = dir,
                                            .writable = writes,
                                            .write_only = writes && !reads,
                                            .overlay = writes};
    t->shown = true;
    t->overlay = writes;
    return true;
}

/* A user may have been asked meanwhile. */
void tool_vault_begin(struct tool_vault *t)
{
    t->since_ns = wall_ns();
}

void tool_vault_close(struct tool_vault *t)
{
    buf_done(&t->kept);
    arena_free(t->arena);
    free(t->files);
}

/* ---- changes --------------------------------------------------------------------- */

static const enum right rights[] = {RIGHT_CREATE_NOTES, RIGHT_CHANGE_NOTES,
                                    RIGHT_DELETE_NOTES};
static const char *const words[] = {"created", "changed", "deleted"};

static enum notes_file_change change_kind(const struct vfs_change *c)
{
    return c->what == VFS_MADE      ? NOTES_MADE
           : c->what == VFS_CHANGED ? NOTES_CHANGED
                                    : NOTES_REMOVED;
}

/* A folder with a new time only is unchanged. */
static bool counts(const struct vfs_change *c)
{
    return c->type != VFS_FOLDER || c->what != VFS_CHANGED;
}

static bool copy(struct tool_vault *t, struct str from, struct str *to, struct err *e)
{
    char *at = arena_copy(t->arena, from.at, from.n, e);
    *to = (struct str){at, from.n};
    return at != NULL;
}

static bool has_path(const struct tool_vault *t, size_t until, struct str path)
{
    for (size_t i = 0; i < until; i++)
        if (!t->files[i].folder && str_eq(t->files[i].path, path))
            return true;
    return false;
}

static bool take_one(struct tool_vault *t, size_t others, const struct vfs_change *c,
                     struct err *e)
{
    if (c->type == VFS_LINK)
        return err_set(e, ERR_DENIED,
                       "'%.*s' is a link, and no links are made in a vault; nothing was "
                       "changed",
                       STR_ARGS(str_cut(c->path, 120)));
    if (c->type == VFS_FILE && has_path(t, others, c->path))
        return err_set(e, ERR_CONFLICT,
                       "two tools of the pipeline changed '%.*s'; nothing was changed",
                       STR_ARGS(str_cut(c->path, 120)));
    if (t->count == FILES_MAX)
        return err_set(e, ERR_LIMIT, "more than %u files; nothing was changed",
                       FILES_MAX);
    struct notes_file f = {.change = change_kind(c),
                           .folder = c->type == VFS_FOLDER,
                           .owner_only = t->owner_only,
                           .inode = c->before.inode,
                           .size = c->before.size,
                           .modified_ns = c->before.modified_ns,
                           .changed_ns = c->before.changed_ns};
    if (!copy(t, c->path, &f.path, e) || !copy(t, c->bytes, &f.bytes, e))
        return false;
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->files = realloc(t->files, t->capacity * sizeof *t->files);
        must(t->files);
    }
    t->files[t->count++] = f;
    return true;
}

void tool_vault_take(struct tool_vault *t, struct vfs *tree)
{
    const struct vfs_change *changes;
    size_t n = 0, others = t->count;
    if (!t->overlay || t->why.code)
        return;
    if (!t->arena)
        t->arena = arena_new(BYTES_MAX);
    int failed = vfs_changes(tree, TOOL_VAULT, &changes, &n);
    if (failed && failed != ENOENT) /* missing: a stage that sees no files */
        err_set(&t->why, ERR_LIMIT,
                "what the tool changed in the vault is too much to be kept (%s), and "
                "nothing was changed",
                strerror(failed));
    for (size_t i = 0; !t->why.code && i < n; i++)
        if (counts(&changes[i]))
            (void)take_one(t, others, &changes[i], &t->why);
}

static void put_path(const struct notes_file *f, struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, VFS_PATH_MAX + 1);
    buf_str(&text, f->path);
    buf_cstr(&text, f->folder ? "/" : "");
    json_put_str(w, buf_view(&text));
}

/* The paths, for the question and the answer. A folder ends in '/'. */
static void put_paths(const struct notes_file *files, size_t count, struct json_writer *w)
{
    size_t named = 0, left = 0;
    json_open_object(w);
    for (size_t k = 0; k < LENGTH(words); k++) {
        bool open = false;
        for (size_t i = 0; i < count; i++) {
            if (files[i].change != k)
                continue;
            if (named == PATHS_NAMED_MAX) {
                left++;
                continue;
            }
            if (!open) {
                json_key(w, words[k]);
                json_open_array(w);
            }
            open = true;
            named++;
            put_path(&files[i], w);
        }
        if (open)
            json_close(w);
    }
    if (left)
        json_pair_int(w, "more", (int64_t)left);
    json_close(w);
}

/* A hash of each file's new content: a decision covers exactly these. */
static void put_digest(const struct tool_vault *t, char out[static CRYPTO_HASH_HEX])
{
    scoped_buf struct buf text;
    buf_init(&text, SIZE_MAX / 4);
    for (size_t i = 0; i < t->count; i++) {
        char hash[CRYPTO_HASH_HEX];
        crypto_hash_hex(t->files[i].bytes, hash);
        buf_printf(&text, "%d %s %zu ", (int)t->files[i].change, hash,
                   t->files[i].path.n);
        buf_str(&text, t->files[i].path);
        buf_char(&text, '\n');
    }
    crypto_hash_hex(buf_view(&text), out);
}

/* Asks the policy as if code made each change by a call of its own. */
static bool check(const struct tool_vault *t, const struct json *shown, struct err *e)
{
    const struct tool_call *c = t->call;
    const struct ask_by by = {
        .actions = c->actions, .place = c->place, .who = c->who, .evaluation = c->code};
    char digest[CRYPTO_HASH_HEX];
    put_digest(t, digest);
    const struct confirm_changes exact = {.digest = digest};
    for (size_t k = 0; k < LENGTH(rights); k++) {
        struct permit_need need = need_of(rights[k]);
        bool any = false;
        for (size_t i = 0; i < t->count; i++)
            any |= t->files[i].change == k;
        if (any && (!lets(c->place, need, e) ||
                    (!dry_of(c) && !confirm_call(&by, &need, shown, &exact, e))))
            return err_wrap(e, "what the tool %s in the vault was not kept", words[k]);
    }
    return true;
}

bool tool_vault_keep(struct tool_vault *t, struct err *e)
{
    if (t->why.code)
        return err_pass(e, &t->why);
    if (!t->count)
        return true;
    struct json_writer w = json_writer(&t->kept);
    put_paths(t->files, t->count, &w);
    struct vault_set *all = t->call->actions->vaults;
    const struct json *shown = json_read(buf_view(&t->kept), t->arena, e);
    unsigned number = t->call->place->vault;
    struct vault *vault = !shown            ? NULL
                          : dry_of(t->call) ? dry_vault(dry_of(t->call), number)
                                            : vault_set_get(all, number, e);
    scoped(vault_close) struct vault *own =
        place_view(t->call->place, vault, t->call->cancel, NULL, NULL, t->call->outcome);
    if (!own || !check(t, shown, e) ||
        !notes_put_files(own, t->files, t->count, t->since_ns, e))
        return false;
    t->call->outcome->changed = true; /* also if only folders changed */
    return true;
}
