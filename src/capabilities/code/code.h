/* code/code.h - evaluating code, as actions: evaluate_note_code, check_code, run_script,
 * their sessions and results; and utils.* for code. */
#pragma once
#include "capability/capability.h"

extern const struct capability code_capability;
