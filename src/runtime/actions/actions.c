/* Joins the rooms below; every call passes through actions_call(). */
#include "actions/actions.h"

#include <stdio.h>

#include "actions/internal.h"
#include "api/api.h"
#include "audit/audit.h"
#include "cache/cache.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "checker/checker.h"
#include "evaluating/evaluating.h"
#include "notes/notes.h"
#include "os/os.h"
#include "permits/permits.h"
#include "programs/programs.h"
#include "reconcile/reconcile.h"
#include "record/record.h"
#include "results/results.h"
#include "session/session.h"
#include "typescript/typescript.h"
#include "vaults/vaults.h"

_Static_assert(ACTIONS_THREAD_STACK >= ENGINE_THREAD_STACK, "code runs on it");

#define EDITS_MAX 20u                  /* of one call's arguments */
#define CALL_MEMORY ((size_t)64 << 20) /* working memory of one call */

/* ---- opening ------------------------------------------------------------ */

bool actions_name_taken(struct str name)
{
    bool taken = host_call_is_family(name);
    const struct action_group *g = action_group_after(0);
    for (; g; g = action_group_after(g->order))
        for (size_t i = 0; i < g->count; i++)
            taken |= str_is(name, g->rows[i].shown.name);
    return taken;
}

/* An action of ours or of an embedder, no tool. */
static const struct action *named(const struct actions *a, struct str name)
{
    for (size_t i = 0; i < a->count; i++)
        if (str_is(name, a->shown[i].name))
            return &a->shown[i];
    return NULL;
}

static bool run_extra(const struct action_call *c, struct answer *out, struct err *e)
{
    const struct action_extra *x = c->row->extra;
    return x->run(x->arg, c->arguments, c->who, out, e);
}

/* Our schemas refuse unknown arguments; an embedder's mean what they say. */
static const struct json *read_schema(struct actions *a, const struct action_row *row,
                                      struct err *e)
{
    struct str text = str_of(row->checked ? row->checked : row->shown.input_schema);
    if (!row->extra && str_ends(text, "}")) {
        char *closed = arena_printf(a->schemas, e, "%.*s,\"additionalProperties\":false}",
                                    STR_ARGS(((struct str){text.at, text.n - 1})));
        text = str_of(closed);
    }
    return text.n ? json_read(text, a->schemas, e) : NULL;
}

static bool add_row(struct actions *a, const struct action_row *row, struct err *e)
{
    const struct action *shown = &row->shown;
    if (a->count == ACTIONS_MAX)
        return err_set(e, ERR_LIMIT, "there are more than %d actions", ACTIONS_MAX);
    if (named(a, str_of(shown->name)))
        return err_set(e, ERR_CONFLICT, "there is an action %s already", shown->name);
    const struct json *input = read_schema(a, row, e);
    if (!input)
        return err_wrap(e, "schema of %s", shown->name);
    a->rows[a->count] = *row;
    a->shown[a->count] = *shown;
    if (row->parts_before && !(a->shown[a->count].description = parts_compose(a, row, e)))
        return false;
    a->input[a->count++] = input;
    return true;
}

static bool add_rows(struct actions *a, const struct actions_options *o, struct err *e)
{
    a->schemas = arena_new(ARENA_CALL);
    const struct action_group *g = action_group_after(0);
    for (; g; g = action_group_after(g->order))
        for (size_t i = 0; i < g->count; i++) {
            struct action_row row = g->rows[i];
            row.resolve = g->resolve;
            if (!add_row(a, &row, e))
                return false;
        }
    for (size_t i = 0; i < o->extra_count; i++) {
        struct action_row row = {
            .shown = o->extra[i].shown, .run = run_extra, .extra = &o->extra[i]};
        if (!add_row(a, &row, e))
            return false;
    }
    return true;
}

struct actions *actions_open(const struct actions_options *o, struct err *e)
{
    scoped(actions_close) struct actions *a = mem_new(sizeof *a);
    a->services = services_open(&(struct services_options){.guest_dir = o->guest_dir,
                                                           .rows = host_call_rows,
                                                           .metered = run_script_rows,
                                                           .put_table = check_put_table,
                                                           .put_python = python_put_table,
                                                           .declare = api_write_part,
                                                           .parts = CHECKING_PARTS});
    a->mounts = o->mounts;
    a->results = results_new();
    a->granted = granted_new();
    a->cache = answers_new();
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->open)
            a->own[i] = capability_list[i]->open(a);
    if (!add_rows(a, o, e))
        return NULL;
    struct guard_options guard = host_call_guard_options();
    a->guard = guard_open(&guard);
    audit_on_interrupted(guard_audit(a->guard), reconcile_interrupted, NULL);
    a->telemetry = telemetry_new(a);
    a->vaults =
        vault_set_open(o->vaults, o->vault_roots, services_patterns(a->services), e);
    if (!a->vaults)
        return NULL;
    if (o->brief)
        vault_set_be_brief(a->vaults);
    a->watching = watching_new(a, shown_tools_state);
    return take(a);
}

