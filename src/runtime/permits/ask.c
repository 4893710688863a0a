/* Asks a user: in the client's own window, or at the terminal and on the page. */
#include <stdio.h>

#include "approvals/approvals.h"
#include "caller/caller.h"
#include "client/client.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "permits/internal.h"
#include "permits/permits.h"
#include "place/place.h"
#include "record/record.h"
#include "services/services.h"
#include "json/json.h"

#define WORKING_MAX ((size_t)8 << 20)

struct asking {
    const struct ask_by *by;
    const struct ask *a;
};

static const struct policy *policy_of(const struct asking *q)
{
    return q->by->place->permit.policy;
}

static const char *vault_of(const struct asking *q)
{
    return ward_path(q->by->place->ward); /* NULL: none */
}

/* ---- records ---------------------------------------------------------------- */

/* `result`: "allowed", "denied", "edited", "unanswered". */
static void question_record(const struct asking *q, const char *result, const char *by,
                            enum approval_memory memory)
{
    struct err none = {0};
    struct ward_event event;
    bool call = !strcmp(q->a->kind, "call");
    ward_event_begin(&event, "approval");
    json_pair_str(&event.out, "caller", str_cut(str_of(q->by->who->name), 100));
    client_claim_put(q->by->who->claim, &event.out);
    if (vault_of(q))
        json_pair_str(&event.out, "vault", str_cut(str_of(vault_of(q)), 1000));
    json_pair_cstr(&event.out, "kind", q->a->kind);
    json_key(&event.out, call ? "calls" : "tools");
    json_open_array(&event.out);
    for (size_t i = 0; i < q->a->count; i++)
        json_put_cstr(&event.out, q->a->names[i]);
    json_close(&event.out);
    json_pair_cstr(&event.out, "request", q->a->digest);
    json_pair_cstr(&event.out, "result", result);
    json_pair_cstr(&event.out, "by", by);
    if (!strcmp(result, "allowed"))
        json_pair_cstr(&event.out, "remember", approval_memory_name(memory));
    (void)ward_event_end(&event, q->by->place->ward, policy_of(q)->digest, true, &none);
}

/* The call is made again, with other arguments. */
static bool decision_edited(const struct asking *q,
                            const struct approval_decision *decision, struct err *e)
{
    free(q->by->edit->edited);
    q->by->edit->edited = decision->edited;
    question_record(q, "edited", decision->by, APPROVAL_CALL);
    return err_set(e, ERR_DENIED, "a person changed the arguments; %s", q->a->undone);
}

static bool decision_record(const struct asking *q,
                            const struct approval_decision *decision, struct err *e)
{
    account_decision(q->by->place->part, decision->allowed);
    question_record(q, decision->allowed ? "allowed" : "denied", decision->by,
                    decision->memory);
    const char *reason = decision->reason;
    return decision->allowed ||
           err_set(e, ERR_DENIED,
                   "Permission denied: a person was asked whether %.150s may %s, and did "
                   "not allow it%s%s%s; %s",
                   q->a->what, q->a->verb, *reason ? ", for this reason: '" : "", reason,
                   *reason ? "'" : "", q->a->undone);
}

bool ask_too_large(const char *undone, struct err *e)
{
    return err_set(e, ERR_DENIED,
                   "Permission denied: a person has to be asked, and this is too large "
                   "to be shown to one (%zu bytes may be); give less in the arguments, "
                   "and long texts for tools as stdin or files; %s",
                   APPROVAL_SHOWN_MAX, undone);
}

/* ---- through the client's own window ----------------------------------------- */

static void put_form(const struct asking *q, struct json_writer *w)
{
    const bool offered[] = {true, q->a->session,
                            q->a->always && policy_of(q)->asking.elicit_always};
    json_open_object(w);
    json_pair_cstr(w, "type", "object");
    json_key(w, "properties");
    json_open_object(w);
    json_pair_raw(w, "decision",
                  STR("{\"type\":\"string\",\"title\":\"May it be done?\","
                      "\"enum\":[\"allow\",\"deny\"]}"));
    json_key(w, "remember");
    json_open_object(w);
    json_pair_cstr(w, "type", "string");
    json_pair_cstr(w, "title", "For this call, this session, or always");
    json_key(w, "enum");
    json_open_array(w);
    for (unsigned i = 0; i < LENGTH(offered); i++)
        if (offered[i])
            json_put_cstr(w, approval_memory_name((enum approval_memory)i));
    json_close(w);
    json_pair_cstr(w, "default", "call");
    json_close(w);
    json_close(w);
    json_pair_raw(w, "required", STR("[\"decision\"]"));
    json_close(w);
}

static bool make_form(const struct asking *q, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(WORKING_MAX);
    const struct json *shown =
        json_read(q->a->redacted.n ? q->a->redacted : q->a->shown, arena, e);
    scoped_buf struct buf text;
    buf_init(&text, WORKING_MAX);
    buf_printf(&text, "May %s %s?\n", q->a->what, q->a->verb);
    approvals_tell_asker(str_of(q->by->who->name), q->by->who->claim, &text);
    buf_char(&text, '\n');
    approvals_tell_shown(shown, &text);
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "mode", "form");
    json_pair_str(&w, "message", buf_view(&text));
    json_key(&w, "requestedSchema");
    put_form(q, &w);
    json_close(&w);
    return !e->code && buf_check(&text, "the question", e) &&
           buf_check(out, "the question", e);
}

/* The call of a client that takes no requests cannot be repeated from its beginning. */
static bool can_ask_client(const struct asking *q)
{
    const struct client *c = q->by->who->client;
    return policy_of(q)->asking.client && client_answers(c, "elicitation/create") &&
           (!q->by->evaluation || client_waits(c));
}

