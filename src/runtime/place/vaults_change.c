/* Changes of the user's list of vaults by code: create, update, remove. */
#include <stdio.h>

#include "caller/caller.h"
#include "place/vault_set.h"
#include "json/json.h"

#define ROOTS_MAX 128u

/* ---- create ------------------------------------------------------------- */

struct creation {
    struct vault_entry entry;
    bool initialize, use;
};

static struct creation read_creation(const struct json *o)
{
    return (struct creation){
        .entry = {.id = json_str(json_get(o, "id")),
                  .name = json_str(json_get(o, "name")),
                  .path = json_str(json_get(o, "path")),
                  .description = json_str(json_get(o, "description"))},
        .initialize = json_bool(json_get(o, "initialize"), true),
        .use = json_bool(json_get(o, "switch_to"), false),
    };
}

/* Two vaults that share notes would each keep an index and rename links in them. */
static bool is_apart(const struct vaults *list, const char *path, struct err *e)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < list->count; i++) {
        struct str other = list->all[i].path, mine = {path, n};
        bool inside = n > other.n && !memcmp(path, other.at, other.n) &&
                      (path[other.n] == '/' || other.n == 1);
        bool around = other.n > n && str_starts(other, path) && other.at[n] == '/';
        if (inside || around)
            return err_set(e, ERR_CONFLICT,
                           "the folder %.*s would lie %s the vault \"%.*s\"; vaults must "
                           "not share notes",
                           STR_ARGS(str_cut(mine, 150)), inside ? "within" : "around",
                           STR_ARGS(list->all[i].id));
    }
    return true;
}

/* Checked before anything is created, where possible. */
static bool is_free(struct vault_set *s, const struct vaults *list, struct str id,
                    struct err *e)
{
    return (!vault_set_find_id(s, id) && !vaults_find(list, id)) ||
           err_set(e, ERR_CONFLICT,
                   "a vault with the id \"%.*s\" exists; take another id, or "
                   "vaults.switch to it",
                   STR_ARGS(str_cut(id, 80)));
}

/* `lock` is held for lookups only: creating folders and waiting for other processes
 * delays no other call. */
static unsigned create(struct vault_set *s, struct creation *c, const char *const *roots,
                       struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    pthread_mutex_lock(&s->lock);
    bool ok = vault_set_refresh(s, a, &list, e) && is_free(s, &list, c->entry.id, e);
    pthread_mutex_unlock(&s->lock);
    scoped(free) char *path =
        ok ? vaults_folder_allowed(c->entry.path, roots, c->initialize, e) : NULL;
    if (!path || !is_apart(&list, path, e))
        return 0;
    c->entry.path = str_of(path);
    /* The choice is the agent's only: the user's current vault stays. */
    if (!vaults_add(&c->entry, false, e))
        return 0;
    pthread_mutex_lock(&s->lock);
    unsigned n =
        vault_set_refresh(s, a, &list, e) ? vault_set_find_id(s, c->entry.id) : 0;
    if (!n && !e->code && vault_set_add(s, c->entry.id, path, e))
        n = s->count;
    if (n)
        vault_set_put(s->known[n - 1], &list, NULL, out);
    pthread_mutex_unlock(&s->lock);
    return n;
}

bool vault_set_owned(const struct grant *g, const char *call, struct err *e)
{
    return !g || !g->vaults.given ||
           err_set(e, ERR_DENIED,
                   "%s is not allowed with a token for some vaults only; nothing was "
                   "changed",
                   call);
}

unsigned vault_set_create(struct vault_set *s, const struct json *options,
                          const struct policy_names *policy, bool *use,
                          struct json_writer *out, struct err *e)
{
    struct creation c = read_creation(options);
    *use = c.use;
    const char *roots[ROOTS_MAX + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; s->roots[i] && count < ROOTS_MAX; i++)
        roots[count++] = s->roots[i];
    for (size_t i = 0; i < policy->n && count < ROOTS_MAX; i++)
        roots[count++] = policy->at[i];
    pthread_mutex_lock(&s->creating);
    unsigned n = create(s, &c, roots, out, e);
    pthread_mutex_unlock(&s->creating);
    return n;
}

/* ---- update and remove -------------------------------------------------- */

/* The number of the id, and in `listed` its id in the user's list. */
static unsigned find_listed(struct vault_set *s, struct str id, const struct grant *g,
                            char listed[static VAULT_ID_MAX + 1], struct err *e)
{
    unsigned n = vault_set_find(s, id, g, e);
    if (!n)
        return 0;
    scoped(arena_free) struct arena *a = arena_new(LIST_MEMORY);
    struct vaults list;
    pthread_mutex_lock(&s->lock);
    bool ok = vault_set_refresh(s, a, &list, e);
    const struct vault_entry *v =
        ok ? vault_set_listed(&list, s->known[n - 1]->path) : NULL;
    if (v)
        (void)snprintf(listed, VAULT_ID_MAX + 1, "%.*s", STR_ARGS(v->id));
    pthread_mutex_unlock(&s->lock);
    if (!v)
        err_set(
            e, ERR_INVALID,
            "the vault \"%.*s\" was given with --vault and is in no list that could be "
            "changed; a person registers it with: cloche vault add DIR",
            STR_ARGS(id));
    return v ? n : 0;
}

bool vault_set_update(struct vault_set *s, const struct json *options,
                      const struct grant *g, struct err *e)
{
    char listed[VAULT_ID_MAX + 1];
    struct str name = json_str(json_get(options, "name"));
    struct str description = json_str(json_get(options, "description"));
    bool named = json_is(json_get(options, "name"), JSON_STRING);
    bool described = json_get(options, "description") != NULL;
    if (!named && !described)
        return err_set(e, ERR_INVALID,
                       "nothing to update: give name, description, or both");
    return find_listed(s, json_str(json_get(options, "id")), g, listed, e) &&
           vaults_update(str_of(listed), named ? &name : NULL,
                         described ? &description : NULL, e);
}

bool vault_set_remove(struct vault_set *s, struct str id, const struct grant *g,
                      struct err *e)
{
    char listed[VAULT_ID_MAX + 1];
    unsigned n = find_listed(s, id, g, listed, e);
    if (!n || !vaults_remove(str_of(listed), e))
        return false;
    pthread_mutex_lock(&s->lock);
    s->known[n - 1]->reachable = false;
    pthread_mutex_unlock(&s->lock);
    return true;
}
