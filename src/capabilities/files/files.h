/* files/files.h - fs.* in code, over the vault and the policy's mounts. */
#pragma once
#include "capability/capability.h"

extern const struct capability files_capability;
