/* Mounts of a command: the policy's folders and the vault. */
#include "machines/machine_mounts.h"

#include <stdio.h>

#include "guard/guard.h"
#include "machines/internal.h"
#include "machines/machine_written.h"
#include "os/os.h"
#include "place/place.h"
#include "policy/policy.h"
#include "vfs/vfs.h"

#define AT MACHINE_TREE_AT

/* Of each mount. Contents in memory are those of overlays. */
static const struct vfs_quota quota = {.bytes = (uint64_t)256 << 20,
                                       .files = 200000,
                                       .open = 2048,
                                       .written = (uint64_t)8 << 30};

/* ---- the option ------------------------------------------------------------------ */

static bool read_mode(struct str word, enum machine_mount_mode *out, struct err *e)
{
    static const char *const words[] = {"", "ro", "rw", "overlay"};
    for (size_t i = 1; i < LENGTH(words); i++)
        if (str_is(word, words[i])) {
            *out = (enum machine_mount_mode)i;
            return true;
        }
    return err_set(
        e, ERR_INVALID,
        "mounts has the mode '%.*s'; 'ro', 'rw' or 'overlay' is accepted, nothing "
        "ran",
        STR_ARGS(str_cut(word, 40)));
}

static bool read_apply(struct machine_mount *m, const struct json *v, struct err *e)
{
    m->tells = true;
    m->applies = json_bool(v, false);
    return json_is(v, JSON_BOOL) ||
           err_set(e, ERR_INVALID,
                   "mounts: apply is %s; true or false is accepted, nothing ran",
                   json_type_name(json_type(v)));
}

static bool read_object(struct machine_mount *m, const struct json *v, struct str *at,
                        struct err *e)
{
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        struct str text = json_str(it.value);
        bool files = str_is(it.key, "files");
        if (str_is(it.key, "apply")) {
            if (!read_apply(m, it.value, e))
                return false;
            continue;
        }
        if (!json_is(it.value, files ? JSON_OBJECT : JSON_STRING))
            return err_set(
                e, ERR_INVALID, "mounts: %.*s is %s; %s is accepted, nothing ran",
                STR_ARGS(str_cut(it.key, 40)), json_type_name(json_type(it.value)),
                files ? "an object such as {'data.csv': 'a,1'}" : "a string");
        if (files)
            m->tree.files = it.value;
        else if (str_is(it.key, "mount"))
            m->of = text;
        else if (str_is(it.key, "at"))
            *at = text;
        else if (!str_is(it.key, "mode"))
            return err_set(
                e, ERR_INVALID,
                "mounts does not accept '%.*s'; mount, at, mode, apply and files are "
                "accepted, nothing ran",
                STR_ARGS(str_cut(it.key, 40)));
        else if (!read_mode(text, &m->mode, e))
            return false;
    }
    return true;
}

static bool read_one(struct machine_mounts *all, const struct json *v, struct arena *a,
                     struct err *e)
{
    struct str at = {0};
    if (all->count == MACHINE_MOUNTS_MAX)
        return err_set(e, ERR_LIMIT, "mounts has more than %u entries; nothing ran",
                       MACHINE_MOUNTS_MAX);
    struct machine_mount *m = &all->all[all->count];
    *m = (struct machine_mount){0};
    if (json_is(v, JSON_STRING))
        m->of = json_str(v);
    else if (!json_is(v, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID,
            "mounts has %s; paths such as '/data', and objects such as {mount: "
            "'/data', at: '/work', mode: 'ro'}, are accepted; nothing ran",
            json_type_name(json_type(v)));
    else if (!read_object(m, v, &at, e))
        return false;
    if (m->tree.files && (m->of.n || !at.n))
        return err_set(
            e, ERR_INVALID,
            "an entry of mounts with files has 'at', and no 'mount'; nothing ran");
    if (m->tells && (m->tree.files || str_is(m->of, TOOL_VAULT) ||
                     (m->mode != MOUNT_OVERLAY && m->mode != MOUNT_USUAL)))
        return err_set(e, ERR_INVALID,
                       "mounts: apply is for an overlay of a folder%s; nothing ran",
                       str_is(m->of, TOOL_VAULT) ? ", and the vault has mode: 'rw'" : "");
    if (!m->of.n && !m->tree.files)
        return err_set(e, ERR_INVALID, "an entry of mounts names no mount; nothing ran");
    m->at = str_cz(at.n ? at : m->of, a, e);
    all->count += m->at != NULL;
    return m->at != NULL;
}

bool machine_mounts_read(struct machine_mounts *m, const struct json *v, struct arena *a,
                         struct err *e)
{
    if (!json_is(v, JSON_ARRAY))
        return err_set(e, ERR_INVALID,
                       "mounts is %s; a list such as ['/data'] is accepted, nothing ran",
                       json_type_name(json_type(v)));
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!read_one(m, it.value, a, e))
            return false;
    return true;
}

