/* A person's words, whichever way they come, and their records. */
#include <stdio.h>

#include "catalogue/catalogue.h"
#include "desk/desk.h"
#include "json/json.h"

#define ENTRY_MAX ((size_t)1 << 20)

/* In the user's own trail: the call's record, where one waits, is in the vault's. `result`: "allowed",
 * "denied", "edited". */
static void decision_record(struct ward *w, const struct json *entry, const char *result,
                            enum approval_memory memory, struct str reason,
                            const char *by)
{
    struct err none = {0};
    struct ward_event told;
    ward_event_begin(&told, "decision");
    json_pair_cstr(&told.out, "caller", by);
    json_pair(&told.out, "approval", json_get(entry, "id"));
    json_pair(&told.out, "kind", json_get(entry, "kind"));
    json_pair_str(&told.out, "asked_by",
                  str_cut(json_str(json_get(entry, "caller")), 100));
    if (json_get(entry, "client"))
        json_pair(&told.out, "client", json_get(entry, "client"));
    json_pair(&told.out, "tools", json_get(entry, "tools"));
    if (json_get(entry, "question"))
        json_pair(&told.out, "question", json_get(entry, "question"));
    json_pair(&told.out, "request", json_get(entry, "digest"));
    json_pair_cstr(&told.out, "result", result);
    if (reason.n)
        json_pair_str(&told.out, "reason", str_cut(reason, APPROVAL_REASON_MAX));
    if (!strcmp(result, "allowed"))
        json_pair_cstr(&told.out, "remember", approval_memory_name(memory));
    (void)ward_event_end(&told, w, NULL, true, &none);
}

bool desk_permit(struct ward *w, bool in_vault, const char *tool, enum permission p,
                 const char *by, struct err *e)
{
    char key[32 + 64];
    const char *word = permission_name(p);
    if (snprintf(key, sizeof key, "tools.permissions.%s", tool) >= (int)sizeof key)
        return err_set(e, ERR_INVALID, "'%.64s...' is not the name of a tool", tool);
    return ward_set(w, in_vault, key, &word, p == PERMISSION_USUAL ? 0 : 1, by, e);
}

static bool allow_always(struct ward *w, const struct json *entry, const char *by,
                         struct err *e)
{
    static const char *const always = "always";
    struct json_iter it = json_iter(json_get(entry, "tools"));
    if (str_is(json_str(json_get(entry, "kind")), "machine"))
        return ward_set(w, false, "vm.permission", &always, 1, by, e) ||
               err_wrap(e, "it is allowed for this call, but not for always");
    while (json_next(&it))
        if (!desk_permit(w, false, json_cstr(it.value), PERMISSION_ALWAYS, by, e))
            return err_wrap(e, "it is allowed for this call, but not for always");
    return true;
}

/* Installs a tool that an agent proposed and a person allowed. */
static bool decide_install(struct catalogue *c, const struct tool_watch *watch,
                           const struct json *entry, bool allow, struct err *e)
{
    const char *sha256 = json_cstr(json_get(entry, "digest"));
    if (!allow)
        tool_proposal_drop(sha256);
    else if (!c)
        err_set(e, ERR_INVALID,
                "tools are installed from a terminal: 'cloche tool install'");
    else
        (void)tool_proposal_install(c, sha256, watch, e);
    return !e->code || err_wrap(e, "it is allowed, but was not installed");
}

bool desk_decide(struct guard *g, struct approvals *a, struct catalogue *c,
                 const struct tool_watch *watch, struct str id, bool allow,
                 enum approval_memory memory, struct str reason, const char *by,
                 struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_buf struct buf text = buf_of(ENTRY_MAX);
    struct ward *w = guard_ward(g, NULL, e);
    if (allow && reason.n)
        return err_set(e, ERR_INVALID, "a reason goes with a denial");
    if (!w || !(allow ? approvals_decide(a, id, true, memory, by, &text, e)
                      : approvals_deny(a, id, reason, by, &text, e)))
        return false;
    const struct json *entry = json_read(buf_view(&text), arena, e);
    if (!entry)
        return false;
    decision_record(w, entry, allow ? "allowed" : "denied", memory, reason, by);
    if (str_is(json_str(json_get(entry, "kind")), "install"))
        return decide_install(c, watch, entry, allow, e);
    return !allow || memory != APPROVAL_ALWAYS || allow_always(w, entry, by, e);
}

bool desk_edit(struct guard *g, struct approvals *a, struct str id,
               const struct json *arguments, const char *by, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(16 * ENTRY_MAX);
    scoped_buf struct buf text = buf_of(ENTRY_MAX);
    struct ward *w = guard_ward(g, NULL, e);
    const struct json *entry = w && approvals_edit(a, id, arguments, by, &text, e)
                                   ? json_read(buf_view(&text), arena, e)
                                   : NULL;
    if (entry)
        decision_record(w, entry, "edited", APPROVAL_CALL, STR(""), by);
    return entry != NULL;
}
