/* machines/machine_guest.h - calls of the API by programs of one command in a machine
 * (`calls: true` of vm.exec; `cloche-guest` in the machine; guest/abi/callback.h).
 *
 * A relay, a command of its own, runs beside the command, and one thread of this computer
 * performs what it brings, one call after the other: with the rights of the call that runs the
 * command, in its record, its dry run, its cancel. What can be called is what code can call,
 * but vm.* and what an evaluation has to ask for (fetch, fs). Who in that machine finds the
 * socket while the command runs has the same rights. Private to the room. */
#pragma once
#include "machines/internal.h"

struct machine_guest;
/* Does the policy allow it, or a person? false and *e, as tools_permitted(). */
bool machine_guest_permitted(const struct tool_call *c, const struct json *request,
                             struct err *e);
/* Starts the relay, and waits until it listens; adds the socket to the environment of the
 * order. NULL and *e: ERR_NOT_FOUND (the image has no cloche-guest), ERR_LIMIT, or as
 * vm_exec(). */
struct machine_guest *machine_guest_begin(const struct tool_call *c, struct vm *m,
                                          struct machine_order *o, struct err *e);
/* The command has ended; a call that is under way is waited for. NULL is fine. */
void machine_guest_end(struct machine_guest *g);
