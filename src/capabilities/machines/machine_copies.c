/* Copies of machines: snapshots, machines that start from one, and forks. */
#include "machines/machine_copies.h"

#include <stdio.h>
#include <string.h>

#include "machines/machine_net.h"
#include "machines/machines.api.h"
#include "os/os.h"

#define DEFAULT "default"

/* ---- where a caller's copies are --------------------------------------------------- */

char *machine_copies_folder(void)
{
    struct err none = {0};
    char *path = NULL;
    scoped(free) char *state = NULL;
    scoped_fd int fd = os_state_dir(&state, &none);
    if (fd >= 0)
        must(asprintf(&path, "%s/machines", state) > 0);
    return path;
}

void machine_shelf(const struct machine_use *u, struct vm_shelf *out)
{
    const struct vm_policy *p = u->policy;
    *out = (struct vm_shelf){.payer = str_of(u->payer),
                             .label = u->call->who->name,
                             .count = p->snapshots,
                             .bytes = (uint64_t)p->snapshot_mb << 20,
                             .hint = "a person says in the policy how many "
                                     "(vm.snapshots, vm.snapshotMB)"};
}

bool machine_may_save(const struct machine_use *u, struct err *e)
{
    return u->policy->snapshots > 0 ||
           err_set(e, ERR_LIMIT,
                   "the policy allows no saved machines (vm.snapshots is 0)");
}

/* A machine's size is the copy's. */
static bool fits(const struct machine_use *u, const struct vm_copy *c, struct err *e)
{
    uint32_t most = u->policy->ram_mb;
    return vm_copy_ram_mb(c) <= most ||
           err_set(e, ERR_LIMIT,
                   "it is of a machine with %u MB of memory, and the policy allows %u "
                   "(vm.ramMB); no machine was started",
                   vm_copy_ram_mb(c), most);
}

static struct vm_copy *open_snapshot(const struct machine_use *u, struct str name,
                                     struct err *e)
{
    scoped(vm_copy_drop) struct vm_copy *c =
        vm_saved_open(u->all, str_of(u->payer), VM_SAVED_SNAPSHOT, name, e);
    return c && fits(u, c, e) ? take(c) : NULL;
}

bool machine_from_default(const struct machine_use *u, uint32_t ram_mb,
                          struct vm_options *o, struct err *e)
{
    struct err why = {0};
    struct vm_copy *c = open_snapshot(u, STR(DEFAULT), &why);
    if (!c && why.code == ERR_NOT_FOUND)
        return true;
    if (!c)
        return err_set(e, why.code,
                       "%.330s (each machine of yours begins with it: remove it with "
                       "vm_snapshots {delete: \"default\"})",
                       why.msg);
    if (ram_mb && ram_mb != vm_copy_ram_mb(c)) {
        vm_copy_drop(c); /* of another size, so that it begins with the image */
        return true;
    }
    o->from = c;
    o->ram_mb = vm_copy_ram_mb(c);
    o->origin = DEFAULT;
    return true;
}

/* ---- requests ------------------------------------------------------------------------ */

struct copy_request {
    struct str machine, name, kind;
    bool network;
    uint8_t mac[6];
    struct machine_mounts mounts; /* of the machine that starts */
};

static bool is_among(struct str key, const char *const *keys)
{
    while (*keys && !str_is(key, *keys))
        keys++;
    return *keys != NULL;
}

static bool read_request(const struct machine_use *u, const struct json *options,
                         const char *const *keys, bool names, struct copy_request *x,
                         struct err *e)
{
    static const char undone[] = "nothing was done";
    struct json_iter it = json_iter(options);
    while (json_next(&it)) {
        bool ok = true, text = json_is(it.value, JSON_STRING);
        if (json_is(it.value, JSON_NULL))
            continue;
        else if (!is_among(it.key, keys))
            ok = call_option_unknown(it.key, keys, undone, e);
        else if (str_is(it.key, "machine") && text)
            x->machine = json_str(it.value);
        else if ((str_is(it.key, "name") || str_is(it.key, "delete")) && text)
            x->name = json_str(it.value);
        else if (str_is(it.key, "kind") && text)
            x->kind = json_str(it.value);
        else if (str_is(it.key, "network"))
            ok = machine_read_network(u, it.value, &x->network, undone, e);
        else if (str_is(it.key, "mac"))
            ok = machine_read_mac(it.value, x->mac, undone, e);
        else if (str_is(it.key, "mounts"))
            ok = machine_mounts_read(&x->mounts, it.value, u->call->arena, e);
        else
            ok =
                err_set(e, ERR_INVALID, "%.*s is a string; %s", STR_ARGS(it.key), undone);
        if (!ok)
            return false;
    }
    return !names || vm_saved_check_name(x->name, e);
}

static void put_saved(const struct vm_saved *s, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", s->name);
    json_pair_cstr(w, "kind", vm_saved_kind_name(s->kind));
    json_pair_bool(w, "default",
                   s->kind == VM_SAVED_SNAPSHOT && !strcmp(s->name, DEFAULT));
    json_pair_int(w, "ramMB", s->ram_mb);
    json_pair_int(w, "bytes", (int64_t)s->bytes);
    json_pair_time(w, "made", s->made_ms);
    json_pair_bool(w, "usable", *s->label && s->fits);
}

/* ---- snapshots ------------------------------------------------------------------------- */

