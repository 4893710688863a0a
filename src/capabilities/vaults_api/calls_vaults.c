/* The host calls vaults.*: the list of vaults, and the current one. */
#include "calls/calls.h"
#include "capability/capability.h"
#include "effect/effect.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "permits/permits.h"
#include "place/place.h"
#include "policy/policy.h"
#include "vaults_api/vaults.api.h"
#include "json/json.h"

/* ---- the policy --------------------------------------------------------- */

struct vaults_policy {
    struct policy_names roots; /* absolute paths */
};
static const struct key keys[] = {
    KEY(struct vaults_policy, "vaultRoots", PATHS, USER, roots, "[]",
        "folders in which code may register vaults", .high = 64, .order = 40),
};
static const struct policy_group vaults_policy = POLICY_GROUP(keys, struct vaults_policy);

/* ---- the calls ---------------------------------------------------------- */

/* "id" or {id}. */
static bool vault_read_id(const struct json *args, const char *call, struct str *out,
                          struct err *e)
{
    const struct json *v = json_at(args, 0);
    *out = json_str(json_is(v, JSON_OBJECT) ? json_get(v, "id") : v);
    return out->n > 0 ||
           err_set(e, ERR_INVALID, "%s needs the id of a vault, a string, not %s", call,
                   json_type_name(json_type(v)));
}

static bool call_current(struct calling *x, struct json_writer *out, struct err *e)
{
    return vault_set_current(x->v->actions->vaults, atomic_load(&x->v->vault),
                             x->v->who->grant, out, e);
}

static bool vaults_list_call(struct calling *x, struct json_writer *out, struct err *e)
{
    return vault_set_list(x->v->actions->vaults, x->v->who->grant, out, e);
}

/* The options of a call, by its schema. */
static const struct json *vault_options(struct calling *x, const char *call,
                                        const char *schema, struct err *e)
{
    const struct json *o = call_options(x->args, call, e);
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *s = o ? json_read(str_of(schema), a, e) : NULL;
    return s && json_schema_check(s, o, call, e) ? o : NULL;
}

static bool vaults_create_call(struct calling *x, struct json_writer *out, struct err *e)
{
    bool use = false;
    const struct json *o = vault_options(x, "vaults.create", VAULTS_CREATE_OPTIONS, e);
    const struct vaults_policy *policy =
        policy_values(x->v->here->permit.policy, &vaults_policy);
    unsigned n =
        o ? vault_set_create(x->v->actions->vaults, o, &policy->roots, &use, out, e) : 0;
    struct str id = json_str(json_get(o, "id"));
    if (n)
        outcome_add(&x->outcome, &(struct effect){"vault", EFFECT_MADE, .id = id});
    return n && (!use || evaluation_go(x->v, n, e));
}

static bool call_switch(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str id;
    unsigned n = vault_read_id(x->args, "vaults.switch", &id, e)
                     ? vault_set_find(x->v->actions->vaults, id, x->v->who->grant, e)
                     : 0;
    /* A vault that cannot be opened cannot become the current one. */
    if (!n || !vault_set_get(x->v->actions->vaults, n, e) || !evaluation_go(x->v, n, e))
        return false;
    json_put_null(out);
    return true;
}

static bool vaults_update_call(struct calling *x, struct json_writer *out, struct err *e)
{
    const struct json *o = vault_options(x, "vaults.update", VAULTS_UPDATE_OPTIONS, e);
    if (!o || !vault_set_update(x->v->actions->vaults, o, x->v->who->grant, e))
        return false;
    json_put_null(out);
    return true;
}

static bool call_remove(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str id;
    if (!vault_read_id(x->args, "vaults.remove", &id, e) ||
        !vault_set_remove(x->v->actions->vaults, id, x->v->who->grant, e))
        return false;
    json_put_null(out);
    return true;
}

