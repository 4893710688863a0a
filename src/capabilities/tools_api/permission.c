/* May a command-line tool be run? The policy's answer, and where that is "ask" a person's.
 * The question shows what would be done, in full: who says yes has seen it. */
#include "tools_api/permission.h"

#include <stdio.h>

#include "approvals/approvals.h"
#include "caller/caller.h"
#include "tools_api/tooling.h"
#include "tools_api/tools_api.h"

#define WHOLE_MAX ((size_t)64 << 20) /* of a request, to be hashed */
/* What the tool is fed is shown so far, in bytes; its arguments are shown whole. */
#define FED_MAX ((size_t)2000)

struct question {
    const struct tool_asker *by;
    const struct tool_wish *wish;
    bool asked[TOOL_STAGES_MAX]; /* these stages' tools are asked for */
    size_t asks;
    char session[100]; /* to remember it for; "": there is none */
    char digest[CRYPTO_HASH_HEX];
    const char *path; /* of the vault; "": none */
    bool always;      /* may be chosen: the user's word would hold */
    struct buf shown;
    struct buf
        told; /* the same without paths of the disk; empty: the asker may know them */
};

struct permit_tool tool_facts(const struct tool *t)
{
    enum tool_access access = t->execution.access;
    return (struct permit_tool){.name = t->name,
                                .builtin = t->builtin,
                                .is_signed = t->signer != NULL,
                                .reads = access == TOOL_READ || access == TOOL_READWRITE,
                                .writes =
                                    access == TOOL_WRITE || access == TOOL_READWRITE};
}

/* The same of this call: a tool that is shown no files neither reads nor writes any. */
static struct permit_tool facts_of(const struct question *q, size_t i)
{
    struct permit_tool facts = tool_facts(q->wish->tools[i]);
    facts.reads &= q->wish->sees;
    facts.writes &= q->wish->sees;
    return facts;
}

static bool sees_files(const struct question *q, size_t i)
{
    struct permit_tool facts = facts_of(q, i);
    return facts.reads || facts.writes;
}

static const struct policy *policy_of(const struct question *q)
{
    return q->by->place->permit.policy;
}

static const char *names(const struct question *q, struct buf *out)
{
    for (size_t i = 0; i < q->wish->count; i++)
        if (q->asked[i])
            buf_printf(out, "%s%s", out->n ? ", " : "", q->wish->tools[i]->name);
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
    const struct tool *t = q->wish->tools[i];
    struct permit_tool facts = facts_of(q, i);
    scoped_buf struct buf text;
    buf_init(&text, 4096);
    buf_printf(&text, "%s %.40s, ", t->name, t->version);
    if (t->builtin)
        buf_cstr(&text, "built in");
    else if (t->signer)
        buf_printf(&text, "installed, signed by '%.60s'", t->signer);
    else
        buf_cstr(&text, "installed, not signed");
    buf_printf(&text, "; files: %s", access_word(q, facts.reads, facts.writes));
    if (!q->asked[i])
        buf_cstr(&text, " (allowed already)");
    put_text(w, &text);
}

/* What the tool is fed: a long one by its beginning, and by what tells it from others. */
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

/* A parameter that is called as one of our own lines is told from it. */
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

/* A line of "mounts"; `host` NULL: where it lies is not told. */
static void put_mount(const char *guest, const char *host, const char *access,
                      struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, 16384);
    buf_cstr(&text, guest);
    if (host)
        buf_printf(&text, " = %s", host);
    buf_printf(&text, " (%s)", access);
    put_text(w, &text);
}

static void put_mounts(const struct question *q, bool paths, struct json_writer *w)
{
    bool reads = false, writes = false;
    const struct policy *p = policy_of(q);
    for (size_t i = 0; i < q->wish->count; i++) {
        struct permit_tool t = facts_of(q, i);
        reads |= t.reads;
        writes |= t.writes;
    }
    if ((!reads && !writes) || (!q->wish->vault && !p->mount_count))
        return;
    json_key(w, "mounts");
    json_open_array(w);
    for (size_t i = 0; i < p->mount_count; i++) {
        const struct policy_mount *m = &p->mounts[i];
        put_mount(m->guest, paths ? m->host : NULL,
                  access_word(q, reads, writes && m->writable), w);
    }
    if (q->wish->vault && *q->path)
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
    for (size_t i = 0; i < q->wish->count; i++)
        put_tool(q, i, &w);
    json_close(&w);
    struct json_iter it = json_iter(q->wish->request);
    while (json_next(&it))
        put_argument(it.key, it.value, &w);
    put_mounts(q, paths, &w);
    put_vault(q, paths, &w);
    json_close(&w);
    return !out->failed || ask_too_large("nothing ran", e);
}

