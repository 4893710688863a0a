/* The list of tools that a client gets: actions, and the command-line tools that the
 * policy shows. find_tools finds the others; all can be called by name. */
#include "actions/actions.h"
#include "actions/internal.h"
#include "caller/caller.h"
#include "crypto/crypto.h"

/* OpenAI's API refuses longer descriptions. */
#define DESCRIPTION_MAX ((size_t)1024)
/* All descriptions and schemas together have 8 KiB. */
#define EVALUATE_MAX ((size_t)1008)

/* The place where the caller would begin, and its policy. */
struct view {
    unsigned vault;
    const struct policy *policy; /* NULL: unusable, and nothing can be called */
    struct action_exposure exposure;
};

static unsigned begins_in(struct actions *a, const struct caller *who)
{
    unsigned last = place_last(a, who);
    return last ? last : vault_set_begin(a->vaults, who->grant);
}

static struct view view_of(struct actions *a, const struct caller *who)
{
    struct err none = {0};
    struct view v = {.vault = begins_in(a, who)};
    struct place place;
    if (place_find(&place, a, v.vault, who, &none))
        v.policy = ward_policy(place.ward, &none);
    if (v.policy && capability_family())
        v.exposure = capability_family()->exposure(v.policy);
    return v;
}

static bool is_listed(const struct view *v, const char *name)
{
    return policy_names_have(&v->exposure.listed, name);
}

/* ---- selection ------------------------------------------------------------------ */

static bool shows_action(const struct view *v, const struct action_row *row)
{
    switch (v->exposure.which) {
    case EXPOSE_ALL:
        return true;
    case EXPOSE_LISTED: /* finds nothing that is not listed */
        return !row->finds;
    case EXPOSE_SEARCH:
        return !row->seldom || is_listed(v, row->shown.name);
    }
    return true;
}

/* Whether the answer depends on the family of actions. */
static bool shows_family(const struct view *v)
{
    return v->exposure.which == EXPOSE_ALL || v->exposure.listed.n;
}

/* ---- pages ------------------------------------------------------------------------- */

struct showing {
    struct actions *a;
    const struct caller *who;
    struct view view;
    struct str after;
    size_t most, shown;
    bool more;
    action_shown_fn *fn;
    void *arg;
};

/* false: the page is full, or *e. */
static bool show(void *showing, const struct action *a, struct err *e)
{
    struct showing *s = showing;
    if (s->shown == s->most) {
        s->more = true;
        return false;
    }
    s->shown++;
    return s->fn(s->arg, a, e);
}

/* ---- introduction -------------------------------------------------------------------- */

static void vault_introduce(struct actions *a, const struct caller *who, size_t most,
                            bool brief, struct buf *out)
{
    struct err none = {0};
    struct place place;
    unsigned vault = begins_in(a, who);
    if (!vault || !place_open(&place, a, vault, who, NULL, &none))
        return;
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->introduce)
            capability_list[i]->introduce(a, &place, most, brief, out);
    place_close(&place);
}

void actions_introduce(struct actions *a, const struct caller *who, size_t most,
                       struct buf *out)
{
    vault_introduce(a, who, most, false, out);
}

/* Leaves out parts that are not installed. The list of functions replaces the example:
 * both together would exceed a description. */
void action_evaluate_describe(struct actions *a, const struct caller *who,
                              const char *text, struct buf *out)
{
    scoped_buf struct buf whole;
    buf_init(&whole, DESCRIPTION_MAX + 1);
    parts_describe(a, text, &whole);
    const char *example = strstr(buf_cz(&whole), EVALUATE_EXAMPLE);
    size_t said = example ? (size_t)(example - whole.at) : whole.n;
    buf_put(out, whole.at, said);
    vault_introduce(a, who, EVALUATE_MAX - said, true, out);
    if (out->n == said)
        buf_put(out, whole.at + said, whole.n - said);
}

static bool show_action(struct showing *s, size_t i, struct err *e)
{
    struct action shown = s->a->shown[i];
    scoped_buf struct buf text;
    buf_init(&text, 2 * DESCRIPTION_MAX);
    if (s->a->rows[i].describe) {
        s->a->rows[i].describe(s->a, s->who, shown.description, &text);
        shown.description = buf_cz(&text);
    }
    return buf_check(&text, "an action's description", e) && show(s, &shown, e);
}

/* The index of the first action behind `after`; `count`: only the family is left. */
static size_t first_action(const struct actions *a, struct str after, struct err *e)
{
    if (!after.n)
        return 0;
    if (capability_family() && str_starts(after, capability_family()->prefix))
        return a->count;
    for (size_t i = 0; i < a->count; i++)
        if (str_is(after, a->shown[i].name))
            return i + 1;
    err_set(e, ERR_INVALID, "unknown cursor");
    return a->count;
}

bool actions_show(struct actions *a, const struct caller *who, struct str after,
                  size_t most, action_shown_fn *fn, void *arg, bool *more, struct err *e)
{
    struct showing s = {
        .a = a, .who = who, .after = after, .most = most, .fn = fn, .arg = arg};
    s.view = view_of(a, who);
    size_t i = first_action(a, after, e);
    bool ok = e->code == ERR_NONE;
    for (; ok && i < a->count; i++)
        if (shows_action(&s.view, &a->rows[i]) && parts_installed(a, &a->rows[i]))
            ok = show_action(&s, i, e);
    const struct action_family *family = capability_family();
    if (ok && family && shows_family(&s.view))
        family->show(a, s.view.vault, s.view.policy,
                     str_starts(after, family->prefix) ? after : STR(""), show, &s, e);
    *more = s.more;
    policy_release(s.view.policy);
    return e->code == ERR_NONE;
}

/* ---- version ------------------------------------------------------------------------- */

static uint64_t number_of(struct str text)
{
    char hex[CRYPTO_HASH_HEX];
    uint64_t sum;
    crypto_hash_hex(text, hex);
    memcpy(&sum, hex, sizeof sum);
    return sum;
}

uint64_t shown_tools_state(struct actions *a, const struct caller *who)
{
    struct view v = view_of(a, who);
    const struct action_family *family = shows_family(&v) ? capability_family() : NULL;
    struct {
        char digest[sizeof v.policy->digest];
        unsigned vault;
        uint64_t parts;
        uint64_t version;
    } state = {0};
    state.parts = parts_state(a);
    if (v.policy)
        memcpy(state.digest, v.policy->digest, sizeof state.digest);
    state.vault = shows_family(&v) ? v.vault : 0;
    state.version = family ? family->version(a) : 0;
    policy_release(v.policy);
    return number_of((struct str){(const char *)&state, sizeof state});
}

uint64_t actions_shown_state(struct actions *a, const struct caller *who)
{
    scoped_buf struct buf functions;
    buf_init(&functions, 2 * DESCRIPTION_MAX);
    vault_introduce(a, who, EVALUATE_MAX, true, &functions);
    return shown_tools_state(a, who) * 31 + number_of(buf_view(&functions));
}
