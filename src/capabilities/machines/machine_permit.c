/* May the caller use a machine so? A person is asked where the policy says so. */
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
