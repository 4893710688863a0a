/* actions/parts.h - what is installed of that which is built apart from the program: the
 * command-line tools and the Linux machine. What is not there is offered to nobody.
 * Threads: safe. Private to actions. */
#pragma once
#include "actions/internal.h"

bool parts_have_machine(const struct actions_parts *p);
/* Can the action do anything with these parts? */
bool parts_suffice(const struct actions_parts *p, const struct action_row *row);
/* The description of evaluate_note_code without what is not there; appended. */
void parts_describe(const struct actions_parts *p, const char *description,
                    struct buf *out);
/* Tells in an answer of find_tools what could be added, as members of an open object. */
void parts_put_missing(const struct actions_parts *p, struct json_writer *w);
