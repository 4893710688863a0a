/* services/services.h - the engine, the guests and the stores that evaluations and
 * capabilities share, each made when first needed. Whoever asks borrows them until
 * services_close(). NULL and *e: it could not be made; the next who needs it tries again.
 * Threads: safe. */
#pragma once
#include "base/base.h"

struct approvals;
struct checker;
struct engine;
struct lint;
struct patterns;
struct script;
struct script_row;
struct services;
struct sql_pool;
struct typescript;

/* The folder of the guests beside this program; the caller frees. NULL: ERR_NOT_FOUND. */
char *actions_guest_dir(struct err *e);
#define SERVICES_PARTS_MAX 8u

/* What the guests are told of the calls that code may make. */
struct services_options {
    const char *guest_dir; /* NULL: actions_guest_dir() finds it */
    const struct script_row *(*rows)(size_t *count);    /* of services_script() */
    const struct script_row *(*metered)(size_t *count); /* of services_runner() */
    void (*put_table)(struct buf *out);                 /* the linter's */
    /* Declarations for the checker: of all code (0), and of what each bit brings besides. */
    void (*declare)(uint32_t bit, struct buf *out);
    size_t parts; /* SERVICES_PARTS_MAX at most */
};

struct services *services_open(const struct services_options *o);
void services_close(struct services *s); /* no call may be running; NULL is fine */
struct engine *services_engine(struct services *s, struct err *e);
const char *services_guests(struct services *s,
                            struct err *e); /* the baked ones' folder */
/* Both, of a struct services. */
struct engine *services_engine_at(void *services, const char **guest_dir, struct err *e);
const struct engine *services_engine_now(const struct services *s); /* NULL: not made */

/* The JavaScript guest; and where fuel is counted, with the metered rows alone. */
struct script *services_script(struct services *s, struct err *e);
struct script *services_runner(struct services *s, struct err *e);
struct lint *services_lint(struct services *s, struct err *e);
/* The same in a server, which loads it by itself when it starts: waits for that, no longer
 * than `ms`. NULL: it is not there (yet). */
struct lint *services_lint_soon(struct services *s, unsigned ms);
struct typescript *services_typescript(struct services *s, struct err *e);
struct checker *services_checker(struct services *s, struct err *e);
struct sql_pool *services_sql(struct services *s, struct err *e);
/* What waits for a person's word. */
struct approvals *services_approvals(struct services *s, struct err *e);
struct patterns *services_patterns(struct services *s); /* of all vaults; never NULL */
/* Compiles the guests ahead, into their folder. false and *e. */
bool services_make_ready(struct services *s, struct err *e);