/* ---- the policy's folders ---------------------------------------------------------- */

/* A folder that was found; `words` has the texts of one that is not the policy's. */
struct folder {
    struct policy_mount mount;
    bool overlay, apply; /* `apply`: a person said so of an overlay */
    struct vm_mount_words words;
};

/* Those of the person who started this program go before the policy's. */
static bool find_given(const struct actions *a, struct str name, struct folder *out,
                       struct err *e)
{
    for (const char *const *text = a->mounts; text && *text; text++) {
        if (!vm_mount_read(*text, &out->words, e))
            return false;
        if (!str_is(name, out->words.place))
            continue;
        out->overlay = out->words.overlay;
        out->apply = out->words.apply;
        out->mount = (struct policy_mount){.guest = out->words.place,
                                           .host = out->words.host,
                                           .writable = !out->words.read_only,
                                           .dots = true,
                                           .links = out->words.links};
        return true;
    }
    return false;
}

static bool find_folder(const struct tool_call *c, const struct machine_mount *m,
                        struct folder *found, struct err *e)
{
    const struct policy *policy = c->place->permit.policy;
    const struct files_policy *files = policy_values(policy, &files_policy);
    struct json_iter it = json_iter(policy_mounts(policy));
    struct policy_mount *out = &found->mount;
    if (!files->file_system)
        return err_set(e, ERR_DENIED,
                       "the policy shows no files (fileSystem is false); nothing ran");
    if (find_given(c->actions, m->of, found, e) || e->code)
        return !e->code;
    while (json_next(&it)) {
        *out = policy_mount(it.value);
        if (str_is(m->of, out->guest))
            return true;
    }
    return err_set(
        e, ERR_NOT_FOUND,
        "the policy has no mount '%.*s'; a person adds folders to the policy's "
        "mounts, '" TOOL_VAULT "' is the vault; nothing ran",
        STR_ARGS(str_cut(m->of, 100)));
}

/* ---- files of the call ---------------------------------------------------------------- */

static bool open_tree(struct machine_mount *m, const struct tool_call *c, struct vm *in,
                      struct err *e)
{
    scoped(vfs_free) struct vfs *tree = machine_tree_make(&m->tree, &quota, c->arena, e);
    struct vm_mount what = {.tree = tree,
                            .at = AT,
                            .place = m->at,
                            .writable = m->mode != MOUNT_RO,
                            .alone = true};
    if (!tree || !vm_mount(in, &what, e))
        return false;
    (void)take(tree);
    return m->mounted = true;
}

/* ---- folders of the host ---------------------------------------------------------------- */

/* The tree is the machine's from here on, or freed. */
static bool show(struct machine_mount *m, struct vm *in, const struct vfs_mount *how,
                 const char *label, struct err *e)
{
    scoped(vfs_free) struct vfs *tree = vfs_new(&quota);
    struct vm_mount what = {.tree = tree,
                            .at = how->at,
                            .place = m->at,
                            .writable = how->writable,
                            .label = label};
    if (!vfs_mount(tree, how, e) || !vm_mount(in, &what, e))
        return err_wrap(e, "the mount %.*s", STR_ARGS(str_cut(m->of, 100)));
    (void)take(tree);
    return m->mounted = true;
}

/* May what changes in the overlay be written to the folder? */
static bool may_apply(const struct folder *f, const struct vfs_mount *how, struct err *e)
{
    if (!how->writable)
        return err_set(e, ERR_DENIED,
                       "the mount %.100s is read-only%s; nothing was written",
                       f->mount.guest, f->words.host[0] ? "" : " by the policy");
    return !f->overlay || f->apply ||
           err_set(
               e, ERR_DENIED,
               "the mount %.100s is an overlay whose changes are not written (a person "
               "adds ':apply'); nothing was written",
               f->mount.guest);
}

