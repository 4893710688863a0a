/* May the caller use a machine so? A person is asked where the policy says so. */
#include "abi/plan.h"
#include "catalogue/catalogue.h"
#include "machines/internal.h"
#include "machines/machine_use.h"
#include "place/place.h"
#include "policy/policy.h"

/* The machine as a tool, for the question and for programs/permission.c. */
static const struct tool shown = {.id = "vm",
                                  .name = "vm",
                                  .version = "(Linux machine)",
                                  .sha256 = "",
                                  .builtin = true};
static const struct tool shown_network = {.id = "vm-network",
                                          .name = "vm-network",
                                          .version =
                                              "(it reaches the hosts of the policy)",
                                          .sha256 = "",
                                          .builtin = true};

static const struct tool shown_expose = {.id = "vm-expose",
                                         .name = "vm-expose",
                                         .version =
                                             "(its port is reached at this computer)",
                                         .sha256 = "",
                                         .builtin = true};

bool machine_use_exposes(const struct machine_use *u, const struct json *request,
                         struct err *e)
{
    const struct tool *tool = &shown_expose;
    struct permit_use use =
        machine_expose_permission(u->call->place->permit.policy, "vm.expose");
    struct tool_request wanted = {
        .tools = &tool, .count = 1, .request = request, .uses = &use};
    return tools_permitted(u->call, &wanted, e);
}

bool machine_use_permitted(const struct machine_use *u, enum permission commands,
                           bool network, const struct json *request, struct err *e)
{
    const struct tool_call *c = u->call;
    const struct policy *policy = c->place->permit.policy;
    const struct tool *tools[2];
    struct permit_use uses[2];
    enum permission word = PERMISSION_ALWAYS;
    size_t count = 0;
    uses[0] = machine_network_permission(policy, "vm.exec");
    if (network && !permit_run(&c->place->permit, &uses[0], &word, e))
        return false;
    if (commands != PERMISSION_ALWAYS) {
        uses[count] = machine_permission(policy, "vm.exec");
        tools[count++] = &shown;
    }
    if (word != PERMISSION_ALWAYS) {
        uses[count] = machine_network_permission(policy, "vm.exec");
        tools[count++] = &shown_network;
    }
    struct tool_request wanted = {
        .tools = tools, .count = count, .request = request, .uses = uses};
    return count == 0 || tools_permitted(c, &wanted, e);
}

/* ---- options about the network --------------------------------------------------------- */

bool machine_read_network(const struct machine_use *u, const struct json *v, bool *out,
                          const char *undone, struct err *e)
{
    const struct permit *p = &u->call->place->permit;
    struct permit_use use = machine_network_permission(p->policy, "vm.exec");
    enum permission word = PERMISSION_NEVER;
    struct err denied = {0};
    bool may = permit_run(p, &use, &word, &denied) && word == PERMISSION_ALWAYS;
    bool allowed = str_is(json_str(v), "allowed");
    *out = allowed ? may : json_bool(v, false);
    return allowed || json_is(v, JSON_BOOL) ||
           err_set(e, ERR_INVALID,
                   "network is %s; true, false or 'allowed' is accepted, %s",
                   json_type_name(json_type(v)), undone);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool machine_read_mac(const struct json *v, uint8_t out[static 6], const char *undone,
                      struct err *e)
{
    struct str text = json_str(v);
    static const uint8_t none[6], gateway[6] = LAN_GATEWAY_MAC;
    bool ok = text.n == 17;
    for (size_t i = 0; ok && i < 6; i++) {
        int high = hex_digit(text.at[3 * i]), low = hex_digit(text.at[3 * i + 1]);
        ok = high >= 0 && low >= 0 && (i == 5 || text.at[3 * i + 2] == ':');
        if (ok)
            out[i] = (uint8_t)(high << 4 | low);
    }
    ok = ok && !(out[0] & 1) && memcmp(out, none, 6) && memcmp(out, gateway, 6);
    return ok || err_set(e, ERR_INVALID,
                         "mac is '%.*s'; the address of a network card such as "
                         "02:00:00:00:00:01, not of a group and not the gateway's, is "
                         "accepted, %s",
                         STR_ARGS(str_cut(text, 40)), undone);
}