void actions_on_record(struct actions *a, actions_record_fn *fn, void *arg)
{
    a->record_arg = arg;
    a->on_record = fn;
}

void actions_on_request(struct actions *a, action_request_fn *fn, void *arg)
{
    a->request_arg = arg;
    a->on_request = fn;
}

void actions_on_alert(struct actions *a, alert_fn *fn, void *arg)
{
    guard_on_alert(a->guard, fn, arg);
}

void actions_off_alert(struct actions *a, alert_fn *fn, void *arg)
{
    guard_off_alert(a->guard, fn, arg);
}

void actions_listens(struct actions *a, uint16_t port)
{
    atomic_store(&a->own_port, port);
}

void actions_refused(struct actions *a, const char *caller, const char *why)
{
    struct err none = {0};
    struct ward *own = guard_ward(a->guard, NULL, &none);
    if (own)
        ward_refused(own, caller, why);
}

void actions_close(struct actions *a)
{
    if (!a)
        return;
    watching_free(a->watching);
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->close)
            capability_list[i]->close(a->own[i]);
    services_close(a->services);
    sessions_close(once_peek(&a->sessions));
    vault_set_close(a->vaults);
    guard_close(a->guard);
    telemetry_free(a->telemetry);
    arena_free(a->schemas);
    results_free(a->results);
    granted_free(a->granted);
    cache_free(a->cache);
    free(a);
}

/* Only a server checks in the background. */
void actions_serves(struct actions *a)
{
    atomic_store(&a->serves, true);
}

void actions_warm(struct actions *a)
{
    struct err e = {0};
    actions_serves(a);
    struct caller nobody = {.name = "warm-up"};
    struct action_call c = {.actions = a, .who = &nobody};
    scoped(arena_free) struct arena *arena = arena_new(CALL_MEMORY);
    c.arena = arena;
    c.arguments = json_read(STR("{\"code\":\"0\"}"), arena, &e);
    struct answer out = {0};
    struct place place;
    struct account account;
    buf_init(&out.json, CALL_MEMORY);
    account_begin(&account, a, "warm-up", NULL, &nobody);
    c.place = &place;
    c.account = &account;
    if (c.arguments && place_open(&place, a, 0, &nobody, NULL, &e)) {
        (void)action_evaluate(&c, &out, &e);
        if (place.permit.policy->lint != POLICY_LINT_OFF)
            (void)services_lint(a->services, &e);
        place_close(&place);
    }
    buf_done(&out.json);
    /* What few calls wait for takes the processor from none. The engine's own threads, which
     * calls depend on, have begun before. */
    os_thread_behind();
    struct typescript *t = services_typescript(a->services, &e);
    if (t)
        typescript_warm(t);
    struct checker *types = services_checker(a->services, &e);
    if (types && checker_is_there(types))
        (void)checker_warm(types, &e);
}

bool actions_make_ready(struct actions *a, struct err *e)
{
    return services_make_ready(a->services, e);
}

/* ---- calling ------------------------------------------------------------ */

const struct action *actions_list(const struct actions *a, size_t *count)
{
    *count = a->count;
    return a->shown;
}

const struct action *action_named(struct actions *a, struct str name)
{
    const struct action *own = named(a, name);
    const struct action_family *family = capability_family();
    return own ? own : family ? family->named(a, name) : NULL;
}

/* A row of ours, or of the family. */
static const struct action_row *row_of(struct actions *a, const struct action *which)
{
    bool own = which >= a->shown && which < a->shown + a->count;
    const struct action_family *family = capability_family();
    return own ? &a->rows[which - a->shown] : family ? family->row(a, which) : NULL;
}

/* The host call that an action stands for; NULL: none. */
static const struct host_call *action_host_call(const struct action_row *row)
{
    const struct host_call *call = row->needs ? host_call_named(row->needs) : NULL;
    must(!row->needs || call);
    return call;
}

/* The permission that an action needs beside its scope; without a name: none. */
static struct permit_need need_of(const struct action_row *row)
{
    const struct host_call *call = action_host_call(row);
    return call ? host_call_need(call)
                : (struct permit_need){.name = row->permission,
                                       .least = row->least,
                                       .writes = row->writes};
}