static struct writeback writeback_of(const struct vfs_mount *how)
{
    return (struct writeback){.dir = how->dir,
                              .dots = how->dots,
                              .owner_only = how->owner_only,
                              .links = how->links};
}

static bool open_folder(struct machine_mount *m, const struct tool_call *c, struct vm *in,
                        bool stays, struct err *e)
{
    struct folder found = {0};
    const struct policy_mount *of = &found.mount;
    struct vfs_mount how;
    writeback_complete();
    if (!find_folder(c, m, &found, e) || !mount_open(c->actions, c->place, of, &how, e))
        return false;
    scoped_fd int dir = how.dir;
    if (m->applies && !may_apply(&found, &how, e))
        return false;
    if (m->tells && m->mode == MOUNT_USUAL && !found.overlay)
        return err_set(e, ERR_INVALID,
                       "mounts: apply is for an overlay (mode: 'overlay'); nothing ran");
    if (m->mode == MOUNT_RW && !how.writable)
        return err_set(e, ERR_DENIED, "the mount %.100s is read-only%s; nothing ran",
                       of->guest, found.words.host[0] ? "" : " by the policy");
    if (m->mode == MOUNT_RW && found.overlay)
        return err_set(e, ERR_DENIED, "the mount %.100s is an overlay; nothing ran",
                       of->guest);
    how.at = AT;
    how.overlay = m->mode == MOUNT_OVERLAY || (found.overlay && m->mode != MOUNT_RO);
    how.writable = how.overlay || (how.writable && m->mode != MOUNT_RO);
    scoped(free) char *label = NULL;
    must(asprintf(&label, "%s %s\n%s", how.writable && !how.overlay ? "rw" : "ro",
                  of->guest, of->host) > 0);
    if (!show(m, in, &how, stays ? label : NULL, e))
        return false;
    if (m->tells) {
        m->folder = writeback_of(&how);
        dir = -1; /* until machine_mounts_free() */
    }
    return true;
}

/* ---- the vault ------------------------------------------------------------------------ */

static bool open_vault(struct machine_mounts *all, struct machine_mount *m,
                       const struct tool_call *c, struct vm *in, struct err *e)
{
    struct vfs_mount how[1];
    size_t count = 0;
    bool writes = m->mode == MOUNT_RW;
    if (all->has_vault)
        return err_set(e, ERR_INVALID, "the vault is mounted once; nothing ran");
    all->has_vault = true;
    if (!tool_vault_open(&all->vault, c, writes ? TOOL_READWRITE : TOOL_READ, how, &count,
                         e))
        return false;
    if (!count)
        return err_set(e, ERR_DENIED,
                       "the vault's notes may not be read here; nothing ran");
    scoped_fd int dir = how->dir;
    if (writes && !how->writable)
        return err_set(e, ERR_DENIED,
                       "the vault's notes may not be changed here; nothing ran");
    if (m->mode == MOUNT_OVERLAY)
        how->overlay = how->writable = true;
    tool_vault_begin(&all->vault);
    return show(m, in, how, NULL, e);
}

bool machine_mounts_open(struct machine_mounts *m, const struct tool_call *c,
                         struct vm *in, struct err *e)
{
    bool ok = true;
    struct err none = {0};
    m->call = c;
    for (size_t i = 0; ok && i < m->count; i++)
        ok = m->all[i].tree.files ? open_tree(&m->all[i], c, in, e)
             : str_is(m->all[i].of, TOOL_VAULT)
                 ? open_vault(m, &m->all[i], c, in, e)
                 : open_folder(&m->all[i], c, in, false, e);
    if (!ok)
        (void)machine_mounts_close(m, in, false, &none);
    return ok;
}

bool machine_mounts_stay(struct machine_mounts *m, const struct tool_call *c,
                         struct vm *in, struct err *e)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->all[i].tells)
            return err_set(e, ERR_INVALID,
                           "mounts: apply is of a command (vm.exec); vm.apply writes the "
                           "changes of an overlay that stays");
        else if (m->all[i].tree.files || str_is(m->all[i].of, TOOL_VAULT))
            return err_set(e, ERR_INVALID,
                           "%s mounted by a command (vm.exec), not by vm.start",
                           m->all[i].tree.files ? "files are" : "the vault is");
        else if (!open_folder(&m->all[i], c, in, true, e))
            return false;
    return true;
}

