/* Permission to run a command-line tool: the policy's answer and, if that is "ask", the
 * user's. The question shows everything that the tool would do. */
#include "programs/internal.h"

#include <stdio.h>

#include "approvals/approvals.h"
#include "caller/caller.h"
#include "catalogue/catalogue.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "permits/permits.h"
#include "place/place.h"
#include "tools/tools.h"
#include "json/json.h"

#define WHOLE_MAX ((size_t)64 << 20) /* of a request, to be hashed */
/* Bytes of the tool's input that are shown; its arguments are shown whole. */
#define FED_MAX ((size_t)2000)

struct question {
    const struct tool_call *by;
    const struct tool_request *wanted;
    bool asked[TOOL_STAGES_MAX]; /* stages whose tools need a decision */
    size_t asks;
    char session[100]; /* to remember it for; "": none */
    char digest[CRYPTO_HASH_HEX];
    const char *path; /* of the vault; "": none */
    bool always;      /* offered: the user's decision can hold */
    struct buf shown;
    struct buf told; /* without the disk's paths; empty: the caller may see them */
};

static struct tool_files files_of(const struct question *q, size_t i)
{
    return tool_files(q->wanted->tools[i], q->wanted->sees);
}

/* What the stage is permitted by instead of a tool's permission; NULL: it is a tool. */
static const struct permit_use *use_of(const struct question *q, size_t i)
{
    const struct permit_use *use = q->wanted->uses ? &q->wanted->uses[i] : NULL;
    return use && use->name ? use : NULL;
}

/* Is none of them a tool? */
static bool machines_alone(const struct question *q)
{
    size_t n = 0;
    while (n < q->wanted->count && use_of(q, n))
        n++;
    return n == q->wanted->count;
}

static bool sees_files(const struct question *q, size_t i)
{
    struct tool_files files = files_of(q, i);
    return files.reads || files.writes;
}

static const struct policy *policy_of(const struct question *q)
{
    return q->by->place->permit.policy;
}

static const char *names(const struct question *q, struct buf *out)
{
    for (size_t i = 0; i < q->wanted->count; i++)
        if (q->asked[i])
            buf_printf(out, "%s%s", out->n ? ", " : "", q->wanted->tools[i]->name);
    return buf_cz(out);
}

/* ---- what is shown ---------------------------------------------------------- */

static const char *access_word(const struct question *q, bool reads, bool writes)
{
    if (q->by->place->permit.read_only)
        writes = false;
    return reads && writes ? "read and write"
           : reads         ? "read only"
           : writes        ? "create files, not read"
                           : "nothing";
}

static void put_text(struct json_writer *w, const struct buf *text)
{
    json_put_str(w, buf_view(text));
}

static void put_tool(const struct question *q, size_t i, struct json_writer *w)
{
    const struct tool *t = q->wanted->tools[i];
    struct tool_files files = files_of(q, i);
    scoped_buf struct buf text;
    buf_init(&text, APPROVAL_SHOWN_MAX);
    buf_printf(&text, "%s %.40s, ", t->name, t->version);
    if (t->builtin)
        buf_cstr(&text, "built in");
    else if (t->signer)
        buf_printf(&text, "installed, signed by '%.60s'", t->signer);
    else
        buf_cstr(&text, "installed, not signed");
    buf_printf(&text, "; files: %s", access_word(q, files.reads, files.writes));
    if (t->command && !use_of(q, i)) {
        buf_cstr(&text, "; in a Linux machine of its own: ");
        tool_put_command(t, &text);
        w->out->failed |= text.failed;
    }
    if (!q->asked[i])
        buf_cstr(&text, " (allowed already)");
    put_text(w, &text);
}

/* The tool's input: of a long one the beginning and its hash. */
static void put_fed(const char *name, struct str s, struct json_writer *w)
{
    char hex[CRYPTO_SHA256_HEX];
    scoped_buf struct buf text;
    buf_init(&text, 2 * FED_MAX);
    struct str head = str_cut(s, FED_MAX);
    buf_printf(&text, "%.300s%s", name, *name ? ": " : "");
    buf_str(&text, head);
    if (head.n < s.n) {
        crypto_sha256_hex(s, hex);
        buf_printf(&text, "... (%zu bytes, of which %zu are shown; sha256 %s)", s.n,
                   head.n, hex);
    }
    put_text(w, &text);
}

/* A file is a text, or {base64}. */
static void put_file(struct str name, const struct json *v, struct json_writer *w)
{
    char text[300];
    bool plain = json_is(v, JSON_STRING);
    (void)snprintf(text, sizeof text, "%.*s%s", STR_ARGS(str_cut(name, 250)),
                   plain ? "" : " (base64)");
    put_fed(text, json_str(plain ? v : json_get(v, "base64")), w);
}

static void put_compact(const struct json *v, struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, APPROVAL_SHOWN_MAX);
    struct json_writer inner = json_writer(&text);
    json_put(&inner, v);
    put_text(w, &text);
    w->out->failed |= text.failed; /* it would not be shown whole */
}

