/* fetch/fetch.h - fetch in code, under the policy's rules (docs/network.md). */
#pragma once
#include "capability/capability.h"

extern const struct capability fetch_capability;
