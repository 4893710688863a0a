/* The host calls vaults.*: which vaults there are, and which one the code works in. */
#include "calls/calls.h"
#include "effect/effect.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "permits/permits.h"
#include "place/place.h"
#include "vaults_api/vaults.api.h"
#include "json/json.h"

/* ---- the calls ---------------------------------------------------------- */

/* "id" or {id}. */
static bool read_id(const struct json *args, const char *call, struct str *out,
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

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    return vault_set_list(x->v->actions->vaults, x->v->who->grant, out, e);
}

/* The options of a call, as its schema has them. */
static const struct json *options_of(struct calling *x, const char *call,
                                     const char *schema, struct err *e)
{
    const struct json *o = call_options(x->args, call, e);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    const struct json *s = o ? json_read(str_of(schema), a, e) : NULL;
    return s && json_schema_check(s, o, call, e) ? o : NULL;
}

static bool call_create(struct calling *x, struct json_writer *out, struct err *e)
{
    bool use = false;
    const struct json *o = options_of(x, "vaults.create", VAULTS_CREATE_OPTIONS, e);
    const struct policy *policy = x->v->here->permit.policy;
    unsigned n = o ? vault_set_create(x->v->actions->vaults, o, &policy->vault_roots,
                                      x->v->who->grant, &use, out, e)
                   : 0;
    struct str id = json_str(json_get(o, "id"));
    if (n)
        outcome_add(&x->outcome, &(struct effect){"vault", EFFECT_MADE, .id = id});
    return n && (!use || evaluation_go(x->v, n, e));
}

static bool call_switch(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str id;
    unsigned n = read_id(x->args, "vaults.switch", &id, e)
                     ? vault_set_find(x->v->actions->vaults, id, x->v->who->grant, e)
                     : 0;
    /* One that cannot be opened is no place to go to. */
    if (!n || !vault_set_get(x->v->actions->vaults, n, e) || !evaluation_go(x->v, n, e))
        return false;
    json_put_null(out);
    return true;
}

static bool call_update(struct calling *x, struct json_writer *out, struct err *e)
{
    const struct json *o = options_of(x, "vaults.update", VAULTS_UPDATE_OPTIONS, e);
    if (!o || !vault_set_update(x->v->actions->vaults, o, x->v->who->grant, e))
        return false;
    json_put_null(out);
    return true;
}

static bool call_remove(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str id;
    if (!read_id(x->args, "vaults.remove", &id, e) ||
        !vault_set_remove(x->v->actions->vaults, id, x->v->who->grant, e))
        return false;
    json_put_null(out);
    return true;
}

/* What vaults.update and vaults.remove name. */
static bool resolve_vault(struct evaluation *v, const struct json *args,
                          struct resolved *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
    const struct json *first = json_at(args, 0);
    struct str id = json_str(json_is(first, JSON_OBJECT) ? json_get(first, "id") : first);
    unsigned number = vault_set_find(v->actions->vaults, id, v->who->grant, e);
    scoped(free) char *path = number ? vault_set_path(v->actions->vaults, number) : NULL;
    scoped_buf struct buf list;
    buf_init(&list, (size_t)16 << 20);
    struct json_writer all = json_writer(&list);
    if (!number || !vault_set_list(v->actions->vaults, v->who->grant, &all, e))
        return false;
    const struct json *rows = json_read(buf_view(&list), a, e);
    struct json_iter it = json_iter(rows);
    struct json_writer w = json_writer(&out->lines);
    json_open_array(&w);
    while (json_next(&it)) {
        if (!str_eq(json_str(json_get(it.value, "id")), id))
            continue;
        scoped_buf struct buf line;
        buf_init(&line, (size_t)64 << 10);
        buf_cstr(&line, "the vault '");
        buf_str(&line, json_str(json_get(it.value, "name")));
        buf_printf(&line, "' in the folder %s; ", path ? path : "(none)");
        buf_str(&line, json_str(json_get(it.value, "description")));
        json_put_str(&w, buf_view(&line));
    }
    return rows && resolved_end(out, &w, e);
}

/* ---- the rows ----------------------------------------------------------- */

#define VAULT                                                                        \
    "{id: string, name: string, path: string, description?: string, last_accessed: " \
    "string, created: string}"

static const struct host_call rows[] = {
    {CALL(.name = "vaults.getCurrent"), "(): Promise<" VAULT " | null>",
     "the vault that all other calls work in", call_current, LEVEL_FULL, .reads = true,
     .details = "null where no vault is open.",
     .example = "const vault = await vaults.getCurrent()",
     .words = "which active workspace where am I path folder getCurrentVault"},
    {CALL(.name = "vaults.list"), "(): Promise<" VAULT "[]>",
     "the vaults that can be reached", call_list, LEVEL_FULL, .reads = true,
     .outward = true,
     .details = "Those given to this program with --vault and those that code has made "
                "since; or else all that the user has registered.",
     .example = "(await vaults.list()).map((v) => v.id)",
     .words = "all workspaces listVaults available"},
    {CALL(.name = "vaults.create", .writes = true),
     "(options: " VAULTS_CREATE_TYPE "): Promise<" VAULT ">",
     "registers a folder as a vault, and makes it", call_create, LEVEL_FULL,
     .never_dry = true, .outward = true,
     .details =
         "A relative path lies in the user's folder of vaults. Other folders are a "
         "person's to register (cloche vault add DIR). initialize: false takes only a "
         "folder that is there; switch_to goes on in the new vault.",
     .errors =
         "PermissionDenied: the folder is not one that code may choose. Conflict: the "
         "id or the folder is taken, or the folder lies within another vault.",
     .example = "await vaults.create({id: 'work', name: 'Work', path: 'work'})",
     .words = "new add register open folder workspace createVault"},
    {CALL(.name = "vaults.switch"),
     "(vaultId: string | " VAULT_ID_TYPE "): Promise<void>", "goes on in another vault",
     call_switch, LEVEL_FULL, .never_dry = true, .outward = true,
     .details =
         "Holds for all calls made after it, and for later evaluations of the same "
         "session. Nobody else's vault changes.",
     .errors = "NotFound: no vault has this id; the message names those there are.",
     .example = "await vaults.switch('work')",
     .words = "change use select activate open workspace switchVault"},
    {CALL(.name = "vaults.update", .writes = true),
     "(options: " VAULTS_UPDATE_TYPE "): Promise<void>",
     "changes a vault's name or description", call_update, LEVEL_FULL, .never_dry = true,
     .names_vault = true, .outward = true,
     .errors = "NotFound. InvalidInput: it was given with --vault and is not registered.",
     .example = "await vaults.update({id: 'work', description: 'what I am paid for'})",
     .words = "rename describe edit updateVault"},
    {CALL(.name = "vaults.remove", .writes = true),
     "(vaultId: string | " VAULT_ID_TYPE "): Promise<void>",
     "takes a vault from the list; its files stay as they are", call_remove, LEVEL_FULL,
     .never_dry = true, .names_vault = true, .outward = true,
     .errors = "NotFound. InvalidInput: it was given with --vault and is not registered.",
     .example = "await vaults.remove('work')",
     .words = "delete unregister forget detach removeVault"},
};
static const struct host_call_group vaults_calls = {
    TABLE(rows), .order = 90, .subject = "vault", .resolve = resolve_vault};

const struct capability vaults_capability = {.calls = CALLS(&vaults_calls)};
