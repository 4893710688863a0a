/* A request that widens rights is said twice: the second time with a token that is good for
 * the very same request, so neither a slip nor a request made up beforehand does it. */
#include <stdio.h>

#include "desk/internal.h"
#include "os/os.h"

#define CONFIRM_NS UINT64_C(120000000000)
#define ABOUT_MAX ((size_t)1 << 20)

static const char *const token_alone[] = {"confirm", NULL};

static void request_digest(const struct json *said,
                           unsigned char out[static CRYPTO_BLAKE2B])
{
    scoped_buf struct buf text = buf_of(ABOUT_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_put_pairs(&w, said, token_alone);
    json_close(&w);
    crypto_blake2b(buf_view(&text), out);
}

static bool token_spend(struct desk *d, struct str token, const unsigned char *about)
{
    struct confirmation *c = &d->confirming;
    pthread_mutex_lock(&d->lock);
    bool good = token.n && c->until_ns > os_mono_ns() &&
                crypto_equal(token, str_of(c->token)) &&
                !memcmp(about, c->about, sizeof c->about);
    if (good)
        *c = (struct confirmation){0};
    pthread_mutex_unlock(&d->lock);
    return good;
}

bool confirmed(struct desk *d, const struct json *said, const char *sentence,
               struct http_response *rs)
{
    struct confirmation *c = &d->confirming;
    unsigned char about[CRYPTO_BLAKE2B];
    char token[CRYPTO_TOKEN];
    request_digest(said, about);
    if (token_spend(d, json_str(json_get(said, "confirm")), about))
        return true;
    crypto_token(token);
    pthread_mutex_lock(&d->lock);
    memcpy(c->token, token, sizeof token);
    memcpy(c->about, about, sizeof about);
    c->until_ns = os_mono_ns() + CONFIRM_NS;
    pthread_mutex_unlock(&d->lock);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, "error", "this widens what agents may do: say it once more");
    json_pair_cstr(&w, "sentence", sentence);
    json_pair_cstr(&w, "confirm", token);
    json_close(&w);
    rs->status = 428;
    rs->type = "application/json";
    return false;
}