/* A parameter with the name of one of our own lines is marked. */
static void put_label(struct str key, struct json_writer *w)
{
    static const char *const ours[] = {"tool", "mounts", "vault"};
    scoped_buf struct buf label;
    buf_init(&label, 2 * TOOL_NAME_MAX);
    for (size_t i = 0; i < LENGTH(ours); i++)
        if (str_is(key, ours[i]))
            buf_cstr(&label, "argument ");
    buf_str(&label, key);
    json_key_str(w, buf_view(&label));
    w->out->failed |= label.failed;
}

static void put_argument(struct str key, const struct json *v, struct json_writer *w)
{
    struct json_iter it = json_iter(v);
    put_label(key, w);
    json_open_array(w);
    if (str_is(key, "stdin") && json_is(v, JSON_STRING))
        put_fed("", json_str(v), w);
    else if (str_is(key, "files") && json_is(v, JSON_OBJECT))
        while (json_next(&it))
            put_file(it.key, it.value, w);
    else if (json_is(json_at(v, 0), JSON_OBJECT)) /* stages: a line each */
        while (json_next(&it))
            put_compact(it.value, w);
    else
        put_compact(v, w);
    json_close(w);
}

/* A line of "mounts"; `host` NULL: its path is hidden. */
static void put_mount(const char *guest, const char *host, const char *access,
                      struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_PAGE);
    buf_cstr(&text, guest);
    if (host)
        buf_printf(&text, " = %s", host);
    buf_printf(&text, " (%s)", access);
    put_text(w, &text);
}

static void put_mounts(const struct question *q, bool paths, struct json_writer *w)
{
    bool reads = false, writes = false;
    struct json_iter mounts = json_iter(policy_mounts(policy_of(q)));
    for (size_t i = 0; i < q->wanted->count; i++) {
        struct tool_files t = files_of(q, i);
        reads |= t.reads;
        writes |= t.writes;
    }
    if ((!reads && !writes) ||
        (!q->wanted->vault && !json_length(policy_mounts(policy_of(q)))))
        return;
    json_key(w, "mounts");
    json_open_array(w);
    while (json_next(&mounts)) {
        struct policy_mount m = policy_mount(mounts.value);
        put_mount(m.guest, paths ? m.host : NULL,
                  access_word(q, reads, writes && m.writable), w);
    }
    if (q->wanted->vault && *q->path)
        put_mount("/vault", paths ? q->path : NULL, access_word(q, reads, writes), w);
    json_close(w);
}

static void put_vault(const struct question *q, bool paths, struct json_writer *w)
{
    char id[VAULT_ID_MAX + 1];
    vault_set_id(q->by->actions->vaults, q->by->place->vault, id);
    if (*q->path)
        json_pair_cstr(w, "vault", paths ? q->path : id);
}

static bool make_shown(const struct question *q, bool paths, struct buf *out,
                       struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "tool");
    json_open_array(&w);
    for (size_t i = 0; i < q->wanted->count; i++)
        put_tool(q, i, &w);
    json_close(&w);
    struct json_iter it = json_iter(q->wanted->request);
    while (json_next(&it))
        put_argument(it.key, it.value, &w);
    put_mounts(q, paths, &w);
    put_vault(q, paths, &w);
    json_close(&w);
    return !out->failed || ask_too_large("nothing ran", e);
}

