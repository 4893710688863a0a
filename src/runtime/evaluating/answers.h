/* evaluating/answers.h - a cache of answers of evaluations that only read.
 *
 * Used with `cache: true`. The key contains everything that an answer depends on: all
 * arguments, the rights of the caller (level and policy), the vault and its version. So
 * an answer is never stale, and never shows a caller more than he may see. An answer is
 * kept if the evaluation succeeded and called only rows marked `steady`; clock and random
 * numbers stay as they were then, as the caller asked. Threads: safe. Private to the
 * room. */
#pragma once
#include "crypto/crypto.h"

struct action_call;
struct cache;
struct script_outcome;

struct answer_key {
    bool usable; /* else nothing is looked up or kept */
    char hex[CRYPTO_HASH_HEX];
};

/* The key of this call in the vault's current version. Unusable where the call did not
 * ask for the cache, has a session, a trace or the network, or where the policy has no
 * cache. */
struct answer_key answer_key(const struct action_call *c);
/* Copies a kept answer's result and logs to the outcome. false: none is kept. */
bool answer_find(struct cache *c, const struct answer_key *key,
                 struct script_outcome *out);
void answer_keep(struct cache *c, const struct answer_key *key,
                 const struct script_outcome *o);
