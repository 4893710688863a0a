/* A user's decision, from the client's window, or from the terminal and the page. */
#include <stdio.h>

#include "approvals/approvals.h"
#include "client/client.h"
#include "evaluation/evaluation.h"
#include "permits/internal.h"
#include "permits/permits.h"
#include "script/script.h"

static void consent_wake(void *task)
{
    script_wake(task);
}

/* Whether this very question is pending; another one is withdrawn. */
static bool is_begun(struct consent *w, const char *digest)
{
    bool begun = w->entry || w->asked;
    if (begun && strcmp(w->digest, digest) == 0)
        return true;
    if (begun)
        consent_drop(w);
    (void)snprintf(w->digest, sizeof w->digest, "%s", digest);
    return false;
}

bool consent_ask_client(struct consent *w, const char *digest, const struct client *c,
                        const struct client_question *q, struct arena *a,
                        const struct json **answer, struct err *e)
{
    uint64_t look_ns;
    if (!w || !client_asks_apart(c))
        return client_ask(c, q, 1, a, answer, e);
    if (!is_begun(w, digest)) {
        w->client = w->v->who->client;
        w->asked = client_ask_begin(w->client, q, 1, consent_wake, w->task, e);
        if (!w->asked)
            return false;
    }
    if (!client_ask_look(w->client, w->asked, &look_ns)) {
        w->waits = true;
        return false;
    }
    void *asked = take(w->asked);
    return client_ask_end(w->client, asked, q, a, answer, e);
}

bool consent_ask_store(struct consent *w, const struct client *carrier,
                       struct approvals *store, const struct approval_request *request,
                       const struct approval_wait *wait, struct approval_decision *out,
                       struct err *e)
{
    uint64_t look_ns;
    bool begun = w && is_begun(w, request->digest);
    if (!begun && !client_rest(carrier, e))
        return false;
    if (!w) {
        bool ok = approvals_ask(store, request, wait, out, e);
        client_resume(carrier);
        return ok;
    }
    if (!begun) {
        w->entry = approvals_begin(store, request, wait, e);
        if (!w->entry) {
            client_resume(carrier);
            return false;
        }
        w->carrier = carrier;
    }
    if (!approvals_look(w->entry, &look_ns)) {
        w->waits = true;
        return false;
    }
    client_resume(w->carrier);
    struct approval_ticket *entry = take(w->entry);
    return approvals_end(entry, out, e);
}

bool consent_begin(struct consent *w, struct evaluation *v, struct err *e)
{
    if (!v || (w && w->awaits))
        return true;
    if (!evaluation_begin_wait(v, !w, e))
        return false;
    if (w)
        w->awaits = true;
    return true;
}

void consent_end(struct consent *w, struct evaluation *v)
{
    if (!v || (w && (w->waits || !w->awaits)))
        return;
    evaluation_end_wait(v, !w);
    if (w)
        w->awaits = false;
}

bool consent_is_there(struct consent *w, uint64_t *look_ns)
{
    return w->entry ? approvals_look(w->entry, look_ns)
                    : client_ask_look(w->client, w->asked, look_ns);
}

void consent_drop(struct consent *w)
{
    struct err none = {0};
    struct approval_decision decision;
    const struct json *answer;
    if (w->entry) {
        client_resume(w->carrier);
        struct approval_ticket *entry = take(w->entry);
        (void)approvals_end(entry, &decision, &none);
    }
    if (w->asked) {
        scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
        const struct client_question q = {.method = "elicitation/create",
                                          .params = STR("{}")};
        void *asked = take(w->asked);
        (void)client_ask_end(w->client, asked, &q, a, &answer, &none);
    }
    w->waits = false;
    consent_end(w, w->v);
}
