/* A person's deeds on the page: words, permissions, and tools that are installed. */
#include <stdio.h>

#include "catalogue/catalogue.h"
#include "desk/internal.h"

/* ---- deeds ---------------------------------------------------------------------- */

bool desk_compiling(void *arg, const char *tool, unsigned seconds, bool simply)
{
    struct desk *d = arg;
    pthread_mutex_lock(&d->lock);
    (void)snprintf(d->compiling.tool, sizeof d->compiling.tool, "%s", tool);
    d->compiling.seconds = seconds;
    d->compiling.simply = simply;
    pthread_mutex_unlock(&d->lock);
    return true;
}

static bool deed_decide(struct desk *d, const struct json *said, struct err *e)
{
    const struct json *allow = json_get(said, "allow");
    const struct json *arguments = json_get(said, "arguments");
    if (arguments && !allow)
        return desk_edit(d->o.guard, d->o.approvals, json_str(json_get(said, "id")),
                         arguments, "page", e);
    struct str remember = json_str(json_get(said, "remember"));
    enum approval_memory memory = APPROVAL_CALL;
    if (!json_is(allow, JSON_BOOL) ||
        (remember.n && !approval_memory_named(remember, &memory)))
        return err_set(e, ERR_INVALID,
                       "{id, allow: true | false, remember?: call | session | always, "
                       "reason?}, or {id, arguments} is accepted");
    const struct tool_watch watch = {desk_compiling, d};
    bool done = desk_decide(d->o.guard, d->o.approvals, d->o.catalogue, &watch,
                            json_str(json_get(said, "id")), json_bool(allow, false),
                            memory, json_str(json_get(said, "reason")), "page", e);
    (void)desk_compiling(d, "", 0, false);
    return done;
}

/* Reads a tool's name as a C string; NULL and *e. */
static const char *tool_named(const struct json *said, struct err *e)
{
    struct str tool = json_str(json_get(said, "tool"));
    if (tool.n && !memchr(tool.at, 0, tool.n))
        return tool.at;
    err_set(e, ERR_INVALID, "tool must be the name of one");
    return NULL;
}

/* The ward of `said.vault`, an id; without it the user's own. `*vault`: NULL then. */
static struct ward *ward_named(struct desk *d, const struct json *said, struct arena *a,
                               const char **vault, struct err *e)
{
    struct str name;
    struct ward *w = desk_ward_of(d, json_str(json_get(said, "vault")), a, &name, e);
    *vault = name.n ? name.at : NULL;
    return w;
}

static bool deed_permit(struct desk *d, const struct json *said, struct err *e)
{
    enum permission p = PERMISSION_USUAL;
    struct str word = json_str(json_get(said, "permission"));
    if (!permission_named(word, &p) && !str_is(word, "usual"))
        return err_set(e, ERR_INVALID,
                       "{tool, permission: always | ask | never | usual, vault?} is "
                       "accepted");
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    const char *vault, *tool = tool_named(said, e);
    struct ward *w = tool ? ward_named(d, said, a, &vault, e) : NULL;
    return w && desk_permit(w, vault != NULL, tool, p, "page", e);
}

static bool deed_switch_tool(struct desk *d, const struct json *said, struct err *e)
{
    const struct json *on = json_get(said, "enabled");
    if (!json_is(on, JSON_BOOL))
        return err_set(e, ERR_INVALID,
                       "{tool, enabled: true | false, vault?} is accepted");
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    const char *vault, *tool = tool_named(said, e);
    struct ward *w = tool ? ward_named(d, said, a, &vault, e) : NULL;
    return w &&
           desk_switch(w, d->o.catalogue, tool, vault, json_bool(on, false), "page", e);
}

/* Of what was installed for one vault alone, with that vault's id. */
static bool deed_remove(struct desk *d, const struct json *said, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    const char *vault, *tool = tool_named(said, e);
    struct ward *w = tool ? ward_named(d, said, a, &vault, e) : NULL;
    const struct tool named = {.name = tool, .version = ""};
    return w && tool_remove(d->o.catalogue, tool, vault, e) &&
           desk_record_tool(w, "tool remove", &named, vault, NULL, "page", e);
}

static const struct deed_row {
    const char *name;
    bool (*run)(struct desk *d, const struct json *said, struct err *e);
} deeds[] = {{"decide", deed_decide},
             {"permit", deed_permit},
             {"switch", deed_switch_tool},
             {"remove", deed_remove}};

