/* cli/pager.h - long output goes through a pager on a terminal, as git's does.
 *
 * Private to the room. Threads: the main one.
 */
#pragma once
#include "base/base.h"

/* No pager from now on: --no-pager. */
void pager_forbid(void);
/* Lets standard output go to $CLOCHE_PAGER, $PAGER or less (with LESS=FRX, unless that is set),
 * where it is a terminal; an empty one, and cat, are none. What cannot be started is none. */
void pager_begin(void);
/* Waits for it; without one it does nothing. */
void pager_end(void);
/* Does a person read standard output, through a pager or not? */
bool pager_is_terminal(void);