static bool snapshot(const struct machine_use *u, const struct json *options,
                     struct json_writer *out, struct err *e)
{
    struct copy_request x = {0};
    struct vm_shelf shelf;
    struct vm_saved saved;
    if (!read_request(u, options, VM_SNAPSHOT_KEYS, true, &x, e) ||
        !machine_may_save(u, e))
        return false;
    scoped(vm_release) struct vm *m = machine_use_running(u, x.machine, e);
    scoped(vm_copy_drop) struct vm_copy *c = m ? vm_copy(m, e) : NULL;
    machine_shelf(u, &shelf);
    if (!c || !vm_save(u->all, &shelf, VM_SAVED_SNAPSHOT, x.name, c, &saved, e))
        return false;
    put_saved(&saved, out);
    json_pair_cstr(out, "machine", vm_handle(m));
    if (!strcmp(saved.name, DEFAULT))
        json_pair_cstr(
            out, "note",
            "each further machine of yours begins with it, until it is removed "
            "with vm_snapshots {delete: \"default\"}");
    json_close(out);
    return true;
}

static void list_one(void *arg, const struct vm_saved *s)
{
    put_saved(s, arg);
    json_close(arg);
}

static bool remove_saved(const struct machine_use *u, const struct copy_request *x,
                         struct err *e)
{
    struct err why = {0};
    bool any = !x->kind.n;
    if (!any && !str_is(x->kind, "snapshot") && !str_is(x->kind, "machine"))
        return err_set(e, ERR_INVALID,
                       "kind is \"snapshot\" or \"machine\"; nothing was removed");
    if ((any || str_is(x->kind, "snapshot")) &&
        vm_saved_remove(u->all, str_of(u->payer), VM_SAVED_SNAPSHOT, x->name, &why))
        return true;
    if (why.code && (!any || why.code != ERR_NOT_FOUND)) {
        err_pass(e, &why);
        return false;
    }
    return vm_saved_remove(u->all, str_of(u->payer), VM_SAVED_KEPT, x->name, e);
}

static bool snapshots(const struct machine_use *u, const struct json *options,
                      struct json_writer *out, struct err *e)
{
    struct copy_request x = {0};
    if (!read_request(u, options, VM_SNAPSHOTS_KEYS, false, &x, e) ||
        (x.name.n && !remove_saved(u, &x, e)))
        return false;
    json_open_object(out);
    if (x.name.n)
        json_pair_str(out, "deleted", x.name);
    json_key(out, "snapshots");
    json_open_array(out);
    bool ok = vm_saved_list(u->all, str_of(u->payer), list_one, out, e);
    json_close(out);
    json_close(out);
    return ok;
}

/* ---- machines that start from a copy ------------------------------------------------------ */

/* Writes the machine. */
static bool start_from(const struct machine_use *u, struct vm_copy *c, const char *origin,
                       struct copy_request *x, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    enum permission word = x->mounts.count ? u->word : PERMISSION_ALWAYS;
    struct vm_options o = machine_use_options(u);
    struct vm_info info;
    o.from = c;
    o.origin = origin;
    o.ram_mb = vm_copy_ram_mb(c);
    if (!machine_use_permitted(u, word, x->network, options, e))
        return false;
    struct machine_use with = *u;
    with.network = x->network;
    memcpy(with.mac, x->mac, sizeof with.mac);
    scoped(vm_release) struct vm *m = machine_use_start(&with, &o, e);
    if (m && !machine_mounts_stay(&x->mounts, u->call, m, e)) {
        vm_stop(m); /* as if it had not started */
        return false;
    }
    if (!m)
        return false;
    vm_get_info(m, &info);
    machine_put(&info, out);
    return true;
}

static bool restore(const struct machine_use *u, const struct json *options,
                    struct json_writer *out, struct err *e)
{
    struct copy_request x = {0};
    char name[VM_NAME_MAX + 1];
    if (!read_request(u, options, VM_RESTORE_KEYS, true, &x, e))
        return false;
    scoped(vm_copy_drop) struct vm_copy *c = open_snapshot(u, x.name, e);
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(x.name));
    return c && start_from(u, c, name, &x, options, out, e);
}

static bool fork_machine(const struct machine_use *u, const struct json *options,
                         struct json_writer *out, struct err *e)
{
    struct copy_request x = {0};
    if (!read_request(u, options, VM_FORK_KEYS, false, &x, e))
        return false;
    scoped(vm_release) struct vm *m = machine_use_running(u, x.machine, e);
    if (!m || !machine_mounts_again(&x.mounts, m, u->call->arena, e))
        return false;
    scoped(vm_copy_drop) struct vm_copy *c = vm_copy(m, e);
    return c && start_from(u, c, vm_handle(m), &x, options, out, e);
}

/* ---- the calls ------------------------------------------------------------------------------ */

typedef bool copy_fn(const struct machine_use *u, const struct json *options,
                     struct json_writer *out, struct err *e);

static bool perform(const struct tool_call *c, const char *call, copy_fn *fn,
                    const struct json *options, struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    uint64_t begun_ns = os_mono_ns();
    bool ok = machine_use_begin(&u, c, call, &word, e) && fn(&u, options, out, e);
    machine_account(
        c, &(struct machine_operation){.call = call,
                                       .machine = json_cstr(json_get(options, "machine")),
                                       .outcome = e->code,
                                       .wall_ns = os_mono_ns() - begun_ns});
    return ok && buf_check(out->out, "the answer", e);
}

bool machines_snapshot(const struct tool_call *c, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    return perform(c, "vm.snapshot", snapshot, options, out, e);
}

bool machines_restore(const struct tool_call *c, const struct json *options,
                      struct json_writer *out, struct err *e)
{
    return perform(c, "vm.restore", restore, options, out, e);
}

bool machines_fork(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, struct err *e)
{
    return perform(c, "vm.fork", fork_machine, options, out, e);
}

bool machines_snapshots(const struct tool_call *c, const struct json *options,
                        struct json_writer *out, struct err *e)
{
    return perform(c, "vm.snapshots", snapshots, options, out, e);
}
