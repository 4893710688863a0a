/* vaults_api/vaults_api.h - the capability vaults.* in code; the vaults themselves are
 * the room place's. */
#pragma once
#include "capability/capability.h"

extern const struct capability vaults_capability;
