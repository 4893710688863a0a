/* python/settle.h - what a world of the Python guest begins with, made so that it is rarely written. */
#pragma once

/* Called once, when nothing of Python runs: all objects that exist stay for ever, and what is
 * allocated from now on lies close together. */
void python_settle(void);
