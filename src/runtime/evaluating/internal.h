/* evaluating/internal.h - what the sources of this room share. Private to the room. */
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

/* false and ERR_DENIED: the policy wants code without errors, and this has one; or it
 * could not be checked. `from`: what q->code was made from, or NULL. */
bool check_passes(const struct action_call *c, const struct script_request *q,
                  const struct script_origin *from, struct err *e);
/* What the linter warns of in code that was run, as a JSON array; nothing where there is
 * nothing to warn of, or nobody who would: the policy says off. A server loads the linter
 * when it starts; other programs only for code that may lack an await. `explained`: the
 * suggestion of a failure, or empty; what that tells is not said again. */
void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_outcome *o, const struct script_origin *from,
                 struct str explained, struct buf *out);
/* The session of one evaluation; all zero where it asked for none. */
struct kept {
    struct session *session;
    char *vault; /* a part of its owner's name */
    bool is_new, kept;
    struct err why; /* not kept */
    uint64_t bytes;
};
/* Takes the session that the arguments name, if any, and tells the request. */
bool kept_begin(struct kept *k, const struct action_call *c, struct script_request *q,
                struct err *e);
/* The code did not run at all: *e in words about the session. Answers false. */
bool kept_refuse(struct kept *k, const struct script_outcome *o, struct err *e);
/* Keeps what the evaluation left. */
void kept_end(struct kept *k, const struct script_outcome *o);
/* Its part of the answer, a pair of the open object. */
void kept_write(const struct kept *k, struct json_writer *w);
void kept_done(struct kept *k);
