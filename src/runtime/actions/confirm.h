/* actions/confirm.h - a person's word before a call that the policy's `confirm` names.
 * Private to actions. Source: docs/policy.md, "A person's word". */
#pragma once
#include "actions/ask.h"

/* What a call would change, found out before anybody is asked. */
struct confirm_changes {
    struct str lines;   /* a JSON array of texts, the most important first */
    const char *digest; /* of what names and versions it was resolved to */
};

/* Asks a person, where the policy wants that, before `call` is made with these arguments
 * (an object, or an array of them). `changes`: NULL where nothing is known. false and *e:
 * as ask_person(). */
bool confirm_call(const struct ask_by *by, const struct permit_need *call,
                  const struct json *arguments, const struct confirm_changes *changes,
                  struct err *e);
