/* actions/consent.h - a person's word, waited for without a thread.
 *
 * Whoever needs one asks for it before anything is done, so that a call can be made anew:
 * the asking returns with `waits` set, the call is put off, and made from its beginning
 * once consent_is_there(). Then the same asking has its answer. Private to actions.
 */
#pragma once
#include "approvals/approvals.h"
#include "client/client.h"
#include "script/script.h"

#define CONSENT_DIGEST 80u

struct evaluation;
struct consent {
    struct evaluation *v;
    struct script_task *task;
    bool waits;
    bool awaits;                   /* evaluation_awaits() */
    char digest[CONSENT_DIGEST];   /* of what is asked */
    struct approval_ticket *entry; /* at the terminal, or on the page */
    void *asked;                   /* in the client's own window */
    const struct client *client, *carrier;
};

/* As client_ask() of one question, and approvals_ask(). `w` NULL: they block. `digest`
 * names what is asked: what is begun of another is taken back. false with w->waits: come
 * again. */
bool consent_ask_client(struct consent *w, const char *digest, const struct client *c,
                        const struct client_question *q, struct arena *a,
                        const struct json **answer, struct err *e);
bool consent_ask_store(struct consent *w, const struct client *carrier,
                       struct approvals *store, const struct approval_wish *wish,
                       const struct approval_wait *wait, struct approval_word *out,
                       struct err *e);
/* The person's time begins to count for the evaluation (NULL: there is none), and ends,
 * unless the word is still waited for. */
bool consent_begin(struct consent *w, struct evaluation *v, struct err *e);
void consent_end(struct consent *w, struct evaluation *v);
/* Is it time to make the call anew? Else look again at *look_ns, or when woken. */
bool consent_is_there(struct consent *w, uint64_t *look_ns);
/* Nobody wants it any more, or it was had. */
void consent_drop(struct consent *w);