/* Of all that was asked for, what is not shown included. */
static void make_digest(struct question *q)
{
    scoped_buf struct buf text;
    buf_init(&text, WHOLE_MAX);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    json_put_str(&w, buf_view(&q->shown));
    json_put(&w, q->wish->request);
    for (size_t i = 0; i < q->wish->count; i++) {
        json_put_cstr(&w, q->wish->tools[i]->id);
        json_put_cstr(&w, q->wish->tools[i]->sha256);
    }
    json_close(&w);
    crypto_hash_hex(buf_view(&text), q->digest);
}

/* ---- what came of it -------------------------------------------------------- */

/* Only what a client's window said is written here; who decides elsewhere writes there. */
static void allow_always(const struct question *q)
{
    static const char *const always = "always";
    for (size_t i = 0; i < q->wish->count; i++) {
        struct err e = {0};
        char key[100];
        (void)snprintf(key, sizeof key, "tools.permissions.%.64s",
                       q->wish->tools[i]->name);
        if (q->asked[i] &&
            !ward_set(q->by->place->ward, false, q->wish->machine ? "vm.permission" : key,
                      &always, 1, "client", &e))
            log_line(LOG_WARN, "the permission of %s was not kept: %s%s",
                     q->wish->tools[i]->name, e.msg, ERR_ORIGIN(&e));
    }
}

static void keep_word(const struct question *q, enum approval_memory memory)
{
    struct granted *g = tooling_granted(q->by->actions);
    for (size_t i = 0; i < q->wish->count; i++)
        if (q->asked[i] && memory == APPROVAL_SESSION && q->session[0])
            granted_add(g, q->session, q->path, q->wish->tools[i], sees_files(q, i));
}

/* ---- the whole ---------------------------------------------------------------- */

/* What tells one client's calls from another's; a request that stands alone has nothing. */
static void name_session(struct question *q)
{
    const struct caller *who = q->by->who;
    if (who->session)
        (void)snprintf(q->session, sizeof q->session, "session %.80s", who->session);
    else if (caller_way(who) == WAY_STDIO)
        (void)snprintf(q->session, sizeof q->session, "stdio");
}

/* Which tools a person has to be asked for. */
static bool look_at_policy(struct question *q, struct err *e)
{
    q->always = true;
    for (size_t i = 0; i < q->wish->count; i++) {
        const char *from;
        enum permission word;
        const struct tool *t = q->wish->tools[i];
        struct permit_tool facts = facts_of(q, i);
        const struct permit *permit = &q->by->place->permit;
        if (!(q->wish->machine ? permit_machine(permit, q->wish->machine, &word, e)
                               : permit_tool(permit, &facts, &word, e)))
            return false;
        if (word != PERMISSION_ASK ||
            (q->session[0] && granted_has(tooling_granted(q->by->actions), q->session,
                                          q->path, t, sees_files(q, i))))
            continue;
        q->asked[i] = true;
        q->asks++;
        /* Where the vault's policy asks, the user's word would not end that. */
        (void)policy_permission(policy_of(q), q->wish->machine ? NULL : &facts, &from);
        q->always = q->always && strcmp(from, "vault") != 0;
        /* Nor is it for calls that show the tool more than the person sees of this one. */
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
                              .evaluation = q->by->evaluation,
                              .consent = q->by->consent};
    struct ask a = {.kind = q->wish->machine ? "machine" : "run",
                    .what = names(q, &list),
                    .verb = "be run",
                    .undone = "nothing ran",
                    .names = tools,
                    .shown = buf_view(&q->shown),
                    .told = buf_view(&q->told),
                    .digest = q->digest,
                    .session = q->session[0] != '\0',
                    .always = q->always};
    for (size_t i = 0; i < q->wish->count; i++)
        if (q->asked[i])
            tools[a.count++] = q->wish->tools[i]->name;
    struct approval_word word;
    if (!ask_person(&by, &a, &word, e))
        return false;
    if (word.memory == APPROVAL_ALWAYS && !strcmp(word.by, "client"))
        allow_always(q);
    keep_word(q, word.memory);
    return true;
}

static bool ask(struct question *q, struct err *e)
{
    buf_init(&q->shown, APPROVAL_SHOWN_MAX);
    buf_init(&q->told, APPROVAL_SHOWN_MAX);
    /* Nobody is asked for what would be refused then, nor shown words of no meaning. */
    bool ok = (q->wish->machine || tools_check(q->wish->stages, q->wish->count, e)) &&
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

/* What nobody will keep is not worth a person's time. */
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

bool tools_permitted(const struct tool_asker *who, const struct tool_wish *wish,
                     struct err *e)
{
    struct question q = {.by = who, .wish = wish};
    if (wish->count > TOOL_STAGES_MAX)
        return err_set(e, ERR_LIMIT, "a pipeline has at most %u stages, not %zu",
                       TOOL_STAGES_MAX, wish->count);
    q.path = ward_path(who->place->ward) ? ward_path(who->place->ward) : "";
    name_session(&q);
    if (!look_at_policy(&q, e) || q.asks == 0)
        return !e->code;
    return who->evaluation && who->evaluation->dry ? refuse_dry(&q, e) : ask(&q, e);
}
