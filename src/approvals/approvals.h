/* approvals/approvals.h - what waits for a person's word, and what that word was.
 *
 * Lives in the user's state folder, so that a call in one process can be decided from
 * another: from a terminal, or from the page of a server. Only a person decides; no door
 * of this room is reachable by code, a tool or an agent's credential.
 *
 * Threads: safe. Processes: any number.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"
