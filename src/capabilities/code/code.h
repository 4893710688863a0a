/* code/code.h - the capability that evaluates code: the actions evaluate_note_code,
 * check_code, run_script, their sessions and results; and utils.* in code. */
#pragma once
#include "capability/capability.h"

extern const struct capability code_capability;
