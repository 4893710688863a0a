/* actions/functioning.h - custom functions as this room offers them: to agents as actions
 * (register_custom_function ...), to code as customFunctions.*, to REST and to persons.
 *
 * The room functions keeps them; here they are checked, tested, run and told of.
 * Threads: safe.
 * Private to the room actions.
 */
#pragma once
#include "actions/internal.h"

struct functions;
struct function_set;

/* ---- which there are (functioning.c) -------------------------------------- */

/* The functions of the vault of this number, opened when first asked for; stays open until
 * actions_close(). NULL and *e: ERR_NO_VAULT (0, or it was removed), or as
 * functions_open(). */
struct functions *actions_functions(struct actions *a, unsigned vault, struct err *e);
void functioning_close(struct actions *a); /* no call may be running */

/* ---- checking and testing (function_check.c, function_test.c) --------------- */

/* ---- running (function_load.c, calls_functions.c) --------------------------- */

/* ---- telling of them (function_text.c) ---------------------------------------- */
