#include "catalogue/keys.h"

#include <stdio.h>

#include "catalogue/catalogue.h"
#include "catalogue/signature.h"
#include "crypto/crypto.h"
#include "os/os.h"

#define LOCK_NAME "tool-keys.lock"
#define LOCK_WAIT_MS 10000u
#define FILE_MAX ((size_t)1 << 20)
#define KEYS_MAX 200u

/* ---- reading ------------------------------------------------------------- */

static bool key_read_row(const struct json *row, struct arena *a, struct trusted_key *k)
{
    struct err none = {0};
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    struct str name = json_str(json_get(row, "name")),
               key = json_str(json_get(row, "key"));
    if (!str_is_name(name, "._-@", TOOL_NAME_MAX) ||
        !signature_key_read(key, public, &none))
        return false;
    *k = (struct trusted_key){str_cz(name, a, &none), str_cz(key, a, &none),
                              json_int(json_get(row, "added"), 0)};
    return k->name && k->key;
}

bool keys_read(int config, struct arena *a, struct trusted_keys *out, struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf text = buf_of(FILE_MAX);
    *out = (struct trusted_keys){0};
    if (config < 0 || !os_read_file(config, KEYS_FILE, &text, NULL, &why))
        return config < 0 || why.code == ERR_NOT_FOUND || err_pass(e, &why);
    const struct json *rows = json_get(json_read(buf_view(&text), a, &why), "keys");
    size_t n = json_length(rows);
    if (!json_is(rows, JSON_ARRAY) || n > KEYS_MAX)
        return err_set(e, ERR_INVALID,
                       KEYS_FILE
                       " in the configuration folder is damaged; no signature is "
                       "trusted until the file is fixed or removed");
    out->all = arena_get(a, (n + 2) * sizeof *out->all, e);
    struct json_iter it = json_iter(rows);
    for (; out->all && json_next(&it); out->count++)
        if (!key_read_row(it.value, a, &out->all[out->count])) {
            size_t at = out->count + 1;
            out->count = 0;
            return err_set(e, ERR_INVALID,
                           KEYS_FILE " in the configuration folder: key %zu is "
                                     "invalid; no signature is trusted until the file "
                                     "is fixed",
                           at);
        }
    return out->all != NULL;
}

const char *keys_name(const struct trusted_keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->count; i++)
        if (!strcmp(keys->all[i].key, key))
            return keys->all[i].name;
    return NULL;
}

/* ---- changing ------------------------------------------------------------ */

static bool write_keys(int config, const struct trusted_keys *keys, struct err *e)
{
    scoped_buf struct buf text = buf_of(FILE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_int(&w, "version", 1);
    json_key(&w, "keys");
    json_open_array(&w);
    for (size_t i = 0; i < keys->count; i++) {
        json_open_object(&w);
        json_pair_cstr(&w, "name", keys->all[i].name);
        json_pair_cstr(&w, "key", keys->all[i].key);
        json_pair_int(&w, "added", keys->all[i].added_ms);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    buf_char(&text, '\n');
    return buf_check(&text, "the list of keys", e) &&
           os_write_file(config, KEYS_FILE, buf_view(&text), OS_REPLACE, 0600, NULL, e);
}

/* Beneath one lock: `key` is added under the name, or (NULL) taken away. */
static bool change_keys(const char *name, const char *key, struct err *e)
{
    struct trusted_keys keys;
    scoped(arena_free) struct arena *a = arena_new(8 * FILE_MAX);
    scoped_fd int config = os_config_dir(NULL, e);
    scoped_fd int lock =
        config >= 0 ? os_lock(config, LOCK_NAME, 0, LOCK_WAIT_MS, e) : -1;
    if (lock < 0 || !keys_read(config, a, &keys, e))
        return false;
    if (!keys.all && !(keys.all = arena_get(a, 2 * sizeof *keys.all, e)))
        return false;
    size_t at = 0;
    while (at < keys.count && strcmp(keys.all[at].name, name))
        at++;
    if (!key && at == keys.count)
        return err_set(e, ERR_NOT_FOUND,
                       "no key is named '%.80s'; 'cloche tool trust list' shows them",
                       name);
    if (!key) {
        keys.count--;
        memmove(&keys.all[at], &keys.all[at + 1], (keys.count - at) * sizeof *keys.all);
        return write_keys(config, &keys, e);
    }
    const char *other = keys_name(&keys, key);
    if (at < keys.count || other)
        return err_set(e, ERR_CONFLICT, "the %s '%.80s' is there already%s%s",
                       at < keys.count ? "name" : "key", at < keys.count ? name : key,
                       at < keys.count ? "" : ", as ", at < keys.count ? "" : other);
    if (keys.count >= KEYS_MAX)
        return err_set(e, ERR_LIMIT, "%u keys are trusted, and more are not accepted",
                       KEYS_MAX);
    keys.all[keys.count++] = (struct trusted_key){name, key, os_real_ms()};
    return write_keys(config, &keys, e);
}

bool tool_trust(const char *name, const char *key, struct err *e)
{
    unsigned char public[CRYPTO_SIGN_PUBLIC];
    if (!str_is_name(str_of(name), "._-@", TOOL_NAME_MAX))
        return err_set(e, ERR_INVALID,
                       "'%.80s' is not a valid name for a key; at most %u letters, "
                       "digits, '.', '_', '-' and '@' are accepted, the first a "
                       "letter or digit",
                       name, TOOL_NAME_MAX);
    return signature_key_read(str_of(key), public, e) && change_keys(name, key, e);
}

bool tool_distrust(const char *name, struct err *e)
{
    return change_keys(name, NULL, e);
}

bool tool_trusted(struct json_writer *w, struct err *e)
{
    struct trusted_keys keys;
    scoped(arena_free) struct arena *a = arena_new(8 * FILE_MAX);
    scoped_fd int config = os_config_dir(NULL, e);
    if (config < 0 || !keys_read(config, a, &keys, e))
        return false;
    json_open_array(w);
    for (size_t i = 0; i < keys.count; i++) {
        json_open_object(w);
        json_pair_cstr(w, "name", keys.all[i].name);
        json_pair_cstr(w, "key", keys.all[i].key);
        json_pair_int(w, "added", keys.all[i].added_ms);
        json_close(w);
    }
    json_close(w);
    return true;
}
