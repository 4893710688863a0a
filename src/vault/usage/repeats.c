/* Notices code that comes again in one conversation, to say once that it could be a
 * function.
 *
 * Only shapes and the beginnings of literals are remembered, of few conversations and few
 * patterns each; what is forgotten is said later, or not at all.
 */
#include "usage/usage.h"

#include <pthread.h>
#include <stdio.h>

#include "cache/cache.h"
#include "crypto/crypto.h"
#include "usage/shape.h"

#define CONVERSATIONS 64u
#define PATTERNS 24u
#define LITERALS 8u /* that are compared */
#define SHOWN 24u   /* bytes of one */
#define TIMES 3u    /* until something is said */
#define LINES_MIN 5u
#define TOKENS_MIN 20u
#define PARTS 6u /* functions of one code */

struct pattern {
    uint64_t hash, used; /* when: counts */
    uint32_t times;
    bool told;
    struct {
        uint64_t hash;
        uint32_t line;
        bool differs;
        char text[SHOWN + 4];
    } literals[LITERALS];
    size_t literal_count;
};
struct conversation {
    struct cached cached;
    struct pattern patterns[PATTERNS];
};

struct repeats {
    pthread_mutex_t lock; /* guards what follows */
    uint64_t clock;
    struct cache *all; /* by hash of the conversation */
};

struct repeats *repeats_new(void)
{
    struct repeats *r = mem_new(sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    r->all = cache_new(
        &(struct cache_limits){.entries = CONVERSATIONS, .bytes = CONVERSATIONS});
    return r;
}

void repeats_free(struct repeats *r)
{
    if (!r)
        return;
    cache_free(r->all);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static uint64_t hash_of(struct str s)
{
    unsigned char bytes[CRYPTO_BLAKE2B];
    uint64_t hash;
    crypto_blake2b(s, bytes);
    memcpy(&hash, bytes, sizeof hash);
    return hash;
}

/* Held for the caller. */
static struct conversation *conversation_of(struct repeats *r, struct str name)
{
    uint64_t hash = hash_of(name);
    struct str key = {(const char *)&hash, sizeof hash};
    struct conversation *c = cache_find(r->all, key);
    if (c)
        return c;
    c = mem_new(sizeof *c);
    cached_init(&c->cached, 1, NULL);
    cache_put(r->all, key, c);
    return c;
}

static void keep_literals(struct pattern *p, const struct code_shape *s)
{
    p->literal_count = s->literal_count < LITERALS ? s->literal_count : LITERALS;
    for (size_t i = 0; i < p->literal_count; i++) {
        struct str shown = str_cut(s->literals[i].text, SHOWN);
        p->literals[i].hash = hash_of(s->literals[i].text);
        p->literals[i].line = s->literals[i].line;
        (void)snprintf(p->literals[i].text, sizeof p->literals[i].text, "%.*s%s",
                       STR_ARGS(shown), shown.n < s->literals[i].text.n ? "..." : "");
    }
}

static void compare_literals(struct pattern *p, const struct code_shape *s)
{
    for (size_t i = 0; i < p->literal_count && i < s->literal_count; i++)
        p->literals[i].differs |= p->literals[i].hash != hash_of(s->literals[i].text);
}

static struct pattern *pattern_of(struct conversation *c, const struct code_shape *s)
{
    struct pattern *oldest = &c->patterns[0];
    for (size_t i = 0; i < PATTERNS; i++) {
        if (c->patterns[i].times && c->patterns[i].hash == s->hash) {
            compare_literals(&c->patterns[i], s);
            return &c->patterns[i];
        }
        if (c->patterns[i].used < oldest->used)
            oldest = &c->patterns[i];
    }
    *oldest = (struct pattern){.hash = s->hash};
    keep_literals(oldest, s);
    return oldest;
}

/* Text of the agent's own goes back to it, on one line. */
static void put_literals(const struct pattern *p, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < p->literal_count; i++) {
        if (!p->literals[i].differs)
            continue;
        buf_cstr(out, n++ ? ", " : " What differed would be its parameters: ");
        for (const char *at = p->literals[i].text; *at; at++)
            buf_char(out, *at == '\n' ? ' ' : *at);
        buf_printf(out, " (line %u)", p->literals[i].line);
    }
    buf_cstr(out, n ? "." : "");
}

/* Is it time to say something of this one? */
static bool is_due(struct repeats *r, struct conversation *c, const struct code_shape *s,
                   struct pattern **out)
{
    if (s->lines < LINES_MIN || s->tokens < TOKENS_MIN)
        return false;
    struct pattern *p = *out = pattern_of(c, s);
    p->used = ++r->clock;
    p->times += p->times < TIMES;
    bool due = p->times == TIMES && !p->told;
    p->told |= due;
    return due;
}

static bool repeats_count_code(struct repeats *r, struct conversation *c, struct str code,
                               struct buf *hint)
{
    struct code_shape whole, part;
    struct pattern *p;
    struct str parts[PARTS];
    code_shape(code, &whole);
    bool said = is_due(r, c, &whole, &p);
    if (said) {
        buf_printf(hint,
                   "Code of this form (%u lines) ran for the third time here; "
                   "register_custom_function keeps it as customFunctions.NAME(...), for "
                   "later conversations, too.",
                   whole.lines);
        put_literals(p, hint);
    }
    size_t count = code_functions(code, parts, PARTS);
    for (size_t i = 0; i < count; i++) {
        code_shape(parts[i], &part);
        /* A part need not repeat the suggestion for the whole. */
        if (!is_due(r, c, &part, &p) || said)
            continue;
        said = true;
        struct str head = {
            parts[i].at,
            (size_t)((const char *)memchr(parts[i].at, '\n', parts[i].n) - parts[i].at)};
        buf_printf(
            hint,
            "The same %u lines that begin with `%.*s` were sent for the third time "
            "here; register_custom_function keeps them as "
            "customFunctions.NAME(...), for later conversations, too.",
            part.lines, STR_ARGS(str_cut(str_trim(head), 80)));
        put_literals(p, hint);
    }
    return said;
}

bool repeats_look(struct repeats *r, struct str conversation, struct str code,
                  struct buf *hint)
{
    if (code.n > REPEATS_CODE_MAX)
        return false;
    pthread_mutex_lock(&r->lock);
    struct conversation *c = conversation_of(r, conversation);
    bool said = repeats_count_code(r, c, code, hint);
    cached_release(&c->cached);
    pthread_mutex_unlock(&r->lock);
    return said;
}