struct again {
    struct machine_mounts *mounts;
    struct arena *arena;
    struct err *e;
};

/* A label is "rw GUEST", or "ro", also of an overlay, which is writable in the machine; then a line
 * feed and HOST. */
static bool add_again(void *arg, const char *place, const char *label, bool writable)
{
    struct again *g = arg;
    struct machine_mounts *m = g->mounts;
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->all[i].at, place))
            return true;
    if (m->count == MACHINE_MOUNTS_MAX)
        return err_set(g->e, ERR_LIMIT, "mounts has more than %u entries; nothing ran",
                       MACHINE_MOUNTS_MAX);
    const char *of = arena_copy(g->arena, label + 3, strcspn(label + 3, "\n"), g->e);
    const char *at = arena_copy(g->arena, place, strlen(place), g->e);
    if (!of || !at)
        return false;
    m->all[m->count++] = (struct machine_mount){.of = str_of(of),
                                                .at = at,
                                                .mode = label[1] == 'w' ? MOUNT_RW
                                                        : writable      ? MOUNT_OVERLAY
                                                                        : MOUNT_RO};
    return true;
}

bool machine_mounts_again(struct machine_mounts *m, struct vm *of, struct arena *a,
                          struct err *e)
{
    return vm_each_mount(of, add_again, &(struct again){m, a, e});
}

/* Is the mount with this label this one, or less? */
static bool is_within(const struct policy_mount *own, const char *label, bool *may_write)
{
    scoped(free) char *given = NULL;
    must(asprintf(&given, "%s\n%s", own->guest, own->host) > 0);
    *may_write = own->writable;
    return !strcmp(label + 3, given);
}

/* Is it still given, as far as it is mounted? */
static bool is_given(void *arg, const char *place, const char *label, bool writable)
{
    const struct tool_call *c = arg;
    const struct permit *p = &c->place->permit;
    struct json_iter it = json_iter(policy_mounts(p->policy));
    struct err none = {0};
    struct folder found = {0};
    struct str guest = {label + 3, strcspn(label + 3, "\n")};
    bool there = find_given(c->actions, guest, &found, &none), may_write = false;
    (void)place, (void)writable;
    bool is = there && is_within(&found.mount, label, &may_write);
    while (!is && json_next(&it)) {
        struct policy_mount own = policy_mount(it.value);
        is = is_within(&own, label, &may_write);
    }
    return is && (label[1] == 'o' || (may_write && !p->read_only));
}

bool machine_mounts_may(const struct tool_call *c, struct vm *in, struct err *e)
{
    return vm_each_mount(in, is_given, (struct tool_call *)(uintptr_t)c) ||
           err_set(
               e, ERR_DENIED,
               "the machine was started with a folder that the policy does not mount here; "
               "nothing ran");
}

/* All of one folder or none; others are others. */
static bool apply_one(struct machine_mounts *m, struct machine_mount *one,
                      struct vfs *tree, struct err *e)
{
    struct err why = {0};
    struct machine_apply a = {.call = m->call,
                              .folder = one->folder,
                              .mount = one->of,
                              .at = one->at,
                              .tree = tree,
                              .tree_at = AT,
                              .dry = !one->applies};
    struct json_writer w = json_writer(&m->applied);
    if (m->applied.n)
        buf_char(&m->applied, ',');
    return machine_apply_tree(&a, &w, &why) || e->code || err_pass(e, &why);
}

bool machine_mounts_close(struct machine_mounts *m, struct vm *in, bool keep,
                          struct err *e)
{
    if (keep) {
        buf_init(&m->told.text, MACHINE_TOLD_MAX);
        buf_init(&m->applied, MACHINE_APPLIED_MAX);
    }
    for (size_t i = m->count; i-- > 0;) {
        struct machine_mount *one = &m->all[i];
        scoped(vfs_free) struct vfs *tree = one->mounted ? vm_unmount(in, one->at) : NULL;
        one->mounted = false;
        bool tells =
            one->tree.files && one->mode != MOUNT_RO && one->mode != MOUNT_OVERLAY;
        if (tree && keep && tells)
            machine_tree_tell(&one->tree, tree, one->at, &m->told);
        else if (tree && keep && str_is(one->of, TOOL_VAULT))
            tool_vault_take(&m->vault, tree);
        else if (tree && keep && one->tells)
            (void)apply_one(m, one, tree, e);
    }
    if (!m->has_vault || !keep)
        return !e->code;
    struct err why = {0}; /* each folder is written for itself */
    return tool_vault_keep(&m->vault, &why) ? !e->code
           : e->code                        ? false
                                            : err_pass(e, &why);
}

