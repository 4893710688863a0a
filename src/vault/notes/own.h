/* notes/own.h - the folder of ours in a vault.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

/* Makes `.cloche` in the vault's folder, if it is missing. In a vault without index and history it
 * brings a .gitignore: settings, policy, types and functions are a person's own, and git keeps
 * them; the rest changes with each call and belongs to this computer. Whoever removes the file
 * is rid of it. */
bool own_make(int vault, struct err *e);
