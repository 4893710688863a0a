/* evaluating/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "lint/lint.h"
#include "os/os.h"
#include "place/place.h"
#include "services/services.h"
#include "json/json.h"

struct action_call;
struct json_writer;
struct session;
struct script_origin;
struct script_outcome;
struct script_request;

/* false and ERR_DENIED: the policy requires code without errors, and this code has one or
 * could not be checked. `from`: what q->code was made from, or NULL. */
bool check_passes(const struct action_call *c, const struct script_request *q,
                  const struct script_origin *from, struct err *e);
/* What the linter warns of in code that was run, into v->warnings; nothing where there is
 * nothing to warn of, or the policy says off. A server loads the linter
 * when it starts; other programs only for code that may lack an await. `explained`: the
 * suggestion of a failure, or empty; what that tells is not said again. */
void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_outcome *o, const struct script_origin *from,
                 struct str explained, struct evaluation *v);
/* The session of one evaluation; all zero if it has none. */
struct session_lease {
    struct session *session;
    char *vault; /* part of the owner's name */
    bool is_new, kept;
    struct err why; /* why it was not kept */
    uint64_t bytes;
};
/* Opens the session that the arguments name, if any, for the request. ERR_CONFLICT: it was begun
 * in the other language (JavaScript and TypeScript are one), and stays. */
bool lease_begin(struct session_lease *k, const struct action_call *c, bool python,
                 struct script_request *q, struct err *e);
/* The code did not run at all: *e says what that means for the session. Returns false. */
bool lease_refuse(struct session_lease *k, const struct script_outcome *o, struct err *e);
/* Stores the state that the evaluation left. */
void lease_end(struct session_lease *k, const struct script_outcome *o);
/* The session's pair of the answer's open object. */
void lease_write(const struct session_lease *k, struct json_writer *w);
void lease_done(struct session_lease *k);