void machine_mounts_put(const struct machine_mounts *m, struct json_writer *w)
{
    if (m->vault.kept.n) {
        json_pair_bool(w, "changed", true);
        json_pair_raw(w, "vault", buf_view(&m->vault.kept));
    }
    if (m->told.text.n) {
        scoped_buf struct buf list = buf_of(MACHINE_TOLD_MAX + 2);
        buf_printf(&list, "[%.*s]", STR_ARGS(buf_view(&m->told.text)));
        json_pair_raw(w, "files", buf_view(&list));
    }
    if (m->applied.n) {
        scoped_buf struct buf list = buf_of(MACHINE_APPLIED_MAX + 2);
        buf_printf(&list, "[%.*s]", STR_ARGS(buf_view(&m->applied)));
        json_pair_raw(w, "applied", buf_view(&list));
    }
    if (m->told.left_out)
        json_pair_int(w, "filesLeftOut", (int64_t)m->told.left_out);
}

size_t machine_mounts_size(const struct machine_mounts *m)
{
    return m->vault.kept.n + m->told.text.n + m->applied.n;
}

uint64_t machine_mounts_given(const struct machine_mounts *m)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->count; i++)
        bytes += m->all[i].tree.bytes;
    return bytes;
}

void machine_mounts_free(struct machine_mounts *m)
{
    tool_vault_close(&m->vault);
    buf_done(&m->told.text);
    buf_done(&m->applied);
    for (size_t i = 0; i < m->count; i++)
        if (m->all[i].folder.dir > 0)
            os_close(m->all[i].folder.dir);
}

/* ---- overlays that stay ---------------------------------------------------------------- */

struct sought {
    const char *place;
    char *label;
    size_t size;
    bool found;
};

static bool seek(void *arg, const char *place, const char *label, bool writable)
{
    struct sought *s = arg;
    if (strcmp(place, s->place))
        return true;
    s->found = label[1] == 'o' && writable &&
               snprintf(s->label, s->size, "%s", label) < (int)s->size;
    return false;
}

bool machine_overlay_find(const struct tool_call *c, struct vm *in, const char *place,
                          bool applies, struct machine_overlay *out, struct err *e)
{
    struct folder found = {0};
    struct vfs_mount how;
    struct sought s = {place, out->label, sizeof out->label, false};
    (void)vm_each_mount(in, seek, &s);
    if (!s.found)
        return err_set(e, ERR_NOT_FOUND,
                       "no overlay stays at '%.100s' of the machine; vm.start mounts one "
                       "with mode: 'overlay'",
                       place);
    struct machine_mount m = {.of = {out->label + 3, strcspn(out->label + 3, "\n")}};
    if (!machine_mounts_may(c, in, e) || !find_folder(c, &m, &found, e) ||
        !mount_open(c->actions, c->place, &found.mount, &how, e))
        return false;
    out->folder = writeback_of(&how);
    if (!applies || may_apply(&found, &how, e))
        return true;
    os_close(how.dir);
    return false;
}

bool machine_overlay_mount(struct vm *in, const char *place,
                           const struct machine_overlay *o, struct vfs *tree,
                           struct err *e)
{
    scoped(vfs_free) struct vfs *new = tree ? tree : vfs_new(&quota);
    struct vm_mount what = {
        .tree = new, .at = AT, .place = place, .writable = true, .label = o->label};
    struct vfs_mount how = {.at = AT,
                            .dir = o->folder.dir,
                            .writable = true,
                            .overlay = true,
                            .dots = o->folder.dots,
                            .links = o->folder.links,
                            .owner_only = o->folder.owner_only};
    if ((!tree && !vfs_mount(new, &how, e)) || !vm_mount(in, &what, e))
        return false;
    (void)take(new);
    return true;
}
