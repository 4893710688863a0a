/* catalogue/keys.h - whose signatures a person trusts: tool-keys.json in the
 * configuration folder. Private to catalogue. */
#pragma once
#include "base/base.h"

#define KEYS_FILE "tool-keys.json"

struct trusted_key {
    const char *name, *key; /* "ed25519:..." */
    int64_t added_ms;
};
struct trusted_keys {
    struct trusted_key *all;
    size_t count;
};
/* Without a file, none. Lives in the arena. ERR_INVALID: the file is damaged. */
bool keys_read(int config, struct arena *a, struct trusted_keys *out, struct err *e);
/* NULL: that key is not trusted. */
const char *keys_name(const struct trusted_keys *keys, const char *key);
