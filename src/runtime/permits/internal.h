/* permits/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

struct approval_wait;
struct approval_request;
struct approval_decision;
struct approvals;
struct client;
struct client_question;
struct consent;
struct evaluation;
struct json;

/* Takes the next text off `rest`, which begins as the bytes of a struct text_list. false: there
 * is none. */
bool text_list_next(struct str *rest, struct str *line);

/* As client_ask() of one question, and approvals_ask(). `w` NULL: they block. `digest`
 * identifies the question; one that is pending under another digest is withdrawn. false
 * with w->waits: call again later. */
bool consent_ask_client(struct consent *w, const char *digest, const struct client *c,
                        const struct client_question *q, struct arena *a,
                        const struct json **answer, struct err *e);
bool consent_ask_store(struct consent *w, const struct client *carrier,
                       struct approvals *store, const struct approval_request *request,
                       const struct approval_wait *wait, struct approval_decision *out,
                       struct err *e);
/* Begins and ends the evaluation's wait for a user (NULL: no evaluation); it goes on
 * while the decision is pending. */
bool consent_begin(struct consent *w, struct evaluation *v, struct err *e);
void consent_end(struct consent *w, struct evaluation *v);
