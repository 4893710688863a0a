/* actions/cache.h - answers of evaluations that only read, given again at once.
 *
 * Asked for with `cache: true`. The key is everything that an answer depends on: all
 * arguments, the rights of the caller (level and policy), the vault and its version. So
 * an answer is never stale, and never somebody else's who may do more. Kept is what
 * succeeded and called nothing but rows marked `steady`; the clock and random numbers
 * are as they were then, which is what the caller asked for.
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "actions/internal.h"
#include "crypto/crypto.h"

#define CACHE_ENTRIES 256u
#define CACHE_BYTES ((size_t)32 << 20) /* results and logs together */

struct cache;
struct cache *cache_new(void);
void cache_free(struct cache *c); /* NULL is fine */

struct cache_key {
    bool usable; /* else nothing is found or kept */
    char hex[CRYPTO_HASH_HEX];
};
/* Of this call, as the vault is now. Unusable where the call did not ask for it, has a
 * session, a trace or the network, or where the policy has no cache. */
struct cache_key cache_key(const struct action_call *c);

/* Copies a kept answer's result and logs to the outcome. false: there is none. */
bool cache_find(struct cache *c, const struct cache_key *key, struct script_outcome *out);
void cache_keep(struct cache *c, const struct cache_key *key,
                const struct script_outcome *o);
