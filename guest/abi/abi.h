/* abi/abi.h - numbers and layouts that the host and its guests share.
 *
 * Freestanding: only fixed-width types, little-endian, as Wasm is. Addresses and
 * lengths are the guest's (u32). The host trusts none of them.
 */
#pragma once
#include <stdint.h>

/* ---- the JavaScript guest ----------------------------------------------- */

/* Exports, in the order in which they are used:
 *   bake()              once, when it is built: runtime, context, world
 *   input(n) -> at      room for n bytes from the host
 *   install(n)          the input is the table of host calls, as JSON
 *   start(n) -> at      the input is a struct script_head and what follows;
 *                       answers a struct script_answer
 *   resume(n) -> at     the input is a row of struct script_settled
 *   rest()              after the last answer, where the world is to be saved: lets go
 *                       of what only this evaluation needed
 * start and resume run until nothing is left to do but wait for the host. A world that
 * was saved goes on with another start. */
#define SCRIPT_ABI 8

/*   logs_view() -> at     where a struct script_logs stands, kept up to date: also of
 *                         a guest that was stopped
 *   sources_view() -> at  the same of a struct script_sources */

/* Imports, from the module "host":
 *   call(row, at, n) -> size   performs a synchronous host call; the answer's
 *                              size, or ~size where it is an error
 *   take(at)                   copies that answer to `at`
 *   random(at, n)              fills with random bytes
 *   stop(why)                  ends the evaluation, one of SCRIPT_STOP_ */
#define SCRIPT_STOP_CALLS 1u  /* more host calls than allowed */
#define SCRIPT_STOP_MEMORY 2u /* memory that it asked for was refused */

struct script_head {
    uint32_t abi;          /* SCRIPT_ABI */
    uint32_t code_size;    /* bytes that follow this struct: the code, */
    uint32_t context_size; /* then a JSON object of injected values */
    uint32_t result_max;   /* bytes of the result's JSON */
    uint32_t logs_max;     /* bytes of log texts, over all */
    uint32_t calls_max;    /* host calls */
    uint32_t features;     /* the optional rows that are there, a mask */
    uint32_t flags;        /* of SCRIPT_ below */
};
#define SCRIPT_SESSION 1u /* top-level names and `state` outlive the code */
#define SCRIPT_CHECK \
    4u /* Python: the code is checked and not run; the result is findings */
/* Python: code of a custom function. With SCRIPT_CHECK the context is {"name"}, and the
 * result what the code says of it; else {"call"}, and it is called. */
#define SCRIPT_FUNCTION 8u
#define SCRIPT_TRACE 2u /* calls tell where they were made */

enum script_status {
    SCRIPT_DONE = 0,
    SCRIPT_WAITING = 1, /* for host calls or for time to pass */
};

#define SCRIPT_FAILED_RUNNING 1u
#define SCRIPT_FAILED_PARSING 2u

/* Slices are (at, size) pairs in the guest's memory, valid until it runs again. */
struct script_answer {
    uint32_t status;
    uint32_t failed; /* DONE: one of SCRIPT_FAILED_; `error` holds why, as JSON */
    uint32_t result_at, result_size; /* DONE: JSON text */
    uint32_t error_at, error_size;
    uint32_t logs_at, logs_size;   /* a row of struct script_log */
    uint32_t logs_dropped;         /* entries that did not fit */
    uint32_t calls_at, calls_size; /* a row of struct script_call: new ones */
    uint32_t in_flight;            /* calls made and not settled, new ones too */
    uint32_t has_timer;
    uint32_t result_cut;         /* DONE: the result was over result_max; a preview */
    uint32_t lost_at, lost_size; /* DONE: of the result, what JSON has no word for; empty,
                                  * or [{"what", "path", "count"}] */
    double timer_ms;             /* until the next timer is due, from now */
};

struct script_logs {
    uint32_t at, size; /* a row of struct script_log */
    uint32_t dropped;
};

/* In the number of a row: the call is made by code of a further source. */
#define SCRIPT_WITHIN 0x80000000u

/* Each followed by its bytes, padded to 8. */
struct script_log {
    uint32_t level; /* 0 log, 1 info, 2 warn, 3 error, 4 debug */
    uint32_t size;
};
struct script_call {
    uint32_t id;   /* the guest's, given back when it is settled */
    uint32_t row;  /* of the table; SCRIPT_WITHIN */
    uint32_t size; /* of the arguments: a JSON array */
    uint32_t line; /* where it was made, with SCRIPT_TRACE; else 0: */
    uint32_t from; /* in which source; 0: the code itself */
    uint32_t reserved;
};
struct script_settled {
    uint32_t id;
    uint32_t failed; /* the bytes are {"name", "code", "message", "retry"} */
    uint32_t size;
    uint32_t reserved;
};

#define SCRIPT_PAD(n) (((n) + 7u) & ~7u)

/* Sources: code that came while the evaluation ran, with numbers from 1 on. How often what
 * they hold was called is kept up to date, also of a guest that is stopped. */
