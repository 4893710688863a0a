/* engine/traps_test.h - for tests that run guests. cmocka puts its own signal handlers before
 * each test, in the place of wasmtime's, which turn a guest's bad access into a trap: here
 * they stay wasmtime's. Once in a program.
 */
#pragma once
#include <signal.h>

__sighandler_t signal(int number, __sighandler_t handler)
{
    (void)number;
    (void)handler;
    return SIG_DFL;
}