unsigned action_scopes(struct actions *a, const struct action *which)
{
    const struct action_row *row = row_of(a, which);
    must(row);
    struct permit_need need = need_of(row);
    return row->scope | (need.name ? permit_scope(&need) : 0);
}

/* The vault to begin in; 0 if there is none, which is an error for some calls only. */
static unsigned begin_in(struct actions *a, const struct caller *who)
{
    unsigned last = place_last(a, who);
    return last ? last : vault_set_begin(a->vaults, who->grant);
}

/* Performs the call as a preview; *asks: it would change something. */
static bool action_preview(const struct action_call *c, struct preview *r, bool *asks,
                           struct err *e)
{
    struct err why = {0};
    struct answer nothing = {0};
    struct action_call looking = *c;
    looking.review = &r->of;
    buf_init(&nothing.json, CALL_ARGS_MAX);
    buf_init(&nothing.content, CALL_ARGS_MAX);
    bool ok = c->row->run(&looking, &nothing, &why);
    buf_done(&nothing.json);
    buf_done(&nothing.content);
    return preview_end_look(r, ok, &why, asks, e);
}

/* What the arguments resolve to is shown to the user, and must be the same afterwards. */
static bool confirmed_resolved(const struct action_call *c, const struct ask_by *by,
                               const struct permit_need *need, struct err *e)
{
    scoped_resolved struct resolved before, now;
    resolved_init(&before);
    resolved_init(&now);
    return c->row->resolve(c, &before, e) &&
           confirm_call(by, need, c->arguments, &before.changes, e) &&
           c->row->resolve(c, &now, e) && resolved_holds(&before, &now, e);
}

/* Asks a user, if the policy requires it. *review: what was shown; NULL: nothing. */
static bool confirmed(const struct action_call *c, const struct permit_need *need,
                      bool reviewed, struct preview **review, struct err *e)
{
    bool asks = true;
    if (!need->name || !permit_asks(&c->place->permit, need))
        return true;
    const struct ask_by by = {
        .actions = c->actions, .place = c->place, .who = c->who, .edit = c->edit};
    if (c->row->resolve)
        return confirmed_resolved(c, &by, need, e);
    *review = reviewed ? preview_new() : NULL;
    if (reviewed && (!action_preview(c, *review, &asks, e) || !asks))
        return !e->code;
    return confirm_call(&by, need, c->arguments, reviewed ? &(*review)->changes : NULL,
                        e);
}

/* *ran: the action began. */
static bool action_perform(const struct action_call *c, const struct permit_need *need,
                           bool *ran, struct answer *out, struct err *e)
{
    scoped(preview_free) struct preview *review = NULL;
    const struct action_row *row = c->row;
    const struct host_call *call = action_host_call(row);
    struct outcome outcome = {.hear = account_effect, .arg = c->place->part};
    struct action_call now = *c;
    now.outcome = &outcome;
    struct permit_need asked = row->confirmed ? row->confirmed(c, *need) : *need;
    if (!confirmed(&now, &asked, call && call->reviewed, &review, e))
        return err_wrap(e, "%s", row->shown.name);
    now.review = review ? &review->of : NULL;
    *ran = true;
    bool ok = row->run(&now, out, e);
    account_removed(c->place->part, &outcome);
    if (ok && call && need->writes)
        account_done(c->place->part, call, &outcome);
    return ok;
}

static bool run_permitted(const struct action_call *c, bool *ran, struct answer *out,
                          struct err *e)
{
    const struct action_row *row = c->row;
    struct permit_need need = need_of(row);
    if (row->scope && !caller_may(c->who, row->scope, row->shown.name, e))
        return false;
    if (need.name && !permit_call(&c->place->permit, &need, e))
        return err_wrap(e, "%s", row->shown.name);
    if (cancel_fired(c->who->cancel))
        return err_set(e, ERR_CANCELLED, "cancelled before the call started");
    return action_perform(c, &need, ran, out, e);
}

static bool arguments_fit(const struct action_call *c, struct err *e)
{
    const struct json *schema = c->row->unchecked
                                    ? json_read(STR("{\"type\":\"object\"}"), c->arena, e)
                                    : c->actions->input[c->row - c->actions->rows];
    return schema && json_schema_check(schema, c->arguments, "arguments", e);
}