/* A hash of the whole request, also of what is not shown. */
static void make_digest(struct question *q)
{
    scoped_buf struct buf text;
    buf_init(&text, WHOLE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    json_put_str(&w, buf_view(&q->shown));
    json_put(&w, q->wanted->request);
    for (size_t i = 0; i < q->wanted->count; i++) {
        json_put_cstr(&w, q->wanted->tools[i]->id);
        json_put_cstr(&w, q->wanted->tools[i]->sha256);
    }
    json_close(&w);
    crypto_hash_hex(buf_view(&text), q->digest);
}

/* ---- what came of it -------------------------------------------------------- */

/* Stores a decision of the client's window; terminal and page store theirs themselves. */
static void allow_always(const struct question *q)
{
    static const char *const always = "always";
    for (size_t i = 0; i < q->wanted->count; i++) {
        struct err e = {0};
        char key[100];
        (void)snprintf(key, sizeof key, "tools.permissions.%.64s",
                       q->wanted->tools[i]->name);
        if (q->asked[i] &&
            !ward_set(q->by->place->ward, false, use_of(q, i) ? use_of(q, i)->key : key,
                      &always, 1, "client", &e))
            log_line(LOG_WARN, "the permission of %s was not kept: %s%s",
                     q->wanted->tools[i]->name, e.msg, ERR_ORIGIN(&e));
    }
}

static void remember_decision(const struct question *q, enum approval_memory memory)
{
    struct granted *g = q->by->actions->granted;
    for (size_t i = 0; i < q->wanted->count; i++)
        if (q->asked[i] && memory == APPROVAL_SESSION && q->session[0])
            granted_add(g, q->session, q->path, q->wanted->tools[i], sees_files(q, i));
}

/* ---- the whole ---------------------------------------------------------------- */

/* The identity of the client's session; a single request has none. */
static void name_session(struct question *q)
{
    const struct caller *who = q->by->who;
    if (who->session)
        (void)snprintf(q->session, sizeof q->session, "session %.80s", who->session);
    else if (caller_way(who) == WAY_STDIO)
        (void)snprintf(q->session, sizeof q->session, "stdio");
}

/* Finds the tools that need a decision. */
static bool look_at_policy(struct question *q, struct err *e)
{
    q->always = true;
    for (size_t i = 0; i < q->wanted->count; i++) {
        const char *from;
        enum permission word;
        const struct tool *t = q->wanted->tools[i];
        const struct permit *permit = &q->by->place->permit;
        const struct permit_use *use = use_of(q, i);
        if (!(use ? permit_run(permit, use, &word, e)
                  : permit_tool(permit, t, q->wanted->sees, &word, e)))
            return false;
        if (word != PERMISSION_ASK ||
            (q->session[0] && granted_has(q->by->actions->granted, q->session, q->path, t,
                                          sees_files(q, i))))
            continue;
        q->asked[i] = true;
        q->asks++;
        /* If the vault's policy asks, the user's permanent decision would not end
         * that. */
        (void)(use ? permission_for(use, &from)
                   : tool_permission(policy_of(q), t, q->wanted->sees, &from));
        q->always &= !(use && use->each_time);
        /* Of tools beside a machine it is not said which of both would hold for ever. */
        q->always &= !use || machines_alone(q);
        q->always = q->always && strcmp(from, "vault") != 0;
        /* Nor does it answer whether machines may be used. */
        q->always &= use || !tool_asks_for_machine(policy_of(q), t);
        /* Nor does it cover calls that show the tool more than this one. */
        q->always &= t->execution.access == TOOL_NO_FILES || sees_files(q, i);
    }
    return true;
}

static bool ask_for(const struct question *q, struct err *e)
{
    const char *tools[TOOL_STAGES_MAX];
    scoped_buf struct buf list;
    buf_init(&list, 2048);
    const struct ask_by by = {.actions = q->by->actions,
                              .place = q->by->place,
                              .who = q->by->who,
                              .evaluation = q->by->code,
                              .consent = q->by->consent,
                              .edit = q->by->edit};
    struct ask a = {.kind = machines_alone(q) ? "machine" : "run",
                    .what = names(q, &list),
                    .verb = "be run",
                    .undone = "nothing ran",
                    .names = tools,
                    .shown = buf_view(&q->shown),
                    .redacted = buf_view(&q->told),
                    .digest = q->digest,
                    .session = q->session[0] != '\0',
                    .always = q->always};
    for (size_t i = 0; i < q->wanted->count; i++)
        if (q->asked[i])
            tools[a.count++] = q->wanted->tools[i]->name;
    struct approval_decision decision;
    if (!ask_person(&by, &a, &decision, e))
        return false;
    if (decision.memory == APPROVAL_ALWAYS && !strcmp(decision.by, "client"))
        allow_always(q);
    remember_decision(q, decision.memory);
    return true;
}

static bool ask(struct question *q, struct err *e)
{
    buf_init(&q->shown, APPROVAL_SHOWN_MAX);
    buf_init(&q->told, APPROVAL_SHOWN_MAX);
    /* Before anybody is asked: a call that would be refused anyway needs no decision. */
    bool ok =
        (machines_alone(q) || tools_check(q->wanted->stages, q->wanted->count, e)) &&
        make_shown(q, true, &q->shown, e) &&
        (!paths_hidden(q->by->who) || make_shown(q, false, &q->told, e));
    if (ok) {
        make_digest(q);
        ok = ask_for(q, e);
    }
    buf_done(&q->told);
    buf_done(&q->shown);
    return ok;
}

/* A dry run does not ask: its effects are dropped. */
static bool refuse_dry(const struct question *q, struct err *e)
{
    scoped_buf struct buf list;
    buf_init(&list, 2048);
    return err_set(e, ERR_DENIED,
                   "Permission denied: %.150s may be run when a person says so, and in a "
                   "dry run no person is asked; nothing ran; give dryRun: false, or let "
                   "a person allow it for good ('cloche tool permit NAME always')",
                   names(q, &list));
}

bool tools_permitted(const struct tool_call *c, const struct tool_request *wanted,
                     struct err *e)
{
    struct question q = {.by = c, .wanted = wanted};
    if (wanted->count > TOOL_STAGES_MAX)
        return err_set(e, ERR_LIMIT, "a pipeline has at most %u stages, not %zu",
                       TOOL_STAGES_MAX, wanted->count);
    q.path = ward_path(c->place->ward) ? ward_path(c->place->ward) : "";
    name_session(&q);
    if (!look_at_policy(&q, e) || q.asks == 0)
        return !e->code;
    return c->code && c->code->dry ? refuse_dry(&q, e) : ask(&q, e);
}

struct tool_call tool_call_of(const struct action_call *c)
{
    return (struct tool_call){.actions = c->actions,
                              .who = c->who,
                              .place = c->place,
                              .account = c->account,
                              .arena = c->arena,
                              .cancel = c->who->cancel,
                              .outcome = c->outcome,
                              .edit = c->edit};
}
