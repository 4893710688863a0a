/* vm.apply: the changes of an overlay that stays in a machine, as one change set of its folder. */
#include "machines/machine_mounts.h"
#include "machines/machine_use.h"
#include "machines/machine_written.h"
#include "machines/machines.api.h"
#include "os/os.h"

struct apply_request {
    struct str machine;
    const char *at;
    bool dry;
};

static bool read_options(const struct tool_call *c, const struct json *options,
                         struct apply_request *x, struct err *e)
{
    struct json_iter it = json_iter(options);
    while (json_next(&it)) {
        bool ok = true, text = json_is(it.value, JSON_STRING);
        if (json_is(it.value, JSON_NULL))
            continue;
        else if (str_is(it.key, "dryRun"))
            ok = read_flag("dryRun", it.value, &x->dry, "nothing was written", e);
        else if (str_is(it.key, "machine") && text)
            x->machine = json_str(it.value);
        else if (str_is(it.key, "at") && text)
            ok = (x->at = str_cz(json_str(it.value), c->arena, e)) != NULL;
        else
            ok = call_option_unknown(it.key, VM_APPLY_KEYS, "nothing was written", e);
        if (!ok)
            return false;
    }
    return x->at || err_set(e, ERR_INVALID,
                            "at is missing, the overlay's place in the machine; nothing "
                            "was written");
}

struct looking {
    struct machine_apply apply;
    struct json_writer *out;
    struct err *e;
    bool ok;
};

static void look(void *arg, struct vfs *tree, const char *at)
{
    struct looking *l = arg;
    l->apply.tree = tree;
    l->apply.tree_at = at;
    l->ok = machine_apply_tree(&l->apply, l->out, l->e);
}

/* The overlay goes from the machine meanwhile: nothing changes there, and all that its kernel
 * has not sent comes. Then a new one is there, or the same. */
static bool write_overlay(struct vm *m, const struct machine_overlay *o,
                          struct looking *l, struct err *e)
{
    struct err why = {0};
    const char *place = l->apply.at;
    scoped(vfs_free) struct vfs *tree = vm_unmount(m, place);
    if (!tree)
        return err_set(e, ERR_BUSY, "'%.100s' is being taken away; nothing was written",
                       place);
    look(l, tree, MACHINE_TREE_AT);
    struct vfs *again = l->ok ? NULL : take(tree);
    if (machine_overlay_mount(m, place, o, again, &why))
        return l->ok;
    return l->ok ? err_set(e, why.code, "the changes are written, but %.200s", why.msg)
                 : err_wrap(e, "(and it is mounted no more: %.100s)", why.msg);
}

static bool apply(struct machine_use *u, enum permission word, const struct json *options,
                  struct json_writer *out, struct err *e)
{
    struct apply_request x = {0};
    struct machine_overlay o = {0};
    if (!read_options(u->call, options, &x, e) ||
        (!x.dry && !machine_use_permitted(u, word, false, options, e)))
        return false;
    scoped(vm_release) struct vm *m = machine_use_running(u, x.machine, e);
    if (!m || !machine_overlay_find(u->call, m, x.at, !x.dry, &o, e))
        return false;
    scoped_fd int dir = o.folder.dir;
    struct looking l = {.apply = {.call = u->call,
                                  .folder = o.folder,
                                  .mount = {o.label + 3, strcspn(o.label + 3, "\n")},
                                  .at = x.at,
                                  .dry = x.dry},
                        .out = out,
                        .e = e};
    (void)dir;
    if (!x.dry)
        return write_overlay(m, &o, &l, e);
    return vm_look(m, x.at, look, &l)
               ? l.ok
               : err_set(e, ERR_NOT_FOUND, "nothing is mounted at '%.100s'", x.at);
}

bool machines_apply(const struct tool_call *c, const struct json *options,
                    struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    uint64_t begun_ns = os_mono_ns();
    bool ok = machine_use_begin(&u, c, "vm.apply", &word, e) &&
              apply(&u, word, options, out, e);
    machine_account(
        c, &(struct machine_operation){.call = "vm.apply",
                                       .machine = json_cstr(json_get(options, "machine")),
                                       .outcome = e->code,
                                       .wall_ns = os_mono_ns() - begun_ns});
    return ok && buf_check(out->out, "the answer", e);
}