static bool run_in(struct place *place, struct action_call *c, struct answer *out,
                   struct err *e)
{
    if (!c->arguments)
        c->arguments = json_read(STR("{}"), c->arena, e);
    if (!c->arguments || !arguments_fit(c, e)) {
        account_place(c->account, place, NULL);
        return false;
    }
    bool open = place_permit(place, c->who, json_get(c->arguments, "allowedAPIs"), e);
    account_place(c->account, place, place->permit.policy);
    if (!open)
        return false;
    c->account->level = place->permit.level;
    bool ran = false, ok = run_permitted(c, &ran, out, e);
    if (!ran && c->row->refused)
        c->row->refused(c, e->code);
    place_close(place);
    return ok;
}

/* The vault to work in; 0: none. A missing one is recorded in the user's own trail. */
static bool find_vault(struct action_call *c, unsigned *vault, struct err *e)
{
    const char *key = c->row->vault;
    struct str id = key ? json_str(json_get(c->arguments, key)) : STR("");
    struct err none = {0};
    *vault = !id.n ? begin_in(c->actions, c->who)
             : arguments_fit(c, e)
                 ? vault_set_find(c->actions->vaults, id, c->who->grant, e)
                 : 0;
    if (*vault || !id.n)
        return true;
    if (place_find(c->place, c->actions, 0, c->who, &none))
        account_place(c->account, c->place, NULL);
    return false;
}

/* Models that must pass every parameter (OpenAI's strict mode) send null for absent ones.
 * None of our actions takes null; in an embedder's action null is an argument. */
static bool drop_nulls(struct action_call *c, struct err *e)
{
    bool any = false;
    struct json_iter it = json_iter(c->arguments);
    while (json_is(c->arguments, JSON_OBJECT) && json_next(&it))
        any |= json_is(it.value, JSON_NULL);
    if (!any || c->row->extra)
        return true;
    scoped_buf struct buf text;
    buf_init(&text, CALL_MEMORY);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    for (it = json_iter(c->arguments); json_next(&it);)
        if (!json_is(it.value, JSON_NULL)) {
            json_key_str(&w, it.key);
            json_put(&w, it.value);
        }
    json_close(&w);
    c->arguments = buf_check(&text, "the arguments", e)
                       ? json_read(buf_view(&text), c->arena, e)
                       : NULL;
    return c->arguments != NULL;
}

static bool run_once(struct action_call *c, struct answer *out, struct err *e)
{
    unsigned vault;
    if (!drop_nulls(c, e) || !find_vault(c, &vault, e) ||
        !place_find(c->place, c->actions, vault, c->who, e))
        return false;
    c->edit->arguments = c->arguments;
    return run_in(c->place, c, out, e);
}

/* What a person wants instead becomes the call's arguments, and the agent is told. */
static bool take_edit(struct action_call *c, struct answer *out, struct err *e)
{
    scoped(free) char *text = take(c->edit->edited);
    *e = (struct err){0};
    c->arguments = json_read(str_of(text), c->arena, e);
    c->account->arguments = c->arguments;
    buf_clear(&out->json);
    buf_clear(&out->content);
    struct str shown = str_cut(str_of(text), sizeof out->note - 120);
    (void)snprintf(out->note, sizeof out->note,
                   "A person changed the arguments of this call, and then allowed it. It "
                   "was made with: %.*s%s",
                   STR_ARGS(shown), shown.n < strlen(text) ? "..." : "");
    return c->arguments != NULL;
}

/* A call that a person edits is made again from its beginning. */
static bool run_row(struct action_call *c, struct answer *out, struct err *e)
{
    for (unsigned i = 0; i < EDITS_MAX; i++) {
        if (run_once(c, out, e))
            return true;
        if (!c->edit->edited || !take_edit(c, out, e))
            return false;
    }
    return err_set(e, ERR_LIMIT,
                   "a person changed the arguments %u times, and no more changes are "
                   "taken; nothing was done",
                   EDITS_MAX);
}

void actions_unknown(struct actions *a, const struct caller *who, struct str name,
                     struct buf *meant)
{
    struct err ignored = {0};
    struct account account;
    struct place place;
    char action[100];
    unsigned last = place_last(a, who);
    unsigned vault = last ? last : vault_set_begin(a->vaults, who->grant);
    (void)snprintf(action, sizeof action, "unknown: %.*s", STR_ARGS(str_cut(name, 80)));
    account_begin(&account, a, action, NULL, who);
    account.outcome = ERR_NOT_FOUND;
    bool there = place_find(&place, a, vault, who, &ignored);
    if (there)
        account_place(&account, &place, NULL);
    account_end(&account);
    capability_meant(a, there ? &place : NULL, vault, name, true, meant);
}

