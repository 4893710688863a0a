/* Actions on several custom functions at once: deletion, export, import, backups. */
#include <stdio.h>

#include "functions_api/function_actions.h"
#include "functions_api/functioning.h"

/* ---- deletion ---------------------------------------------------------------------------- */

#define DELETED_MAX FUNCTIONS_MAX

/* One name, or an array of them, without duplicates; *count of them. NULL and *e. */
static struct str *read_names(const struct action_call *c, size_t *count, struct err *e)
{
    const struct json *list = json_get(c->arguments, "names");
    struct str one = function_argument(c, "name");
    size_t n = list ? json_length(list) : one.n > 0;
    if (!n || (list && one.n) || n > DELETED_MAX) {
        err_set(e, ERR_INVALID, "give the name of a function, or names: up to %u of them",
                DELETED_MAX);
        return NULL;
    }
    struct str *names = arena_get(c->arena, n * sizeof *names, e);
    struct json_iter it = json_iter(list);
    *count = 0;
    if (names && !list)
        names[(*count)++] = one;
    while (names && json_next(&it)) {
        bool known = false;
        for (size_t i = 0; i < *count && !known; i++)
            known = str_eq(names[i], json_str(it.value));
        if (!known)
            names[(*count)++] = json_str(it.value);
    }
    return names;
}

/* Those of these names; NULL and *e. */
static const struct function **find_named(const struct action_call *c,
                                          const struct function_set *s,
                                          const struct str *names, size_t count,
                                          struct err *e)
{
    const struct function **all = arena_get(c->arena, count * sizeof *all, e);
    for (size_t i = 0; all && i < count; i++)
        if (!(all[i] = function_by_name(s, names[i], e)))
            return NULL;
    return all;
}

static bool refuse_in_use(const struct action_call *c, const struct judgement *j,
                          struct answer *out, struct err *e)
{
    struct err why = {0};
    err_set(&why, ERR_CONFLICT,
            "other functions call the functions to delete (warnings names them); "
            "nothing was deleted: change or delete these as well, or give force: true");
    function_refuse(&why, j, out);
    c->account->outcome = ERR_CONFLICT;
    return buf_check(&out->json, "the answer", e);
}

static bool answer_deleted(const struct function_change *changes, size_t count, bool dry,
                           const struct judgement *j, struct answer *out, struct err *e)
{
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "success", true);
    if (dry)
        json_pair_bool(&w, "dryRun", true);
    json_key(&w, "deleted");
    json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        json_put_str(&w, changes[i].of);
    json_close(&w);
    judgement_write(j, &w);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

bool action_delete_functions(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    struct functions *f;
    size_t count;
    scoped_judgement struct judgement j;
    judgement_init(&j);
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    struct str *names = s ? read_names(c, &count, e) : NULL;
    const struct function **gone = names ? find_named(c, s, names, count, e) : NULL;
    if (!gone || !functions_break(c, gone, count, s, &j.found, e))
        return false;
    if (j.found.warning_count && !function_flag(c, "force", false) &&
        !function_flag(c, "dryRun", false))
        return refuse_in_use(c, &j, out, e);
    struct function_change *changes = arena_get(c->arena, count * sizeof *changes, e);
    if (!changes)
        return false;
    for (size_t i = 0; i < count; i++)
        changes[i] =
            (struct function_change){.of = gone[i]->name,
                                     .expected_version = (uint32_t)json_int(
                                         json_get(c->arguments, "expectedVersion"), 0)};
    struct function_author who = function_author_of(c);
    bool dry = function_flag(c, "dryRun", false);
    if (!dry && !functions_change(f, changes, count, &who, NULL, e))
        return false;
    for (size_t i = 0; i < count && !dry; i++)
        function_changed(c, "deleted", changes[i].of, changes[i].version);
    return answer_deleted(changes, count, dry, &j, out, e);
}

/* ---- export and import ------------------------------------------------------------------------ */

bool action_export_functions(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    struct functions *f;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    const struct json *names = json_get(c->arguments, "names");
    char vault[VAULT_ID_MAX + 1];
    scoped_buf struct buf text;
    buf_init(&text, FUNCTIONS_FILE_MAX);
    size_t count;
    vault_set_id(c->actions->vaults, c->place->vault, vault);
    if (!s || !functions_export(f, names, str_of(vault), &text, &count, e) ||
        !buf_check(&text, "the export", e))
        return false;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_int(&w, "count", (int64_t)count);
    json_pair_str(&w, "text", buf_view(&text));
    json_close(&w);
    return buf_check(&out->json, "the export", e);
}

struct importing {
    const struct action_call *call;
    bool refused;
};

/* Imported functions are checked like registered ones, but never run. */
static bool check_imported(void *arg, const struct function *fn,
                           const struct function_set *among, struct findings *found,
                           struct err *e)
{
    const struct importing *i = arg;
    return function_check(i->call, fn, among, found, e);
}