#define SCRIPT_SOURCES_MAX 256u /* those of higher numbers are not counted */
#define SCRIPT_SAMPLES 32u
#define SCRIPT_KINDS 16u
struct script_tally {
    uint32_t calls, failed;
    uint32_t open;           /* began and did not end */
    uint32_t stride;         /* every such call is timed, and counts for so many */
    uint32_t ended, samples; /* of `ms`, the first ones hold something */
    uint32_t
        kinds[SCRIPT_KINDS]; /* that failed, by SCRIPT_KIND_NAMES; the first: others */
    float ms[SCRIPT_SAMPLES];
    double total_ms, longest_ms;
};
#define SCRIPT_KIND_NAMES                                                                \
    "Error", "TypeError", "RangeError", "ReferenceError", "SyntaxError", "InvalidInput", \
        "NotFound", "Conflict", "PermissionDenied", "HostCallError", "NoVault", "Busy",  \
        "LimitExceeded", "IoError", "StackOverflow", "AbortError"
/* One such call, with SCRIPT_TRACE. */
struct script_visit {
    uint32_t source, from, line; /* where it was made: as in script_call */
    uint32_t outcome;            /* 0: not ended; 1: well; else 2 and its kind */
    uint64_t start_ns, end_ns;   /* of the monotonic clock; 0: not ended */
};
#define SCRIPT_VISITS_MAX 1000u
struct script_sources {
    uint32_t tallies_at, tally_count; /* a row of struct script_tally; the first is 1's */
    uint32_t visits_at, visit_count;
    uint32_t visits_dropped;
    uint32_t frames_at; /* a struct script_frames, of the Python guest; 0: none */
};

/* Where the host finds the line of Python that ran when the guest was stopped: one address,
 * and offsets in CPython's structs. */
struct script_frames {
    uint32_t current;                     /* where the running frame's address stands */
    uint32_t previous, code, instruction; /* in a frame */
    uint32_t file, first_line, lines, bytecode; /* in its code */
    uint32_t text_size, text;                   /* in a str of ASCII */
    uint32_t bytes_size, bytes;                 /* in a bytes */
};
#define SCRIPT_FILE "code.py" /* the name of the agent's code there */

/* ---- the linter's guest ------------------------------------------------- */

/* Exports (guest/lint/lint.c):
 *   bake()                   once, when it is built
 *   input(n) -> at           room for n bytes from the host
 *   install(n)               the input is the API, as JSON: [{name, sync, reads,
 *                            writes, feature, options: [name, ...]}]
 *   check(n, features) -> at the input is JavaScript; a struct lint_answer
 *   review(n) -> at          the input is JSON: {code, source, name}; the answer, too, is
 *                            an object: lint_review() */
#define LINT_FINDINGS_MAX (64u << 10) /* bytes */
#define LINT_REVIEW_MAX (256u << 10)  /* bytes */
struct lint_answer {
    uint32_t failed;   /* it could not be checked: nested too deeply, for example */
    uint32_t at, size; /* JSON: [{rule, severity, message, line, column, ...}] */
};

/* ---- the guest that matches patterns ------------------------------------ */

/* Exports (guest/pattern/pattern.c):
 *   bake()                   once, when it is built
 *   input(n) -> at           room for n bytes, until the next call of it
 *   compile(n) -> at         the input is a pattern, in the place of the one before
 *   find(lines, whole) -> at the input is a text of so many bytes, which is searched line by
 *                            line, and behind it one that is searched as a whole where no
 *                            line matches
 * compile() and find() answer a struct pattern_answer. */
enum pattern_outcome {
    PATTERN_FOUND,
    PATTERN_NONE,
    PATTERN_BAD,      /* no pattern: `why` says what is wrong, `at` where in it */
    PATTERN_TOO_MUCH, /* it backtracks too much, on `line_size` bytes */
};
#define PATTERN_MAX (64u << 10)      /* bytes of a pattern */
#define PATTERN_TEXT_MAX (17u << 20) /* bytes of the input */
struct pattern_answer {
    uint32_t outcome; /* enum pattern_outcome; PATTERN_FOUND of compile(): fine */
    uint32_t line_at,
        line_size;             /* the line (or the whole) that matches, within the input,
                                    without its line end */
    uint32_t at, size;         /* the match within the line */
    uint32_t why_at, why_size; /* an address */
};

/* ---- the TypeScript guest ----------------------------------------------- */

/* Exports (guest/typescript/main.go):
 *   bake()              once, when it is built
 *   input(n) -> at      room for n bytes of TypeScript
 *   transform() -> at   turns them into JavaScript: a struct typescript_answer */
struct typescript_answer {
    uint32_t failed; /* how many errors there are; then `code` is nothing */
    uint32_t code_at, code_size;
    uint32_t map_at, map_size; /* a source map, revision 3, as JSON */
    uint32_t messages_at, messages_size;
};

/* Each followed by its text, padded to 8. */
struct typescript_message {
    uint32_t line;   /* from 1; 0: not known */
    uint32_t column; /* bytes, from 0 */
    uint32_t length; /* bytes */
    uint32_t size;   /* of the text */
};

/* ---- the type checker's guest --------------------------------------------- */

/* Exports (guest/checker/main_wasip1.go):
 *   bake()           once, when it is built
 *   input(n) -> at   room for n bytes: a question, JSON
 *   check() -> at    answers it: a struct checker_told
 *   settle()         forgets the question, for the memory to be frozen */
struct checker_told {
    uint32_t at, size; /* JSON; none: the question could not be read */
};
