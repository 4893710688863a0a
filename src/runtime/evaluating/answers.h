/* evaluating/answers.h - answers of evaluations that only read, given again at once.
 *
 * Asked for with `cache: true`. The key is everything that an answer depends on: all
 * arguments, the rights of the caller (level and policy), the vault and its version. So
 * an answer is never stale, and never somebody else's who may do more. Kept is what
 * succeeded and called nothing but rows marked `steady`; the clock and random numbers are
 * as they were then, which is what the caller asked for. Threads: safe. Private to the
 * room. */
#pragma once
#include "crypto/crypto.h"

struct action_call;
struct cache;
struct script_outcome;

struct answer_key {
    bool usable; /* else nothing is found or kept */
    char hex[CRYPTO_HASH_HEX];
};

/* Of this call, as the vault is now. Unusable where the call did not ask for it, has a
 * session, a trace or the network, or where the policy has no cache. */
struct answer_key answer_key(const struct action_call *c);
/* Copies a kept answer's result and logs to the outcome. false: there is none. */
bool answer_find(struct cache *c, const struct answer_key *key,
                 struct script_outcome *out);
void answer_keep(struct cache *c, const struct answer_key *key,
                 const struct script_outcome *o);
