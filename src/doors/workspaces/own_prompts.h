/* workspaces/own_prompts.h - the prompts of ours. Private to the room workspaces.
 *
 * Source: seed 003, "Prompts", whose sentences they hold word for word; seed 001, "System
 * Prompt Integration".
 */
#pragma once
#include "workspaces/internal.h"

#define OWN_PROMPTS 4u

const struct prompt_shown *own_prompt(size_t i);
/* Appends its messages; the arguments are checked by name. ERR_NOT_FOUND: no such
 * workspace; ERR_INVALID: no such note. */
bool own_prompt_get(struct workspaces *w, size_t i, const struct json *arguments,
                    const struct caller *who, struct buf *messages, struct err *e);
