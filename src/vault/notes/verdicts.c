/* Matches of patterns and texts: a table of questions, by the hash of pattern and text. */
#include "notes/verdicts.h"

#include "crypto/crypto.h"

#define ATTEMPTS_MAX 8u

struct question {
    struct str pattern, text; /* while it waits */
    struct str type, place;
    bool answered, matches;
};

struct verdicts {
    struct arena *arena;  /* NULL: nothing was asked yet */
    struct map keys;      /* hashes of pattern and text */
    struct question *all; /* by their numbers */
    size_t count, capacity;
    size_t first_waiting; /* all before are answered */
    size_t noted;         /* questions when the last note ended */
    uint64_t compute_ns;  /* for those that wait */
};

struct verdicts *verdicts_new(void)
{
    return mem_new(sizeof(struct verdicts));
}

void verdicts_free(struct verdicts *s)
{
    if (!s)
        return;
    arena_free(s->arena);
    free(s->all);
    map_done(&s->keys);
    free(s);
}

static void verdict_key(struct str pattern, struct str text,
                        unsigned char key[static CRYPTO_BLAKE2B])
{
    unsigned char both[2 * CRYPTO_BLAKE2B];
    crypto_blake2b(pattern, both);
    crypto_blake2b(text, both + CRYPTO_BLAKE2B);
    crypto_blake2b((struct str){(const char *)both, sizeof both}, key);
}

static bool verdicts_copy(struct verdicts *s, struct str from, struct str *to,
                          struct err *e)
{
    const char *copy = arena_copy(s->arena, from.at, from.n, e);
    *to = (struct str){copy, from.n};
    return copy != NULL;
}

static bool verdicts_add_question(struct verdicts *s, struct question q, struct str key,
                                  struct err *e)
{
    if (s->count == VERDICTS_MAX)
        return err_set(e, ERR_LIMIT, "more than %u texts are to match patterns of types",
                       VERDICTS_MAX);
    if (!s->arena)
        s->arena = arena_new(VERDICTS_BYTES);
    if (!verdicts_copy(s, q.pattern, &q.pattern, e) ||
        !verdicts_copy(s, q.text, &q.text, e) || !verdicts_copy(s, q.type, &q.type, e) ||
        !verdicts_copy(s, q.place, &q.place, e) || !verdicts_copy(s, key, &key, e))
        return false;
    if (!array_fit(s->all, s->capacity, s->count, e))
        return false;
    if (map_add(&s->keys, key, e) == MAP_NONE)
        return false;
    s->all[s->count++] = q;
    return true;
}

bool verdicts_find(struct verdicts *s, struct str type, const char *place,
                   struct str pattern, struct str text, bool *matches, struct err *e)
{
    struct question q = {
        .pattern = pattern, .text = text, .type = type, .place = str_of(place)};
    unsigned char hash[CRYPTO_BLAKE2B];
    verdict_key(pattern, text, hash);
    struct str key = {(const char *)hash, sizeof hash};
    size_t at = map_find(&s->keys, key);
    *matches = at == MAP_NONE || !s->all[at].answered || s->all[at].matches;
    return at != MAP_NONE || verdicts_add_question(s, q, key, e);
}

void verdicts_note_ends(struct verdicts *s)
{
    if (s->count == s->noted)
        return;
    s->noted = s->count;
    s->compute_ns += VERDICTS_NS_A_NOTE;
    if (s->compute_ns > VERDICTS_NS_MAX)
        s->compute_ns = VERDICTS_NS_MAX;
}

bool verdicts_wait(const struct verdicts *s)
{
    return s->first_waiting < s->count;
}

/* In words about the type, from those about the pattern. */
static bool blame(const struct question *q, const struct err *why, struct err *e)
{
    struct str type = str_cut(q->type, 60), pattern = str_cut(q->pattern, 80);
    struct str place = str_cut(q->place, 100);
    if (why->code == ERR_INVALID)
        return err_set(e, ERR_INVALID,
                       "nothing was written: in the type \"%.*s\", %.*s has the "
                       "pattern \"%.*s\", which is not a regular expression (%.160s); "
                       "noteTypes.update can give it another",
                       STR_ARGS(type), STR_ARGS(place), STR_ARGS(pattern), why->msg);
    if (why->code == ERR_TIMEOUT)
        return err_set(
            e, ERR_LIMIT,
            "nothing was written: in the type \"%.*s\", the pattern \"%.*s\" of "
            "%.*s takes too long; the patterns of one note have %u ms. Make it "
            "plainer, or the text shorter",
            STR_ARGS(type), STR_ARGS(pattern), STR_ARGS(place),
            (unsigned)(VERDICTS_NS_A_NOTE / 1000000));
    if (why->code == ERR_LIMIT)
        return err_set(
            e, ERR_LIMIT,
            "nothing was written: in the type \"%.*s\", the pattern \"%.*s\" of "
            "%.*s: %.200s",
            STR_ARGS(type), STR_ARGS(pattern), STR_ARGS(place), why->msg);
    return err_pass(e, why);
}

bool verdicts_ask(struct verdicts *s, struct vault *v, struct err *e)
{
    uint64_t compute_ns = s->compute_ns ? s->compute_ns : VERDICTS_NS_A_NOTE;
    scoped(matcher_close) struct matcher *m = vault_matcher(v, compute_ns, 0, e);
    struct str set = {0};
    for (; m && s->first_waiting < s->count; s->first_waiting++) {
        struct question *q = &s->all[s->first_waiting];
        struct matcher_place p;
        struct err why = {0};
        bool again = set.at && str_eq(set, q->pattern);
        if ((!again && !matcher_set(m, q->pattern, &why)) ||
            !matcher_find(m, STR(""), q->text, &p, &why))
            return blame(q, &why, e);
        set = q->pattern;
        q->answered = true;
        q->matches = p.found;
    }
    s->compute_ns = 0;
    return m != NULL;
}

bool verdicts_settle(struct vault *v, verdicts_attempt *once, void *arg, struct err *e)
{
    scoped(verdicts_free) struct verdicts *s = verdicts_new();
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) {
        if (!once(arg, s, e))
            return false;
        if (!verdicts_wait(s))
            return true;
        if (!verdicts_ask(s, v, e))
            return false;
    }
    return err_set(e, ERR_BUSY,
                   "the descriptions of types change all the time; try again");
}
