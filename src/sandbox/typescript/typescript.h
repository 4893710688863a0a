/* typescript/typescript.h - turns an agent's TypeScript into the JavaScript that script
 * evaluates, and tells where each place of that came from.
 *
 * esbuild does it, in a world of its own for each piece of code: types are stripped,
 * enums, namespaces, decorators, parameter properties and `using` are written in words
 * that the JavaScript guest knows. Nothing checks types. What is done once is kept, in
 * memory and in the user's cache folder, by the code's hash.
 *
 * Code is what script takes: `return` and `await` may stand at the top level, and the
 * last expression is the result. `export` before a declaration is dropped; an import
 * that is used for more than types is refused.
 * Source: ECMA-426 (source maps).
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

struct typescript;

/* Loads nothing yet. `guest_dir` holds the baked guest. Threads: safe. */
struct typescript *typescript_new(struct engine *g, const char *guest_dir);
void typescript_free(struct typescript *t); /* NULL is fine */
SCOPED(typescript, typescript_free);

#define TYPESCRIPT_COMPUTE_MS 10000u                  /* ERR_TIMEOUT */
#define TYPESCRIPT_MEMORY_BYTES ((uint64_t)512 << 20) /* ERR_MEMORY */
#define TYPESCRIPT_OUTPUT_BYTES ((size_t)8 << 20)     /* ERR_OUTPUT */

struct typescript_limits {
    uint64_t compute_ms; /* 0: TYPESCRIPT_COMPUTE_MS, which is the most */
    uint64_t until_ns;   /* os_mono_ns(); 0: never */
    uint64_t tenant;
    struct cancel *cancel; /* may be NULL */
};

/* A place in code: both from 1, columns count characters; line 0: not known. */
struct typescript_place {
    uint32_t line, column;
};

/* A translation. Shared and immutable. Threads: safe. */
struct typescript_code;
void typescript_drop(const struct typescript_code *c); /* NULL is fine */
static inline void typescript_drop_at(const struct typescript_code **c)
{
    typescript_drop(*c);
}
struct str typescript_javascript(const struct typescript_code *c); /* until dropped */
/* From a place of the JavaScript to the one of the TypeScript that it came from. */
struct typescript_place typescript_origin(const struct typescript_code *c,
                                          struct typescript_place at);

/* `source` is UTF-8. NULL and *e: ERR_SYNTAX, `*where` is the place; ERR_INVALID (an
 * import, `*where` too; no UTF-8); a limit from above, ERR_STACK (nested too deeply),
 * ERR_CANCELLED, ERR_BUSY; ERR_NOT_FOUND (there is no guest) or ERR_IO. */
const struct typescript_code *typescript_transpile(struct typescript *t,
                                                   struct str source,
                                                   const struct typescript_limits *limits,
                                                   struct typescript_place *where,
                                                   struct err *e);

/* Compiles what a first use would wait for, where the build has not done it for this CPU,
 * and keeps nothing in memory. For servers, on a thread of their own. */
void typescript_warm(struct typescript *t);
