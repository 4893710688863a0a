/* fetch/fetch.h - the way out for code: fetch, under the policy's rules
 * (docs/network.md). */
#pragma once
#include "capability/capability.h"

extern const struct capability fetch_capability;