static void import_stored(void *arg, struct str name, uint32_t version)
{
    const struct importing *i = arg;
    function_changed(i->call, "imported", name, version);
}

static void import_refused(void *arg, const char *why, struct json_writer *out)
{
    struct importing *i = arg;
    i->refused = true;
    function_put_error(ERR_INVALID, why, out);
}

static enum function_conflict conflict_of(struct str name)
{
    return str_is(name, "rename")    ? CONFLICT_RENAME
           : str_is(name, "replace") ? CONFLICT_REPLACE
           : str_is(name, "version") ? CONFLICT_VERSION
                                     : CONFLICT_SKIP;
}

bool action_import_functions(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    struct functions *f = functioning_in(c->actions, c->place->vault, e);
    struct importing importing = {.call = c};
    struct function_import i = {.text = function_argument(c, "text"),
                                .names = json_get(c->arguments, "names"),
                                .on = conflict_of(function_argument(c, "conflict")),
                                .dry_run = function_flag(c, "dryRun", false),
                                .check = check_imported,
                                .stored = import_stored,
                                .put_error = import_refused,
                                .arg = &importing};
    struct function_author who = function_author_of(c);
    struct json_writer w = json_writer(&out->json);
    if (!f || !functions_import(f, &i, &who, &w, e)) {
        buf_clear(&out->json);
        return false;
    }
    out->is_error = importing.refused;
    if (importing.refused)
        c->account->outcome = ERR_INVALID;
    return buf_check(&out->json, "the answer", e);
}

/* ---- backups ------------------------------------------------------------------------------------ */

bool action_backup_functions(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    char name[FUNCTION_BACKUP_NAME] = "";
    struct functions *f = functioning_in(c->actions, c->place->vault, e);
    struct function_author who = function_author_of(c);
    if (!f || (!function_flag(c, "list", false) && !functions_backup(f, &who, name, e)))
        return false;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_bool(&w, "success", true);
    if (name[0])
        json_pair_cstr(&w, "backup", name);
    json_key(&w, "backups");
    if (!functions_backups(f, &w, e)) {
        buf_clear(&out->json);
        return false;
    }
    json_close(&w);
    return buf_check(&out->json, "the backups", e);
}

bool action_restore_functions(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    struct functions *f = functioning_in(c->actions, c->place->vault, e);
    struct function_author who = function_author_of(c);
    struct json_writer w = json_writer(&out->json);
    if (!f || !functions_restore(f, function_argument(c, "backup"), &who, &w, e))
        return false;
    function_changed(c, "restored", STR("*"), 0);
    return buf_check(&out->json, "the answer", e);
}

/* ---- migration ------------------------------------------------------------------------------- */

/* Checks one against the current API; *fits. Writes into an open array. */
static bool check_again(const struct action_call *c, const struct function *fn,
                        const struct function_set *s, struct json_writer *w, bool *fits,
                        struct err *e)
{
    scoped_judgement struct judgement j;
    judgement_init(&j);
    if (cancel_fired(c->who->cancel))
        return err_set(e, ERR_CANCELLED, "cancelled; nothing was changed");
    if (!function_check(c, fn, s, &j.found, e))
        return false;
    *fits = j.found.error_count == 0;
    json_open_object(w);
    json_pair_str(w, "name", fn->name);
    json_pair_cstr(w, "action", *fits ? "fits" : "does not fit");
    json_pair_str(w, "checkedAgainst", fn->api_version);
    judgement_write(&j, w);
    json_close(w);
    return true;
}

/* Those that fit are marked as checked against this version. */
bool action_migrate_functions(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    struct functions *f;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    struct str version = s ? function_api_version(c, e) : STR("");
    size_t count = s ? function_count(s) : 0, checked = 0, fitting = 0;
    struct str *names =
        version.n ? arena_get(c->arena, (count + 1) * sizeof *names, e) : NULL;
    if (!names)
        return false;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "functions");
    json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        const struct function *fn = function_at(s, i);
        bool fits = false;
        if (fn->origin.n)
            continue;
        if (!check_again(c, fn, s, &w, &fits, e)) {
            buf_clear(&out->json);
            return false;
        }
        checked++;
        if (fits)
            names[fitting++] = fn->name;
    }
    json_close(&w);
    json_pair_str(&w, "apiVersion", version);
    json_pair_int(&w, "checked", (int64_t)checked);
    json_pair_int(&w, "failed", (int64_t)(checked - fitting));
    json_pair_bool(&w, "success", checked == fitting);
    json_close(&w);
    out->is_error = checked != fitting;
    if (fitting && !functions_checked(f, names, fitting, version, e)) {
        buf_clear(&out->json);
        return false;
    }
    return buf_check(&out->json, "the answer", e);
}
