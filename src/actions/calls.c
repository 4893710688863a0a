/* The table of host calls, joined from its groups, and how one is performed. To add a
 * call: a row in its group's file (calls_<namespace>.c), and its function. */
#include <stdio.h>
#include <time.h>

#include "actions/account.h"
#include "actions/calls.h"
#include "actions/dry.h"
#include "actions/places.h"
#include "actions/report.h"
#include "os/os.h"

static const struct host_call_group *const groups[] = {
    /* One namespace's stand together. */
    &notes_calls,  &writing_calls, &search_calls,    &note_types_calls,
    &utils_calls,  &links_calls,   &hierarchy_calls, &relationships_calls,
    &vaults_calls, &fetch_calls,   &api_calls,       &fs_calls,
    &tools_calls,  &vm_calls,      &functions_calls, /* not told of: last */
};

static const struct host_call *table[HOST_CALLS_MAX];
static const char *names[HOST_CALLS_MAX];
static size_t table_size;

static void join_groups(void)
{
    for (size_t g = 0; g < LENGTH(groups); g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            must(table_size < HOST_CALLS_MAX);
            names[table_size] = groups[g]->rows[i].row.name;
            table[table_size++] = &groups[g]->rows[i];
        }
}

const struct host_call *const *host_calls(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, join_groups);
    *count = table_size;
    return table;
}

const struct host_call *const *host_calls_told(size_t *count)
{
    const struct host_call *const *calls = host_calls(count);
    while (*count && calls[*count - 1]->inner)
        --*count;
    return calls;
}

const char *const *actions_call_names(size_t *count)
{
    (void)host_calls(count);
    return names;
}

const struct json *call_options(const struct json *args, const char *call, struct err *e)
{
    const struct json *v = json_at(args, 0);
    if (json_is(v, JSON_OBJECT))
        return v;
    err_set(e, ERR_INVALID, "%s needs an object with its options, not %s", call,
            json_type_name(json_type(v)));
    return NULL;
}

/* ---- performing --------------------------------------------------------- */

/* How many there are: there is none. */
static size_t number_of(const char *name, const struct host_call *const **calls,
                        size_t *count)
{
    size_t i = 0;
    *calls = host_calls(count);
    while (i < *count && strcmp((*calls)[i]->row.name, name) != 0)
        i++;
    return i;
}

const struct host_call *host_call_named(const char *name)
{
    size_t count;
    const struct host_call *const *calls;
    size_t i = number_of(name, &calls, &count);
    return i < count ? calls[i] : NULL;
}

uint32_t host_call_number(const char *name)
{
    size_t count;
    const struct host_call *const *calls;
    size_t i = number_of(name, &calls, &count);
    must(i < count);
    return (uint32_t)i;
}

/* ---- patience ------------------------------------------------------------ */

#define RETRIES 4u
#define FIRST_PAUSE_MS 20u
#define PATIENCE_NS 2000000000u /* who has waited so long was patient by himself */

static bool is_over(const struct evaluation *v)
{
    return cancel_fired(v->who->cancel) || cancel_fired(&v->stopping);
}

/* Twice as long each time, and not the same for all who wait for one thing. false:
 * nobody waits for it any more. */
static bool wait_a_little(const struct evaluation *v, unsigned attempt)
{
    uint8_t chance;
    os_random(&chance, sizeof chance);
    unsigned ms = (FIRST_PAUSE_MS << attempt) + chance % FIRST_PAUSE_MS;
    for (; ms && !is_over(v); ms -= ms < 10 ? ms : 10)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return !is_over(v);
}

bool call_patiently(struct evaluation *v, const struct host_call *c,
                    const struct json *args, struct buf *out, struct err *e)
{
    uint64_t until = os_mono_ns() + PATIENCE_NS;
    for (unsigned attempt = 0;; attempt++) {
        struct err why = {0};
        struct json_writer w = json_writer(out);
        size_t from = out->n;
        if (c->call(v, args, &w, &why))
            return true;
        if (why.code != ERR_BUSY || attempt == RETRIES || os_mono_ns() > until ||
            !wait_a_little(v, attempt))
            return err_set(e, why.code, "%s", why.msg);
        atomic_fetch_add(&v->retries, 1);
        out->n = from;
    }
}

/* By a person, where the policy wants that. */
static bool confirmed(struct evaluation *v, const struct host_call *c,
                      const struct json *args, struct err *e)
{
    const struct permit *permit = &v->here->permit;
    if (v->dry || !permit_asks(permit, c->row.name))
        return true;
    char vault[VAULT_ID_MAX + 1];
    vault_set_id(v->actions->vaults, atomic_load(&v->vault), vault);
    if (!evaluation_awaits(v, e))
        return false;
    bool ok = confirm_call(permit, c->row.name, args, vault, false, &v->stopping,
                           v->here->part, e);
    evaluation_awaited(v);
    return ok;
}

/* What was asked for is of interest, too, where it was not allowed. */
static void tell_refused(struct evaluation *v, const struct host_call *c, struct str args,
                         enum err_code outcome)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, a, &none);
    if (values)
        c->refused(v, values, a, outcome);
}

static bool perform(struct evaluation *v, const struct host_call *c, uint32_t row,
                    struct str args, struct buf *out, struct err *e)
{
    if (!evaluation_allows(v, c, e) || (v->dry && !dry_begin(v, c, e))) {
        if (c->refused)
            tell_refused(v, c, args, e->code);
        return false;
    }
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, a, e);
    if (!values)
        return err_wrap(e, "%s", c->row.name);
    if (!c->steady)
        atomic_store(&v->unsteady, true);
    if (!confirmed(v, c, values, e))
        return false;
    if (!call_patiently(v, c, values, out, e)) {
        advice_failed(v, c, values, e);
        return false;
    }
    advice_done(v, c, row, values, buf_view(out));
    /* Not at the end of the evaluation: an alert may have to stop it. */
    bool deletes =
        !strcmp(c->row.name, "notes.delete") || !strcmp(c->row.name, "noteTypes.delete");
    if (deletes && !v->dry)
        ward_observe(v->here->ward, v->who, &(struct deed){.deletes = 1});
    return true;
}

bool host_perform(void *arg, uint32_t row, struct str args, struct buf *out,
                  struct err *e)
{
    struct evaluation *v = arg;
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    must(row < count);
    const struct host_call *c = calls[row];
    if (!c->call)
        return err_set(e, ERR_NOT_FOUND, "%s is no call to the host", c->row.name);
    uint64_t begun_ns = os_mono_ns();
    pthread_rwlock_rdlock(&v->moving);
    struct account_part *part = v->here->part;
    bool ok = perform(v, c, row, args, out, e);
    pthread_rwlock_unlock(&v->moving);
    enum err_code outcome = ok ? ERR_NONE : e->code;
    if (!c->row.sync)
        evaluation_went_on(v, c->row.name);
    account_call(part, row, c, outcome, ok ? buf_view(out) : STR(""));
    telemetry_call(v->actions->telemetry, row, outcome, os_mono_ns() - begun_ns);
    return ok;
}
