/* The policy of Linux machines: its keys, and whether one may be used. */
#include "guard/guard.h"
#include "machines/internal.h"
#include "policy/policy.h"

#define VM(...) KEY(struct vm_policy, __VA_ARGS__)
#define NUMBER(path_, member_, low_, high_, usual_, summary_) \
    VM(path_, INT, LOWER, member_, usual_, summary_, .low = low_, .high = high_)

static const struct key keys[] = {
    VM("vm.permission", WORD, ALSO, permission, "\"usual\"",
       "may an agent run commands in a Linux machine, and is a person asked before each; "
       "usual: always, since it sees no files and no network",
       .words = permission_words, .order = 90),
    VM("vm.network", WORD, ALSO, network, "\"never\"",
       "may a machine reach the hosts of network.hosts and network.allowPrivate, and is a "
       "person asked before it does; usual: never",
       .words = permission_words),
    VM("vm.expose", WORD, ALSO, expose, "\"ask\"",
       "may an agent expose a port of its machine on a loopback address of this computer, and "
       "is a person asked before; usual: ask",
       .words = permission_words),
    VM("vm.calls", WORD, ALSO, calls, "\"always\"",
       "may programs of a machine call notes and tools, with the rights of the call that runs "
       "their command (calls: true), and is a person asked before each command; usual: always",
       .words = permission_words),
    NUMBER(
        "vm.networkMB", network_mb, 1, 16777216, "10240",
        "bytes that all machines of one caller may send and receive together within 24 "
        "hours, in MB"),
    NUMBER("vm.networkKBps", network_kbps, 1, 16777216, "1048576",
           "bytes that a machine may send and receive in a second, in KB"),
    NUMBER("vm.connections", connections, 0, 10000, "250",
           "connections that all machines of one caller may have open together"),
    NUMBER("vm.newConnections", new_connections, 1, 10000, "64",
           "connections that a machine may begin in a second"),
    NUMBER("vm.tcpIdleMinutes", tcp_idle_minutes, 1, 1440, "60",
           "minutes without a byte after which a TCP connection of a machine is ended"),
    NUMBER("vm.udpIdleSeconds", udp_idle_seconds, 1, 60, "60",
           "seconds without a datagram after which a machine's socket of UDP is closed"),
    NUMBER("vm.snapshots", snapshots, 0, 1000, "16",
           "snapshots and kept machines that one caller may have saved; 0: none"),
    NUMBER("vm.snapshotMB", snapshot_mb, 1, 1048576, "8192",
           "size of those together, in MB"),
    NUMBER("vm.machines", machines, 0, 64, "4",
           "machines that one caller may have at a time; 0: none"),
    NUMBER("vm.ramMB", ram_mb, 64, 1024, "1024", "memory that a machine may have, in MB"),
    NUMBER("vm.totalRamMB", total_ram_mb, 64, 65536, "4096",
           "memory that all machines of one caller may have together, in MB"),
    NUMBER("vm.diskMB", disk_mb, 1, 2048, "1024",
           "size of a machine's writes to its disk, in MB"),
    NUMBER(
        "vm.cpuSeconds", cpu_seconds, 1, 604800, "3600",
        "computing time of all machines of one caller together, within 24 hours, in seconds"),
    NUMBER("vm.timeoutMs", timeout_ms, 1, 3600000, "600000",
           "time that one command in a machine may ask for, in ms"),
    NUMBER("vm.idleMinutes", idle_minutes, 1, 10080, "15",
           "minutes without a command after which a machine is stopped"),
};
const struct policy_group machines_policy = POLICY_GROUP(keys, struct vm_policy);

struct permit_use machine_permission(const struct policy *p, const char *call)
{
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    return (struct permit_use){.need = {.name = call, .least = LEVEL_FULL},
                               .name = "the Linux machine",
                               .words = {vm->permission[0], vm->permission[1]},
                               .usual = PERMISSION_ALWAYS,
                               .key = "vm.permission",
                               .change = "cloche policy set vm.permission ask"};
}

struct permit_use machine_network_permission(const struct policy *p, const char *call)
{
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    return (struct permit_use){.need = {.name = call, .least = LEVEL_FULL},
                               .name = "the Linux machine's network",
                               .words = {vm->network[0], vm->network[1]},
                               .usual = PERMISSION_NEVER,
                               .key = "vm.network",
                               .change = "cloche policy set vm.network ask",
                               .each_time = true};
}

struct permit_use machine_expose_permission(const struct policy *p, const char *call)
{
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    return (struct permit_use){.need = {.name = call, .least = LEVEL_FULL},
                               .name = "exposing a port of the Linux machine",
                               .words = {vm->expose[0], vm->expose[1]},
                               .usual = PERMISSION_ASK,
                               .key = "vm.expose",
                               .change = "cloche policy set vm.expose ask",
                               .each_time = true};
}

struct permit_use machine_calls_permission(const struct policy *p, const char *call)
{
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    return (struct permit_use){.need = {.name = call, .least = LEVEL_FULL},
                               .name = "calls by programs of the Linux machine",
                               .words = {vm->calls[0], vm->calls[1]},
                               .usual = PERMISSION_ALWAYS,
                               .key = "vm.calls",
                               .change = "cloche policy set vm.calls ask"};
}

bool machine_use_listed(const struct policy *p, size_t at, struct permit_use *out)
{
    switch (at) {
    case 0:
        *out = machine_permission(p, "vm.exec");
        return true;
    case 1:
        *out = machine_network_permission(p, "vm.exec");
        return true;
    case 2:
        *out = machine_expose_permission(p, "vm.expose");
        return true;
    case 3:
        *out = machine_calls_permission(p, "vm.exec");
        return true;
    default:
        return false;
    }
}
