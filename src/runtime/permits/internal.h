/* permits/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "base/base.h"

struct approval_wait;
struct approval_wish;
struct approval_word;
struct approvals;
struct client;
struct client_question;
struct consent;
struct evaluation;
struct json;

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
