/* actions/meant.h - what is meant by the name of a tool that is not there. Private to actions. */
#pragma once
#include "actions/capability.h"

capability_meant_fn meant_tell;
