#include "results/results.h"

#include <stdio.h>

#include "crypto/crypto.h"
#include "os/os.h"
#include "results/internal.h"
#include "json/json.h"

struct result {
    struct result *next; /* the older one */
    char uri[RESULT_URI];
    char *owner;
    char principal[PRINCIPAL_MAX + 1];
    int64_t until_ms;
    size_t n;
    char bytes[];
};

struct results {
    pthread_mutex_t lock;
    struct result *newest;
    _Atomic size_t count; /* also read without the lock */
    size_t bytes;
};

struct results *results_new(void)
{
    struct results *r = mem_new(sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void drop(struct results *r, struct result **at)
{
    struct result *gone = *at;
    *at = gone->next;
    r->count--;
    r->bytes -= gone->n;
    free(gone->owner);
    free(gone);
}

void results_free(struct results *r)
{
    if (!r)
        return;
    while (r->newest)
        drop(r, &r->newest);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Frees expired results, and those beyond the limits, oldest first. */
static void tidy(struct results *r, int64_t now_ms)
{
    size_t count = 0, bytes = 0;
    for (struct result **at = &r->newest; *at;) {
        count++;
        bytes += (*at)->n;
        if ((*at)->until_ms <= now_ms || count > RESULTS_MAX || bytes > RESULTS_BYTES)
            drop(r, at);
        else
            at = &(*at)->next;
    }
}

void results_tidy(struct results *r, int64_t now_ms)
{
    if (atomic_load_explicit(&r->count, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&r->lock);
    tidy(r, now_ms);
    pthread_mutex_unlock(&r->lock);
}

/* A principal's results evict only its own, until the limit of all is reached. */
static void tidy_own(struct results *r, const char *principal)
{
    size_t count = 0, bytes = 0;
    for (struct result **at = &r->newest; *at;) {
        bool own = !strcmp((*at)->principal, principal);
        count += own;
        bytes += own ? (*at)->n : 0;
        if (own && (count > RESULTS_OWN_MAX || bytes > RESULTS_OWN_BYTES))
            drop(r, at);
        else
            at = &(*at)->next;
    }
}

static const char *principal_of(const struct caller *who)
{
    return who->grant ? who->grant->principal : "";
}

/* Name, transport and session: each client session has its own results. */
static char *owner_of(const struct caller *who)
{
    char *text = NULL;
    must(asprintf(&text, "%d %s %s %s", (int)who->level, principal_of(who),
                  who->name ? who->name : "", who->session ? who->session : "") > 0);
    return text;
}

bool results_keep(struct results *r, const struct caller *who, struct str json,
                  int64_t now_ms, char uri[static RESULT_URI])
{
    struct result *made =
        json.n <= RESULT_KEPT_MAX ? malloc(sizeof *made + json.n) : NULL;
    if (!made)
        return false;
    char token[CRYPTO_TOKEN];
    crypto_token(token);
    *made = (struct result){
        .owner = owner_of(who), .until_ms = now_ms + RESULTS_MS, .n = json.n};
    (void)snprintf(made->uri, sizeof made->uri, RESULT_PREFIX "%s", token);
    (void)snprintf(made->principal, sizeof made->principal, "%s", principal_of(who));
    memcpy(made->bytes, json.at, json.n);
    memcpy(uri, made->uri, RESULT_URI);
    pthread_mutex_lock(&r->lock);
    made->next = r->newest;
    r->newest = made;
    r->count++;
    r->bytes += made->n;
    tidy_own(r, made->principal);
    tidy(r, now_ms);
    pthread_mutex_unlock(&r->lock);
    return true;
}

static const struct result *result_find(struct results *r, const struct caller *who,
                                        struct str uri)
{
    scoped(free) char *owner = owner_of(who);
    for (const struct result *x = r->newest; x; x = x->next)
        if (crypto_equal(uri, str_of(x->uri)))
            return strcmp(owner, x->owner) == 0 ? x : NULL;
    return NULL;
}

static bool is_inside_char(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool copy_part(const struct result *x, size_t offset, size_t limit,
                      struct buf *out, size_t *next, struct err *e)
{
    if (offset > x->n)
        return err_set(e, ERR_INVALID, "offset is %zu; the result has %zu bytes", offset,
                       x->n);
    while (offset < x->n && is_inside_char(x->bytes[offset]))
        offset++;
    struct str part = {x->bytes + offset, x->n - offset};
    struct str piece = str_cut(part, limit < 4 ? 4 : limit);
    *next = offset + piece.n;
    buf_str(out, piece);
    return buf_check(out, "the answer", e);
}

bool results_read(struct results *r, const struct caller *who, struct str uri,
                  size_t offset, size_t limit, int64_t now_ms, struct buf *out,
                  size_t *next, size_t *total, struct err *e)
{
    pthread_mutex_lock(&r->lock);
    tidy(r, now_ms);
    const struct result *x = result_find(r, who, uri);
    if (!x)
        err_set(
            e, ERR_NOT_FOUND,
            "there is no resource '%.*s' (any more); results are kept for 15 minutes, "
            "for the client that they were made for; run the code again",
            STR_ARGS(str_cut(uri, 80)));
    else
        *total = x->n;
    bool ok = x && copy_part(x, offset, limit, out, next, e);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* ---- action and access --------------------------------------------------- */

#define PIECE_USUAL 50000
#define PIECE_MAX 500000

bool results_read_whole(struct actions *a, const struct caller *who, struct str uri,
                        struct buf *out, struct err *e)
{
    size_t next, total;
    return results_read(a->results, who, uri, 0, RESULT_KEPT_MAX, os_mono_ms(), out,
                        &next, &total, e);
}

bool action_read_result(const struct action_call *c, struct answer *out, struct err *e)
{
    struct str uri = json_str(json_get(c->arguments, "resource"));
    size_t offset = (size_t)json_int(json_get(c->arguments, "offset"), 0);
    size_t limit = (size_t)json_int(json_get(c->arguments, "limit"), PIECE_USUAL);
    size_t next = 0, total = 0;
    scoped_buf struct buf text;
    buf_init(&text, PIECE_MAX + 64);
    if (!results_read(c->actions->results, c->who, uri, offset, limit, os_mono_ms(),
                      &text, &next, &total, e))
        return false;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_str(&w, "resource", uri);
    json_pair_str(&w, "text", buf_view(&text));
    json_pair_int(&w, "offset", (int64_t)(next - text.n));
    if (next < total)
        json_pair_int(&w, "next_offset", (int64_t)next);
    json_pair_int(&w, "total_bytes", (int64_t)total);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}
