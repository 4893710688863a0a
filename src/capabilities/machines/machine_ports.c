/* Exposed ports of machines: a port of the machine is reached at a loopback address of this
 * computer. */
#include <stdio.h>

#include "calls/calls.h"
#include "machines/internal.h"
#include "machines/machine_use.h"
#include "machines/machines.api.h"
#include "os/os.h"

#define HOST_PORT_MIN 1024u /* below it are ports that a system's own servers have */

struct port_request {
    struct vm_port port;
    struct str machine;
    bool close; /* it is to be closed */
};

static bool read_port(const char *key, const struct json *v, unsigned min, uint16_t *out,
                      struct err *e)
{
    int64_t n = json_is_int(v) ? json_int(v, 0) : 0;
    *out = (uint16_t)n;
    return (n >= min && n <= UINT16_MAX) ||
           err_set(e, ERR_INVALID, "%s is no port from %u to 65535; no port was exposed",
                   key, min);
}

static bool read_options(const struct json *options, struct port_request *x,
                         struct err *e)
{
    struct json_iter it = json_iter(options);
    while (json_next(&it)) {
        bool ok = true;
        if (json_is(it.value, JSON_NULL))
            continue;
        else if (str_is(it.key, "port"))
            ok = read_port("port", it.value, 1, &x->port.port, e);
        else if (str_is(it.key, "hostPort"))
            ok = read_port("hostPort", it.value, HOST_PORT_MIN, &x->port.host_port, e);
        else if (str_is(it.key, "close"))
            ok = read_flag("close", it.value, &x->close, "no port was exposed", e);
        else if (str_is(it.key, "machine") && json_is(it.value, JSON_STRING))
            x->machine = json_str(it.value);
        else
            ok = call_option_unknown(it.key, VM_EXPOSE_KEYS, "no port was exposed", e);
        if (!ok)
            return false;
    }
    return x->port.port || err_set(e, ERR_INVALID,
                                   "port is missing, the machine's port at which its "
                                   "server listens; no port was exposed");
}

void machine_port_put(const struct vm_port *p, const char *machine, struct json_writer *w)
{
    char url[60];
    (void)snprintf(url, sizeof url, "http://%s:%u/", p->address, p->host_port);
    json_open_object(w);
    if (machine)
        json_pair_cstr(w, "machine", machine);
    json_pair_int(w, "port", p->port);
    json_pair_int(w, "hostPort", p->host_port);
    json_pair_cstr(w, "address", p->address);
    json_pair_cstr(w, "url", url);
    json_close(w);
}

static bool close_port(struct vm *m, const struct vm_port *p, struct json_writer *out,
                       struct err *e)
{
    if (!vm_unexpose(m, p->port))
        return err_set(e, ERR_NOT_FOUND, "port %u of the machine is not exposed",
                       p->port);
    json_open_object(out);
    json_pair_cstr(out, "machine", vm_handle(m));
    json_pair_int(out, "port", p->port);
    json_pair_bool(out, "closed", true);
    json_close(out);
    return true;
}

static bool expose(const struct machine_use *u, const struct json *options,
                   struct json_writer *out, struct err *e)
{
    struct port_request x = {0};
    if (!read_options(options, &x, e))
        return false;
    scoped(vm_release) struct vm *m = machine_use_running(u, x.machine, e);
    if (!m)
        return false;
    if (x.close)
        return close_port(m, &x.port, out, e);
    if (!machine_use_exposes(u, options, e) || !vm_expose(m, &x.port, e))
        return false;
    machine_port_put(&x.port, vm_handle(m), out);
    return true;
}

bool machines_expose(const struct tool_call *c, const struct json *options,
                     struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    uint64_t begun_ns = os_mono_ns();
    bool ok =
        machine_use_begin(&u, c, "vm.expose", &word, e) && expose(&u, options, out, e);
    machine_account(
        c, &(struct machine_operation){.call = "vm.expose",
                                       .machine = json_cstr(json_get(options, "machine")),
                                       .outcome = e->code,
                                       .wall_ns = os_mono_ns() - begun_ns});
    return ok && buf_check(out->out, "the answer", e);
}