/* The sentence for what widens agents' rights for always, which is said twice; NULL: it
 * does not. */
static const char *widens(struct str name, const struct json *said)
{
    struct str permission = json_str(json_get(said, "permission"));
    if (str_is(name, "decide") && json_bool(json_get(said, "allow"), false) &&
        str_is(json_str(json_get(said, "remember")), "always"))
        return "From now on this runs without asking you, for every agent, until you "
               "take it back in the policy.";
    if (str_is(name, "permit") && str_is(permission, "always"))
        return "Every agent may run this tool without asking you, also over your files, "
               "until you change it here.";
    return NULL;
}

void deed_do(struct desk *d, struct http_request *rq, struct str name,
             const struct json *said, struct str seat, struct http_response *rs)
{
    static const struct {
        const char *name;
        desk_deed_fn *run;
    } answered[] = {{"undo", do_undo},     {"pause", do_pause}, {"resume", do_resume},
                    {"policy", do_policy}, {"token", do_token}, {"revoke", do_revoke}};
    struct err e = {0};
    if (str_is(name, "leave")) {
        entry_leave(d, seat, rs);
        return;
    }
    for (size_t i = 0; i < LENGTH(answered); i++) {
        if (!str_is(name, answered[i].name))
            continue;
        if (!answered[i].run(d, rq, said, rs, &e))
            say_error(rs, &e);
        return;
    }
    const char *sentence = widens(name, said);
    if (sentence && !confirmed(d, said, sentence, rs))
        return;
    for (size_t i = 0; i < LENGTH(deeds); i++) {
        if (!str_is(name, deeds[i].name))
            continue;
        if (deeds[i].run(d, said, &e))
            say_json(rs, 200, "done", deeds[i].name);
        else
            say_error(rs, &e);
        return;
    }
    say_json(rs, 404, "error", "there is no such action");
}

bool has_content_type(struct http_request *rq, const char *type)
{
    return str_starts(http_header(rq, "Content-Type"), type);
}

/* ---- installing -------------------------------------------------------------- */

/* {tool?: {name, version, files, signer}, warnings: [...], error?, errors?: [...], key?}:
 * `key` of who signed it and is not trusted. */
static void tell_package(const struct tool_package *p, const struct tool_notes *notes,
                         const struct err *e, struct buf *out)
{
    struct json_writer w = json_writer(out);
    const struct tool *t = p ? tool_package_tool(p) : NULL;
    json_open_object(&w);
    if (t) {
        json_key(&w, "tool");
        json_open_object(&w);
        json_pair_cstr(&w, "name", t->name);
        put_spelt(&w, "version", str_of(t->version));
        json_pair_cstr(&w, "files", tool_access_name(t->execution.access));
        put_spelt(&w, "signer", str_of(t->signer));
        json_close(&w);
    }
    if (t && !t->signer && tool_package_key(p)[0])
        json_pair_cstr(&w, "key", tool_package_key(p));
    put_lines(&w, "warnings", buf_view(&notes->warnings));
    if (e->code) {
        put_spelt(&w, "error", str_of(e->msg));
        put_lines(&w, "errors", buf_view(&notes->errors));
    }
    json_close(&w);
}

void deed_install(struct desk *d, struct http_request *rq, struct http_response *rs)
{
    struct err e = {0};
    struct tool_notes notes;
    bool may = str_is(http_query(rq, "replace"), "yes");
    tool_notes_init(&notes);
    if (!has_content_type(rq, "application/zip"))
        err_set(&e, ERR_INVALID, "a ZIP (application/zip) is accepted");
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct str vault = STR("");
    struct ward *w =
        e.code ? NULL : desk_ward_of(d, http_query(rq, "vault"), a, &vault, &e);
    scoped(tool_package_close) struct tool_package *p =
        w ? tool_package_open(d->o.catalogue, http_body(rq), &notes, &e) : NULL;
    const struct tool_watch watch = {desk_compiling, d};
    if (p)
        (void)desk_install(w, d->o.catalogue, p, vault.n ? vault.at : NULL,
                           may ? TOOL_MAY_REPLACE : TOOL_NEW, &watch, "page", &e);
    (void)desk_compiling(d, "", 0, false);
    tell_package(p, &notes, &e, &rs->body);
    tool_notes_done(&notes);
    rs->type = "application/json";
    rs->status = e.code ? err_kind(e.code)->http : 200;
}
