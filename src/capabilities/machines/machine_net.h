/* machines/machine_net.h - the network of a machine: closed, until a call was permitted to open
 * it; then what the policies of all vaults allow that the machine was used for. Private to the
 * room. Threads: safe. */
#pragma once
#include "guard/guard.h"
#include "vm/vm.h"
#include "json/json.h"

struct actions;
struct machine_net;

/* For a machine that this caller is about to start; held by whoever made it and by the machine. */
struct machine_net *machine_net_new(struct actions *a, const struct caller *who);
void machine_net_free(struct machine_net *n); /* lets go of it */
const struct vm_network *machine_net_rules(const struct machine_net *n);
struct machine_net *machine_net_of(const struct vm *m);
/* A call with this permit uses the machine: its policy narrows what is reached. `handle` may be
 * empty while the machine has none yet. */
void machine_net_join(struct machine_net *n, const char *handle, const struct permit *p);
/* Before its machine starts; zeros: the usual address. */
void machine_net_card(struct machine_net *n, const uint8_t mac[static 6]);
void machine_net_open(struct machine_net *n);
bool machine_net_is_open(struct machine_net *n);

const char *machine_net_caller(const struct machine_net *n); /* whose it is */
/* A person has exposed, or closed, a port: that is recorded. */
void machine_net_tell_port(struct machine_net *n, const struct vm_port *p, bool open);

/* A command that runs, of which connections are told to be. */
struct machine_running {
    struct machine_net *net; /* NULL: it runs nowhere */
    struct machine_running *next;
    char command[13];  /* the beginning of its hash, as records have it */
    uint64_t refusals; /* there had been before */
};
void machine_net_run(struct machine_net *n, struct machine_running *r,
                     struct str command);
void machine_net_ran(struct machine_running *r); /* one of zeros is fine */
/* The member "networkRefused": where the machine did not get meanwhile, and why. */
void machine_net_put_refused(const struct machine_running *r, struct json_writer *w);
