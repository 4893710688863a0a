/* services/services.h - the engine, the guests and the stores that evaluations and
 * capabilities share, each created at first use. Callers borrow them until
 * services_close(). NULL and *e: it could not be created; the next caller tries again.
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

/* The folder of the guests beside this program, to be freed. NULL and ERR_NOT_FOUND. */
char *services_guest_dir(struct err *e);
#define SERVICES_PARTS_MAX 8u

/* What the guests need to know of the host calls. */
struct services_options {
    const char *guest_dir; /* NULL: services_guest_dir() finds it */
    const struct script_row *(*rows)(size_t *count);    /* of services_script() */
    const struct script_row *(*metered)(size_t *count); /* of services_runner() */
    void (*put_table)(struct buf *out);                 /* for the linter */
    void (*put_python)(struct buf *out); /* for the Python guest, with `rows` */
    /* Declarations for the checker: of all code (0), and of each feature's bit. */
    void (*declare)(uint32_t bit, struct buf *out);
    size_t parts; /* SERVICES_PARTS_MAX at most */
};

struct services *services_open(const struct services_options *o);
void services_close(struct services *s); /* no call may be running; NULL is fine */
struct engine *services_engine(struct services *s, struct err *e);
const char *services_guests(struct services *s,
                            struct err *e); /* the folder of the baked guests */
/* The engine and that folder, of a struct services. */
struct engine *services_engine_at(void *services, const char **guest_dir, struct err *e);
/* NULL: not created yet */
const struct engine *services_engine_now(const struct services *s);

/* The JavaScript guest, and the one that counts fuel, with the metered rows alone. */
struct script *services_script(struct services *s, struct err *e);
struct script *services_runner(struct services *s, struct err *e);
/* The Python guest; ERR_NOT_FOUND: it was not built, and how to. */
struct script *services_python(struct services *s, struct err *e);
struct lint *services_lint(struct services *s, struct err *e);
/* The linter that a server loads in the background at its start: waits for that for at
 * most `ms`. NULL: not there (yet). */
struct lint *services_lint_soon(struct services *s, unsigned ms);
struct typescript *services_typescript(struct services *s, struct err *e);
struct checker *services_checker(struct services *s, struct err *e);
struct sql_pool *services_sql(struct services *s, struct err *e);
/* The requests that wait for a user's decision. */
struct approvals *services_approvals(struct services *s, struct err *e);
/* shared by all vaults; never NULL */
struct patterns *services_patterns(struct services *s);
/* Compiles the guests into their folder, for the build. false and *e. */
bool services_make_ready(struct services *s, struct err *e);
