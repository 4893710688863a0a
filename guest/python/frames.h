/* python/frames.h - where the host finds the code that runs. */
#pragma once
#include "abi/abi.h"

const struct script_frames *python_frames(void);