/* Resolves what vaults.update and vaults.remove name. */
static bool resolve_vault(struct evaluation *v, const struct json *args,
                          struct resolved *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    const struct json *first = json_at(args, 0);
    struct str id = json_str(json_is(first, JSON_OBJECT) ? json_get(first, "id") : first);
    unsigned number = vault_set_find(v->actions->vaults, id, v->who->grant, e);
    scoped(free) char *path = number ? vault_set_path(v->actions->vaults, number) : NULL;
    struct vault_words words;
    if (!number || !vault_set_words(v->actions->vaults, number, &words, a, e))
        return false;
    scoped_buf struct buf line;
    buf_init(&line, BUF_TEXT);
    buf_cstr(&line, "the vault '");
    buf_str(&line, words.name);
    buf_printf(&line, "' in the folder %s; ", path ? path : "(none)");
    buf_str(&line, words.description);
    text_list_add(&out->lines, buf_view(&line));
    return resolved_end(out, e);
}

/* ---- the rows ----------------------------------------------------------- */

static const struct host_call rows[] = {
    {CALL(.name = "vaults.getCurrent"), .signature = VAULTS_GET_CURRENT_SIGNATURE,
     .summary = "the vault that all other calls work in", .call = call_current,
     .level = LEVEL_FULL, .reads = true, .details = "null where no vault is open.",
     .example = "const vault = await vaults.getCurrent()",
     .words = "which active workspace where am I path folder getCurrentVault"},
    {CALL(.name = "vaults.list"), .signature = VAULTS_LIST_SIGNATURE,
     .summary = "the vaults that can be reached", .call = vaults_list_call,
     .level = LEVEL_FULL, .reads = true, .outward = true,
     .details = "Those given to this program with --vault and those that code has made "
                "since; or else all that the user has registered.",
     .example = "(await vaults.list()).map((v) => v.id)",
     .words = "all workspaces listVaults available"},
    {CALL(.name = "vaults.create", .writes = true), .signature = VAULTS_CREATE_SIGNATURE,
     .summary = "registers a folder as a vault, and makes it", .call = vaults_create_call,
     .level = LEVEL_FULL, .never_dry = true, .changes_vaults = true, .outward = true,
     .details =
         "A relative path is in the user's folder of vaults. Only a person can register other folders (cloche vault add DIR). initialize: false accepts only an existing folder; switch_to switches to the new vault.",
     .errors =
         "PermissionDenied: the folder is not one that code may choose. Conflict: the "
         "id or the folder is taken, or the folder lies within another vault.",
     .example = "await vaults.create({id: 'work', name: 'Work', path: 'work'})",
     .words = "new add register open folder workspace createVault"},
    {CALL(.name = "vaults.switch"), .signature = VAULTS_SWITCH_SIGNATURE,
     .summary = "switches to another vault", .call = call_switch, .level = LEVEL_FULL,
     .never_dry = true, .outward = true,
     .details =
         "Holds for all calls made after it, and for later evaluations of the same "
         "session. Nobody else's vault changes.",
     .errors = "NotFound: no vault has this id; the message names those there are.",
     .example = "await vaults.switch('work')",
     .words = "change use select activate open workspace switchVault"},
    {CALL(.name = "vaults.update", .writes = true), .signature = VAULTS_UPDATE_SIGNATURE,
     .summary = "changes a vault's name or description", .call = vaults_update_call,
     .level = LEVEL_FULL, .never_dry = true, .changes_vaults = true, .names_vault = true,
     .outward = true,
     .errors = "NotFound. InvalidInput: it was given with --vault and is not registered.",
     .example = "await vaults.update({id: 'work', description: 'what I am paid for'})",
     .words = "rename describe edit updateVault"},
    {CALL(.name = "vaults.remove", .writes = true), .signature = VAULTS_REMOVE_SIGNATURE,
     .summary = "takes a vault from the list; its files stay as they are",
     .call = call_remove, .level = LEVEL_FULL, .never_dry = true, .changes_vaults = true,
     .names_vault = true, .outward = true,
     .errors = "NotFound. InvalidInput: it was given with --vault and is not registered.",
     .example = "await vaults.remove('work')",
     .words = "delete unregister forget detach removeVault"},
};
static const struct host_call_group vaults_calls = {
    TABLE(rows), .order = 90, .subject = "vault", .resolve = resolve_vault};

const struct capability vaults_capability = {.calls = CALLS(&vaults_calls),
                                             .policies = POLICIES(&vaults_policy)};