/* *there false: the client cannot show it after all. */
static bool ask_client(const struct asking *q, struct approval_decision *decision,
                       bool *there, struct err *e)
{
    scoped_buf struct buf form;
    scoped(arena_free) struct arena *arena = arena_new(WORKING_MAX);
    buf_init(&form, WORKING_MAX);
    if (!make_form(q, &form, e))
        return false;
    char key[24];
    (void)snprintf(key, sizeof key, "approval-%.12s", q->a->digest);
    struct client here = *q->by->who->client;
    if (q->by->evaluation)
        here.stop = &q->by->evaluation->stopping;
    const struct json *answer;
    struct client_question one = {.key = key,
                                  .method = "elicitation/create",
                                  .params = buf_view(&form),
                                  .permits = true,
                                  .digest = q->a->digest};
    if (!consent_ask_client(q->by->consent, q->a->digest, &here, &one, arena, &answer,
                            e)) {
        *there = e->code != ERR_CAPABILITY;
        if (e->code == ERR_TIMEOUT)
            question_record(q, "unanswered", "client", APPROVAL_CALL);
        return false;
    }
    const struct json *content = json_get(answer, "content");
    *decision = (struct approval_decision){.decided = true, .by = "client"};
    decision->allowed = str_is(json_str(json_get(answer, "action")), "accept") &&
                        str_is(json_str(json_get(content, "decision")), "allow");
    (void)approval_memory_named(json_str(json_get(content, "remember")),
                                &decision->memory);
    return decision_record(q, decision, e);
}

/* ---- at the terminal, or on the page ----------------------------------------- */

/* Sent at once: the agent can tell its user. */
static void send_waiting(void *arg, const char *id)
{
    const struct asking *q = arg;
    const struct client *c = q->by->who->client;
    char text[200], quoted[220];
    (void)snprintf(text, sizeof text,
                   "waiting for a person's approval: cloche approvals allow %s", id);
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", text);
    client_progress(c, 1e-6, 0, str_of(text));
    client_log(c, CLIENT_NOTICE, "approvals", str_of(quoted));
    client_let_go(c);
    log_line(LOG_INFO, "%s", text);
}

/* The arguments, as far as a person can edit them. */
static void put_editable(const struct asking *q, struct buf *out)
{
    const struct ask_edit *edit = q->by->edit;
    struct json_writer w = json_writer(out);
    if (edit && json_is(edit->arguments, JSON_OBJECT))
        json_put(&w, edit->arguments);
    if (out->failed)
        buf_clear(out);
}

static bool wait_for_decision(const struct asking *q, struct approvals *store,
                              struct approval_decision *decision, struct err *e)
{
    const struct ask_by *by = q->by;
    const struct ask *a = q->a;
    const struct grant *g = by->who->grant;
    bool call = !strcmp(a->kind, "call");
    char question[300];
    scoped_buf struct buf editable = buf_of(APPROVAL_EDIT_MAX);
    put_editable(q, &editable);
    (void)snprintf(question, sizeof question, "May %.250s %s?", a->what, a->verb);
    const struct approval_request request = {.kind = a->kind,
                                             .caller = by->who->name,
                                             .claim = by->who->claim,
                                             .asker = g ? g->principal : by->who->name,
                                             .question = question,
                                             .digest = a->digest,
                                             .vault = vault_of(q),
                                             .tools = a->names,
                                             .tool_count = call ? 0 : a->count,
                                             .session = a->session,
                                             .always = a->always,
                                             .shown = a->shown,
                                             .arguments = buf_view(&editable)};
    struct approval_wait wait = {.ms = policy_of(q)->asking.seconds * 1000,
                                 .cancel = {by->who->cancel},
                                 .begins = send_waiting,
                                 .arg = (void *)q};
    if (by->evaluation)
        wait.cancel[1] = &by->evaluation->stopping;
    const struct client *carrier =
        by->evaluation ? by->evaluation->who->client : by->who->client;
    return consent_ask_store(by->consent, carrier, store, &request, &wait, decision, e);
}

static bool ask_store(const struct asking *q, struct approval_decision *decision,
                      struct err *e)
{
    struct approvals *store = services_approvals(q->by->actions->services, e);
    if (!store || !wait_for_decision(q, store, decision, e))
        return false;
    if (decision->edited)
        return decision_edited(q, decision, e);
    if (decision->decided)
        return decision_record(q, decision, e);
    question_record(q, "unanswered", "nobody", APPROVAL_CALL);
    return err_set(e, ERR_DENIED,
                   "Permission denied: no decision on whether %.100s may %s was made "
                   "within %u s; %s; the user can still allow it ('cloche approvals "
                   "allow %s'): then repeat the same call within ten minutes",
                   q->a->what, q->a->verb, policy_of(q)->asking.seconds, q->a->undone,
                   decision->id);
}

/* ---- ask_person --------------------------------------------------------------- */

static bool ask_somewhere(const struct asking *q, struct approval_decision *decision,
                          struct err *e)
{
    bool there = can_ask_client(q);
    if (there && ask_client(q, decision, &there, e))
        return true;
    if (there)
        return false;
    *e = (struct err){0};
    return ask_store(q, decision, e);
}

bool ask_person(const struct ask_by *by, const struct ask *a,
                struct approval_decision *decision, struct err *e)
{
    const struct asking q = {by, a};
    *decision = (struct approval_decision){0};
    if (!consent_begin(by->consent, by->evaluation, e))
        return false;
    bool allowed = ask_somewhere(&q, decision, e);
    consent_end(by->consent, by->evaluation);
    return allowed;
}
