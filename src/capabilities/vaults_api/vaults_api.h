/* vaults_api/vaults_api.h - the vaults for code: vaults.*; what they are stands in place.
 */
#pragma once
#include "capability/capability.h"

extern const struct capability vaults_capability;
