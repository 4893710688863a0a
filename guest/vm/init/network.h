/* vm/init/network.h - the machine's addresses and routes. */
#pragma once
#include "abi/vm.h"

/* Sets what DHCP and router advertisements would assign (abi/plan.h), without the wait, and removes
 * what an earlier network of this machine had and this one has not. Failures are logged. */
void network_set(const struct vm_resume *r);
