/* Permissions that a user granted for a session: this very tool, in this vault, until the
 * session or this process ends. Stored by hash, in memory only. */
#include <pthread.h>

#include "catalogue/catalogue.h"
#include "crypto/crypto.h"
#include "programs/internal.h"
#include "json/json.h"

struct granted {
    pthread_mutex_t lock;
    size_t count, next; /* entries in use; index of the next one */
    unsigned char at[GRANTED_MAX][CRYPTO_BLAKE2B];
};

struct granted *granted_new(void)
{
    struct granted *g = mem_new(sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void granted_free(struct granted *g)
{
    if (!g)
        return;
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* The module's hash is part of it: a tool installed in its place is another one. */
static void hash(const char *session, const char *vault, const struct tool *t, bool files,
                 unsigned char out[static CRYPTO_BLAKE2B])
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_TEXT);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    json_put_cstr(&w, session);
    json_put_cstr(&w, vault);
    json_put_cstr(&w, t->id);
    json_put_cstr(&w, t->name);
    json_put_cstr(&w, t->sha256 ? t->sha256 : "");
    json_put_int(&w, files ? (int)t->execution.access : TOOL_NO_FILES);
    json_close(&w);
    crypto_blake2b(buf_view(&text), out);
}

static bool find(const struct granted *g, const unsigned char *wanted)
{
    for (size_t i = 0; i < g->count; i++)
        if (!memcmp(g->at[i], wanted, CRYPTO_BLAKE2B))
            return true;
    return false;
}

bool granted_has(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files)
{
    unsigned char wanted[CRYPTO_BLAKE2B], more[CRYPTO_BLAKE2B];
    hash(session, vault, t, files, wanted);
    hash(session, vault, t, true, more);
    pthread_mutex_lock(&g->lock);
    bool there = find(g, wanted) || find(g, more);
    pthread_mutex_unlock(&g->lock);
    return there;
}

void granted_add(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files)
{
    unsigned char wanted[CRYPTO_BLAKE2B];
    hash(session, vault, t, files, wanted);
    pthread_mutex_lock(&g->lock);
    if (!find(g, wanted)) {
        memcpy(g->at[g->next], wanted, CRYPTO_BLAKE2B);
        g->next = (g->next + 1) % GRANTED_MAX;
        g->count += g->count < GRANTED_MAX;
    }
    pthread_mutex_unlock(&g->lock);
}
