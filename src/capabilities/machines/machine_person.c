/* What a person asks of the machines of this process by `cloche vm ports`, expose and unexpose: of
 * all callers' machines. Machines are named by the beginning of their handle's hash, as in records,
 * since a handle gives access.
 *
 *   {"do": "ports"}                                        {"machines": [{machine, caller, ...}]}
 *   {"do": "expose", "machine", "port", "hostPort"?}       {"exposed": {port, hostPort, ...}}
 *   {"do": "unexpose", "machine", "port"}                  {"closed": true}
 *
 * or {"error": TEXT}; nothing at all where no such machine runs here. */
#include <stdio.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "machines/machine_net.h"
#include "machines/machine_use.h"
#include "json/json.h"

#define ID_SIZE 13u /* as records have it */

static void id_of(const char *handle, char out[static ID_SIZE])
{
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(str_of(handle), hex);
    (void)snprintf(out, ID_SIZE, "%.12s", hex);
}

/* ---- the list ---------------------------------------------------------------------- */

static void put_one(void *arg, const struct vm_info *m)
{
    struct json_writer *w = arg;
    char id[ID_SIZE];
    if (m->state != VM_STATE_RUNNING || !m->network)
        return;
    id_of(m->handle, id);
    json_open_object(w);
    json_pair_cstr(w, "machine", id);
    json_pair_cstr(w, "caller", machine_net_caller(m->network->arg));
    json_pair_int(w, "process", getpid());
    json_pair_time(w, "started", m->started_ms);
    json_pair_bool(w, "network", machine_net_is_open(m->network->arg));
    json_key(w, "ports");
    json_open_array(w);
    for (size_t i = 0; i < m->port_count; i++)
        machine_port_put(&m->ports[i], NULL, w);
    json_close(w);
    json_close(w);
}

static void put_all(struct vms *all, struct json_writer *w)
{
    json_key(w, "machines");
    json_open_array(w);
    vm_list(all, VM_ANYBODY, put_one, w);
    json_close(w);
}

/* ---- a port -------------------------------------------------------------------------- */

struct named {
    const char *id;
    char handle[VM_HANDLE];
};

static void find_one(void *arg, const struct vm_info *m)
{
    struct named *n = arg;
    char id[ID_SIZE];
    id_of(m->handle, id);
    if (m->state == VM_STATE_RUNNING && m->network && !strcmp(id, n->id))
        memcpy(n->handle, m->handle, VM_HANDLE);
}

static struct vm *machine_of(struct vms *all, const struct json *request)
{
    struct err none = {0};
    struct named n = {.id = json_cstr(json_get(request, "machine"))};
    if (*n.id)
        vm_list(all, VM_ANYBODY, find_one, &n);
    return *n.handle ? vm_find(all, VM_ANYBODY, str_of(n.handle), NULL, &none) : NULL;
}

static uint16_t port_of(const struct json *request, const char *key)
{
    int64_t n = json_int(json_get(request, key), 0);
    return n > 0 && n <= UINT16_MAX ? (uint16_t)n : 0;
}

static bool expose(struct vm *m, const struct json *request, struct json_writer *w,
                   struct err *e)
{
    const struct vm_network *network = vm_network_of(m);
    struct vm_port p = {.port = port_of(request, "port"),
                        .host_port = port_of(request, "hostPort")};
    if (!network->may_accept(network->arg, p.port, NULL, e) || !vm_expose(m, &p, e))
        return false;
    machine_net_tell_port(network->arg, &p, true);
    json_key(w, "exposed");
    machine_port_put(&p, NULL, w);
    return true;
}

static bool unexpose(struct vm *m, const struct json *request, struct json_writer *w,
                     struct err *e)
{
    struct vm_port p = {.port = port_of(request, "port")};
    if (!vm_unexpose(m, p.port))
        return err_set(e, ERR_NOT_FOUND, "port %u of the machine is not exposed", p.port);
    machine_net_tell_port(vm_network_of(m)->arg, &p, false);
    json_pair_bool(w, "closed", true);
    return true;
}

void machine_person(void *vms, struct str text, struct buf *answer)
{
    struct err e = {0};
    struct json_writer w = json_writer(answer);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 16);
    const struct json *request = json_read(text, a, &e);
    struct str what = json_str(json_get(request, "do"));
    bool list = str_is(what, "ports"), open = str_is(what, "expose");
    if (!request || (!list && !open && !str_is(what, "unexpose")))
        return;
    scoped(vm_release) struct vm *m = list ? NULL : machine_of(vms, request);
    if (!list && !m)
        return;
    json_open_object(&w);
    if (list)
        put_all(vms, &w);
    else if (!(open ? expose : unexpose)(m, request, &w, &e))
        json_pair_cstr(&w, "error", e.msg);
    json_close(&w);
}