/* Shortens an answer beyond the caller's limit, and keeps the whole for a while. */
static bool fit_answer(struct actions *a, const struct action_row *row,
                       const struct caller *who, struct answer *out, struct err *e)
{
    if (!out->most || out->json.n <= out->most || out->content.n)
        return true;
    scoped_buf struct buf part;
    buf_init(&part, out->json.ceiling);
    out->whole_bytes = out->json.n;
    if (!results_keep(a->results, who, buf_view(&out->json), os_mono_ms(), out->whole))
        out->whole[0] = '\0';
    struct err large = {0};
    if ((!row->shorten ||
         !row->shorten(buf_view(&out->json), out->most, &part, &large)) &&
        !shorten(buf_view(&out->json), out->most, &part, e))
        return !out->whole[0] ? false
                              : err_wrap(e, "the complete result is in %s", out->whole);
    buf_clear(&out->json);
    buf_str(&out->json, buf_view(&part));
    return buf_check(&out->json, "the answer", e);
}

bool actions_call(struct actions *a, const struct action *which,
                  const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e)
{
    const struct action_row *row = row_of(a, which);
    must(row);
    struct str other = row->stands_for ? row->stands_for(arguments) : STR("");
    const struct action *instead = other.n ? named(a, other) : NULL;
    if (instead && !row_of(a, instead)->stands_for) {
        which = instead;
        row = row_of(a, which);
        arguments = json_get(arguments, "arguments");
    }
    if (who->within)
        return err_set(e, ERR_DENIED, "%s cannot be called from within a script",
                       row->shown.name);
    struct account account;
    scoped(arena_free) struct arena *arena = arena_new(CALL_MEMORY);
    struct place place;
    struct ask_edit edit = {0};
    struct action_call c = {.actions = a,
                            .row = row,
                            .arguments = arguments,
                            .who = who,
                            .place = &place,
                            .account = &account,
                            .arena = arena,
                            .edit = &edit};
    account_begin(&account, a, row->shown.name, arguments, who);
    bool ok = run_row(&c, out, e) && (row->fits || fit_answer(a, row, who, out, e));
    if (!ok && account.outcome == ERR_NONE)
        account.outcome = e->code;
    if (!ok)
        paths_hide(who, STR(""), e);
    account_end(&account);
    out->outcome = out->outcome ? out->outcome : account.outcome;
    const struct action *counted =
        row->counted_as ? named(a, str_of(row->counted_as)) : which;
    telemetry_tool(a->telemetry, (size_t)(counted - a->shown), who, account.outcome,
                   os_mono_ns() - account.begun_ns);
    if (ok || !row->refuse)
        return ok;
    err_log(e, row->shown.name);
    row->refuse(e, out);
    *e = (struct err){0};
    return true;
}

bool actions_reindex(struct actions *a, bool from_scratch, struct buf *out, struct err *e)
{
    struct vault *vault =
        vault_set_get(a->vaults, vault_set_first(a->vaults, NULL, e), e);
    struct json_writer w = json_writer(out);
    return vault && notes_reindex(vault, from_scratch, &w, e) &&
           buf_check(out, "the answer", e);
}

/* ---- vaults -------------------------------------------------------------- */

/* A policy without write permission protects the user's list as well. */
static bool may_change_in(struct actions *a, unsigned vault, const struct caller *who)
{
    struct err none = {0};
    struct place place;
    bool open = place_open(&place, a, vault, who, NULL, &none);
    bool may = open && !place.permit.read_only;
    if (open)
        place_close(&place);
    return may;
}

bool actions_keep_vault(struct actions *a, const struct caller *who, struct err *e)
{
    char id[VAULT_ID_MAX + 1] = "";
    if (who->vault)
        vault_set_id(a->vaults, *who->vault, id);
    return !id[0] || !vault_set_is_users(a->vaults) ||
           !may_change_in(a, vault_set_begin(a->vaults, who->grant), who) ||
           !may_change_in(a, *who->vault, who) || vaults_use(str_of(id), e);
}

bool actions_vaults(struct actions *a, const struct caller *who, struct buf *out,
                    struct err *e)
{
    struct json_writer w = json_writer(out);
    return vault_set_list(a->vaults, who->grant, &w, e);
}

bool actions_watch(struct actions *a, vault_change_fn *fn, void *arg, struct err *e)
{
    return watching_start(a->watching, fn, arg, e);
}

void actions_unwatch(struct actions *a)
{
    watching_stop(a->watching);
}
